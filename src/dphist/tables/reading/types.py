"""The accepted types, as Arrow types: one closed list for every engine and every use.

The module of each engine maps the type of a column to an Arrow type, from the schema alone. This
module accepts or refuses that type, before any rows are read. For the accepted types of labels,
users and nodes, two values are equal if and only if their bytes are equal, and a released label can
be saved and loaded. Other types are refused, such as intervals, where thirty days equal a month,
or times of day with a zone.
"""

from typing import Any

import pyarrow as pa

from dphist.errors import ColumnError
from dphist.tables.engine.redaction import redact_errors
from dphist.tables.reading.columns import Use, Wanted

# Stands for every type of an engine that has no Arrow equivalent or is not accepted.
UNFIT = pa.month_day_nano_interval()
# Stands for the Python objects of a pandas column; the schema does not contain their type.
OBJECTS = pa.struct([])

_MAX_DIGITS = 38


def check_type(kind: pa.DataType, column: Wanted) -> None:
    """Refuse a column of an unsuitable type; a `VALUE` is checked by the search among edges.

    Raises
    ------
    ColumnError
        If the type does not suit the use of the column.
    """
    decoded = decoded_type(kind)
    if column.use is Use.COUNT:
        _check_count(decoded, column.name)
    elif column.use is Use.KEY:
        _check_key(decoded, column.name)
    elif column.use is Use.TEXTS and not _is_text(element_type(decoded) or decoded):
        raise ColumnError(
            f"column {column.name!r} must hold text, or lists of text: cast it to text"
        )


def decoded_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of the values behind a dictionary, run-end or extension encoding."""
    while True:
        if isinstance(kind, pa.BaseExtensionType):
            # Periods and intervals of pandas are stored as numbers, but are not numbers.
            if kind.extension_name.startswith("pandas."):
                return UNFIT
            kind = kind.storage_type
        elif pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
            kind = kind.value_type
        else:
            return kind


def element_type(kind: pa.DataType) -> pa.DataType | None:
    """Return the type of the elements of any Arrow list type; None for other types."""
    types = pa.types
    plain_list = types.is_list(kind) or types.is_large_list(kind)
    view = types.is_list_view(kind) or types.is_large_list_view(kind)
    if plain_list or view or types.is_fixed_size_list(kind):
        return decoded_type(kind.value_type)
    return None


def plain(kind: pa.DataType) -> pa.DataType:
    """Return the type of keys in its basic layout: text and bytes each have one type.

    So the type of a released label does not reveal which engine counted it. The null type, which
    readers give to an empty column, becomes text.
    """
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind) or pa.types.is_null(kind):
        return pa.string()
    long = pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind)
    if long or pa.types.is_fixed_size_binary(kind):
        return pa.binary()
    return pa.decimal128(kind.precision, kind.scale) if _is_decimal(kind) else kind


def comparable_type(kind: pa.DataType) -> pa.DataType:
    """Return a form of the type that is equal for two types if their values are read alike.

    This includes types of lists. The null type and bytes of fixed length differ from all other
    types, because engines use them for types that they do not know.
    """
    decoded = decoded_type(kind)
    elements = element_type(decoded)
    if elements is not None:
        return pa.large_list(comparable_type(elements))
    apart = pa.types.is_null(decoded) or pa.types.is_fixed_size_binary(decoded)
    return decoded if apart else plain(decoded)


def wide_type(kind: pa.DataType) -> pa.DataType:
    """Return the type with offsets of 64 bits for text and bytes; other types stay unchanged."""
    held = plain(kind)
    if held == pa.string() and not pa.types.is_null(kind):
        return pa.large_string()
    return pa.large_binary() if held == pa.binary() else kind


def is_key_type(kind: pa.DataType) -> bool:
    """Whether labels, users and nodes may have this Arrow type."""
    exact = pa.types.is_integer(kind) or pa.types.is_boolean(kind) or _is_decimal(kind)
    day = pa.types.is_date(kind) or pa.types.is_timestamp(kind)
    return exact or day or plain(kind) in (pa.string(), pa.binary())


def to_exact(values: Any) -> Any:
    """Return an Arrow column of keys in a form that DuckDB holds exactly: moments become integers.

    For example, DuckDB has no nanoseconds with a time zone and would merge different values. It
    reads text and bytes in every layout.
    """
    kind = values.type
    if pa.types.is_timestamp(kind) or pa.types.is_date64(kind):
        return values.cast(pa.int64())
    if pa.types.is_null(kind) or _is_decimal(kind):
        return values.cast(plain(kind))
    return values


def _check_key(kind: pa.DataType, name: str) -> None:
    if pa.types.is_floating(kind):
        raise ColumnError(
            f"column {name!r} has a float type, which has no exact equality (pandas converts an "
            "integer column with missing values to floats): cast it to text or integers"
        )
    if not is_key_type(kind):
        raise ColumnError(
            f"column {name!r} must hold text, integers of up to 64 bits, truth values, dates, "
            "timestamps, bytes or decimals of up to 38 digits: cast it to text"
        )
    if pa.types.is_timestamp(kind):  # with an unknown time zone it could not be written
        unknown = ColumnError(
            f"column {name!r} has a time zone that this system does not know: convert it to UTC"
        )
        redact_errors(lambda: pa.array([0], pa.int64()).cast(kind).cast(pa.string()), unknown)


def _check_count(kind: pa.DataType, name: str) -> None:
    if pa.types.is_floating(kind):
        raise ColumnError(
            f"column {name!r} has a float type (pandas converts an integer column with missing "
            "values to floats): drop the rows without a value and cast it to integers"
        )
    if not (pa.types.is_integer(kind) or pa.types.is_null(kind)):
        raise ColumnError(f"column {name!r} must have an integer type: cast it to integers")


def _is_text(kind: pa.DataType) -> bool:
    return bool(plain(kind) == pa.string())


def _is_decimal(kind: pa.DataType) -> bool:
    return bool(pa.types.is_decimal(kind)) and kind.precision <= _MAX_DIGITS
