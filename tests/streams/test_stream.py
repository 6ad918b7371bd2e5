"""The stream as its users meet it: events, readings, bounds, handing over."""

import copy
import itertools
import logging
import os
import pickle
import shutil
import threading
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dphist as dh
from dphist.streams.counters import autoregressive, binary, toeplitz
from dphist.streams.state.state import in_order
from dphist.streams.store.store import Store
from dphist.streams.stream import ContinualHistogram

METHODS = ("toeplitz", "autoregressive", "binary")


def seeded(seed: int = 0):
    rng = np.random.default_rng(seed)
    return rng.bytes


def a_stream(**changed) -> ContinualHistogram:
    parameters = {"epsilon": 1, "delta": "1e-6", "horizon": 4096, **changed}
    return ContinualHistogram(**parameters)


@pytest.mark.usefixtures("repeatable")
@pytest.mark.parametrize("method", METHODS)
def test_common_labels_are_released_near_their_counts_and_rare_ones_are_not(method: str) -> None:
    stream = a_stream(method=method, max_labels=2)
    stream.update_many([["a", "b"]] * 300 + [["a"]] * 200 + [["once"]])
    counts = stream.counts()
    assert list(counts) == ["a", "b"]
    for label, true in (("a", 500), ("b", 300)):
        assert abs(counts[label] - true) <= 7 * stream.standard_error + 1


@pytest.mark.parametrize("method", METHODS)
def test_reading_again_before_the_next_event_gives_the_same(method: str) -> None:
    stream = a_stream(method=method)
    stream.update_many([["a"]] * 1000)
    assert stream.counts() == stream.counts()
    assert stream.release().value.latest.labels == list(stream.counts())


@pytest.mark.parametrize("method", METHODS)
def test_one_event_at_a_time_and_batches_count_the_same(method: str) -> None:
    """With listed labels and noise of the same bytes, whatever way the events come."""
    events = [["a"], [], ["b", "a"], ["c"], ["b"]] * 20
    frame = pd.DataFrame(
        [(i, label) for i, event in enumerate(events) for label in event or [None]],
        columns=["event", "label"],
    )
    read = []
    for feed in ("single", "batch", "frame"):
        stream = a_stream(delta=None, labels=["a", "b"], max_labels=2, method=method)
        if feed == "single":
            for event in events:
                stream.update(event)
        elif feed == "batch":
            stream.update_many(events[:33])
            stream.update_many(events[33:])
        else:
            stream.update_many(frame, event="event")
        assert stream.time == len(events)
        read.append(stream.counts(source=seeded()))
    assert read[0] == read[1] == read[2]
    true = Counter(label for event in events for label in event)
    assert abs(read[0]["a"] - true["a"]) < 8 * stream.standard_error


@pytest.mark.parametrize("method", METHODS)
def test_listed_labels_are_all_there_from_the_start(method: str) -> None:
    stream = a_stream(delta=None, labels=["b", "a"], method=method)
    assert stream.threshold is None
    assert isinstance(stream.guarantee, dh.ZCDP)
    assert stream.counts() == {"b": 0, "a": 0}  # no event yet, which is public
    stream.update(["not listed"])
    assert set(stream.counts()) == {"a", "b"}


def test_the_event_after_the_last_is_refused_and_nothing_of_its_batch_counts() -> None:
    stream = a_stream(horizon=10)
    stream.update_many([["a"]] * 8)
    with pytest.raises(dh.HorizonError, match="horizon is 10 events, of which 2 are left"):
        stream.update_many([["a"]] * 3)
    assert stream.time == 8
    stream.update_many([["a"]] * 2)
    with pytest.raises(dh.HorizonError):
        stream.update([])
    stream.counts()


def test_an_invalid_event_refuses_its_batch() -> None:
    stream = a_stream()
    for bad in ([["a"], "bare"], [["a"], [None]], [["a"], [3]]):
        with pytest.raises(dh.DphistError):
            stream.update_many(bad)
    with pytest.raises(dh.DataError):
        stream.update("bare")
    assert stream.time == 0


def test_events_of_a_user_beyond_the_bound_keep_their_time_step() -> None:
    stream = a_stream(delta=None, labels=["a"], max_events_per_user=3, horizon=64)
    for _ in range(10):
        stream.update(["a"], user="u")
    stream.update_many(pd.DataFrame({"label": ["a"] * 4, "who": ["u", "v", "v", "u"]}), user="who")
    assert stream.time == 14
    assert stream._state.counts == [5]
    with pytest.raises(dh.ParameterError, match="user must be given"):
        stream.update(["a"])
    with pytest.raises(dh.ParameterError, match="user must name"):
        stream.update_many([["a"]])
    with pytest.raises(dh.ParameterError, match="user must be left out"):
        a_stream().update(["a"], user="u")
    with pytest.raises(dh.ParameterError, match="user must be left out"):
        a_stream().update_many(pd.DataFrame({"label": ["a"], "who": ["u"]}), user="who")
    held = repr(stream._state.users.counted)
    assert "u" not in [part for part in held.split("'") if len(part) == 1]


