"""Look after look at the noisy totals of all labels, which decide where weight goes next.

Nothing that a look shows is released. Only whether the sum of all looks is above the threshold is.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa

from dphist.arrays import BoolArray, IntArray
from dphist.labels.discover.weights import HIGHEST, UNIT, caps, first_weight, weights
from dphist.noise import Source, rounded_gaussian
from dphist.tables.counting.sets import Sets

LARGEST_COUNT = 1 << 36
"""Larger counts are taken for this; that moves no two counts further apart."""

_SPREAD = 1.2
_LOWEST = 8  # of HIGHEST: a label that seems out of reach keeps this priority
_STEPS = 64  # in a spread
# A table, because the last bit of NumPy's exp may depend on where in an array a number stands, and
# so on other labels. Divisions and roundings do not.
_BY_DISTANCE = np.array(
    [
        max(round(HIGHEST * math.exp(-((i / _STEPS) ** 2) / 2)), _LOWEST)
        for i in range(4 * _STEPS + 1)
    ],
    np.int64,
)


def found_labels(
    sets: Sets, sigma: Fraction, looks: int, threshold: int, source: Source | None
) -> BoolArray:
    """Return which labels have a noisy total above the threshold, after so many looks.

    Parameters
    ----------
    sigma : standard deviation of the noise on each total of a look, units.
    threshold : units, for the sum of all looks.

    Returns
    -------
    (k,) bool
    """
    totals = totals_of(sets)
    noisy = np.zeros(len(sets.labels), np.int64)
    priorities = np.full(len(sets.labels), HIGHEST, np.int64)
    for look in range(1, looks + 1):
        noisy += totals(priorities) + rounded_gaussian(sigma, len(noisy), source)
        if look < looks:
            priorities = next_priorities(noisy, look, looks, float(sigma), threshold)
    above: BoolArray = noisy > threshold
    return above


def totals_of(sets: Sets) -> Callable[[IntArray], IntArray]:
    """Return the function from the priorities of labels to their totals, (k,) int64, in units."""
    most, singles = caps(sets.starts), np.minimum(sets.singles, LARGEST_COUNT) * UNIT

    def totals(priorities: IntArray) -> IntArray:
        added = np.minimum(weights(priorities[sets.members], sets.starts), most)
        # Not bincount: its sums are floats.
        found = singles.copy()
        np.add.at(found, sets.members, added)
        return found

    return totals


def next_priorities(
    noisy: IntArray, look: int, looks: int, sigma: float, threshold: int
) -> IntArray:
    """Return the priorities of labels, a function of noisy numbers and public ones alone.

    A label gains most from weight where its total is near the threshold: there the probability of
    being above it grows fastest. With a standard error s of the mean of the looks so far, a label
    whose mean is z s _SPREAD away has the priority HIGHEST exp(-z**2 / 2), but at least _LOWEST.
    """
    spread = _SPREAD * sigma / np.sqrt(look)
    steps = np.abs((noisy / look - threshold / looks) / spread) * _STEPS
    found: IntArray = _BY_DISTANCE[np.minimum(steps, len(_BY_DISTANCE) - 1).astype(np.int64)]
    return found


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
