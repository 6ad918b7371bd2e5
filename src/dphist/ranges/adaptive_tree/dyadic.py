"""A binary tree over any number of axes."""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

Scalar = TypeVar("Scalar", bound=np.generic)


@dataclass(frozen=True, slots=True)
class DyadicShape:
    """Bins in an order in which every node of a binary tree is a run of 2**k of them.

    Each level halves the axis with the most bins left in a node, the first of equals. Axes are
    padded to powers of two, so there are fewer than 2**axes times as many places as bins;
    a node wholly in the padding does not exist: its size is 0.

    Parameters
    ----------
    bins : bins of each axis, at least 1; public.

    >>> [sizes.tolist() for sizes in DyadicShape((3,)).sizes()]
    [[3], [2, 1], [1, 1, 1, 0]]
    """

    bins: tuple[int, ...]

    @property
    def bits(self) -> list[int]:
        """Number of halvings of each axis."""
        return [(size - 1).bit_length() for size in self.bins]

    @property
    def height(self) -> int:
        """Levels below the root."""
        return sum(self.bits)

    @property
    def halved(self) -> list[int]:
        """The axis that each level below the root halves."""
        left = self.bits
        order = []
        for _ in range(self.height):
            axis = left.index(max(left))
            order.append(axis)
            left[axis] -= 1
        return order

    def arrange(self, grid: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
        """Return the values in the tree's order, (2**height,), 0 in the padding."""
        sides = [2**bits for bits in self.bits]
        padding = [(0, side - size) for side, size in zip(sides, self.bins, strict=True)]
        padded = np.pad(grid, padding) if any(after for _, after in padding) else grid
        runs, order = self._runs()
        return padded.reshape(runs).transpose(order).ravel()

    def restore(self, flat: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
        """Return values in the tree's order as a grid of `bins`."""
        runs, order = self._runs()
        grid = flat.reshape([runs[place] for place in order]).transpose(np.argsort(order))
        padded = grid.reshape([2**bits for bits in self.bits])
        return np.ascontiguousarray(padded[tuple(slice(size) for size in self.bins)])

    def sizes(self) -> list[npt.NDArray[np.int32]]:
        """Return the number of bins of each node by level, (2**level,); 0 if it does not exist."""
        upwards = [self.arrange(np.ones(self.bins, np.int32))]
        for _ in range(self.height):
            upwards.append(upwards[-1].reshape(-1, 2).sum(axis=1, dtype=np.int32))
        return upwards[::-1]

    def _runs(self) -> tuple[list[int], list[int]]:
        return _interleave(self.halved)


def _interleave(halved: list[int]) -> tuple[list[int], list[int]]:
    """Return how to split the axes into runs of halvings, and the order they have in the tree.

    Consecutive halvings of one axis stay together, so that a single axis is not transposed.
    An axis of one bin is never halved, and is dropped.
    """
    runs: list[tuple[int, int]] = []  # axis and number of halvings, in the tree's order
    for axis in halved:
        if runs and runs[-1][0] == axis:
            runs[-1] = axis, runs[-1][1] + 1
        else:
            runs.append((axis, 1))
    # The runs of one axis keep their order, as larger halves come first in both.
    by_axis = sorted(range(len(runs)), key=lambda run: runs[run][0])
    split = [2 ** runs[run][1] for run in by_axis]
    return split, [int(place) for place in np.argsort(by_axis)]