@pytest.mark.usefixtures("repeatable")
@pytest.mark.parametrize("method", METHODS)
def test_windows_are_differences_of_one_path(method: str) -> None:
    stream = a_stream(method=method, windows=100)
    stream.update_many([["a"]] * 500 + [["b"]] * 450)
    with pytest.raises(dh.ParameterError, match="windows=100"):
        stream.window(1, 50)
    with pytest.raises(dh.ParameterError, match="windows=100"):
        stream.window(101, 1000)
    assert stream.window(1, 500) == {}  # nothing was released by counts() yet
    stream.counts()
    whole, first, second = stream.window(1, 900), stream.window(1, 400), stream.window(401, 900)
    assert set(whole) == {"a", "b"}
    for label, true in (("a", (500, 400, 100)), ("b", (400, 0, 400))):
        found = whole[label], first[label], second[label]
        for value, exact in zip(found, true, strict=True):
            assert abs(value - exact) < 12 * stream.standard_error
        assert abs(found[0] - found[1] - found[2]) <= 2  # rounding alone
    with pytest.raises(dh.ParameterError, match="windows must be given when the stream is made"):
        a_stream().window(1, 1)


@pytest.mark.parametrize("method", METHODS)
def test_readings_are_bounded_and_fewer_make_the_threshold_lower(
    method: str, tmp_path: Path
) -> None:
    stream = a_stream(method=method, readings=3)
    assert stream.threshold < a_stream(method=method).threshold
    assert stream.guarantee == a_stream(method=method).guarantee
    assert stream.counts() == {}  # before the first event it is none
    for _ in range(2):
        stream.update(["a"])
        stream.counts()
        stream.counts()  # the same time
    stream.update(["a"])
    stream.save(tmp_path / "s.state")
    again = ContinualHistogram.load(tmp_path / "s.state")
    again.counts()
    again.release()
    again.update(["a"])
    with pytest.raises(dh.HorizonError, match="readings is 3"):
        again.counts()
    again.update(["a"])


def test_the_largest_come_first_and_ties_by_label() -> None:
    stream = a_stream(delta=None, labels=["b", "a", "c"])
    stream.update_many([["c"]] * 300)
    counts = stream.counts()
    assert list(counts) == sorted(counts, key=lambda label: (-counts[label], label))
    assert list(stream.top(1)) == ["c"]
    assert stream.top(9) == counts
    for labels in itertools.permutations("abcd"):  # with noise, equal counts are rare
        tied = in_order({label: 7 if label == "d" else 5 for label in labels})
        assert list(tied.items()) == [("d", 7), ("a", 5), ("b", 5), ("c", 5)]


def test_a_release_holds_all_recorded_readings_and_can_be_saved(tmp_path: Path) -> None:
    stream = a_stream()
    stream.update_many([["a"]] * 200)
    stream.release()
    stream.update_many([["a"]] * 200)
    stream.counts()  # not recorded
    stream.update_many([["a"]] * 200)
    release = stream.release()
    assert release.value.times.tolist() == [200, 600]
    assert release.provenance == {"unit": dh.PrivacyUnit("event")}
    assert release == stream.release()
    release.save(tmp_path / "r.json")
    assert dh.Release.load(tmp_path / "r.json") == release


@pytest.mark.parametrize("method", METHODS)
def test_the_guarantee_is_known_before_any_event(method: str) -> None:
    stream = a_stream(method=method, horizon=65536, max_labels=3, max_events_per_user=2)
    rho = Fraction(4 * 3 * 17, 2)
    assert stream.guarantee == dh.ApproxZCDP(rho, "1e-6", unit="user")
    assert "approximate" in repr(stream)
    assert stream.to_approx_dp("1e-5").epsilon <= stream.guarantee.to_approx_dp("1e-5").epsilon


