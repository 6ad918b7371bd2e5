"""A stream kept in a file: killed at any moment, it goes on as if nothing had been.

No event is lost that was acknowledged, none counts twice, no noise is drawn again for a time that
was read, and nothing that is read contradicts what was read before.
"""

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dphist as dh
from dphist.streams.events.reading import one_event
from dphist.streams.state import state as state_module
from dphist.streams.state.stored import all_rows, read_state, step_rows
from dphist.streams.store.store import Store
from dphist.streams.stream import ContinualHistogram

CHILD = Path(__file__).parents[1] / "support/streams/stream_child.py"
KILLS = 40


def killed_run(children: subprocess.Popen, patience: int) -> list[list]:
    """Run a child until it has said a number of things, kill it, and return what it said.

    It goes on until the kill reaches it: through what it had said would begin, or into it.
    """
    assert children.stdin is not None
    assert children.stdout is not None
    children.stdin.write("\n")
    children.stdin.flush()
    child = int(children.stdout.readline())
    lines = [children.stdout.readline() for _ in range(patience)]
    os.kill(child, signal.SIGKILL)
    while not lines or not lines[-1].startswith("ended"):
        lines.append(children.stdout.readline())
    assert lines.pop() == f"ended {-signal.SIGKILL}\n"
    return [json.loads(line) for line in lines[:-1]] + whole(lines[-1])


def whole(line: str) -> list[list]:
    """Return the last line read, if the kill did not cut it."""
    try:
        return [json.loads(line)]
    except ValueError:
        return []


