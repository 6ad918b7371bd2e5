"""Trees over ordered bins: their nodes, and arithmetic between levels.

A tree is one array for each level, from the root (level 0) to the bins, in the shape of the grid of
its nodes; nodes are not objects. Only the sums depend on data.
"""

import math
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from dphist.arrays import AnyArray
from dphist.counting.checks import LARGEST
from dphist.errors import ParameterError
from dphist.parameters import whole_number

Scalar = TypeVar("Scalar", bound=np.generic)


@dataclass(frozen=True, slots=True)
class TreeShape:
    """A complete tree over the bins of one or more axes, truncated at the domain's end.

    A node of level l covers a box of ``branching**(height - l)`` bins per side, within the
    domain. A node outside the domain does not exist, so a node at the end of an axis may have
    fewer children than others, and no padding is stored or measured.

    Parameters
    ----------
    bins : tuple of int
        Bins of each axis, at least 1; public.
    branching : int
        Children of a node along each axis, at least 2.

    >>> shape = TreeShape(bins=(5,), branching=2)
    >>> shape.height, [shape.grid(level) for level in shape.levels]
    (3, [(1,), (2,), (3,), (5,)])
    """

    bins: tuple[int, ...]
    branching: int

    def __post_init__(self) -> None:
        if not isinstance(self.bins, tuple) or len(self.bins) == 0:
            raise ParameterError("bins", "must be a tuple with the number of bins of each axis")
        sizes = tuple(whole_number(size, "bins", least=1) for size in self.bins)
        if not math.prod(sizes) <= LARGEST:
            raise ParameterError("bins", "must be less than 2**62 in all")
        object.__setattr__(self, "bins", sizes)
        object.__setattr__(self, "branching", whole_number(self.branching, "branching", least=2))

    @property
    def height(self) -> int:
        """Number of levels below the root; also the level of the bins."""
        height = 0
        while self.branching**height < max(self.bins):
            height += 1
        return height

    @property
    def levels(self) -> range:
        """All levels, from the root to the bins."""
        return range(self.height + 1)

    def side(self, level: int) -> int:
        """Bins per side of a node of `level` that is not truncated."""
        return int(self.branching ** (self.height - level))

    def grid(self, level: int) -> tuple[int, ...]:
        """Nodes of `level` along each axis."""
        side = self.side(level)
        return tuple(-(-size // side) for size in self.bins)

    def sums(self, values: npt.NDArray[Scalar]) -> list[npt.NDArray[Scalar]]:
        """Add up values, level by level.

        Parameters
        ----------
        values : `bins`
            Values of the bins. The caller must ensure that int64 sums do not wrap.

        Returns
        -------
        list of `grid(level)` of the same type, the root's first; the last is `values`.
        """
        self.check_grid(values, self.height)
        upwards = [values]
        for _ in range(self.height):
            upwards.append(self.sum_children(upwards[-1]))
        return upwards[::-1]

    def sum_children(self, values: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
        """Add up the children of each node.

        Parameters
        ----------
        values : `grid(level)`, for some level below the root.

        Returns
        -------
        `grid(level - 1)`, of the same type.
        """
        for axis, size in enumerate(values.shape):
            values = np.add.reduceat(values, np.arange(0, size, self.branching), axis=axis)
        return values

    def check_grid(self, values: AnyArray, level: int) -> None:
        """Refuse values of a level in another shape than its grid of nodes."""
        if values.shape != self.grid(level):
            raise ParameterError("values", "of a level must have the shape of its grid of nodes")
