"""Lower and upper bounds of the sum of a range or box, by sums of counted nodes."""

from dataclasses import dataclass

import numpy as np

from dphist.arrays import FloatArray, IntArray
from dphist.ranges.adaptive_tree.counts import DyadicCounts
from dphist.ranges.adaptive_tree.dyadic import DyadicShape
from dphist.ranges.adaptive_tree.least_squares import least_squares, stops_of
from dphist.ranges.adaptive_tree.path_errors import path_variances


@dataclass(frozen=True, slots=True)
class Sums:
    """Sums of counted nodes: least-squares estimates and their variances, (q,) each."""

    count: FloatArray
    variance: FloatArray


@dataclass(frozen=True, slots=True)
class Enclosed:
    """A range or box enclosed by two sums.

    Counts are nonnegative, so a range contains at least the records of the counted nodes inside it,
    and at most those of the counted nodes that intersect it, however records are spread in a node.

    Attributes
    ----------
    inner : sum of the smallest counted nodes inside the range.
    outer : sum of those that intersect it.
    """

    inner: Sums
    outer: Sums


class Line:
    """Ranges of one axis.

    Parameters
    ----------
    noisy : all noisy counts.
    shape : DyadicShape of one axis.
    """

    def __init__(self, noisy: DyadicCounts, shape: DyadicShape) -> None:
        self.fit = fit = least_squares(noisy)
        self._bins = shape.bins[0]
        self._side = 2 ** (shape.height - fit.deepest)  # bins of a node of the deepest level
        stops = stops_of(fit)
        width = 2 ** (fit.deepest - stops.level)
        places = np.arange(len(width))
        self._start = places // width * width
        self._stop = self._start + width
        # A stop's count is stored at its first node, so that sums are correct at the ends of stops.
        self._below = np.append(0.0, np.cumsum(np.where(places == self._start, stops.count, 0)))

    def enclose(self, lo: list[IntArray], hi: list[IntArray]) -> Enclosed:
        """Enclose the ranges `lo`, ..., `hi` - 1 of the single axis, none of them empty."""
        (low_down, low_up), (high_down, high_up) = self._ends(lo[0]), self._ends(hi[0])
        inner = self._sums(low_up, np.maximum(low_up, high_down))
        return Enclosed(inner, self._sums(low_down, high_up))

    def _ends(self, edge: IntArray) -> tuple[IntArray, IntArray]:
        """Return the last end of stops up to each edge, and the first one from it on."""
        nodes = len(self._start)
        node = np.minimum(edge // self._side, nodes - 1)
        past = edge == self._bins  # the rest is padding
        down = np.where(past, nodes, self._start[node])
        up = np.where(past | (down * self._side == edge), down, self._stop[node])
        return down, up

    def _sums(self, lo: IntArray, hi: IntArray) -> Sums:
        return Sums(self._below[hi] - self._below[lo], path_variances(self.fit, lo, hi))
