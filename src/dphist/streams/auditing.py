"""How streams are audited: events are the data, of which one unit's are empty in a neighbor."""

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from dphist.document.audited import SMALL_DELTA, AuditedClass, Auditing, Pair, Setup
from dphist.release.maker import read_parameters
from dphist.streams.mechanism import ContinualMechanism
from dphist.streams.stream import ContinualHistogram

_LONGEST = 12

Events = list[list[str]]


class EventNeighbors:
    """An event, or those of one user, are empty in one of the two streams."""

    def __init__(self, mechanism: Any) -> None:
        self.length = min(mechanism.horizon, _LONGEST)
        names = mechanism.labels or [f"label {k}" for k in range(mechanism.max_labels + 1)]
        self.names = list(names)
        self.event = self.names[: mechanism.max_labels]
        self.bound = mechanism.max_events_per_user

    def pairs(self) -> Iterator[Pair]:
        """Return streams in which the unit comes first, or in the middle, or last."""
        bases = {
            "empty events": [],
            "a label in every event": self.names[:1],
            "the unit's labels in every event": self.event,
        }
        for name, base in bases.items():
            for where in sorted({0, self.length // 2, self.length - 1}):
                yield self._place(name, [list(base)] * self.length, where)

    def vary(self, name: str, raw: Any, draw: random.Random) -> Iterator[Pair]:
        """Change an event of others in both, or move the unit."""
        base, events, where = raw
        changed = [list(event) for event in events]
        place = draw.randrange(self.length)
        changed[place] = draw.sample(self.names, draw.randrange(len(self.event) + 1))
        yield self._make(f"{name}; event {place + 1} changed", base, changed, where)
        yield self._place(base, events, draw.randrange(self.length))

    def _place(self, base: str, events: Events, where: int) -> Pair:
        """Return the pair in which the unit begins at an event."""
        return self._make(f"{base}; one unit from event {where + 1} on", base, events, where)

    def _make(self, name: str, base: str, events: Events, where: int) -> Pair:
        one = [self._write_event(labels, k) for k, labels in enumerate(events)]
        other = list(one)
        for k in range(where, min(where + (self.bound or 1), self.length)):
            one[k] = self._write_event([], "one" if self.bound else k)
            other[k] = self._write_event(self.event, "one" if self.bound else k)
        return Pair(name, one, other, (base, events, where))

    def _write_event(self, labels: list[str], user: Any) -> list[str]:
        return list(labels) if self.bound is None else [str(user), *labels]


def run_of_stream(mechanism: ContinualMechanism) -> Callable[[Sequence[Sequence[str]]], Any]:
    """Return a callable that feeds events to a new stream and reads it as often as is paid for.

    An event is a sequence of labels. With `readings` the last readings are used up, one after each
    of the last events.
    """

    def run(events: Sequence[Sequence[str]]) -> Any:
        stream = ContinualHistogram(**read_parameters(mechanism))
        readings = min(len(events), mechanism.readings or len(events))
        shown = []
        for place, event in enumerate(events):
            if mechanism.max_events_per_user is None:
                stream.update(event)
            else:
                stream.update(event[1:], user=event[0])
            if place >= len(events) - readings:
                shown.append(stream.counts())
        return shown

    return run


_LISTED = {"labels": ["a", "b"], "max_labels": 1}

AUDITING = Auditing(
    neighbors=EventNeighbors,
    run=run_of_stream,
    setup=lambda _: Setup(why_not="the sums that noise of streams is added to are held nowhere"),
    mechanisms={
        ContinualMechanism: AuditedClass(
            small={"delta": SMALL_DELTA, "horizon": 16, "max_labels": 2},
            others={"of listed labels": _LISTED, "of users": {**_LISTED, "max_events_per_user": 2}},
        )
    },
)
