"""The variance of one box of several axes."""

import numpy as np

from dphist.arrays import FloatArray
from dphist.ranges.shape import TreeShape


def box_variance(
    shape: TreeShape, variances: list[FloatArray], lo: list[int], hi: list[int]
) -> float:
    """Return the variance of the sum of the bins ``lo <= place < hi``.

    Parameters
    ----------
    shape : TreeShape
    variances : list of `grid(level)` float64, as `TreeAnswers` has them.
    lo, hi : one whole number for each axis.

    Notes
    -----
    As for one axis, but over all nodes that intersect the box: a node's part of the sum is a
    slope times its estimate plus an independent error. Nodes inside have slope 1 and no error.
    """
    if not all(low < high for low, high in zip(lo, hi, strict=True)):
        return 0.0
    where = list(zip(lo, hi, strict=True))
    slopes = np.ones([high - low for low, high in where])
    error = 0.0
    for level in range(shape.height, 0, -1):
        wider = [
            _family_ends(low, high, shape, level, axis) for axis, (low, high) in enumerate(where)
        ]
        padding = [
            (low - first, stop - high)
            for (low, high), (first, stop) in zip(where, wider, strict=True)
        ]
        slopes = np.pad(slopes, padding)
        values = variances[level][tuple(slice(*ends) for ends in wider)]
        family = shape.sum_children(values)
        weighted = shape.sum_children(slopes * values)
        squared = shape.sum_children(slopes**2 * values)
        slopes = weighted / family
        error += float(np.maximum(squared - slopes * weighted, 0).sum())
        where = [(first // shape.branching, -(-stop // shape.branching)) for first, stop in wider]
    return error + float((slopes**2 * variances[0]).sum())


def _family_ends(low: int, high: int, shape: TreeShape, level: int, axis: int) -> tuple[int, int]:
    """Widen a range of nodes to whole families, within the grid."""
    b = shape.branching
    return low // b * b, min(-(-high // b) * b, shape.grid(level)[axis])
