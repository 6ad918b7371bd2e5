"""Least squares over all measured nodes of a tree: pure functions of noisy numbers.

All of it is post-processing and costs no privacy.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dphist.arrays import FloatArray, IntArray
from dphist.errors import ParameterError
from dphist.ranges.shape import Scalar, TreeShape


class Estimates(NamedTuple):
    """Estimate of each node from its subtree only.

    Attributes
    ----------
    values : list of `grid(level)` float64, records; the paper's z.
    variances : list of `grid(level)` float64, of `values`, in the units of 1 / weights.
    """

    values: list[FloatArray]
    variances: list[FloatArray]


def subtree_estimates(
    shape: TreeShape, noisy: Sequence[IntArray | FloatArray], weights: Sequence[float]
) -> Estimates:
    """Combine each node's measurement with those of its descendants, by inverse variance.

    Parameters
    ----------
    shape : TreeShape
    noisy : one array for each level, the root's first; `grid(level)`, in records
        Measured counts. A level of weight 0 is not read and may hold anything.
    weights : one nonnegative float for each level
        Inverse variances up to a factor; 0 for a level that is not measured. The bins must
        be measured, since nothing else distinguishes them.

    Returns
    -------
    Estimates

    Notes
    -----
    The bottom-up pass of Hay et al. 2010, sec. 4.1, O(nodes). Its factors are for
    equal weights and k children each. Here the variances are computed, because they differ
    between nodes at the end of a domain. Above 2**53 records float64 rounds.
    """
    _check(shape, noisy, weights)
    values = [np.array(noisy[-1], np.float64)]
    variances = [np.full(shape.bins, 1 / weights[-1])]
    for level in reversed(range(shape.height)):
        below = shape.sum_children(values[-1])
        variance = shape.sum_children(variances[-1])
        if weights[level] > 0:
            # The average by inverse variance is below + gain * (own - below).
            ratio = variance * weights[level]
            variance /= 1 + ratio
            below += ratio / (1 + ratio) * (noisy[level] - below)
        values.append(below)
        variances.append(variance)
    return Estimates(values[::-1], variances[::-1])


def consistent(
    shape: TreeShape, noisy: Sequence[IntArray | FloatArray], weights: Sequence[float]
) -> list[FloatArray]:
    """Least-squares fit of all nodes such that each is the sum of its children.

    Parameters
    ----------
    shape, noisy, weights
        As for `subtree_estimates`.

    Returns
    -------
    list of `grid(level)` float64, records, the root's first.

    Notes
    -----
    Hay et al. 2010, Theorem 3, with weights: the difference between a node and the sum of
    its children is distributed in proportion to their variances. O(nodes).

    >>> noisy = [np.array([13]), np.array([3, 11]), np.array([4, 1, 12, 1])]
    >>> fit = consistent(TreeShape(bins=(4,), branching=2), noisy, [1, 1, 1])
    >>> [np.rint(level).astype(int).tolist() for level in fit]
    [[14], [3, 11], [3, 0, 11, 0]]
    """
    return _spread_downwards(shape, subtree_estimates(shape, noisy, weights))


def zero_subtrees(shape: TreeShape, values: Sequence[FloatArray]) -> list[FloatArray]:
    """Set every subtree with a root of at most zero to zero.

    Parameters
    ----------
    shape : TreeShape
    values : list of `grid(level)` float64, the root's first.

    Returns
    -------
    The values, nonnegative. Parents are no longer the sums of their children.

    Notes
    -----
    The heuristic of Hay et al. 2010, sec. 4.2. `nonnegative` keeps the sums instead.
    """
    kept = [np.maximum(values[0], 0)]
    for level in shape.levels[1:]:
        above = spread(shape, kept[-1] > 0, level)
        kept.append(np.where(above, np.maximum(values[level], 0), 0))
    return kept


def spread(shape: TreeShape, values: npt.NDArray[Scalar], level: int) -> npt.NDArray[Scalar]:
    """Give each node of `level` its parent's value.

    Parameters
    ----------
    values : `grid(level - 1)`.

    Returns
    -------
    `grid(level)`, of the same type.
    """
    shape.check_grid(values, level - 1)
    for axis, size in enumerate(shape.grid(level)):
        values = np.repeat(values, min(shape.branching, size), axis=axis)
        values = values[(slice(None),) * axis + (slice(size),)]
    return values


def _spread_downwards(shape: TreeShape, estimates: Estimates) -> list[FloatArray]:
    values, variances = estimates
    fit = [values[0]]
    for level in shape.levels[1:]:
        excess = fit[-1] - shape.sum_children(values[level])
        excess /= shape.sum_children(variances[level])
        fit.append(values[level] + variances[level] * spread(shape, excess, level))
    return fit


def _check(
    shape: TreeShape, noisy: Sequence[IntArray | FloatArray], weights: Sequence[float]
) -> None:
    if len(noisy) != len(shape.levels) or len(weights) != len(shape.levels):
        raise ParameterError(("noisy", "weights"), "must have one entry a level, the root's first")
    if not all(weight >= 0 and math.isfinite(weight) for weight in weights):
        raise ParameterError("weights", "must be finite and none negative")
    if not weights[-1] > 0:
        raise ParameterError("weights", "must be greater than 0 at the level of the bins")
    for level, weight in enumerate(weights):
        if weight > 0 and noisy[level].shape != shape.grid(level):
            raise ParameterError("noisy", "must have the shape of each level's grid of nodes")
