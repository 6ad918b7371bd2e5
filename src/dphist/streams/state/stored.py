"""Conversion of a stream's state to the rows of bytes of a `Store`, and back."""

import json
import struct
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from dphist.arrays import IntArray
from dphist.errors import StateError
from dphist.parameters import decimal_text
from dphist.privacy import ApproxDP, PrivacyUnit, PureDP, Target, find_delta
from dphist.release.maker import read_parameters
from dphist.streams.counters.noise_table import NoiseTable, Times
from dphist.streams.events.columns import USER_TYPES
from dphist.streams.events.keys import Progress
from dphist.streams.events.users import UserEvents
from dphist.streams.mechanism import ContinualMechanism
from dphist.streams.state.state import Step, StreamState, StreamUsers
from dphist.streams.store.database import Key
from dphist.streams.store.store import Store

Rows = dict[str, list[tuple[Key, bytes]]]

_PATHS_A_ROW = 4096
_TIMES_A_ROW = 1024
_CLOCK = struct.Struct("<qqq")  # number of events, number of times read, the last of these times
_LABEL = struct.Struct("<q?")
_PROGRESS = struct.Struct("<qqqq")  # the parts of a `Progress`
_NONE = -1
_FOR_TESTS: Rows = {"random bits": [(0, b"supplied by the caller")]}


def all_rows(state: StreamState) -> Rows:
    """Return all rows of a state."""
    rows: Rows = {
        "mechanism": [(0, _mechanism_text(state.mechanism).encode())],
        "law": [(0, _law(state.mechanism))],
        "clock": [(0, _CLOCK.pack(state.time, *state.reads))],
        "label": list(_labels(state)),
        "times": list(_times(state.noise, 0)),
        "noise": list(_noise(state.noise)),
        "mark": [(time, _array(counts)) for time, counts in state.marks.items()],
        "mark noise": [(time, _array(units)) for time, units in state.noise.marks.items()],
        "reading": [(time, _reading(counts)) for time, counts in state.readings.items()],
    }
    rows["batch"] = [_batch(origin, progress) for origin, progress in state.batches.items()]
    if state.mechanism.target is not None:
        rows["budget"] = [(0, _budget_text(state.mechanism.target).encode())]
    if state.for_tests:
        rows |= _FOR_TESTS
    if state.users is not None:
        rows["salt"] = [(0, state.users.salt)]
        rows["user"] = [(user, _number(events)) for user, events in state.users.counted.items()]
    if state.user_type is not None:
        rows["user type"] = [(0, state.user_type.encode())]
    if state.named_users is not None:
        rows |= users_rows(state.named_users)
    return rows


def users_rows(named: StreamUsers) -> Rows:
    """Return the row that says who the users of a stream are."""
    content = {"column": named.column, "unit": named.unit.to_content()}
    return {"named users": [(0, json.dumps(content).encode())]}


def step_rows(state: StreamState, step: Step) -> Rows:
    """Return the rows that a step changes; `state` is the state before the step."""
    known = len(state.labels)
    rows: Rows = {"clock": [(0, _CLOCK.pack(step.time, *step.reads))]}
    labels = {
        place: (step.new_labels[place - known] if place >= known else state.labels[place], count)
        for place, count in zip(step.places, step.counts, strict=True)
    }
    rows["label"] = [
        (place, _label(label, count, place < known and state.released[place]))
        for place, (label, count) in labels.items()
    ]
    rows["label"] += [
        (place, _label(state.labels[place], state.counts[place], True)) for place in step.released
    ]
    rows["user"] = [(user, _number(events)) for user, events in step.users.items()]
    if step.user_type is not None and step.user_type != state.user_type:
        rows["user type"] = [(0, step.user_type.encode())]
    if step.noise is not state.noise:
        rows |= _noise_rows(state, step)
    if step.marked is not None:
        counts = [*state.counts, *(0 for _ in step.new_labels)]
        for place, count in zip(step.places, step.counts, strict=True):
            counts[place] = count
        rows["mark"] = [(step.marked, _array(np.array(counts, np.int64)))]
    if step.progress is not None:
        rows["batch"] = [_batch(*step.progress)]
    if step.reading is not None:
        rows["reading"] = [(step.time, _reading(step.reading))]
    if step.for_tests and not state.for_tests:
        rows |= _FOR_TESTS
    return rows


def _noise_rows(state: StreamState, step: Step) -> Rows:
    before, after = state.noise, step.noise
    grown = len(before.rows) < len(after.rows)
    marks = [time for time in after.marks if grown or time not in before.marks]
    return {
        "times": list(_times(after, max(0, len(before.times) - 1))),
        "noise": list(_noise(after)),
        "mark noise": [(time, _array(after.marks[time])) for time in marks],
    }


