"""Dataframes: pandas, Polars (also lazy), Arrow, DuckDB relations, and others that Narwhals reads.

Narwhals recognizes a frame, and its columns are read as Arrow. Columns are selected by position,
because a name may be anything: Polars treats `*` and `^...$` as patterns. Lazy Polars frames are
evaluated once and in chunks, so that no more than a few are in memory.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa

from dphist.counting.engine.private_duckdb import out_of_room
from dphist.counting.engine.redaction import Wall, linger, redact_errors
from dphist.counting.engine.rows import DuckRows
from dphist.counting.reading.arrow import check_column, combine, unlike_schema
from dphist.counting.reading.columns import OBJECTS, UNFIT, Use, Wanted, find_position
from dphist.counting.reading.containers import no_table
from dphist.counting.reading.objects import convert_objects
from dphist.counting.reading.relations import open_relation
from dphist.counting.reading.source import (
    ROWS_AT_ONCE,
    Batches,
    Source,
    StreamedSource,
    engine_failure,
    frame_not_read,
)
from dphist.errors import ColumnError, DphistError, ParameterError

AnyFrame: TypeAlias = nw.DataFrame[Any] | nw.LazyFrame[Any]


def is_frame(frame: object) -> bool:
    """Whether this is a dataframe that Narwhals reads."""
    try:
        wrap(frame, no_table(frame))
    except ParameterError:
        return False
    except ColumnError:
        return True
    return True


def open_frame(
    stack: ExitStack, frame: object, wanted: Sequence[Wanted], *, ordered: bool
) -> Source:
    """Open a dataframe other than Spark's; raises the errors of `open_source`."""
    failure = engine_failure(wanted)
    opened = wrap(frame, failure)
    wall = Wall(failure, out_of_room("counting the rows of frame"))
    native = opened.to_native()
    if opened.implementation.is_duckdb():
        return open_relation(stack, native, wanted, wall, ordered=ordered)
    if ordered and isinstance(opened, nw.LazyFrame) and not opened.implementation.is_polars():
        raise unordered_error()
    existing = list(wall(opened.collect_schema))
    positions = [find_position(column.name, existing) for column in wanted]
    if opened.implementation.is_pandas():
        series = [native.iloc[:, position] for position in positions]
        return PandasSource(stack, wanted, series, wall)
    kinds = [wall(partial(_find_type, opened, position)) for position in positions]
    if isinstance(opened, nw.LazyFrame) and opened.implementation.is_polars():
        columns = wall(lambda: opened.select(nw.nth(*positions)).to_native())
        by_role = dict(zip([column.role for column in wanted], kinds, strict=True))
        return LazyPolarsSource(stack, wanted, by_role, columns, wall, ordered=ordered)
    return ArrowSource(stack, wanted, kinds, lambda: _evaluate(opened, positions), wall)


class ArrowSource(StreamedSource):
    """Columns that another engine evaluates into Arrow, once and completely."""

    def __init__(
        self,
        stack: ExitStack,
        wanted: Sequence[Wanted],
        kinds: Sequence[pa.DataType],
        evaluate: Callable[[], pa.Table],
        wall: Wall,
    ) -> None:
        self._evaluate = evaluate
        roles = [column.role for column in wanted]
        super().__init__(stack, wanted, dict(zip(roles, kinds, strict=True)), wall)

    def rows(self) -> DuckRows:
        """Return the rows in memory."""
        table = self.wall(self._table)
        if self.progress is None:
            return self._in_memory(table)
        # DuckDB does not say how much of a table in memory it has read.
        return self._stream(self._count_batches(split_batches(table), len(table)))

    def batches(self) -> Batches:
        """Yield the rows in batches."""
        table = self._table()
        yield from self._count_batches(split_batches(table), len(table))

    def _table(self) -> pa.Table:
        columns = self._evaluate().columns
        return pa.table(
            {
                each.role: check_column(column, each, self.kinds[each.role])
                for each, column in zip(self.wanted, columns, strict=True)
            }
        )


