"""From rows to counts of cells of several keys, sparse: cells in which no row lies take no memory.

The cell of a row takes the place of the slot of a bin, so users are bounded as those of bins are
(see `users`). A row whose value no cell of some key has is a record that is invalid in itself:
after all rows were read, the first such column is named. Or the grid drops such rows, before users
are bounded: of a user's rows, those with a cell are ranked.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Unpack

import numpy as np
import pyarrow as pa

from dphist.arrays import AnyArray, IntArray
from dphist.counting.binning.key_grid import Celling, KeyGrid
from dphist.counting.binning.spark_keys import UserBounds, count_in_spark
from dphist.counting.bounding.bounds import Cut, check_users
from dphist.counting.bounding.contributions import count_bounded_terms
from dphist.counting.bounding.shared_records import Digit
from dphist.counting.bounding.weights import ROLE, Weighing, Weights, weight_column
from dphist.counting.engine.interruptible import interruptible
from dphist.counting.engine.private_duckdb import open_private_connection
from dphist.counting.reading.columns import Wanted, count_column, key_column
from dphist.counting.reading.gate import Reading, open_source
from dphist.counting.reading.source import Batches, Source, engine_failure, stream_rows
from dphist.counting.reading.spark import SparkSource

_DENSE = 2**22  # up to this number of cells, counts are an array of all of them


def count_cells(
    frame: object,
    grid: KeyGrid,
    *,
    user: str | None = None,
    count: str | None = None,
    weighing: Weighing | None = None,
    max_records: int | None = None,
    null_users: str = "refuse",
    one_each: int | None = None,
    key: str | None = None,
    cut: Cut | None = None,
    **reading: Unpack[Reading],
) -> tuple[IntArray, IntArray]:
    """Bound each user, or each row, to `max_records` records, then count the cells.

    Parameters
    ----------
    grid : the keys.
    frame, user, count, max_records, null_users, key, cut, reading
        As for `bin_rows_bounded`; without `user`, `count` and `max_records`, a row is a record.
    weighing : how `count`, which then is a column of weights, becomes whole numbers of steps;
        `max_records` and the counts are in steps, too.
    one_each : the place of a key, for each cell of which a user keeps one row, ahead of
        `max_records`; None to keep any.

    Returns
    -------
    cells : (d,) int64, ascending: the cells with records.
    counts : (d,) int64, above 0: the records in each.

    Raises
    ------
    ParameterError, ColumnError, DataError, InputFileError
        As for `bin_rows_bounded`.
    DataError
        Also if a row lies in no cell, unless the grid drops such rows: the column is named, and
        nothing was counted.
    """
    others = [] if count is None else [count_column(ROLE, count, "count")]
    if count is not None and weighing is not None:
        others = [weight_column(count)]
    if user is not None:
        others.append(key_column("who", user, "user", only_text=cut is not None))
    roles = [column.role for column in others]
    bounds = UserBounds(max_records=max_records, null_users=null_users, key=key, cut=cut)
    if one_each is not None:
        bounds["one_each"] = Digit(grid.strides[one_each], grid.shape[one_each])
    with ExitStack() as stack:
        wanted = [*grid.list_wanted(), *others]
        users = user is not None and null_users != "separate"
        source = open_source(stack, frame, wanted, users=users, **reading)
        celling = Celling(grid, source)
        check_users(source, cut)
        weights = None if weighing is None else Weights(weighing, source, others[0])
        counted = others if weights is None else [weights.count_column, *others[1:]]
        if isinstance(source, SparkSource):
            found = count_in_spark(source, grid, counted, bounds, weighing=weighing)
        elif not roles:
            found = source.run(lambda: _count_rows(source, celling, grid))
        else:
            # Not the connection that reads the file: a connection runs one query at a time.
            connection = open_private_connection(stack, large=True)
            rows = source.batches() if weights is None else weights.batches()
            batches = _with_cells(rows, celling, roles)
            found = count_bounded_terms(
                lambda: stream_rows(connection, batches, source.wall),
                lambda call: interruptible(connection, lambda: source.run(call)),
                source,
                wanted=counted,
                from_text=source.from_text and weights is None,
                terms=grid.cells if grid.cells <= _DENSE else None,
                **bounds,
            )
        celling.check()
        if weights is not None:
            weights.check()
    return _sort_cells(*found, grid, wanted)


def _with_cells(batches: Batches, celling: Celling, roles: Sequence[str]) -> Batches:
    for batch in batches:
        columns = batch.columns
        keys = len(columns) - len(roles)
        cells, inside = celling.find(columns[:keys])
        found = pa.RecordBatch.from_arrays(
            [pa.array(cells), *columns[keys:]], names=["term", *roles]
        )
        yield found if inside.all() else found.filter(pa.array(inside))


def _count_rows(source: Source, celling: Celling, grid: KeyGrid) -> tuple[IntArray, IntArray]:
    """Count rows as they are, each of which is a record."""
    batches = (batch["term"].to_numpy() for batch in _with_cells(source.batches(), celling, ()))
    if grid.cells <= _DENSE:
        dense: IntArray = np.zeros(grid.cells, np.int64)
        for cells in batches:
            dense += np.bincount(cells, minlength=grid.cells)
        return np.arange(grid.cells), dense
    found: list[tuple[IntArray, IntArray]] = []
    for cells in batches:
        found.append(np.unique(cells, return_counts=True))
        if len(found) > 1 and len(found[-1][0]) * 2 > len(found[-2][0]):
            found[-2:] = [_add(found[-2], found[-1])]
    total: tuple[IntArray, IntArray] = (np.zeros(0, np.int64), np.zeros(0, np.int64))
    for part in found:
        total = _add(total, part)
    return total


def _add(
    one: tuple[IntArray, IntArray], other: tuple[IntArray, IntArray]
) -> tuple[IntArray, IntArray]:
    """Return the sum of two sparse counts."""
    cells, places = np.unique(np.concatenate([one[0], other[0]]), return_inverse=True)
    counts: IntArray = np.zeros(len(cells), np.int64)
    np.add.at(counts, places, np.concatenate([one[1], other[1]]))
    return cells, counts


def _sort_cells(
    cells: AnyArray, counts: IntArray, grid: KeyGrid, wanted: Sequence[Wanted]
) -> tuple[IntArray, IntArray]:
    """Return the cells with records, ascending; refuse what no engine can have counted."""
    held = counts > 0
    cells, counts = cells[held], counts[held]
    if len(cells) and not (cells.min() >= 0 and cells.max() < grid.cells):
        raise engine_failure(wanted)
    order = np.argsort(cells, kind="stable")
    ordered = cells[order].astype(np.int64, copy=False)
    if (ordered[1:] == ordered[:-1]).any():
        raise engine_failure(wanted)
    return ordered, counts[order]
