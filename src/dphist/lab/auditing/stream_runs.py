"""A stream as a callable: its events are the data, its readings what is shown."""

from collections.abc import Callable, Sequence
from typing import Any

from dphist.release.maker import parameters_of
from dphist.streams import ContinualHistogram, ContinualMechanism


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
