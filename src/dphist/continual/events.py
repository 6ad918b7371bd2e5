"""Reading events, one after another, each a set of labels: what a stream is fed with.

A batch is read as a whole before anything is done with it, so that an event that is invalid in
itself refuses its batch and leaves the stream as it was.
"""

import datetime
from collections.abc import Iterable, Mapping, Set
from itertools import chain
from numbers import Integral
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dphist.continual.cutting import (
    BoolArray,
    Events,
    cut,
    emptied,
    known_only,
    once_each,
    starts_of,
)
from dphist.errors import ColumnError, DataError, ParameterError
from dphist.tables import IntArray
from dphist.tables.arrow_columns import users_of
from dphist.tables.columns import check_request, position_of
from dphist.tables.frames import AnyFrame, engine_failure, narwhals_of
from dphist.tables.guard import shielded
from dphist.tables.label_types import check_duckdb, plain

__all__ = ["Events", "cut", "emptied", "known_only", "one_event", "read_events", "user_key"]

_PLAIN = (list, tuple, set, frozenset)
_EPOCH = datetime.date(1970, 1, 1).toordinal()
_MILLISECONDS_A_DAY = 86_400_000

# DuckDB's types. It would give others, such as uuid, to Arrow as text.
_TEXT = {"varchar", "enum", "null", '"null"', "sqlnull"}
_USERS = _TEXT | {
    *("boolean", "date", "tinyint", "smallint", "integer", "bigint"),
    *("utinyint", "usmallint", "uinteger", "ubigint"),
}


def read_events(
    events: object,
    *,
    label: str = "label",
    event: str | None = None,
    user: str | None = None,
    with_users: bool = False,
) -> Events:
    """Read a batch of events, in time order.

    Parameters
    ----------
    events : sequence or other iterable of iterables of text, each an event; or a dataframe of
        pandas, Polars (also lazy), Arrow or DuckDB, its rows in time order. Spark keeps no order.
    label : column of text, or of lists of text. A row without a label, or with an empty list, is
        an event without labels.
    event : column; consecutive rows with the same value are one event, which has the labels of
        all of them. Without it, each row is an event.
    user : column of users: text, integers, dates or truth values; one user an event.
    with_users : whether users are needed, so that `user` must be given.

    Raises
    ------
    ParameterError
        If `events` is none of these, or has no users where they are needed.
    ColumnError
        If a column is missing, there twice, or of a type that cannot serve.
    DataError
        If an event holds something other than text, text is not UTF-8, a user or the value of
        `event` is missing, rows of one event have two users, or the engine fails.
    """
    columns = {"label": label, "event": event, "user": user}
    names = {role: name for role, name in columns.items() if name is not None}
    check_request(names, None)
    if with_users and user is None:
        raise ParameterError(
            "user must name the column of users of a dataframe, as events are bounded for each "
            "user (max_events_per_user)"
        )
    opened = _opened(nw.to_native(events, pass_through=True), names)
    if opened is not None:
        return _of_frame(opened, names)
    if event is not None or user is not None:
        raise ParameterError("event and user name columns: they need events to be a dataframe")
    return _of_iterable(events)


def one_event(labels: Iterable[str], user: object | None = None) -> Events:
    """Return a batch of one event; `user` is None if there is no bound for users.

    Raises
    ------
    DataError
        If `labels` is not an iterable of text in UTF-8, or `user` cannot be one.
    """
    texts = _texts(labels)
    if len(texts) > 1:
        texts = list(dict.fromkeys(texts))
    if not all(map(str.isascii, texts)):
        # Lone surrogates, of which no UTF-8 can be made.
        shielded("".join(texts).encode, _no_event())
    number = len(texts)
    starts, codes = np.array((0, number), np.int64), np.arange(number, dtype=np.int64)
    if user is None:
        return Events(starts, codes, texts)
    return Events(starts, codes, texts, [user_key(user)], np.zeros(1, np.int64))


