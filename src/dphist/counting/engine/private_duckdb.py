"""A private DuckDB, in which a caller cannot change the meaning of SQL, and which reads all rows.

Bounding and counting require that two labels are equal exactly if their bytes are. On a caller's
connection this may fail: columns and sessions may have collations for which `a` equals `A`, and
macros may replace functions. So rows are streamed into this database first.

An engine promises to return every row of a file or table. A record that it cannot read has made it
end early without an error, so the promise is compared with a number of our own: the records counted
in a text file, the rows in the footer of a Parquet file, the rows of a frame. Rows without a label
or user are left out by the query itself, so the number is that of the scan, from the profile that
DuckDB keeps of its last query. Filters stay above scans.
"""

import atexit
import ctypes
import json
import os
import secrets
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from dphist import files
from dphist.counting.engine.resources import resources
from dphist.errors import Argument, DataError, DphistError
from dphist.signals import exceptions_wait

# Beyond this DuckDB spills to its folder; benchmarks/large_file.py and benchmarks/label_speed.py
# measure the total memory of the process. Each thread needs a share, so threads are limited.
_MEMORY = 2 * 10**9
_MOST_THREADS = 8
# View of the rows of a table that is counted.
GIVEN = "dphist_given"
_UNITS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


def open_private_connection(
    stack: ExitStack, *, large: bool = False, spills: bool = True
) -> duckdb.DuckDBPyConnection:
    """Return a connection that downloads and prints nothing, and spills into its own folder.

    When `stack` is closed, the connection is closed, its tables are dropped, and its folder is
    removed. Spilled labels are not encrypted; only the owner of the folder may read them. The
    `Resources` in force say how much memory, how many threads, and where the folder is.

    Parameters
    ----------
    stack : closes the connection.
    large : whether to use a quarter of the machine's memory, if that is more than the default of
        2 GB, before spilling. Bounding many users takes twice as long with spilling.
    spills : False for a few rows, which never need the folder: making one takes a millisecond.

    Notes
    -----
    A database takes 20 ms to make. So one is kept for the next call: emptied, and with the settings
    above, as only this package runs SQL in it. No two connections share a database at any time.
    """
    with exceptions_wait():  # DuckDB would turn a signal here into an error of its own
        folder = make_folder(stack) if spills else ""
        database = _take_idle_database(folder) or _new_database(folder)
        connection = database.cursor()
        process = os.getpid()
        stack.push(lambda kind, *_: _close(database, connection, kind, process))
        asked = resources()
        memory = asked.bytes or default_memory(_quarter(connection), large=large)
        threads = asked.threads or min(_processors(connection), _MOST_THREADS)
        connection.execute(
            f"SET memory_limit = '{memory}B'; SET threads = {threads}; "
            "SET enable_profiling = 'no_output'"  # for `ExpectedRows`
        )
        _keep_count_of_progress(connection)
    return connection


# Databases that are empty and not in use, one or for a moment two, with the process that made each.
_idle: list[tuple[int, duckdb.DuckDBPyConnection]] = []


def _new_database(folder: str) -> duckdb.DuckDBPyConnection:
    return duckdb.connect(
        config={
            "temp_directory": folder,
            "preserve_insertion_order": "false",
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "enable_external_file_cache": "false",  # of one table, nothing stays for the next
            "disabled_optimizers": "filter_pushdown",  # a scan gives all rows
        }
    )


def _take_idle_database(folder: str) -> duckdb.DuckDBPyConnection | None:
    """Return the idle database, if this process has one, for use with another folder."""
    with suppress(IndexError):
        process, database = _idle.pop()
        if process != os.getpid():
            _leave_to_parent(database)
            return None
        try:
            if folder:
                database.execute(f"SET temp_directory = '{_escape_quotes(folder)}'")
        except duckdb.Error:
            database.close()
            return None
        return database
    return None


def _escape_quotes(text: str) -> str:
    return text.replace("'", "''")


def make_folder(stack: ExitStack) -> str:
    """Make a folder readable by its owner only, until `stack` is closed or the process ends."""
    below = Path(resources().temp or tempfile.gettempdir())
    folder = str(below / f"dphist-{secrets.token_hex(8)}")
    files.register_temporary(folder)
    stack.callback(_remove, folder)
    try:
        Path(folder).mkdir(mode=0o700)
    except OSError as error:
        reason = error.strerror or "the system refused"
    else:
        return folder
    raise DataError(f"no temporary folder could be made: {reason}; " + MORE_ROOM)


def _remove(folder: str) -> None:
    with exceptions_wait():
        files.remove_temporary(folder)


def _close(
    database: duckdb.DuckDBPyConnection,
    connection: duckdb.DuckDBPyConnection,
    kind: type[BaseException] | None,
    process: int,
) -> None:
    """Close a connection; keep its database if it is empty, and nothing but our errors ended it.

    `process` made it; another one, which was forked, leaves it alone.
    """
    if process != os.getpid():
        _leave_to_parent(connection, database)
        return
    with exceptions_wait():
        connection.close()
        ended_well = kind is None or issubclass(kind, DphistError)
        if ended_well and not _idle and _is_emptied(database):
            _idle.append((process, database))
        else:
            database.close()


def _leave_to_parent(*connections: duckdb.DuckDBPyConnection) -> None:
    """Never close what a forked process has of its parent's, not even when the process exits.

    Its threads are missing here, so that closing it, or dropping the last reference, could wait for
    ever or end the process with a signal. So it gets a reference that nobody drops.
    """
    for connection in connections:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))


