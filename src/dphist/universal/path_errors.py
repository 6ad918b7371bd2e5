"""Variances of ranges of one axis under a binary tree of splits, many at once."""

from collections.abc import Sequence

import numpy as np

from dphist.universal.consistency import FloatArray
from dphist.universal.dyadic_inference import Split
from dphist.universal.edge_parts import Part, prefix
from dphist.universal.shape import IntArray


def path_variances(
    splits: Sequence[Split], root_variance: float, last: int, lo: IntArray, hi: IntArray
) -> FloatArray:
    """Return the variances of the sums of bins `lo`, ..., `hi` - 1.

    Parameters
    ----------
    splits : of every node, level by level from the root: the first half's share, and the variance
        of the error that it has beside its share of the node's, and the second half with the
        other sign.
    root_variance : of the root's estimate, records squared.
    last : the last bin.
    lo, hi : (q,) int64

    Returns
    -------
    (q,) float64

    Notes
    -----
    A range is what lies left of `hi` less what lies left of `lo`. Both are carried from the bins
    up, as slopes and errors within the node that holds the edge, until that is one node.
    """
    left, right = prefix(last, lo), prefix(last, hi)
    met = left.node == right.node
    # Once in one node, "left" stands for the whole range, and "right" for nothing.
    left.slope = np.where(met, right.slope - left.slope, left.slope)
    for split in reversed(splits):
        parent = left.node >> 1
        meeting = ~met & (parent == right.node >> 1)
        apart = ~met & ~meeting
        first, second = _in_halves(left, apart)
        # Of one node's halves: the first but for what lies left of `lo`, and some of the second.
        first = np.where(meeting, 1 - left.slope, first)
        second = np.where(meeting, right.slope, second)
        errors = left.variance + np.where(meeting, right.variance, 0.0)
        right = _up(split, right.node >> 1, *_in_halves(right, apart), right.variance)
        left = _up(split, parent, first, second, errors)
        met |= meeting
    return left.variance + left.slope**2 * root_variance


def _in_halves(
    part: Part, has_left: "np.ndarray[tuple[int], np.dtype[np.bool_]]"
) -> tuple[FloatArray, FloatArray]:
    """Return the weights of both halves of the parent; `has_left` if all left of it counts."""
    is_second = (part.node & 1).astype(bool)
    first = np.where(is_second, np.where(has_left, 1.0, 0.0), part.slope)
    return first, np.where(is_second, part.slope, 0.0)


def _up(
    split: Split, parent: IntArray, first: FloatArray, second: FloatArray, variance: FloatArray
) -> Part:
    share, spread = split.share[parent], split.variance[parent]
    slope = share * first + (1 - share) * second
    return Part(parent, slope, variance + (first - second) ** 2 * spread)
