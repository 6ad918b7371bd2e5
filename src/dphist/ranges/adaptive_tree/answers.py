"""Answers of an adaptive tree, with error bars that hold however records are spread."""

from collections.abc import Callable
from functools import cached_property

import numpy as np

from dphist.arrays import FloatArray, IntArray, NumberArray
from dphist.ranges.adaptive_tree.counts import DyadicCounts
from dphist.ranges.adaptive_tree.dyadic import DyadicShape
from dphist.ranges.adaptive_tree.enclosed_boxes import Boxes
from dphist.ranges.adaptive_tree.enclosing import Enclosed, Line, Sums
from dphist.ranges.adaptive_tree.least_squares import stops_of
from dphist.ranges.bars import bars, farther
from dphist.release.range_histogram import Answers
from dphist.release.range_histogram.boxes import box_sums, summed
from dphist.release.range_histogram.picture import ERRORS


class DyadicAnswers(Answers):
    """Sums of bins, with error bars that hold for all data.

    Parameters
    ----------
    shape : DyadicShape
    bins : `shape.bins` int64
    least_width : records; no bar ends nearer than this to the estimate.
    noisy : function that returns the noisy counts; called when an error is computed.

    Notes
    -----
    A range contains at least the records of the counted nodes inside it, and at most those of the
    counted nodes that intersect it. A bar reaches from 1.96 standard errors below the first sum to
    1.96 above the second, both by least squares, without the prior of the estimates. It is
    extended if it does not contain the estimate, or ends too close to it
    (`docs/guides/ranges.md`, Error bars).
    """

    def __init__(
        self,
        shape: DyadicShape,
        bins: NumberArray,
        least_width: float,
        noisy: Callable[[], DyadicCounts],
    ) -> None:
        self.shape, self.bins, self.least_width = shape, bins, least_width
        self._make_noisy = noisy

    @cached_property
    def _sums(self) -> NumberArray:
        return summed(self.bins)

    @cached_property
    def _enclosing(self) -> Line | Boxes:
        make = Line if len(self.shape.bins) == 1 else Boxes
        return make(self._make_noisy(), self.shape)

    def count(self, lo: list[IntArray], hi: list[IntArray]) -> NumberArray:
        """Return the sums of the boxes."""
        return box_sums(self._sums, lo, hi)

    def error(self, lo: list[IntArray], hi: list[IntArray]) -> FloatArray:
        """Return the distance to the farther end of each bar, over 1.96."""
        return farther(self.count(lo, hi), *self.interval(lo, hi))

    def interval(self, lo: list[IntArray], hi: list[IntArray]) -> tuple[FloatArray, FloatArray]:
        """Return both ends of each bar; 0 and 0 for an empty range."""
        some = np.all([low < high for low, high in zip(lo, hi, strict=True)], axis=0)
        lo, hi = [low[some] for low in lo], [high[some] for high in hi]
        ends = np.zeros((2, len(some)))
        ends[:, some] = self._bars(self.count(lo, hi), self._enclosing.enclose(lo, hi))
        return ends[0], ends[1]

    def bin_errors(self) -> FloatArray:
        """Return the `error` of each bin, in the shape of the bins."""
        fit = self._enclosing.fit
        stops = stops_of(fit)
        single = np.where(
            stops.size == 1, 1.0, 0.0
        )  # else a bin may have none of the records of its stop
        found = Enclosed(
            Sums(single * stops.count, single * stops.variance),
            Sums(stops.count, stops.variance),
        )
        below = 2 ** (self.shape.height - fit.deepest)
        estimate = self.shape.arrange(self.bins).reshape(-1, below)
        ends = self._bars(estimate.T, found)
        return self.shape.restore(farther(estimate.T, *ends).T.ravel())

    def _bars(self, count: NumberArray, found: Enclosed) -> tuple[FloatArray, FloatArray]:
        low = found.inner.count - ERRORS * np.sqrt(found.inner.variance)
        high = found.outer.count + ERRORS * np.sqrt(found.outer.variance)
        return bars(count, low, high, self.least_width)
