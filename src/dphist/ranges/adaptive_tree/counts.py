"""The noisy counts of a binary tree, with first counts separate from later ones."""

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from dphist.arrays import FloatArray, IntArray

# Level, its nodes in ascending order, their noisy counts, and the variance of the noise.
Batch: TypeAlias = tuple[int, IntArray, IntArray, float]
# By level: averages of a node's counts, and their precision (0: none).
Averages: TypeAlias = dict[int, tuple[FloatArray, FloatArray]]


class DyadicCounts:
    """First counts of nodes, made when nothing was known of them, and later counts.

    Parameters
    ----------
    sizes : list of (2**level,) int32, as `DyadicShape.sizes` makes them.
    batches : noisy counts in the order of counting.

    Attributes
    ----------
    sizes : as given.
    first, later : by level, the average of a node's counts and its precision. A count is later if
        the node, or one below it, was counted before, so that earlier noise decided to take it.
    deepest : the deepest level with a counted node.
    """

    __slots__ = ("deepest", "first", "later", "sizes")

    def __init__(self, sizes: list[npt.NDArray[np.int32]], batches: Iterable[Batch]) -> None:
        self.sizes, self.deepest = sizes, 0
        self.first: Averages = {}
        self.later: Averages = {}
        known = [np.zeros(len(level), np.bool_) for level in sizes]
        for level, nodes, counts, variance in batches:
            before = known[level][nodes]
            _average(self.first, level, nodes[~before], counts[~before], variance)
            _average(self.later, level, nodes[before], counts[before], variance)
            self.deepest = max(self.deepest, level)
            for above in range(level, -1, -1):
                known[above][nodes] = True
                nodes = np.unique(nodes >> 1)


def _average(
    kept: Averages, level: int, nodes: IntArray, counts: IntArray, variance: float
) -> None:
    if len(nodes) == 0:
        return
    value, precision = kept.setdefault(level, (np.zeros(2**level), np.zeros(2**level)))
    before, more = precision[nodes], 1 / variance
    value[nodes] = (before * value[nodes] + more * counts) / (before + more)
    precision[nodes] = before + more
