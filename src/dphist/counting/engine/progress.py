"""Progress of work on a table: how much is done, of how much, and how long it takes.

Numbers of rows are secret. They are passed to a function of the caller, or shown to a person who
waits on a terminal or in a notebook; nothing here writes to a log or a file. So nothing is shown
where standard error is a file or a pipe, and what was shown is erased at the end, also from the
output that a notebook saves.
"""

import contextlib
import html
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TextIO, TypeAlias

import duckdb

from dphist.signals import exceptions_wait

_SECONDS_BETWEEN = 0.25
_MOST_BEFORE_THE_END = 0.99  # an engine may say that all is read while it still counts


class Done(float):
    """The fraction done, from 0 to 1, and what it is a fraction of.

    Attributes
    ----------
    total : how many units there are in all; None if unknown.
    done : how many of them are done; None if unknown.
    unit : "rows", "bytes", "tasks" or "events".
    seconds : time since the work began.
    note : more about the state of the work, such as "stage 2 of 3".
    """

    __slots__ = ("done", "note", "seconds", "total", "unit")

    def __new__(
        cls,
        fraction: float,
        *,
        seconds: float = 0.0,
        total: int | None = None,
        done: int | None = None,
        unit: str = "rows",
        note: str = "",
    ) -> "Done":
        """Make one."""
        made = super().__new__(cls, fraction)
        made.seconds, made.total, made.done, made.unit, made.note = seconds, total, done, unit, note
        return made

    seconds: float
    total: int | None
    done: int | None
    unit: str
    note: str

    @property
    def seconds_left(self) -> float | None:
        """An estimate of the time that is left, as if the rest went as fast; None before 1 %."""
        return self.seconds * (1 - self) / self if self >= 0.01 else None


Report: TypeAlias = Callable[[Done], None]
Progress: TypeAlias = Report | bool
"""What a caller gives: a function, or True for a display."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The state of some work, as its engine tells it.

    Attributes
    ----------
    fraction : from 0 to 1; below 0 if unknown.
    total, done, unit, note : as for `Done`.
    """

    fraction: float
    total: int | None = None
    done: int | None = None
    unit: str = "rows"
    note: str = ""


Measure: TypeAlias = Callable[[], Measured]


@contextmanager
def report_progress(measure: Measure, progress: Report | None) -> Iterator[None]:
    """Call `progress` periodically, from a thread, while the block works.

    Parameters
    ----------
    measure : tells the state of the work; called from the thread.
    progress : function of a `Done`, which is a float, or None
        Gets a nondecreasing fraction, which is 1 only when the block has succeeded. It is called
        from another thread. If it raises, or `measure` does, it is not called again: progress must
        never cost a result.
    """
    if progress is None:
        yield
        return
    begun = time.monotonic()
    ended = threading.Event()
    failed = threading.Event()
    last = Measured(0.0)

    def report(state: Measured, fraction: float) -> None:
        progress(
            Done(
                fraction,
                seconds=time.monotonic() - begun,
                total=state.total,
                done=state.done,
                unit=state.unit,
                note=state.note,
            )
        )

    def poll() -> None:
        nonlocal last
        shown = 0.0
        while not ended.wait(_SECONDS_BETWEEN):
            try:
                last = measure()
                shown = max(shown, min(last.fraction, _MOST_BEFORE_THE_END))
                if shown > 0 or last.done or last.note:
                    report(last, shown)
            except Exception:
                failed.set()
                return

    thread = threading.Thread(target=poll, name="dphist-progress")
    try:
        with exceptions_wait():
            thread.start()
        yield
    finally:
        with exceptions_wait():  # a remaining thread would use a closed connection
            ended.set()
            if thread.is_alive():
                thread.join()
    if not failed.is_set():
        try:
            state = last if last.total is not None else measure()  # if it was quick
            done = state.done if state.total is None else state.total
            report(Measured(1.0, state.total, done, state.unit), 1.0)
        except Exception:
            return  # like all calls, this one must survive a function that raises


def of_query(
    connection: duckdb.DuckDBPyConnection, total: int | None = None, unit: str = "bytes"
) -> Measure:
    """Return what measures the query of a connection that reads a file.

    Parameters
    ----------
    connection : DuckDB connection
        With its progress bar enabled and not printed. In a notebook without ipywidgets DuckDB
        allows neither, and reports no progress.
    total, unit : the size of the file.
    """
    return lambda: Measured(connection.query_progress() / 100, total, unit=unit)


class RowsRead:
    """Rows that are read one batch after another; all but their reading has no measure.

    Attributes
    ----------
    total : the number of rows; None if unknown.
    """

    __slots__ = ("_read", "total")

    def __init__(self, total: int | None = None) -> None:
        self.total = total
        self._read = 0

    @property
    def rows(self) -> int:
        """The number of rows that were read."""
        return self._read

    def count(self, rows: int) -> None:
        """Note that more rows were read."""
        self._read += rows

    def measured(self) -> Measured:
        """Return how many rows were read."""
        read, total = self._read, self.total
        if not total:
            return Measured(-1.0, None, read)
        note = "counting" if read >= total else ""
        return Measured(read / total, total, read, note=note)


