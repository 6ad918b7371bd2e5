"""Reading of events, the input of a stream: a sequence of sets of labels.

A batch is read completely before it is used. So an invalid event refuses its batch and leaves the
stream unchanged.
"""

import datetime
from collections.abc import Iterable, Mapping, Set
from contextlib import ExitStack
from numbers import Integral
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dphist.arrays import IntArray
from dphist.counting import redact_errors
from dphist.counting.reading.columns import (
    OBJECTS,
    Use,
    UserType,
    Wanted,
    canonical_type,
    check_request,
    find_decoded_type,
    key_column,
)
from dphist.counting.reading.gate import is_table, open_source
from dphist.data.choosing import compute_starts
from dphist.errors import Argument, ColumnError, DataError, ParameterError
from dphist.release.label_types import IN_WORDS, LabelType, format_label, is_of_type
from dphist.streams.events.columns import (
    PLAIN,
    find_changes,
    find_user_type,
    flatten_labels,
    plain_labels,
    to_array,
    to_int64,
    users_of_events,
)
from dphist.streams.events.cutting import (
    Events,
    cut,
    deduplicate,
    keep_known,
    remove_labels,
)

__all__ = [
    "Events",
    "check_user",
    "cut",
    "keep_known",
    "one_event",
    "read_events",
    "remove_labels",
    "user_key",
]

_EPOCH = datetime.date(1970, 1, 1).toordinal()


def read_events(
    events: object,
    *,
    label: str = "label",
    event: str | None = None,
    user: str | None = None,
    with_users: bool = False,
    label_type: LabelType = "text",
) -> Events:
    """Read a batch of events, in time order.

    Parameters
    ----------
    events : sequence or other iterable of events, each an iterable of text; or a dataframe of
        pandas, Polars (also lazy), Arrow or DuckDB with rows in time order. Spark dataframes have
        no order, so they are refused.
    label : column of text, or of lists of text. A row without a label, or with an empty list, is
        an event without labels.
    event : column; consecutive rows with the same value are one event, with the labels of all these
        rows. Without it, each row is an event.
    user : column of users: text, integers, dates, truth values or UUIDs. Each event has one user.
    with_users : whether users are needed, so that `user` must be given.
    label_type : the type of the labels. Those of other types than text are held as the text that
        `format_label` returns, and stand in a column one a row.

    Raises
    ------
    ParameterError
        If `events` has another type, or no users although they are needed.
    ColumnError
        If a column is missing, occurs twice, or has an unsuitable type.
    DataError
        If an event holds anything but text, text is not UTF-8, a user or a value of `event` is
        missing, rows of one event have different users, or the engine fails.
    """
    wanted = [Wanted("labels", label, Use.TEXTS, "label")]
    if label_type != "text":
        wanted = [key_column("labels", label, "label", only_text=True)]
    if event is not None:
        wanted.append(key_column("event", event, "event"))
    if user is not None:
        wanted.append(key_column("who", user, "user", only_text=True))
    check_request(wanted, None)
    if with_users and user is None:
        raise ParameterError(
            "user",
            "must name the column of users of a dataframe, because "
            + Argument("max_events_per_user")
            + " bounds the events of each user",
        )
    if not isinstance(events, PLAIN) and is_table(events):
        return _read_frame(events, wanted, label_type)
    if event is not None or user is not None:
        raise ParameterError(
            ("event", "user"), "name columns, so " + Argument("events") + " must be a dataframe"
        )
    return _read_iterable(events, label_type)


def check_user(bounded: bool, given: bool) -> None:
    """Refuse an event without a user where users are bounded, and with one where not."""
    bound = Argument("max_events_per_user")
    if bounded and not given:
        raise ParameterError(
            "user", "must be given: the stream bounds events a user (" + bound + ")"
        )
    if given and not bounded:
        raise ParameterError("user", "must be left out: the stream was made without " + bound)


