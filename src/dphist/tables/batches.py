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
from dphist.tables.columns import position_of
from dphist.tables.files import (
    check_regular,
    format_of,
    parquet_names,
    position_in_header,
    text_fields,
)
from dphist.tables.frames import AnyFrame, Run, narwhals_of
from dphist.tables.guard import shielded
from dphist.tables.interruptible import interruptible
from dphist.tables.private_duckdb import connected, out_of_room
from dphist.tables.progress import Progress, reported

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
        Returns an iterator over batches: arrays of one length, one a column.
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
    """Columns of a Spark dataframe, in the wanted order, which stay in Spark."""

    kinds: list[pa.DataType]
    frame: Any
    run: Run


def failure_over(names: Sequence[str], *, workers: bool = False) -> DataError:
    """The error for an engine that fails over the columns `names`, whatever it says."""
    also = "; Spark's workers need this Python (PYSPARK_PYTHON) with dphist" if workers else ""
    return DataError(
        f"the engine of frame could not evaluate {' and '.join(map(repr, names))}: finish other "
        "queries on its connection, evaluate the frame first, and pass plain columns of numbers, "
        f"dates or timestamps{also}"
    )


def table_of_frame(frame: object, names: Sequence[str]) -> Table:
    """Open a dataframe other than Spark's.

    Raises
    ------
    ParameterError
        If Narwhals does not read `frame`.
    ColumnError
        If a column is missing or there twice.
    DataError
        If the frame's engine fails.
    """
    failure = failure_over(names)
    opened = narwhals_of(frame, failure)
    native = opened.to_native()
    if opened.implementation.is_duckdb():
        for name in names:  # of a name it holds twice, Narwhals would tell nothing
            position_of(name, list(native.columns), ignore_case=True)
        return _of_relation(native, names, lambda call: shielded(call, failure))
    existing = list(shielded(opened.collect_schema, failure))
    positions = [position_of(name, existing) for name in names]
    if opened.implementation.is_pandas():
        columns = [native.iloc[:, position] for position in positions]
        kinds = [_kind_of_series(column) for column in columns]

        def batches() -> Batches:
            return _of_series(columns)
    else:
        kinds = [_kind_of(opened, position) for position in positions]

        def batches() -> Batches:
            return _of_arrow(_evaluated(opened, positions))

    return Table(kinds, batches, lambda call: shielded(call, failure))


def table_of_spark(frame: Any, names: Sequence[str]) -> SparkTable:
    """Open a dataframe of PySpark; errors as for `table_of_frame`."""
    failure = failure_over(names, workers=True)
    existing = shielded(lambda: list(frame.columns), failure)
    chosen = []
    for number, name in enumerate(names):
        position_of(name, existing, ignore_case=True)
        escaped = name.replace("`", "``")
        chosen.append(f"`{escaped}` AS c{number}")
    columns = shielded(lambda: frame.selectExpr(*chosen), failure)
    types = shielded(lambda: [field.dataType.typeName() for field in columns.schema], failure)
    kinds = [_OF_SPARK.get(kind, _UNFIT) for kind in types]
    return SparkTable(kinds, columns, lambda call: shielded(call, failure))


def table_of_file(
    stack: ExitStack,
    path: str | os.PathLike[str],
    names: Sequence[str],
    progress: Progress | None,
) -> Table:
    """Open a file, where it lies, until `stack` is closed.

    Raises
    ------
    InputFileError
        If the file is missing, unreadable, or not what its name says.
    ColumnError
        If a column is missing or there twice.
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

    literal = glob.escape(str(path))  # DuckDB would take `*` as a pattern
    if not kind.delimiter:
        failure = InputFileError(f"{shown} must be a Parquet file: it cannot be read as one")
        there = shielded(lambda: parquet_names(path), failure)
        positions = [position_of(name, there) for name in names]
        relation = shielded(
            lambda: connection.read_parquet(literal, hive_partitioning=False), failure
        )
        # By position, as DuckDB renames columns that differ only in case.
        return _of_relation(relation, [relation.columns[place] for place in positions], run)
    relation, there, failure = text_fields(connection, path, kind, shown)
    fields = [f"c{position_in_header(name, there, shown)}" for name in names]
    table = _of_relation(relation, fields, run)
    return Table([pa.string() for _ in names], table.batches, run, from_text=True)


def _of_relation(relation: duckdb.DuckDBPyRelation, names: Sequence[str], run: Run) -> Table:
    """Stream columns of a relation. Nothing is computed, as a macro may be the caller's."""
    types = dict(zip(relation.columns, relation.types, strict=True))
    kinds = [_OF_DUCKDB.get(types[name].id, _UNFIT) for name in names]

    def batches() -> Batches:
        quoted = [name.replace('"', '""') for name in names]
        chosen = ", ".join(f'"{name}" AS c{number}' for number, name in enumerate(quoted))
        for batch in relation.project(chosen).to_arrow_reader(ROWS_AT_ONCE):
            yield batch.columns

    return Table(kinds, batches, run)


def _kind_of_series(column: Any) -> pa.DataType:
    """Return the Arrow type of a pandas column, told from its dtype alone.

    A column without rows may have been given the type of any objects, by a reader that saw none.
    """
    if column.dtype == object:
        return _UNFIT if len(column) else pa.null()
    try:
        return pa.Array.from_pandas(column.iloc[:0]).type
    except Exception:  # sparse columns, for example
        return _UNFIT


def _of_series(columns: list[Any]) -> Batches:
    """Convert columns of pandas, some rows at a time."""
    for start in range(0, len(columns[0]), ROWS_AT_ONCE):
        yield [_as_array(column.iloc[start : start + ROWS_AT_ONCE]) for column in columns]


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