def read_state(store: Store) -> StreamState | None:
    """Read a state from a store; return None if nothing was written to it yet.

    Raises
    ------
    StateError
        If this version draws noise from another law.
    ValueError, KeyError, and others
        If the rows do not form a state.
    """
    texts = [content for _, content in store.rows("mechanism")]
    if not texts:
        return None
    mechanism = _mechanism(texts[0])
    for _, content in store.rows("budget"):
        mechanism = mechanism.calibrated_to(_target(content))
    state = StreamState(mechanism)
    [(_, law)] = store.rows("law")
    if law != _law(state.mechanism):
        raise StateError(
            f"{store.path} was created by a version of dphist that draws different noise; continue "
            "with that version"
        )
    state.for_tests = bool(list(store.rows("random bits")))
    [(_, clock)] = store.rows("clock")
    state.time, *reads = _CLOCK.unpack(clock)
    state.reads = (reads[0], reads[1])
    labels, counts, flags = [], [], []
    for _, content in store.rows("label"):
        count, released = _LABEL.unpack_from(content)
        labels.append(content[_LABEL.size :].decode())
        counts.append(count)
        flags.append(released)
    state.labels, state.counts, state.released = labels, counts, flags
    state.places = {label: place for place, label in enumerate(labels)}
    state.noise = _read_noise(store, state)
    state.marks = _arrays(store.rows("mark"))
    readings = store.rows("reading")
    state.readings = {int(time): json.loads(content) for time, content in readings}
    for origin, content in store.rows("batch"):
        position, counted, of, before = _PROGRESS.unpack(content)
        progress = Progress(position, counted, of, None if before == _NONE else before)
        state.batches[bytes(origin).decode()] = progress
    if state.users is not None:
        [(_, salt)] = store.rows("salt")
        counted = {bytes(user): _read_number(events) for user, events in store.rows("user")}
        state.users = UserEvents(state.users.most, salt, counted)
    for _, content in store.rows("user type"):  # an earlier version wrote none
        state.user_type = USER_TYPES[USER_TYPES.index(content.decode())]
    for _, content in store.rows("named users"):
        named = json.loads(content)
        unit = PrivacyUnit.from_content(named["unit"])
        state.named_users = StreamUsers(named["column"], unit)
    return state


def _read_noise(store: Store, state: StreamState) -> NoiseTable:
    counter = state.noise.counter
    parts = [_read_array(content) for _, content in store.rows("noise")]
    rows = np.concatenate(parts) if parts else np.empty(0, np.int64)
    times = [_read_array(content).tolist() for _, content in store.rows("times")]
    return NoiseTable(
        counter,
        Times(time for part in times for time in part),
        rows.reshape(-1, counter.width),
        _arrays(store.rows("mark noise")),
    )


def _labels(state: StreamState) -> Iterator[tuple[Key, bytes]]:
    held = zip(state.labels, state.counts, state.released, strict=True)
    for place, (label, count, released) in enumerate(held):
        yield place, _label(label, count, released)


def _label(label: str, count: int, released: bool) -> bytes:
    return _LABEL.pack(count, released) + label.encode()


def _batch(origin: str, progress: Progress) -> tuple[Key, bytes]:
    before = _NONE if progress.before is None else progress.before
    return origin.encode(), _PROGRESS.pack(
        progress.position, progress.counted, progress.events, before
    )


def _times(noise: NoiseTable, since: int) -> Iterator[tuple[Key, bytes]]:
    """Yield the rows that hold the times from position `since` on."""
    for part in range(since // _TIMES_A_ROW, -(-len(noise.times) // _TIMES_A_ROW)):
        times = noise.times[part * _TIMES_A_ROW : (part + 1) * _TIMES_A_ROW]
        yield part, _array(np.array(times, np.int64))


def _noise(noise: NoiseTable) -> Iterator[tuple[Key, bytes]]:
    for part in range(-(-len(noise.rows) // _PATHS_A_ROW)):
        yield part, _array(noise.rows[part * _PATHS_A_ROW : (part + 1) * _PATHS_A_ROW])


def _number(number: int) -> bytes:
    return number.to_bytes(8, "little")


def _read_number(content: bytes) -> int:
    return int.from_bytes(content, "little")


def _array(numbers: IntArray) -> bytes:
    return numbers.astype("<i8").tobytes()


def _read_array(content: bytes) -> IntArray:
    return np.frombuffer(content, "<i8").astype(np.int64)


def _arrays(rows: Iterable[tuple[Key, bytes]]) -> dict[int, IntArray]:
    return {int(time): _read_array(content) for time, content in rows}


def _reading(counts: Mapping[str, int]) -> bytes:
    return json.dumps(dict(counts)).encode()


def _mechanism_text(mechanism: ContinualMechanism) -> str:
    values = read_parameters(mechanism)
    return json.dumps({name: _as_plain(value) for name, value in values.items()})


def _law(mechanism: ContinualMechanism) -> bytes:
    """Return the law of the noise and the threshold as text: a stream never changes its law."""
    return f"{mechanism.counter!r} {mechanism.threshold!r}".encode()


def _budget_text(target: Target) -> str:
    asked = target.guarantee
    text = {"epsilon": _as_plain(asked.epsilon), "delta": _as_plain(find_delta(asked))}
    return json.dumps(text if target.releases == 1 else {**text, "releases": target.releases})


def _target(content: bytes) -> Target:
    read = json.loads(content)
    asked = ApproxDP(read["epsilon"], read["delta"])
    return Target(asked if asked.delta else PureDP(asked.epsilon), read.get("releases", 1))


def _as_plain(value: Any) -> Any:
    return decimal_text(value) if isinstance(value, Fraction) else value


def _mechanism(content: bytes) -> ContinualMechanism:
    return ContinualMechanism(**json.loads(content))
