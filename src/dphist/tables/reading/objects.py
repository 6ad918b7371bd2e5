"""Python objects in a pandas column, which has no type of its own.

Values of different Python types can be equal (``np.datetime64('2020-01-01') == date(2020, 1, 1)``,
``1 == True``) and yet have different hashes. Whether two values are one label could then depend on
a third value. So all values of a column must have the same type, determined by `type` alone. Each
value is replaced by a key that distinguishes it from the other values of this type.
"""

import datetime
from collections.abc import Callable
from decimal import Decimal
from itertools import chain
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa

from dphist.errors import ColumnError, DataError
from dphist.tables.engine.redaction import redact_errors
from dphist.tables.reading.columns import Wanted


def keys_of_objects(series: Any, column: Wanted) -> tuple[pa.ChunkedArray, str]:
    """Return the keys of a pandas column of objects, and the name of the objects' Python type.

    Parameters
    ----------
    series : pandas Series of objects
        None, NaN, NaT and pd.NA are missing values.
    column : the wanted column
        If the type of the values becomes visible (`only_text`), they must be text. A column without
        rows counts as text; if other types were allowed, the type would reveal that there are rows.

    Returns
    -------
    keys : Arrow chunked array of the same length, null where a value is missing
    kind : str, empty if all values are missing

    Raises
    ------
    ColumnError
        If two values have different types, or a type that is not in `_ENCODINGS`.
    DataError
        If text is not UTF-8, or an integer has more than 38 digits.
    """
    failure = unfit_objects(column)
    values, missing = redact_errors(lambda: _present(series), failure)
    kinds = set(map(type, values))
    if len(kinds) > 1:
        raise failure
    kind = next(iter(kinds), str)
    encoding = _encoding_of(kind)
    if encoding is None or (column.only_text and encoding is not _text):
        raise failure
    keys = redact_errors(lambda: encoding(values), _unreadable(encoding, column.name))
    if missing.any():  # keys exist only for the rows that have a value
        places = np.cumsum(~missing) - 1
        keys = keys.take(pa.array(places, pa.int64(), mask=missing))
    return pa.chunked_array([keys]), kind.__qualname__ if kinds else ""


def unfit_objects(column: Wanted) -> ColumnError:
    """Return the error for a column of unsuitable objects."""
    if column.only_text:
        return ColumnError(
            f"column {column.name!r} holds Python objects other than text: cast it to text, or to "
            "a specific type, such as int64, datetime64 or an ArrowDtype"
        )
    return ColumnError(
        f"column {column.name!r} must hold Python objects of one type: text, bytes, integers, "
        "truth values, decimals, dates, datetimes or UUIDs; cast it to text, or to a specific "
        "type, such as int64, datetime64 or an ArrowDtype"
    )


def texts_of_objects(series: Any, column: Wanted) -> pa.ChunkedArray:
    """Return the labels of each row of a pandas column of objects.

    An object is a text, a list of texts, or missing. Each object is converted by itself, so that
    the result does not depend on the first of them.

    Returns
    -------
    Arrow chunked array of large_list(large_string), with an empty list for a missing value

    Raises
    ------
    ColumnError
        If an object is neither text nor a list or set.
    DataError
        If an element of a list is not text, or text is not UTF-8.
    """
    unfit = ColumnError(f"column {column.name!r} must hold text, or lists of text: cast it to text")
    values, missing = redact_errors(lambda: _present(series), unfit)
    rows = [_listed(value, unfit) for value in values]
    lengths = np.zeros(len(missing), np.int64)
    lengths[~missing] = [len(row) for row in rows]
    flat = list(chain.from_iterable(rows))
    if not all(issubclass(kind, str) for kind in set(map(type, flat))):
        raise missing_in_list(column.name)
    starts = np.append(0, np.cumsum(lengths))
    texts = redact_errors(lambda: _text(flat), _unreadable(_text, column.name))
    return pa.chunked_array([pa.LargeListArray.from_arrays(starts, texts)])


