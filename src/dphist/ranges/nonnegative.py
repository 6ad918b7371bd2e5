"""Nonnegative and integer counts from estimates of a tree's nodes, with consistent sums.

All of it is post-processing and costs no privacy.
"""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dphist.arrays import FloatArray, IntArray
from dphist.ranges.shape import Scalar, TreeShape


def nonnegative(
    shape: TreeShape,
    estimates: Sequence[FloatArray],
    variances: Sequence[FloatArray] | None = None,
) -> list[FloatArray]:
    """Fix the root, then fit each node's children to it, level by level.

    Parameters
    ----------
    shape : TreeShape
    estimates : list of `grid(level)` float64, records, the root's first
        The values of `subtree_estimates`, or `consistent` ones. With the `variances` of the
        former both give the same result: consistency shifts a family along the variances.
    variances : list of `grid(level)` float64, optional
        Variances of the estimates up to a factor (default: equal).

    Returns
    -------
    list of `grid(level)` float64, nonnegative, each the sum of its children up to float64
    rounding.

    Notes
    -----
    Deliberately not the nonnegative least-squares fit of all nodes at once: that has no fixed
    total, and its clipped bins bias sums of many bins.
    """
    kept = [np.maximum(estimates[0], 0)]
    for level in shape.levels[1:]:
        chosen = None if variances is None else variances[level]
        kept.append(project_children(shape, level, kept[-1], estimates[level], chosen))
    return kept


def project_children(
    shape: TreeShape,
    level: int,
    parents: FloatArray,
    children: FloatArray,
    variances: FloatArray | None = None,
) -> FloatArray:
    """Least-squares projection of each family onto {x >= 0, sum of x = its parent}.

    Parameters
    ----------
    shape : TreeShape
    level : int
        The children's level.
    parents : `grid(level - 1)` float64, nonnegative
    children : `grid(level)` float64
    variances : `grid(level)` float64, positive, optional
        Variances of `children` up to a factor (default: equal).

    Returns
    -------
    `grid(level)` float64, nonnegative.

    Notes
    -----
    The solution is x = variance * max(0, ratio - floor) with ratio = child / variance and
    one floor per family (Held, Wolfe, Crowder 1974, for equal variances). Let gaps be the
    distances of ratios from the largest one, and ``height`` that of the floor. For the j smallest
    gaps only, the height that sums to the parent is (parent + sum of variance * gap) /
    (sum of variance). Omitting children can only raise it, so the height is the minimum over all
    j. Exact up to rounding; one sort per family.
    """
    spread = np.ones(()) if variances is None else families(shape, variances, fill=1)
    # A child that does not exist has an infinite gap, hence value 0.
    gaps = families(shape, children, fill=-np.inf) / spread
    gaps = gaps.max(axis=1, keepdims=True) - gaps
    totals = parents.reshape(-1, 1)
    if variances is None:
        nearest = np.sort(gaps, axis=1)
        sizes = np.arange(1, gaps.shape[1] + 1, dtype=np.float64)
        heights = (totals + np.cumsum(nearest, axis=1)) / sizes
    else:
        order = np.argsort(gaps, axis=1)
        sizes = np.take_along_axis(spread, order, axis=1)
        nearest = np.take_along_axis(gaps, order, axis=1)
        heights = (totals + np.cumsum(sizes * nearest, axis=1)) / np.cumsum(sizes, axis=1)
    shares = spread * np.maximum(heights.min(axis=1, keepdims=True) - gaps, 0)
    return from_families(shape, shares, level)


def whole_bins(shape: TreeShape, bins: FloatArray) -> IntArray:
    """Round bins to integers that add up: by intervals in one axis, by nodes in several.

    Parameters
    ----------
    shape : TreeShape
    bins : `shape.bins` float64, below 2**53 records in all.

    Returns
    -------
    `shape.bins` int64, nonnegative if `bins` are; the counts of larger nodes are their sums.
    """
    return whole_intervals(bins) if bins.ndim == 1 else whole_nodes(shape, bins)


