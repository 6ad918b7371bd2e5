"""Who may be interrupted when.

Python runs signal handlers in its main thread, between any two bytecode instructions, and a
handler may raise: Ctrl-C raises KeyboardInterrupt. This can leave a query running that nobody
waits for, or one output of three in its place. `stoppable`, `exceptions_wait` and `handlers_wait`
prevent that. Other threads run no handlers; there, these functions do nothing.

On the command line an exception would be raised in imports, in functions that C++ calls and in
finalizers too, where it is changed or lost. So the handler of its process raises nothing: it
removes temporary files, says one line and ends the process, whose other threads may be in the
middle of a query (`handle_signals`). A stream finishes what it has begun first (`Stopping`).

This module is imported before any that takes long, so nothing may be imported here that does.
"""

import atexit
import contextlib
import functools
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn, ParamSpec, TypeAlias, TypeVar

from dphist.visible import visible

Handler: TypeAlias = Callable[[int, FrameType | None], Any]
P = ParamSpec("P")
T = TypeVar("T")

SIGNALED = 128
"""Exit code of a run that a signal stopped, less the signal's number: Ctrl-C gives 130."""

NOTHING_WRITTEN = "interrupted; nothing was written"

STOP_SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]
"""The signals that ask for an end, of those that this system has."""

_ALL_SIGNALS = tuple(map(int, signal.valid_signals()))

# What the handler of the command line knows; Python runs it in the main thread alone.
_handled: list[int] = []
_cleanups: list[Callable[[], object]] = []
_line = NOTHING_WRITTEN
_note = ""
_screen = b""


class Interrupted(KeyboardInterrupt):
    """A signal stopped the run, and some of what it had begun was brought to an end first."""

    def __init__(self, line: str, number: int = signal.SIGINT) -> None:
        super().__init__(line)
        self.number = number


def stoppable(function: Callable[P, T]) -> Callable[P, T]:
    """Make a function raise exactly what a signal handler raises while the function runs.

    The handler may run in a callback of a library, which would replace the exception with an error
    of its own, or in a finalizer, which would drop it.
    """

    @functools.wraps(function)
    def call_stoppable(*args: P.args, **kwargs: P.kwargs) -> T:
        raised: list[BaseException] = []

        def record_interrupt(handler: Handler, number: int, frame: FrameType | None) -> None:
            try:
                handler(number, frame)
            except BaseException as error:
                raised.append(error)
                raise

        try:
            with _intercept(record_interrupt):
                return function(*args, **kwargs)
        finally:
            raise_first(raised)

    return call_stoppable


@contextmanager
def exceptions_wait() -> Iterator[Sequence[BaseException]]:
    """Run signal handlers as signals arrive, but delay their exceptions to the end of the block.

    Yields
    ------
    The delayed exceptions so far. The first is raised at the end, in place of the block's own.
    """
    waiting: list[BaseException] = []

    def record_interrupt(handler: Handler, number: int, frame: FrameType | None) -> None:
        try:
            handler(number, frame)
        except BaseException as error:
            waiting.append(error)

    try:
        with _intercept(record_interrupt):
            yield waiting
    finally:
        raise_first(waiting)


@contextmanager
def handlers_wait() -> Iterator[None]:
    """Delay signal handlers to the end of the block."""
    waiting: list[tuple[Handler, int]] = []

    def record_interrupt(handler: Handler, number: int, frame: FrameType | None) -> None:
        waiting.append((handler, number))

    try:
        with _intercept(record_interrupt):
            yield
    finally:
        for handler, number in waiting:
            handler(number, None)


def raise_first(raised: list[BaseException]) -> None:
    """Raise the first of a list of exceptions, if there is one.

    The list is cleared because a frame of the exception refers to it. That reference cycle would
    keep the objects of the frames, such as a database, alive until the garbage collector runs.
    """
    if not raised:
        return
    first = raised[0]
    raised.clear()
    try:
        raise first from None
    finally:
        del first


@contextmanager
def _intercept(heard: Callable[[Handler, int, FrameType | None], None]) -> Iterator[None]:
    """Pass each signal that has a Python handler to `heard`, together with that handler."""
    found = {number: signal.getsignal(number) for number in _ALL_SIGNALS}
    before = {number: handler for number, handler in found.items() if callable(handler)}
    inside = True

    def handle(number: int, frame: FrameType | None) -> None:
        if inside:
            heard(before[number], number, frame)
        else:  # still installed: another handler raised while the old ones were restored
            before[number](number, frame)

    def leave() -> None:
        nonlocal inside
        inside = False

    with handled_by(handle, before, leave=leave):
        yield


