"""Running an engine so that nothing it says about the data gets out.

DuckDB quotes the line of a CSV file it cannot read, Polars the value it cannot cast, NumPy
the size of the array it could not get. Such text is a record, shown without noise. So
every call into an engine goes through `shielded`, which drops the engine's exception and
raises ours after the `except` block has ended: the engine's is then reachable neither as
``__cause__`` nor as ``__context__``.
"""

from collections.abc import Callable
from typing import TypeVar

from dphist.errors import DphistError

T = TypeVar("T")


def shielded(call: Callable[[], T], problem: DphistError, shortage: DphistError | None = None) -> T:
    """Return ``call()``; whatever goes wrong inside becomes `problem`.

    Parameters
    ----------
    call : function of no arguments
        The work of an engine.
    problem : DphistError
        What is raised in place of the engine's exception. Its text is fixed before the
        call, so it cannot depend on the data.
    shortage : DphistError, optional
        Raised in place of `problem` when memory or disk ran out.

    Raises
    ------
    KeyboardInterrupt, SystemExit
        Passed on: somebody asked to stop.
    """
    try:
        return call()
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # a Rust panic in Polars is no Exception
        interrupted = _was_interrupted(error)
        raised = shortage if shortage is not None and _ran_out(error) else problem
    if interrupted:
        raise KeyboardInterrupt
    raise raised


def _was_interrupted(error: BaseException) -> bool:
    """Whether this is how DuckDB reports Ctrl-C."""
    return type(error).__name__ == "InterruptException" or str(error) == "Query interrupted"


def _ran_out(error: BaseException) -> bool:
    """Whether an engine stopped for want of memory or of disk."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryException":
        return True
    return "No space left" in str(error)
