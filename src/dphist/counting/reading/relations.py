"""Relations of a caller's DuckDB, streamed out of it because the caller can change its SQL.

On a caller's connection `a` may equal `A` (by a collation of a column or of the session), and a
macro may replace a function. So only casts and comparisons are computed there, and the rows are
counted in a private DuckDB.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import duckdb
import pyarrow as pa

from dphist.counting.checks import LARGEST
from dphist.counting.engine.redaction import Wall
from dphist.counting.reading.arrow import check_column
from dphist.counting.reading.columns import UNFIT, Use, Wanted, find_position, is_text
from dphist.counting.reading.source import ROWS_AT_ONCE, Batches, StreamedSource
from dphist.errors import ParameterError

# The Arrow types of DuckDB's types. For other types, such as intervals and times, equality is not
# equality of bytes.
_KINDS = {
    **{"boolean": pa.bool_(), "tinyint": pa.int8(), "smallint": pa.int16()},
    **{"integer": pa.int32(), "bigint": pa.int64(), "utinyint": pa.uint8()},
    **{"usmallint": pa.uint16(), "uinteger": pa.uint32(), "ubigint": pa.uint64()},
    **{"float": pa.float32(), "double": pa.float64(), "date": pa.date32()},
    **{"varchar": pa.string(), "blob": pa.binary(), "timestamp": pa.timestamp("us")},
    **{"timestamp_s": pa.timestamp("s"), "timestamp_ms": pa.timestamp("ms")},
    **{"timestamp_ns": pa.timestamp("ns"), "timestamp with time zone": pa.timestamp("us", "UTC")},
    **{"timestamptz_ns": pa.timestamp("ns", "UTC"), "uuid": pa.uuid()},
    **{"null": pa.null(), '"null"': pa.null(), "sqlnull": pa.null()},
}
# An enumeration is read as text; its order and its internal numbers are ignored.
_AS_TEXT = {"enum", "null", '"null"', "sqlnull"}
_TEXTS = {"varchar", *_AS_TEXT}
_WIDE = {"hugeint", "uhugeint"}


def open_relation(
    stack: ExitStack, relation: Any, wanted: Sequence[Wanted], wall: Wall, *, ordered: bool
) -> "RelationSource":
    """Open a relation on a caller's connection; raises the errors of `open_source`."""
    existing = wall(lambda: list(relation.columns))
    for column in wanted:
        find_position(column.name, existing, ignore_case=True)
    if ordered:
        _check_order(relation, wall)
    chosen, kinds = wall(lambda: _choose_columns(relation, wanted))
    return RelationSource(stack, wanted, kinds, relation, chosen, wall)


class RelationSource(StreamedSource):
    """Columns of a relation, streamed once from the caller's connection."""

    def __init__(
        self,
        stack: ExitStack,
        wanted: Sequence[Wanted],
        kinds: Mapping[str, pa.DataType],
        relation: duckdb.DuckDBPyRelation,
        chosen: str,
        wall: Wall,
    ) -> None:
        super().__init__(stack, wanted, kinds, wall)
        self._relation, self._chosen = relation, chosen

    def batches(self) -> Batches:
        """Yield the rows in batches."""
        reader = self._relation.project(self._chosen).to_arrow_reader(ROWS_AT_ONCE)
        yield from self._count_batches(check_batches(reader, self.wanted))


def check_batches(reader: pa.RecordBatchReader, wanted: Sequence[Wanted]) -> Batches:
    """Yield the batches of a reader, validated; the first batch has no rows, only the types."""
    empty = [pa.array([], kind) for kind in reader.schema.types]
    with reader:  # otherwise an error's traceback would keep the connection in use
        yield _check_batch(pa.RecordBatch.from_arrays(empty, schema=reader.schema), wanted)
        for batch in reader:
            yield _check_batch(batch, wanted)


def _check_batch(batch: pa.RecordBatch, wanted: Sequence[Wanted]) -> pa.RecordBatch:
    # Values to bin, other than text, are numbers that DuckDB itself writes. With more than 38
    # digits they break a rule of Arrow that no search depends on.
    arrays = [
        batch.column(column.role)
        if column.use is Use.VALUE and not is_text(batch.column(column.role).type)
        else check_column(batch.column(column.role), column)
        for column in wanted
    ]
    return pa.RecordBatch.from_arrays(arrays, [column.role for column in wanted])


def _choose_columns(
    relation: duckdb.DuckDBPyRelation, wanted: Sequence[Wanted]
) -> tuple[str, dict[str, pa.DataType]]:
    """Return the projection of columns to their roles, and the Arrow type of each role."""
    types = dict(zip(relation.columns, relation.types, strict=True))
    chosen, kinds = [], {}
    for column in wanted:
        value, kinds[column.role] = format_value(types[column.name], quote(column.name), column.use)
        chosen.append(f"{value} AS {column.role}")
    return ", ".join(chosen), kinds


def _check_order(relation: Any, wall: Wall) -> None:
    """Refuse a connection that does not keep the order of rows."""
    # The query returns a constant over no rows, so nothing is evaluated.
    setting = "count(*) AS none, current_setting('preserve_insertion_order') AS ordered"
    ask = relation.filter("false").aggregate
    if not wall(lambda: ask(setting).fetchall()[0][1]):
        raise ParameterError(
            "events",
            "must be in time order, which DuckDB keeps only with its setting "
            "preserve_insertion_order",
            "set it to true",
        )


def quote(name: str) -> str:
    """Quote a name for SQL; it may contain any characters."""
    return '"' + name.replace('"', '""') + '"'


def format_value(kind: Any, column: str, use: Use) -> tuple[str, pa.DataType]:
    """Return the SQL expression of a column, and its Arrow type."""
    if use is Use.COUNT and (kind.id in _WIDE or _is_integer(_KINDS.get(kind.id))):
        # Arrow has no integers of 128 bits, and DuckDB would convert them to floats.
        return clip_count(column), pa.int64()
    if use is Use.KEY and kind.id in _AS_TEXT:
        return f"CAST({column} AS VARCHAR)", pa.string()
    if use is Use.KEY and kind.id == "uuid":
        return f"CAST({column} AS VARCHAR)", pa.uuid()
    if use is Use.TEXTS:
        listed = kind.id in ("list", "array")
        element = kind.children[0][1] if listed else kind
        held = pa.string() if element.id in _TEXTS else UNFIT
        return column, pa.list_(held) if listed else held
    if use is Use.VALUE and kind.id == "hugeint":
        return column, pa.decimal128(38, 0)
    if kind.id == "decimal":
        width, scale = (size for _, size in kind.children)
        return column, pa.decimal128(width, scale)
    return column, _KINDS.get(kind.id, UNFIT)


def clip_count(value: str) -> str:
    """Return the SQL expression of a whole number as int64, clamped to -1 below and 2**62 above."""
    return (
        f"CASE WHEN {value} > {LARGEST} THEN {LARGEST + 1} WHEN {value} < 0 THEN -1 "
        f"ELSE CAST({value} AS BIGINT) END"
    )


def _is_integer(kind: pa.DataType | None) -> bool:
    return kind is not None and bool(pa.types.is_integer(kind))
