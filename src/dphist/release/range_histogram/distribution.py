"""Quantiles, means and shares of a histogram over one axis, with intervals."""

from collections.abc import Callable
from typing import Any

import numpy as np

from dphist.arrays import AnyArray, BoolArray, FloatArray, IntArray, NumberArray
from dphist.data.axis.axis import Axis
from dphist.errors import UnsupportedError
from dphist.release.interval_estimate import IntervalEstimate
from dphist.release.quantiles import (
    note_of_several,
    read_shares,
    several,
    spread,
)
from dphist.release.range_histogram.answers import ERRORS, Answers, reach_of_several

_PLACES = 4096  # edges that are tried as ends of an interval
_NOTHING = "nothing is known: the records may be fewer than the noise"
_WIDE = "nothing is known but that it is between the first edge and the last"


class Distribution:
    """How the records of a histogram over one axis are distributed."""

    __slots__ = ()

    counts: NumberArray
    axes: tuple[Axis, ...]
    answers: Answers | None
    count_bins: Callable[[Any, Any], Any]
    error_bins: Callable[[Any, Any], Any]

    def cdf(self) -> FloatArray:
        """Return the share of records below each edge of the single axis, from 0 to 1.

        Returns
        -------
        (bins + 1,) float64, nondecreasing; all NaN if the estimates have no records.

        Raises
        ------
        UnsupportedError
            If there are several axes.
        """
        bins = self._single_axis().bins
        if self.answers is None:
            sums = np.append(0.0, np.cumsum(self.counts))
        else:
            sums = self.count_bins(0, np.arange(bins + 1)).astype(np.float64)
        below = np.maximum.accumulate(np.maximum(sums, 0))
        with np.errstate(invalid="ignore"):
            share: FloatArray = below / below[-1]
        return share

    def median(self) -> IntervalEstimate:
        """Return the value below which half of the records lie: `quantile` of 0.5.

        >>> from dphist import LeafCounts, bin_counts
        >>> people = {"age": [20] * 500 + [40, 70] * 400}
        >>> counted = bin_counts(people, column="age", edges=range(0, 101, 10))
        >>> LeafCounts(epsilon=50, bins=10).release(counted).value.median()
        IntervalEstimate(43.75, 95 % interval 40 to 50)
        """
        found: IntervalEstimate = self.quantile(0.5)
        return found

    def quantile(self, q: Any, *, simultaneous: bool = False) -> Any:
        """Return the value below which a share `q` of the records in the bins lies.

        Parameters
        ----------
        q : number from 0 to 1, or a list or array of them.
        simultaneous : whether the intervals of a list hold all at once with a probability of about
            95 %: they are wider, the more there are. Otherwise each holds by itself.

        Returns
        -------
        IntervalEstimate, or a list of them, in the order of `q`
            In the unit of the edges (numbers, dates, times) or, for data without edges, in bins.
            The value is interpolated linearly within its bin, and moved into the interval if the
            estimates put it outside. The interval ends at edges. If it
            reaches from the first edge to the last, nothing is known, and the value is NaN or NaT.
            For edges with a time zone, datetimes of that zone. Values, and both ends, do not fall
            as `q` grows.

        Raises
        ------
        ParameterError
            If `q` is not from 0 to 1.
        UnsupportedError
            If there are several axes, or the histogram was made by hand.

        Notes
        -----
        The interval holds the true quantile with a probability of about 95 %, for each `q` by
        itself. An edge is in doubt if the counts before and after it, with their errors (95 %),
        allow the quantile on both sides of it. The interval holds all edges in doubt, and ends at
        the next edges. It misses only if one of the two edges around the true quantile errs to
        one side, so no correction for the number of edges is needed (docs: proofs, answers).
        """
        asked = read_shares(q)
        found = self.quantiles_among(asked.ravel(), several(simultaneous, asked.size))
        return found[0] if asked.ndim == 0 else found

    def quantiles_among(self, asked: FloatArray, number: int) -> list[IntervalEstimate]:
        """Return quantiles, of which intervals of `number` hold at once with about 95 %."""
        self._single_axis()
        places = self._list_tried()
        before, after, errors = self._both_sides(places)
        known, rounding = self._has_records(), 1e-12 * np.abs(before + after)
        reach = reach_of_several(number) / ERRORS
        ends = np.zeros((2, len(asked)), np.int64)
        for at, share in enumerate(asked.tolist()):
            excess = (1 - share) * before - share * after
            error = reach * ((1 - share) * errors[0] + share * errors[1]) + rounding
            ends[:, at] = _first(excess + error >= 0) - 1, _last(excess - error <= 0) + 1
        low, high = places[spread(asked, np.clip(ends, 0, len(places) - 1))]
        note = note_of_several(number)
        return [
            self._estimate(place, np.array(pair), known, note)
            for place, *pair in zip(_find_places(self.cdf(), asked), low, high, strict=True)
        ]

    def mean(self) -> IntervalEstimate:
        """Return the mean of the values of the records in the bins.

        Returns
        -------
        IntervalEstimate
            The value takes records to be in the middle of their bins. The interval does not: it
            reaches from the mean of the lower edges to that of the upper edges, and further by
            the noise. If it reaches from the first edge to the last, nothing is known, and the
            value is NaN or NaT.

        Raises
        ------
        UnsupportedError
            If there are several axes, the first or last edge is infinite, or the histogram was
            made by hand.

        Notes
        -----
        The interval holds the true mean with a probability of about 95 % or more. A mean m is in
        doubt if the sum of all distances from m, of records at the lower edges or at the upper
        ones, may be 0 with its error. That sum is one of counts before and after each edge, times
        widths; its error is at most the sum of their errors (95 %), whatever their correlation
        (docs: proofs, answers).
        """
        axis, places = self._single_axis(), self._list_tried()
        scale = axis.as_floats()
        if not np.isfinite(scale[[0, -1]]).all():
            raise UnsupportedError("a mean needs a first and a last edge that are finite")
        edges = scale[places] - scale[0]
        before, after, errors = self._both_sides(places)
        low, _ = _crossings(edges[:-1], before[1:-1], after[1:-1], errors[:, 1:-1])
        _, high = _crossings(edges[1:], before[1:-1], after[1:-1], errors[:, 1:-1])
        middles = (scale[:-1] + scale[1:]) / 2 - scale[0]
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = (self.counts * middles).sum() / self.counts.sum()
        at = np.interp([mean, low, high], scale - scale[0], np.arange(len(scale)))
        return self._estimate(at[0], at[1:], self._has_records())

    def _estimate(
        self, place: float, ends: AnyArray, known: bool, note: str = ""
    ) -> IntervalEstimate:
        """Return a place within an interval of places; unknown if that is the whole axis."""
        axis = self._single_axis()
        whole = np.array([0.0, axis.bins])
        if not known or np.array_equal(ends, whole):
            missing, low, high = axis.at(np.append(np.nan, whole))
            return IntervalEstimate(missing, low, high, note=_WIDE if known else _NOTHING)
        found = np.append(np.clip(place, *ends), ends).astype(np.float64)
        value, low, high = axis.at(found)
        return IntervalEstimate(value, low, high, note=note)

    def _single_axis(self) -> Axis:
        if self.counts.ndim != 1:
            raise UnsupportedError(
                "a histogram of several axes has no quantiles, means and cdf: use marginal first"
            )
        return self.axes[0]

    def _list_tried(self) -> IntArray:
        """Return the edges, at most `_PLACES`, that may be ends of an interval of a quantile."""
        bins = self.counts.size
        return np.append(np.arange(0, bins, -(-bins // _PLACES)), bins)

    def _both_sides(self, places: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the counts before and after each place, and the errors (95 %) of both."""
        sides = (0, places), (places, self.counts.size)
        before, after = (np.asarray(self.count_bins(*side), np.float64) for side in sides)
        return before, after, ERRORS * np.stack([self.error_bins(*side) for side in sides])

    def _has_records(self) -> bool:
        """Whether there are records beyond what noise can be."""
        whole = 0, self.counts.size
        return bool(self.count_bins(*whole) > ERRORS * self.error_bins(*whole))


def _find_places(share: FloatArray, asked: FloatArray) -> FloatArray:
    """Return the fractional positions of bins that shares of the records lie below."""
    if np.isnan(share[-1]):
        return np.full(asked.shape, np.nan)
    # The smallest value with that share: in the bin before the first edge that has it.
    stop = np.searchsorted(share, asked, side="left")
    start = np.maximum(stop - 1, 0)
    inside = (asked - share[start]) / np.where(stop > 0, share[stop] - share[start], 1)
    places: FloatArray = start + inside
    return places


def _crossings(
    points: FloatArray, before: FloatArray, after: FloatArray, errors: FloatArray
) -> tuple[float, float]:
    """Return the first and last mean in doubt, of records that lie at some points.

    Parameters
    ----------
    points : (k,) increasing, such as the lower edges.
    before, after : (k - 1,) records at points before, and after, each gap between two points.
    errors : (2, k - 1), of both (95 %).
    """
    widths = np.diff(points)

    def sums(up: FloatArray, down: FloatArray, sign: float) -> FloatArray:
        """Return the sum of the parts above each point, and that below it times `sign`."""
        above = np.append(np.cumsum((widths * up)[::-1])[::-1], 0.0)
        below = np.append(0.0, np.cumsum(widths * down))
        found: FloatArray = above + sign * below
        return found

    total, error = sums(after, before, -1.0), sums(errors[1], errors[0], 1.0)
    return (
        _first_zero(points, total - error),
        -_first_zero(-points[::-1], -(total + error)[::-1]),
    )


def _first_zero(points: FloatArray, values: FloatArray) -> float:
    """Return where a piecewise linear function is first at most 0; the last point if nowhere."""
    place = _first(values <= 0)
    if place in (0, len(points)):
        return float(points[min(place, len(points) - 1)])
    start, stop = values[place - 1], values[place]
    part = start / (start - stop)
    return float(points[place - 1] + part * (points[place] - points[place - 1]))


def _first(found: BoolArray) -> int:
    return int(np.argmax(found)) if found.any() else len(found)


def _last(found: BoolArray) -> int:
    return len(found) - 1 - int(np.argmax(found[::-1])) if found.any() else 0
