"""How a run of the command line ends: by itself, or at once, where a signal asks for it.

A handler that raises could be heard anywhere: in a library that makes another exception of it, in
a function that C++ calls, while a module is being imported or an object destroyed. So the handler
of the command line raises nothing. It removes temporary files, says one line and ends the process,
whose other threads may be in the middle of a query. This module is imported before any that takes
long, so nothing may be imported here that does.
"""

import atexit
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any, NoReturn

from dphist import leftovers
from dphist.visible import visible

NOTHING_WRITTEN = "interrupted; nothing was written"

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
_handled: list[int] = []
_line = NOTHING_WRITTEN
_note = ""
_screen = b""


class Interrupted(KeyboardInterrupt):
    """A signal stopped the run, and some of what it had begun was brought to an end first."""

    def __init__(self, line: str, number: int = signal.SIGINT) -> None:
        super().__init__(line)
        self.number = number


def exit_code(number: int) -> int:
    """Return the exit code of a run that a signal stopped: 130 for Ctrl-C."""
    return 128 + number


def list_signals() -> list[int]:
    """Return the signals that ask for an end, of those that this system has."""
    return [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]


def list_heard() -> list[int]:
    """Return the signals that ask for an end, but for those ignored, as by nohup."""
    return [each for each in list_signals() if signal.getsignal(each) != signal.SIG_IGN]


def handle_signals() -> None:
    """End the process from now on where a signal asks for it; those ignored, as by nohup, stay so.

    Called once, by the command line alone. `main` called from a program leaves signals to it.
    """
    _handled[:] = list_heard()
    for each in _handled:
        signal.signal(each, _end)


def say(line: str) -> None:
    """Set what a signal that comes now has the process say."""
    global _line
    _line = line


def note(text: str) -> None:
    """Set what is added to whatever line ends the run, such as that a charge stays; "" for none."""
    global _note
    _note = text


def add_note(line: str) -> str:
    """Return a line that ends the run, with what was noted."""
    return f"{line}; {_note}" if _note else line


def on_screen(reset: bytes) -> None:
    """Set what gives a terminal back as it was, written before the line; empty for nothing."""
    global _screen
    _screen = reset


def settle() -> bool:
    """Ignore signals from now on, if they are handled here: what there is to do was done."""
    for each in _handled:
        signal.signal(each, signal.SIG_IGN)
    return bool(_handled)


def go_on() -> None:
    """Handle signals again after `settle`: there is more to do."""
    for each in _handled:
        signal.signal(each, _end)
    say(NOTHING_WRITTEN)


def leave(code: int) -> NoReturn:
    """End the process, without Python's own end, in which other threads are torn down."""
    settle()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    os.close(_silenced())
    atexit._run_exitfuncs()
    os._exit(code)


def _end(number: int, _: FrameType | None) -> None:
    """Handle a signal."""
    try:
        settle()
        errors = _silenced()
        leftovers.remove_all()
        with contextlib.suppress(OSError):
            line = visible(f"dphist: {add_note(_line)}")
            os.write(errors, _screen + line.encode(errors="backslashreplace") + b"\n")
    finally:
        os._exit(exit_code(number))


def _silenced() -> int:
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


class Stopping:
    """Handles Ctrl-C, SIGTERM and SIGHUP while a stream is open.

    Where an exception in the middle would leave something half done, being asked to stop is only
    noted; `anywhere` marks where nothing is.
    """

    def __init__(self) -> None:
        self._asked: int | None = None
        self._anywhere = False

    @contextlib.contextmanager
    def handled(self) -> Iterator[None]:
        """Handle the signals until the block ends; those that are ignored, as by nohup, stay so.

        In a process of the command line nothing is left to be stopped then.
        """
        before: dict[int, Any] = {}
        if threading.current_thread() is threading.main_thread():
            before = {each: signal.signal(each, self._stop) for each in list_heard()}
        try:
            yield
        finally:
            if not settle():
                for each, handler in before.items():
                    signal.signal(each, handler)

    @contextlib.contextmanager
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
