"""Progress of work on a table: how much is done, of how much, and how long it takes.

Numbers of rows are secret. They are told to a function of the caller, or shown to a person (see
`progress_display`); nothing here writes to a log or a file.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

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
def reported(measure: Measure, progress: Report | None) -> Iterator[None]:
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
