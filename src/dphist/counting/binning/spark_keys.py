"""Cells of keys in Spark, as SQL: its workers need no Python to find them.

Values and edges are those of the searches that other engines use, so cells are the same (see
`key_grid` and `spark_slots`).
"""

from collections.abc import Sequence
from typing import TypedDict

import pyarrow as pa
import pyarrow.compute as pc

from dphist.arrays import AnyArray, IntArray
from dphist.counting.binning.key_grid import (
    NO_VALUE,
    UNLISTED,
    AnySearch,
    EdgeSearch,
    KeyGrid,
    LabelSearch,
    ValueSearch,
)
from dphist.counting.binning.spark_slots import format_place, format_value
from dphist.counting.bounding.bounds import Cut
from dphist.counting.bounding.contributions import count_bounded_terms
from dphist.counting.bounding.problems import WORST, problem_expression, raise_problem
from dphist.counting.bounding.shared_records import Digit
from dphist.counting.bounding.spark_steps import snap_in_spark
from dphist.counting.bounding.weights import ROLE, Weighing, weigh_in_spark
from dphist.counting.engine.rows import SparkRows
from dphist.counting.reading.columns import Wanted, key_column
from dphist.counting.reading.spark import SparkSource

ABSENT = -1
"""The length of a label in place of that of none."""


class UserBounds(TypedDict, total=False):
    """How users are bounded: arguments of `count_bounded_terms`."""

    max_records: int | None
    null_users: str
    key: str | None
    cut: Cut | None
    one_each: Digit


def count_in_spark(
    source: SparkSource,
    grid: KeyGrid,
    others: Sequence[Wanted],
    bounds: UserBounds,
    absent: str | None = None,
    weighing: Weighing | None = None,
) -> tuple[AnyArray, IntArray]:
    """Find and count the cells in Spark; rows without one are found in the same evaluation.

    Parameters
    ----------
    absent : where the grid has keys of labels, the text that stands for rows without one. What is
        counted then is the bytes that `label_keys` writes of a row's cell and labels.
    weighing : how a column of weights becomes amounts; None if there is none.
    """
    labels = [f"c{i}" for i, column in enumerate(grid.columns) if column.labels]
    roles = [column.role for column in others]
    rows = _rows_of_cells(source, grid, [*roles, *labels], weighing)
    if absent is not None:
        rows = _with_labels(
            rows, labels, absent, [f"p{i}" for i in range(len(grid.columns))], roles
        )
    if grid.drop:
        unread = [f" OR p{i} IS NULL" for i, c in enumerate(grid.columns) if c.summed is not None]
        rows = rows.where(f"term IS NOT NULL{''.join(unread)}")
    wanted = [*_without_a_cell(grid), *others]
    missing = {
        f"p{i}": UNLISTED if column.summed is None else NO_VALUE
        for i, column in enumerate(grid.columns)
    }
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


def _without_a_cell(grid: KeyGrid) -> list[Wanted]:
    """Return the columns of places that must not be null.

    Of several problems the last is reported, so that it is the same as in other engines: that of
    the first column that is summed, else of the first key.
    """
    columns = [
        (column.summed is not None, key_column(f"p{place}", column.name, "keys"))
        for place, column in enumerate(grid.columns)
        if not column.other
    ]
    keys = [] if grid.drop else [wanted for summed, wanted in columns if not summed]
    sums = [wanted for summed, wanted in columns if summed]
    return [*reversed(keys), *reversed(sums)]


def _rows_of_cells(
    source: SparkSource, grid: KeyGrid, others: Sequence[str], weighing: Weighing | None
) -> SparkRows:
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
    found = _snap_values(source, grid, weighing).beside(lists)
    found = found.project(*values, *lists, *others).project(*places, *others)
    found = found.project(*known, *others)
    held = [f"p{axis}" for axis in range(len(cells))]
    return found.project(f"CAST({' + '.join(cells)} AS BIGINT) AS term", *held, *others)


def _snap_values(source: SparkSource, grid: KeyGrid, weighing: Weighing | None) -> SparkRows:
    """Return the rows with whole steps in place of values that are summed, and of weights."""
    summed = {f"c{i}": c.summed for i, c in enumerate(grid.columns) if c.summed is not None}
    others = [role for role in source.names if role not in summed]
    rows = snap_in_spark(source.rows(), summed, source.kinds, others)
    if weighing is None:
        return rows
    return weigh_in_spark(rows, weighing, source, [role for role in source.names if role != ROLE])


def _with_labels(
    rows: SparkRows,
    labels: Sequence[str],
    absent: str,
    places: Sequence[str],
    others: Sequence[str],
) -> SparkRows:
    """Return rows whose `term` is the bytes of the cell and the labels, as `label_keys` has it.

    Labels are bytes already, so that they are compared and measured as in other engines.
    """
    none = f"X'{absent.encode().hex()}'"
    own = [f"CASE WHEN {label} = {none} THEN NULL ELSE {label} END AS {label}" for label in labels]
    sizes = [f"coalesce(octet_length({label}), {ABSENT}), ':'" for label in labels]
    texts = [f"coalesce({label}, X'')" for label in labels]
    head = f"CAST(concat(term, ':', {', '.join(sizes)}) AS BINARY)"
    # A setting of the session makes texts of bytes that are joined, so they are cast.
    term = f"CAST(concat({', '.join([head, *texts])}) AS BINARY) AS term"
    return rows.project("term", *own, *places, *others).project(term, *places, *others)


def _expressions(
    search: AnySearch,
    kind: pa.DataType,
    own: str,
    axis: int,
    lists: dict[str, pa.Array],
) -> tuple[str, str]:
    """Return the SQL of a value and of its place, which may use an array of `lists`."""
    name = f"e{axis}"
    if isinstance(search, ValueSearch):
        low, high = search.summed.low, search.summed.high
        inside = f"least(greatest(v{axis}, {low}), {high}) - {low - 1}"
        return own, f"CASE WHEN v{axis} IS NOT NULL THEN {inside} END"
    if isinstance(search, LabelSearch):
        return "CAST(0 AS BIGINT)", f"v{axis}"
    if isinstance(search, EdgeSearch):
        place, edges = format_place(search.search, kind, f"v{axis}", name)
        if edges is not None:
            lists[name] = edges
        return format_value(kind, own), place
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
