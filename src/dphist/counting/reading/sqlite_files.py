"""SQLite files: one of their tables, or the rows of a query, read without writing anything.

A column of SQLite has a type that its values need not have. So each value is taken as it is.
"""

import sqlite3
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path

from dphist.counting.reading.columns import Wanted, find_position
from dphist.counting.reading.fields import GivenRows, NumberedRows
from dphist.counting.reading.relations import quote
from dphist.errors import ParameterError

_TABLES = (
    "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite@_%' "
    "ESCAPE '@'"
)


def read_sqlite(
    path: Path, table: str | None, query: str | None, wanted: Sequence[Wanted], shown: str
) -> GivenRows:
    """Return the rows of a table or view, or of a query, of an SQLite file.

    Parameters
    ----------
    table : name of a table or view; None if the file has but one, or with a query.
    query : a SELECT.

    Raises
    ------
    ParameterError
        If there is no such table, none is named of several, or SQLite refuses the query.
    ColumnError
        If a column is missing or occurs twice.
    sqlite3.Error
        If the file is damaged, or no SQLite file; also while rows are read.
    """
    path = path.resolve()  # the log of a file lies beside it, and not beside a link to it
    version = _version(path)
    with closing(_connect(path)) as connection:
        if connection.execute("PRAGMA integrity_check(1)").fetchall() != [("ok",)]:
            raise sqlite3.DatabaseError
        if query is None:
            query = f"SELECT * FROM {quote(_find_table(connection, table, shown))}"  # noqa: S608 - names are quoted; a query is the owner's
        names = _name_columns(connection, query)
    return GivenRows(names, _read_rows(path, query, wanted, version), "")


def _connect(path: Path) -> sqlite3.Connection:
    """Open a file for reading alone.

    SQLite would make files beside one in WAL mode. Without a log or journal, it holds all that
    was committed, and is taken as one that nobody changes. With a log, those files may be made.
    """
    how = "&immutable=1" if _is_complete(path) else ""
    return sqlite3.connect(f"{path.as_uri()}?mode=ro{how}", uri=True)


def _is_complete(path: Path) -> bool:
    """Whether a file is in WAL mode, but has no log or journal beside it."""
    with path.open("rb") as file:
        if file.read(20)[18:] != b"\2\2":
            return False
    return not any(Path(f"{path}{more}").exists() for more in ("-wal", "-journal"))


def _version(path: Path) -> tuple[bool, int, int]:
    """Return what changes when somebody writes to a file in WAL mode."""
    found = path.stat()
    return _is_complete(path), found.st_size, found.st_mtime_ns


def _find_table(connection: sqlite3.Connection, table: str | None, shown: str) -> str:
    names = [name for (name,) in connection.execute(_TABLES)]
    if table is None and len(names) != 1:
        raise ParameterError("table_name", f"must name one of the {len(names)} tables of {shown}")
    if table is not None and table not in names:
        raise ParameterError("table_name", f"must name a table of {shown}, which has no {table!r}")
    return names[0] if table is None else table


def _name_columns(connection: sqlite3.Connection, query: str) -> list[str]:
    """Return the names of a query's columns; its rows are not read."""
    described = None
    with suppress(sqlite3.OperationalError, sqlite3.ProgrammingError):
        # On lines of its own, as a query may end with a comment.
        none = f"SELECT * FROM (\n{query}\n) LIMIT 0"  # noqa: S608 - names are quoted; a query is the owner's
        described = connection.execute(none).description
    if described is None:
        raise ParameterError("query", "must be one SELECT that SQLite accepts")
    return [column[0] for column in described]


def _read_rows(
    path: Path, query: str, wanted: Sequence[Wanted], version: tuple[bool, int, int]
) -> NumberedRows:
    with closing(_connect(path)) as connection:
        rows = connection.execute(query)
        names = [column[0] for column in rows.description]  # of two equal names, both
        positions = [find_position(column.name, names) for column in wanted]
        for number, row in enumerate(rows, 1):
            yield number, [row[position] for position in positions]
    if version[0] and _version(path) != version:  # it was read without a lock
        raise sqlite3.DatabaseError
