"""Answers of an adaptive tree, and standard errors estimated from what was counted."""

from collections.abc import Callable
from functools import cached_property

import numpy as np

from dphist.histogram.boxes import IntArray, NumberArray, box_sums, summed
from dphist.universal.consistency import FloatArray
from dphist.universal.dyadic import DyadicShape
from dphist.universal.dyadic_inference import Fit
from dphist.universal.path_errors import path_variances


class DyadicAnswers:
    """Sums of bins; errors from the posterior of each split, taken as independent.

    Parameters
    ----------
    shape : DyadicShape
    bins : `shape.bins` int64
    fit : function that returns what `bins` were inferred from; called when an error is asked for.

    Notes
    -----
    A node's first half is its share of the node plus an error with the posterior's variance,
    which the second half has with the other sign. Where nothing was counted below a node its
    splits have the variance of the prior.
    """

    def __init__(self, shape: DyadicShape, bins: NumberArray, fit: Callable[[], Fit]) -> None:
        self.shape, self.bins, self._make_fit = shape, bins, fit

    @cached_property
    def _sums(self) -> NumberArray:
        return summed(self.bins)

    @cached_property
    def _fit(self) -> Fit:
        return self._make_fit()

    def count(self, lo: list[IntArray], hi: list[IntArray]) -> NumberArray:
        """Return the sums of the boxes."""
        return box_sums(self._sums, lo, hi)

    def error(self, lo: list[IntArray], hi: list[IntArray]) -> FloatArray:
        """Return the estimated standard errors of the boxes."""
        if len(lo) == 1:
            ends, last = (lo[0], hi[0]), self.shape.bins[0] - 1
            return _root(path_variances(self._fit.splits, self._fit.root_variance, last, *ends))
        low, high = np.stack(lo, axis=1).tolist(), np.stack(hi, axis=1).tolist()
        boxes = zip(low, high, strict=True)
        return _root(np.array([self._box_variance(*box) for box in boxes]))

    def bin_errors(self) -> FloatArray:
        """Return the estimated standard error of each bin, in the shape of the bins."""
        variance = np.array([self._fit.root_variance])
        for share, spread in self._fit.splits:
            below = np.empty(2 * len(variance))
            below[::2] = share**2 * variance + spread
            below[1::2] = (1 - share) ** 2 * variance + spread
            variance = below
        return _root(self.shape.restore(variance))

    def _box_variance(self, lo: list[int], hi: list[int]) -> float:
        inside = np.zeros(self.shape.bins)
        inside[tuple(slice(low, high) for low, high in zip(lo, hi, strict=True))] = 1
        slopes, error = self.shape.arrange(inside), 0.0
        for share, spread in reversed(self._fit.splits):
            first, second = slopes[::2], slopes[1::2]
            error += float(((first - second) ** 2 * spread).sum())
            slopes = share * first + (1 - share) * second
        return error + float(slopes[0] ** 2) * self._fit.root_variance


def _root(variances: FloatArray) -> FloatArray:
    roots: FloatArray = np.sqrt(variances)
    return roots
