"""Look after look at the noisy totals of all labels, which decide where weight goes next.

Nothing that a look shows is released. Only whether the sum of all looks is above the threshold is.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa

from dphist.arrays import BoolArray, IntArray
from dphist.counting.bounding.stores import Sets
from dphist.data.label_counts import LabelCounts
from dphist.errors import Argument, DataError, ParameterError
from dphist.labels.discover.law import (
    HIGHEST,
    UNIT,
    caps,
    first_weight,
    least_threshold,
    look_sigma,
    next_priorities,
    weights,
)
from dphist.labels.measuring import LabelsMeasuring
from dphist.noise import Source, rounded_gaussian
from dphist.privacy import ApproxZCDP
from dphist.release.label_table import LabelTable

LARGEST_COUNT = 1 << 36
"""Larger counts are clamped to this; clamping never increases a difference."""


def find_labels(
    sets: Sets, sigma: Fraction, looks: int, threshold: int, source: Source | None
) -> BoolArray:
    """Return which labels have a noisy total above the threshold, after these looks.

    Parameters
    ----------
    sigma : standard deviation of the noise on each total of a look, units.
    threshold : units, for the sum of all looks.

    Returns
    -------
    (k,) bool
    """
    totals = make_totals(sets)
    noisy = np.zeros(len(sets.labels), np.int64)
    priorities = np.full(len(sets.labels), HIGHEST, np.int64)
    for look in range(1, looks + 1):
        noisy += totals(priorities) + rounded_gaussian(sigma, len(noisy), source)
        if look < looks:
            priorities = next_priorities(noisy, look, looks, float(sigma), threshold)
    above: BoolArray = noisy > threshold
    return above


def make_totals(sets: Sets) -> Callable[[IntArray], IntArray]:
    """Return the function from the priorities of labels to their totals, (k,) int64, in units."""
    most, singles = caps(sets.starts), np.minimum(sets.singles, LARGEST_COUNT) * UNIT

    def totals(priorities: IntArray) -> IntArray:
        added = np.minimum(weights(priorities[sets.members], sets.starts), most)
        # Not bincount: its sums are floats.
        found = singles.copy()
        np.add.at(found, sets.members, added)
        return found

    return totals


@dataclass(frozen=True, slots=True)
class AboveThreshold:
    """Of a batch of labels and counts, the labels with a noisy total above the threshold.

    Of counts alone nobody knows who has which label. Each user is taken to have `max_labels`, and
    all looks are one. It may run in another process, as that of `ThresholdHistogram` may.
    """

    sigma: Fraction  # of the mean of all looks, units
    max_labels: int
    looks: int
    threshold: int
    source: Source | None = None

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows that are released, with counts of 1."""
        counts = np.minimum(np.asarray(batch.column("count"), np.int64), LARGEST_COUNT)
        noisy = counts * first_weight(self.max_labels)
        noisy += rounded_gaussian(self.sigma, len(counts), self.source)
        released = batch.filter(pa.array(noisy * self.looks > self.threshold))
        place = released.schema.get_field_index("count")
        return released.set_column(place, "count", pa.array(np.ones(len(released), np.int64)))


class DiscoverMeasuring(LabelsMeasuring):
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
        counts = LabelsMeasuring._accept(self, table)
        if counts.sets is None and counts.null_users is not None:
            raise ParameterError(
                "data",
                "must say who has which label",
                "make them with LabelCounts.from_table(..., user=..., keep_sets=True)",
            )
        return counts

    def _draw(self, counts: LabelCounts, source: Source | None) -> LabelTable:
        try:
            return self._find_labels(counts, source)
        except MemoryError:  # NumPy's message says how many pairs there are
            pass
        raise DataError(
            "not enough memory to look at who has which label: lower "
            + Argument("max_labels")
            + "; nothing was released"
        )

    def _find_labels(self, counts: LabelCounts, source: Source | None) -> LabelTable:
        sigma, threshold = look_sigma(self.epsilon, self.looks), self._threshold
        if counts.sets is not None:
            above = find_labels(counts.sets, sigma, self.looks, threshold, source)
            return LabelTable(pa.table({"label": counts.sets.labels.filter(pa.array(above))}))
        # A user of counts has as many labels as the data say, but no user is assumed to have fewer.
        most = self.max_labels if counts.max_labels is None else counts.max_labels
        at_once = UNIT / self.epsilon
        keep = AboveThreshold(at_once, most, self.looks, threshold, source)
        return LabelTable(counts.filter_batches(keep).select(["label"]).sort_by("label"))
