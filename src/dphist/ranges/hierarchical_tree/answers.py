"""Answers of a consistent tree, with standard errors computed from the tree."""

from collections.abc import Callable
from functools import cached_property

import numpy as np

from dphist.arrays import FloatArray, IntArray, NumberArray
from dphist.ranges.bars import bars, farther
from dphist.ranges.hierarchical_tree.box_errors import box_variance
from dphist.ranges.hierarchical_tree.line_errors import line_variances
from dphist.ranges.hierarchical_tree.node_answers import NodeAnswers
from dphist.ranges.leaf_counts import BinAnswers
from dphist.ranges.shape import TreeShape
from dphist.release.range_histogram import Answers
from dphist.release.range_histogram.boxes import box_sums, summed
from dphist.release.range_histogram.picture import ERRORS, band


class TreeAnswers(Answers):
    """Answers with errors computed from a tree of measurements.

    Parameters
    ----------
    shape : TreeShape
    counted : object that gives the answers
    variances : function that returns one array for each level, the root's first, records squared
        The variance of the root, and those of siblings before they are made to add up to their
        parent. Called when an error is computed.
    fitted : function that returns the least-squares fit of the bins, if the answers come from
        elsewhere: bars are then around its sums, and also contain the answers.
    least_width : records; no such bar ends closer to the answer than this.

    Notes
    -----
    A node is its share of its parent plus an error independent of all nodes above. Children have
    variances v_i before they are made to add up. Afterwards, the parent's error is distributed in
    proportion to them, and the rest has covariance diag(v) - v v' / sum(v).
    That is exact for least squares (`docs/understand/proofs/hierarchical_tree.md`, Lemma 6).
    """

    def __init__(
        self,
        shape: TreeShape,
        counted: BinAnswers | NodeAnswers,
        variances: Callable[[], list[FloatArray]],
        fitted: Callable[[], FloatArray] | None = None,
        least_width: float = 0.0,
    ) -> None:
        self.shape, self.counted, self.least_width = shape, counted, least_width
        self._make_variances, self._make_fitted = variances, fitted

    @cached_property
    def _variances(self) -> list[FloatArray]:
        return self._make_variances()

    @cached_property
    def _fitted(self) -> tuple[FloatArray, NumberArray] | None:
        """The bins of the fit, and sums of them."""
        if self._make_fitted is None:
            return None
        bins = self._make_fitted()
        return bins, summed(bins)

    def count(self, lo: list[IntArray], hi: list[IntArray]) -> NumberArray:
        """Return estimates of the boxes."""
        return self.counted.count(lo, hi)

    def error(self, lo: list[IntArray], hi: list[IntArray]) -> FloatArray:
        """Return the standard errors of the boxes, or the farther end of each bar over 1.96."""
        if self._fitted is None:
            return self._noise(lo, hi)
        return farther(self.count(lo, hi), *self.interval(lo, hi))

    def interval(self, lo: list[IntArray], hi: list[IntArray]) -> tuple[FloatArray, FloatArray]:
        """Return both ends of each bar; 0 and 0 for an empty range."""
        if self._fitted is None:
            return band(self.count(lo, hi), ERRORS * self._noise(lo, hi))
        middle, noise = box_sums(self._fitted[1], lo, hi), ERRORS * self._noise(lo, hi)
        some = np.all([low < high for low, high in zip(lo, hi, strict=True)], axis=0)
        ends = bars(self.count(lo, hi), middle - noise, middle + noise, self.least_width)
        return ends[0] * some, ends[1] * some

    def bin_errors(self) -> FloatArray:
        """Return the `error` of each bin, in the shape of the bins."""
        found = self._variances[0]
        for level in self.shape.levels[1:]:
            own = self._variances[level]
            share = own / self.shape.spread(self.shape.sum_children(own), level)
            found = own * (1 - share) + share**2 * self.shape.spread(found, level)
        if self._fitted is None:
            return np.sqrt(found)
        middle, noise = self._fitted[0], ERRORS * np.sqrt(found)
        count = self.counted.bins
        return farther(count, *bars(count, middle - noise, middle + noise, self.least_width))

    def _noise(self, lo: list[IntArray], hi: list[IntArray]) -> FloatArray:
        """Return the standard errors of the fit's sums."""
        if len(lo) == 1:
            return np.sqrt(line_variances(self.shape, self._variances, lo[0], hi[0]))
        low, high = np.stack(lo, axis=1).tolist(), np.stack(hi, axis=1).tolist()
        boxes = zip(low, high, strict=True)
        return np.sqrt([box_variance(self.shape, self._variances, *box) for box in boxes])