def one_event(
    labels: Iterable[Any], user: object | None = None, *, label_type: LabelType = "text"
) -> Events:
    """Return a batch of one event; `user` is None if there is no bound for users.

    Raises
    ------
    DataError
        If `labels` is not an iterable of text in UTF-8, or `user` has an unsuitable type.
    """
    texts = _read_labels(labels, label_type)
    if len(texts) > 1:
        texts = list(dict.fromkeys(texts))
    if not all(map(str.isascii, texts)):
        # Lone surrogates cannot be encoded as UTF-8.
        redact_errors("".join(texts).encode, _event_error(label_type))
    number = len(texts)
    starts, codes = np.array((0, number), np.int64), np.arange(number, dtype=np.int64)
    if user is None:
        return Events(starts, codes, texts)
    kind, key = user_key(user)
    return Events(starts, codes, texts, [key], np.zeros(1, np.int64), kind)


def user_key(user: object) -> tuple[UserType, bytes]:
    """Return the type and the key of a user: the same as for a column that holds this value.

    Raises
    ------
    DataError
        If `user` is not text in UTF-8, an integer of 64 bits, a date, a truth value or a UUID.

    >>> user_key("5"), user_key(5), user_key(datetime.date(1970, 1, 6))
    (('text', b't5'), ('integer', b'i5'), ('date', b'd5'))
    """
    problem = DataError(
        Argument("user")
        + " must be text in UTF-8, an integer of up to 64 bits, a date, a truth value or a UUID"
    )
    if isinstance(user, str):
        return "text", b"t" + redact_errors(lambda: str.encode(user), problem)
    if isinstance(user, bool | np.bool_):
        return "boolean", b"b%d" % bool(user)
    if isinstance(user, Integral) and -(2**63) <= int(user) < 2**64:
        return "integer", b"i%d" % int(user)
    if isinstance(user, datetime.date) and not isinstance(user, datetime.datetime):
        return "date", b"d%d" % (user.toordinal() - _EPOCH)
    if isinstance(user, UUID):
        return "uuid", b"t" + str(user).encode()
    raise problem


def _read_iterable(events: Any, kind: LabelType) -> Events:
    """Read the events of an iterable of iterables of labels."""
    unfit = ParameterError(
        "events",
        'must be a sequence of events, each a list or set of text, such as [["a", "b"], []], or '
        "a dataframe",
    )
    if isinstance(events, str | bytes | bytearray | Mapping | Set):  # sets have no order
        raise unfit
    if isinstance(events, list | tuple) and len(events) == 1:
        return one_event(events[0], label_type=kind)  # the same result, several times faster
    lengths: list[int] = []
    labels: list[Any] = []
    for event in redact_errors(lambda: iter(events), unfit):
        own = event if isinstance(event, PLAIN) else _read_labels(event, kind)
        lengths.append(len(own))
        labels.extend(own)
    texts = plain_labels(labels, kind)
    if texts is None:
        raise _event_error(kind)
    column = redact_errors(lambda: pa.array(texts, pa.large_string()), _event_error(kind))
    codes, vocabulary = _encode(column)
    starts, codes = deduplicate(compute_starts(np.array(lengths, np.int64)), codes)
    return Events(starts, codes, vocabulary)


def _read_labels(labels: Any, kind: LabelType) -> list[str]:
    """Return the labels of an event as text; a label may occur more than once."""
    # Iterating over these types yields something other than labels: keys, column names or lines.
    if isinstance(labels, str | bytes | bytearray | Mapping) or any(
        hasattr(labels, name) for name in ("columns", "read")
    ):
        raise _event_error(kind)
    if not isinstance(labels, PLAIN):
        labels = redact_errors(lambda: list(labels), _event_error(kind))
    texts = plain_labels(labels, kind)
    if texts is None:
        raise _event_error(kind)
    return texts


def _event_error(kind: LabelType) -> DataError:
    return DataError(
        'an event must be a list or set of labels, such as ["a"] rather than "a"; each label must '
        f"be {IN_WORDS[kind]}, and none may be missing; an event without labels is []"
    )


