"""Python objects in a pandas column, whose types the schema does not contain.

pandas also gives this type to a column in which it saw no value. So whatever the objects are, the
column has one type for each use: keys are text, counts are whole numbers, and values to bin are
text that is read like a field of a text file. Each object is converted by itself, and one that no
rule below converts is a record that is invalid in itself. So neither an error nor the equality of
two keys depends on other rows, or on whether there are any. Python's own equality does: values of
different types can be equal (``np.datetime64('2020-01-01') == date(2020, 1, 1)``) and yet have
different hashes.
"""

import datetime
from collections.abc import Callable
from decimal import Decimal
from itertools import chain
from typing import Any, TypeAlias
from uuid import UUID

import numpy as np
import pyarrow as pa

from dphist.counting.checks import LARGEST
from dphist.counting.engine.redaction import redact_errors
from dphist.counting.reading.columns import Use, Wanted
from dphist.errors import ColumnError, DataError


def convert_objects(series: Any, column: Wanted) -> pa.ChunkedArray:
    """Return a pandas column of objects in the form that its use determines.

    Parameters
    ----------
    series : pandas Series of objects
        None, NaN, NaT and pd.NA are missing values.
    column : the wanted column.

    Returns
    -------
    Arrow chunked array of the same length. Keys are large_string: text itself, digits of an
    integer, ``true`` or ``false``, a date or datetime in ISO 8601 (in UTC if it has a time zone), a
    decimal without trailing zeros, bytes as hexadecimal digits, or a UUID of 36 lower-case
    characters. Values to bin are large_string, counts are int64, and texts are lists of them.

    Raises
    ------
    ColumnError
        If an object has a type that the use does not accept, or is not text although it must be
        (`only_text`).
    DataError
        If an object cannot be converted: text that is not UTF-8, for example.
    """
    if column.use is Use.TEXTS:
        return _convert_lists(series, column)
    writers, kind = _WRITERS[column.use]
    unfit = _make_unfit_error(column)
    values, missing = redact_errors(lambda: _present(series), unfit)
    chosen: dict[type[Any], Writer] = {}
    for each in set(map(type, values)):
        writer = _find_writer(each, _TEXT if column.only_text else writers)
        if writer is None:
            raise unfit
        chosen[each] = writer

    def write_array() -> pa.Array:
        return pa.array([chosen[type(value)](value) for value in values], kind)

    found = redact_errors(write_array, _unreadable(column.name))
    if missing.any():  # only the rows that have a value were converted
        places = np.cumsum(~missing) - 1
        found = found.take(pa.array(places, pa.int64(), mask=missing))
    return pa.chunked_array([found])


