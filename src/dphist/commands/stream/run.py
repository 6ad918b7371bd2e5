"""Feeding a stream from standard input, and reading it as it goes."""

import argparse
import contextlib
import json
import os
import select
import stat
import sys
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from dphist import signals
from dphist.commands.printing import say
from dphist.commands.publishing import list_outputs, say_written
from dphist.commands.stream.outputs import write_outputs
from dphist.counting.engine.progress import ERASED, Done, open_display
from dphist.document.unit_words import how_many
from dphist.errors import (
    ColumnError,
    DataError,
    DphistError,
    HorizonError,
    InputFileError,
    OutputFileError,
    UnsupportedError,
)
from dphist.release.label_types import format_label
from dphist.render.text import in_columns
from dphist.signals import Interrupted, Stopping
from dphist.streams import ContinualHistogram
from dphist.streams.events.forms import Event, Form
from dphist.streams.events.written import count_events
from dphist.visible import harmless

_READ = 2**20  # bytes at once: a chunk that is counted takes a fraction of a second
_ROWS = 10  # of a printed reading
_LABEL_COLUMNS = 40
_LONGEST_WAIT = 3600.0  # seconds; the system takes no timeout of years


@dataclass(slots=True)
class Run:
    """One run of `dphist stream` over an open stream.

    What was begun is finished before the run stops: a chunk of events, a reading, the outputs.

    Attributes
    ----------
    skip : events of the input that the state already holds.
    new : whether this run began the state.
    replaced : paths of outputs that may be there, and are replaced.
    """

    stream: ContinualHistogram
    form: Form
    options: argparse.Namespace
    skip: int
    stopping: Stopping
    new: bool
    replaced: Collection[str]
    _printing: bool = True
    _read_at: int | None = None
    _no_reading_left: bool = False
    _problem: BaseException | None = None
    _progress: "StreamProgress | None" = None

    def run(self, descriptor: int) -> None:
        """Count all events of the input, then read and write what is asked for.

        Whatever ends the input, also a malformed line or being asked to stop, the last reading is
        made and the outputs are written before the error is raised; of several, the first.

        Raises
        ------
        DphistError
            If the input ended other than at its end, or no reading was left for all of it.
        Interrupted
            If a signal ended it.
        """
        self._printing = not self.options.quiet
        self._progress = StreamProgress(
            descriptor, shown=not (self.options.quiet or self.options.json)
        )
        try:
            with self._note_problem():
                self._count(descriptor)
        finally:
            self._progress.close()
        self.stopping.forget()
        if self._problem is None or not self._unused():
            self._finish()
        if self._problem is not None:
            raise self._problem

    @contextlib.contextmanager
    def _note_problem(self) -> Iterator[None]:
        """Note what ends the block, if it is the first problem, and go on."""
        try:
            yield
            return
        except ColumnError:  # in the header, before anything was counted
            raise
        except (DataError, HorizonError, InputFileError) as error:
            problem: BaseException = error.within("", f"; {self._held()}")
        except DphistError as error:  # of the state or an output
            problem = error
        except Interrupted as error:
            problem = Interrupted(f"{error}; {self._held()}", error.number)
        except OSError as error:  # of printing: ours are DphistErrors
            problem, self._printing = error, False
        if self._problem is None:
            self._problem = problem

    def _count(self, descriptor: int) -> None:
        seconds = self.options.every_seconds
        due = None if seconds is None else time.monotonic() + seconds
        while True:
            with self.stopping.anywhere():
                data = _available(descriptor, due)
            if data is not None:
                self._take(self.form.events(data) if data else self.form.last())
                if not data:
                    break
                if self._progress is not None:
                    self._progress.add(data, self.stream.time)
            if due is not None and time.monotonic() >= due:
                self._read()
                due = time.monotonic() + seconds
        if self.skip:
            raise DataError(
                f"the input has {how_many(self.skip, 'event')} less than the state holds, so it "
                "does not begin with the first event of the stream, as --resume requires"
            )

    def _take(self, events: Iterator[Event]) -> None:
        """Count events; if one is malformed, those before it."""
        found: list[Event] = []
        problem = None
        try:
            for event in events:
                if self.skip:
                    self.skip -= 1
                else:
                    found.append(event)
        except DataError as error:
            problem = error
        self._feed(found)
        if problem is not None:
            raise problem

    def _feed(self, events: list[Event]) -> None:
        """Count events in chunks that end where a reading is due."""
        stream, every, rest = self.stream, self.options.every, iter(events)
        left = len(events)
        while left:
            room = stream.horizon - stream.time
            if room <= 0:
                raise HorizonError(
                    f"the horizon of {how_many(stream.horizon, 'event')} is reached; further ones "
                    "were not counted"
                )
            if every is not None:
                room = min(room, every - stream.time % every)
            chunk = list(islice(rest, room))
            left -= len(chunk)
            count_events(stream, chunk)
            if every is not None and stream.time % every == 0:
                self._read()

    def _read(self) -> None:
        """Make a reading and print it, unless there was one at this time or none is left."""
        if self._no_reading_left or self._read_at == self.stream.time:
            return
        try:
            counts = self._in_text(self.stream.record())
        except HorizonError:  # of readings, not of events: those are counted on
            self._no_reading_left = True
            return
        self._read_at = self.stream.time
        if self._printing:
            with self.stopping.anywhere():
                self._show(counts)

    def _in_text(self, reading: dict[Any, int]) -> dict[str, int]:
        """Return a reading with its labels as text."""
        kind = self.stream.mechanism.label_type
        return {str(format_label(label, kind)): count for label, count in reading.items()}

    def _show(self, reading: dict[str, int]) -> None:
        top = self.options.top
        if self._progress is not None:
            self._progress.close()
        try:
            if self.options.json:
                shown = dict(islice(reading.items(), top))
                say(json.dumps({"time": self.stream.time, "counts": shown}), flush=True)
                return
            events, labels = how_many(self.stream.time, "event"), how_many(len(reading), "label")
            say(f"After {events}: {labels}")
            most = _ROWS if top is None else top
            width = max((len(f"{count:,}") for count in reading.values()), default=0)
            for label, count in islice(reading.items(), most):
                name = in_columns(harmless(label, 200), _LABEL_COLUMNS)
                say(f"  {name}   {f'{count:,}'.rjust(width)}")
            if len(reading) > most:
                say(f"  ... {len(reading) - most:,} more")
            say(flush=True)
        except Interrupted:
            # A reader that does not read holds us up: what it has not taken is dropped.
            self._printing = False
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise

    def _finish(self) -> None:
        """Make the last reading and write the outputs."""
        paths = list_outputs(self.options)
        if not (self._printing or paths):
            return
        with self._note_problem():
            self._read()
        if paths:
            self._write()
        if self._no_reading_left and self._problem is None:
            most = how_many(self.stream.mechanism.most_readings, "reading")
            self._problem = HorizonError(
                f"the bound of {most} is reached, and no further one was made; all input was "
                f"counted, and {self._held()}"
            )
        if self._problem is None and self._printing and not self.options.json:
            with self._note_problem(), self.stopping.anywhere():
                say_written(paths)
                say(f"The state holds {how_many(self.stream.time, 'event')}.", flush=True)

    def _write(self) -> None:
        """Write the outputs of all recorded readings, also of earlier runs, if there are any."""
        first = self._problem
        try:
            write_outputs(self.stream, self.options, self.replaced)
        except UnsupportedError:  # nothing was recorded
            return
        except OutputFileError as error:
            if first is None:
                self._problem = error
            elif isinstance(first, Interrupted):
                self._problem = Interrupted(f"{first}; {error}", first.number)
            elif isinstance(first, DphistError):
                self._problem = first.within("", "; " + error.args[0])

    def _unused(self) -> bool:
        """Whether the state would be none if the run failed now: see `remove_if_unused`."""
        return self.new and self.stream.time == 0

    def _held(self) -> str:
        if self._unused():
            return "no event was counted, so that no state is kept"
        return f"the state holds {how_many(self.stream.time, 'event')}"


