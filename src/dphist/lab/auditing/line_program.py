"""A program that stays running: it reads data as JSON, one a line, and answers each with a line."""

import json
import os
import select
import subprocess
import tempfile
import time
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, Any, cast

from dphist.errors import UnsupportedError
from dphist.foreign import read_json

_PIECE = 65536
_AT_ONCE = getattr(select, "PIPE_BUF", 512)  # bytes that a pipe takes whole, if it takes any
_END = 2.0  # seconds that a program gets to end when its input does
_MORE = 5.0  # seconds in which a program that has answered once may show that it goes on


class SilentProgramError(UnsupportedError):
    """A program does not answer a line with a line; this ends the audit.

    Without an answer nothing is said of the data; with two lines, later answers would be compared
    with the wrong data.
    """


@dataclass
class _Running:
    """A process, its streams, and what of them has been read."""

    process: "subprocess.Popen[bytes]"
    input: IO[bytes]
    output: IO[bytes]
    errors: IO[bytes]
    unread: bytes = b""
    errors_seen: int = 0

    def new_errors(self) -> str:
        """Return what it has written to its error output since the last answer."""
        size = os.fstat(self.errors.fileno()).st_size
        new = os.pread(self.errors.fileno(), size - self.errors_seen, self.errors_seen)
        self.errors_seen = size
        return new.decode(errors="replace")

    def end(self) -> None:
        """End its input, then wait for it, then kill it."""
        self.input.close()
        try:
            self.process.wait(_END)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.output.close()
        self.errors.close()


class LineProgram:
    """Runs a mechanism in a program that answers lines; started again if it ends with an error.

    The first run has a process of its own, whose input then ends: a line too many that comes
    before the program ends, or in five seconds, is seen, and no answer is taken for that to the
    question before.

    What it prints that is not JSON is compared as text. What it has written to its error output
    when it answers is part of what it shows, and so is its exit status if it ends instead.

    Parameters
    ----------
    program : sequence of str
        The program and its arguments.
    patience : float, seconds to wait for an answer.

    Raises
    ------
    SilentProgramError
        When it is called, if no line is answered in that time, as by a program that reads all of
        its input first; if the program ends instead, without an error; or if it answers with more
        than one line.
    """

    def __init__(self, program: Sequence[str], patience: float = 60) -> None:
        self.__name__ = program[0]
        self._program = list(program)
        self._patience = patience
        self._running: _Running | None = None
        self._tried = False

    def __call__(self, data: Any) -> Any:
        """Return what the program answers to `data`."""
        running = self._started()
        if running.unread or select.select([running.output], [], [], 0)[0]:
            self._refuse_more(running)
        try:
            line = self._line(running, json.dumps(data).encode() + b"\n")
        except BrokenPipeError:
            line = None
        except BaseException:  # else a later question would get this one's answer
            self._stop()
            raise
        if line is None:
            return self._ended(running)
        errors = running.new_errors()
        if not self._tried:
            self._try_for_more(running)
        return {"printed": _json(line), "errors": errors} if errors else _json(line)

    def _try_for_more(self, running: _Running) -> None:
        """End the input after the first answer, and wait whether more than a line comes."""
        self._tried = True
        running.input.close()
        if running.unread or select.select([running.output], [], [], _MORE)[0]:
            self._refuse_more(running)
        self._stop()

    def _refuse_more(self, running: _Running) -> None:
        """Raise the error of a line too many; a program that has ended is none."""
        more = running.unread or os.read(running.output.fileno(), _PIECE)
        if more:
            self._stop()
            raise self._silent("it answers with more than one line")

    def _started(self) -> _Running:
        if self._running is None:
            errors = cast(IO[bytes], tempfile.TemporaryFile())  # noqa: SIM115 - `end` closes it
            pipe = subprocess.PIPE
            process = subprocess.Popen(  # noqa: S603
                self._program, stdin=pipe, stdout=pipe, stderr=errors, bufsize=0
            )
            streams = cast(IO[bytes], process.stdin), cast(IO[bytes], process.stdout)
            self._running = _Running(process, *streams, errors)
            self._end = weakref.finalize(self, self._running.end)
        return self._running

    def _line(self, running: _Running, question: bytes) -> bytes | None:
        """Ask, and return the next line, or None if the program has ended."""
        until = time.monotonic() + self._patience
        while question or b"\n" not in running.unread:
            left = max(until - time.monotonic(), 0)
            asking = [running.input] if question else []
            reads, writes, _ = select.select([running.output], asking, [], left)
            if not reads and not writes:
                raise self._silent(f"it has not in {self._patience:g} seconds")
            if writes:
                question = question[os.write(running.input.fileno(), question[:_AT_ONCE]) :]
            if not reads:
                continue
            piece = os.read(running.output.fileno(), _PIECE)
            if not piece:
                return None
            running.unread += piece
        line, _, running.unread = running.unread.partition(b"\n")
        return line

    def _ended(self, running: _Running) -> dict[str, Any]:
        try:
            status, printed = running.process.wait(self._patience), running.unread
        except subprocess.TimeoutExpired:
            self._stop()
            raise self._silent("it has closed its output") from None
        shown = {"printed": _json(printed), "status": status, "errors": running.new_errors()}
        self._stop()
        if not status and not printed:
            raise self._silent("it ended instead")
        return shown

    def _stop(self) -> None:
        self._end()
        self._running = None

    def _silent(self, why: str) -> SilentProgramError:
        return SilentProgramError(
            f"{self._program[0]} must answer each line of input with a line of output; {why}"
        )


def _json(line: bytes) -> Any:
    text = line.decode(errors="replace")
    try:
        return read_json(text, finite=False)
    except ValueError:
        return text
