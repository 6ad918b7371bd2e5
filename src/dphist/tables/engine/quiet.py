"""Silence while other libraries hold data.

A library warns of a value that one record has (NumPy of a float it cannot convert) and shows how
far it is (a progress bar). Both reach people who may not see a record. Python's warnings and its
standard streams belong to the whole process, so this module changes them for as long as some call
is quiet, and gives them back when the last one has ended: text is dropped only where it comes from
a thread inside `quiet`, warnings from every thread.
"""

import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

import numpy as np

_inside = threading.local()
_lock = threading.Lock()
_running = 0
_filters: Any = None


@contextmanager
def quiet() -> Iterator[None]:
    """Drop the warnings and the text that the calls of this block print in this thread.

    Warnings are dropped even where the process makes errors of them: whether a call fails must
    not depend on a value a library finds odd. Not covered: what native code writes to the file
    descriptors of the process, and what a caller asked a library to log.
    """
    if getattr(_inside, "quiet", False):
        yield
        return
    _enter()
    _inside.quiet = True
    try:
        with np.errstate(all="ignore"):
            yield
    finally:
        _inside.quiet = False
        _leave()


def _enter() -> None:
    global _running, _filters
    with _lock:
        _running += 1
        if _running == 1:
            # One pair of enter and exit for all threads: two that overlap would restore each
            # other's filters in the wrong order.
            _filters = warnings.catch_warnings()
            _filters.__enter__()
            warnings.simplefilter("ignore")
            sys.stdout, sys.stderr = _muted(sys.stdout), _muted(sys.stderr)


def _leave() -> None:
    global _running
    with _lock:
        _running -= 1
        if _running == 0:
            _filters.__exit__(None, None, None)
            # Whoever replaced them meanwhile keeps theirs.
            sys.stdout, sys.stderr = _restored(sys.stdout), _restored(sys.stderr)


def _muted(stream: Any) -> Any:
    return stream if stream is None or isinstance(stream, _Muted) else _Muted(stream)


def _restored(stream: Any) -> Any:
    return stream.stream if isinstance(stream, _Muted) else stream


class _Muted:
    """A standard stream that drops what comes from a thread inside `quiet`.

    Whatever else is asked of it the stream answers itself: libraries look at its encoding, its
    descriptor, or whether it is a terminal.
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write text, unless it comes from inside."""
        if getattr(_inside, "quiet", False):
            return len(text)
        return self.stream.write(text)

    def writelines(self, lines: Any) -> None:
        """Write lines, unless they come from inside."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)
