"""What is audited: a mechanism, any callable of data or a program, with its kind's neighbors."""

import contextlib
import inspect
import json
import os
import random
import select
import subprocess
import tempfile
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import IO, Any, cast

import numpy as np

from dphist.data.label_counts import LabelCounts
from dphist.data.open_data import open_labels, open_listed, open_profile, open_users
from dphist.data.profile import Profile
from dphist.document.audited import AuditedClass, Auditing, OpenLabels, Pair, Setup, Statement
from dphist.document.kind import kind_of_mechanism, kinds
from dphist.errors import DphistError, ParameterError, UnsupportedError
from dphist.foreign import read_json
from dphist.mechanism import Mechanism
from dphist.release.release import Release


def find_auditing(mechanism: Any) -> Auditing | None:
    """Return what is declared for a mechanism; None for a callable, and where nothing is."""
    kind = None if mechanism is None else kind_of_mechanism(mechanism)
    return None if kind is None else kind.auditing


def list_audited() -> dict[type[Any], AuditedClass]:
    """Return the classes of mechanisms that kinds name, in the order of kinds."""
    found: dict[type[Any], AuditedClass] = {}
    for kind in kinds():
        if kind.auditing is not None:
            found = {**found, **kind.auditing.mechanisms, **found}  # others replace none of ours
    return found


def find_setup(mechanism: Any) -> Setup:
    """Return how a mechanism, or a callable, is replayed on data as they are."""
    declared = find_auditing(mechanism)
    if declared is None:
        return Setup()
    setup = declared.find_setup(mechanism)

    def opening(asked: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *data: asked(*(_open_contents(mechanism, each) for each in data))

    told = {number: opening(tell) for number, tell in setup.told.items()}
    return replace(setup, told=told, is_meant=opening(setup.is_meant))


def find_statement(mechanism: Any) -> Statement | None:
    """Return where the releases of a mechanism state their noisy numbers; None if nowhere."""
    declared = find_auditing(mechanism)
    audited = None if declared is None else declared.mechanisms.get(type(mechanism))
    return None if audited is None else audited.statement


def read_stated(mechanism: Any, release: Any, data: Any) -> tuple[int, ...] | None:
    """Return the noisy numbers that a release of data states; None if it states none."""
    statement = find_statement(mechanism)
    if statement is None or not isinstance(release, Release):
        return None
    numbers = statement.read(mechanism, release, _open_contents(mechanism, data))
    return None if numbers is None else tuple(numbers)


def _open_contents(mechanism: Any, data: Any) -> Any:
    """Return data with their contents, as the declarations of kinds read them."""
    kind = kind_of_mechanism(mechanism)
    if kind is not None and kind.data_type is LabelCounts and not isinstance(data, LabelCounts):
        # What is no table is refused by the mechanism, and that of others may have no bounds.
        with contextlib.suppress(DphistError, AttributeError):
            data = LabelCounts.promised(data, mechanism.max_labels, mechanism.max_count)
    if isinstance(data, Profile):
        return open_profile(data)
    if isinstance(data, LabelCounts):
        met = open_labels(data)
        counts = np.asarray(met.column("count"), np.int64)
        labels, listed = met.column("label").to_pylist(), partial(open_listed, data)
        return OpenLabels(labels, counts, listed, *open_users(data))
    return data


Run = Callable[[Any], Any]


@dataclass(frozen=True)
class Subject:
    """How to run what is audited, and what it is called."""

    run: Run
    name: str
    mechanism: Any = None


def make_subject(audited: Any) -> Subject:
    """Return how to run a mechanism or a callable; ParameterError for anything else."""
    declared = find_auditing(audited)
    if declared is not None and declared.run is not None:
        return Subject(declared.run(audited), type(audited).__name__, audited)
    if isinstance(audited, Mechanism):
        return Subject(audited.release, type(audited).__name__, audited)
    if callable(audited) and not inspect.isclass(audited):
        return Subject(audited, getattr(audited, "__name__", type(audited).__name__))
    raise ParameterError("mechanism", "must be a mechanism, or a callable that takes data")


def command(words: Sequence[str], *, lines: bool = False) -> Run:
    """Return a callable that runs a program: the data as JSON on its input, JSON on its output.

    So a mechanism in any language can be audited. What the program prints that is not JSON is
    compared as text; its exit status and its error output are part of what it shows.

    Parameters
    ----------
    words : sequence of str
        The program and its arguments.
    lines : bool
        The program is started once. It reads data as JSON, one a line, and answers each with a
        line of JSON, which it must flush. This saves the time of starting it for each run; but
        what it keeps from run to run is judged by the runs it shows.
    """
    if isinstance(words, str) or not words:
        raise ParameterError("words", "must be the program and its arguments, as a list")
    program = list(words)
    if lines:
        return LineProgram(program)

    def run(data: Any) -> Any:
        text = json.dumps(data)
        done = subprocess.run(program, input=text, capture_output=True, text=True, check=False)  # noqa: S603
        try:
            printed = read_json(done.stdout, finite=False)
        except ValueError:
            printed = done.stdout
        if done.returncode or done.stderr:
            return {"printed": printed, "status": done.returncode, "errors": done.stderr}
        return printed

    run.__name__ = program[0]
    return run


Variants = Callable[[Pair, random.Random], Iterator[Pair]]
"""Returns neighbors that are like a pair, both data sets changed alike."""


def make_pairs(mechanism: Any) -> tuple[Pair, ...]:
    """Return neighbors for a mechanism, as its kind makes them: edge cases first, then random ones.

    Raises
    ------
    ParameterError
        If the mechanism is of no kind that declares neighbors.
    """
    declared = find_auditing(mechanism)
    if declared is None:
        raise ParameterError(
            "neighbours", "must be given: no kind of dphist says what data this mechanism takes"
        )
    return tuple(_usable(declared.neighbors(mechanism).pairs(), mechanism))


def find_variants(mechanism: Any) -> Variants | None:
    """Return what makes pairs like those that showed most; None if no kind is known."""
    declared = find_auditing(mechanism)
    if declared is None:
        return None
    neighbors = declared.neighbors(mechanism)

    def vary(pair: Pair, draw: random.Random) -> Iterator[Pair]:
        if pair.raw is not None:
            yield from _usable(neighbors.vary(pair.name, pair.raw, draw), mechanism)

    return vary


def _usable(pairs: Iterator[Pair], mechanism: Any) -> Iterator[Pair]:
    """Leave out huge counts that the mechanism refuses, in both data sets alike."""
    run = make_subject(mechanism).run
    for pair in pairs:
        if not pair.huge or not all(_refuses(run, data) for data in (pair.one, pair.other)):
            yield pair


def _refuses(run: Run, data: Any) -> bool:
    try:
        run(data)
    except DphistError:
        return True
    return False


def check_pairs(neighbors: Any) -> tuple[Pair, ...]:
    """Return the caller's own pairs: `(one, other)` or `(name, one, other)` each."""
    pairs = []
    try:
        for number, each in enumerate(neighbors, 1):
            name, one, other = each if len(each) == 3 else (f"pair {number}", *each)
            pairs.append(Pair(str(name), one, other))
    except (TypeError, ValueError):
        pairs = []
    if not pairs:
        raise ParameterError(
            "neighbours",
            "must be pairs (one, other), or triples with a name first: data that differ in one "
            "protected unit",
        )
    return tuple(pairs)


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
    before the program ends, or in five seconds, is seen, and no answer is mistaken for that to the
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
        running = self._start()
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
            return self._note_end(running)
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

    def _start(self) -> _Running:
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

    def _note_end(self, running: _Running) -> dict[str, Any]:
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
