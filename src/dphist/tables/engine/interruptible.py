"""Letting a person, or the system, stop a long query at once."""

import contextlib
import threading
from collections.abc import Callable
from typing import TypeVar

import duckdb

from dphist.stopping import exceptions_wait

T = TypeVar("T")

_SECONDS_BETWEEN = 0.1


def interruptible(connection: duckdb.DuckDBPyConnection, call: Callable[[], T]) -> T:
    """Return ``call()``, run in a thread, so that this one stays free to hear signals.

    Python handles a signal in its main thread between two of its own steps, and a query is
    one step: Ctrl-C would be heard when the query has ended.

    Whatever a signal's handler raises, also while the thread is being started, waits until the
    query was interrupted and the thread has ended. Otherwise the connection would be closed while
    it is in use, which DuckDB refuses, and Python would end while a thread of its own is in
    DuckDB: such a thread is unwound through C++ code that allows no exception, and the process
    aborts.
    """
    results: list[T] = []
    errors: list[BaseException] = []
    ended = threading.Event()

    def work() -> None:
        try:
            results.append(call())
        except BaseException as error:
            errors.append(error)
        finally:
            ended.set()

    # No daemon: if ever one were left, Python would wait for it, and not abort.
    thread = threading.Thread(target=work, name="dphist-query")
    with exceptions_wait() as waiting:
        thread.start()
        while not ended.wait(_SECONDS_BETWEEN):
            if waiting:
                # Again and again, as a query forgets an interrupt that came before it began.
                with contextlib.suppress(duckdb.Error):
                    connection.interrupt()
        thread.join()
    if errors:
        raise errors[0]
    return results[0]
