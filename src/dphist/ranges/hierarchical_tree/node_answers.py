"""Answers from the minimum number of nodes that form a range (Hay et al. 2010, sec. 4)."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dphist.arrays import FloatArray, IntArray, NumberArray
from dphist.ranges.shape import TreeShape
from dphist.release.range_histogram import Answers
from dphist.release.range_histogram.boxes import box_sums, summed


@dataclass(frozen=True)
class NodeAnswers(Answers):
    """Sums of noisy nodes, each with independent noise of one variance.

    Attributes
    ----------
    shape : TreeShape
    nodes : one array for each level, the root's first; `grid(level)` int64 or float64
    coarsest : the first level that is measured.
    variance : variance of each node's noise, records squared.
    """

    shape: TreeShape
    nodes: Sequence[NumberArray]
    coarsest: int
    variance: float

    @property
    def bins(self) -> NumberArray:
        """Answers of single bins, in the shape of the bins."""
        return self.nodes[-1]

    @cached_property
    def _sums(self) -> list[NumberArray]:
        return [summed(level) for level in self.nodes]

    def count(self, lo: list[IntArray], hi: list[IntArray]) -> NumberArray:
        """Return the sums of the minimum number of nodes of each box."""
        total: NumberArray = np.zeros(lo[0].shape, self.nodes[-1].dtype)
        for level, sign, low, high, chosen in self._boxes(lo, hi):
            found = box_sums(self._sums[level], low, high)
            total[chosen] = total[chosen] + found if sign > 0 else total[chosen] - found
        return total

    def error(self, lo: list[IntArray], hi: list[IntArray]) -> FloatArray:
        """Return the standard errors: sqrt(number of nodes) times that of one."""
        number = np.zeros(lo[0].shape, np.int64)
        for _, sign, low, high, chosen in self._boxes(lo, hi):
            number[chosen] += sign * _volume(low, high)
        return math.sqrt(self.variance) * np.sqrt(number)

    def bin_errors(self) -> FloatArray:
        """Return the standard error of each bin, in the shape of the bins."""
        return np.full(self.shape.bins, math.sqrt(self.variance))

    def _boxes(
        self, lo: list[IntArray], hi: list[IntArray]
    ) -> Iterator[tuple[int, int, list[IntArray], list[IntArray], IntArray]]:
        """Decompose boxes level by level: nodes inside a box, except those inside larger ones.

        Yields (level, sign, lo, hi, chosen): the nodes lo..hi of `level` count `sign` times in the
        queries `chosen`. A node inside a box counts if its parent is not inside, and the nodes of
        one level inside a box form a box.
        """
        branching = self.shape.branching
        chosen = np.arange(len(lo[0]))
        for level in range(self.shape.height, self.coarsest - 1, -1):
            yield level, 1, lo, hi, chosen
            if level == self.coarsest:
                return
            grid, above = self.shape.grid(level), self.shape.grid(level - 1)
            first = [-(-low // branching) for low in lo]
            # The last node ends with the domain, however few children it has.
            stop = [
                np.where(high == size, parents, high // branching)
                for high, size, parents in zip(hi, grid, above, strict=True)
            ]
            inside = np.all([f < s for f, s in zip(first, stop, strict=True)], axis=0)
            chosen = chosen[inside]
            lo, hi = [f[inside] for f in first], [s[inside] for s in stop]
            low = [f * branching for f in lo]
            high = [np.minimum(s * branching, size) for s, size in zip(hi, grid, strict=True)]
            yield level, -1, low, high, chosen


def _volume(lo: list[IntArray], hi: list[IntArray]) -> IntArray:
    volume: IntArray = np.prod([high - low for low, high in zip(lo, hi, strict=True)], axis=0)
    return volume