@contextmanager
def handled_by(
    handler: Handler,
    numbers: Iterable[int],
    *,
    leave: Callable[[], object] | None = None,
    last: bool = False,
) -> Iterator[None]:
    """Handle signals until the block ends; those that are ignored, as by nohup, stay so.

    Parameters
    ----------
    leave : called before the earlier handlers are restored, also if the block is never reached.
    last : whether nothing is left to be stopped then: a process of the command line ignores them.
    """
    before: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        before = {each: signal.getsignal(each) for each in not_ignored(numbers)}
    try:
        for each in before:
            signal.signal(each, handler)
        yield
    finally:
        if leave is not None:
            leave()
        if not (last and ignore_signals()):
            for each, earlier in before.items():
                signal.signal(each, earlier)


def not_ignored(numbers: Iterable[int]) -> list[int]:
    """Return the signals that are not ignored, as by nohup."""
    return [each for each in numbers if signal.getsignal(each) != signal.SIG_IGN]


class Stopping:
    """Handles Ctrl-C, SIGTERM and SIGHUP while a stream is open.

    Where an exception in the middle would leave something half done, being asked to stop is only
    noted; `anywhere` marks where nothing is.
    """

    def __init__(self) -> None:
        self._asked: int | None = None
        self._anywhere = False

    @contextmanager
    def handled(self) -> Iterator[None]:
        """Handle the signals until the block ends.

        In a process of the command line nothing is left to be stopped then.
        """
        with handled_by(self._stop, STOP_SIGNALS, last=True):
            yield

    @contextmanager
    def anywhere(self) -> Iterator[None]:
        """Mark a block that may end anywhere, by Interrupted: also if asked to before it."""
        self._anywhere = True
        try:
            if self._asked is not None:
                raise Interrupted("stopped", self._asked)
            yield
        finally:
            self._anywhere = False

    def forget(self) -> None:
        """Begin to stop: being asked again then ends what is printed last."""
        self._asked = None

    def _stop(self, number: int, _: object) -> None:
        self._asked = number
        if self._anywhere:
            self._anywhere = False
            raise Interrupted("stopped", number)


def handle_signals() -> None:
    """End the process from now on if a signal asks for it; those ignored, as by nohup, stay so.

    Called once, by the command line alone. `main` called from a program leaves signals to it.
    """
    _handled[:] = not_ignored(STOP_SIGNALS)
    for each in _handled:
        signal.signal(each, _end)


def call_at_end(cleanup: Callable[[], object]) -> None:
    """Have a function called when the process ends, also by a signal of `handle_signals`."""
    atexit.register(cleanup)
    _cleanups.append(cleanup)


def set_line(line: str) -> None:
    """Set what a signal that comes now has the process say."""
    global _line
    _line = line


def set_note(text: str) -> None:
    """Set what is added to whatever line ends the run, such as that a charge stays; "" for none."""
    global _note
    _note = text


def add_note(line: str) -> str:
    """Return a line that ends the run, with the note."""
    return f"{line}; {_note}" if _note else line


def set_screen(reset: bytes) -> None:
    """Set what gives a terminal back as it was, written before the line; empty for nothing."""
    global _screen
    _screen = reset


def ignore_signals() -> bool:
    """Ignore signals from now on, if the process handles them: what there is to do was done."""
    for each in _handled:
        signal.signal(each, signal.SIG_IGN)
    return bool(_handled)


def handle_again() -> None:
    """Handle signals again after `ignore_signals`: there is more to do."""
    for each in _handled:
        signal.signal(each, _end)
    set_line(NOTHING_WRITTEN)


def end_process(code: int) -> NoReturn:
    """End the process, without Python's own end, in which other threads are torn down."""
    ignore_signals()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    os.close(_silence_errors())
    atexit._run_exitfuncs()
    os._exit(code)


def _end(number: int, _: FrameType | None) -> None:
    """Handle a signal."""
    try:
        ignore_signals()
        errors = _silence_errors()
        for cleanup in _cleanups:
            cleanup()
        with contextlib.suppress(OSError):
            line = visible(f"dphist: {add_note(_line)}")
            os.write(errors, _screen + line.encode(errors="backslashreplace") + b"\n")
    finally:
        os._exit(SIGNALED + number)


def _silence_errors() -> int:
    """Have nothing come out on standard error any more; return another descriptor of it.

    Threads that still run draw a progress bar there, and libraries complain.
    """
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        errors = os.dup(2)
        os.dup2(nowhere, 2)
    except OSError:  # it is closed
        return nowhere
    os.close(nowhere)
    return errors
