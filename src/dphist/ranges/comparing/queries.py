"""How far estimates are from the truth: mean squared errors over many ranges at once.

One axis: over all n prefixes, and over all n (n + 1) / 2 ranges. Several: over 2,000 rectangles
between pairs of cells drawn uniformly, the same for every estimate.
"""

from functools import cache
from typing import Any, Protocol, TypeAlias

import numpy as np

from dphist.arrays import IntArray, NumberArray
from dphist.release.range_histogram.boxes import box_sums, sum_boxes

WORKLOADS = {1: ("prefixes", "ranges"), 2: ("rectangles",)}
"""What is asked, by the number of axes; of more than two as of two."""
RECTANGLES = 2_000
# Of estimates whose ranges are not the sums of their bins.
RANDOM_RANGES = 20_000


class Answers(Protocol):
    """Estimates that are not sums of bins."""

    def count_bins(self, lo: Any, hi: Any) -> Any:
        """Return the estimates of the records in bins lo, ..., hi - 1.

        The ends are arrays, or of several axes tuples of arrays.
        """


Estimate: TypeAlias = NumberArray | Answers


def compute_squared_errors(counts: IntArray, estimate: Estimate) -> dict[str, float]:
    """Return the mean squared error a query of each workload, records²."""
    if not isinstance(estimate, np.ndarray):
        return _measure_answers(counts, estimate)
    errors = sum_boxes(np.asarray(estimate, np.float64) - counts)
    if counts.ndim > 1:
        lo, hi = rectangles(counts.shape)
        return {"rectangles": float(np.square(box_sums(errors, list(lo.T), list(hi.T))).mean())}
    # The differences of all pairs of sums: twice the variance, with n in its denominator.
    over_all_ranges = 2 * float(errors.var(ddof=1))
    return {"prefixes": float(np.square(errors[1:]).mean()), "ranges": over_all_ranges}


def _measure_answers(counts: IntArray, estimate: Answers) -> dict[str, float]:
    true: Any = sum_boxes(counts)
    if counts.ndim > 1:
        lo, hi = (list(ends.T) for ends in rectangles(counts.shape))
        found = estimate.count_bins(tuple(lo), tuple(hi))
        return {"rectangles": _squares(found, box_sums(true, lo, hi))}
    ends = np.arange(1, len(true))
    starts, stops = random_ranges(len(counts))
    return {
        "prefixes": _squares(estimate.count_bins(np.zeros_like(ends), ends), true[1:]),
        "ranges": _squares(estimate.count_bins(starts, stops), true[stops] - true[starts]),
    }


def _squares(estimates: NumberArray, true: NumberArray) -> float:
    return float(np.square(np.asarray(estimates, np.float64) - true).mean())


@cache
def rectangles(shape: tuple[int, ...]) -> tuple[IntArray, IntArray]:
    """Return lo and hi, each (RECTANGLES, axes), half open: corner cells uniform, both included."""
    generator = np.random.default_rng(2010)
    corners = generator.integers(0, shape, size=(2, RECTANGLES, len(shape)))
    return corners.min(axis=0), corners.max(axis=0) + 1


@cache
def random_ranges(bins: int) -> tuple[IntArray, IntArray]:
    """Return starts and stops, uniform among all ranges that are not empty."""
    generator = np.random.default_rng(2010)
    first = generator.integers(0, bins + 1, RANDOM_RANGES)
    other = generator.integers(0, bins, RANDOM_RANGES)
    other += other >= first  # the two ends differ
    return np.minimum(first, other), np.maximum(first, other)
