"""Labels compared: labels found, and errors of their counts."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import pyarrow as pa

from dphist.data.label_counts import LabelCounts
from dphist.document import compared
from dphist.document.options import Option, whole
from dphist.errors import ParameterError
from dphist.labels import DiscoverLabels, ThresholdHistogram, TopThreshold
from dphist.release.label_table import LabelTable

_TOP = 100  # largest counts that a mechanism for these releases


class LabelsCase(compared.CaseOfTotal):
    """Labels with counts, and the mechanisms for labels that nobody listed."""

    def __init__(self, counts: LabelCounts, opened: pa.Table, delta: Any) -> None:
        if counts.weight is not None:
            raise ParameterError(
                "data", "must be counts of whole records: sums of weights are not compared"
            )
        super().__init__(counts, opened, delta)
        labels = LabelTable(opened).labels
        self._truth: dict[Any, int] = dict(zip(labels, opened["count"].to_pylist(), strict=True))
        self._total = sum(self._truth.values())

    @property
    def facts(self) -> Mapping[str, str]:
        """Records, labels, bounds and delta."""
        most = self.data.max_labels
        return {
            "records": f"{self._total:,}",
            "labels": f"{len(self._truth):,}",
            "max_labels": "none" if most is None else str(most),
            "max_count": str(self.data.max_count),
            "delta": str(self.delta),
        }

    @property
    def digest(self) -> str:
        """Names the counts and the bounds."""
        said = sorted((str(label), count) for label, count in self._truth.items())
        bounds = (self.data.max_labels, self.data.max_count)
        return compared.compute_digest([repr(said).encode(), repr(bounds).encode()])

    def list_known(self) -> Mapping[str, compared.Given]:
        """Return the bounds, which are public."""
        return {
            "max_labels": compared.Given(
                self.data.max_labels, always=self.data.max_labels is not None
            ),
            "max_count": compared.Given(self.data.max_count, always=True),
            "delta": compared.Given(self.delta),
        }

    def list_published(self) -> list[compared.Contender]:
        """Return Rogers' mechanisms; those that need the labels of each user if these were kept."""
        if self.data.max_labels is None:
            return []
        ending = "optimal" if self.data.max_count == 1 else "truncated"
        noises: dict[Any, str] = {
            "laplace": compared.BLUE,
            ending: compared.ORANGE,
            "gaussian": compared.BLACK,
        }
        found = [
            *(
                self.contender(
                    f"ThresholdHistogram, {noise}", partial(ThresholdHistogram, noise=noise), color
                )
                for noise, color in noises.items()
            ),
            self.contender(
                f"TopThreshold, k = {_TOP}", partial(TopThreshold, k=_TOP), compared.VERMILION
            ),
        ]
        if self.data.has_sets:
            found.append(self.contender("DiscoverLabels", DiscoverLabels, compared.GREEN))
        return found

    def run(self, mechanism: Any) -> compared.Run:
        """Return what releases the labels once."""
        return compared.make_run(
            partial(mechanism.release, self.data),
            lambda value: compared.compute_errors(_map_labels(value), self._truth, self._total),
        )


def _map_labels(value: Any) -> Mapping[Any, int | None]:
    """Return counts by label; None for each if only labels are released."""
    if isinstance(value, Mapping):
        return value
    if not isinstance(value, LabelTable):
        raise ParameterError("mechanisms", "for labels must release a LabelTable, or a mapping")
    counts = value.counts
    held: list[int | None] = [None] * len(value) if counts is None else counts.tolist()
    return {
        label: count for label, count in zip(value.labels, held, strict=True) if label is not None
    }


COMPARING = compared.Comparing(
    title="Mechanisms for labels",
    data="LabelCounts",
    takes=lambda data: isinstance(data, LabelCounts),
    case=LabelsCase,
    file=compared.DataFile(
        option=Option(
            "labels",
            "a row per record, or per label with --count; needs --label: labels",
            "FILE",
            rules=compared.NEEDS,
        ),
        columns=[
            compared.LABEL,
            compared.COUNT,
            compared.USER,
            Option("max_labels", "labels of a user that are kept, with --labels", "N", whole),
            Option(
                "max_count",
                "what a user adds to the count of a label at most (default: 1)",
                "N",
                whole,
                default=1,
            ),
        ],
        read=LabelCounts.from_table,
    ),
)
