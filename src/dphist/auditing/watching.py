"""Running something while all that it says is kept: result, error, warnings, output."""

import contextlib
import io
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dphist.auditing.line_program import SilentProgramError


@dataclass(frozen=True)
class Shown:
    """What a run returned, or the error it raised, and what it said beside that."""

    result: Any
    error: str
    warned: str
    printed: str
    logged: str


def seen(run: Callable[[Any], Any], data: Any) -> Shown:
    """Run once and return everything that somebody could see of it."""
    out, err = io.StringIO(), io.StringIO()
    result, error = None, ""
    with (
        warnings.catch_warnings(record=True) as warned,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        warnings.simplefilter("always")
        try:
            result = run(data)
        except SilentProgramError:  # no outcome: the program cannot be audited so
            raise
        except Exception as raised:  # whatever it is, it was shown
            error = f"{type(raised).__name__}: {raised}"
    said = "; ".join(str(each.message) for each in warned)
    return Shown(result, error, said, out.getvalue(), err.getvalue())
