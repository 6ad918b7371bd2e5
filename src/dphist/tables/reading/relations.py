"""Relations of a caller's DuckDB, streamed out of it: there SQL may mean what the caller chose.

On a caller's connection `a` and `A` may be one text (a collation of a column or of the session),
and a macro may stand in for a function. So nothing but casts and comparisons is computed there,
and the rows are counted in a DuckDB of our own.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import duckdb
import pyarrow as pa

from dphist.errors import ParameterError
from dphist.tables.checks import LARGEST
from dphist.tables.engine.redaction import Wall
from dphist.tables.reading.arrow import checked
from dphist.tables.reading.columns import Use, Wanted, position_of
from dphist.tables.reading.source import ROWS_AT_ONCE, Batches, StreamedSource
from dphist.tables.reading.types import UNFIT, plain

# What DuckDB's types amount to in Arrow. Of others, such as intervals and times, no two values
# are equal exactly if their bytes are.
_KINDS = {
    **{"boolean": pa.bool_(), "tinyint": pa.int8(), "smallint": pa.int16()},
    **{"integer": pa.int32(), "bigint": pa.int64(), "utinyint": pa.uint8()},
    **{"usmallint": pa.uint16(), "uinteger": pa.uint32(), "ubigint": pa.uint64()},
    **{"float": pa.float32(), "double": pa.float64(), "date": pa.date32()},
    **{"varchar": pa.string(), "blob": pa.binary(), "timestamp": pa.timestamp("us")},
    **{"timestamp_s": pa.timestamp("s"), "timestamp_ms": pa.timestamp("ms")},
    **{"timestamp_ns": pa.timestamp("ns"), "timestamp with time zone": pa.timestamp("us", "UTC")},
    **{"null": pa.null(), '"null"': pa.null(), "sqlnull": pa.null()},
}
# An enumeration is text; its order, and the numbers behind it, are not.
_AS_TEXT = {"enum", "uuid", "null", '"null"', "sqlnull"}
_TEXTS = {"varchar", *_AS_TEXT} - {"uuid"}
_WIDE = {"hugeint", "uhugeint"}


def open_relation(
    stack: ExitStack, relation: Any, wanted: Sequence[Wanted], wall: Wall, *, ordered: bool
) -> "RelationSource":
    """Open a relation on a caller's connection; errors as of `open_source`."""
    existing = wall(lambda: list(relation.columns))
    for column in wanted:
        position_of(column.name, existing, ignore_case=True)
    if ordered:
        _check_order(relation, wall)
    columns = {column.role: column.name for column in wanted}
    chosen, kinds = wall(lambda: chosen_columns(relation, wanted, columns))
    return RelationSource(stack, wanted, kinds, relation, chosen, wall)


class RelationSource(StreamedSource):
    """Columns of a relation, streamed from the caller's connection, once."""

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
        """Return the rows batch by batch."""
        reader = self._relation.project(self._chosen).to_arrow_reader(ROWS_AT_ONCE)
        yield from checked_batches(reader, self.wanted)


def checked_batches(reader: pa.RecordBatchReader, wanted: Sequence[Wanted]) -> Batches:
    """Return the batches of a reader, validated, after one without rows, which tells the types."""
    empty = [pa.array([], kind) for kind in reader.schema.types]
    with reader:  # or a connection stays in use for as long as an error is looked at
        yield _checked(pa.RecordBatch.from_arrays(empty, schema=reader.schema), wanted)
        for batch in reader:
            yield _checked(batch, wanted)


def _checked(batch: pa.RecordBatch, wanted: Sequence[Wanted]) -> pa.RecordBatch:
    # Values to be binned are numbers, which DuckDB lays out; beyond 38 digits they break a rule of
    # Arrow's that no search rests on.
    arrays = [
        batch.column(column.role)
        if column.use is Use.VALUE and not _is_text(batch.column(column.role).type)
        else checked(batch.column(column.role), column)
        for column in wanted
    ]
    return pa.RecordBatch.from_arrays(arrays, [column.role for column in wanted])


def chosen_columns(
    relation: duckdb.DuckDBPyRelation, wanted: Sequence[Wanted], columns: Mapping[str, str]
) -> tuple[str, dict[str, pa.DataType]]:
    """Return the projection of columns to their roles, and the Arrow type of each role.

    Parameters
    ----------
    columns : mapping of role to the relation's name of its column.
    """
    types = dict(zip(relation.columns, relation.types, strict=True))
    chosen, kinds = [], {}
    for column in wanted:
        name = columns[column.role]
        value, kinds[column.role] = _value_of(types[name], quoted(name), column.use)
        chosen.append(f"{value} AS {column.role}")
    return ", ".join(chosen), kinds


def _check_order(relation: Any, wall: Wall) -> None:
    """Refuse a connection that does not keep the order of rows."""
    # A constant, of no row: nothing is evaluated.
    setting = "count(*) AS none, current_setting('preserve_insertion_order') AS ordered"
    ask = relation.filter("false").aggregate
    if not wall(lambda: ask(setting).fetchall()[0][1]):
        raise ParameterError(
            "events must be in time order, which DuckDB does not keep without its setting "
            "preserve_insertion_order: set it to true"
        )


def quoted(name: str) -> str:
    """Return a name as SQL has it, whatever it holds."""
    return '"' + name.replace('"', '""') + '"'


def _value_of(kind: Any, column: str, use: Use) -> tuple[str, pa.DataType]:
    """Return the expression of a column, and its type."""
    if use is Use.COUNT and (kind.id in _WIDE or _is_integer(_KINDS.get(kind.id))):
        # Arrow has no integers of 128 bits, and DuckDB would make floats of them.
        return clipped(column), pa.int64()
    if use is Use.KEY and kind.id in _AS_TEXT:
        return f"CAST({column} AS VARCHAR)", pa.string()
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


def clipped(value: str) -> str:
    """Return an expression of int64 of a whole number: -1 if it is less, 2**62 if it is more."""
    return (
        f"CASE WHEN {value} > {LARGEST} THEN {LARGEST + 1} WHEN {value} < 0 THEN -1 "
        f"ELSE CAST({value} AS BIGINT) END"
    )


def _is_text(kind: pa.DataType) -> bool:
    return bool(plain(kind) == pa.string())


def _is_integer(kind: pa.DataType | None) -> bool:
    return kind is not None and bool(pa.types.is_integer(kind))