@pytest.mark.verify
@pytest.mark.parametrize(("method", "windows"), [("toeplitz", 0), ("binary", 25)])
def test_killed_at_random_moments_it_goes_on(tmp_path: Path, method: str, windows: int) -> None:
    path = tmp_path / "s.state"
    parameters: dict[str, Any] = {"epsilon": 1, "delta": "1e-6", "horizon": 10**6, "max_labels": 2}
    parameters |= {"method": method, "windows": windows or None}
    chance = random.Random(7)
    counted, readings, released = 0, {}, set()
    with subprocess.Popen(
        [sys.executable, str(CHILD), str(path), method, str(windows)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as children:
        for kills in range(KILLS):
            # The first few are killed while there is no file yet, or no stream in it.
            said = killed_run(children, max(0, chance.randrange(-2, 15) if kills > 5 else 0))
            for what, moment, counts in said:
                # "opened" may have one batch more than was acknowledged before the last kill.
                assert counted <= moment
                counted = moment
                if what in ("opened", "read"):
                    assert readings.setdefault(moment, counts) == counts
                if what == "released":
                    assert released <= set(counts)
                    released = set(counts)
            # With parameters, for a child that was killed early may have begun no stream.
            with ContinualHistogram.open(path, **parameters) as stream:
                state = stream._state
                assert counted <= stream.time <= counted + 60
                exact = dict(zip(state.labels, state.counts, strict=True))
                assert exact.get("all", 0) == stream.time
                assert [exact.get(f"l{k}", 0) for k in range(3)] == [
                    len(range(k, stream.time, 3)) for k in range(3)
                ]
                if stream.time in readings:
                    assert stream.counts() == readings[stream.time]
                readings[stream.time] = stream.counts()
                counted = stream.time
    assert counted > KILLS  # children say three or four things a batch, and were heard out
    assert len(readings) > KILLS / 2


@pytest.mark.quick("binary")
@pytest.mark.parametrize("method", ["toeplitz", "autoregressive", "binary"])
def test_what_is_written_step_by_step_is_the_whole_state(tmp_path: Path, method: str) -> None:
    """The file after any step holds what the stream in memory holds, bit for bit."""
    path = tmp_path / "s.state"
    rng = np.random.default_rng(3)
    with ContinualHistogram.open(
        path,
        epsilon=1,
        delta="1e-6",
        horizon=10**5,
        method=method,
        max_labels=2,
        windows=40,
        max_events_per_user=5,
    ) as stream:
        for i in range(24):
            for _ in range(rng.integers(1, 30)):
                stream.update(
                    {f"l{k}" for k in rng.integers(0, 400, 3)}, user=int(rng.integers(0, 200))
                )
            if i % 3 == 0:
                stream.counts()
            if i % 10 == 0:
                stream.release()
            store = stream._live.store
            assert store is not None
            for kind, rows in all_rows(stream._state).items():
                assert list(store.rows(kind)) == sorted(rows), kind
        expected = all_rows(stream._state)
    store = Store.open(path)
    try:
        for kind, rows in expected.items():
            assert list(store.rows(kind)) == sorted(rows), kind
        again = read_state(store)
    finally:
        store.close()
    assert again is not None
    found = all_rows(again)
    assert {kind: sorted(rows) for kind, rows in found.items()} == {
        kind: sorted(rows) for kind, rows in expected.items()
    }


def test_nothing_is_returned_before_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    commit, apply = Store.commit, state_module.StreamState.apply
    monkeypatch.setattr(
        Store,
        "commit",
        lambda self, rows: (order.append("write"), commit(self, rows))[1],  # type: ignore[func-returns-value]
    )
    monkeypatch.setattr(
        state_module.StreamState,
        "apply",
        lambda self, step: (order.append("apply"), apply(self, step))[1],  # type: ignore[func-returns-value]
    )
    with ContinualHistogram.open(
        tmp_path / "s.state", epsilon=1, delta="1e-6", horizon=100
    ) as stream:
        order.clear()
        stream.update(["a"])
        assert order == ["write", "apply"]
        stream.counts()
        assert order == ["write", "apply"] * 2
        stream.counts()  # nothing new
        assert order == ["write", "apply"] * 2


def test_a_step_that_cannot_be_written_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.state"
    with ContinualHistogram.open(path, epsilon=1, delta="1e-6", horizon=100) as stream:
        stream.update(["a"])

        def full(_self: Store, _rows: object) -> None:
            raise dh.OutputFileError("no space left")

        monkeypatch.setattr(Store, "commit", full)
        for attempt in (lambda: stream.update(["a"]), stream.counts, stream.release):
            with pytest.raises(dh.OutputFileError):
                attempt()
        monkeypatch.undo()
        assert stream.time == 1
        stream.update(["a"])
        stream.counts()
    with ContinualHistogram.open(path) as stream:
        assert stream.time == 2


def test_a_stream_that_cannot_be_begun_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that was begun stays, with all that it has."""
    path = tmp_path / "s.state"
    parameters: dict[str, Any] = {"epsilon": 1, "delta": "1e-6", "horizon": 100}

    def full(_self: Store, _rows: object) -> None:
        raise dh.OutputFileError("no space left")

    with monkeypatch.context() as patch:
        patch.setattr(Store, "commit", full)
        with pytest.raises(dh.OutputFileError):
            ContinualHistogram.open(path, **parameters)
    assert list(tmp_path.iterdir()) == []
    with ContinualHistogram.open(path, **parameters) as stream:
        stream.update(["a"])
    with pytest.raises(dh.ParameterError):
        ContinualHistogram.open(path, **parameters | {"epsilon": 2})
    with ContinualHistogram.open(path) as stream:
        assert stream.time == 1


def test_a_second_owner_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.state"
    parameters: dict[str, Any] = {"epsilon": 1, "delta": "1e-6", "horizon": 100}
    with ContinualHistogram.open(path, **parameters) as stream:
        with pytest.raises(dh.StateError, match=str(path)):
            ContinualHistogram.open(path)
        with pytest.raises(dh.StateError, match=str(path)):
            ContinualHistogram.load(path)
        with pytest.raises(dh.StateError, match="keeps its state"):
            stream.save(tmp_path / "other.state")
    stream.close()
    with pytest.raises(dh.StateError):
        stream.update(["a"])
    with ContinualHistogram.open(path, **parameters):
        pass


def test_parameters_must_be_the_stream_s_own(tmp_path: Path) -> None:
    path = tmp_path / "s.state"
    with pytest.raises(dh.ParameterError, match="must be given to begin"):
        ContinualHistogram.open(path)
    assert not path.exists()
    with pytest.raises(dh.ParameterError, match="epsilon"):
        ContinualHistogram.open(path, epsilon=0, delta="1e-6", horizon=100)
    assert not path.exists()
    with ContinualHistogram.open(path, epsilon=1, delta="1e-6", horizon=100):
        pass
    with pytest.raises(dh.ParameterError, match="as the stream at"):
        ContinualHistogram.open(path, epsilon=2, delta="1e-6", horizon=100)


def test_a_budget_is_kept_and_stated(tmp_path: Path) -> None:
    path, budget = tmp_path / "s.state", dh.ApproxDP(1, "1e-6")
    made = dh.calibrate(dh.ContinualMechanism, epsilon=1, delta="1e-6", horizon=100)
    parameters: dict[str, Any] = {"epsilon": made.epsilon, "delta": made.delta, "horizon": 100}
    for little in (dh.ApproxDP("0.9", "1e-6"), dh.ApproxDP(9, "1e-9"), dh.PureDP(1)):
        with pytest.raises(dh.ParameterError, match="budget must be"):
            ContinualHistogram.open(path, budget=little, **parameters)  # type: ignore[arg-type]
    with pytest.raises(dh.ParameterError, match="budget must be for one event"):
        ContinualHistogram.open(path, budget=dh.ApproxDP(1, "1e-6", "user"), **parameters)
    assert not path.exists()
    with ContinualHistogram.open(path, budget=budget, mechanism=made) as stream:
        stream.update(["a"])
    with pytest.raises(dh.ParameterError, match="mechanism must be left out"):
        ContinualHistogram.open(path, mechanism=made, **parameters)
    with pytest.raises(dh.ParameterError, match="as the stream at"):
        ContinualHistogram.open(path, budget=dh.ApproxDP(2, "1e-6"), **parameters)
    # Given alone, it is no less checked: a caller who states it relies on it.
    for little in (dh.ApproxDP("0.001", "1e-9"), dh.ApproxDP("0.9", "1e-6"), dh.PureDP(1)):
        with pytest.raises(dh.ParameterError, match="budget must be"):
            ContinualHistogram.open(path, budget=little)  # type: ignore[arg-type]
    with pytest.raises(dh.ParameterError, match="budget must be for one event"):
        ContinualHistogram.open(path, budget=dh.ApproxDP(1, "1e-6", "user"))
    with pytest.raises(dh.ParameterError, match="as the stream at"):
        ContinualHistogram.open(path, budget=dh.ApproxDP(2, "1e-6"))
    with ContinualHistogram.open(path, budget=budget) as stream:
        assert stream.time == 1
    with ContinualHistogram.open(path) as stream:
        assert stream.budget == dh.ApproxDP(1, "1e-6", unit="event")
        assert stream.release().budget == stream.budget


def test_the_budget_of_a_stream_that_has_none_is_checked(tmp_path: Path) -> None:
    path = tmp_path / "s.state"
    with ContinualHistogram.open(path, epsilon=5, delta="1e-3", horizon=100) as stream:
        least = stream.to_approx_dp("1e-2")
    with pytest.raises(dh.ParameterError, match="budget must be at least"):
        ContinualHistogram.open(path, budget=dh.ApproxDP("0.001", "1e-9"))
    with ContinualHistogram.open(path, budget=least) as stream:
        assert stream.time == 0


def test_closing_from_within_a_call_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.state"
    with ContinualHistogram.open(path, epsilon=1, delta="1e-6", horizon=100) as stream:
        stream.update(["a"])

        def source(size: int) -> bytes:
            with pytest.raises(dh.StateError, match="in use by another call"):
                stream.close()
            return os.urandom(size)

        stream.counts(source=source)
        stream.update(["a"])


def test_a_file_that_was_loaded_cannot_be_opened(tmp_path: Path) -> None:
    path = tmp_path / "s.state"
    with ContinualHistogram.open(path, epsilon=1, delta="1e-6", horizon=100) as stream:
        stream.update(["a"])
    ContinualHistogram.load(path)
    with pytest.raises(dh.StateError, match="taken over"):
        ContinualHistogram.open(path)


def test_a_saved_stream_can_go_on_in_its_file(tmp_path: Path) -> None:
    path = tmp_path / "s.state"
    stream = ContinualHistogram(epsilon=1, delta="1e-6", horizon=1000)
    stream.update_many([["a"]] * 500)
    stream.counts()
    stream.save(path)
    with ContinualHistogram.open(path) as again:
        assert again.counts() == stream.counts()
        again.update(["a"])
    assert stream.time == 500


def test_rows_that_make_no_stream_are_refused_without_showing_them(tmp_path: Path) -> None:
    path = tmp_path / "s.state"
    with ContinualHistogram.open(path, epsilon=1, delta="1e-6", horizon=100) as stream:
        stream.update(["SENTINEL"])
    store = Store.open(path)
    store.commit({"label": [(0, b"SENTINEL")]})  # a digest that fits, of nonsense
    store.close()
    with pytest.raises(dh.StateError, match="does not hold a stream") as caught:
        ContinualHistogram.open(path)
    assert "SENTINEL" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_steps_are_written_small(tmp_path: Path) -> None:
    """An event writes the rows it touches, however many labels there are."""
    stream = ContinualHistogram(epsilon=1, delta="1e-6", horizon=10**5)
    stream.update_many([[f"l{i}"] for i in range(5000)])
    step = stream._state.counting(one_event(["l17"]))
    assert sum(len(rows) for rows in step_rows(stream._state, step).values()) == 2