def _is_emptied(database: duckdb.DuckDBPyConnection) -> bool:
    """Drop all tables and the rows given; return whether the database can be used again.

    One that has spilled cannot: it may hold files in its folder, and DuckDB allows it no other.
    """
    try:
        for (name,) in database.execute("SELECT table_name FROM duckdb_tables()").fetchall():
            database.execute(f'DROP TABLE "{name}"')
        database.execute(f"DROP VIEW IF EXISTS {GIVEN}; SET temp_directory = ''")
    except duckdb.Error:
        return False
    return True


def close_idle() -> None:
    """Close the idle databases: their threads would be missing in a forked process."""
    with suppress(IndexError):
        while True:  # two threads may each have left one
            process, database = _idle.pop()
            if process == os.getpid():
                database.close()
            else:
                _leave_to_parent(database)


atexit.register(close_idle)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=close_idle)


def _keep_count_of_progress(connection: duckdb.DuckDBPyConnection) -> None:
    """Make DuckDB track its progress without printing it.

    DuckDB ties tracking to printing. In a notebook without ipywidgets it cannot print and refuses
    both settings; then it neither prints nor tracks.
    """
    with suppress(duckdb.InvalidInputException):
        connection.execute("SET enable_progress_bar_print = false; SET enable_progress_bar = true")


MORE_ROOM = (
    "give "
    + Argument("memory", "8GB")
    + ", or "
    + Argument("temp", "FOLDER")
    + " on a larger disk (in Python by dphist.Resources)"
)
"""What to do where memory or disk ran out."""


def out_of_room(work: str) -> DataError:
    """Return the error for DuckDB running out of memory or disk during `work`."""
    return DataError(
        f"{work} ran out of memory, or of disk below the folder of temporary files: " + MORE_ROOM
    )


def default_memory(quarter: int, *, large: bool) -> int:
    """Return the limit of memory where none was asked for, in bytes, at most half of what there is.

    Parameters
    ----------
    quarter : a quarter of the memory of the machine, or of its container.
    """
    return max(quarter if large else 0, min(_MEMORY, 2 * quarter or _MEMORY))


def memory_limit() -> int:
    """Return how much memory counting may use here before it spills, in bytes."""
    asked = resources().bytes
    if asked is not None:
        return asked
    return default_memory(_quarter(None), large=True)


# What DuckDB's settings are by default. It is asked once in a process: a query takes longer than to
# open a database that is kept.
_default: dict[str, str] = {}


def _ask_default(connection: duckdb.DuckDBPyConnection | None, setting: str) -> str:
    """Return a default, asked of `connection`, or of a new one."""
    if setting not in _default:
        with nullcontext(connection) if connection else duckdb.connect() as asked:
            asked.execute(f"RESET {setting}")
            found = asked.execute(f"SELECT current_setting('{setting}')").fetchall()
        _default[setting] = str(found[0][0])
    return _default[setting]


def _processors(connection: duckdb.DuckDBPyConnection) -> int:
    """Return the number of usable processors."""
    return int(_ask_default(connection, "threads"))


def _quarter(connection: duckdb.DuckDBPyConnection | None) -> int:
    """Return a quarter of the machine's memory, in bytes; DuckDB's default limit is 80 %."""
    return int(_bytes(_ask_default(connection, "memory_limit")) / 0.8 / 4)


def _bytes(text: str) -> float:
    """Parse a size in DuckDB's format; 0 for anything else."""
    number, _, unit = text.partition(" ")
    return float(number) * _UNITS[unit] if unit in _UNITS else 0.0


_SCAN = "TABLE_SCAN"
_TYPES = "type", "operator_type"  # in DuckDB 2, and before
_ROWS = "intermediate_rows", "operator_cardinality"


@dataclass(frozen=True, slots=True)
class ExpectedRows:
    """The number of rows that a relation has to give.

    Attributes
    ----------
    number : function
        Called after the rows were read; None if they were not read to their end.
    problem : the error for another number. It says nothing about the rows.
    repeatable : whether the relation can be evaluated again.
    parts : the number of rows of each scan, of a relation that has several.
    """

    number: Callable[[], int | None]
    problem: DphistError
    repeatable: bool
    parts: Sequence[int] = ()

    def check(
        self, connection: duckdb.DuckDBPyConnection, relation: duckdb.DuckDBPyRelation
    ) -> None:
        """Raise `problem` unless the last query of a connection read all rows of a relation."""
        read, expected = _rows_read(connection), self.number()
        if expected is None:
            raise self.problem
        parts = [*self.parts] or [expected]
        if not read and self.repeatable:
            # No scan is known: the plan has none, or this version of DuckDB profiles otherwise.
            # Of a Parquet file this says nothing new: DuckDB takes the number from the footer.
            read, parts = [int(relation.aggregate("count(*)").fetchall()[0][0])], [expected]
        # A query may evaluate the relation several times.
        times, rest = divmod(len(read), len(parts))
        if rest or sorted(read) != sorted(times * parts):
            raise self.problem


def _rows_read(connection: duckdb.DuckDBPyConnection) -> list[int]:
    """Return how many rows each scan in the last query of a connection gave, where it is known."""
    try:
        profile = json.loads(connection.get_profiling_information(format="json"))
    except (duckdb.Error, ValueError):
        return []
    return [int(rows) for rows in _scans(profile)]


def _scans(profile: Any) -> Iterator[int]:
    """Yield the number of rows of each scan in a profile, or in a part of it."""
    if isinstance(profile, list):
        for part in profile:
            yield from _scans(part)
    elif isinstance(profile, dict):
        if any(profile.get(name) == _SCAN for name in _TYPES):
            yield from (profile[name] for name in _ROWS if name in profile)
        for name in ("operator", "children"):
            yield from _scans(profile.get(name))
