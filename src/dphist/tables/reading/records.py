"""A caller's dataframe or file as rows that bounding can be done on, in DuckDB or in Spark.

Columns get the names of their roles: ``term``, the label; ``who``, the user; ``amount``, the count.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import duckdb
import narwhals.stable.v2 as nw
import pyarrow as pa

from dphist.tables.checks import LARGEST
from dphist.tables.engine.guard import shielded
from dphist.tables.engine.interruptible import interruptible
from dphist.tables.engine.private_duckdb import connected, out_of_room
from dphist.tables.engine.progress import Progress
from dphist.tables.engine.rows import DuckRows, Rows, SparkRows
from dphist.tables.reading.arrow_columns import checked_frame, evaluated
from dphist.tables.reading.columns import check_request, position_of
from dphist.tables.reading.files import open_file
from dphist.tables.reading.frames import AnyFrame, Run, engine_failure, selected
from dphist.tables.reading.types import carried, check_text, duckdb_value, spark_value

_ROLES = {"label": "term", "user": "who", "count": "amount"}


@dataclass(frozen=True, slots=True)
class Records:
    """Rows ready to be bounded.

    Attributes
    ----------
    rows : columns term, and who and amount where there are a user and a count.
    names : the caller's name of the columns ``label``, ``user`` and ``count``.
    run : function
        Calls what evaluates a table derived from `rows`; whatever the engine says is dropped.
    kind : what the labels are, where the engine holds integers or bytes in their place, or None.
    from_text : whether counts were read from CSV text; -1 then stands for unreadable text.
    """

    rows: Rows
    names: Mapping[str, str]
    run: Run
    kind: pa.DataType | None = None
    from_text: bool = False


def open_records(
    stack: ExitStack, frame: object, names: Mapping[str, str], progress: Progress | None = None
) -> Records:
    """Open a dataframe or a file, having checked the names and types of its columns.

    Parameters
    ----------
    stack : what ends the use of the rows, and of the DuckDB they are in.
    frame : anything Narwhals reads, or the path of a file, as for `count_records`
    names : dict
        The wanted columns: ``label``, and perhaps ``user`` and ``count``.
    progress : as for `count_records`

    Raises
    ------
    ParameterError
        If `frame` is no table, or two roles have one column.
    ColumnError
        If a column is missing, there twice, or has a type that cannot serve.
    DataError
        If the frame's engine fails.
    InputFileError
        If the file is missing or not what its name says.
    """
    check_request(names, progress)
    if isinstance(frame, str | os.PathLike):
        return _of_file(stack, frame, names, progress)
    if is_spark(frame):
        return _of_spark(nw.to_native(frame, pass_through=True), names)
    return _of_frame(stack, frame, names)


def _of_file(
    stack: ExitStack,
    path: str | os.PathLike[str],
    names: Mapping[str, str],
    progress: Progress | None,
) -> Records:
    """Read a file, where it lies."""
    connection = connected(stack, large=True)
    source = stack.enter_context(open_file(path, names, progress, connection))
    relation = _by_role(source.frame.to_native(), {role: role for role in names}, names)
    rows = DuckRows(connection, relation)
    return Records(rows, names, source.run, from_text=source.from_text)


def _of_frame(stack: ExitStack, frame: object, names: Mapping[str, str]) -> Records:
    """Stream a dataframe into a DuckDB of its own, when the rows are evaluated."""
    failure = engine_failure(names)
    kind = None
    stream: Any
    opened = checked_frame(frame, names)
    if opened.implementation.is_duckdb():
        # Casts aside, nothing is computed here, where a collation or a macro may be the caller's.
        relation = _by_role(opened.to_native(), names, names)
        stream = _checked_text(shielded(relation.to_arrow_reader, failure), names)
    else:
        columns = evaluated(opened, names)
        kind = columns["label"].type
        stream = pa.table({_ROLES[role]: carried(column) for role, column in columns.items()})
        kind = None if stream["term"].type == kind else kind
    connection = connected(stack, large=True)
    rows = DuckRows(connection, shielded(lambda: connection.from_arrow(stream), failure))
    shortage = out_of_room("counting the labels of frame")

    def run(call: Any) -> Any:
        return interruptible(connection, lambda: shielded(call, failure, shortage))

    return Records(rows, names, run, kind)


def _checked_text(reader: pa.RecordBatchReader, names: Mapping[str, str]) -> pa.RecordBatchReader:
    """Return the batches of a caller's relation, whose text may be any bytes, once checked."""
    shown = {_ROLES[role]: name for role, name in names.items()}

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in reader:
            for column, name in shown.items():
                check_text(batch.column(column), name)
            yield batch

    return pa.RecordBatchReader.from_batches(reader.schema, batches())


def _by_role(
    relation: duckdb.DuckDBPyRelation, columns: Mapping[str, str], names: Mapping[str, str]
) -> duckdb.DuckDBPyRelation:
    """Return the columns of a DuckDB relation under the names of their roles, types checked.

    `columns` are the names in the relation, `names` the caller's.
    """
    kinds = dict(zip(relation.columns, relation.types, strict=True))
    chosen = []
    for role, column in columns.items():
        if role == "count":
            quoted = '"' + column.replace('"', '""') + '"'
            # Arrow has no integers of 128 bits, and DuckDB would make floats of them.
            value = (
                f"CASE WHEN {quoted} > {LARGEST} THEN {LARGEST + 1} WHEN {quoted} < 0 THEN -1 "
                f"ELSE CAST({quoted} AS BIGINT) END"
            )
        else:
            value = duckdb_value(kinds[column], column, names[role])
        chosen.append(f"{value} AS {_ROLES[role]}")
    return relation.project(", ".join(chosen))


def is_spark(frame: object) -> bool:
    """Whether this is a dataframe of PySpark, told without importing it."""
    kind = type(nw.to_native(frame, pass_through=True))
    return kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.sql.")


def _of_spark(frame: Any, names: Mapping[str, str]) -> Records:
    """Take the columns of a Spark dataframe, which stays where it is."""
    failure = engine_failure(names)
    existing = shielded(lambda: list(frame.columns), failure)
    columns = []
    for role, name in names.items():
        position_of(name, existing, ignore_case=True)
        escaped = name.replace("`", "``")
        columns.append(f"`{escaped}` AS {_ROLES[role]}")
    # Renamed first, as to Narwhals on Spark a point in a name separates two.
    renamed = shielded(lambda: frame.selectExpr(*columns), failure)
    opened: AnyFrame = shielded(lambda: nw.from_native(renamed), failure)
    selected(opened, names, failure, {role: _ROLES[role] for role in names})
    values, kind = [], None
    for role, name in names.items():
        column = value = _ROLES[role]
        if role != "count":
            value = spark_value(renamed.schema[column].dataType, column, name)
        if role == "label" and value != column:
            kind = pa.string()
        values.append(f"{value} AS {column}")
    rows = SparkRows(shielded(lambda: renamed.selectExpr(*values), failure))
    return Records(rows, names, lambda call: shielded(call, failure), kind=kind)
