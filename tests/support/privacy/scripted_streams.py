"""A stream run on a noisy table that is given: `docs/understand/proofs/streams.md`, Lemma 3.

The table holds count + noise of each label at each time. A run of a stream gets as noise what is
left of the table when its own counts are taken off, so that two neighbours see one table, and what
they release must be the same while no label that is new in one of them is above the threshold.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dphist.streams.mechanism import ContinualMechanism
from dphist.streams.stream import ContinualHistogram

UNIT_BITS = 2
THRESHOLD = Fraction(5, 2)  # a noisy count equal to it is rounded up to 3
LABELS = ("a", "b")
EVENTS: tuple[tuple[str, ...], ...] = ((), ("a",), ("b",), ("b", "a"))
FIRST, SECOND = bytes([0] * 8 + [1] * 8), bytes([1] * 8 + [0] * 8)  # which of two labels stays

Stream = tuple[tuple[str, ...], ...]
Table = Mapping[tuple[str, int], int]  # units, of a label at a time
Entry = tuple[int, str, Any]  # time, what was asked, what was said, in its order


class ViolationError(AssertionError):
    """A claim that does not hold."""


@dataclass
class ScriptedCounter:
    """Noise by label and time. A path is its place and the time; places get `order`'s labels."""

    order: Sequence[str]
    noise: Table
    skips: bool
    made: int = 0
    width: int = 2
    unit_bits: int = UNIT_BITS
    variance: Fraction = Fraction(1)
    rounding: Fraction = Fraction(1)

    def start(self, labels: int, time: int, source: Any) -> np.ndarray:
        ids = self.made + np.arange(labels)
        self.made += labels
        return np.stack([ids, np.full(labels, time)], axis=1)

    def step(self, rows: np.ndarray, before: int, now: int, source: Any) -> np.ndarray:
        assert (rows[:, 1] == before).all()
        return np.stack([rows[:, 0], np.full(len(rows), now)], axis=1)

    def total(self, rows: np.ndarray) -> np.ndarray:
        names = [self.order[i] if i < len(self.order) else None for i in rows[:, 0].tolist()]
        found = [
            0 if name is None else self.noise[name, time]
            for name, time in zip(names, rows[:, 1].tolist(), strict=True)
        ]
        return np.array(found, np.int64)


@dataclass
class Setting:
    """Parameters of the mechanism, and how streams are fed and read.

    Attributes
    ----------
    length : number of events.
    reads : what is asked at each time, from 0 on, one letter each: counts, top, release, window.
    parameters : of the mechanism.
    users : whose the events are; None without a bound.
    firsts : of events that are cut, whether the first label stays.
    batches : whether events between readings come as one batch.
    """

    length: int
    reads: Sequence[str]
    parameters: dict[str, Any] = field(default_factory=dict)
    users: str | None = None
    firsts: Sequence[bool] = (True,) * 9
    batches: bool = False
    skips: bool = False

    def streams(self) -> Iterator[Stream]:
        yield from itertools.product(EVENTS, repeat=self.length)

    def neighbours(self, stream: Stream) -> Iterator[Stream]:
        """One event, or all of one user, are empty."""
        if self.users is None:
            for i, event in enumerate(stream):
                if event:
                    yield (*stream[:i], (), *stream[i + 1 :])
        else:
            for user in sorted(set(self.users)):
                yield tuple(
                    () if who == user else event
                    for who, event in zip(self.users, stream, strict=True)
                )

    def bounded(self, stream: Stream) -> Stream:
        """What is to count: computed apart from the code."""
        kept = []
        most, listed = self.parameters.get("max_events_per_user"), self.parameters.get("labels")
        for i, event in enumerate(stream):
            if self.users is not None and self.users[: i + 1].count(self.users[i]) > most:
                event = ()
            if listed is not None:
                event = tuple(label for label in event if label in listed)
            if len(event) > self.parameters.get("max_labels", 2):
                event = event[:1] if self.firsts[i] else event[1:]
            kept.append(event)
        return tuple(kept)


def random_table(setting: Setting, rng: np.random.Generator) -> Table:
    """Noisy counts about the threshold, far above and far below it."""
    limit = int(THRESHOLD * 2**UNIT_BITS)
    near = [limit - 3, limit - 1, limit, limit, limit + 1, limit + 3, -9, 400, 401, 402]
    times = range(1, setting.length + 1)
    return {(label, t): int(rng.choice(near)) for label in LABELS for t in times}


