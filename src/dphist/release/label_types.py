"""Types of the labels of a stream, and the text that stands for a label of each.

A stream holds its labels as text. Within a type the text is one to one with the value, so two
labels are equal if and only if their texts are. The type of a stream is a public parameter; values
of other types are refused.
"""

import datetime
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from numbers import Integral
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
import pyarrow as pa

LabelType: TypeAlias = Literal[
    "text", "integer", "boolean", "date", "timestamp", "instant", "bytes", "decimal"
]
LABEL_TYPES: tuple[LabelType, ...] = get_args(LabelType)
_MOST_DIGITS = 38


def format_label(value: object, kind: LabelType) -> str | None:
    """Return the text of a label; None if the value is not of the type.

    Text is its own text. Of another type, text is accepted if it is that of a label: this is how
    parameters are saved.

    >>> format_label(7, "integer"), format_label("7", "integer"), format_label("07", "integer")
    ('7', '7', None)
    >>> format_label(True, "integer"), format_label(Decimal("1.50"), "decimal")
    (None, '1.5')
    """
    if isinstance(value, str) and kind != "text":
        return _canonical_text(value, kind)
    return _TYPES[kind].write(value)


def read_label(text: str, kind: LabelType) -> Any:
    """Return the label of a text that `format_label` returned.

    >>> read_label("7", "integer"), read_label("2026-01-31", "date")
    (7, datetime.date(2026, 1, 31))
    """
    return _TYPES[kind].read(text)


def find_type(value: object) -> LabelType | None:
    """Return the type of a label; None for what is no label of any type.

    >>> find_type("a"), find_type(True), find_type(3), find_type(2.5)
    ('text', 'boolean', 'integer', None)
    """
    if isinstance(value, str):
        return "text"
    return next((kind for kind, held in _TYPES.items() if held.write(value) is not None), None)


def as_arrow(texts: Sequence[str], kind: LabelType) -> pa.Array:
    """Return labels, given as texts, as an Arrow array of their type."""
    labels = [read_label(text, kind) for text in texts]
    if kind != "decimal":
        return pa.array(labels, _TYPES[kind].arrow)
    places = max((len(text.partition(".")[2]) for text in texts), default=0)
    whole = max((len(text.partition(".")[0].lstrip("-")) for text in texts), default=1)
    fits = whole + places <= _MOST_DIGITS
    made = pa.decimal128(_MOST_DIGITS, places) if fits else pa.decimal256(76, places)
    return pa.array(labels, made)


def find_order(kind: LabelType) -> Callable[[str], Any]:
    """Return the key that sorts texts by their labels."""
    return _TYPES[kind].read if kind in ("integer", "decimal") else str


def is_of_type(kind: pa.DataType, wanted: LabelType) -> bool:
    """Whether an Arrow column of this type may hold labels of a type."""
    return _TYPES[wanted].fits(kind)


def _plain_text(value: object) -> str | None:
    if not isinstance(value, str):
        return None
    try:
        value.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return None
    return str.__str__(value)


def _canonical_text(text: str, kind: LabelType) -> str | None:
    """Return a text if it is that of a label of the type."""
    try:
        return text if _TYPES[kind].write(_TYPES[kind].read(text)) == text else None
    except (ValueError, ArithmeticError, KeyError):
        return None


def _integer(value: object) -> str | None:
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral):
        return None
    return str(int(value)) if -(2**63) <= int(value) < 2**63 else None


def _boolean(value: object) -> str | None:
    if not isinstance(value, bool | np.bool_):
        return None
    return "true" if value else "false"


def _date(value: object) -> str | None:
    if not isinstance(value, datetime.date) or isinstance(value, datetime.datetime):
        return None
    return value.isoformat()


def _timestamp(value: object) -> str | None:
    return None if _has_zone(value) is not False else _moment(value)


def _instant(value: object) -> str | None:
    if _has_zone(value) is not True:
        return None
    try:
        return _moment(value.astimezone(datetime.UTC).replace(tzinfo=None))  # type: ignore[attr-defined]
    except (OverflowError, ValueError):
        return None


def _has_zone(value: object) -> bool | None:
    """Whether a timestamp has a zone; None for what is no timestamp in whole microseconds."""
    if not isinstance(value, datetime.datetime) or getattr(value, "nanosecond", False):
        return None
    return value.utcoffset() is not None if value == value else None


def _moment(value: Any) -> str:
    held = datetime.datetime.combine(value.date(), value.time().replace(tzinfo=None))
    return held.isoformat(sep=" ")


def _bytes(value: object) -> str | None:
    return value.hex() if isinstance(value, bytes) else None


def _decimal(value: object) -> str | None:
    if not isinstance(value, Decimal) or not value.is_finite():
        return None
    if not value:
        return "0"
    if abs(value.adjusted()) > _MOST_DIGITS:
        return None
    text = format(value, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    digits = text.replace("-", "").replace(".", "").lstrip("0")
    return text if len(digits) <= _MOST_DIGITS else None


def _to_boolean(text: str) -> bool:
    return {"true": True, "false": False}[text]


def _to_decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ValueError("no decimal") from None


def _to_instant(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.UTC)


def _is_bytes(kind: pa.DataType) -> bool:
    types = pa.types
    variable = types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind)
    return bool(variable or types.is_fixed_size_binary(kind))


class _Type(NamedTuple):
    """A type of labels."""

    words: str
    """What its labels must be."""
    write: Callable[[object], str | None]
    read: Callable[[str], Any]
    arrow: pa.DataType | None
    """The type of columns of labels; None if it depends on their digits."""
    fits: Callable[[pa.DataType], bool]
    """Whether a column of an Arrow type may hold them; never for text, which is read by itself."""


_TYPES: dict[LabelType, _Type] = {
    "boolean": _Type("truth values", _boolean, _to_boolean, pa.bool_(), pa.types.is_boolean),
    "integer": _Type("whole numbers of 64 bits", _integer, int, pa.int64(), pa.types.is_integer),
    "date": _Type("dates", _date, datetime.date.fromisoformat, pa.date32(), pa.types.is_date),
    "timestamp": _Type(
        "timestamps without a time zone, in whole microseconds",
        _timestamp,
        datetime.datetime.fromisoformat,
        pa.timestamp("us"),
        lambda kind: pa.types.is_timestamp(kind) and kind.tz is None,
    ),
    "instant": _Type(
        "timestamps with a time zone, in whole microseconds",
        _instant,
        _to_instant,
        pa.timestamp("us", "UTC"),
        lambda kind: pa.types.is_timestamp(kind) and kind.tz is not None,
    ),
    "bytes": _Type("bytes", _bytes, bytes.fromhex, pa.binary(), _is_bytes),
    "decimal": _Type(
        "decimals of up to 38 digits", _decimal, _to_decimal, None, pa.types.is_decimal
    ),
    "text": _Type("text in UTF-8", _plain_text, str, pa.string(), lambda _: False),
}

IN_WORDS: dict[LabelType, str] = {kind: held.words for kind, held in _TYPES.items()}
"""What labels of a type must be, for errors."""
