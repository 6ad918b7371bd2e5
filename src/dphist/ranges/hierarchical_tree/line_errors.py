"""Variances of many ranges of one axis; vectorized."""

import numpy as np

from dphist.arrays import FloatArray, IntArray
from dphist.ranges.edge_parts import Part, prefix
from dphist.ranges.shape import TreeShape


def line_variances(
    shape: TreeShape, variances: list[FloatArray], lo: IntArray, hi: IntArray
) -> FloatArray:
    """Return the variances of the sums of bins `lo`, ..., `hi` - 1.

    Parameters
    ----------
    shape : TreeShape of one axis.
    variances : list of (nodes,) float64, as `TreeAnswers` has them.
    lo, hi : (q,) int64

    Returns
    -------
    (q,) float64

    Notes
    -----
    A range is the part left of `hi` minus the part left of `lo`. Within any node, each is a share
    of that node plus an independent error; both are carried from the bins up until their paths
    meet in one family. O(height) for each range.
    """
    last = shape.bins[0] - 1
    left, right = prefix(last, lo), prefix(last, hi)
    met = left.node == right.node
    both = Part(left.node, right.slope - left.slope, np.zeros(len(lo)))
    for level in range(shape.height, 0, -1):
        values = variances[level]
        sums = np.append(0.0, np.cumsum(values))
        together = left.node // shape.branching == right.node // shape.branching
        joined = _join(shape.branching, values, sums, left, right)
        both = _choose(met, _raise(shape.branching, values, sums, both, whole=False), joined)
        left = _raise(shape.branching, values, sums, left, whole=True)
        right = _raise(shape.branching, values, sums, right, whole=True)
        met = met | together
    total: FloatArray = both.variance + both.slope**2 * variances[0][0]
    return total


def _raise(branching: int, values: FloatArray, sums: FloatArray, part: Part, whole: bool) -> Part:
    """Go to the parent; `whole` if the sum holds all siblings to the left too."""
    parent, own = part.node // branching, values[part.node]
    before = sums[part.node] - sums[parent * branching] if whole else 0.0
    return _in_parent(
        branching,
        sums,
        parent,
        before + part.slope * own,
        before + part.slope**2 * own,
        part.variance,
    )


def _join(branching: int, values: FloatArray, sums: FloatArray, left: Part, right: Part) -> Part:
    """Go to the parent of both: all siblings between them, and their parts."""
    between = sums[right.node] - sums[np.minimum(left.node + 1, right.node)]
    rest = 1 - left.slope
    first, last = values[left.node], values[right.node]
    return _in_parent(
        branching,
        sums,
        right.node // branching,
        between + rest * first + right.slope * last,
        between + rest**2 * first + right.slope**2 * last,
        left.variance + right.variance,
    )


def _in_parent(
    branching: int,
    sums: FloatArray,
    parent: IntArray,
    weighted: FloatArray,
    squared: FloatArray,
    variance: FloatArray,
) -> Part:
    """Apply weights w to a family: slope w.v / sum(v), and w'(diag(v) - vv'/sum(v))w more."""
    stop = np.minimum((parent + 1) * branching, len(sums) - 1)
    family = sums[stop] - sums[parent * branching]
    slope = weighted / family
    return Part(parent, slope, variance + np.maximum(squared - slope * weighted, 0))


def _choose(first: np.ndarray, one: Part, other: Part) -> Part:
    return Part(
        np.where(first, one.node, other.node),
        np.where(first, one.slope, other.slope),
        np.where(first, one.variance, other.variance),
    )
