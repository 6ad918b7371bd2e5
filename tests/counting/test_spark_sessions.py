"""Sessions of Spark that were stopped, and checkpoints in the session of their frame."""

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from dphist.counting.engine.spark import checkpoint, refuse_stopped
from dphist.errors import DataError
from tests.support.refusal import refused

STOPPED = DataError("it was stopped")


class Connect:
    """A session of Connect: each thread has an active one, in a variable of the class."""

    _active_session = threading.local()

    def __init__(self, stopped: bool = False) -> None:
        self.is_stopped = stopped


Connect.__module__ = "pyspark.sql.connect.session"


def classic(stopped: bool) -> Any:
    """A classic session whose Java context was stopped, or not."""
    java = SimpleNamespace(sc=lambda: SimpleNamespace(isStopped=lambda: stopped))
    return SimpleNamespace(sparkContext=SimpleNamespace(_jsc=java))


GONE = SimpleNamespace(sparkContext=SimpleNamespace(_jsc=None))


@pytest.mark.parametrize("session", [Connect(stopped=True), classic(stopped=True), GONE])
def test_stopped_sessions_are_refused(session: Any) -> None:
    with refused(DataError, "stopped"):
        refuse_stopped(session, STOPPED)


@pytest.mark.parametrize("session", [Connect(), classic(stopped=False), SimpleNamespace()])
def test_others_are_not(session: Any) -> None:
    """Nor one that cannot say."""
    refuse_stopped(session, STOPPED)


def frame_of(session: Any, *, fails: bool = False) -> Any:
    """A frame whose checkpoint is the session that is active while it is made."""

    def made(eager: bool) -> Any:
        assert eager
        if fails:
            raise RuntimeError("lost")
        return getattr(Connect._active_session, "session", None)

    return SimpleNamespace(sparkSession=session, localCheckpoint=made)


def test_a_checkpoint_is_made_in_the_session_of_its_frame() -> None:
    """The thread's own session is active again afterwards, also after an error."""
    callers, own = Connect(), Connect()
    Connect._active_session.session = callers
    assert checkpoint(frame_of(own)) is own
    with pytest.raises(RuntimeError):
        checkpoint(frame_of(own, fails=True))
    assert Connect._active_session.session is callers
    assert checkpoint(frame_of(GONE)) is callers  # a classic session has its own checkpoints