class PandasSource(StreamedSource):
    """Columns of pandas, converted to Arrow in parts.

    A column of Python objects is converted at once.
    """

    def __init__(
        self, stack: ExitStack, wanted: Sequence[Wanted], series: Sequence[Any], wall: Wall
    ) -> None:
        self._columns: dict[str, Any] = {}
        kinds = {}
        for column, values in zip(wanted, series, strict=True):
            held, kind = redact_errors(partial(self._prepare, column, values), wall.problem)
            self._columns[column.role], kinds[column.role] = held, kind
        super().__init__(stack, wanted, kinds, wall)

    def _prepare(self, column: Wanted, values: Any) -> tuple[Any, pa.DataType]:
        """Return a column in the form in which it is read, and its type."""
        kind = _kind_of_series(values)
        if kind is OBJECTS:
            return convert_objects(values.astype(object), column), kind
        if column.use is Use.TEXTS and values.dtype.kind == "f" and not values.notna().any():
            # pandas represents a column of missing values only as floats.
            return pa.chunked_array([pa.nulls(len(values))]), pa.null()
        return values, kind

    def rows(self) -> DuckRows:
        """Return the rows: few are converted at once, and more as they are streamed."""
        if self._rows > ROWS_AT_ONCE or self.progress is not None:
            return super().rows()
        return self._in_memory(self.wall(lambda: pa.Table.from_batches(self.batches())))

    def batches(self) -> Batches:
        """Yield the rows in batches."""
        yield from self._count_batches(self._parts(self._rows), self._rows)

    @property
    def _rows(self) -> int:
        return len(next(iter(self._columns.values())))

    def _parts(self, rows: int) -> Batches:
        for start in range(0, max(rows, 1), ROWS_AT_ONCE):
            stop = start + ROWS_AT_ONCE
            arrays = [combine(self._part(column, start, stop)) for column in self.wanted]
            yield pa.RecordBatch.from_arrays(arrays, [column.role for column in self.wanted])

    def _part(self, column: Wanted, start: int, stop: int) -> Any:
        kind = self.kinds[column.role]
        values = _as_arrow(self._columns[column.role], start, stop)
        return check_column(values, column, None if kind is OBJECTS else kind)


def unordered_error() -> ParameterError:
    """Return the error for a dataframe without a row order, where one is required."""
    return ParameterError(
        "events",
        "must be in time order, but the rows of this kind of dataframe have no order",
        "sort and collect them, in Spark with toPandas()",
    )


def split_batches(table: pa.Table) -> Batches:
    """Return a table in batches of one schema; at least one batch."""
    if len(table) == 0:
        empty = [pa.array([], kind) for kind in table.schema.types]
        yield pa.RecordBatch.from_arrays(empty, schema=table.schema)
        return
    yield from table.to_batches(max_chunksize=ROWS_AT_ONCE)


def wrap(frame: object, failure: DphistError) -> AnyFrame:
    """Wrap `frame` with Narwhals; raise the error that matches the reason of a refusal."""
    kind = ""

    def wrap_frame() -> AnyFrame | None:
        nonlocal kind
        try:
            return nw.from_native(nw.to_native(frame, pass_through=True))  # type: ignore[no-any-return]
        except Exception as error:
            kind = type(error).__name__
        return None

    found = redact_errors(wrap_frame, failure)
    if found is not None:
        return found
    if kind == "TypeError":
        raise no_table(frame)
    if kind == "DuplicateError":
        raise ColumnError("frame has two columns with the same name: rename all but one")
    raise failure


def _kind_of_series(values: Any) -> pa.DataType:
    """Return the Arrow type of a pandas column, from its dtype alone."""
    # The type of a categorical column is that of all categories, including unused ones.
    held = getattr(getattr(values.dtype, "categories", values), "dtype", object)
    if np.dtype(object) == held:
        return OBJECTS
    # An extension array of another library may convert each part of its rows to a different type.
    if not all(_is_known(kind) for kind in (values.dtype, held)):
        return UNFIT
    try:
        return pa.Array.from_pandas(values.iloc[:0]).type
    except Exception:  # sparse columns, for example
        return UNFIT


def _is_known(dtype: Any) -> bool:
    """Whether a dtype belongs to NumPy or pandas, so that all rows have the same Arrow type."""
    return isinstance(dtype, np.dtype) or type(dtype).__module__.split(".")[0] == "pandas"


def _as_arrow(values: Any, start: int, stop: int) -> Any:
    """Return part of a column, which is a pandas Series or already Arrow.

    Its chunks stay separate: Arrow would join them without validating their content.
    """
    if isinstance(values, pa.ChunkedArray):
        return values.slice(start, stop - start)
    part = values.iloc[start:stop]
    if isinstance(part.dtype, np.dtype) and part.dtype.kind == "f":
        return pa.array(part.to_numpy())  # keeps NaN, and copies nothing
    return pa.Array.from_pandas(part)


