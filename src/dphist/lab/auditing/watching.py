"""Running something while all that it says is kept: result, error, warnings, output."""

import io
import sys
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, NamedTuple, Self

from dphist.lab.auditing.line_program import SilentProgramError


class Shown(NamedTuple):
    """What a run returned, or the error it raised, and what it said beside that."""

    result: Any
    error: str
    warned: str
    printed: str
    logged: str


class Watch:
    """Keeps what runs say. It stays open for many: to open it takes longer than most runs."""

    def __enter__(self) -> Self:
        self._output = sys.stdout, sys.stderr
        self._stack = ExitStack()
        try:
            self._listen()
        except BaseException:  # an interrupt
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        sys.stdout, sys.stderr = self._output
        self._stack.close()

    def _listen(self) -> None:
        self._warned = self._stack.enter_context(warnings.catch_warnings(record=True))
        warnings.simplefilter("always")
        self._filters, self._show = list(warnings.filters), warnings.showwarning

    def see(self, run: Callable[[Any], Any], data: Any) -> Shown:
        """Run once and return everything that somebody could see of it."""
        if warnings.filters != self._filters or warnings.showwarning is not self._show:
            self._stack.close()  # an earlier run has left them changed
            self._listen()
        sys.stdout, sys.stderr = out, err = io.StringIO(), io.StringIO()
        result, error = None, ""
        try:
            result = run(data)
        except SilentProgramError:  # no outcome: the program cannot be audited so
            raise
        except Exception as raised:  # whatever it is, it was shown
            error = f"{type(raised).__name__}: {raised}"
        said = "; ".join(str(each.message) for each in self._warned)
        self._warned.clear()
        return Shown(result, error, said, out.getvalue(), err.getvalue())


def watch_run(run: Callable[[Any], Any], data: Any) -> Shown:
    """Run once and return everything that somebody could see of it."""
    with Watch() as watch:
        return watch.see(run, data)
