"""From rows to counts of cells of several keys, sparse: cells in which no row lies take no memory.

The cell of a row takes the place of the slot of a bin, so users are bounded as those of bins are
(see `users`). A row whose value no cell of some key has is a record that is invalid in itself:
after all rows were read, the first such column is named. Or the grid drops such rows, before users
are bounded: of a user's rows, those with a cell are ranked.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import TypedDict, Unpack

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dphist.arrays import AnyArray, IntArray
from dphist.counting.binning.key_grid import (
    UNLISTED,
    Celling,
    EdgeSearch,
    KeyGrid,
    LabelSearch,
    ListedSearch,
)
from dphist.counting.binning.spark_slots import place_of, value_of
from dphist.counting.bounding.bounds import (
    WORST,
    Cut,
    check_users,
    problem_expression,
    raise_problem,
)
from dphist.counting.bounding.contributions import count_bounded_terms
from dphist.counting.bounding.one_each import Digit
from dphist.counting.engine.interruptible import interruptible
from dphist.counting.engine.private_duckdb import open_private_connection
from dphist.counting.engine.rows import SparkRows
from dphist.counting.reading.columns import Wanted, count_column, key_column
from dphist.counting.reading.gate import Reading, open_source
from dphist.counting.reading.source import Batches, Source, engine_failure, stream_rows
from dphist.counting.reading.spark import SparkSource

_DENSE = 2**22  # up to this number of cells, counts are an array of all of them


class _Bounds(TypedDict, total=False):
    """How users are bounded: arguments of `count_bounded_terms`."""

    max_records: int | None
    null_users: str
    key: str | None
    cut: Cut | None
    one_each: Digit


def count_cells(
    frame: object,
    grid: KeyGrid,
    *,
    user: str | None = None,
    count: str | None = None,
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
    others = [] if count is None else [count_column("amount", count, "count")]
    if user is not None:
        others.append(key_column("who", user, "user", only_text=cut is not None))
    roles = [column.role for column in others]
    bounds = _Bounds(max_records=max_records, null_users=null_users, key=key, cut=cut)
    if one_each is not None:
        bounds["one_each"] = Digit(grid.strides[one_each], grid.shape[one_each])
    with ExitStack() as stack:
        wanted = [*grid.wanted(), *others]
        source = open_source(stack, frame, wanted, **reading)
        celling = Celling(grid, source)
        check_users(source, cut)
        if isinstance(source, SparkSource):
            found = _count_in_spark(source, grid, others, bounds)
        elif not roles:
            found = source.run(lambda: _count_rows(source, celling, grid))
        else:
            # Not the connection that reads the file: a connection runs one query at a time.
            connection = open_private_connection(stack, large=True)
            batches = _with_cells(source.batches(), celling, roles)
            found = count_bounded_terms(
                lambda: stream_rows(connection, batches, source.wall),
                lambda call: interruptible(connection, lambda: source.run(call)),
                source,
                wanted=others,
                terms=grid.cells if grid.cells <= _DENSE else None,
                **bounds,
            )
        celling.check()
    return _sorted(*found, grid, wanted)


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


def _count_in_spark(
    source: SparkSource,
    grid: KeyGrid,
    others: Sequence[Wanted],
    bounds: _Bounds,
) -> tuple[IntArray, IntArray]:
    """Find and count the cells in Spark; rows without one are found in the same evaluation."""
    rows = _rows_of_cells(source, grid, [column.role for column in others])
    if grid.drop:
        rows = rows.where("term IS NOT NULL")
    # Of several problems the last is reported: that of the first key, as in other engines.
    keys = [key_column(f"p{i}", c.name, "keys") for i, c in enumerate(grid.columns) if not c.other]
    wanted = [*reversed(keys), *others]
    missing = {f"p{i}": UNLISTED for i in range(len(grid.columns))}
    if others:
        return count_bounded_terms(
            lambda: rows,
            source.run,
            source,
            wanted=wanted,
            terms=None,
            missing=missing,
            **bounds,
        )
    marked = rows.project("term", f"{problem_expression(wanted)} AS problem")
    names = ["term", "records", "problem"]
    found = source.run(lambda: marked.group(["term"], "count(*) AS records", WORST).to_arrow(names))
    worst = pc.max(found["problem"]).as_py()
    raise_problem(worst, wanted, source.wall.problem, missing=missing)
    return found["term"].to_numpy(), found["records"].to_numpy()


def _rows_of_cells(source: SparkSource, grid: KeyGrid, others: Sequence[str]) -> SparkRows:
    """Return the cell of each row in Spark, `term`, its places `p0`, `p1`, ..., and other columns.

    The place of a row that no cell of that key has is null, and so is its cell.
    """
    values, places, known, cells = [], [], [], []
    lists: dict[str, pa.Array] = {}
    searches = grid.searches(source)
    for axis, (search, column, stride) in enumerate(
        zip(searches, grid.columns, grid.strides, strict=True)
    ):
        kind, own = source.kinds[f"c{axis}"], f"c{axis}"
        value, place = _expressions(search, kind, own, axis, lists)
        values.append(f"{value} AS v{axis}")
        places.append(f"{place} AS p{axis}")
        last = column.size - 1 if column.other else "NULL"
        listed = f"p{axis} >= 1 AND p{axis} <= {column.listed}"
        known.append(
            f"CASE WHEN {listed} THEN CAST(p{axis} AS BIGINT) - 1 ELSE {last} END AS p{axis}"
        )
        cells.append(f"p{axis} * {stride}")
    found = source.rows().beside(lists)
    found = found.project(*values, *lists, *others).project(*places, *others)
    found = found.project(*known, *others)
    held = [f"p{axis}" for axis in range(len(cells))]
    return found.project(f"CAST({' + '.join(cells)} AS BIGINT) AS term", *held, *others)


def _expressions(
    search: ListedSearch | EdgeSearch | LabelSearch,
    kind: pa.DataType,
    own: str,
    axis: int,
    lists: dict[str, pa.Array],
) -> tuple[str, str]:
    """Return the SQL of a value and of its place, which may use an array of `lists`."""
    name = f"e{axis}"
    if isinstance(search, LabelSearch):
        raise RuntimeError("labels are not counted in Spark")
    if isinstance(search, EdgeSearch):
        place, edges = place_of(search.search, kind, f"v{axis}", name)
        if edges is not None:
            lists[name] = edges
        return value_of(kind, own), place
    if pa.types.is_large_string(search.values.type):
        lists[name] = search.values.cast(pa.large_binary()).cast(pa.binary())
        value = f"CAST({own} AS BINARY)"
    else:
        lists[name] = search.values.cast(pa.int64())
        value = f"CAST({own} AS BIGINT)"
    # Values of a list that the type of the column does not have are not in the array.
    known = ", ".join(map(str, search.places.tolist()))
    at = f"coalesce(array_position({name}, v{axis}), 0)"
    if search.places.tolist() == list(range(1, len(search.places) + 1)):
        return value, at
    return value, f"coalesce(get(array({known}), CAST({at} AS INT) - 1), 0)"


def _sorted(
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