def _encode(values: pa.Array) -> tuple[IntArray, list[str]]:
    """Encode text as positions in a list of the distinct texts, in order of appearance.

    The text must be UTF-8, without nulls.
    """
    table = values.dictionary_encode()
    return to_int64(table.indices), table.dictionary.to_pylist()


def _read_frame(frame: object, wanted: list[Wanted], kind: LabelType) -> Events:
    """Read the events of a dataframe, which is evaluated once."""
    names = {column.role: column.name for column in wanted}
    with ExitStack() as stack:
        source = open_source(stack, frame, wanted, ordered=True)
        kinds = {role: find_decoded_type(kind) for role, kind in source.kinds.items()}
        user_type = None
        if "who" in kinds:
            user_type = find_user_type(kinds["who"], names["who"])
        if kind != "text":
            check_labels(kinds["labels"], names["labels"], kind)
        table = source.run(lambda: pa.Table.from_batches(source.batches()))
    columns = {role: to_array(table[role]) for role in names}
    if kind == "text":
        lengths, labels = flatten_labels(columns["labels"])
    else:
        lengths, labels = read_typed_labels(
            columns["labels"], kinds["labels"], names["labels"], kind
        )
    starts, (codes, vocabulary) = compute_starts(lengths), _encode(labels)
    first = np.ones(len(lengths), np.bool_)  # whether a row is the first of its event
    if "event" in columns:
        first[1:] = find_changes(columns["event"], names["event"])
        starts = np.append(starts[:-1][first], starts[-1])
    starts, codes = deduplicate(starts, codes)
    if user_type is None:
        return Events(starts, codes, vocabulary)
    users, held = users_of_events(columns["who"], user_type, names["who"])
    if (~first[1:] & (held[1:] != held[:-1])).any():
        raise DataError(
            f"the rows of one event must have one user in column {names['who']!r}: correct the "
            f"rows, or give the events different values in column {names['event']!r}"
        )
    return Events(starts, codes, vocabulary, users, held[first], user_type)


def check_labels(kind: pa.DataType, name: str, wanted: LabelType) -> None:
    """Refuse a column of labels of another type; one without labels may have none.

    Of Python objects the schema says nothing: `read_typed_labels` refuses each label.
    """
    if not (is_of_type(kind, wanted) or pa.types.is_null(kind) or kind is OBJECTS):
        raise ColumnError(
            f"column {name!r} must hold labels of the stream's "
            + Argument("label_type")
            + f": {IN_WORDS[wanted]}"
        )


def read_typed_labels(
    values: pa.Array, kind: pa.DataType, name: str, wanted: LabelType
) -> tuple[IntArray, pa.Array]:
    """Return the number of labels of each row, 0 or 1, and the labels of all rows as text.

    Parameters
    ----------
    values : one label a row, null for none. Timestamps arrive as the integers of their canonical
        form.
    kind : the type of the column.
    """
    problem = DataError(
        f"column {name!r} must hold labels of the stream's "
        + Argument("label_type")
        + f": {IN_WORDS[wanted]}"
    )
    there = pc.is_valid(values).to_numpy(zero_copy_only=False)
    if kind is OBJECTS and there.any():
        raise problem
    table = values.drop_null().dictionary_encode()
    distinct = redact_errors(lambda: _as_python(table.dictionary, kind), problem)
    texts = [format_label(value, wanted) for value in distinct]
    if any(text is None for text in texts):
        raise problem
    labels = pa.array(texts, pa.large_string()).take(pa.array(to_int64(table.indices)))
    return there.astype(np.int64), labels


def _as_python(distinct: pa.Array, kind: pa.DataType) -> list[object]:
    """Return distinct labels as Python objects."""
    if pa.types.is_timestamp(kind):
        moments = distinct.cast(canonical_type(kind))
        zone = moments.type.tz
        return list(moments.cast(pa.timestamp("us", zone)).to_pylist())  # refuses nanoseconds
    return list(distinct.to_pylist())
