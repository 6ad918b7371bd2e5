"""Public data on which the expected error of a mechanism is computed."""

import functools

import numpy as np

from dphist.arrays import IntArray

_BOXES = 2000


def bell(bins: tuple[int, ...], total: int) -> IntArray:
    """Return `total` records under a bell curve, in the middle of every axis, as whole numbers.

    >>> bell((4,), 100)
    array([12, 38, 38, 12])
    """
    # The standard deviation is about 0.24 of the axis, so the ends hold few records.
    curves = [np.exp(-((3 * (np.arange(n) + 0.5) / n - 1.5) ** 2)) for n in bins]
    density = functools.reduce(np.multiply.outer, curves)
    # Round cumulative sums, so that the total is exact however few records a bin has.
    sums = np.rint(np.cumsum(density.ravel()) / density.sum() * total).astype(np.int64)
    counts: IntArray = np.diff(sums, prepend=0).reshape(bins)
    return counts


def random_boxes(bins: tuple[int, ...]) -> tuple[list[IntArray], list[IntArray]]:
    """Return 2,000 boxes with uniformly random ends, always the same: lo and hi by axis."""
    rng = np.random.default_rng(0)  # the ranges on public data are not secret
    ends = [np.sort(rng.integers(0, n + 1, (2, _BOXES)), axis=0) for n in bins]
    return [lo for lo, _ in ends], [hi for _, hi in ends]
