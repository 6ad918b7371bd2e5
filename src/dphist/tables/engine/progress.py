"""Telling a caller how far DuckDB has got."""

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
    """Call `progress` now and then, from a thread, while the block runs a query.

    Parameters
    ----------
    connection : DuckDB connection
        The one the block uses. Its progress bar must be enabled, its printing off; in a notebook
        without ipywidgets DuckDB allows neither, and cannot say how far it is.
    progress : function of a float, or None
        Gets a fraction from 0 to 1 that never falls, and 1 when the block has succeeded.
        It is called from another thread. If it raises, or if DuckDB cannot say how far it
        is, it is not called again: progress must never cost a result.
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
        with exceptions_wait():  # a thread that is left would ask a connection that is closed
            done.set()
            if thread.is_alive():
                thread.join()
    if not failed.is_set():
        _last_call(progress)


def _last_call(progress: Progress) -> None:
    """Say 1, which has to survive a broken callback like all the others."""
    try:
        progress(1.0)
    except Exception:
        return
