"""A time limit that also holds within a call: it is cut where the time is up."""

import math
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

from dphist.stopping import stoppable

T = TypeVar("T")


class OutOfTimeError(BaseException):
    """The time of a call is up.

    Not an `Exception`: no handler in the call for errors of its own may take it.
    """


def within(seconds: float, call: Callable[[], T]) -> T:
    """Return the result of a call, or raise `OutOfTimeError` once so many seconds have passed.

    A timer of the system interrupts the call between two lines of Python. It needs the main thread
    and a system with such timers (not Windows); elsewhere the call always runs to its end.
    """
    timed = hasattr(signal, "setitimer") and seconds < math.inf
    if not timed or threading.current_thread() is not threading.main_thread():
        return call()
    inside = True

    def stop(_number: int, _frame: FrameType | None) -> None:
        if inside:
            raise OutOfTimeError

    before = signal.signal(signal.SIGALRM, stop)
    begun = time.monotonic()
    others, again = 0.0, 0.0
    try:
        try:
            others, again = signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-6))
            return stoppable(call)()
        finally:
            inside = False
            signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.signal(signal.SIGALRM, before)
        if others:  # a timer of the caller's goes on
            left = max(others - (time.monotonic() - begun), 1e-6)
            signal.setitimer(signal.ITIMER_REAL, left, again)
