"""A DuckDB of our own, in which nothing of a caller's can change what SQL means.

Bounding and counting rely on two labels being one exactly if they are the same bytes. On a
caller's connection that need not be so: columns and sessions have collations, to which `a` and
`A` are one, and macros may stand in for functions. So rows are streamed here first.
"""

import os
import secrets
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path

import duckdb

from dphist import leftovers
from dphist.errors import DataError
from dphist.stopping import exceptions_wait

# Beyond this DuckDB spills to its folder; benchmarks/large_file.py and benchmarks/label_speed.py
# measure what the process takes in all. Each thread needs a share, hence the limit on threads.
_MEMORY = "2GB"
_MOST_THREADS = 8
_UNITS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


def open_private_connection(stack: ExitStack, *, large: bool = False) -> duckdb.DuckDBPyConnection:
    """Return a connection that fetches and prints nothing, and spills into a folder of its own.

    Both are gone when `stack` is closed. Labels may be spilled, unencrypted; only the owner of
    the folder may read it, and ``TMPDIR`` says where it is made.

    Parameters
    ----------
    stack : what ends the use of the connection.
    large : whether to take a quarter of the memory there is, if that is more, before spilling: for
        bounding many users, which spilling makes twice as slow.
    """
    with exceptions_wait():  # of a signal in the middle, DuckDB would make an error of its own
        folder = _folder(stack)
        connection = duckdb.connect(
            config={
                "temp_directory": folder,
                "preserve_insertion_order": "false",
                "autoinstall_known_extensions": "false",
                "autoload_known_extensions": "false",
            }
        )
        stack.callback(_close, connection)
        quarter = _quarter(connection) if large else 0
        memory = f"{quarter}B" if quarter > 2 * 10**9 else _MEMORY
        connection.execute(f"SET memory_limit = '{memory}'")
        _keep_count_of_progress(connection)
        if connection.execute("SELECT current_setting('threads')").fetchall()[0][0] > _MOST_THREADS:
            connection.execute(f"SET threads = {_MOST_THREADS}")
    return connection


def _folder(stack: ExitStack) -> str:
    """Make a folder that only its owner may read, until `stack` is closed or the process ends."""
    folder = os.path.join(tempfile.gettempdir(), f"dphist-{secrets.token_hex(8)}")  # noqa: PTH118
    leftovers.remember(folder)
    stack.callback(_remove, folder)
    Path(folder).mkdir(mode=0o700)
    return folder


def _remove(folder: str) -> None:
    with exceptions_wait():
        leftovers.remove(folder)


def _close(connection: duckdb.DuckDBPyConnection) -> None:
    with exceptions_wait():
        connection.close()


def _keep_count_of_progress(connection: duckdb.DuckDBPyConnection) -> None:
    """Have DuckDB keep count of its progress, and print nothing of it.

    It does one only with the other. In a notebook without ipywidgets it cannot print, and so
    refuses to be asked for either; it then prints nothing and counts nothing.
    """
    with suppress(duckdb.InvalidInputException):
        connection.execute("SET enable_progress_bar_print = false")
        connection.execute("SET enable_progress_bar = true")


def out_of_room(work: str) -> DataError:
    """The error for DuckDB running out of memory or disk over some work, in words."""
    return DataError(
        f"{work} ran out of memory, or of disk below the folder of temporary files: point TMPDIR "
        "to a larger disk"
    )


def _quarter(connection: duckdb.DuckDBPyConnection) -> int:
    """Return a quarter of the memory DuckDB finds, in bytes: 80 % of it is its default limit."""
    limit = connection.execute("SELECT current_setting('memory_limit')").fetchall()[0][0]
    return int(_bytes(limit) / 0.8 / 4)


def _bytes(text: str) -> float:
    """Read a size as DuckDB writes it; 0 for anything else."""
    number, _, unit = text.partition(" ")
    return float(number) * _UNITS[unit] if unit in _UNITS else 0.0
