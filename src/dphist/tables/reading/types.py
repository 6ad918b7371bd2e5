"""The types that serve, in terms of Arrow's: one closed list for every engine and every use.

Each engine says which Arrow type a column of it amounts to (see the modules of the engines), from
the schema alone, and here it is accepted or refused. Of the types of labels, users and nodes two
values are one exactly if they are the same bytes, and a released label can be saved and read
again. Others, such as intervals, of which thirty days equal a month, or times with a zone, are
refused before any data are read.
"""

from typing import Any

import pyarrow as pa

from dphist.errors import ColumnError
from dphist.tables.engine.redaction import redact_errors
from dphist.tables.reading.columns import Use, Wanted

# Stands for every type of an engine that Arrow has no equal of, or that cannot serve.
UNFIT = pa.month_day_nano_interval()
# Stands for Python objects in a pandas column, whose type is not in its schema.
OBJECTS = pa.struct([])

_MOST_DIGITS = 38


def check_type(kind: pa.DataType, column: Wanted) -> None:
    """Refuse a column whose type cannot serve; for a `VALUE` the search among edges decides.

    Raises
    ------
    ColumnError
    """
    decoded = without_encoding(kind)
    if column.use is Use.COUNT:
        _check_count(decoded, column.name)
    elif column.use is Use.KEY:
        _check_key(decoded, column.name)
    elif column.use is Use.TEXTS and not _is_text(kind_of_elements(decoded) or decoded):
        raise ColumnError(
            f"column {column.name!r} must hold text, or lists of text: cast it to text"
        )


def without_encoding(kind: pa.DataType) -> pa.DataType:
    """Return the type of the values that a dictionary, runs or an extension type stand for."""
    while True:
        if isinstance(kind, pa.BaseExtensionType):
            # Periods and intervals of pandas are stored as numbers, and are none.
            if kind.extension_name.startswith("pandas."):
                return UNFIT
            kind = kind.storage_type
        elif pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
            kind = kind.value_type
        else:
            return kind


def kind_of_elements(kind: pa.DataType) -> pa.DataType | None:
    """Return the type of the elements of lists, however Arrow holds them; None of other types."""
    types = pa.types
    plain_list = types.is_list(kind) or types.is_large_list(kind)
    view = types.is_list_view(kind) or types.is_large_list_view(kind)
    if plain_list or view or types.is_fixed_size_list(kind):
        return without_encoding(kind.value_type)
    return None


def plain(kind: pa.DataType) -> pa.DataType:
    """Return the type of keys: text and bytes are of one type each, however they are laid out.

    So the type of what is released does not tell which engine counted it. A type without values,
    which readers give to an empty column, is text.
    """
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind) or pa.types.is_null(kind):
        return pa.string()
    long = pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind)
    if long or pa.types.is_fixed_size_binary(kind):
        return pa.binary()
    return pa.decimal128(kind.precision, kind.scale) if _is_decimal(kind) else kind


def held_alike(kind: pa.DataType) -> pa.DataType:
    """Return what two types have in common whose values are read alike, lists of them included.

    Nothing at all is like no other type, nor is a run of bytes of one length: as these, engines
    hand on what they do not know.
    """
    decoded = without_encoding(kind)
    elements = kind_of_elements(decoded)
    if elements is not None:
        return pa.large_list(held_alike(elements))
    apart = pa.types.is_null(decoded) or pa.types.is_fixed_size_binary(decoded)
    return decoded if apart else plain(decoded)


def wide(kind: pa.DataType) -> pa.DataType:
    """Return the type with offsets of 64 bits, of text and bytes; other types as they are."""
    held = plain(kind)
    if held == pa.string() and not pa.types.is_null(kind):
        return pa.large_string()
    return pa.large_binary() if held == pa.binary() else kind


def serves(kind: pa.DataType) -> bool:
    """Whether labels, users and nodes may be of this Arrow type."""
    exact = pa.types.is_integer(kind) or pa.types.is_boolean(kind) or _is_decimal(kind)
    day = pa.types.is_date(kind) or pa.types.is_timestamp(kind)
    return exact or day or plain(kind) in (pa.string(), pa.binary())


def held_exactly(values: Any) -> Any:
    """Return an Arrow column of keys as one that DuckDB holds exactly: moments become integers.

    DuckDB has no nanoseconds with a time zone, for example, and would make equal what is not.
    Text and bytes it reads in every layout.
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
            f"column {name!r} has a float type, which has no exact equality (pandas makes one of "
            "an integer column with missing values): cast it to text or integers"
        )
    if not serves(kind):
        raise ColumnError(
            f"column {name!r} must hold text, integers of up to 64 bits, truth values, dates, "
            "timestamps, bytes or decimals of up to 38 digits: cast it to text"
        )
    if pa.types.is_timestamp(kind):  # of a time zone that is known, or it could not be written
        unknown = ColumnError(
            f"column {name!r} has a time zone that is not known here: convert it to UTC"
        )
        redact_errors(lambda: pa.array([0], pa.int64()).cast(kind).cast(pa.string()), unknown)


def _check_count(kind: pa.DataType, name: str) -> None:
    if pa.types.is_floating(kind):
        raise ColumnError(
            f"column {name!r} has a float type (an integer column with missing values becomes "
            "one in pandas): drop the rows without a value and cast it to integers"
        )
    if not (pa.types.is_integer(kind) or pa.types.is_null(kind)):
        raise ColumnError(f"column {name!r} must have an integer type: cast it to integers")


def _is_text(kind: pa.DataType) -> bool:
    return bool(plain(kind) == pa.string())


def _is_decimal(kind: pa.DataType) -> bool:
    return bool(pa.types.is_decimal(kind)) and kind.precision <= _MOST_DIGITS
