"""What a stream remembers, and the steps that change it."""

import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dphist.errors import HorizonError, StateError
from dphist.streams.events.cutting import slice_events
from dphist.streams.events.reading import read_events
from dphist.streams.mechanism import ContinualMechanism
from dphist.streams.state.state import Step, StreamState, in_order
from dphist.streams.stream import ContinualHistogram

METHODS = ("toeplitz", "autoregressive", "binary")
EVENTS = [["a"], [], ["b", "a"], ["c"], ["a", "c"], [], ["b"], ["b", "c"]]


def a_state(**changed: Any) -> StreamState:
    parameters = {"epsilon": 1, "delta": "0.1", "horizon": 64, "max_labels": 2, **changed}
    return StreamState(ContinualMechanism(**parameters))


def frozen(state: StreamState) -> dict[str, Any]:
    """Return a copy of all that a state holds."""
    return {
        "counts": list(state.counts),
        "labels": list(state.labels),
        "marks": {time: units.tolist() for time, units in state.marks.items()},
        "rows": state.noise.rows.tolist(),
        "times": state.noise.times,
        "totals": {time: units.tolist() for time, units in state.noise.marks.items()},
        "readings": dict(state.readings),
        "reads": state.reads,
        "released": list(state.released),
        "time": state.time,
        "users": None if state.users is None else dict(state.users.counted),
    }


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("windows", [None, 2])
def test_a_step_changes_nothing_until_it_is_taken(method: Any, windows: Any, seeded: Any) -> None:
    source, state = seeded(1), a_state(method=method, windows=windows)
    for event in EVENTS:
        before = frozen(state)
        step = state.counting(read_events([event]), source)
        assert frozen(state) == before
        state.apply(step)
        assert state.time == before["time"] + 1
        before = frozen(state)
        step, counts = state.reading(record=True, source=source)
        assert frozen(state) == before
        state.apply(step)
        assert state.readings[state.time] == counts
    assert dict(zip(state.labels, state.counts, strict=True)) == Counter(itertools.chain(*EVENTS))


@pytest.mark.verify
def test_a_batch_is_its_events_one_after_another(seeded: Any) -> None:
    """However it is cut, marks included."""
    found = []
    for cuts in itertools.product((False, True), repeat=len(EVENTS) - 1):
        state, batch = a_state(windows=4), read_events(EVENTS)
        places = [0, *(i for i, cut in enumerate(cuts, 1) if cut or i % 4 == 0), len(EVENTS)]
        for start, end in itertools.pairwise(places):
            state.apply(state.counting(slice_events(batch, start, end), seeded(2)))
        held = frozen(state)
        found.append((held["counts"], held["labels"], held["marks"], held["time"]))
        assert held["times"] == (4, 8)
    assert all(each == found[0] for each in found)
    assert found[0][2] == {4: [2, 1, 1], 8: [3, 3, 3]}


@pytest.mark.parametrize("method", METHODS)
def test_a_second_reading_at_a_time_draws_nothing(method: Any, seeded: Any) -> None:
    source, state = seeded(3), a_state(method=method)
    state.apply(state.counting(read_events(EVENTS), source))
    step, counts = state.reading(source=source)
    state.apply(step)

    def none_left(_size: int) -> bytes:
        raise AssertionError("noise was drawn again")

    again, same = state.reading(source=none_left)
    assert same == counts
    assert again.noise is state.noise
    assert again.reads == state.reads == (1, 8)
    assert list(again.released) == []


def test_the_time_before_any_event_needs_no_noise() -> None:
    state = a_state()
    step, counts = state.reading(record=True)
    assert counts == {}
    assert step.noise is state.noise
    assert step.reads == (0, 0)
    known = a_state(delta=None, labels=["b", "a"])
    assert known.reading()[1] == {"a": 0, "b": 0}


def test_released_labels_are_ordered_by_what_is_released() -> None:
    held = {"b": 3, "c": -1, "a": 3, "d": 9}
    wanted = [("d", 9), ("a", 3), ("b", 3), ("c", -1)]
    for order in itertools.permutations(held):
        assert list(in_order({label: held[label] for label in order}).items()) == wanted


@pytest.mark.parametrize("method", METHODS)
def test_windows_are_of_labels_released_so_far(method: Any, seeded: Any) -> None:
    """Zero, one or all of the labels; of a label that came after the window, noise alone."""
    source, state = seeded(4), a_state(method=method, windows=2, epsilon=2)
    for event in [["a"]] * 10 + [["a", "b"]] * 40:
        state.apply(state.counting(read_events([event]), source))
    assert state.window(1, 10) == {}
    state.apply(state.reading(source=source)[0])
    found = state.window(1, 10)
    assert set(found) == {"a", "b"}
    assert found["a"] > found["b"]
    noise = state.noise.marks[10][1] / 2**state.noise.counter.unit_bits
    assert noise != 0  # the path was led through the time before the label occurred
    assert found["b"] == int(np.floor(noise + 0.5))
    whole = state.window(1, 50)
    for label, place in state.places.items():
        units = state.noise.marks[50][place]
        exact = state.counts[place] + units / 2**state.noise.counter.unit_bits
        assert whole[label] == int(np.floor(exact + 0.5))


def test_readings_are_counted_by_their_times() -> None:
    state = a_state(readings=2)
    for _ in range(2):
        state.apply(state.counting(read_events([["a"]])))
        for _ in range(3):
            state.apply(state.reading()[0])
    state.apply(state.counting(read_events([["a"]])))
    with pytest.raises(HorizonError, match="readings is 2"):
        state.reading()
    assert state.reads == (2, 2)


@pytest.mark.parametrize("method", METHODS)
def test_no_reading_is_gained_by_handing_a_stream_over(method: Any, tmp_path: Path) -> None:
    """At a mark all noise is there, and yet a reading is one: delta is shared among all of them."""
    stream = ContinualHistogram(
        epsilon=1, delta="1e-6", horizon=64, method=method, windows=10, readings=1
    )
    stream.update_many([["a"]] * 10)
    stream.save(tmp_path / "s.state")
    times = set()
    for each in (stream, ContinualHistogram.load(tmp_path / "s.state")):
        try:
            if each is not stream:
                each.update(["a"])
            each.counts()
            times.add(each.time)
        except (HorizonError, StateError):
            pass
    assert len(times) <= 1


@pytest.mark.parametrize("method", METHODS)
def test_a_stream_that_was_handed_over_repeats_what_it_said(method: Any, tmp_path: Path) -> None:
    stream = ContinualHistogram(epsilon=1, delta="1e-6", horizon=64, method=method, readings=1)
    stream.update_many([["a"]] * 50)
    said = stream.counts()
    stream.save(tmp_path / "s.state")
    assert stream.counts() == said
    loaded = ContinualHistogram.load(tmp_path / "s.state")
    assert loaded.counts() == said
    loaded.update(["a"])
    with pytest.raises(HorizonError):
        loaded.counts()


def test_a_step_shows_nothing() -> None:
    step = a_state().counting(read_events([["not shown"]]))
    assert isinstance(step, Step)
    assert "not shown" not in repr(step)
