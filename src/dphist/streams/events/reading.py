"""Reading events, one after another, each a set of labels: what a stream is fed with.

A batch is read as a whole before anything is done with it, so that an event that is invalid in
itself refuses its batch and leaves the stream as it was.
"""

import datetime
from collections.abc import Iterable, Mapping, Set
from contextlib import ExitStack
from numbers import Integral
from typing import Any

import numpy as np
import pyarrow as pa

from dphist.arrays import IntArray
from dphist.errors import DataError, ParameterError
from dphist.streams.events.columns import (
    PLAIN,
    changes_of,
    check_users,
    labels_of,
    numbers_of,
    one_array,
    plain_text,
    users_of_events,
)
from dphist.streams.events.cutting import Events, cut, emptied, known_only, once_each, starts_of
from dphist.tables import redact_errors
from dphist.tables.reading.columns import Use, Wanted, check_request, key_column
from dphist.tables.reading.gate import is_table, open_source
from dphist.tables.reading.types import decoded_type

__all__ = ["Events", "cut", "emptied", "known_only", "one_event", "read_events", "user_key"]

_EPOCH = datetime.date(1970, 1, 1).toordinal()


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
    wanted = [Wanted("labels", label, Use.TEXTS, "label")]
    if event is not None:
        wanted.append(key_column("event", event, "event"))
    if user is not None:
        wanted.append(key_column("who", user, "user", only_text=True))
    check_request(wanted, None)
    if with_users and user is None:
        raise ParameterError(
            "user must name the column of users of a dataframe, as events are bounded for each "
            "user (max_events_per_user)"
        )
    if not isinstance(events, PLAIN) and is_table(events):
        return _of_frame(events, wanted)
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
        redact_errors("".join(texts).encode, _no_event())
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
        return b"t" + redact_errors(lambda: str.encode(user), problem)
    if isinstance(user, bool | np.bool_):
        return b"b%d" % bool(user)
    if isinstance(user, Integral) and -(2**63) <= int(user) < 2**64:
        return b"i%d" % int(user)
    if isinstance(user, datetime.date) and not isinstance(user, datetime.datetime):
        return b"d%d" % (user.toordinal() - _EPOCH)
    raise problem


def _of_iterable(events: Any) -> Events:
    """Read the events of an iterable of iterables of text."""
    unfit = ParameterError(
        'events must be a sequence of events, each a list or set of text, such as [["a", "b"], '
        "[]], or a dataframe"
    )
    if isinstance(events, str | bytes | bytearray | Mapping | Set):  # sets have no order
        raise unfit
    if isinstance(events, list | tuple) and len(events) == 1:
        return one_event(events[0])  # the same, and several times faster
    lengths: list[int] = []
    labels: list[Any] = []
    for event in redact_errors(lambda: iter(events), unfit):
        own = event if isinstance(event, PLAIN) else _texts(event)
        lengths.append(len(own))
        labels.extend(own)
    texts = plain_text(labels)
    if texts is None:
        raise _no_event()
    column = redact_errors(lambda: pa.array(texts, pa.large_string()), _no_event())
    codes, vocabulary = _encoded(column)
    starts, codes = once_each(starts_of(np.array(lengths, np.int64)), codes)
    return Events(starts, codes, vocabulary)


def _texts(labels: Any) -> list[str]:
    """Return the labels of an event, which may be there more than once."""
    # Of these one iterates over something else than labels: keys, column names, lines.
    if isinstance(labels, str | bytes | bytearray | Mapping) or any(
        hasattr(labels, name) for name in ("columns", "read")
    ):
        raise _no_event()
    if not isinstance(labels, PLAIN):
        labels = redact_errors(lambda: list(labels), _no_event())
    texts = plain_text(labels)
    if texts is None:
        raise _no_event()
    return texts


def _no_event() -> DataError:
    return DataError(
        'an event must be a list or set of labels that are text in UTF-8, such as ["a"], not "a", '
        "and none may be missing; an event without labels is []"
    )


def _encoded(values: pa.Array) -> tuple[IntArray, list[str]]:
    """Return text without nulls as places in a list of the distinct texts, in order of appearance.

    The text must be UTF-8.
    """
    table = values.dictionary_encode()
    return numbers_of(table.indices), table.dictionary.to_pylist()


def _of_frame(frame: object, wanted: list[Wanted]) -> Events:
    """Read the events of a dataframe, evaluated once."""
    names = {column.role: column.name for column in wanted}
    with ExitStack() as stack:
        source = open_source(stack, frame, wanted, ordered=True)
        kinds = {role: decoded_type(kind) for role, kind in source.kinds.items()}
        if "who" in kinds:
            check_users(kinds["who"], names["who"])
        table = source.run(lambda: pa.Table.from_batches(source.batches()))
    columns = {role: one_array(table[role]) for role in names}
    lengths, labels = labels_of(columns["labels"])
    starts, (codes, vocabulary) = starts_of(lengths), _encoded(labels)
    first = np.ones(len(lengths), np.bool_)  # whether an event starts at a row
    if "event" in columns:
        first[1:] = changes_of(columns["event"], names["event"])
        starts = np.append(starts[:-1][first], starts[-1])
    starts, codes = once_each(starts, codes)
    if "who" not in columns:
        return Events(starts, codes, vocabulary)
    users, held = users_of_events(columns["who"], kinds["who"], names["who"])
    if (~first[1:] & (held[1:] != held[:-1])).any():
        raise DataError(
            f"the rows of one event must have one user in column {names['who']!r}: correct the "
            f"rows, or tell events apart in column {names['event']!r}"
        )
    return Events(starts, codes, vocabulary, users, held[first])
