"""Columns of any dataframe or file, batch after batch, as Arrow arrays.

What types the columns have is known before a row is read. Nothing is held but a batch, except of
a lazy frame, of which engines other than DuckDB and Spark evaluate the wanted columns as a whole.
"""

import glob
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa

from dphist.errors import DataError, InputFileError
from dphist.tables.engine.guard import shielded
from dphist.tables.engine.interruptible import interruptible
from dphist.tables.engine.private_duckdb import connected, out_of_room
from dphist.tables.engine.progress import Progress, reported
from dphist.tables.reading.arrow_columns import checked_frame, users_of
from dphist.tables.reading.columns import position_of
from dphist.tables.reading.files import (
    check_regular,
    format_of,
    parquet_names,
    position_in_header,
    text_fields,
)
from dphist.tables.reading.frames import AnyFrame, Run, narwhals_of, selected
from dphist.tables.reading.types import duckdb_value, spark_value

ROWS_AT_ONCE = 1 << 18

Batches = Iterator[list[pa.Array]]

# Of DuckDB's other types none is a number, date or timestamp; of an unsigned integer of 128 bits
# Arrow has no equal.
_OF_DUCKDB = {
    **{"tinyint": pa.int8(), "smallint": pa.int16(), "integer": pa.int32(), "bigint": pa.int64()},
    **{"utinyint": pa.uint8(), "usmallint": pa.uint16(), "uinteger": pa.uint32()},
    **{"ubigint": pa.uint64(), "hugeint": pa.decimal128(38, 0), "decimal": pa.decimal128(38, 0)},
    **{"float": pa.float32(), "double": pa.float64(), "date": pa.date32()},
    **{"timestamp": pa.timestamp("us"), "timestamp_s": pa.timestamp("s")},
    **{"timestamp_ms": pa.timestamp("ms"), "timestamp_ns": pa.timestamp("ns")},
    **{"timestamp with time zone": pa.timestamp("us", "UTC"), "null": pa.null()},
    **{'"null"': pa.null(), "sqlnull": pa.null()},
}
_OF_SPARK = {
    **{"byte": pa.int8(), "short": pa.int16(), "integer": pa.int32(), "long": pa.int64()},
    **{"float": pa.float32(), "double": pa.float64(), "decimal": pa.decimal128(38, 0)},
    **{"date": pa.date32(), "timestamp": pa.timestamp("us", "UTC"), "void": pa.null()},
    **{"timestamp_ntz": pa.timestamp("us")},
}
# Stands for every type that cannot serve.
_UNFIT = pa.binary()


@dataclass(frozen=True, slots=True)
class Table:
    """Columns ready to be read, once.

    Attributes
    ----------
    kinds : the type of each column, or one that is treated as it is. Types that cannot serve are
        all told by one that cannot.
    batches : function
        Returns an iterator over batches: arrays of one length, one a column, and the users' after
        these where there are any, always of one type. What type these have is not in `kinds`, but
        checked: on opening, or, where only values tell, on this call, by a ColumnError.
    run : function
        Calls what reads the batches; whatever the engine says is dropped.
    from_text : whether these are the fields of a text file.
    """

    kinds: list[pa.DataType]
    batches: Callable[[], Batches]
    run: Run
    from_text: bool = False


@dataclass(frozen=True, slots=True)
class SparkTable:
    """Columns of a Spark dataframe, in the wanted order, which stay in Spark.

    Users, where there are any, are the column ``who`` after them, their text as bytes.
    """

    kinds: list[pa.DataType]
    frame: Any
    run: Run


def failure_over(
    names: Sequence[str], user: str | None = None, *, workers: bool = False
) -> DataError:
    """The error for an engine that fails over the columns `names` and `user`, whatever it says."""
    every = names if user is None else [*names, user]
    users = "" if user is None else ", and users as text or integers"
    also = "; Spark's workers need this Python (PYSPARK_PYTHON) with dphist" if workers else ""
    return DataError(
        f"the engine of frame could not evaluate {' and '.join(map(repr, every))}: finish other "
        "queries on its connection, evaluate the frame first, and pass plain columns of numbers, "
        f"dates or timestamps{users}{also}"
    )