def _convert_lists(series: Any, column: Wanted) -> pa.ChunkedArray:
    """Return the labels of each row: an object is a text, a list of texts, or missing.

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
    rows = [_to_list(value, unfit) for value in values]
    lengths = np.zeros(len(missing), np.int64)
    lengths[~missing] = [len(row) for row in rows]
    flat = list(chain.from_iterable(rows))
    if not all(issubclass(kind, str) for kind in set(map(type, flat))):
        raise missing_in_list(column.name)
    starts = np.append(0, np.cumsum(lengths))
    texts = redact_errors(lambda: _text_array(flat), _unreadable(column.name))
    return pa.chunked_array([pa.LargeListArray.from_arrays(starts, texts)])


def missing_in_list(name: str) -> DataError:
    """Return the error for a list that holds something other than text."""
    return DataError(
        f"the lists of column {name!r} must hold text without missing values: remove other "
        "elements; an event without labels is an empty list"
    )


def _to_list(value: Any, unfit: ColumnError) -> list[Any]:
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


def _make_unfit_error(column: Wanted) -> ColumnError:
    """Return the error for an object of a type that the use of the column does not accept."""
    remedy = "cast it to text, or to a specific type, such as int64, datetime64 or an ArrowDtype"
    if column.only_text:
        return ColumnError(f"column {column.name!r} holds Python objects other than text: {remedy}")
    if column.use is Use.COUNT:
        return ColumnError(
            f"column {column.name!r} must have an integer type, but holds Python objects other "
            "than integers: cast it to integers"
        )
    if column.use is Use.VALUE:
        return ColumnError(
            f"column {column.name!r} holds Python objects other than numbers, dates and datetimes: "
            "cast it, with pd.to_numeric or pd.to_datetime"
        )
    return ColumnError(
        f"column {column.name!r} holds Python objects other than text, bytes, integers, truth "
        f"values, decimals, dates, datetimes and UUIDs: {remedy}"
    )


def _unreadable(name: str) -> DataError:
    """Return the error for an object that is invalid in itself."""
    return DataError(
        f"column {name!r} holds an object without a text of UTF-8 (such as half a surrogate pair, "
        "an integer of thousands of digits, or a datetime outside the years 1 to 9999 in UTC): "
        "remove or correct such rows"
    )


Writer: TypeAlias = Callable[[Any], Any]
# The first entry with a base of a type decides about it; None refuses it.
Writers: TypeAlias = tuple[tuple[tuple[type[Any], ...], Writer | None], ...]


def _find_writer(kind: type[Any], writers: Writers) -> Writer | None:
    """Return the function that converts objects of one type; None if there is none.

    A subclass is converted like its base; its own methods for equality are not used.
    """
    if issubclass(kind, np.timedelta64):  # a subclass of np.signedinteger that would lose its unit
        return None
    return next((writer for bases, writer in writers if issubclass(kind, bases)), None)


def _text_array(values: list[Any]) -> pa.Array:
    return pa.array(list(map(str.__str__, values)), pa.large_string())


def _truth(value: Any) -> str:
    return "true" if value else "false"


def _digits(value: Any) -> str:
    return str(int(value))


def _count(value: Any) -> int:
    """Return a whole number, clamped to -1 below and 2**62 above."""
    return min(max(int(value), -1), LARGEST + 1)


def _float(value: Any) -> str:
    return repr(float(value))


def write_decimal(value: Decimal) -> str:
    """Write a decimal such that equal numbers give equal text: 1.50 is 1.5, and 0E+3 is 0."""
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):  # infinity; NaN is a missing value
        return str(value)
    text = "".join(map(str, digits)).lstrip("0")
    short = text.rstrip("0")
    if not short:
        return "0"
    power = exponent + len(text) - len(short)
    if power >= -_MOST_PLACES and len(short) + power <= _MOST_PLACES:
        return f"{Decimal((sign, tuple(map(int, short)), power)):f}"
    return f"{'-' if sign else ''}{short}e{power}"


def write_instant(value: datetime.datetime) -> str:
    """Write a datetime, in UTC if it has a time zone, so that equal instants give equal text."""
    return (value if value.tzinfo is None else value.astimezone(datetime.UTC)).isoformat()


_MOST_PLACES = 38  # of a decimal that is written without an exponent
# The order matters: bool is a subclass of int, and datetime is a subclass of date. The label of an
# Enum of text is its value, not its str().
_TEXT: Writers = (((str,), str.__str__),)
_TRUTH = (bool, np.bool_)
_WHOLE = (int, np.integer)
_TIMES: Writers = (
    ((datetime.datetime,), write_instant),
    ((datetime.date,), datetime.date.isoformat),
)
_WRITERS: dict[Use, tuple[Writers, pa.DataType]] = {
    Use.KEY: (
        (
            *_TEXT,
            ((bytes,), bytes.hex),
            (_TRUTH, _truth),
            (_WHOLE, _digits),
            ((Decimal,), write_decimal),
            *_TIMES,
            ((UUID,), UUID.__str__),
        ),
        pa.large_string(),
    ),
    Use.COUNT: (((_TRUTH, None), (_WHOLE, _count)), pa.int64()),
    Use.VALUE: (
        (
            (_TRUTH, None),
            (_WHOLE, _digits),
            ((float, np.float16, np.float32), _float),
            ((Decimal,), write_decimal),
            *_TIMES,
        ),
        pa.large_string(),
    ),
}
