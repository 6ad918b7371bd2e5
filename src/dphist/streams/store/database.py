"""The SQLite file of a state: its tables, how it is opened, and how its errors are translated."""

import sqlite3
from pathlib import Path
from urllib.parse import quote

from dphist.durable.sqlite_codes import extended_code, primary_code
from dphist.errors import DphistError, OutputFileError, StateError
from dphist.streams.store.digest import FORMAT, VERSION, Header, row_hash
from dphist.streams.store.owner import in_use_error

COLUMNS = "format, version, library, identity, key, taken, commits, digest, seal"
VALUES = "?, ?, ?, ?, ?, ?, ?, ?, ?"
TABLES = {
    "header": f"CREATE TABLE header ({COLUMNS})",
    "rows": "CREATE TABLE rows "
    "(kind TEXT, key, content BLOB, PRIMARY KEY (kind, key)) WITHOUT ROWID",
}

# The file uses a rollback journal rather than a write-ahead log, although a log syncs once per
# commit instead of four times. With a log, acknowledged commits are in a second file for a while.
# If this file is lost, truncated, or left behind when the state is renamed after a crash, the state
# is an older one that passes every check, and the stream would draw new noise for old sums.
# With a journal, the main file has every acknowledged commit. If the journal is lost, only the
# rollback of an unfinished commit is lost, and the digest detects that.
#
# With synchronous=FULL a commit first syncs the journal, then writes and syncs the file, then
# invalidates the journal and syncs that, and only then returns. macOS needs fullfsync for this.
# In exclusive mode the lock is held, and the journal file is reused, until the connection is closed
# or the process ends. secure_delete overwrites deleted content.
SETTINGS = (
    "PRAGMA trusted_schema = OFF",
    "PRAGMA locking_mode = EXCLUSIVE",
    "PRAGMA synchronous = FULL",
    "PRAGMA fullfsync = ON",
    "PRAGMA secure_delete = ON",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA cache_size = -32768",
)


def connect(path: Path) -> sqlite3.Connection:
    """Return a connection to an existing file, in autocommit mode, usable from any thread."""
    return sqlite3.connect(
        f"file:{quote(str(path))}?mode=rw",
        uri=True,
        timeout=0,
        isolation_level=None,
        check_same_thread=False,
    )


def write_new(path: Path, header: Header) -> None:
    """Write a state without rows into the empty file at `path`, which nobody else uses yet."""
    connection = connect(path)
    try:
        # If this is interrupted, the file is discarded, so the journal need not be durable.
        connection.execute("PRAGMA journal_mode = MEMORY")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA fullfsync = ON")
        connection.execute("BEGIN")
        for table in TABLES.values():
            connection.execute(table)
        connection.execute(f"INSERT INTO header VALUES ({VALUES})", header.columns())  # noqa: S608
        connection.execute("COMMIT")
    finally:
        connection.close()


def read_header(connection: sqlite3.Connection, path: Path) -> Header:
    """Return the header of a state, and lock the file.

    Raises
    ------
    StateError
        If the file is not a state, has another version, or was edited.
    """
    try:
        for setting in SETTINGS:
            connection.execute(setting)
        (first,) = connection.execute("SELECT format, version FROM header")
    except sqlite3.Error as error:
        if primary_code(error) in (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_NOTADB):
            raise _not_a_state_error(path) from None
        raise translate_error(path, error) from None
    except (ValueError, TypeError):
        raise _not_a_state_error(path) from None
    if first[0] != FORMAT or type(first[1]) is not int:
        raise _not_a_state_error(path)
    if first[1] > VERSION:
        raise StateError(
            f"{path} has version {first[1]} of the state format, but this dphist reads version "
            f"{VERSION}; open it with a later dphist"
        )
    if first[1] == 1:  # does not record the number of commits
        raise StateError(
            f"{path} was created by a development version of dphist, in a format that this version "
            "does not read; continue with that version"
        )
    try:
        connection.execute("BEGIN EXCLUSIVE")  # only now: other programs' files are not locked
        connection.execute("COMMIT")
        (columns,) = connection.execute("SELECT * FROM header").fetchall()
        header = Header.read(columns)
        tables = dict(connection.execute("SELECT name, sql FROM sqlite_schema WHERE sql NOT NULL"))
        journal = connection.execute("PRAGMA journal_mode").fetchone()
    except sqlite3.Error as error:
        raise translate_error(path, error) from None
    except (ValueError, TypeError):
        raise damaged_error(path) from None
    if header is None or tables != TABLES or journal != ("delete",):
        raise damaged_error(path)
    return header


def check_rows(connection: sqlite3.Connection, path: Path, header: Header) -> None:
    """Compare every row with the digest.

    Raises
    ------
    StateError
        If rows were added, changed, removed or restored, or the file's structure is broken.
    """
    total = 0
    try:
        whole = connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        for kind, key, content in connection.execute("SELECT kind, key, content FROM rows"):
            total += row_hash(header.key, kind, key, content)
    except sqlite3.Error as error:
        raise translate_error(path, error) from None
    except (ValueError, TypeError):
        raise damaged_error(path) from None
    if not whole or header.with_sum(total) != header:
        raise damaged_error(path)


def write_header(connection: sqlite3.Connection, header: Header) -> None:
    """Replace the header by `header`, within the caller's transaction."""
    connection.execute(f"UPDATE header SET ({COLUMNS}) = ({VALUES})", header.columns())  # noqa: S608


def translate_error(path: Path, error: sqlite3.Error) -> DphistError:
    """Return our error for an error of SQLite, without SQLite's message."""
    code = primary_code(error)
    if code == sqlite3.SQLITE_FULL:
        return OutputFileError(f"no space left to write {path}")
    if code == sqlite3.SQLITE_CANTOPEN or extended_code(error) == sqlite3.SQLITE_READONLY_DIRECTORY:
        return OutputFileError(
            f"could not write {path}: a journal cannot be created beside it; make its folder "
            "writable"
        )
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return in_use_error(path)
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR):
        return damaged_error(path)
    if extended_code(error) in (
        sqlite3.SQLITE_IOERR_SHORT_READ,
        sqlite3.SQLITE_IOERR_CORRUPTFS,
        sqlite3.SQLITE_READONLY,  # without an extension: caused by the file's own version field
    ):
        return damaged_error(path)
    return OutputFileError(f"could not write {path}: the system refused")


def damaged_error(path: Path) -> StateError:
    """Return the error for a file with content that was never committed."""
    return StateError(
        f"{path} is damaged or was edited, or its journal {path.name}-journal was removed; a "
        "stream cannot continue from it"
    )


def _not_a_state_error(path: Path) -> StateError:
    return StateError(f"{path} is not the state of a stream, or is damaged; name another file")
