"""Events as they are written on standard input, counted by a stream."""

import pyarrow as pa

from dphist.release.label_types import LabelType, as_arrow, read_label
from dphist.streams.events.forms import Event
from dphist.streams.stream import ContinualHistogram


def count_events(stream: ContinualHistogram, events: list[Event]) -> None:
    """Count events, at least one; all of them have a user, or none has."""
    kind, labels = stream.mechanism.label_type, [event.labels for event in events]
    if events[0].user is None:
        stream.update_many([[read_label(text, kind) for text in texts] for texts in labels])
        return
    user = "user" if stream.named_users is None else stream.named_users.column
    label, event = (name if name != user else f"{name} of {user}" for name in ("label", "event"))
    if kind != "text":
        rows = _make_typed_rows(events, kind).rename_columns([event, label, user])
        stream.update_many(rows, label=label, event=event, user=user)
    else:
        listed = pa.array(labels, pa.list_(pa.large_string()))
        table = pa.table({label: listed, user: _make_users(events)})
        stream.update_many(table, label=label, user=user)


def _make_users(events: list[Event]) -> pa.Array:
    """Return the user of each event; all are text, or all are whole numbers."""
    users = [event.user for event in events]
    return pa.array(users, pa.int64() if isinstance(users[0], int) else pa.large_string())


def _make_typed_rows(events: list[Event], kind: LabelType) -> pa.Table:
    """Return events with users as rows of one label each, null for an event without labels."""
    texts = sorted({text for event in events for text in event.labels})
    places = {text: place for place, text in enumerate(texts)}
    rows: list[tuple[int, int | None]] = []
    for number, event in enumerate(events):
        rows += [(number, places[text]) for text in event.labels]
        if not event.labels:
            rows.append((number, None))
    numbers = pa.array([row[0] for row in rows], pa.int64())
    return pa.table(
        {
            "event": numbers,
            "label": as_arrow(texts, kind).take(pa.array([row[1] for row in rows], pa.int64())),
            "user": _make_users(events).take(numbers),
        }
    )
