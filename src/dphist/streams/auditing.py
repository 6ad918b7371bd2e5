"""How streams are audited: events are the data, and readings are what is shown."""

from collections.abc import Callable, Sequence
from typing import Any

from dphist.document.audited import SMALL_DELTA, AuditedClass, Auditing, Setup
from dphist.release.maker import parameters_of
from dphist.streams.mechanism import ContinualMechanism
from dphist.streams.neighbors import EventNeighbors
from dphist.streams.stream import ContinualHistogram


def run_of_stream(mechanism: ContinualMechanism) -> Callable[[Sequence[Sequence[str]]], Any]:
    """Return a callable that feeds events to a new stream and reads it as often as is paid for.

    An event is a sequence of labels. With `readings` the last readings are used up, one after each
    of the last events.
    """

    def run(events: Sequence[Sequence[str]]) -> Any:
        stream = ContinualHistogram(**parameters_of(mechanism))
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
