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
    UNLISTED,
    AnySearch,
    EdgeSearch,
    KeyGrid,
    LabelSearch,
    ValueSearch,
)
from dphist.counting.binning.spark_slots import place_of, value_of
from dphist.counting.bounding.bounds import WORST, Cut, problem_expression, raise_problem
from dphist.counting.bounding.contributions import count_bounded_terms
from dphist.counting.bounding.shared_records import Digit
from dphist.counting.engine.rows import SparkRows
from dphist.counting.reading.columns import Wanted, key_column
from dphist.counting.reading.spark import SparkSource
from dphist.errors import ParameterError

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
) -> tuple[AnyArray, IntArray]:
    """Find and count the cells in Spark; rows without one are found in the same evaluation.

    Parameters
    ----------
    absent : where the grid has keys of labels, the text that stands for rows without one. What is
        counted then is the bytes that `label_keys` writes of a row's cell and labels.
    """
    labels = [f"c{i}" for i, column in enumerate(grid.columns) if column.labels]
    roles = [column.role for column in others]
    rows = _rows_of_cells(source, grid, [*roles, *labels])
    if absent is not None:
        rows = _with_labels(
            rows, labels, absent, [f"p{i}" for i in range(len(grid.columns))], roles
        )
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
        raise ParameterError(
            "sums",
            "must be left out where Spark counts",
            "collect the columns first, for example with frame.toArrow()",
        )
    if isinstance(search, LabelSearch):
        return "CAST(0 AS BIGINT)", f"v{axis}"
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