def play(setting: Setting, stream: Stream, table: Table) -> list[Entry]:
    """Feed a stream to a real `ContinualHistogram`, and return what it says."""
    bounded = setting.bounded(stream)
    listed = setting.parameters.get("labels")
    order = list(listed or dict.fromkeys(itertools.chain(*bounded)))
    noise = {
        (label, time): units - (sum(label in event for event in bounded[:time]) << UNIT_BITS)
        for (label, time), units in table.items()
    }
    counter = ScriptedCounter(order, noise, setting.skips)
    parameters = {"epsilon": 1, "horizon": setting.length, "max_labels": 2, **setting.parameters}
    if listed is None:
        parameters["delta"] = "1e-3"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ContinualMechanism, "counter", property(lambda self: counter))
        limit = None if listed is not None else THRESHOLD
        patch.setattr(ContinualMechanism, "threshold", property(lambda self: limit))
        histogram = ContinualHistogram(**parameters)
        said = list(ask(histogram, setting.reads[0]))
        waiting: list[int] = []
        for time in range(1, setting.length + 1):
            waiting.append(time - 1)
            if not setting.batches or setting.reads[time] or setting.users:
                feed(histogram, setting, stream, waiting)
                waiting = []
            if not waiting:
                said += ask(histogram, setting.reads[time])
        assert histogram._state.labels == order  # so that the table's noise was the label's
        return said


def feed(h: ContinualHistogram, setting: Setting, stream: Stream, places: list[int]) -> None:
    for i in places if not setting.batches or setting.users else ():
        user = None if setting.users is None else setting.users[i]
        source = (lambda n: FIRST[:n]) if setting.firsts[i] else (lambda n: SECOND[:n])
        h.update(stream[i], user=user, source=source)
    if setting.batches and not setting.users:
        h.update_many([stream[i] for i in places])


def ask(histogram: ContinualHistogram, letters: str) -> Iterator[Entry]:
    time, every = histogram.time, histogram.mechanism.windows
    for letter in letters:
        if letter == "c":
            yield time, "counts", list(histogram.counts().items())
        elif letter == "t":
            yield time, "top", list(histogram.top(1).items())
        elif letter == "r":
            release = histogram.release()
            yield time, "release", release.to_json()
        elif letter == "w" and every is not None:
            marks = range(0, time + 1, every)
            for before, end in itertools.combinations(marks, 2):
                said = list(histogram.window(before + 1, end).items())
                yield time, f"window {before + 1} {end}", said


def fresh(setting: Setting, stream: Stream, neighbour: Stream, time: int) -> set[str]:
    """Labels that occurred in the stream by then and not in its neighbour."""
    seen, its = (set(itertools.chain(*setting.bounded(s)[:time])) for s in (stream, neighbour))
    return seen - its


def compare(
    setting: Setting, table: Table, stream: Stream, neighbour: Stream, said: Any, its: Any
) -> bool:
    """Check that both say the same on S; return whether the table is in S."""
    limit = int(THRESHOLD * 2**UNIT_BITS)
    for (time, what, one), (_, _, other) in zip(said, its, strict=True):
        new = set() if "labels" in setting.parameters else fresh(setting, stream, neighbour, time)
        betrayed = {label for label in new if table[label, time] > limit}
        if betrayed and not what.startswith("window"):
            # The one outcome that only one of them can have: a new label above the threshold.
            if what == "counts" and [pair for pair in one if pair[0] not in betrayed] != other:
                raise ViolationError("more than a new label above the threshold tells them apart")
            return False
        if one != other:
            raise ViolationError(f"{what} at {time} tells them apart")
    return True


def check(setting: Setting, table: Table) -> tuple[int, int]:
    """Check all neighbours on one table; return in how many pairs it is in S, and not."""
    said = {stream: play(setting, stream, table) for stream in setting.streams()}
    inside = outside = 0
    for stream, one in said.items():
        for neighbour in setting.neighbours(stream):
            kept = compare(setting, table, stream, neighbour, one, said[neighbour])
            inside, outside = inside + kept, outside + (not kept)
    return inside, outside
