"""Columns of a dataframe of events: labels, users, and the rows at which events begin.

A user has the same bytes in every container of one type, but other bytes in another type: the
integer 17 and the text "17" are two users. If a stream had both, one person could be two users.
"""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dphist.arrays import BoolArray, IntArray
from dphist.counting.reading.columns import UserType, canonical_type, type_of_users
from dphist.errors import ColumnError, DataError
from dphist.release.label_types import LabelType, format_label

PLAIN = (list, tuple, set, frozenset)
"""Python types that may hold the labels of an event."""


def plain_labels(values: Any, kind: LabelType) -> list[str] | None:
    """Return the labels of a list or set as text; None if any is not of the type."""
    if kind == "text":
        return plain_text(values)
    if any(isinstance(value, str) for value in values):
        return None
    texts = [format_label(value, kind) for value in values]
    found = [text for text in texts if text is not None]
    return found if len(found) == len(texts) else None


def plain_text(values: Any) -> list[str] | None:
    """Return the values of a list or set, each of exactly the type str; None if any is not text."""
    kinds = set(map(type, values))
    if kinds <= {str}:
        return list(values)
    if not all(issubclass(kind, str) for kind in kinds):
        return None
    # A subclass may define its own equality. The label of an Enum is its value, not its str().
    return [str.__str__(value) for value in values]


def flatten_labels(values: pa.Array) -> tuple[IntArray, pa.Array]:
    """Return the number of labels of each row, and the labels of all rows; `values` are lists."""
    return to_int64(pc.list_value_length(values)), pc.list_flatten(values)


def find_user_type(kind: pa.DataType, name: str) -> UserType:
    """Return the type of the users in a column, from the schema alone.

    Raises
    ------
    ColumnError
        If `user_key` accepts no such users.
    """
    found = type_of_users(kind)
    if found is None or found not in USER_TYPES:
        raise ColumnError(
            f"column {name!r} must hold users as text, integers of up to 64 bits, dates, truth "
            "values or UUIDs: cast it to text"
        )
    return found


def users_of_events(users: pa.Array, kind: UserType, name: str) -> tuple[list[bytes], IntArray]:
    """Return the distinct users of a column, as keys like those of `user_key`, and each row's code.

    The code of a row is the position of its user among the distinct users. Dates arrive as days,
    UUIDs as text.
    """
    if users.null_count:
        raise DataError(f"column {name!r} must have no missing values: give every event a user")
    table = users.dictionary_encode()
    codes, distinct = to_int64(table.indices), table.dictionary
    if kind in ("text", "uuid"):
        texts = distinct.cast(pa.large_string()).cast(pa.large_binary())
        return [b"t" + text for text in texts.to_pylist()], codes
    if kind == "boolean":
        return [b"b%d" % value for value in distinct.to_pylist()], codes
    if kind == "date":
        return [b"d%d" % day for day in distinct.cast(pa.int32()).to_pylist()], codes
    return [b"i%d" % number for number in distinct.to_pylist()], codes


def find_changes(ids: pa.Array, name: str) -> BoolArray:
    """Return whether each row after the first has another value than the row before it."""
    if ids.null_count:
        raise DataError(f"column {name!r} must have no missing values: give every row its event")
    changes: BoolArray = pc.not_equal(ids[1:], ids[:-1]).to_numpy(zero_copy_only=False)
    return changes


def to_array(values: pa.ChunkedArray) -> pa.Array:
    """Return a column as one array; text gets offsets of 64 bits, so that it always fits."""
    if canonical_type(values.type) == pa.string():
        values = values.cast(pa.large_string())
    combined = values.combine_chunks()
    return combined.chunk(0) if isinstance(combined, pa.ChunkedArray) else combined


def to_int64(values: Any) -> IntArray:
    """Return an Arrow array of numbers or truth values as int64."""
    numbers: IntArray = values.to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers


USER_TYPES: tuple[UserType, ...] = ("text", "integer", "boolean", "date", "uuid")
"""The types that the users of a stream may have."""


def check_user_type(
    held: UserType | None, given: UserType | None, named: str = "these are"
) -> None:
    """Refuse events with users of the type `given` in a stream with users of the type `held`.

    Both are public: a matter of schema, not of who the users are. An error says what has the type
    `given` as `named`.

    Raises
    ------
    DataError
        If the stream has users, and they are of another type.
    """
    if held not in (None, given):
        raise DataError(
            f"users of this stream are of the type {held}, but {named} of the type {given}, so "
            f"that one person could be two users: convert them to the type {held}, written as "
            "before"
        )