def table_of_frame(frame: object, names: Sequence[str], user: str | None = None) -> Table:
    """Open a dataframe other than Spark's: the columns `names`, and perhaps one of users.

    Raises
    ------
    ParameterError
        If Narwhals does not read `frame`.
    ColumnError
        If a column is missing or there twice, or cannot hold users.
    DataError
        If the frame's engine fails.
    """
    failure = failure_over(names, user)
    opened = narwhals_of(frame, failure)
    native = opened.to_native()
    shortage = out_of_room("counting the rows of frame")

    def run(call: Callable[[], Any]) -> Any:
        return shielded(call, failure, shortage)

    if user is not None:
        checked_frame(frame, {"user": user})
    if opened.implementation.is_duckdb():
        for name in names:  # of a name it holds twice, Narwhals would tell nothing
            position_of(name, list(native.columns), ignore_case=True)
        value = None if user is None else _users_value(native, user, user)
        return _of_relation(native, names, run, value)
    existing = list(shielded(opened.collect_schema, failure))
    positions = [position_of(name, existing) for name in names]
    place = None if user is None else position_of(user, existing)
    if opened.implementation.is_pandas():
        columns = [native.iloc[:, position] for position in positions]
        kinds = [_kind_of_series(column) for column in columns]

        def batches() -> Batches:
            found = _of_series(columns)
            if user is None:
                return found
            return _with_users(found, users_of(native.iloc[:, place], user))
    else:
        kinds = [_kind_of(opened, position) for position in positions]

        def batches() -> Batches:
            if user is None or place is None:
                return _of_arrow(_evaluated(opened, positions))
            # Together, as a lazy frame may have other rows when it is evaluated again.
            table = run(lambda: _evaluated(opened, [*positions, place]))
            users = users_of(table.column(len(positions)), user)
            return _with_users(_of_arrow(table.select(range(len(positions)))), users)

    return Table(kinds, batches, run)


def table_of_spark(frame: Any, names: Sequence[str], user: str | None = None) -> SparkTable:
    """Open a dataframe of PySpark; errors as for `table_of_frame`."""
    failure = failure_over(names, user, workers=True)
    existing = shielded(lambda: list(frame.columns), failure)
    chosen = []
    wanted = {f"c{number}": name for number, name in enumerate(names)}
    for column, name in (wanted if user is None else {**wanted, "who": user}).items():
        position_of(name, existing, ignore_case=True)
        escaped = name.replace("`", "``")
        chosen.append(f"`{escaped}` AS {column}")
    columns = shielded(lambda: frame.selectExpr(*chosen), failure)
    fields = shielded(lambda: {field.name: field.dataType for field in columns.schema}, failure)
    if user is not None:
        opened: AnyFrame = shielded(lambda: nw.from_native(columns), failure)
        selected(opened, {"user": user}, failure, {"user": "who"})
        value = spark_value(fields["who"], "who", user)
        columns = shielded(lambda: columns.selectExpr(*wanted, f"{value} AS who"), failure)
    kinds = [_OF_SPARK.get(fields[column].typeName(), _UNFIT) for column in wanted]
    return SparkTable(kinds, columns, lambda call: shielded(call, failure))


def table_of_file(
    stack: ExitStack,
    path: str | os.PathLike[str],
    names: Sequence[str],
    progress: Progress | None,
    user: str | None = None,
) -> Table:
    """Open a file, where it lies, until `stack` is closed.

    Raises
    ------
    InputFileError
        If the file is missing, unreadable, or not what its name says.
    ColumnError
        If a column is missing or there twice, or cannot hold users.
    """
    shown = f"'{os.fspath(path)}'"
    path = Path(path).absolute()
    kind = format_of(path.name, shown)
    check_regular(path, shown)
    connection = connected(stack)
    shortage = out_of_room(f"reading {shown}")
    failure: InputFileError

    def run(call: Callable[[], Any]) -> Any:
        with reported(connection, progress):
            return interruptible(connection, lambda: shielded(call, failure, shortage))

    every = list(names) if user is None else [*names, user]
    literal = glob.escape(str(path))  # DuckDB would take `*` as a pattern
    if not kind.delimiter:
        failure = InputFileError(f"{shown} must be a Parquet file: it cannot be read as one")
        there = shielded(lambda: parquet_names(path), failure)
        positions = [position_of(name, there) for name in every]
        relation = shielded(
            lambda: connection.read_parquet(literal, hive_partitioning=False), failure
        )
        # By position, as DuckDB renames columns that differ only in case.
        columns, value = [relation.columns[place] for place in positions], None
        if user is not None:
            physical = columns.pop()
            selected(nw.from_native(relation), {"user": user}, failure, {"user": physical})
            value = _users_value(relation, physical, user)
        return _of_relation(relation, columns, run, value)
    relation, there, failure = text_fields(connection, path, kind, shown)
    fields = [f"c{position_in_header(name, there, shown)}" for name in every]
    value = None if user is None else fields.pop()
    table = _of_relation(relation, fields, run, value)
    return Table([pa.string() for _ in names], table.batches, run, from_text=True)