def user_key(user: object) -> bytes:
    """Return what tells a user from others: the same as that of a column that holds the value.

    Raises
    ------
    DataError
        If `user` is not text in UTF-8, an integer of 64 bits, a date or a truth value.

    >>> user_key("5"), user_key(5), user_key(True), user_key(datetime.date(1970, 1, 6))
    (b't5', b'i5', b'b1', b'd5')
    """
    problem = DataError(
        "user must be text in UTF-8, an integer of up to 64 bits, a date or a truth value"
    )
    if isinstance(user, str):
        return b"t" + shielded(lambda: str.encode(user), problem)
    if isinstance(user, bool | np.bool_):
        return b"b%d" % bool(user)
    if isinstance(user, Integral) and -(2**63) <= int(user) < 2**64:
        return b"i%d" % int(user)
    if isinstance(user, datetime.date) and not isinstance(user, datetime.datetime):
        return b"d%d" % (user.toordinal() - _EPOCH)
    raise problem


def _opened(native: Any, names: Mapping[str, str]) -> AnyFrame | None:
    """Return a dataframe for Narwhals, or None for what is no dataframe."""
    if isinstance(native, _PLAIN):
        return None
    unordered = ParameterError(
        "events must be in time order, which the rows of this kind of dataframe have not: sort "
        "them, and collect them, in Spark with toPandas()"
    )
    if type(native).__module__.startswith("pyspark."):
        raise unordered
    try:
        opened = narwhals_of(native, engine_failure(names))
    except ParameterError:
        return None
    if isinstance(opened, nw.LazyFrame):
        implementation = opened.implementation
        if not (implementation.is_polars() or implementation.is_duckdb()):
            raise unordered
    return opened


def _of_iterable(events: Any) -> Events:
    """Read the events of an iterable of iterables of text."""
    unfit = ParameterError(
        'events must be a sequence of events, each a list or set of text, such as [["a", "b"], '
        "[]], or a dataframe"
    )
    if isinstance(events, str | bytes | bytearray | Mapping | Set):  # sets have no order
        raise unfit
    lengths: list[int] = []
    labels: list[Any] = []
    for event in shielded(lambda: iter(events), unfit):
        own = event if isinstance(event, _PLAIN) else _texts(event)
        lengths.append(len(own))
        labels.extend(own)
    texts = _plain_text(labels)
    if texts is None:
        raise _no_event()
    column = shielded(lambda: pa.array(texts, pa.large_string()), _no_event())
    codes, vocabulary = _encoded(column)
    starts, codes = once_each(starts_of(np.array(lengths, np.int64)), codes)
    return Events(starts, codes, vocabulary)


def _texts(labels: Any) -> list[str]:
    """Return the labels of an event, which may be there more than once."""
    if isinstance(labels, str | bytes | bytearray):
        raise _no_event()
    if not isinstance(labels, _PLAIN):
        labels = shielded(lambda: list(labels), _no_event())
    texts = _plain_text(labels)
    if texts is None:
        raise _no_event()
    return texts


def _no_event() -> DataError:
    return DataError(
        'an event must be a list or set of labels that are text in UTF-8, such as ["a"], not "a", '
        "and none may be missing; an event without labels is []"
    )


def _plain_text(values: Any) -> list[str] | None:
    """Return the values of a list or set, each of exactly the type str; None if any is no text."""
    kinds = set(map(type, values))
    if kinds <= {str}:
        return list(values)
    if not all(issubclass(kind, str) for kind in kinds):
        return None
    # A subclass may be equal to what it will. An Enum's value is its text, its str() is not.
    return [str.__str__(value) for value in values]


def _encoded(values: pa.Array) -> tuple[IntArray, list[str]]:
    """Return text without nulls as places in a list of the distinct texts, in order of appearance.

    The text must be UTF-8.
    """
    table = values.dictionary_encode()
    return _numbers(table.indices), table.dictionary.to_pylist()


def _of_frame(frame: AnyFrame, names: Mapping[str, str]) -> Events:
    """Read the events of a dataframe, each column evaluated once."""
    columns = dict(zip(names, _columns(frame, names), strict=True))
    lengths, labels = _labels(columns["label"], names["label"])
    starts, (codes, vocabulary) = starts_of(lengths), _encoded(labels)
    first = np.ones(len(lengths), np.bool_)  # whether an event starts at a row
    if "event" in columns:
        first[1:] = _changes(columns["event"], names["event"])
        starts = np.append(starts[:-1][first], starts[-1])
    starts, codes = once_each(starts, codes)
    if "user" not in columns:
        return Events(starts, codes, vocabulary)
    users, held = _users(columns["user"], names["user"])
    if (~first[1:] & (held[1:] != held[:-1])).any():
        raise DataError(
            f"the rows of one event must have one user in column {names['user']!r}: correct the "
            f"rows, or tell events apart in column {names['event']!r}"
        )
    return Events(starts, codes, vocabulary, users, held[first])


