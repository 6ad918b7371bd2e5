"""Letting a person, or the system, stop a long query at once."""

import threading
from collections.abc import Callable
from typing import TypeVar

import duckdb

T = TypeVar("T")

_SECONDS_BETWEEN = 0.1


def interruptible(connection: duckdb.DuckDBPyConnection, call: Callable[[], T]) -> T:
    """Return ``call()``, run in a thread, so that this one stays free to hear signals.

    Python handles a signal in its main thread between two of its own steps, and a query is
    one step: Ctrl-C would be heard when the query has ended.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            results.append(call())
        except BaseException as error:
            errors.append(error)
        finally:
            ended.set()

    # An event, as Python 3.11 takes a thread for ended once a `join` was interrupted.
    ended = threading.Event()
    threading.Thread(target=work, name="dphist-query", daemon=True).start()
    try:
        while not ended.wait(_SECONDS_BETWEEN):
            pass
    except BaseException:
        connection.interrupt()
        ended.wait()
        raise
    if errors:
        raise errors[0]
    return results[0]
