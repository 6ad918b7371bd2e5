"""Measuring of `DiscoverLabels`: noisy totals of all labels, look after look."""

import contextlib
from fractions import Fraction

import pyarrow as pa

from dphist.data.label_counts import LabelCounts
from dphist.errors import Argument, DataError, ParameterError
from dphist.labels.discover.law import least_threshold, look_sigma
from dphist.labels.discover.looks import AboveThreshold, found_labels
from dphist.labels.discover.weights import UNIT
from dphist.labels.mechanism import LabelsMechanism
from dphist.noise import Source
from dphist.privacy import ApproxZCDP
from dphist.release.label_table import LabelTable


class DiscoverMeasuring(LabelsMechanism):
    """What sees the data: `docs/understand/proofs/discover_labels.md`."""

    __slots__ = ()

    delta: Fraction
    max_labels: int
    looks: int

    @property
    def guarantee(self) -> ApproxZCDP:
        """What a release costs in all: `docs/understand/proofs/discover_labels.md`."""
        return ApproxZCDP(self.epsilon**2 / 2, self.delta, self._unit)

    @property
    def _threshold(self) -> int:
        """The threshold of the sum of all looks, in units."""
        return least_threshold(self.epsilon, self.delta, self.max_labels, self.looks)

    def _accept(self, table: object) -> LabelCounts:
        counts = LabelsMechanism._accept(self, table)
        if counts.sets is None and counts.null_users is not None:
            raise ParameterError(
                "data",
                "must say who has which label",
                "make them with LabelCounts.from_table(..., user=..., keep_sets=True)",
            )
        return counts

    def _drawn(self, counts: LabelCounts, source: Source | None) -> LabelTable:
        found = None
        with contextlib.suppress(MemoryError):  # NumPy's message says how many pairs there are
            found = self._found(counts, source)
        if found is None:
            raise DataError(
                "not enough memory to look at who has which label: lower "
                + Argument("max_labels")
                + "; nothing was released"
            )
        return found

    def _found(self, counts: LabelCounts, source: Source | None) -> LabelTable:
        sigma, threshold = look_sigma(self.epsilon, self.looks), self._threshold
        if counts.sets is not None:
            above = found_labels(counts.sets, sigma, self.looks, threshold, source)
            return LabelTable(pa.table({"label": counts.sets.labels.filter(pa.array(above))}))
        # A user of counts has as many labels as the data say, but no user is assumed to have fewer.
        most = self.max_labels if counts.max_labels is None else counts.max_labels
        at_once = UNIT / self.epsilon
        keep = AboveThreshold(at_once, most, self.looks, threshold, source)
        return LabelTable(counts.filter_batches(keep).select(["label"]).sort_by("label"))
