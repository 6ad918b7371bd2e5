"""Single events of several threads share commits: none is acknowledged early, lost or doubled."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dphist as dh
from dphist.errors import DataError, HorizonError, OutputFileError, StateError
from dphist.streams.events.cutting import Events, join_events
from dphist.streams.events.reading import one_event, read_events
from dphist.streams.state import group_commit
from dphist.streams.store import database
from dphist.streams.store.store import Store

GIVEN: dict[str, Any] = {"epsilon": 1, "delta": "1e-6", "horizon": 10_000}


@pytest.fixture(autouse=True)
def without_syncs(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the disk does is not tested here, and takes long."""
    settings = tuple(text.replace("= FULL", "= OFF") for text in database.SETTINGS)
    monkeypatch.setattr(database, "SETTINGS", settings)


def exact(stream: dh.ContinualHistogram) -> dict[str, int]:
    state = stream._state
    return dict(zip(state.labels, state.counts, strict=True))


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


class Disk:
    """Holds each commit until it is let through, or fails it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun = 0
        self.may_go = threading.Semaphore(0)
        self.fails: BaseException | None = None
        commit = Store.commit

        def held(store: Store, rows: Any) -> None:
            self.begun += 1
            assert self.may_go.acquire(timeout=20)
            if self.fails is not None:
                raise self.fails
            commit(store, rows)

        monkeypatch.setattr(Store, "commit", held)


class Arrivals(deque[Any]):
    """A queue that counts what arrived at it."""

    arrived = 0

    def append(self, item: Any) -> None:
        super().append(item)
        self.arrived += 1


class Callers:
    """Threads that bring an event each, one after the other, and what became of each."""

    def __init__(self, stream: dh.ContinualHistogram) -> None:
        self.stream = stream
        self.ended: dict[str, BaseException | None] = {}
        self.threads: list[threading.Thread] = []
        self.queue = stream._group._waiting = Arrivals()

    def bring(self, *labels: str, user: object = None) -> None:
        for label in labels:
            before = self.queue.arrived
            thread = threading.Thread(target=self._update, args=(label, user))
            self.threads.append(thread)
            thread.start()
            until(partial(self._has_more_than, before))

    def _has_more_than(self, number: int) -> bool:
        return self.queue.arrived > number

    def _update(self, label: str, user: object) -> None:
        try:
            self.stream.update([label], user=user)
            self.ended[label] = None
        except BaseException as error:
            self.ended[label] = error

    def join(self) -> None:
        for thread in self.threads:
            thread.join(20)
            assert not thread.is_alive()


@pytest.fixture
def stream(tmp_path: Path) -> Iterator[dh.ContinualHistogram]:
    with dh.ContinualHistogram.open(tmp_path / "s", **GIVEN) as opened:
        yield opened


def test_events_that_wait_share_a_commit_in_the_order_of_their_arrival(
    stream: dh.ContinualHistogram, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk, callers = Disk(monkeypatch), Callers(stream)
    labels = ["z", "y", "x", "b", "a"]
    callers.bring("first")
    until(lambda: disk.begun)
    callers.bring(*labels)
    disk.may_go.release(2)
    callers.join()
    assert callers.ended == dict.fromkeys(["first", *labels])
    assert disk.begun == 2
    assert exact(stream) == dict.fromkeys(["first", *labels], 1)
    assert stream._state.labels == ["first", *labels]


def test_no_event_is_acknowledged_before_its_commit(
    stream: dh.ContinualHistogram, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is it in the state that a reading would see."""
    disk, callers = Disk(monkeypatch), Callers(stream)
    callers.bring("a")
    until(lambda: disk.begun == 1)
    callers.bring("b", "c")
    time.sleep(0.05)
    assert (callers.ended, stream.time) == ({}, 0)
    disk.may_go.release()
    until(lambda: disk.begun == 2)
    callers.threads[0].join(20)
    time.sleep(0.05)
    assert (callers.ended, stream.time) == ({"a": None}, 1)
    disk.may_go.release()
    callers.join()
    assert (callers.ended, stream.time) == (dict.fromkeys("abc"), 3)