def test_a_total_can_be_calibrated() -> None:
    stream = dh.calibrate(ContinualHistogram, epsilon=1, delta="1e-6", horizon=65536)
    assert Fraction("0.999999999") < stream.to_approx_dp("1e-6").epsilon <= 1
    known = dh.calibrate(
        dh.ContinualMechanism, epsilon=1, delta="1e-6", horizon=65536, labels=["a"]
    )
    assert known.delta is None


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"epsilon": "1e-30"}, "epsilon"),
        ({"epsilon": 10**6}, "epsilon"),
        ({"delta": None}, "delta"),
        ({"delta": 0}, "delta"),
        ({"delta": 1}, "delta"),
        ({"horizon": 0}, "horizon"),
        ({"horizon": 2.0}, "horizon"),
        ({"horizon": 2**41}, "horizon"),
        ({"max_labels": 0}, "max_labels"),
        ({"method": "tree"}, "method"),
        ({"labels": []}, "delta"),
        ({"labels": [], "delta": None}, "labels"),
        ({"labels": ["a", "a"], "delta": None}, "labels"),
        ({"labels": [1.5], "delta": None}, "labels"),
        ({"labels": [1, "a"], "delta": None}, "labels"),
        ({"labels": "abc", "delta": None}, "labels"),
        ({"max_events_per_user": 0}, "max_events_per_user"),
        ({"windows": 0}, "windows"),
        ({"readings": 5000}, "readings"),
    ],
)
def test_bad_parameters_are_refused_by_name(changed: dict, name: str) -> None:
    with pytest.raises(dh.ParameterError, match=name):
        a_stream(**changed)


def test_a_long_horizon_needs_the_binary_method_or_a_larger_epsilon() -> None:
    with pytest.raises(dh.ParameterError, match="method='binary'"):
        a_stream(horizon=2**40, epsilon="0.001")
    a_stream(horizon=2**40, epsilon="0.001", method="binary")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.quick(every=3)