def _users_value(relation: duckdb.DuckDBPyRelation, column: str, name: str) -> str:
    """Return the expression of users in a relation, having checked their type."""
    types = dict(zip(relation.columns, relation.types, strict=True))
    return duckdb_value(types[column], column, name)


def _of_relation(
    relation: duckdb.DuckDBPyRelation, names: Sequence[str], run: Run, users: str | None
) -> Table:
    """Stream columns of a relation, and perhaps users, an expression.

    Casts aside, nothing is computed, as a macro may be the caller's.
    """
    types = dict(zip(relation.columns, relation.types, strict=True))
    kinds = [_OF_DUCKDB.get(types[name].id, _UNFIT) for name in names]

    def batches() -> Batches:
        quoted = [name.replace('"', '""') for name in names]
        chosen = [f'"{name}" AS c{number}' for number, name in enumerate(quoted)]
        if users is not None:
            chosen.append(f"{users} AS who")
        for batch in relation.project(", ".join(chosen)).to_arrow_reader(ROWS_AT_ONCE):
            yield batch.columns

    return Table(kinds, batches, run)


def _kind_of_series(column: Any) -> pa.DataType:
    """Return the Arrow type of a pandas column, told from its dtype alone.

    A column without rows may have been given the type of any objects, by a reader that saw none.
    """
    # Of a category's values the type is that of all of them, the unused too: objects have none.
    held = getattr(getattr(column.dtype, "categories", column), "dtype", object)
    if np.dtype(object) == held:
        return _UNFIT if len(column) else pa.null()
    try:
        return pa.Array.from_pandas(column.iloc[:0]).type
    except Exception:  # sparse columns, for example
        return _UNFIT


def _of_series(columns: list[Any]) -> Batches:
    """Convert columns of pandas, some rows at a time."""
    for start in range(0, len(columns[0]), ROWS_AT_ONCE):
        yield [_as_array(column.iloc[start : start + ROWS_AT_ONCE]) for column in columns]


def _with_users(batches: Batches, users: pa.ChunkedArray) -> Batches:
    """Add to each batch the users of its rows."""
    start = 0
    for batch in batches:
        own = users.slice(start, len(batch[0])).combine_chunks()
        yield [*batch, own]
        start += len(own)


def _as_array(values: Any) -> pa.Array:
    """Convert part of a pandas column."""
    if isinstance(values.dtype, np.dtype) and values.dtype.kind == "f":
        return pa.array(values.to_numpy())  # where NaN stays NaN, and nothing is copied
    array = pa.Array.from_pandas(values)
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def _kind_of(frame: AnyFrame, position: int) -> pa.DataType:
    """Return the Arrow type of a column, without evaluating it."""
    native = frame.to_native()
    if isinstance(native, pa.Table):
        return native.schema.field(position).type
    dtype = list(frame.collect_schema().values())[position]
    try:
        if frame.implementation.is_polars():
            import polars

            kind = list(native.collect_schema().values())[position]
            return polars.Series([], dtype=kind).to_arrow().type
        return nw.new_series("c", [], dtype, backend="pyarrow").to_arrow().type
    except BaseException:  # types that are not Arrow's; a Rust panic is no Exception
        return _UNFIT


def _evaluated(frame: AnyFrame, positions: list[int]) -> pa.Table:
    """Evaluate the columns, once."""
    if isinstance(frame, nw.LazyFrame) and not frame.implementation.is_polars():
        names = list(frame.collect_schema())
        return frame.select(*(names[place] for place in positions)).collect("pyarrow").to_native()
    columns = frame.select(nw.nth(*positions))  # by place, as `*` is a pattern to Polars
    return (columns.collect() if isinstance(columns, nw.LazyFrame) else columns).to_arrow()


def _of_arrow(table: pa.Table) -> Batches:
    for batch in table.to_batches(max_chunksize=ROWS_AT_ONCE):
        yield batch.columns
