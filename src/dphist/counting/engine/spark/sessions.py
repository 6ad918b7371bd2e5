"""Sessions of Spark, of which a process may have several, and one may have been stopped."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from dphist.errors import DphistError


def refuse_stopped(session: Any, problem: DphistError) -> None:
    """Raise `problem` if a session was stopped; Spark's own errors would be about other things."""
    stopped = False
    with suppress(Exception):  # a session that cannot say fails where it is used
        stopped = _is_stopped(session)
    if stopped:
        raise problem


def checkpoint(frame: Any) -> Any:
    """Evaluate a dataframe, and return it as an eager local checkpoint in its own session."""
    with _active(frame.sparkSession):
        return frame.localCheckpoint(eager=True)


def is_connect(session: Any) -> bool:
    """Whether this is a session of Spark Connect."""
    return "connect" in type(session).__module__


@contextmanager
def _active(session: Any) -> Iterator[None]:
    """Make a session that of this thread while the block runs.

    PySpark's client for Connect takes a checkpoint for one of the thread's session, or else of the
    process's first one, whichever session made it. The server then knows no such checkpoint.
    """
    active = getattr(type(session), "_active_session", None) if is_connect(session) else None
    if active is None:
        yield
        return
    before = getattr(active, "session", None)
    active.session = session
    try:
        yield
    finally:
        active.session = before


def _is_stopped(session: Any) -> bool:
    if is_connect(session):
        return bool(session.is_stopped)
    java = session.sparkContext._jsc  # PySpark drops it where it stops
    return java is None or bool(java.sc().isStopped())
