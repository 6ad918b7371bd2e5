"""Anonymized histograms compared: the sorted L1 error of what is released."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from dphist.anonymized import (
    AdaptiveScan,
    CumulativeCounts,
    PartitionSampler,
    PrivHist,
    RankSplit,
    SortedCounts,
)
from dphist.anonymized.mechanism import AnonymizedMechanism
from dphist.data.diagram import Diagram
from dphist.data.profile import Profile
from dphist.document import compared
from dphist.document.options import Option, whole
from dphist.errors import ParameterError
from dphist.release.anonymized_histogram import AnonymizedHistogram

LABELS, LARGEST = "number of labels", "maximum"
USUAL_DELTA = "1e-9"
_SECONDS_A_DRAW = 1e-7  # of `SortedCounts` on 34 million labels, which sorts them as well


class AnonymizedCase(compared.Case):
    """A profile, and the mechanisms for anonymized histograms."""

    measures = (
        compared.Measure(
            "sorted L1 error",
            "records",
            "The sum over i of |i-th largest count released - i-th largest count|.",
        ),
    )
    keeps_delta = True

    def __init__(self, profile: Profile, opened: Any, delta: Any) -> None:
        super().__init__(profile, opened, USUAL_DELTA if delta is None else delta)

    @property
    def facts(self) -> Mapping[str, str]:
        """Records, labels, and the unit."""
        return {
            "records": f"{self.opened.total:,}",
            "labels": f"{self.opened.labels:,}",
            "largest count": f"{int(self.opened.counts.max(initial=0)):,}",
            "sensitivity": str(self.data.sensitivity),
        }

    @property
    def digest(self) -> str:
        """Names the counts, and the unit."""
        arrays = [self.opened.counts.astype("<i8"), self.opened.prevalences.astype("<i8")]
        unit = str(self.data.sensitivity).encode()
        return compared.compute_digest([*(each.tobytes() for each in arrays), unit])

    def list_known(self) -> Mapping[str, compared.Given]:
        """Number of labels, the maximum, delta, and the public bound."""
        return {
            "labels": compared.Given(_labels(self.opened), LABELS),
            "largest": compared.Given(_largest(self.opened), LARGEST),
            "delta": compared.Given(self.delta),
            "sensitivity": compared.Given(self.data.sensitivity, always=True),
        }

    def list_published(self) -> list[compared.Contender]:
        """Return all, some of them with and without what they may be given."""
        return list(contenders(self.delta))

    def run(self, mechanism: Any) -> compared.Run:
        """Return what releases the profile once."""
        return compared.make_run(partial(mechanism.release, self.data), self._errors)

    def foresee(self, mechanism: Any) -> float | None:
        """Return what the noise of a mechanism of dphist takes.

        Some draw noise for each label, in calls into NumPy that nothing can interrupt.
        """
        tells = isinstance(mechanism, AnonymizedMechanism)
        draws = mechanism.draws_on(self.opened) if tells else None
        return None if draws is None else _SECONDS_A_DRAW * draws

    def _errors(self, value: Any) -> tuple[float]:
        if not isinstance(value, AnonymizedHistogram):
            raise ParameterError(
                "mechanisms", "for anonymized histograms must release an AnonymizedHistogram"
            )
        return (float(self.opened.distance(value)),)


def contenders(delta: Any = USUAL_DELTA) -> tuple[compared.Contender, ...]:
    """Return all mechanisms for anonymized histograms, with what each is given.

    Parameters
    ----------
    delta : of the mechanism that has one.
    """
    return (
        compared.Contender("SortedCounts", LABELS,
                  lambda e, p: SortedCounts(epsilon=e, labels=_labels(p),
                                            sensitivity=p.sensitivity), compared.BLUE),
        compared.Contender("SortedCounts, only sorted", LABELS,
                  lambda e, p: SortedCounts(epsilon=e, labels=_labels(p), inference="sort",
                                            sensitivity=p.sensitivity), compared.BLUE, dashed=True),
        compared.Contender("CumulativeCounts", LARGEST,
                  lambda e, p: CumulativeCounts(epsilon=e, largest=_largest(p),
                                                sensitivity=p.sensitivity), compared.ORANGE),
        compared.Contender("PrivHist", compared.NOTHING,
                  lambda e, p: PrivHist(epsilon=e, sensitivity=p.sensitivity), compared.GREEN),
        compared.Contender("PrivHist, equal shares", compared.NOTHING,
                  lambda e, p: PrivHist(epsilon=e, shares=(1, 1, 1), sensitivity=p.sensitivity),
                  compared.GREEN, dashed=True),
        compared.Contender("RankSplit", compared.NOTHING,
                  lambda e, p: RankSplit(epsilon=e, sensitivity=p.sensitivity), compared.VERMILION),
        compared.Contender("RankSplit, n known", compared.TOTAL,
                  lambda e, p: RankSplit(epsilon=e, total=p.total, sensitivity=p.sensitivity),
                  compared.VERMILION, dashed=True),
        compared.Contender("AdaptiveScan", compared.NOTHING,
                  lambda e, p: AdaptiveScan(epsilon=e, sensitivity=p.sensitivity), compared.BLACK),
        compared.Contender(f"PartitionSampler, δ = {delta}", compared.NOTHING,
                  lambda e, p: PartitionSampler(epsilon=e, delta=delta, sensitivity=p.sensitivity),
                  compared.PURPLE),
    )  # fmt: skip


CONTENDERS = contenders()
"""Those of the usual delta: adding one is adding a line to `contenders`."""


def _labels(opened: Diagram) -> int:
    """Return the number of labels, at least 1, as mechanisms want it."""
    return max(opened.labels, 1)


def _largest(opened: Diagram) -> int:
    """Return the largest count, at least 1, as mechanisms want it."""
    return max(int(opened.counts.max(initial=0)), 1)


def _read(path: str, label: str | None, **columns: Any) -> Profile:
    """Return the profile of a file: of its counts, or of its records if they have labels."""
    return Profile.read(path) if label is None else Profile.from_table(path, label=label, **columns)


COMPARING = compared.Comparing(
    title="Mechanisms for anonymized histograms",
    data="a Profile",
    takes=lambda data: isinstance(data, Profile),
    case=AnonymizedCase,
    file=compared.DataFile(
        option=Option(
            "profile",
            "columns count,prevalence; with --label, a row per record: anonymized histograms",
            "FILE",
        ),
        columns=[
            compared.LABEL,
            compared.COUNT,
            compared.USER,
            Option("max_records", "records of a user that are kept, with --profile", "M", whole),
        ],
        read=_read,
    ),
)
