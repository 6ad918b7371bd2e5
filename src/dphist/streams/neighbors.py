"""Neighbors for streams: events, of which one unit's are empty in one of the two."""

import random
from collections.abc import Iterator
from typing import Any

from dphist.document.audited import Pair

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
                text = f"{name}; one unit from event {where + 1} on"
                yield self._make(text, [list(base)] * self.length, where)

    def vary(self, name: str, raw: Any, draw: random.Random) -> Iterator[Pair]:
        """Change an event of others in both, or move the unit."""
        base, where = raw
        changed = [list(event) for event in base]
        place = draw.randrange(self.length)
        changed[place] = draw.sample(self.names, draw.randrange(len(self.event) + 1))
        yield self._make(f"{name}; event {place + 1} changed", changed, where)
        moved = draw.randrange(self.length)
        base_name = name.partition(";")[0]
        yield self._make(f"{base_name}; one unit from event {moved + 1} on", base, moved)

    def _make(self, name: str, base: Events, where: int) -> Pair:
        one = [self._written(labels, k) for k, labels in enumerate(base)]
        other = list(one)
        for k in range(where, min(where + (self.bound or 1), self.length)):
            one[k] = self._written([], "one" if self.bound else k)
            other[k] = self._written(self.event, "one" if self.bound else k)
        return Pair(name, one, other, (base, where))

    def _written(self, labels: list[str], user: Any) -> list[str]:
        return list(labels) if self.bound is None else [str(user), *labels]