def _columns(frame: AnyFrame, names: Mapping[str, str]) -> list[Any]:
    """Evaluate the columns `names`: Arrow, or pandas where they hold Python objects."""
    failure = engine_failure(names)
    native = frame.to_native()
    if frame.implementation.is_duckdb():
        _check_relation(native, names)
        return shielded(lambda: _of_relation(native, names), failure)
    schema = shielded(frame.collect_schema, failure)
    positions = [position_of(name, list(schema)) for name in names.values()]
    if frame.implementation.is_pandas():
        return shielded(lambda: [_of_series(native.iloc[:, n]) for n in positions], failure)
    for name in names.values():
        if schema[name] == nw.Object:
            raise _not_text(name)
    return shielded(lambda: _of_positions(frame, positions), failure)


def _check_relation(relation: Any, names: Mapping[str, str]) -> None:
    """Refuse columns of DuckDB that are missing or of the wrong type, and rows in no order."""
    types = dict(zip(relation.columns, relation.types, strict=True))
    for role, name in names.items():
        position_of(name, list(relation.columns), ignore_case=True)
        kind = types[name]
        if role == "event":
            check_duckdb(kind, name)
        elif role == "user" and kind.id not in _USERS:
            raise _unfit_users(name)
        elif role == "label":
            if kind.id in ("list", "array"):
                kind = kind.children[0][1]
            if kind.id not in _TEXT:
                raise _not_text(name)
    # A constant, of no row: nothing is evaluated.
    setting = "count(*) AS none, current_setting('preserve_insertion_order') AS ordered"
    ask = relation.filter("false").aggregate
    if not shielded(lambda: ask(setting).fetchall()[0][1], engine_failure(names)):
        raise ParameterError(
            "events must be in time order, which DuckDB does not keep without its setting "
            "preserve_insertion_order: set it to true"
        )


def _of_relation(relation: Any, names: Mapping[str, str]) -> list[Any]:
    """Evaluate columns of DuckDB; nothing is computed, as a macro may be the caller's."""
    quoted = [name.replace('"', '""') for name in names.values()]
    chosen = ", ".join(f'"{name}" AS c{number}' for number, name in enumerate(quoted))
    found: list[Any] = relation.project(chosen).to_arrow_table().columns
    return found


def _of_positions(frame: AnyFrame, positions: list[int]) -> list[Any]:
    """Evaluate columns of Polars or Arrow, by place, as `*` is a pattern to Polars."""
    chosen = frame.select(nw.nth(*positions))
    eager = chosen.collect() if isinstance(chosen, nw.LazyFrame) else chosen
    found: list[Any] = eager.to_arrow().columns
    return found


def _of_series(values: Any) -> Any:
    """Return a pandas column as Arrow, or, if it holds Python objects, as such."""
    if np.dtype(object) == getattr(getattr(values.dtype, "categories", None), "dtype", None):
        values = values.astype(object)
    if values.dtype == object:
        return values
    column = pa.Array.from_pandas(values)
    return column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])


def _labels(values: Any, name: str) -> tuple[IntArray, pa.Array]:
    """Return how many labels each row has, and the labels of all rows."""
    if not isinstance(values, pa.ChunkedArray):
        return _of_objects(values, name)
    if _is_list(values.type):
        lengths = _numbers(pc.fill_null(pc.list_value_length(values), 0))
        labels = _text(pc.list_flatten(values), name)
        if labels.null_count:
            raise _missing_in_list(name)
        return lengths, labels
    labels = _text(values, name)
    return _numbers(labels.is_valid()), labels.drop_null()


def _of_objects(values: Any, name: str) -> tuple[IntArray, pa.Array]:
    """Return the same for a pandas column of objects: each text, a list of text, or missing.

    Each is judged by itself: which kind of column it is must not depend on the first of them.
    """
    there = values.notna().to_numpy()
    held = values.to_numpy()[there].tolist()
    texts = _plain_text(held)
    if texts is not None:
        lengths = there.astype(np.int64)
    else:
        rows = [_of_object(value, name) for value in held]
        lengths = np.zeros(len(there), np.int64)
        lengths[there] = [len(row) for row in rows]
        texts = _plain_text(list(chain.from_iterable(rows)))
    if texts is None:
        raise _missing_in_list(name)
    return lengths, shielded(lambda: pa.array(texts, pa.large_string()), _not_utf8(name))


