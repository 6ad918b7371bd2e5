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
from dphist.data.open_data import open_profile
from dphist.data.profile import Profile
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
                  lambda e, p: SortedCounts(epsilon=e, labels=_labels(p),
                                            sensitivity=p.sensitivity), BLUE),
        Contender("SortedCounts, only sorted", LABELS,
                  lambda e, p: SortedCounts(epsilon=e, labels=_labels(p), inference="sort",
                                            sensitivity=p.sensitivity), BLUE, dashed=True),
        Contender("CumulativeCounts", LARGEST,
                  lambda e, p: CumulativeCounts(epsilon=e, largest=_largest(p),
                                                sensitivity=p.sensitivity), ORANGE),
        Contender("PrivHist", NOTHING,
                  lambda e, p: PrivHist(epsilon=e, sensitivity=p.sensitivity), GREEN),
        Contender("PrivHist, equal shares", NOTHING,
                  lambda e, p: PrivHist(epsilon=e, shares=(1, 1, 1), sensitivity=p.sensitivity),
                  GREEN, dashed=True),
        Contender("RankSplit", NOTHING,
                  lambda e, p: RankSplit(epsilon=e, sensitivity=p.sensitivity), VERMILION),
        Contender("RankSplit, n known", TOTAL,
                  lambda e, p: RankSplit(epsilon=e, total=open_profile(p).total,
                                         sensitivity=p.sensitivity),
                  VERMILION, dashed=True),
        Contender("AdaptiveScan", NOTHING,
                  lambda e, p: AdaptiveScan(epsilon=e, sensitivity=p.sensitivity), BLACK),
        Contender(f"PartitionSampler, δ = {delta}", NOTHING,
                  lambda e, p: PartitionSampler(epsilon=e, delta=delta, sensitivity=p.sensitivity),
                  PURPLE),
    )  # fmt: skip


CONTENDERS = contenders()


def _labels(profile: Profile) -> int:
    """Return the number of labels, at least 1, as mechanisms want it."""
    return max(open_profile(profile).labels, 1)


def _largest(profile: Profile) -> int:
    """Return the largest count, at least 1, as mechanisms want it."""
    return max(int(open_profile(profile).counts.max(initial=0)), 1)
