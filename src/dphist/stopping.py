"""Work that a signal handler must not interrupt halfway.

Python runs signal handlers in its main thread, between any two bytecode instructions, and a
handler may raise: Ctrl-C raises KeyboardInterrupt. This can leave a query running that nobody
waits for, or one output of three in its place. Other threads run no handlers; there, the functions
of this module do nothing.
"""

import functools
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, ParamSpec, TypeAlias, TypeVar

Handler: TypeAlias = Callable[[int, FrameType | None], Any]
P = ParamSpec("P")
T = TypeVar("T")

_SIGNALS = tuple(map(int, signal.valid_signals()))


def stoppable(function: Callable[P, T]) -> Callable[P, T]:
    """Make a function raise exactly what a signal handler raises while the function runs.

    The handler may run in a callback of a library, which would replace the exception with an error
    of its own, or in a finalizer, which would drop it.
    """

    @functools.wraps(function)
    def stopped(*args: P.args, **kwargs: P.kwargs) -> T:
        raised: list[BaseException] = []

        def heard(handler: Handler, number: int, frame: FrameType | None) -> None:
            try:
                handler(number, frame)
            except BaseException as error:
                raised.append(error)
                raise

        try:
            with _handled(heard):
                return function(*args, **kwargs)
        finally:
            raise_first(raised)

    return stopped


@contextmanager
def exceptions_wait() -> Iterator[Sequence[BaseException]]:
    """Run signal handlers as signals arrive, but delay their exceptions to the end of the block.

    Yields
    ------
    The delayed exceptions so far. The first is raised at the end, in place of the block's own.
    """
    waiting: list[BaseException] = []

    def heard(handler: Handler, number: int, frame: FrameType | None) -> None:
        try:
            handler(number, frame)
        except BaseException as error:
            waiting.append(error)

    try:
        with _handled(heard):
            yield waiting
    finally:
        raise_first(waiting)


@contextmanager
def handlers_wait() -> Iterator[None]:
    """Delay signal handlers to the end of the block."""
    waiting: list[tuple[Handler, int]] = []

    def heard(handler: Handler, number: int, frame: FrameType | None) -> None:
        waiting.append((handler, number))

    try:
        with _handled(heard):
            yield
    finally:
        for handler, number in waiting:
            handler(number, None)


def raise_first(raised: list[BaseException]) -> None:
    """Raise the first of a list of exceptions, if there is one.

    The list is cleared because a frame of the exception refers to it. That reference cycle would
    keep the objects of the frames, such as a database, alive until the garbage collector runs.
    """
    if not raised:
        return
    first = raised[0]
    raised.clear()
    try:
        raise first from None
    finally:
        del first


@contextmanager
def _handled(heard: Callable[[Handler, int, FrameType | None], None]) -> Iterator[None]:
    """Pass each signal that has a Python handler to `heard`, together with that handler."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    found = {number: signal.getsignal(number) for number in _SIGNALS}
    before = {number: handler for number, handler in found.items() if callable(handler)}
    inside = True

    def handle(number: int, frame: FrameType | None) -> None:
        if inside:
            heard(before[number], number, frame)
        else:  # still installed: another handler raised while the old ones were restored
            before[number](number, frame)

    try:
        for number in before:
            signal.signal(number, handle)
        yield
    finally:
        inside = False
        for number, handler in before.items():
            signal.signal(number, handler)
