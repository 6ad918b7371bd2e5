"""What is audited: a mechanism, any callable of data, or a command that prints JSON."""

import inspect
import json
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dphist.errors import ParameterError
from dphist.foreign import read_json
from dphist.lab.auditing.declared import auditing_of
from dphist.lab.auditing.line_program import LineProgram
from dphist.mechanism import Mechanism

Run = Callable[[Any], Any]


@dataclass(frozen=True)
class Subject:
    """How to run what is audited, and what it is called."""

    run: Run
    name: str
    mechanism: Any = None


def subject_of(audited: Any) -> Subject:
    """Return how to run a mechanism or a callable; ParameterError for anything else."""
    declared = auditing_of(audited)
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