ERASED = "\r\x1b[2K"
"""To the start of the line, which is erased."""

_BAR = 20
_COLUMNS = 80
_SIZES = ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "KB"))


class Display(Protocol):
    """Something that shows progress until it is closed."""

    def __call__(self, done: Done, /) -> None:
        """Show the state of the work."""

    def close(self) -> None:
        """Erase what is shown."""


class TerminalDisplay:
    """One line of a terminal, drawn again and again.

    Parameters
    ----------
    stream : the terminal.
    what : what is being done, such as "reading".
    """

    def __init__(self, stream: TextIO, what: str = "reading") -> None:
        self._stream, self._what = stream, what
        self._lock = threading.Lock()
        self._shown = False

    def __call__(self, done: Done, /) -> None:
        """Draw the line."""
        filled = round(_BAR * done)
        bar = "" if not done else f" [{'#' * filled}{'-' * (_BAR - filled)}]"
        line = f"{self._what}{bar} {in_words(done)}"
        with self._lock:
            self._shown = True
            self._stream.write(f"{ERASED}{line[: self._columns() - 1]}")
            self._stream.flush()

    def close(self) -> None:
        """Erase the line."""
        with self._lock, contextlib.suppress(OSError, ValueError):
            if self._shown:
                self._shown = False
                self._stream.write(ERASED)
                self._stream.flush()

    def _columns(self) -> int:
        try:
            return os.get_terminal_size(self._stream.fileno()).columns or _COLUMNS
        except (OSError, ValueError):
            return _COLUMNS


class NotebookDisplay:
    """An output of a notebook cell, which is replaced again and again, and is empty in the end."""

    def __init__(self) -> None:
        from IPython import display  # there is one: see `open_display`

        show: Any = display.display
        self._output: Any = show(self._bundle(""), raw=True, display_id=True)

    def __call__(self, done: Done, /) -> None:
        """Replace the output."""
        self._output.update(self._bundle(f"reading {in_words(done)}", float(done)), raw=True)

    def close(self) -> None:
        """Empty the output."""
        self._output.update(self._bundle(""), raw=True)

    def _bundle(self, text: str, fraction: float | None = None) -> dict[str, str]:
        bar = "" if not fraction else f'<progress value="{fraction:.3f}" max="1"></progress> '
        return {"text/plain": text, "text/html": f"{bar}{html.escape(text)}"}


def open_display() -> Display | None:
    """Return what shows progress to the person who waits; None if there is nobody."""
    if _in_notebook():
        return NotebookDisplay()
    stream = sys.stderr
    if stream is None or not stream.isatty() or os.environ.get("TERM") == "dumb":
        return None
    return TerminalDisplay(stream)


def report_to(stack: ExitStack, progress: Progress | None) -> Report | None:
    """Return the function that is told of progress.

    Parameters
    ----------
    stack : closes the display.
    progress : a function; True for a display, if somebody sees it; False or None for neither.
    """
    if not isinstance(progress, bool):
        return progress
    display = open_display() if progress else None
    if display is None:
        return None
    stack.callback(display.close)
    return _until_the_end(display)


def _until_the_end(display: Display) -> Report:
    """Return a function that closes the display at the end of the work."""

    def report(done: Done) -> None:
        if done < 1:
            display(done)
        else:
            display.close()

    return report


def in_words(done: Done) -> str:
    """Return a state in words.

    >>> in_words(Done(0.45, total=6_000_000, done=2_700_000, seconds=9))
    '45 %, 2,700,000 of 6,000,000 rows, 9 s, about 11 s left'
    >>> in_words(Done(0.45, total=3_200_000_000, unit="bytes", seconds=90))
    '45 % of 3.2 GB, 1:30, about 1:50 left'
    >>> in_words(Done(0, done=1200, unit="events", seconds=4))
    '1,200 events, 4 s'
    """
    parts = []
    percent = f"{100 * done:.0f} %"
    if done.total is not None and done.done is not None:
        parts += [percent, f"{_number(done.done, done.unit)} of {_amount(done.total, done.unit)}"]
    elif done.total is not None:
        parts.append(f"{percent} of {_amount(done.total, done.unit)}")
    elif done.done is not None:
        parts.append(_amount(done.done, done.unit))
    else:
        parts.append(percent)
    parts += [done.note] if done.note else []
    parts.append(_time(done.seconds))
    left = done.seconds_left
    all_read = done.total is not None and done.total == done.done  # the rest takes as it takes
    if left is not None and not all_read:
        parts.append(f"about {_time(left)} left")
    return ", ".join(parts)


def _number(number: int, unit: str) -> str:
    return _size(number) if unit == "bytes" else f"{number:,}"


def _amount(number: int, unit: str) -> str:
    return _size(number) if unit == "bytes" else f"{number:,} {unit}"


def _size(number: int) -> str:
    for least, name in _SIZES:
        if number >= least:
            return f"{number / least:.1f} {name}"
    return f"{number} bytes"


def _time(seconds: float) -> str:
    whole = round(seconds)
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}:{minutes:02}:{rest:02}"
    return f"{minutes}:{rest:02}" if minutes else f"{rest} s"


def _in_notebook() -> bool:
    """Whether this process is the kernel of a notebook, without importing IPython."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None
