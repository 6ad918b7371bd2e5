"""Queries that a signal stops at once."""

import contextlib
import contextvars
import threading
from collections.abc import Callable
from typing import TypeVar

import duckdb

from dphist.signals import exceptions_wait

T = TypeVar("T")

_SECONDS_BETWEEN = 0.1


def interruptible(connection: duckdb.DuckDBPyConnection, call: Callable[[], T]) -> T:
    """Return ``call()``, run in a thread, so that this thread can handle signals.

    Python handles signals in its main thread between two bytecode instructions, and a query is
    one instruction: Ctrl-C would take effect only after the query.

    An exception from a signal handler, also while the thread starts, is delayed until the query is
    interrupted and the thread has ended. Otherwise the connection would be closed while in use,
    which DuckDB refuses, and Python could exit while a thread is inside DuckDB: unwinding this
    thread through C++ code that allows no exception aborts the process.
    """
    results: list[T] = []
    errors: list[BaseException] = []
    ended = threading.Event()

    settings = contextvars.copy_context()  # such as `Resources`

    def work() -> None:
        try:
            results.append(settings.run(call))
        except BaseException as error:
            errors.append(error)
        finally:
            ended.set()

    # Not a daemon thread: at exit, Python waits for the thread instead of aborting.
    thread = threading.Thread(target=work, name="dphist-query")
    with exceptions_wait() as waiting:
        try:
            thread.start()
        except RuntimeError:
            # Python 3.12 starts none once the main thread has ended, which then hears no signals.
            work()
        while not ended.wait(_SECONDS_BETWEEN):
            if waiting:
                # Repeatedly, because an interrupt before the start of a query has no effect.
                with contextlib.suppress(duckdb.Error):
                    connection.interrupt()
        if thread.ident is not None:
            thread.join()
    if errors:
        raise errors[0]
    return results[0]