def test_a_saved_stream_goes_on_in_one_place_only(
    method: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "s.state"
    stream = a_stream(method=method, windows=100, max_events_per_user=60)
    for i in range(600):
        stream.update(["a"], user=i % 15)
    here = stream.counts()
    stream.save(path)
    assert stream.counts() == here
    with pytest.raises(dh.StateError, match=r"was saved to .*: load it from there"):
        stream.update(["a"], user=1)
    with pytest.raises(dh.StateError, match=r"was saved to .*: load it from there"):
        stream.save(tmp_path / "again.state")
    with caplog.at_level(logging.WARNING):
        there = ContinualHistogram.load(path)
    assert "taken over" in caplog.text
    with pytest.raises(dh.StateError, match="taken over"):
        ContinualHistogram.load(path)
    assert there.counts() == here
    assert there.window(1, 600) == stream.window(1, 600)
    for i in range(600):
        there.update(["a"], user=i % 15)
    assert there._state.counts == [15 * 60]  # the bound remembers
    counts = there.counts()
    there.save(path)  # in the place of what was taken over
    assert ContinualHistogram.load(path).counts() == counts


@pytest.mark.parametrize("windows", [None, 1])  # with 1 the noise is drawn already
def test_a_saved_stream_makes_no_new_reading(tmp_path: Path, windows: int | None) -> None:
    stream = a_stream(windows=windows, readings=1)
    stream.update(["a"])
    stream.save(tmp_path / "s.state")
    for attempt in (stream.counts, stream.record, stream.release):
        with pytest.raises(dh.StateError, match=r"was saved to .*: load it from there"):
            attempt()


def test_a_file_in_use_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "s.state"
    a_stream().save(path)
    with pytest.raises(dh.StateError, match="exists"):
        a_stream().save(path)


def test_copies_of_a_state_are_refused(tmp_path: Path) -> None:
    path, copied = tmp_path / "s.state", tmp_path / "c.state"
    stream = a_stream()
    stream.update(["a"])
    stream.save(path)
    shutil.copy(path, copied)
    with pytest.raises(dh.StateError, match="copy"):
        ContinualHistogram.load(copied)
    assert ContinualHistogram.load(copied, moved=True).time == 1


def test_a_stream_cannot_be_copied_or_pickled() -> None:
    stream = a_stream()
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="copied or pickled"):
            attempt(stream)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_cannot_go_on() -> None:
    stream = a_stream()
    stream.update(["a"])
    child = os.fork()
    if child == 0:
        try:
            stream.counts()
        except dh.StateError:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_threads_take_turns() -> None:
    stream = a_stream(delta=None, labels=["a"], horizon=4000)
    threads = [
        threading.Thread(
            target=lambda: [(stream.update(["a"]), stream.counts()) for _ in range(50)]  # type: ignore[func-returns-value]
        )
        for _ in range(4)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert stream.time == 200
    assert stream._state.counts == [200]


def test_an_interrupted_step_stops_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = a_stream()
    stream.update(["a"])

    def interrupted(_step: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(type(stream._state), "apply", lambda self, step: interrupted(step))
    with pytest.raises(KeyboardInterrupt):
        stream.update(["a"])
    monkeypatch.undo()
    for attempt in (stream.counts, lambda: stream.update(["a"])):
        with pytest.raises(dh.StateError, match="interrupted"):
            attempt()


@pytest.mark.parametrize("method", METHODS)
def test_a_call_that_interrupts_another_is_refused(method: str) -> None:
    """As a signal's handler would: both would draw noise for the same counts."""
    stream = a_stream(method=method, delta=None, labels=["a"])
    stream.update(["a"])
    inner: list[str] = []

    def source(size: int) -> bytes:
        for attempt in (stream.counts, lambda: stream.update(["a"]), lambda: stream.record()):
            with pytest.raises(dh.StateError, match="in use by another call") as caught:
                attempt()
            inner.append(str(caught.value))
        return os.urandom(size)

    counts = stream.counts(source=source)
    assert inner
    assert stream.counts() == counts
    assert stream.time == 1


@pytest.mark.parametrize("certain", [True, False])
def test_a_save_that_fails_leaves_one_owner(
    certain: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.state"
    stream = a_stream()
    stream.update(["a"])
    commit = Store.commit

    def failing(store: Store, rows: object) -> None:
        if not certain:
            commit(store, rows)  # type: ignore[arg-type] # it reached the disk; then something happened
            store._uncertain = True
        raise KeyboardInterrupt

    monkeypatch.setattr(Store, "commit", failing)
    with pytest.raises(KeyboardInterrupt):
        stream.save(path)
    monkeypatch.undo()
    if certain:
        assert not path.exists()
        stream.update(["a"])
        stream.save(path)
        assert ContinualHistogram.load(path).time == 2
    else:
        with pytest.raises(dh.StateError, match=r"was saved to .*: load it from there"):
            stream.counts()
        assert ContinualHistogram.load(path).time == 1


def test_an_interrupt_after_the_commit_of_a_save_leaves_one_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.state"
    stream = a_stream()
    stream.update(["a"])
    close = Store.close

    def interrupted(store: Store) -> None:
        close(store)
        raise KeyboardInterrupt

    monkeypatch.setattr(Store, "close", interrupted)
    with pytest.raises(KeyboardInterrupt):
        stream.save(path)
    monkeypatch.undo()
    with pytest.raises(dh.StateError, match=r"was saved to .*: load it from there"):
        stream.counts()
    assert ContinualHistogram.load(path).time == 1


@pytest.mark.parametrize("method", METHODS)
def test_noise_goes_on_under_the_law_it_was_begun_with(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A version with other constants must not take the noise for its own."""
    path = tmp_path / "s.state"
    stream = a_stream(method=method)
    stream.update(["a"])
    stream.counts()
    stream.save(path)
    monkeypatch.setattr(binary, "_GRID_BITS", 18)
    monkeypatch.setattr(autoregressive, "_ROUNDING_SHARE", Fraction(1, 2**10))
    monkeypatch.setattr(toeplitz, "_ROUNDING_SHARE", Fraction(1, 2**12))
    autoregressive.autoregressive_counter.cache_clear()
    toeplitz.toeplitz_counter.cache_clear()
    with pytest.raises(dh.StateError, match="draws different noise"):
        ContinualHistogram.load(path)
    monkeypatch.undo()
    autoregressive.autoregressive_counter.cache_clear()
    toeplitz.toeplitz_counter.cache_clear()
    assert ContinualHistogram.load(path).time == 1


def test_a_stream_of_the_earlier_method_continues_with_it(tmp_path: Path) -> None:
    """Also where the parameters are given again, without the method, whose default is another."""
    path = tmp_path / "s.state"
    parameters: dict[str, Any] = {"epsilon": 1, "delta": "1e-6", "horizon": 300}
    with ContinualHistogram.open(path, method="autoregressive", **parameters) as stream:
        stream.update_many([["a"]] * 200)
        counts = stream.counts()
    with ContinualHistogram.open(path, **parameters) as stream:
        assert stream.mechanism.method == "autoregressive"
        assert stream.counts() == counts
        assert isinstance(stream._state.noise.counter, autoregressive.AutoregressiveCounter)
        assert not isinstance(stream._state.noise.counter, toeplitz.ToeplitzCounter)
    for other in ({"method": "binary"}, {"readings": 3}):
        with pytest.raises(dh.ParameterError, match="as the stream at"):
            ContinualHistogram.open(path, **parameters, **other)
    with ContinualHistogram.open(tmp_path / "new.state", **parameters) as stream:
        assert stream.mechanism.method == "toeplitz"
    with pytest.raises(dh.ParameterError, match="as the stream at"):
        ContinualHistogram.open(tmp_path / "new.state", method="autoregressive", **parameters)
