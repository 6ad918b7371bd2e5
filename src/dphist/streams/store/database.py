"""The tables of a state file, its header, and a digest of its rows.

The digest detects an edited or damaged file. It is the sum of one hash per row, modulo 2**256. So
it does not depend on the order of the rows, and a commit updates it from the changed rows alone, in
the same transaction. The key of the hashes is stored in the file. So the digest detects edits,
partial restores and disk errors. It does not stop a person who has the file and knows the scheme;
this person could also read every secret in the file.
"""

import contextlib
import hashlib
import secrets
import sqlite3
from collections.abc import Iterator
from dataclasses import astuple, dataclass, replace
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

from dphist.durable.owned_file import classify
from dphist.errors import DphistError, OutputFileError, StateError

FORMAT = "dphist stream state"
VERSION = 2
MODULUS = 2**256

Key = int | bytes

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


@dataclass(frozen=True, slots=True)
class Header:
    """The fields of a state file beside its rows, in the order of the table's columns.

    Parameters
    ----------
    format, version : the format of the file. Later formats keep these two columns first.
    library : the version of dphist that created the file.
    identity : facts that distinguish the file from its copies; see `identity`.
    key : random bytes, the key of all hashes of this file.
    taken : 1 if another stream has taken over the state, otherwise 0.
    commits : the number of commits. An older content has a smaller number.
    digest : the sum of the rows' hashes.
    """

    format: str
    version: int
    library: str
    identity: str
    key: bytes
    taken: int
    commits: int
    digest: bytes

    @classmethod
    def new(cls, identity: str, key: bytes) -> "Header":
        """Return the header of a file without rows."""
        library = installed_version("dphist")
        return cls(FORMAT, VERSION, library, identity, key, 0, 0, bytes(32))

    @property
    def seal(self) -> bytes:
        """Hash over all fields; `ascii` is injective for tuples of text, bytes and integers."""
        fields = ascii(astuple(self)).encode()
        return hashlib.blake2b(fields, digest_size=32, key=self.key, person=b"header").digest()

    def columns(self) -> tuple[Any, ...]:
        """Return the only row of the table: the fields and their seal."""
        return (*astuple(self), self.seal)

    @classmethod
    def read(cls, columns: tuple[Any, ...]) -> "Header | None":
        """Return the header in `columns`, or None if the type of a field or the seal is wrong."""
        header = cls(*columns[:-1])
        kinds = (str, int, str, str, bytes, int, int, bytes)
        if any(type(field) is not kind for field, kind in zip(columns[:-1], kinds, strict=True)):
            return None
        if len(header.key) != 32 or len(header.digest) != 32 or columns[-1] != header.seal:
            return None
        return header

    def with_sum(self, total: int) -> "Header":
        """Return this header with `total` as the sum of the rows' hashes."""
        return replace(self, digest=(total % MODULUS).to_bytes(32, "big"))

    @property
    def sum(self) -> int:
        """The sum of the rows' hashes."""
        return int.from_bytes(self.digest, "big")


def row_hash(secret: bytes, kind: str, key: Key, content: bytes) -> int:
    """Return the hash of one row, below `MODULUS`.

    Fields of variable length follow their length, so different rows are hashed as different bytes.

    Raises
    ------
    TypeError
        If the row has other types than `Store.commit` writes.
    """
    if type(kind) is not str or type(content) is not bytes:
        raise TypeError("the kind of a row is text, and its content is bytes")
    if type(key) is int:
        coded = b"i" + key.to_bytes(8, "big", signed=True)
    elif type(key) is bytes:
        coded = b"b" + len(key).to_bytes(8, "big") + key
    else:
        raise TypeError("the key of a row is an integer or bytes")
    name = kind.encode()
    row = len(name).to_bytes(8, "big") + name + coded + content
    return int.from_bytes(hashlib.blake2b(row, digest_size=32, key=secret).digest(), "big")


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
        if classify(error) == "foreign":
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
    with explain_errors(path, ValueError, TypeError):
        connection.execute("BEGIN EXCLUSIVE")  # only now: other programs' files are not locked
        connection.execute("COMMIT")
        (columns,) = connection.execute("SELECT * FROM header").fetchall()
        header = Header.read(columns)
        tables = dict(connection.execute("SELECT name, sql FROM sqlite_schema WHERE sql NOT NULL"))
        journal = connection.execute("PRAGMA journal_mode").fetchone()
    if header is None or tables != TABLES or journal != ("delete",):
        raise _make_damaged_error(path)
    return header


def check_rows(connection: sqlite3.Connection, path: Path, header: Header) -> None:
    """Compare every row with the digest.

    Raises
    ------
    StateError
        If rows were added, changed, removed or restored, or the file's structure is broken.
    """
    total = 0
    with explain_errors(path, ValueError, TypeError):
        whole = connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        for kind, key, content in connection.execute("SELECT kind, key, content FROM rows"):
            total += row_hash(header.key, kind, key, content)
    if not whole or header.with_sum(total) != header:
        raise _make_damaged_error(path)


def insert_header(connection: sqlite3.Connection, identity: str) -> None:
    """Write the header of a new state without rows."""
    header = Header.new(identity, secrets.token_bytes(32))
    connection.execute(f"INSERT INTO header VALUES ({VALUES})", header.columns())  # noqa: S608


def write_header(connection: sqlite3.Connection, header: Header) -> None:
    """Replace the header by `header`, within the caller's transaction."""
    connection.execute(f"UPDATE header SET ({COLUMNS}) = ({VALUES})", header.columns())  # noqa: S608


@contextlib.contextmanager
def explain_errors(path: Path, *damage: type[Exception]) -> Iterator[None]:
    """Raise our errors for those of SQLite, and for those that only a damaged file causes."""
    try:
        yield
    except sqlite3.Error as error:
        raise translate_error(path, error) from None
    except damage:
        raise _make_damaged_error(path) from None


def translate_error(path: Path, error: sqlite3.Error | OSError) -> DphistError:
    """Return our error for an error of SQLite or of the system, without SQLite's message."""
    fault = classify(error)
    if fault == "in use":
        return StateError(
            f"{path} is in use by another process, or by another stream of this process; "
            "close it there first"
        )
    if fault in ("foreign", "damaged"):
        return _make_damaged_error(path)
    if fault == "full":
        return OutputFileError(f"no space left to write {path}")
    if isinstance(error, FileExistsError):
        return StateError(f"{error.filename} exists; open it, remove it, or name another file")
    reason = getattr(error, "strerror", None) or "the system refused"
    if fault == "folder":
        reason = "a journal cannot be created beside it; make its folder writable"
    return OutputFileError(f"could not write {path}: {reason}")


def _make_damaged_error(path: Path) -> StateError:
    """Return the error for a file with content that was never committed."""
    return StateError(
        f"{path} is damaged or was edited, or its journal {path.name}-journal was removed; a "
        "stream cannot continue from it"
    )


def _not_a_state_error(path: Path) -> StateError:
    return StateError(f"{path} is not the state of a stream, or is damaged; name another file")
