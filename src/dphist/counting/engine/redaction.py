"""Calls into other libraries, without their messages about data.

DuckDB quotes the line of a CSV file it cannot read, Polars the value it cannot cast, and NumPy
warns of a number in a single record. Such text is a record, shown without noise. So every call into
a library with data goes through `redact_errors`: output and warnings are dropped (`quiet`), and
an exception is replaced by ours, raised after the `except` block has ended, so that the original is
reachable neither as ``__cause__`` nor as ``__context__``.

Python's warnings and standard streams belong to the whole process. While any call is quiet, a
filter is added and the streams are replaced; both are taken back after the last one. Text is
dropped from threads inside `quiet` and from threads that Python did not start, which work for them;
warnings are dropped from all threads.
"""

import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO, TypeVar

import numpy as np

from dphist.errors import DphistError

_inside = threading.local()
_lock = threading.Lock()
_running = 0
# Matches every warning, and equals no filter of others, which name a class of warnings. A pattern
# would have to match the text, which may be no text.
_IGNORED = ("ignore", None, BaseException, None, 0)
_changed: list[list[Any]] = []  # the lists of filters that it was added to
_muting = 0  # calls that are quiet, and those that linger
_last_dropped = 0.0  # when a library's thread last printed, in seconds of the monotonic clock


@contextmanager
def quiet() -> Iterator[None]:
    """Drop warnings and text printed by calls of this block in this thread.

    Warnings are dropped even if the process turns them into errors: whether a call fails must not
    depend on an unusual value. Not covered: output of native code to the file descriptors of the
    process, and logging that a caller configured.
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
    global _running
    with _lock:
        _running += 1
        if _running == 1:
            _mute()
        # Also if others are quiet already: this thread may have replaced filters or streams since.
        _ignore_warnings()
        _mute_streams()


def _leave() -> None:
    global _running
    with _lock:
        _running -= 1
        if _running == 0:
            _hear_warnings()
            _unmute()


def _ignore_warnings() -> None:
    """Put `_IGNORED` before all other filters.

    `warnings.catch_warnings` would also replace the list, and how warnings are shown. If that of
    another thread began or ended meanwhile, one of the two would restore what the other had set.
    """
    filters = _filters()
    if not filters or filters[0] is not _IGNORED:
        _changed.append(filters)
        filters.insert(0, _IGNORED)


def _hear_warnings() -> None:
    """Remove `_IGNORED`, also from lists that other threads keep and restore later."""
    for filters in (*_changed, _filters()):
        with suppress(ValueError):
            while True:
                filters.remove(_IGNORED)
    _changed.clear()


def _filters() -> list[Any]:
    """Return the list of filters; from Python 3.14 on, each context may have one of its own."""
    of_context: Any = getattr(warnings, "_get_filters", None)
    found: list[Any] = warnings.filters if of_context is None else of_context()  # type: ignore
    return found


def linger(seconds: float) -> None:
    """Drop what threads of libraries print, until they have printed nothing for so long.

    They may not end at once, and libraries do not say when they do.
    """
    with _lock:
        _mute()
    _look_after(seconds, seconds)


def _look_after(delay: float, seconds: float) -> None:
    timer = threading.Timer(delay, _end_of_lingering, (seconds,))
    timer.daemon = True
    timer.start()


def _end_of_lingering(seconds: float) -> None:
    left = _last_dropped + seconds - time.monotonic()
    if left > 0:
        _look_after(left, seconds)
        return
    with _lock:
        _unmute()


def _mute() -> None:
    global _muting
    _muting += 1
    # Also if others are quiet already: a stream may have been replaced since.
    _mute_streams()


def _mute_streams() -> None:
    sys.stdout, sys.stderr = _mute_stream(sys.stdout), _mute_stream(sys.stderr)


def _unmute() -> None:
    global _muting
    _muting -= 1
    if _muting == 0:
        # A stream that other code has replaced in the meantime stays.
        sys.stdout, sys.stderr = _restore_stream(sys.stdout), _restore_stream(sys.stderr)


def _start_anew() -> None:
    """Forget, in a forked process, the calls of its parent's other threads, which are not here."""
    global _lock, _running, _muting
    _lock = threading.Lock()  # one of them may have held it
    if not getattr(_inside, "quiet", False):
        _hear_warnings()
        sys.stdout, sys.stderr = _restore_stream(sys.stdout), _restore_stream(sys.stderr)
        _running = _muting = 0
    else:  # forked within a call, which goes on here
        _running = _muting = 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)


