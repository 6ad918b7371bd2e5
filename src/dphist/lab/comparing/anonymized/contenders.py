"""Mechanisms for anonymized histograms: adding one is adding a line to `contenders`."""

from typing import Any

from dphist.anonymized import (
    AdaptiveScan,
    CumulativeCounts,
    PartitionSampler,
    PrivHist,
    RankSplit,
    SortedCounts,
)
from dphist.lab.comparing.contender import (
    BLACK,
    BLUE,
    GREEN,
    LABELS,
    LARGEST,
    NOTHING,
    ORANGE,
    PURPLE,
    TOTAL,
    VERMILION,
    Contender,
)

USUAL_DELTA = "1e-9"


def contenders(delta: Any = USUAL_DELTA) -> tuple[Contender, ...]:
    """Return all mechanisms for anonymized histograms, with what each is given.

    Parameters
    ----------
    delta : of the mechanism that has one.
    """
    return (
        Contender("SortedCounts", LABELS,
                  lambda e, p: SortedCounts(epsilon=e, labels=_some(p.labels),
                                            sensitivity=p.sensitivity), BLUE),
        Contender("SortedCounts, only sorted", LABELS,
                  lambda e, p: SortedCounts(epsilon=e, labels=_some(p.labels), inference="sort",
                                            sensitivity=p.sensitivity), BLUE, dashed=True),
        Contender("CumulativeCounts", LARGEST,
                  lambda e, p: CumulativeCounts(epsilon=e, largest=_some(p.counts.max(initial=0)),
                                                sensitivity=p.sensitivity), ORANGE),
        Contender("PrivHist", NOTHING,
                  lambda e, p: PrivHist(epsilon=e, sensitivity=p.sensitivity), GREEN),
        Contender("PrivHist, equal shares", NOTHING,
                  lambda e, p: PrivHist(epsilon=e, shares=(1, 1, 1), sensitivity=p.sensitivity),
                  GREEN, dashed=True),
        Contender("RankSplit", NOTHING,
                  lambda e, p: RankSplit(epsilon=e, sensitivity=p.sensitivity), VERMILION),
        Contender("RankSplit, n known", TOTAL,
                  lambda e, p: RankSplit(epsilon=e, total=p.total, sensitivity=p.sensitivity),
                  VERMILION, dashed=True),
        Contender("AdaptiveScan", NOTHING,
                  lambda e, p: AdaptiveScan(epsilon=e, sensitivity=p.sensitivity), BLACK),
        Contender(f"PartitionSampler, δ = {delta}", NOTHING,
                  lambda e, p: PartitionSampler(epsilon=e, delta=delta, sensitivity=p.sensitivity),
                  PURPLE),
    )  # fmt: skip


CONTENDERS = contenders()


def _some(bound: int) -> int:
    """Return a bound as mechanisms want it: one of nothing at all is told as 1."""
    return max(int(bound), 1)
