"""Work on many items in threads, also in a program whose main thread has ended."""

import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TypeVar

from dphist.signals import raise_first

S = TypeVar("S")
T = TypeVar("T")


def in_threads(work: Callable[[S], T], items: Iterable[S], threads: int) -> list[T]:
    """Return what `work` makes of each item, in their order.

    This thread works too, and alone where no other can be started. The pools of the standard
    library take no work once the main thread has ended, and then how many rows a table has would
    decide whether it can be counted. Call it where no signal handler runs, as in the thread of
    `interruptible`: helpers are not waited for if this thread is interrupted.
    """
    given = list(items)
    results: dict[int, T] = {}
    errors: list[BaseException] = []
    places, lock = iter(range(len(given))), threading.Lock()

    def run() -> None:
        try:
            while not errors:
                with lock:
                    place = next(places, None)
                if place is None:
                    return
                results[place] = work(given[place])
        except BaseException as error:
            errors.append(error)

    helpers = [threading.Thread(target=run) for _ in range(min(threads, len(given)) - 1)]
    with suppress(RuntimeError):
        for helper in helpers:
            helper.start()
    run()
    for helper in helpers:
        if helper.ident is not None:
            helper.join()
    raise_first(errors)
    return [results[place] for place in range(len(given))]