def _mute_stream(stream: Any) -> Any:
    return stream if stream is None or isinstance(stream, _Muted) else _Muted(stream)


def _restore_stream(stream: Any) -> Any:
    return stream.stream if isinstance(stream, _Muted) else stream


def _is_foreign() -> bool:
    """Whether this thread is a library's own, as that in which Polars calls Python functions."""
    return _muting > 0 and isinstance(threading.current_thread(), threading._DummyThread)


class _Muted:
    """A standard stream that drops text from threads inside `quiet`.

    All other attributes are those of the original stream: libraries inspect its encoding, its
    descriptor, or whether it is a terminal.
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write text, except from inside `quiet`."""
        global _last_dropped
        if _is_foreign():
            _last_dropped = time.monotonic()
            return len(text)
        return len(text) if getattr(_inside, "quiet", False) else self.stream.write(text)

    def writelines(self, lines: Any) -> None:
        """Write lines, except from inside `quiet`."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


T = TypeVar("T")


def redact_errors(
    call: Callable[[], T], problem: DphistError, shortage: DphistError | None = None
) -> T:
    """Return ``call()``, silently; any error inside becomes `problem`.

    Parameters
    ----------
    call : function of no arguments
        Calls another library.
    problem : DphistError
        Raised in place of the library's exception. Its text is fixed before the call, so it
        cannot depend on the data.
    shortage : DphistError, optional
        Raised in place of `problem` when memory or disk ran out.

    Raises
    ------
    DphistError
        `problem` or `shortage`; or a DphistError raised by `call`, since ours show no data.
    KeyboardInterrupt, SystemExit
        Passed on.
    """
    interrupted = False
    try:
        with quiet():
            return call()
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except DphistError as error:
        raised = error
    except BaseException as error:  # a Rust panic in Polars is not an Exception
        interrupted = _was_interrupted(error)
        raised = shortage if shortage is not None and _is_out_of_space(error) else problem
    if interrupted:
        raise KeyboardInterrupt
    raised.__cause__ = raised.__context__ = None
    raise raised


class Wall:
    """`redact_errors` for one source, which also passes our errors through an engine.

    Our checks of a batch may run inside an engine's call, and the engine replaces the exception of
    a check with its own. `noting` records ours.

    Attributes
    ----------
    problem, shortage : as for `redact_errors`.
    """

    __slots__ = ("_noted", "problem", "shortage")

    def __init__(self, problem: DphistError, shortage: DphistError | None = None) -> None:
        self.problem = problem
        self.shortage = shortage
        self._noted: DphistError | None = None

    def __call__(self, call: Callable[[], T]) -> T:
        """Return ``call()`` as `redact_errors` does; a recorded error has priority."""
        try:
            return redact_errors(call, self.problem, self.shortage)
        except DphistError as error:
            raised = error if self._noted is None else self._noted
        self._noted = None
        raised.__cause__ = raised.__context__ = None
        raise raised

    def noting(self, check: Callable[[], T]) -> T:
        """Return ``check()``; record the error it raises, for the outer call."""
        try:
            return check()
        except DphistError as error:
            self._noted = error
            raise


def _was_interrupted(error: BaseException) -> bool:
    """Whether this is how DuckDB reports Ctrl-C."""
    return type(error).__name__ == "InterruptException" or str(error) == "Query interrupted"


# How the system and C++ say that disk or memory ran out, as engines pass it on.
_SHORTAGES = ("No space left", "File too large", "Disk quota exceeded", "bad_alloc")

_SPILLED = "duckdb_temp_"
"""What DuckDB names spilled rows: its folder is gone, or on a disk that fails. FILE is sound."""


def _is_out_of_space(error: BaseException) -> bool:
    """Whether an engine ran out of memory or disk."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryException":
        return True
    spilling = type(error).__name__ == "IOException" and _SPILLED in str(error)
    return spilling or any(text in str(error) for text in _SHORTAGES)