def whole_intervals(bins: FloatArray) -> IntArray:
    """Round the cumulative sums, half upwards; every interval stays within 1 of its sum.

    Parameters
    ----------
    bins : (n,) float64, below 2**53 records in all.

    Returns
    -------
    (n,) int64, nonnegative if `bins` are.
    """
    floors = np.floor(bins)
    # Whole records are added as integers, so the float error depends on n only.
    rests = np.floor(np.cumsum(bins - floors) + 0.5).astype(np.int64)
    sums = np.cumsum(floors.astype(np.int64)) + rests
    return np.diff(sums, prepend=0)


def whole_nodes(shape: TreeShape, bins: FloatArray) -> IntArray:
    """Round every node up or down, from the root: largest remainders, ties to the first.

    Parameters
    ----------
    shape : TreeShape
    bins : `shape.bins` float64, below 2**53 records in all.

    Returns
    -------
    `shape.bins` int64, nonnegative if `bins` are; every node of the tree, the sum of its bins,
    is within 1 of the unrounded sum.

    Notes
    -----
    A parent is its sum rounded up or down, so its excess over its children rounded down is at
    least 0 and at most the number of children that are not whole. This also holds for float64
    sums, since rounding is monotone and whole summands are added exactly.
    """
    levels = shape.sums(bins)
    whole = np.floor(levels[0] + 0.5).astype(np.int64)
    for level in shape.levels[1:]:
        rows = families(shape, levels[level], fill=0)
        floors = np.floor(rows)
        order = np.argsort(floors - rows, axis=1, kind="stable")
        counts = floors.astype(np.int64)
        left = whole.reshape(-1, 1) - counts.sum(axis=1, keepdims=True)
        ranks = np.arange(rows.shape[1])
        more = np.empty(rows.shape, np.int64)
        np.put_along_axis(more, order, (ranks < left).astype(np.int64), axis=1)
        whole = from_families(shape, counts + more, level)
    return whole


def families(shape: TreeShape, values: npt.NDArray[Scalar], fill: float) -> npt.NDArray[Scalar]:
    """Put the children of each node in a row.

    Parameters
    ----------
    values : `grid(level)`, for some level below the root.
    fill : float
        Value of the missing children of a node at the end of the domain.

    Returns
    -------
    (nodes of level - 1, most children of one), of the same type. An axis with fewer
    than `branching` nodes takes only their number, so that in d axes this is at most
    2**d times as large as `values`.
    """
    widths = [min(shape.branching, size) for size in values.shape]
    missing = [-size % width for size, width in zip(values.shape, widths, strict=True)]
    if any(missing):
        padding = [(0, some) for some in missing]
        values = np.pad(values, padding, constant_values=fill)
    return _cut_boxes(values, widths)


def from_families(shape: TreeShape, rows: npt.NDArray[Scalar], level: int) -> npt.NDArray[Scalar]:
    """Put rows of children, as `families` makes them, back on `grid(level)`."""
    grid = shape.grid(level)
    widths = [min(shape.branching, size) for size in grid]
    parents = [-(-size // width) for size, width in zip(grid, widths, strict=True)]
    axes = len(grid)
    order = [axis for pair in zip(range(axes), range(axes, 2 * axes), strict=True) for axis in pair]
    blocks = rows.reshape(*parents, *widths).transpose(order)
    padded = blocks.reshape([p * w for p, w in zip(parents, widths, strict=True)])
    return padded[tuple(slice(size) for size in grid)]


def _cut_boxes(values: npt.NDArray[Scalar], widths: list[int]) -> npt.NDArray[Scalar]:
    """Cut a grid into boxes of `widths`, one per row."""
    split = [part for size, w in zip(values.shape, widths, strict=True) for part in (size // w, w)]
    axes = range(2 * len(widths))
    boxes = values.reshape(split).transpose([*axes[::2], *axes[1::2]])
    return boxes.reshape(-1, math.prod(widths))
