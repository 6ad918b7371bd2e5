"""The types of labels and users that are counted by name: a closed list, told from the schema.

Of each, two values are one label exactly if they are the same bytes, and a released label can be
saved and read again. Others, such as intervals, of which thirty days equal a month, or times with
a zone, are refused before any data are read.
"""

from typing import Any

import narwhals.stable.v2 as nw
import pyarrow as pa

from dphist.errors import ColumnError, DataError
from dphist.tables.engine.guard import shielded
from dphist.tables.reading.columns import check_count_type, check_label_type

# DuckDB's types, without their parameters.
_AS_THEY_ARE = {
    *("boolean", "tinyint", "smallint", "integer", "bigint"),
    *("utinyint", "usmallint", "uinteger", "ubigint", "decimal", "blob", "varchar"),
    *("date", "timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns"),
    "timestamp with time zone",
}
# An enumeration is text; its order, and the numbers behind it, are not.
_AS_TEXT = {"enum", "uuid", "null", '"null"', "sqlnull"}

_SPARK_TEXT = {"string", "char", "varchar", "void"}
_SPARK_OTHERS = {
    *("boolean", "byte", "short", "integer", "long", "decimal", "binary"),
    *("date", "timestamp", "timestamp_ntz"),
}


def check_duckdb(kind: Any, name: str) -> bool:
    """Refuse what cannot serve as a label or user; say whether it is to be read as text."""
    if kind.id not in _AS_THEY_ARE | _AS_TEXT:
        raise unfit(name)
    return kind.id in _AS_TEXT


def duckdb_value(kind: Any, column: str, name: str) -> str:
    """Return the expression of a column of DuckDB, checked, as values told apart by their bytes.

    Parameters
    ----------
    kind : type of the column
    column, name : the column as the relation names it, and as the caller does.
    """
    quoted = '"' + column.replace('"', '""') + '"'
    return f"CAST({quoted} AS VARCHAR)" if check_duckdb(kind, name) else quoted


def spark_value(kind: Any, column: str, name: str) -> str:
    """Return the same for Spark, where text becomes bytes; `column` is a plain name."""
    return f"CAST(CAST({column} AS STRING) AS BINARY)" if check_spark(kind, name) else column


def check_spark(kind: Any, name: str) -> bool:
    """Refuse what cannot serve as a label or user; say whether it is text."""
    if kind.typeName() not in _SPARK_TEXT | _SPARK_OTHERS:
        raise unfit(name)
    return kind.typeName() in _SPARK_TEXT


def check_arrow(column: Any, role: str, name: str) -> None:
    """Refuse a decoded column that cannot serve in its role; None stands for objects of Python."""
    if column is None:
        raise ColumnError(
            f"column {name!r} holds Python objects other than text: cast it to text, or to a type "
            "of its own, such as int64, datetime64 or an ArrowDtype"
        )
    kind = column.type
    dtype = nw.from_native(pa.table({"x": column.slice(0, 0)})).collect_schema()["x"]
    if role == "count":
        check_count_type(dtype, name)
        return
    check_label_type(dtype, name)
    if not serves(kind):
        raise unfit(name)
    if pa.types.is_timestamp(kind):  # of a time zone that is known, or it could not be written
        shielded(lambda: pa.array([0], pa.int64()).cast(kind).cast(pa.string()), unfit(name))


def check_text(values: Any, name: str) -> None:
    """Refuse text that is not UTF-8, an Arrow array or chunked array of it, as the column `name`.

    Arrow does not look, and DuckDB orders by keys in which a byte of 0xFF, which no UTF-8 holds,
    moves what follows: one row could then change the users and labels of others.

    Raises
    ------
    DataError
    """
    if plain(values.type) == pa.string():
        problem = DataError(
            f"column {name!r} must hold text in UTF-8: remove or correct other rows, or cast them "
            "to bytes"
        )
        shielded(lambda: values.validate(full=True), problem)


def serves(kind: pa.DataType) -> bool:
    """Whether labels may be of this Arrow type."""
    exact = pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_decimal128(kind)
    day = pa.types.is_date(kind) or pa.types.is_timestamp(kind)
    return exact or day or plain(kind) in (pa.string(), pa.binary())


def plain(kind: pa.DataType) -> pa.DataType:
    """Return the type of released labels: text and bytes are of one type each, whatever they were.

    So the type of what is released does not tell which engine counted it.
    """
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    long = pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind)
    return pa.binary() if long or pa.types.is_fixed_size_binary(kind) else kind


def decoded_dictionary(values: Any) -> Any:
    """Return the values of an Arrow column that is encoded by a dictionary."""
    kind = plain(values.type.value_type)  # Arrow takes no values from a dictionary of views
    return values.cast(pa.dictionary(values.type.index_type, kind)).cast(kind)


def carried(values: Any) -> Any:
    """Return an Arrow column as one that DuckDB holds exactly: moments become integers.

    DuckDB has no nanoseconds with a time zone, for example, and would make equal what is not.
    """
    kind = values.type
    moment = pa.types.is_timestamp(kind) or pa.types.is_date64(kind)
    return values.cast(pa.int64()) if moment else values


def unfit(name: str) -> ColumnError:
    """The error for a column of a type that is not on the list."""
    return ColumnError(
        f"column {name!r} must hold text, integers of up to 64 bits, truth values, dates, "
        "timestamps, bytes or decimals of up to 38 digits: cast it to text"
    )
