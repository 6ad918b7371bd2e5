"""Work that handlers of signals do not cut in two."""

import contextlib
import gc
import os
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dphist.signals import exceptions_wait, handlers_wait, stoppable

ROOT = Path(__file__).parents[1]


class Stop(BaseException):
    """What the handler of these tests raises."""


@pytest.fixture
def heard() -> Iterator[list[int]]:
    """Signals that a raising handler of SIGTERM and of SIGHUP has got."""
    got: list[int] = []

    def handler(number: int, _: object) -> None:
        got.append(number)
        raise Stop

    before = {each: signal.signal(each, handler) for each in (signal.SIGTERM, signal.SIGHUP)}
    yield got
    for each, earlier in before.items():
        signal.signal(each, earlier)


def test_exceptions_wait_and_handlers_run_at_once(heard) -> None:
    steps = []
    with pytest.raises(Stop), exceptions_wait() as waiting:
        signal.raise_signal(signal.SIGTERM)
        steps.append((list(heard), len(waiting)))
        signal.raise_signal(signal.SIGTERM)
        steps.append((list(heard), len(waiting)))
    assert steps == [([signal.SIGTERM], 1), ([signal.SIGTERM] * 2, 2)]


def test_handlers_wait(heard) -> None:
    steps = []
    with pytest.raises(Stop), handlers_wait():
        signal.raise_signal(signal.SIGHUP)
        steps.append(list(heard))
    assert steps == [[]]
    assert heard == [signal.SIGHUP]


@pytest.mark.parametrize("wait", [exceptions_wait, handlers_wait])
def test_nested_blocks_wait_for_the_outer_one(wait, heard) -> None:
    steps = []
    with pytest.raises(Stop), wait():
        with wait():
            signal.raise_signal(signal.SIGTERM)
        steps.append("after the inner block")
    assert steps == ["after the inner block"]
    assert heard == [signal.SIGTERM]


@pytest.mark.parametrize("wait", [exceptions_wait, handlers_wait])
def test_handlers_are_put_back_also_when_the_block_fails(wait, heard) -> None:
    before = {each: signal.getsignal(each) for each in signal.valid_signals()}
    with pytest.raises(ZeroDivisionError), wait():
        raise ZeroDivisionError
    with wait():
        pass
    assert {each: signal.getsignal(each) for each in signal.valid_signals()} == before


@pytest.mark.parametrize("wait", [exceptions_wait, handlers_wait])
def test_a_signal_comes_before_an_error_of_the_block(wait, heard) -> None:
    with pytest.raises(Stop), wait():
        signal.raise_signal(signal.SIGTERM)
        raise ZeroDivisionError


@pytest.mark.parametrize("wait", [exceptions_wait, handlers_wait])
def test_what_is_ignored_or_ends_the_process_stays_so(wait) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with wait():
            assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("wait", [exceptions_wait, handlers_wait])
def test_other_threads_have_no_handlers_to_hold_back(wait) -> None:
    done = []

    def work() -> None:
        with wait():
            done.append(signal.getsignal(signal.SIGINT))

    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [before]


def test_what_a_library_makes_of_an_interruption_or_drops_is_raised_all_the_same(heard) -> None:
    @stoppable
    def converted() -> None:
        try:
            signal.raise_signal(signal.SIGTERM)
        except Stop:
            raise RuntimeError("counting the rows failed") from None

    @stoppable
    def dropped(number: int) -> int:
        with contextlib.suppress(Stop):
            signal.raise_signal(signal.SIGTERM)
        return number

    for call in (converted, lambda: dropped(3)):
        with pytest.raises(Stop):
            call()


def test_without_a_signal_a_stoppable_function_is_as_it_was() -> None:
    @stoppable
    def halved(number: int) -> int:
        """Return a half."""
        return 6 // number

    assert halved(2) == 3
    assert (halved.__name__, halved.__doc__) == ("halved", "Return a half.")
    with pytest.raises(ZeroDivisionError):
        halved(0)


@pytest.mark.parametrize("wait", [exceptions_wait, stoppable])
def test_what_frames_held_goes_at_once(wait, heard) -> None:
    """Without waiting for Python to look for objects that refer to each other in a circle."""

    class Held:
        pass

    def interrupted() -> None:
        held = Held()
        remembered.append(weakref.ref(held))
        signal.raise_signal(signal.SIGTERM)

    def call() -> None:
        if wait is stoppable:
            stoppable(interrupted)()
        with exceptions_wait():
            interrupted()

    remembered: list[weakref.ref[Held]] = []
    gc.disable()
    try:
        with contextlib.suppress(Stop):
            call()
        assert remembered[0]() is None
    finally:
        gc.enable()


@pytest.mark.verify
def test_tests_of_ctrl_c_pass_where_a_script_started_them_in_the_background() -> None:
    """The shell has such processes ignore it from the start."""
    ignoring = ["sh", "-c", 'trap "" INT; exec "$0" "$@"']
    some = "tests/test_files.py::test_a_signal_cannot_part_files_that_belong_together"
    command = [*ignoring, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", some]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_handlers_that_could_not_be_put_back_are_called_all_the_same(heard, monkeypatch) -> None:
    """One signal comes while handlers are installed, another while they are restored."""
    install, calls = signal.signal, []

    def interrupted(number: int, handler: Any) -> object:
        calls.append(number)
        if len(calls) in (2, 3):
            signal.raise_signal(signal.SIGTERM)
        return install(number, handler)

    monkeypatch.setattr(signal, "signal", interrupted)
    with pytest.raises(Stop), exceptions_wait():
        raise AssertionError("it was not interrupted")
    monkeypatch.undo()
    with pytest.raises(Stop):
        signal.raise_signal(signal.SIGHUP)
    assert heard == [signal.SIGTERM, signal.SIGTERM, signal.SIGHUP]
