"""Work on many items in threads, also in a program whose main thread has ended."""

import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TypeVar

S = TypeVar("S")
T = TypeVar("T")


def in_threads(work: Callable[[S], T], items: Iterable[S], threads: int) -> list[T]:
    """Return what `work` makes of each item, in their order.

    This thread works too, and alone where no other can be started. The pools of the standard
    library take no work once the main thread has ended, and then how many rows a table has would
    decide whether it can be counted.
    """
    given = list(items)
    results: dict[int, T] = {}
    errors: list[BaseException] = []
    places, lock = iter(range(len(given))), threading.Lock()

    def run() -> None:
        while not errors:
            with lock:
                place = next(places, None)
            if place is None:
                return
            try:
                results[place] = work(given[place])
            except BaseException as error:
                errors.append(error)

    helpers = [threading.Thread(target=run) for _ in range(min(threads, len(given)) - 1)]
    started = []
    try:
        for helper in helpers:
            with suppress(RuntimeError):
                helper.start()
                started.append(helper)
        run()
    finally:
        for helper in started:
            helper.join()
    if errors:
        raise errors[0]
    return [results[place] for place in range(len(given))]
