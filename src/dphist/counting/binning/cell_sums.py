"""Sums of values beside the counts of cells: a row's clamped value is one more digit of its cell.

So users are bounded, and rows are counted, exactly as by keys alone. How many rows have each cell
and each value says what the values of a cell add up to.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from dphist.arrays import IntArray
from dphist.counting.binning.key_grid import MOST_CELLS, KeyColumn, KeyGrid
from dphist.counting.binning.keys import count_cells
from dphist.counting.bounding.steps import Summed
from dphist.counting.checks import LARGEST

_EXACT = 2.0**62  # below this, sums of sizes by floats say that int64 has room


def add_values(grid: KeyGrid, summed: Sequence[Summed]) -> KeyGrid:
    """Return the grid with a digit for each column that is summed."""
    values = (KeyColumn(each.name, summed=each) for each in summed)
    return KeyGrid((*grid.columns, *values), grid.drop)


def have_room(grid: KeyGrid, summed: Sequence[Summed]) -> bool:
    """Whether an int64 numbers all cells with all values."""
    return add_values(grid, summed).cells < MOST_CELLS


def count_and_sum(
    frame: object, grid: KeyGrid, summed: Sequence[Summed], **counting: Any
) -> tuple[IntArray, IntArray, tuple[IntArray, ...]]:
    """Bound users, count the cells, and sum values of the rows that are counted.

    Parameters
    ----------
    frame, grid, counting : as for `count_cells`, without a column of counts.
    summed : the columns of values. A row's value is clamped, and taken about the center.

    Returns
    -------
    cells, counts : as `count_cells` returns them.
    sums : of each column, (d,) int64, in steps, from -(2**62 - 1) to 2**62 - 1.

    Raises
    ------
    ParameterError, ColumnError, DataError, InputFileError
        As for `count_cells`; also if a value is missing or no number.
    """
    return add_up(*count_cells(frame, add_values(grid, summed), **counting), grid, summed)


def add_up(
    found: IntArray, rows: IntArray, grid: KeyGrid, summed: Sequence[Summed]
) -> tuple[IntArray, IntArray, tuple[IntArray, ...]]:
    """Return cells, counts and sums, as `count_and_sum` does, of cells with values.

    Parameters
    ----------
    found, rows : (n,) int64, ascending: the cells with values that have rows, and how many.
    """
    wide = add_values(grid, summed)
    places = wide.strides[len(grid.columns) - 1]
    cells, starts = np.unique(found // places, return_index=True)
    sums = []
    for each, stride in zip(summed, wide.strides[len(grid.columns) :], strict=True):
        steps = found // stride % (each.high - each.low + 1) + (each.low - each.center)
        sums.append(_add_products(steps, rows, starts))
    return cells, _add_products(np.ones_like(rows), rows, starts), tuple(sums)


def _add_products(values: IntArray, rows: IntArray, starts: IntArray) -> IntArray:
    """Return the sums of value times rows from each start to the next, clamped."""
    if not len(starts):
        return np.zeros(0, np.int64)
    if float(np.abs(values * 1.0) @ rows) < _EXACT / 2:
        return np.asarray(np.add.reduceat(values * rows, starts), np.int64)
    exact = np.add.reduceat(values.astype(object) * rows.astype(object), starts)
    return np.asarray(np.clip(exact, -LARGEST, LARGEST), np.int64)
