"""Progress of a stream that is fed from standard input: events, seconds and what is left."""

import os
import stat
import time

from dphist import signals
from dphist.tables.engine.progress import Done
from dphist.tables.engine.progress_display import ERASED, open_display

_SECONDS_BETWEEN = 0.25


class StreamProgress:
    """A line on the terminal of a person who watches; elsewhere nothing.

    What is left is known where the input is a file: the rest of its bytes.

    Parameters
    ----------
    descriptor : of the input.
    shown : whether to show anything.
    """

    def __init__(self, descriptor: int, shown: bool) -> None:
        self._display = open_display() if shown else None
        self._size = _size_of(descriptor)
        self._begun = time.monotonic()
        self._drawn = 0.0
        self._bytes = 0

    def add(self, data: bytes, events: int) -> None:
        """Note that more of the input was counted; `events` have been counted in all."""
        self._bytes += len(data)
        now = time.monotonic()
        if self._display is None or now - self._drawn < _SECONDS_BETWEEN:
            return
        self._drawn = now
        fraction = min(self._bytes / self._size, 1.0) if self._size else 0.0
        signals.set_screen(ERASED.encode())
        try:
            self._display(
                Done(fraction, done=events, unit="events", seconds=now - self._begun),
            )
        except (OSError, ValueError):  # progress must never cost a result
            self._display = None

    def close(self) -> None:
        """Erase the line, before something else is printed or at the end."""
        if self._display is not None:
            self._display.close()
            signals.set_screen(b"")


def _size_of(descriptor: int) -> int:
    """Return the bytes of a file that are still to be read; 0 for anything else."""
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            return 0
        return max(found.st_size - os.lseek(descriptor, 0, os.SEEK_CUR), 0)
    except OSError:
        return 0
