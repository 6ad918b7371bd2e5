"""The nearest cells that are not negative, or whole, and add up to a total or to known sums."""

import math

import numpy as np

from dphist.arrays import BoolArray, FloatArray, IntArray
from dphist.tables.impossible import Impossible
from dphist.tables.known import Known
from dphist.tables.lattice import Table


def project(cells: FloatArray, total: float) -> FloatArray:
    """Return the nearest cells that are not negative and add up to a total, by least squares."""
    ordered = np.sort(cells.ravel())[::-1]
    sums = np.cumsum(ordered) - total
    last = np.flatnonzero(ordered - sums / np.arange(1, ordered.size + 1) > 0)[-1]
    found: FloatArray = np.maximum(cells - sums[last] / (last + 1), 0)
    return found


def round_in_order(cells: FloatArray, total: int) -> IntArray:
    """Return whole numbers that add up to a total: each sum of first cells is within 1/2."""
    sums = np.cumsum(cells)
    ends = np.rint(sums * (total / sums[-1])).astype(np.int64)
    found: IntArray = np.diff(ends, prepend=0)
    return found


def project_to_known(
    cells: FloatArray, known: Known, table: Table, impossible: Impossible | None
) -> FloatArray:
    """Return the nearest cells that are not negative and have known sums, those with most cells.

    Impossible cells are 0. They are none of a sum that is above 0.
    """
    part, sums = known.largest_within(table)
    rows = _to_rows(cells, table, part)
    if impossible is not None:
        marked = _to_rows(impossible.mark(table), table, part) > 0
        below = rows.min(axis=1) - sums.ravel() - 1.0  # these become 0
        rows = np.where(marked, below[:, None], rows)
    totals = sums.ravel().astype(np.float64)[:, None]
    ordered = -np.sort(-rows, axis=1)
    over = np.cumsum(ordered, axis=1) - totals
    numbers = np.arange(1, rows.shape[1] + 1)
    last = np.maximum((ordered - over / numbers > 0).sum(axis=1), 1)[:, None] - 1
    level = np.take_along_axis(over, last, 1) / (last + 1)
    return _from_rows(np.where(totals > 0, np.maximum(rows - level, 0), 0.0), cells, table, part)


def round_to_known(cells: FloatArray, known: Known | None, table: Table, total: int) -> IntArray:
    """Return whole numbers, flat, that add up to a total, or to the known sums with most cells."""
    if known is None:
        return round_in_order(cells.ravel(), total)
    part, sums = known.largest_within(table)
    totals = sums.ravel()[:, None]
    added = np.cumsum(_to_rows(cells, table, part), axis=1)
    scaled = added * (totals / np.maximum(added[:, -1:], 1e-300))
    ends = np.rint(np.where(totals > 0, scaled, 0.0)).astype(np.int64)
    ends[:, -1] = sums.ravel()
    whole = np.diff(ends, axis=1, prepend=0)
    return _from_rows(whole, cells, table, part).astype(np.int64).ravel()


def _to_rows(cells: FloatArray | BoolArray, table: Table, part: Table) -> FloatArray:
    """Return a row for each cell of a part of a table, with the cells that add up to it."""
    order = [table.index(i) for i in part] + [table.index(i) for i in table if i not in part]
    size = math.prod(cells.shape[axis] for axis in order[: len(part)])
    return np.asarray(cells.transpose(order).reshape(size, -1), np.float64)


def _from_rows(
    rows: FloatArray | IntArray, cells: FloatArray, table: Table, part: Table
) -> FloatArray:
    """Return the cells of rows as `cells` has them."""
    order = [table.index(i) for i in part] + [table.index(i) for i in table if i not in part]
    moved = rows.reshape([cells.shape[axis] for axis in order])
    found: FloatArray = moved.transpose(np.argsort(order))
    return found
