"""Feeding a stream from standard input, and reading it as it goes."""

import argparse
import json
import os
import select
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import pyarrow as pa

from dphist.commands.stream_events import Event, Form
from dphist.commands.stream_outputs import outputs_of, write_outputs
from dphist.commands.stream_stop import Stopping
from dphist.continual import ContinualHistogram
from dphist.errors import ColumnError, DataError, DphistError, HorizonError, InputFileError
from dphist.report.labels_shown import harmless, in_columns

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
    """

    stream: ContinualHistogram
    form: Form
    options: argparse.Namespace
    skip: int
    stopping: Stopping
    _printing: bool = True
    _read_at: int | None = None

    def run(self, descriptor: int) -> None:
        """Count all events of the input, then read and write what is asked for.

        Whatever ends the input, also a malformed line or being asked to stop, the last reading is
        made and the outputs are written before the error is raised.

        Raises
        ------
        DphistError
            If the input ended other than at its end.
        """
        self._printing = not self.options.quiet
        problem: Exception | None = None
        try:
            self._count(descriptor)
        except ColumnError:  # in the header, before anything was counted
            raise
        except (DataError, HorizonError, InputFileError) as error:
            problem = type(error)(f"{error}; {self._held()}")
        except KeyboardInterrupt:
            problem = DphistError(f"stopped; {self._held()}")
        except OSError as error:  # of printing: ours are DphistErrors
            problem, self._printing = error, False
        self.stopping.forget()
        try:
            self._finish()
        except KeyboardInterrupt:
            problem = DphistError(f"stopped; {self._held()}")
        if problem is not None:
            raise problem

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
            if due is not None and time.monotonic() >= due:
                self._read()
                due = time.monotonic() + seconds
        if self.skip:
            raise DataError(
                f"the input has {self.skip:,} events less than the state holds, so it is not the "
                "stream from its first event on, as --resume needs it"
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
                    f"the horizon of {stream.horizon:,} events is reached; further ones were not "
                    "counted"
                )
            if every is not None:
                room = min(room, every - stream.time % every)
            chunk = list(islice(rest, room))
            left -= len(chunk)
            self._update(chunk)
            if every is not None and stream.time % every == 0:
                self._read()

    def _update(self, chunk: list[Event]) -> None:
        labels = [event.labels for event in chunk]
        if self.options.user is None:
            self.stream.update_many(labels)
            return
        kind = pa.list_(pa.large_string())
        users = pa.array([event.user for event in chunk], pa.large_string())
        table = pa.table({"label": pa.array(labels, kind), "user": users})
        self.stream.update_many(table, label="label", user="user")

    def _read(self) -> None:
        """Make a reading and print it, unless there was one at this time."""
        if self._read_at == self.stream.time:
            return
        counts = self.stream.record()
        self._read_at = self.stream.time
        if self._printing:
            with self.stopping.anywhere():
                self._show(counts)

    def _show(self, reading: dict[str, int]) -> None:
        top = self.options.top
        try:
            if self.options.json:
                shown = dict(islice(reading.items(), top))
                print(json.dumps({"time": self.stream.time, "counts": shown}), flush=True)
                return
            print(f"After {self.stream.time:,} events: {len(reading):,} labels")
            most = _ROWS if top is None else top
            width = max((len(f"{count:,}") for count in reading.values()), default=0)
            for label, count in islice(reading.items(), most):
                name = in_columns(harmless(label, 200), _LABEL_COLUMNS)
                print(f"  {name}   {f'{count:,}'.rjust(width)}")
            if len(reading) > most:
                print(f"  ... {len(reading) - most:,} more")
            print(flush=True)
        except KeyboardInterrupt:
            # A reader that does not read holds us up: what it has not taken is dropped.
            self._printing = False
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise

    def _finish(self) -> None:
        """Make the last reading and write the outputs."""
        paths = outputs_of(self.options)
        if not (self._printing or paths):
            return
        problem: BaseException | None = None
        try:
            self._read()
        except (KeyboardInterrupt, OSError) as error:  # of printing: outputs are still wanted
            problem, self._printing = error, False
        except HorizonError as error:  # no reading is left: those before are written
            problem = error
        if paths and self._read_at is not None:
            write_outputs(self.stream.released(), paths)
        if problem is not None:
            raise problem
        if self._printing and not self.options.json:
            with self.stopping.anywhere():
                for kind, path in paths.items():
                    print(f"wrote {path} ({kind})")
                print(f"The state holds {self.stream.time:,} events.", flush=True)

    def _held(self) -> str:
        return f"the state holds {self.stream.time:,} events"


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