def _find_type(frame: AnyFrame, position: int) -> pa.DataType:
    """Return the Arrow type of a column, without evaluating it."""
    native = frame.to_native()
    if isinstance(native, pa.Table):
        return native.schema.field(position).type
    dtype = list(frame.collect_schema().values())[position]
    try:
        if frame.implementation.is_polars():
            return _kind_of_polars(list(native.collect_schema().values())[position])
        return nw.new_series("c", [], dtype, backend="pyarrow").to_arrow().type
    except BaseException:  # a type that Arrow lacks; a Rust panic is not an Exception
        return UNFIT


def _kind_of_polars(kind: Any) -> pa.DataType:
    """Return the Arrow type of a Polars type in `_POLARS`, and `UNFIT` for any other.

    Polars itself converts every type to an Arrow type. It even converts Python objects, to their
    addresses as bytes.
    """
    import polars

    inner = kind
    while isinstance(inner, polars.List | polars.Array):
        inner = inner.inner
    if inner.base_type().__name__ not in _POLARS:
        return UNFIT
    return polars.Series([], dtype=kind).to_arrow().type


_POLARS = {
    *("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64", "Boolean"),
    *("Float16", "Float32", "Float64", "Decimal", "Date", "Datetime", "String", "Binary", "Null"),
    *("Categorical", "Enum"),
}


def _evaluate(frame: AnyFrame, positions: list[int]) -> pa.Table:
    """Evaluate all columns together, once: a lazy frame may return other rows the next time."""
    if isinstance(frame, nw.LazyFrame):
        names = list(frame.collect_schema())
        return frame.select(*(names[place] for place in positions)).collect("pyarrow").to_native()
    found = frame.select(nw.nth(*positions)).to_arrow()
    if len(found) != len(frame):
        raise frame_not_read()
    return found


# Seconds in which the caller's functions print at least once, for the few chunks after which Polars
# notices that nobody reads. It does not say when it does.
_UNTIL_IT_ENDS = 5.0

_FIRST_WITH_CHUNKS = (1, 40)


class LazyPolarsSource(StreamedSource):
    """Columns of a lazy Polars frame.

    Polars before 1.40 has no chunks, or none that can be trusted: when a query failed, they ended
    as if it had no more rows, and the error, with a value of the data, was printed later. Then the
    chosen columns are collected.
    """

    def __init__(
        self,
        stack: ExitStack,
        wanted: Sequence[Wanted],
        kinds: Mapping[str, pa.DataType],
        columns: Any,
        wall: Wall,
        *,
        ordered: bool,
    ) -> None:
        super().__init__(stack, wanted, kinds, wall)
        self._columns, self._ordered = columns, ordered

    def batches(self) -> Batches:
        """Yield the rows in batches; the first has no rows, only the types."""
        import polars

        yield self._check(polars.DataFrame(schema=self._columns.collect_schema()))
        yield from self._count_batches(self._parts())

    def _parts(self) -> Batches:
        is_read = False
        try:
            for chunk in self._chunks():
                for part in chunk.iter_slices(ROWS_AT_ONCE):
                    yield self._check(part)
            is_read = True
        finally:
            if not is_read:
                # Polars calls the caller's functions for some chunks more, in its own threads.
                linger(_UNTIL_IT_ENDS)

    def _chunks(self) -> Iterator[Any]:
        import polars

        release = tuple(map(int, re.findall(r"\d+", polars.__version__)[:2]))  # also of "2.0rc1"
        if release < _FIRST_WITH_CHUNKS:
            return iter([self._columns.collect()])
        found: Iterator[Any] = self._columns.collect_batches(
            chunk_size=ROWS_AT_ONCE, maintain_order=self._ordered, lazy=True
        )
        return found

    def _check(self, chunk: Any) -> pa.RecordBatch:
        """Return a chunk as Arrow, validated."""
        import polars

        for each, held in zip(self.wanted, chunk.dtypes, strict=True):
            # No column of objects passes the schema. Polars 1.32 hangs if it converts one here.
            if held == polars.Object:
                raise unlike_schema(each.name)
        columns = chunk.to_arrow().columns
        arrays = [
            combine(check_column(column, each, self.kinds[each.role]))
            for each, column in zip(self.wanted, columns, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, [each.role for each in self.wanted])
