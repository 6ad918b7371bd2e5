"""Answers to ranges: as a mechanism gives them, and those of a part of a histogram.

A part is a histogram over some of the axes, or over some of the bins. A box of it is a box of the
whole histogram. So counts, errors and intervals are those of the whole, and nothing is assumed of
how errors of bins add up.
"""

import math
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from dphist.arrays import AnyArray, FloatArray, IntArray, NumberArray
from dphist.data.axis.axis import Axis

Ends = tuple[int, ...]
ERRORS = 1.96
"""Half width of a 95 % interval, in standard errors."""

_MISSES = 0.05


def reach_of_several(number: int) -> float:
    """Return how many standard errors intervals reach of which `number` hold at once (95 %).

    Each misses with 5 % divided by their number. That far out in the tails, sums of few draws are
    not normal: one draw of Laplace noise reaches farther, and its reach is taken.

    >>> [round(reach_of_several(number), 2) for number in (1, 2, 9)]
    [1.96, 2.61, 3.67]
    """
    return ERRORS if number == 1 else math.log(number / _MISSES) / math.sqrt(2)


def band(counts: AnyArray, errors: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Return both ends of a band, cut at 0: true counts are never negative."""
    return np.maximum(counts - errors, np.minimum(counts, 0)), counts + errors


class Answers(Protocol):
    """A mechanism's answers to ranges; ends are checked, one (q,) array for each axis."""

    def count(self, lo: list[IntArray], hi: list[IntArray]) -> NumberArray:
        """Return (q,) estimates of the records in each box."""

    def error(self, lo: list[IntArray], hi: list[IntArray]) -> FloatArray:
        """Return (q,) standard errors of these, in records."""

    def interval(
        self, lo: list[IntArray], hi: list[IntArray], errors: float = ERRORS
    ) -> tuple[NumberArray, NumberArray]:
        """Return both ends of (q,) intervals, `errors` standard errors to either side."""
        return band(self.count(lo, hi), errors * self.error(lo, hi))

    def count_unclipped(
        self, lo: list[IntArray], hi: list[IntArray]
    ) -> tuple[NumberArray, FloatArray]:
        """Return estimates of boxes that hold all bins before any count was made non-negative.

        They are right on average, unlike `count`, so those of several histograms can be added up;
        with their standard errors.
        """
        return self.count(lo, hi), self.error(lo, hi)

    def bin_errors(self) -> FloatArray:
        """Return the standard error of each bin, in the shape of the bins."""

    @property
    def are_independent(self) -> bool:
        """Whether each bin has noise of its own, so that variances of bins add up (no)."""
        return False


def part_of_axes(axes: tuple[Axis, ...], kept: Ends, start: Ends, stop: Ends) -> tuple[Axis, ...]:
    """Return the axes of a part; see `PartAnswers`."""
    return tuple(
        replace(axes[axis], edges=axes[axis].edges[start[axis] : stop[axis] + 1]) for axis in kept
    )


def part_of_bins(bins: NumberArray, kept: Ends, start: Ends, stop: Ends) -> NumberArray:
    """Return the bins of a part, as sums of bins."""
    inside = bins[tuple(map(slice, start, stop))]
    left = sorted(kept)
    summed = inside.sum(axis=tuple(axis for axis in range(bins.ndim) if axis not in kept))
    return np.ascontiguousarray(summed.transpose([left.index(axis) for axis in kept])).copy()


@dataclass(frozen=True, slots=True)
class PartAnswers:
    """Answers of a part.

    Attributes
    ----------
    whole : answers of the whole histogram.
    kept : the axes of the whole that the part has, in the order of the part's axes.
    start, stop : for each axis of the whole, the range of its bins that the part covers.
    """

    whole: Answers
    kept: Ends
    start: Ends
    stop: Ends

    def count(self, lo: list[IntArray], hi: list[IntArray]) -> NumberArray:
        """Return (q,) estimates of the records in each box."""
        return self.whole.count(*self._boxes(lo, hi))

    def error(self, lo: list[IntArray], hi: list[IntArray]) -> FloatArray:
        """Return (q,) standard errors of these."""
        return self.whole.error(*self._boxes(lo, hi))

    def interval(
        self, lo: list[IntArray], hi: list[IntArray], errors: float = ERRORS
    ) -> tuple[NumberArray, NumberArray]:
        """Return both ends of (q,) intervals, `errors` standard errors to either side."""
        return self.whole.interval(*self._boxes(lo, hi), errors)

    def count_unclipped(
        self, lo: list[IntArray], hi: list[IntArray]
    ) -> tuple[NumberArray, FloatArray]:
        """Return estimates and errors as they are: a part has no fit of its own."""
        return self.count(lo, hi), self.error(lo, hi)

    def counts(self) -> NumberArray:
        """Return the estimate of each bin, in the shape of the part."""
        return self.count(*self._all_bins()).reshape(self._shape)

    def bin_errors(self) -> FloatArray:
        """Return the standard error of each bin, in the shape of the part."""
        return self.error(*self._all_bins()).reshape(self._shape)

    @property
    def are_independent(self) -> bool:
        """Whether each bin has noise of its own: sums of other bins do."""
        return self.whole.are_independent

    @property
    def _shape(self) -> tuple[int, ...]:
        return tuple(self.stop[axis] - self.start[axis] for axis in self.kept)

    def _all_bins(self) -> tuple[list[IntArray], list[IntArray]]:
        places = [axis.ravel() for axis in np.indices(self._shape)]
        return places, [place + 1 for place in places]

    def _boxes(
        self, lo: list[IntArray], hi: list[IntArray]
    ) -> tuple[list[IntArray], list[IntArray]]:
        """Return the boxes of the whole that are boxes of the part."""
        first = [np.full(len(lo[0]), start) for start in self.start]
        last = [np.full(len(lo[0]), stop) for stop in self.stop]
        for axis, low, high in zip(self.kept, lo, hi, strict=True):
            first[axis], last[axis] = low + self.start[axis], high + self.start[axis]
        return first, last
