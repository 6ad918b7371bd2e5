"""Trees over ordered bins: which nodes exist, and arithmetic from level to level.

A tree is held as one array a level, from the root (level 0) to the bins, each shaped like
the grid of its nodes; no node is an object. Nothing here depends on data but the sums.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from dphist.errors import ParameterError
from dphist.parameters import whole_number
from dphist.tables.checks import LARGEST, check_total

IntArray: TypeAlias = npt.NDArray[np.int64]
Scalar = TypeVar("Scalar", bound=np.generic)


class Run(NamedTuple):
    """Neighbouring nodes `first`, ..., `stop` - 1 of one level."""

    level: int
    first: int
    stop: int


@dataclass(frozen=True, slots=True)
class TreeShape:
    """A complete tree over the bins of one or more axes, cut off at the domain's end.

    A node of level l covers a box of ``branching**(height - l)`` bins a side, as far as
    the domain goes. A node wholly outside it does not exist, so a node at the end of an
    axis may have fewer children than others, and no padding is ever held or measured.

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
            raise ParameterError("bins must be a tuple with the number of bins of each axis")
        sizes = tuple(whole_number(size, "bins", least=1) for size in self.bins)
        if not math.prod(sizes) <= LARGEST:
            raise ParameterError("bins must be less than 2**62 in all")
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

    @property
    def largest_count(self) -> int:
        """The largest count such that no sum is refused if every bin holds that; public."""
        return LARGEST // math.prod(self.bins)

    def side(self, level: int) -> int:
        """Bins a side of a node of `level` that is not cut off."""
        return int(self.branching ** (self.height - level))

    def grid(self, level: int) -> tuple[int, ...]:
        """Nodes of `level` along each axis."""
        side = self.side(level)
        return tuple(-(-size // side) for size in self.bins)

    def totals(self, counts: IntArray) -> list[IntArray]:
        """Add up exact counts, level by level.

        Parameters
        ----------
        counts : `bins` int64, none negative
            Records in each bin.

        Returns
        -------
        list of `grid(level)` int64, the root's first; the last is `counts`.

        Raises
        ------
        DataError
            If there are 2**62 records or more, instead of wrapping. That refusal depends on
            the data as a whole. A caller that must not show it saturates the bins first, at
            `largest_count`, which is public; that never widens what neighbours differ by.
        """
        flat = counts.ravel()
        check_total(flat, np.ones_like(flat))
        return self.sums(counts)

    def sums(self, values: npt.NDArray[Scalar]) -> list[npt.NDArray[Scalar]]:
        """Add up `values` of the bins level by level, the root's first; no check of int64."""
        self._check_grid(values, self.height)
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

    def spread(self, values: npt.NDArray[Scalar], level: int) -> npt.NDArray[Scalar]:
        """Give each node of `level` its parent's value.

        Parameters
        ----------
        values : `grid(level - 1)`.

        Returns
        -------
        `grid(level)`, of the same type.
        """
        self._check_grid(values, level - 1)
        for axis, size in enumerate(self.grid(level)):
            values = np.repeat(values, min(self.branching, size), axis=axis)
            values = values[(slice(None),) * axis + (slice(size),)]
        return values

    def families(self, values: npt.NDArray[Scalar], fill: float) -> npt.NDArray[Scalar]:
        """Put the children of each node in a row.

        Parameters
        ----------
        values : `grid(level)`, for some level below the root.
        fill : float
            Stands for the children that a node at the end of the domain lacks.

        Returns
        -------
        (nodes of level - 1, most children of one), of the same type. An axis with fewer
        than `branching` nodes takes only their number, so that in d axes this is at most
        2**d times as large as `values`.
        """
        widths = [min(self.branching, size) for size in values.shape]
        missing = [-size % width for size, width in zip(values.shape, widths, strict=True)]
        if any(missing):
            padding = [(0, some) for some in missing]
            values = np.pad(values, padding, constant_values=fill)
        return _interleaved(values, widths)

    def from_families(self, rows: npt.NDArray[Scalar], level: int) -> npt.NDArray[Scalar]:
        """Put rows of children, as `families` makes them, back on `grid(level)`."""
        grid = self.grid(level)
        widths = [min(self.branching, size) for size in grid]
        parents = [-(-size // width) for size, width in zip(grid, widths, strict=True)]
        axes = len(grid)
        order = [
            axis for pair in zip(range(axes), range(axes, 2 * axes), strict=True) for axis in pair
        ]
        blocks = rows.reshape(*parents, *widths).transpose(order)
        padded = blocks.reshape([p * w for p, w in zip(parents, widths, strict=True)])
        return padded[tuple(slice(size) for size in grid)]

    def fewest_nodes(self, lo: int, hi: int, coarsest: int = 0) -> list[Run]:
        """Take the bins `lo`, ..., `hi` - 1 of the only axis apart into the fewest nodes.

        Parameters
        ----------
        lo, hi : int
            ``0 <= lo <= hi <= bins``.
        coarsest : int
            The first level whose nodes may be used, 1 if the root is not measured.

        Returns
        -------
        list of Run, disjoint, the finest level first, at most two a level, none empty.

        >>> TreeShape(bins=(8,), branching=4).fewest_nodes(1, 8)
        [Run(level=2, first=1, stop=4), Run(level=1, first=1, stop=2)]
        """
        if len(self.bins) != 1:
            raise ParameterError("a range is taken apart in trees over one axis only")
        lo = whole_number(lo, "lo", least=0)
        hi = whole_number(hi, "hi", least=lo, most=self.bins[0])
        coarsest = whole_number(coarsest, "coarsest", least=0, most=self.height)
        return list(self._runs(lo, hi, coarsest))

    def _runs(self, lo: int, hi: int, coarsest: int) -> Iterator[Run]:
        for level in range(self.height, coarsest, -1):
            first = -(-lo // self.branching)
            # The last node ends with the domain, however few children it has.
            at_end = hi == self.grid(level)[0]
            stop = self.grid(level - 1)[0] if at_end else hi // self.branching
            if first >= stop:
                break
            if lo < first * self.branching:
                yield Run(level, lo, first * self.branching)
            if stop * self.branching < hi:
                yield Run(level, stop * self.branching, hi)
            lo, hi = first, stop
        else:
            level = coarsest
        if lo < hi:
            yield Run(level, lo, hi)

    def _check_grid(self, values: npt.NDArray[Any], level: int) -> None:
        if values.shape != self.grid(level):
            raise ParameterError("the values of a level must have the shape of its grid of nodes")


def _interleaved(values: npt.NDArray[Scalar], widths: list[int]) -> npt.NDArray[Scalar]:
    """Cut a grid into boxes of `widths`, one a row."""
    split = [part for size, w in zip(values.shape, widths, strict=True) for part in (size // w, w)]
    axes = range(2 * len(widths))
    boxes = values.reshape(split).transpose([*axes[::2], *axes[1::2]])
    return boxes.reshape(-1, math.prod(widths))
