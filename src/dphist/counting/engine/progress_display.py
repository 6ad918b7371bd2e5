"""Progress shown to the person who waits: on a terminal, or in a notebook, and nowhere else.

Numbers of rows are secret. So nothing is shown where standard error is a file or a pipe, such as a
log, and what was shown is erased at the end, also from the output that a notebook saves.
"""

import contextlib
import html
import os
import sys
import threading
from contextlib import ExitStack
from typing import Any, Protocol, TextIO

from dphist.counting.engine.progress import Done, Progress, Report

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
    if left is not None and not done.note.startswith("counting"):
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
