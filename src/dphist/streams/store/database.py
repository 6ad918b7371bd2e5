"""The SQLite file of a state: its tables, how it is opened, and what its errors mean."""

import sqlite3
from pathlib import Path
from urllib.parse import quote

from dphist.durable.sqlite_codes import extended_code, primary_code
from dphist.errors import DphistError, OutputFileError, StateError
from dphist.streams.store.digest import FORMAT, VERSION, Header, row_hash
from dphist.streams.store.owner import in_use

COLUMNS = "format, version, library, identity, key, taken, commits, digest, seal"
VALUES = "?, ?, ?, ?, ?, ?, ?, ?, ?"
TABLES = {
    "header": f"CREATE TABLE header ({COLUMNS})",
    "rows": "CREATE TABLE rows "
    "(kind TEXT, key, content BLOB, PRIMARY KEY (kind, key)) WITHOUT ROWID",
}

# A rollback journal and not a write-ahead log, though the log would sync once a commit and not
# four times. With a log, commits that were acknowledged lie in a second file for a while. If that
# is lost, truncated, or left behind when the state is renamed after a crash, an older state is
# found, whole by every check, and the stream would draw noise again that it has drawn before.
# With a journal the file has every acknowledged commit, and what can be lost beside it is only
# the way back from a commit that was under way, whose absence the digest shows.
#
# With synchronous=FULL a commit syncs the journal before it touches the file, the file before it
# invalidates the journal, and that before it returns. fullfsync is what syncing means on macOS.
# In exclusive mode the lock is held, and the journal kept and overwritten, until the connection
# is closed; the process's death ends both. secure_delete overwrites what is deleted.
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
    """Write a state without rows into the empty file at `path`, which nobody has seen yet."""
    connection = connect(path)
    try:
        # Should this not come to its end, the file is thrown away: no journal need outlive it.
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
    """Return the header of a state of this version, and lock the file.

    Raises
    ------
    StateError
        If the file is something else, of a later version, or edited.
    """
    try:
        for setting in SETTINGS:
            connection.execute(setting)
        (first,) = connection.execute("SELECT format, version FROM header")
    except sqlite3.Error as error:
        if primary_code(error) in (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_NOTADB):
            raise _not_ours(path) from None
        raise explained(path, error) from None
    except (ValueError, TypeError):
        raise _not_ours(path) from None
    if first[0] != FORMAT or type(first[1]) is not int:
        raise _not_ours(path)
    if first[1] > VERSION:
        raise StateError(
            f"{path} is of version {first[1]} of the state's format, and this dphist reads "
            f"version {VERSION}; open it with a later dphist"
        )
    if first[1] == 1:  # does not say how many commits there were
        raise StateError(
            f"{path} was begun by a development version of dphist, whose states this one does "
            "not read; go on with that version"
        )
    try:
        connection.execute("BEGIN EXCLUSIVE")  # now that it is no file of somebody else's
        connection.execute("COMMIT")
        (columns,) = connection.execute("SELECT * FROM header").fetchall()
        header = Header.read(columns)
        tables = dict(connection.execute("SELECT name, sql FROM sqlite_schema WHERE sql NOT NULL"))
        journal = connection.execute("PRAGMA journal_mode").fetchone()
    except sqlite3.Error as error:
        raise explained(path, error) from None
    except (ValueError, TypeError):
        raise damaged(path) from None
    if header is None or tables != TABLES or journal != ("delete",):
        raise damaged(path)
    return header


def check_rows(connection: sqlite3.Connection, path: Path, header: Header) -> None:
    """Compare every row with the digest.

    Raises
    ------
    StateError
        If rows were added, changed, removed or put back, or the file's structure is broken.
    """
    total = 0
    try:
        whole = connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        for kind, key, content in connection.execute("SELECT kind, key, content FROM rows"):
            total += row_hash(header.key, kind, key, content)
    except sqlite3.Error as error:
        raise explained(path, error) from None
    except (ValueError, TypeError):
        raise damaged(path) from None
    if not whole or header.with_sum(total) != header:
        raise damaged(path)


def write_header(connection: sqlite3.Connection, header: Header) -> None:
    """Put `header` in the place of the one there, within the caller's transaction."""
    connection.execute(f"UPDATE header SET ({COLUMNS}) = ({VALUES})", header.columns())  # noqa: S608


def explained(path: Path, error: sqlite3.Error) -> DphistError:
    """Return the error of ours that says what `error` means, without its text."""
    code = primary_code(error)
    if code == sqlite3.SQLITE_FULL:
        return OutputFileError(f"no space left to write {path}")
    if code == sqlite3.SQLITE_CANTOPEN or extended_code(error) == sqlite3.SQLITE_READONLY_DIRECTORY:
        return OutputFileError(
            f"could not write {path}: no journal can be made beside it; make its folder writable"
        )
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return in_use(path)
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR):
        return damaged(path)
    if extended_code(error) in (
        sqlite3.SQLITE_IOERR_SHORT_READ,
        sqlite3.SQLITE_IOERR_CORRUPTFS,
        sqlite3.SQLITE_READONLY,  # without an extension: the file's own version field says so
    ):
        return damaged(path)
    return OutputFileError(f"could not write {path}: the system refused")


def damaged(path: Path) -> StateError:
    """Return the error of a file whose content is not what was committed."""
    return StateError(
        f"{path} is damaged or was edited, or a file {path.name}-journal that belongs to it was "
        "taken away; a stream cannot go on from it"
    )


def _not_ours(path: Path) -> StateError:
    return StateError(f"{path} is not the state of a stream, or is damaged; name another file")
