"""Work that the handler of a signal must not cut in two.

Python runs a signal's handler in its main thread, between any two steps of what runs there, and
a handler may raise: that of Ctrl-C raises KeyboardInterrupt. It can leave a query running that
nobody waits for, or one output of three in its place. In other threads no handler runs, and what
is here does nothing.
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


def stoppable(function: Callable[P, T]) -> Callable[P, T]:
    """Have a function raise what a signal's handler raises while it runs, and nothing else then.

    The handler may be run in a callback of a library, which makes an error of its own of what it
    raises, or in a finalizer, which drops it.
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
            _raise_first(raised)

    return stopped


@contextmanager
def exceptions_wait() -> Iterator[Sequence[BaseException]]:
    """Run signal handlers as they come, and hold back what they raise until the block has ended.

    Yields
    ------
    What waits so far. It is raised at the end, in place of what the block raises.
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
        _raise_first(waiting)


@contextmanager
def handlers_wait() -> Iterator[None]:
    """Hold back signal handlers themselves until the block has ended."""
    waiting: list[tuple[Handler, int]] = []

    def heard(handler: Handler, number: int, frame: FrameType | None) -> None:
        waiting.append((handler, number))

    try:
        with _handled(heard):
            yield
    finally:
        for handler, number in waiting:
            handler(number, None)


def _raise_first(raised: list[BaseException]) -> None:
    """Raise the first of some exceptions, if there is one.

    It must not be left in a list that one of its own frames refers to: such a circle would keep
    what the frames hold, a database perhaps, until it is found.
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
    """Have signals that have a handler in Python heard by `heard`, which gets that handler."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    found = {int(number): signal.getsignal(number) for number in signal.valid_signals()}
    before = {number: handler for number, handler in found.items() if callable(handler)}
    inside = True

    def handle(number: int, frame: FrameType | None) -> None:
        if inside:
            heard(before[number], number, frame)
        else:  # left in place below, by another handler that raised
            before[number](number, frame)

    try:
        for number in before:
            signal.signal(number, handle)
        yield
    finally:
        inside = False
        for number, handler in before.items():
            signal.signal(number, handler)
