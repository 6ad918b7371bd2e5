"""StreamState: the state of a stream, and the steps that change it. Secret.

A step is first computed, as a `Step`, and later applied. In between it is stored, so that a crash
cannot undo anything that was returned.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter

import numpy as np

from dphist.arrays import BoolArray, IntArray
from dphist.counting.reading.columns import UserType
from dphist.errors import Argument, HorizonError, ParameterError
from dphist.noise import Source
from dphist.parameters import whole_number
from dphist.privacy import PrivacyUnit
from dphist.streams.counters.noise_table import NoiseTable, are_above, round_units
from dphist.streams.events.columns import check_user_type
from dphist.streams.events.cutting import Events, cut, keep_known, remove_labels, slice_events
from dphist.streams.events.keys import BatchKey, Progress
from dphist.streams.events.users import UserEvents
from dphist.streams.mechanism import ContinualMechanism


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Step:
    """The changes of one step.

    Attributes
    ----------
    time : number of events after the step.
    noise : the noise after the step.
    reads : after the step, the number of times at which the stream was read, and the last of them.
    new_labels : labels that get the next places.
    places, counts : (k,) the places of labels with changed counts, and their new counts.
    users : the changed numbers of events per user, by hash.
    user_type : the type of the users after the step; None if there was none yet.
    marked : a time to keep the counts of, or None.
    released : places of labels that are released for the first time.
    reading : counts to record as a release at this time, or None.
    for_tests : whether random bits of the step came from the caller.
    progress : the origin of the batch and how far it is then counted, or None.
    """

    time: int
    noise: NoiseTable
    reads: tuple[int, int]
    new_labels: Sequence[str] = ()
    places: Sequence[int] = ()
    counts: Sequence[int] = ()
    users: Mapping[bytes, int] = field(default_factory=dict)
    user_type: UserType | None = None
    marked: int | None = None
    released: Sequence[int] = ()
    reading: Mapping[str, int] | None = None
    for_tests: bool = False
    progress: tuple[str, Progress] | None = None


@dataclass(frozen=True, slots=True)
class StreamUsers:
    """Who the users of a stream are; public.

    Attributes
    ----------
    column : the column or field of all events that names them.
    unit : one of them.
    """

    column: str
    unit: PrivacyUnit


class StreamState:
    """The counts, noise and everything else of a stream.

    Attributes
    ----------
    mechanism : the parameters.
    time : number of events so far; public.
    labels, places : the labels in the order of their places, and the place of each label.
    counts : the number of events with each label, by place.
    released : whether each label was ever released, by place.
    noise : the noise of the running counts.
    threshold : the threshold in units of the noise; None if the labels are listed in advance.
    users : the number of events of each user; None if users are not bounded.
    user_type : the type of these users, one of `USER_TYPES`; public. None before the first of them,
        and in a state of an earlier version, which did not keep it.
    named_users : who the users are; None if nobody named them.
    marks : the counts at marked times, by place; labels that appeared later are missing.
    readings : recorded releases, by time; public.
    reads : the number of times at which the stream was read, and the last of them; public.
    for_tests : whether random bits of any step came from the caller; public.
    batches : how far the batches of each origin are counted.
    """

    __slots__ = (
        *("batches", "counts", "for_tests", "labels", "marks", "mechanism", "named_users", "noise"),
        "places",
        *("readings", "reads", "released", "threshold", "time", "user_type"),
        "users",
    )

    def __init__(self, mechanism: ContinualMechanism) -> None:
        self.mechanism = mechanism
        self.for_tests = False
        self.time = 0
        self.labels: list[str] = list(mechanism.labels or ())
        self.places = {label: place for place, label in enumerate(self.labels)}
        self.counts: list[int] = [0] * len(self.labels)
        self.released: list[bool] = [mechanism.labels is not None] * len(self.labels)
        counter, threshold = mechanism.counter, mechanism.threshold
        self.noise = NoiseTable.empty(counter)
        self.threshold = None if threshold is None else int(threshold * 2**counter.unit_bits)
        bound = mechanism.max_events_per_user
        self.users = None if bound is None else UserEvents(bound)
        self.user_type: UserType | None = None
        self.named_users: StreamUsers | None = None
        self.marks: dict[int, IntArray] = {}
        self.readings: dict[int, dict[str, int]] = {}
        self.reads = (0, 0)
        self.batches: dict[str, Progress] = {}

    def drop_counted(self, events: Events, key: BatchKey) -> Events | None:
        """Return the events of a batch that are still to be counted; None if it was counted.

        Raises
        ------
        ParameterError
            If a part of another batch of this origin is counted.
        """
        done = self.batches.get(key.origin)
        if done is None:
            return events
        if done.is_whole:
            return events if done.position < key.position else None
        if done.before is not None and key.position <= done.before:
            return None
        # Another batch may repeat the events that are counted already.
        if key.position != done.position or len(events) != done.events:
            raise ParameterError(
                "key",
                f"must end with {done.position} again, with the same events: a part of that "
                "batch was counted before a crash, and the others must follow first",
            )
        return slice_events(events, done.counted, len(events))

    def position(self, origin: str) -> int | None:
        """Return the position up to which an origin is counted whole; None if there is none."""
        done = self.batches.get(origin)
        if done is None:
            return None
        return done.position if done.is_whole else done.before

    def counting(self, events: Events, source: Source | None = None) -> Step:
        """Compute the step that counts these events, which end at the next mark or before it.

        Raises
        ------
        DataError
            If their users are not of the type of the stream's users, which the first event decides.
        """
        check_user_type(self.user_type, events.user_type)
        bounded, users = self._bound_users(events, source)
        places: list[int] = []
        new: list[str] = []
        for label in bounded.vocabulary:
            place = self.places.get(label)
            if place is None:
                place = len(self.labels) + len(new)
                new.append(label)
            places.append(place)
        known = len(self.labels)
        if len(bounded.codes) == len(places):  # each label occurs once, as in a single event
            added = [1] * len(places)
        else:
            added = np.bincount(bounded.codes, minlength=len(places)).tolist()
        counts = [
            more + (self.counts[place] if place < known else 0)
            for place, more in zip(places, added, strict=True)
        ]
        time = self.time + len(events)
        marked, noise = None, self.noise
        if self.mechanism.windows is not None and time % self.mechanism.windows == 0:
            marked = time
            noise = noise.advance_to(time, known + len(new), mark=True, source=source)
        kind = events.user_type
        return Step(time, noise, self.reads, new, places, counts, users, kind, marked)

    def _bound_users(
        self, events: Events, source: Source | None
    ) -> tuple[Events, Mapping[bytes, int]]:
        """Return the events after bounding, at unchanged times, and the users' new numbers."""
        users: Mapping[bytes, int] = {}
        if self.users is not None:
            beyond, users = self.users.beyond(events)
            events = remove_labels(events, beyond)
        if self.mechanism.labels is not None:
            events = keep_known(events, self.places)
        return cut(events, self.mechanism.max_labels, source), users

    def reading(
        self, *, record: bool = False, source: Source | None = None
    ) -> tuple[Step, dict[str, int]]:
        """Compute the step that reads all labels now, and return it with the counts."""
        if self.time == 0:  # before the first event the counts are public and need no noise
            counts = dict.fromkeys(self.labels, 0)
            recorded = counts if record else None
            return Step(0, self.noise, self.reads, reading=recorded), counts
        number, last = self.reads
        if last != self.time:
            number += 1
        if number > self.mechanism.most_readings:
            raise HorizonError(
                Argument("readings")
                + f" is {self.mechanism.readings}, and the stream was already read at that "
                "many times: the guarantee covers no more. Make a new stream, which costs its own "
                "budget"
            )
        noise = self.noise.advance_to(self.time, len(self.labels), source=source)
        bits = noise.counter.unit_bits
        exact = np.array(self.counts, np.int64)
        units = noise.total()[: len(exact)]
        above: BoolArray = np.ones(len(exact), np.bool_)
        limit = self.threshold
        if self.mechanism.method == "unbounded":  # it grows with time
            limit = self.mechanism.threshold_units_at(self.time)
        if limit is not None:
            above = are_above(exact, units, limit, bits)
        chosen = np.flatnonzero(above).tolist()
        values = (exact + round_units(units, bits)).tolist()
        counts = in_order({self.labels[place]: values[place] for place in chosen})
        first = [place for place in chosen if not self.released[place]]
        recorded = counts if record else None
        return Step(self.time, noise, (number, self.time), released=first, reading=recorded), counts

    def window(self, start: int, end: int) -> dict[str, int]:
        """Return the counts within the events `start` to `end`, of all labels released so far.

        Raises
        ------
        ParameterError
            If no windows are kept, or `start` - 1 and `end` do not end one of those so far.
        """
        every = self.mechanism.windows
        if every is None:
            raise ParameterError(
                "windows", "must be given when the stream is made, for windows to be kept"
            )
        start, end = whole_number(start, "start", 1), whole_number(end, "end", 1)
        if not start <= end <= self.time or (start - 1) % every or end % every:
            raise ParameterError(
                ("start", "end"),
                "must be such that start - 1 and end are multiples of "
                + Argument("windows", every)
                + ", start is at most end, and end at most "
                + Argument("time", self.time),
            )
        bits = self.noise.counter.unit_bits
        exact, units = self._read_mark(end)
        if start > 1:
            exact_before, units_before = self._read_mark(start - 1)
            exact, units = exact - exact_before, units - units_before
        values = (exact + round_units(units, bits)).tolist()
        return in_order(
            {
                label: value
                for label, value, released in zip(self.labels, values, self.released, strict=True)
                if released
            }
        )

    def _read_mark(self, time: int) -> tuple[IntArray, IntArray]:
        """Return the counts and the noise of all labels at a marked time.

        Labels that had no noise path then get noise 0. They were not released, so the caller leaves
        them out.
        """
        exact, units = np.zeros(len(self.labels), np.int64), np.zeros(len(self.labels), np.int64)
        held, noise = self.marks[time], self.noise.marks[time][: len(units)]
        exact[: len(held)] = held
        units[: len(noise)] = noise
        return exact, units

    def apply(self, step: Step) -> None:
        """Apply a step that was computed from this state."""
        for label in step.new_labels:
            self.places[label] = len(self.labels)
            self.labels.append(label)
            self.counts.append(0)
            self.released.append(False)
        for place, count in zip(step.places, step.counts, strict=True):
            self.counts[place] = count
        for place in step.released:
            self.released[place] = True
        if self.users is not None:
            self.users.add(step.users)
        if step.user_type is not None:
            self.user_type = step.user_type
        self.noise = step.noise
        self.time = step.time
        self.reads = step.reads
        self.for_tests |= step.for_tests
        if step.progress is not None:
            origin, progress = step.progress
            self.batches[origin] = progress
        if step.marked is not None:
            self.marks[step.marked] = np.array(self.counts, np.int64)
        if step.reading is not None:
            self.readings[step.time] = dict(step.reading)


def in_order(counts: dict[str, int]) -> dict[str, int]:
    """Sort released counts by count, largest first, then by label, whatever their input order."""
    rows = sorted(counts.items())
    rows.sort(key=itemgetter(1), reverse=True)  # keeps the order of equal counts
    return dict(rows)