def test_a_failed_commit_fails_all_that_wait_and_none_counts_later(
    stream: dh.ContinualHistogram, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    disk, callers = Disk(monkeypatch), Callers(stream)
    callers.bring("first")
    until(lambda: disk.begun)
    callers.bring("a", "b", "c")
    disk.may_go.release()
    until(lambda: disk.begun == 2)
    disk.fails = OutputFileError("no space left")
    disk.may_go.release()
    callers.join()
    assert callers.ended.pop("first") is None
    errors = list(callers.ended.values())
    assert [type(error) for error in errors] == [OutputFileError] * 3
    assert len(set(map(id, errors))) == 3  # each with the trace of its own thread
    assert exact(stream) == {"first": 1}
    disk.fails = None
    disk.may_go.release(9)
    stream.update(["b"])
    stream.update(["d"])
    assert exact(stream) == {"first": 1, "b": 1, "d": 1}
    stream.close()
    with dh.ContinualHistogram.open(tmp_path / "s") as again:
        assert exact(again) == {"first": 1, "b": 1, "d": 1}


def test_a_commit_of_unknown_end_stops_the_stream_for_all(
    stream: dh.ContinualHistogram, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It reached the disk, but SQLite could not say so."""
    callers, commit = Callers(stream), Store.commit

    def unknown(store: Store, rows: Any) -> None:
        until(lambda: store._uncertain or callers.queue.arrived == 3)
        commit(store, rows)
        store._uncertain = True
        raise OutputFileError("the system refused")

    monkeypatch.setattr(Store, "commit", unknown)
    monkeypatch.setattr(group_commit.GroupCommit, "_wait_for_others", lambda _: None)
    callers.bring("a", "b", "c")
    callers.join()
    assert {type(error) for error in callers.ended.values()} == {StateError}
    assert "events of this call may count or not" in str(callers.ended["a"])
    assert stream.time == 0
    monkeypatch.undo()
    with pytest.raises(StateError, match="open it again"):
        stream.update(["d"])
    stream.close()
    with dh.ContinualHistogram.open(tmp_path / "s") as again:
        assert exact(again) == {"a": 1}


def test_an_event_that_an_interrupted_thread_left_first_holds_up_nobody(
    stream: dh.ContinualHistogram, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second interrupt can come before the first one has withdrawn the event."""
    monkeypatch.setattr(group_commit, "_PATIENCE", 0.05)
    for thread in (-1, threading.get_ident()):  # only the main thread is interrupted
        left = group_commit._Call(one_event(["left"]), thread)
        stream._group._waiting.append(left)
        stream.update(["a"])
    assert exact(stream) == {"a": 2}


def test_events_before_a_mark_are_acknowledged_if_those_behind_it_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with dh.ContinualHistogram.open(tmp_path / "s", windows=3, **GIVEN) as stream:
        disk, callers = Disk(monkeypatch), Callers(stream)
        callers.bring("first")
        until(lambda: disk.begun)
        callers.bring(*"abcd")
        disk.may_go.release(2)  # the first, and the two up to the mark
        until(lambda: disk.begun == 3)
        disk.fails = OutputFileError("no space left")
        disk.may_go.release()
        callers.join()
        failed = {label for label, error in callers.ended.items() if error is not None}
        assert failed == {"c", "d"}
        assert exact(stream) == {"first": 1, "a": 1, "b": 1}


def test_the_horizon_refuses_the_last_to_arrive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with dh.ContinualHistogram.open(tmp_path / "s", **GIVEN | {"horizon": 4}) as stream:
        disk, callers = Disk(monkeypatch), Callers(stream)
        callers.bring("first")
        until(lambda: disk.begun)
        callers.bring(*"abcde")
        disk.may_go.release(9)
        callers.join()
        failed = {label: type(error) for label, error in callers.ended.items() if error}
        assert failed == {"d": HorizonError, "e": HorizonError}
        with pytest.raises(HorizonError, match="0 are left"):
            stream.update(["f"])
        assert stream.time == 4


@pytest.mark.parametrize("known", [True, False])
def test_the_first_event_decides_the_type_of_the_users_of_a_group(
    known: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others are refused alone, and count neither for the horizon nor twice."""
    users: dict[str, object] = {"a": "5", "b": 5, "c": "6", "d": True, "e": "5", "f": "7"}
    given = GIVEN | {"horizon": 3 + known, "max_events_per_user": 1}
    with dh.ContinualHistogram.open(tmp_path / "s", **given) as stream:
        if known:
            stream.update(["first"], user="u")
        disk, callers = Disk(monkeypatch), Callers(stream)
        with stream._live.lock:  # all wait
            for label, user in users.items():
                callers.bring(label, user=user)
        disk.may_go.release()
        callers.join()
        assert {label: type(callers.ended[label]) for label in users} == {
            **dict.fromkeys("ace", type(None)), **dict.fromkeys("bd", DataError), "f": HorizonError
        }  # fmt: skip
        assert "type text, but these are of the type boolean" in str(callers.ended["d"])
        assert {k: n for k, n in exact(stream).items() if k != "first"} == {"a": 1, "c": 1}
        assert stream.time == 3 + known


def test_the_first_events_of_a_user_count_within_a_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with dh.ContinualHistogram.open(tmp_path / "s", max_events_per_user=2, **GIVEN) as stream:
        disk, callers = Disk(monkeypatch), Callers(stream)
        callers.bring("first", user=7)
        until(lambda: disk.begun)
        callers.bring("a", "b", user=7)
        callers.bring("c", user=8)
        disk.may_go.release(9)
        callers.join()
        assert exact(stream) == {"first": 1, "a": 1, "c": 1}
        assert stream.time == 4


# Interrupts and forks.


@contextlib.contextmanager
def interrupted(condition: Callable[[], object]) -> Iterator[None]:
    """Expect an interrupt by Ctrl-C in the main thread, which comes once the condition holds."""
    heard = threading.Event()

    def handler(*_: object) -> None:
        if not heard.is_set():
            heard.set()
            raise KeyboardInterrupt

    def send() -> None:
        until(condition)
        # A signal just before the thread begins to wait for a lock is seen when it has the lock.
        while not heard.wait(0.05):
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    sender = threading.Thread(target=send)
    earlier = signal.signal(signal.SIGINT, handler)
    try:
        sender.start()
        with pytest.raises(KeyboardInterrupt):
            yield
    finally:
        heard.set()
        sender.join()
        signal.signal(signal.SIGINT, earlier)


@pytest.mark.parametrize("is_first", [True, False])
def test_an_interrupted_wait_withdraws_its_event(
    is_first: bool, stream: dh.ContinualHistogram, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_commit, "_PATIENCE", 100)  # the next is woken, or waits too long
    disk, callers = Disk(monkeypatch), Callers(stream)
    callers.bring("leader")
    until(lambda: disk.begun)
    if not is_first:
        callers.bring("a")

    def bring_another() -> None:
        until(lambda: len(stream._group._waiting) == 2 - is_first)
        callers.bring("b")

    behind = threading.Thread(target=bring_another)
    behind.start()
    with interrupted(lambda: len(stream._group._waiting) == 3 - is_first):
        stream.update(["interrupted"])
    disk.may_go.release(9)
    behind.join(20)
    callers.join()
    others = ["leader", "b"] if is_first else ["leader", "a", "b"]
    assert exact(stream) == dict.fromkeys(others, 1)
    assert callers.ended == dict.fromkeys(others)


def test_an_interrupted_wait_for_a_commit_leaves_the_event_counted_once(
    stream: dh.ContinualHistogram, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk, callers = Disk(monkeypatch), Callers(stream)
    callers.bring("first")
    until(lambda: disk.begun)
    callers.bring("leader")

    def let_the_first_through() -> None:
        until(lambda: len(stream._group._waiting) == 2)
        disk.may_go.release()

    helping = threading.Thread(target=let_the_first_through)
    helping.start()
    with interrupted(lambda: disk.begun == 2):
        stream.update(["interrupted"])
    helping.join()
    disk.may_go.release(9)
    callers.join()
    stream.update(["last"])
    assert exact(stream) == dict.fromkeys(["first", "leader", "interrupted", "last"], 1)


def test_an_interrupted_commit_fails_all_that_wait(
    stream: dh.ContinualHistogram, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    disk, callers = Disk(monkeypatch), Callers(stream)
    disk.fails = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        monkeypatch.setattr(
            group_commit.GroupCommit, "_wait_for_others", lambda _: callers.bring("a", "b")
        )
        disk.may_go.release(9)
        stream.update(["leader"])
    callers.join()
    assert [type(error) for error in callers.ended.values()] == [StateError] * 2
    monkeypatch.undo()
    with pytest.raises(StateError, match="open its state again"):
        stream.update(["c"])
    stream.close()
    with dh.ContinualHistogram.open(tmp_path / "s") as again:
        assert again.time == 0
        again.update(["a"])


def test_threads_that_an_interrupt_forgot_do_not_wait_for_ever(
    stream: dh.ContinualHistogram, monkeypatch: pytest.MonkeyPatch
) -> None:
    callers = Callers(stream)
    monkeypatch.setattr(group_commit, "_PATIENCE", 0.01)
    with monkeypatch.context() as patch:
        patch.setattr(
            group_commit.GroupCommit, "_wait_for_others", lambda _: callers.bring("a", "b")
        )

        def cut_short(*_: object) -> None:
            raise KeyboardInterrupt

        patch.setattr(group_commit.GroupCommit, "_settle", cut_short)
        with pytest.raises(KeyboardInterrupt):
            stream.update(["leader"])
        callers.join()
    assert [type(error) for error in callers.ended.values()] == [StateError] * 2
    stream.update(["c"])
    assert exact(stream) == dict.fromkeys(["leader", "a", "b", "c"], 1)


@pytest.mark.parametrize("what", ["waits", "leads", "reads"])
def test_a_handler_that_brings_an_event_is_refused_where_it_would_wait_for_itself(
    what: str, stream: dh.ContinualHistogram, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk, callers, said, heard = Disk(monkeypatch), Callers(stream), [], threading.Event()
    disk.may_go.release()
    stream.update(["before"])

    def handler(*_: object) -> None:
        if heard.is_set():
            return
        heard.set()
        with pytest.raises(StateError, match="in use by another call"):
            stream.update(["handler"])
        said.append("refused")
        disk.may_go.release(9)

    earlier = signal.signal(signal.SIGUSR1, handler)
    try:
        if what == "waits":
            callers.bring("leader")
        begun = 2

        def ready() -> bool:
            if what == "reads" and disk.begun == begun and not callers.threads:
                callers.bring("head")  # waits for the reading, and the handler behind it
            arrived = len(stream._group._waiting) == (what != "leads")
            return disk.begun == begun and arrived

        def send() -> None:
            until(ready)
            while not heard.wait(0.05):  # as for an interrupt, above
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)

        sender = threading.Thread(target=send)
        sender.start()
        if what == "reads":
            stream.counts()
        else:
            stream.update(["main"])
        sender.join()
        callers.join()
    finally:
        signal.signal(signal.SIGUSR1, earlier)
    assert said == ["refused"]
    other = {"waits": ["leader", "main"], "leads": ["main"], "reads": ["head"]}[what]
    assert exact(stream) == dict.fromkeys(["before", *other], 1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_while_events_wait_is_refused(
    stream: dh.ContinualHistogram, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk, callers = Disk(monkeypatch), Callers(stream)
    callers.bring("a")
    until(lambda: disk.begun)
    callers.bring("b")
    child = os.fork()
    if child == 0:
        code = 1
        try:
            stream.update(["child"])
        except StateError:
            code = 0
        finally:
            os._exit(code)
    end = time.monotonic() + 20
    done, status = 0, 1
    while not done and time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
    assert (done, status) == (child, 0)
    disk.may_go.release(9)
    callers.join()
    assert exact(stream) == {"a": 1, "b": 1}


# What is joined, and long runs.


def test_joined_events_are_those_read_together() -> None:
    draw = random.Random(3)
    for _ in range(20):
        events = [draw.sample("abcdef", draw.randrange(4)) for _ in range(draw.randrange(1, 6))]
        users = [draw.randrange(3) for _ in events]
        for given in (users, None):
            singles = [
                one_event(event, user=None if given is None else given[place])
                for place, event in enumerate(events)
            ]
            assert sets(join_events(singles)) == sets(singles), (events, given)
            halves = [join_events(singles[:2]), *singles[2:]]
            assert sets(join_events(halves)) == sets(singles)
        assert sets(join_events(singles)) == sets([read_events(events)])


def sets(batches: Events | list[Events]) -> list[tuple[set[str], bytes | None]]:
    """Return the labels and the user of each event; codes ascend within an event."""
    if isinstance(batches, Events):
        batches = [batches]
    found = []
    for batch in batches:
        assert len(set(batch.vocabulary)) == len(batch.vocabulary)
        for place, (start, end) in enumerate(zip(batch.starts, batch.starts[1:], strict=False)):
            codes = batch.codes[start:end]
            assert (np.diff(codes) > 0).all()
            user = None
            if batch.users is not None and batch.user_codes is not None:
                user = batch.users[batch.user_codes[place]]
            found.append(({batch.vocabulary[code] for code in codes}, user))
    return found


def test_threads_that_fail_at_random_have_each_acknowledged_event_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw, commit, commits = random.Random(5), Store.commit, [0]

    def failing(store: Store, rows: Any) -> None:
        commits[0] += 1
        if draw.random() < 0.2:
            raise OutputFileError("no space left")
        commit(store, rows)

    with dh.ContinualHistogram.open(tmp_path / "s", windows=7, **GIVEN) as stream:
        monkeypatch.setattr(Store, "commit", failing)
        acknowledged = [0] * 8

        def bring(number: int) -> None:
            for _ in range(25):
                with contextlib.suppress(OutputFileError):
                    stream.update([f"thread {number}"])
                    acknowledged[number] += 1

        threads = [threading.Thread(target=bring, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        monkeypatch.undo()
        expected = {f"thread {number}": of for number, of in enumerate(acknowledged)}
        assert exact(stream) == expected
        assert stream.time == sum(acknowledged) < 200
    with dh.ContinualHistogram.open(tmp_path / "s") as again:
        assert exact(again) == expected


CHILD = """
import sys, threading
import dphist as dh
from tests.streams.test_group_commit import GIVEN
with dh.ContinualHistogram.open(sys.argv[1], **GIVEN) as stream:
    def bring(number):
        for _ in range(100_000):
            sys.stdout.write(f"b{number}\\n")
            sys.stdout.flush()
            stream.update([f"{number}"])
            sys.stdout.write(f"a{number}\\n")
            sys.stdout.flush()
    for number in range(6):
        threading.Thread(target=bring, args=(number,), daemon=True).start()
    threading.Event().wait()
"""


@pytest.mark.verify
def test_killed_at_random_moments_it_has_what_was_acknowledged(tmp_path: Path) -> None:
    draw = random.Random(11)
    acknowledged, begun = dict.fromkeys("012345", 0), dict.fromkeys("012345", 0)
    for _ in range(6):
        with subprocess.Popen(
            [sys.executable, "-c", CHILD, str(tmp_path / "s")],
            stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2],
        ) as process:  # fmt: skip
            assert process.stdout is not None
            said = [process.stdout.readline() for _ in range(draw.randrange(1, 60))]
            process.send_signal(signal.SIGKILL)
            said += process.stdout.read().split("\n")
        for line in said:
            if len(line.strip()) == 2:
                kept = acknowledged if line[0] == "a" else begun
                kept[line[1]] += 1
        with dh.ContinualHistogram.open(tmp_path / "s") as stream:
            counts = exact(stream)
        for label in acknowledged:
            assert acknowledged[label] <= counts.get(label, 0) <= begun[label]
            acknowledged[label] = begun[label] = counts.get(label, 0)
    assert sum(acknowledged.values()) > 20