def _available(descriptor: int, due: float | None) -> bytes | None:
    """Wait for input and return what there is, empty at its end; None if a reading may be due."""
    timeout = None if due is None else min(max(due - time.monotonic(), 0.0), _LONGEST_WAIT)
    try:
        if not select.select([descriptor], [], [], timeout)[0]:
            return None
        return os.read(descriptor, _READ)
    except OSError:  # of a folder, say
        pass
    raise InputFileError("standard input cannot be read as a file or pipe")


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
        self._size = _count_bytes_left(descriptor)
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
            self._display(Done(fraction, done=events, unit="events", seconds=now - self._begun))
        except (OSError, ValueError):  # progress must never cost a result
            self._display = None

    def close(self) -> None:
        """Erase the line, before something else is printed or at the end."""
        if self._display is not None:
            self._display.close()
            signals.set_screen(b"")


def _count_bytes_left(descriptor: int) -> int:
    """Return the bytes of a file that are still to be read; 0 for anything else."""
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            return 0
        return max(found.st_size - os.lseek(descriptor, 0, os.SEEK_CUR), 0)
    except OSError:
        return 0


@contextlib.contextmanager
def remove_if_unused(stream: ContinualHistogram, path: str, new: bool) -> Iterator[None]:
    """Remove a new state if the block fails before an event was counted.

    Its parameters bind nobody then: the command can be mended and given others. Where there were
    no events, no noise was drawn.
    """
    file = Path(os.path.realpath(path))
    begun = file.stat() if new else None
    try:
        yield
    except BaseException:
        if begun is not None and stream.time == 0:
            # While it is still open, and so locked, nobody else can have begun to use it. Closing
            # it then removes its journal.
            with contextlib.suppress(OSError):
                if os.path.samestat(file.stat(), begun):
                    file.unlink()
        raise
