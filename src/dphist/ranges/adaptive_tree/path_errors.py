"""Variances of many ranges of one axis, under a binary tree."""

import numpy as np

from dphist.arrays import FloatArray, IntArray
from dphist.ranges.adaptive_tree.least_squares import Halving, LeastSquares
from dphist.ranges.edge_parts import Part, prefix


def path_variances(fit: LeastSquares, lo: IntArray, hi: IntArray) -> FloatArray:
    """Return the variances of the sums of nodes `lo`, ..., `hi` - 1 of the deepest level.

    Parameters
    ----------
    fit : LeastSquares
    lo, hi : (q,) int64
        No range may end within an unopened node.

    Returns
    -------
    (q,) float64, records squared.

    Notes
    -----
    A range is the part left of `hi` minus the part left of `lo`. Both are carried up from the
    deepest level, as slopes and errors within the node that contains the edge, to the halves of
    the smallest node that contains both. O(deepest level) for each edge, and O(1) for each range.
    """
    deepest = fit.deepest
    if 2**deepest <= len(lo):
        edges, left, right = np.arange(2**deepest + 1), lo, hi
    else:
        edges, which = np.unique(np.concatenate([lo, hi]), return_inverse=True)
        left, right = which[: len(lo)], which[len(lo) :]
    part = prefix(2**deepest - 1, edges)
    # Levels up to the common ancestor: the bit length of the XOR of the two node numbers.
    meeting = np.frexp((part.node[left] ^ part.node[right]).astype(np.float64))[1].astype(np.int8)
    order = np.argsort(meeting, kind="stable")
    starts = np.searchsorted(meeting[order], np.arange(deepest + 2))
    found = np.zeros(len(lo))
    here = order[: starts[1]]  # both in one node: all of it, or nothing
    slope = part.slope[right[here]] - part.slope[left[here]]
    found[here] = slope**2 * fit.variances[-1][part.node[left[here]]]
    for up in range(1, deepest + 1):
        level = deepest - up
        here = order[starts[up] : starts[up + 1]]
        one, other = left[here], right[here]
        errors = part.variance[one] + part.variance[other]
        whole = part.node[one] >> 1
        joined = _up(fit.halvings[level], whole, 1 - part.slope[one], part.slope[other], errors)
        found[here] = joined.variance + joined.slope**2 * fit.variances[level][whole]
        part = _raised(fit.halvings[level], part)
    return found


def _raised(halving: Halving, part: Part) -> Part:
    """Go to the parents: the part left of an edge includes the first half left of its node."""
    is_second = (part.node & 1).astype(np.bool_)
    first = np.where(is_second, 1.0, part.slope)
    second = np.where(is_second, part.slope, 0.0)
    return _up(halving, part.node >> 1, first, second, part.variance)


def _up(
    halving: Halving, parent: IntArray, first: FloatArray, second: FloatArray, variance: FloatArray
) -> Part:
    """Return the weighted sum of the halves as a part of their parent."""
    share, spread = halving.share[parent], halving.spread[parent]
    slope = share * first + (1 - share) * second
    return Part(parent, slope, variance + (first - second) ** 2 * spread)
