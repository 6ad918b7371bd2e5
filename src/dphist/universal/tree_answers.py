"""Answers from a tree that was made consistent: their standard errors come from the tree."""

from collections.abc import Callable
from functools import cached_property

import numpy as np

from dphist.histogram import Answers
from dphist.histogram.boxes import IntArray, NumberArray
from dphist.universal.box_errors import box_variance
from dphist.universal.consistency import FloatArray
from dphist.universal.line_errors import line_variances
from dphist.universal.shape import TreeShape


class TreeAnswers:
    """Answers whose errors come from a tree of measurements.

    Parameters
    ----------
    shape : TreeShape
    counted : what gives the answers
    variances : function that returns one array a level, the root's first, records squared
        The variance of the root; below it, those of siblings before they were made to add up
        to their parent. Called when an error is asked for.

    Notes
    -----
    A node is its share of its parent plus an error that is independent of all above: children
    have variances v_i before they are made to add up, and after it the parent's error is
    shared out in proportion to them, and what is left has covariance diag(v) - v v' / sum(v).
    That is exact for least squares (`docs/proofs/universal.md`, Lemma 6).
    """

    def __init__(
        self, shape: TreeShape, counted: Answers, variances: Callable[[], list[FloatArray]]
    ) -> None:
        self.shape, self.counted, self._make_variances = shape, counted, variances

    @cached_property
    def _variances(self) -> list[FloatArray]:
        return self._make_variances()

    def count(self, lo: list[IntArray], hi: list[IntArray]) -> NumberArray:
        """Return estimates of the boxes."""
        return self.counted.count(lo, hi)

    def error(self, lo: list[IntArray], hi: list[IntArray]) -> FloatArray:
        """Return the standard errors of the boxes."""
        if len(lo) == 1:
            return np.sqrt(line_variances(self.shape, self._variances, lo[0], hi[0]))
        low, high = np.stack(lo, axis=1).tolist(), np.stack(hi, axis=1).tolist()
        boxes = zip(low, high, strict=True)
        return np.sqrt([box_variance(self.shape, self._variances, *box) for box in boxes])

    def bin_errors(self) -> FloatArray:
        """Return the standard error of each bin, in the shape of the bins."""
        found = self._variances[0]
        for level in self.shape.levels[1:]:
            own = self._variances[level]
            share = own / self.shape.spread(self.shape.sum_children(own), level)
            found = own * (1 - share) + share**2 * self.shape.spread(found, level)
        return np.sqrt(found)
