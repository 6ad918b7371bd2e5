"""Progress of a DuckDB query."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

import duckdb

from dphist.stopping import exceptions_wait

Progress: TypeAlias = Callable[[float], None]

_SECONDS_BETWEEN = 0.25


@contextmanager
def reported(connection: duckdb.DuckDBPyConnection, progress: Progress | None) -> Iterator[None]:
    """Call `progress` periodically, from a thread, while the block runs a query.

    Parameters
    ----------
    connection : DuckDB connection
        The connection of the block, with its progress bar enabled and not printed. In a notebook
        without ipywidgets DuckDB allows neither, and reports no progress.
    progress : function of a float, or None
        Gets a nondecreasing fraction from 0 to 1, and 1 when the block has succeeded. It is called
        from another thread. If it raises, or DuckDB reports no progress, it is not called again:
        progress must never cost a result.
    """
    if progress is None:
        yield
        return
    done = threading.Event()
    failed = threading.Event()

    def poll() -> None:
        shown = 0.0
        while not done.wait(_SECONDS_BETWEEN):
            try:
                fraction = min(connection.query_progress() / 100, 1.0)  # -1 before it knows
                if fraction > shown:
                    shown = fraction
                    progress(fraction)
            except Exception:
                failed.set()
                return

    thread = threading.Thread(target=poll, name="dphist-progress")
    try:
        with exceptions_wait():
            thread.start()
        yield
    finally:
        with exceptions_wait():  # a remaining thread would use a closed connection
            done.set()
            if thread.is_alive():
                thread.join()
    if not failed.is_set():
        _last_call(progress)


def _last_call(progress: Progress) -> None:
    """Report 1; like all calls, this must survive a callback that raises."""
    try:
        progress(1.0)
    except Exception:
        return