def _of_object(value: Any, name: str) -> list[Any]:
    """Return the labels of a Python object."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, _PLAIN):
        return list(value)
    if isinstance(value, np.ndarray) and value.ndim == 1:
        return list(value.tolist())
    raise _not_text(name)


def _users(values: Any, name: str) -> tuple[list[bytes], IntArray]:
    """Return the distinct users of a column, as `user_key` writes them, and each row's place."""
    kind = _kind(values)
    users = _one_array(users_of(values, name))  # where a moment is an integer
    is_text, is_integer = pa.types.is_large_string(users.type), pa.types.is_integer(users.type)
    is_truth, is_date = pa.types.is_boolean(users.type), pa.types.is_date(kind)
    if pa.types.is_timestamp(kind) or not (is_text or is_integer or is_truth or is_date):
        raise _unfit_users(name)
    if users.null_count:
        raise DataError(f"column {name!r} must have no missing values: give every event a user")
    table = users.dictionary_encode()
    codes, distinct = _numbers(table.indices), table.dictionary
    if is_text:
        return [b"t" + text for text in distinct.cast(pa.large_binary()).to_pylist()], codes
    if is_truth:
        return [b"b%d" % value for value in distinct.to_pylist()], codes
    if pa.types.is_date32(kind):
        return [b"d%d" % day for day in distinct.cast(pa.int32()).to_pylist()], codes
    if is_date:
        return [b"d%d" % (moment // _MILLISECONDS_A_DAY) for moment in distinct.to_pylist()], codes
    return [b"i%d" % number for number in distinct.to_pylist()], codes


def _is_list(kind: pa.DataType) -> bool:
    """Whether an Arrow type is one of lists, however it holds them."""
    types = pa.types
    plain_list = types.is_list(kind) or types.is_large_list(kind)
    view = types.is_list_view(kind) or types.is_large_list_view(kind)
    return bool(plain_list or view or types.is_fixed_size_list(kind))


def _text(values: pa.ChunkedArray, name: str) -> pa.Array:
    """Return a column of text, decoded and checked, as one array."""
    kind = _kind(values)
    if not (plain(kind) == pa.string() or pa.types.is_null(kind)):
        raise _not_text(name)
    return _one_array(users_of(values, name))


def _kind(values: Any) -> pa.DataType:
    """Return the type of a column's values, without their encoding; text for Python objects."""
    kind = values.type if isinstance(values, pa.ChunkedArray) else pa.string()
    while True:
        if isinstance(kind, pa.BaseExtensionType):
            kind = kind.storage_type
        elif pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
            kind = kind.value_type
        else:
            return kind


def _one_array(values: pa.ChunkedArray) -> pa.Array:
    """Return a column as one array; text as such whose places have 64 bits, and are enough."""
    if plain(values.type) == pa.string():
        values = values.cast(pa.large_string())
    combined = values.combine_chunks()
    return combined.chunk(0) if isinstance(combined, pa.ChunkedArray) else combined


def _changes(values: Any, name: str) -> BoolArray:
    """Return whether each row but the first has another value than the row before."""
    ids = _one_array(users_of(values, name))
    if ids.null_count:
        raise DataError(f"column {name!r} must have no missing values: give every row its event")
    changes: BoolArray = pc.not_equal(ids[1:], ids[:-1]).to_numpy(zero_copy_only=False)
    return changes


def _numbers(values: Any) -> IntArray:
    numbers: IntArray = values.to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers


def _not_text(name: str) -> ColumnError:
    return ColumnError(f"column {name!r} must hold text, or lists of text: cast it to text")


def _unfit_users(name: str) -> ColumnError:
    return ColumnError(
        f"column {name!r} must hold users as text, integers of up to 64 bits, dates or truth "
        "values: cast it to text"
    )


def _missing_in_list(name: str) -> DataError:
    return DataError(
        f"the lists of column {name!r} must hold text, and no missing values: remove these; an "
        "event without labels is an empty list"
    )


def _not_utf8(name: str) -> DataError:
    return DataError(f"column {name!r} must hold text in UTF-8: correct other text")