def missing_in_list(name: str) -> DataError:
    """Return the error for a list that holds something other than text."""
    return DataError(
        f"the lists of column {name!r} must hold text without missing values: remove other "
        "elements; an event without labels is an empty list"
    )


def _listed(value: Any, unfit: ColumnError) -> list[Any]:
    """Return the labels of one object."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)
    if isinstance(value, np.ndarray) and value.ndim == 1:
        return list(value.tolist())
    raise unfit


def _present(series: Any) -> tuple[list[Any], Any]:
    """Return the values that are not missing, and (rows,) bool, whether a row has no value."""
    missing = series.isna().to_numpy(dtype=bool)
    return series.to_numpy(dtype=object)[~missing].tolist(), missing


Encoding = Callable[[list[Any]], pa.Array]


def _encoding_of(kind: type[Any]) -> Encoding | None:
    """Return the function that encodes values of one type as keys; None for other types.

    A subclass is encoded like its base; its own methods for equality are not used.
    """
    if issubclass(kind, np.timedelta64):  # a subclass of np.signedinteger that would lose its unit
        return None
    return next((encoding for base, encoding in _ENCODINGS if issubclass(kind, base)), None)


def _text(values: list[Any]) -> pa.Array:
    # The label of an Enum is its value, not its str().
    return pa.array([str.__str__(value) for value in values], pa.large_string())


def _bytes(values: list[Any]) -> pa.Array:
    return pa.array([bytes(value) for value in values], pa.large_binary())


def _truth(values: list[Any]) -> pa.Array:
    return pa.array([bool(value) for value in values], pa.bool_())


def _whole(values: list[Any]) -> pa.Array:
    return pa.array([Decimal(int(value)) for value in values], pa.decimal128(38, 0))


def _decimals(values: list[Any]) -> pa.Array:
    return pa.array([_shortest(value) for value in values], pa.large_string())


def _moments(values: list[Any]) -> pa.Array:
    return pa.array([_instant(value) for value in values], pa.large_string())


def _dates(values: list[Any]) -> pa.Array:
    return pa.array(values, pa.date32())


def _uuids(values: list[Any]) -> pa.Array:
    return pa.array([value.bytes for value in values], pa.large_binary())


# The order matters: bool is a subclass of int, and datetime is a subclass of date.
_ENCODINGS: tuple[tuple[tuple[type[Any], ...], Encoding], ...] = (
    ((str,), _text),
    ((bytes,), _bytes),
    ((bool, np.bool_), _truth),
    ((int, np.integer), _whole),
    ((Decimal,), _decimals),
    ((datetime.datetime,), _moments),
    ((datetime.date,), _dates),
    ((UUID,), _uuids),
)


def _unreadable(encoding: Encoding, name: str) -> DataError:
    """Return the error for a value that is invalid in itself."""
    if encoding is _text:
        return DataError(
            f"column {name!r} must hold text in UTF-8: remove or correct other rows, or cast them "
            "to bytes"
        )
    if encoding is _whole:
        return DataError(f"column {name!r} must hold integers of up to 38 digits: cast it to text")
    return DataError(f"column {name!r} holds an object that cannot be read: cast it to text")


def _shortest(value: Decimal) -> str:
    """Write a decimal such that equal numbers give equal text: 1.50 is 1.5, and 0E+3 is 0."""
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):  # infinity; NaN is a missing value
        return str(value)
    text = "".join(map(str, digits)).lstrip("0")
    short = text.rstrip("0")
    if not short:
        return "0"
    return f"{'-' if sign else ''}{short}e{exponent + len(text) - len(short)}"


def _instant(value: datetime.datetime) -> str:
    """Write a datetime, in UTC if it has a time zone, so that equal instants give equal text."""
    return (value if value.tzinfo is None else value.astimezone(datetime.UTC)).isoformat()
