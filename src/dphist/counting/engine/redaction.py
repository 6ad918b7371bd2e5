"""Calls into other libraries, without their messages about data.

DuckDB quotes the line of a CSV file it cannot read, Polars the value it cannot cast, and NumPy
warns of a number in a single record. Such text is a record, shown without noise. So every call into
a library with data goes through `redact_errors`: output and warnings are dropped (`quiet`), and
an exception is replaced by ours, raised after the `except` block has ended, so that the original is
reachable neither as ``__cause__`` nor as ``__context__``.
"""

from collections.abc import Callable
from typing import TypeVar

from dphist.counting.engine.quiet import quiet
from dphist.errors import DphistError

T = TypeVar("T")


def redact_errors(
    call: Callable[[], T], problem: DphistError, shortage: DphistError | None = None
) -> T:
    """Return ``call()``, silently; any error inside becomes `problem`.

    Parameters
    ----------
    call : function of no arguments
        Calls another library.
    problem : DphistError
        Raised in place of the library's exception. Its text is fixed before the call, so it
        cannot depend on the data.
    shortage : DphistError, optional
        Raised in place of `problem` when memory or disk ran out.

    Raises
    ------
    DphistError
        `problem` or `shortage`; or a DphistError raised by `call`, since ours show no data.
    KeyboardInterrupt, SystemExit
        Passed on.
    """
    interrupted = False
    try:
        with quiet():
            return call()
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except DphistError as error:
        raised = error
    except BaseException as error:  # a Rust panic in Polars is not an Exception
        interrupted = _was_interrupted(error)
        raised = shortage if shortage is not None and _ran_out(error) else problem
    if interrupted:
        raise KeyboardInterrupt
    raised.__cause__ = raised.__context__ = None
    raise raised


class Wall:
    """`redact_errors` for one source, which also passes our errors through an engine.

    Our checks of a batch may run inside an engine's call, and the engine replaces the exception of
    a check with its own. `noting` records ours.

    Attributes
    ----------
    problem, shortage : as for `redact_errors`.
    """

    __slots__ = ("_noted", "problem", "shortage")

    def __init__(self, problem: DphistError, shortage: DphistError | None = None) -> None:
        self.problem = problem
        self.shortage = shortage
        self._noted: DphistError | None = None

    def __call__(self, call: Callable[[], T]) -> T:
        """Return ``call()`` as `redact_errors` does; a recorded error has priority."""
        try:
            return redact_errors(call, self.problem, self.shortage)
        except DphistError as error:
            raised = error if self._noted is None else self._noted
        self._noted = None
        raised.__cause__ = raised.__context__ = None
        raise raised

    def noting(self, check: Callable[[], T]) -> T:
        """Return ``check()``; record the error it raises, for the outer call."""
        try:
            return check()
        except DphistError as error:
            self._noted = error
            raise


def _was_interrupted(error: BaseException) -> bool:
    """Whether this is how DuckDB reports Ctrl-C."""
    return type(error).__name__ == "InterruptException" or str(error) == "Query interrupted"


# How the system and C++ say that disk or memory ran out, as engines pass it on.
_SHORTAGES = ("No space left", "File too large", "Disk quota exceeded", "bad_alloc")

_SPILLED = "duckdb_temp_"
"""What DuckDB names spilled rows: its folder is gone, or on a disk that fails. FILE is sound."""


def _ran_out(error: BaseException) -> bool:
    """Whether an engine ran out of memory or disk."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryException":
        return True
    spilling = type(error).__name__ == "IOException" and _SPILLED in str(error)
    return spilling or any(text in str(error) for text in _SHORTAGES)
