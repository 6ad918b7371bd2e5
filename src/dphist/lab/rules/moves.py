"""Other tables with the same margins, found by moves instead of programs.

A move takes two values of each key, and adds and subtracts records in turn at the corners of this
box: every margin stays as it is. Few moves show how far a cell of a table of several keys can go;
what they do not reach, programs decide.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from dphist.arrays import IntArray

_BOXES = 48  # tried for each step
_STEPS = 12
_MAX_GRID = 10**7


@dataclass(frozen=True, slots=True)
class Moves:
    """The cells of a table in a grid of its keys.

    Attributes
    ----------
    codes : (n, k) the place of each cell along each key.
    grid : the number of the cell at each place, -1 where there is none.
    """

    codes: IntArray
    grid: IntArray

    @classmethod
    def make(cls, codes: IntArray) -> "Moves | None":
        """Return the moves of a table; None if its grid is too large, or a key has one value."""
        shape = codes.max(axis=0, initial=0) + 1
        if len(codes) == 0 or shape.min() < 2 or np.prod(shape.astype(float)) > _MAX_GRID:
            return None
        grid = np.full(shape, -1, np.int64)
        grid[tuple(codes.T)] = np.arange(len(codes))
        return cls(codes, grid)

    def walk(
        self, values: IntArray, low: IntArray, high: IntArray, cell: int, sign: int
    ) -> IntArray:
        """Return other values with the same margins, where a cell is as large as moves make it.

        Parameters
        ----------
        values : (n,) whole numbers between `low` and `high`.
        sign : -1 makes the cell small instead.
        """
        draws = np.random.default_rng(cell)  # a search: no noise of a release
        found = values.copy()
        end = high[cell] if sign > 0 else low[cell]
        for _ in range(_STEPS):
            if found[cell] == end:
                break
            corners, signs = self._draw_boxes(draws, cell, sign)
            held = found[corners]
            room = np.where(signs > 0, high[corners] - held, held - low[corners])
            steps = np.where((corners >= 0).all(axis=1), room.min(axis=1), 0)
            best = int(steps.argmax())
            step = min(int(steps[best]), abs(int(end - found[cell])))
            if step <= 0:
                continue
            found[corners[best]] += signs * step
        return found

    def _draw_boxes(
        self, draws: np.random.Generator, cell: int, sign: int
    ) -> tuple[IntArray, IntArray]:
        """Return the corners of random boxes with the cell at one, and the sign of each corner."""
        own = self.codes[cell]
        sizes = np.array(self.grid.shape)
        others = (own + draws.integers(1, sizes, (_BOXES, len(own)))) % sizes
        sides = list(_list_sides(len(own)))
        corners = [self.grid[tuple(np.where(side, others, own).T)] for side in sides]
        signs = np.array([sign * (-1) ** sum(side) for side in sides], np.int64)
        return np.stack(corners, axis=1), signs


def _list_sides(keys: int) -> Iterator[tuple[bool, ...]]:
    yield from product((False, True), repeat=keys)
