"""A ledger in a SQLite file: nothing to install, for the users of one machine.

No connection outlives a transaction, so threads and forked processes share nothing.
"""

import contextlib
import os
import secrets
import sqlite3
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from dphist import files
from dphist.durable import identity
from dphist.durable.files import sync_folder
from dphist.durable.sqlite_codes import extended_code, primary_code
from dphist.errors import Argument, InputFileError, LedgerError, OutputFileError, ParameterError
from dphist.ledger.stores.file_lock import PATIENCE, in_use, locked, refused
from dphist.ledger.stores.head import Head, checked_head, new_head, not_a_ledger
from dphist.ledger.stores.network import check_local
from dphist.ledger.stores.schema import TABLES, VERSION
from dphist.ledger.stores.transaction import Prefetch, Rows, Transaction

if sys.platform == "linux":
    import fcntl

# A rollback journal, and not a write-ahead log: a lost or left-behind log would bring back an older
# ledger that looks whole (see the store of streams). TRUNCATE with synchronous=FULL syncs the
# journal before the file changes, the file before the journal is emptied, and that before COMMIT
# returns.
_SETTINGS = (
    "PRAGMA trusted_schema = OFF",
    "PRAGMA journal_mode = TRUNCATE",
    "PRAGMA synchronous = FULL",
    "PRAGMA fullfsync = ON",
    "PRAGMA temp_store = MEMORY",
)


class SqliteStore:
    """The tables of a ledger in one SQLite file on a local disk."""

    def __init__(self, path: Path) -> None:
        """Take an existing file; use `create` or `open`."""
        self.path = path

    @property
    def name(self) -> str:
        """The path of the file."""
        return str(self.path)

    @classmethod
    def create(
        cls, path: str | Path, name: str | None, begin: Callable[[Transaction], None]
    ) -> "SqliteStore":
        """Make a ledger with its first entries, whole or not at all.

        Parameters
        ----------
        name : of the ledger (default: that of the file, without its extension).
        begin : writes the first entries.

        Raises
        ------
        LedgerError
            If there is a file already, or the journal of one that was there, or the disk is not
            local.
        OutputFileError
            If the file cannot be written.
        """
        target = _real(path)
        for file in (target, target.with_name(f"{target.name}-journal")):
            if os.path.lexists(file):
                raise LedgerError(f"{file} exists; open it, or name another file")
        check_local(target.parent)
        try:
            _write_new(target, name or _name_of(path), begin)
            sync_folder(target.parent)
        except FileExistsError:
            raise LedgerError(f"{target} exists; open it, or name another file") from None
        except OSError as error:
            raise refused(target, error) from None
        except sqlite3.Error as error:
            raise _explained(target, error) from None
        return cls(target)

    @classmethod
    def open(
        cls,
        path: str | Path,
        check: Callable[[Transaction], None] = lambda _: None,
        *,
        moved: bool = False,
    ) -> "SqliteStore":
        """Open an existing ledger and check that it is one, and no copy.

        Parameters
        ----------
        check : may refuse it, before anything of it is changed.
        moved : accept a file that is not the one that was created, and make it the one from now
            on. For a ledger whose original is gone and was not used after it was copied.
        """
        target = _real(path)
        try:
            there, is_file = target.exists(), target.is_file()
        except OSError as error:
            raise refused(target, error) from None
        if not there:
            raise InputFileError(f"there is no ledger at {target}; make it with Ledger.create")
        if not is_file:
            raise LedgerError(f"{target} is not a file; name the file of a ledger")
        check_local(target.parent)
        store = cls(target)
        if moved:
            store._adopt(check)
        with store.transaction(write=False) as tables:
            check(tables)
            version = tables.head.version
        if version < VERSION:
            with store.transaction(write=True) as tables:
                tables.migrate()
        return store

    @contextlib.contextmanager
    def transaction(
        self, *, write: bool, prefetch: Prefetch | None = None
    ) -> Iterator[Transaction]:
        """Begin a transaction: one writer at a time, and no readers beside it.

        Parameters
        ----------
        prefetch : of no use here: questions to a file take no time.
        """
        with locked(self.path, write) as descriptor:
            with self._connected(write) as connection:
                head = self._head(connection)
                self._check_original(descriptor, head)
                cursors: list[sqlite3.Cursor] = []
                made = Transaction(_executor(connection, cursors), head)
                try:
                    yield made
                finally:
                    # One that is not read to its end holds SQLite's lock while an error that knows
                    # it is alive.
                    for cursor in cursors:
                        cursor.close()
                if write:
                    connection.execute("COMMIT")
            if write and made.head.entries != head.entries:
                identity.note_commits(descriptor, made.head.entries)

    def check(self) -> None:
        """Check the structure of the file, and that it has our tables and nothing else."""
        with locked(self.path, write=False), self._connected(write=False) as connection:
            whole = connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            held = dict(
                connection.execute("SELECT name, sql FROM sqlite_schema WHERE sql NOT NULL")
            )
            if not whole or held != TABLES:
                raise _damaged(self.path)

    def close(self) -> None:
        """Do nothing: no connection outlives a transaction."""

    def _adopt(self, check: Callable[[Transaction], None]) -> None:
        """Make this copy the ledger from now on."""
        with locked(self.path, write=True) as descriptor, self._connected(write=True) as connection:
            head = self._head(connection)
            if head.entries < identity.noted_commits(descriptor):
                raise self._older()
            cursors: list[sqlite3.Cursor] = []
            try:
                check(Transaction(_executor(connection, cursors), head))
            finally:
                for cursor in cursors:
                    cursor.close()
            identity.mark(descriptor)
            known = identity.identity_text(identity.read_facts(descriptor))
            connection.execute("UPDATE dphist_ledger SET identity = ?", (known,))
            connection.execute("COMMIT")
            identity.note_commits(descriptor, head.entries)

    def _check_original(self, descriptor: int, head: Head) -> None:
        """Refuse a copy, and an older content that was written back."""
        if not head.identity:
            raise _damaged(self.path)
        if not identity.is_same_file(head.identity, identity.read_facts(descriptor)):
            raise LedgerError(
                f"{self.path} is a copy of a ledger, or was moved to another file system: two "
                "copies of one ledger would spend the budget twice. If the original is gone and "
                "was not used since, open this one with "
                + Argument("moved", True)
                + " (`dphist ledger verify --moved`)"
            )
        if head.entries < identity.noted_commits(descriptor):
            raise self._older()

    def _older(self) -> LedgerError:
        return LedgerError(
            f"{self.path} holds an older content than it had, as from a backup: it does not know "
            "of releases that were made since. Restore the latest content; if it is lost, close "
            "the data set's budget: what was spent is not known"
        )

    @contextlib.contextmanager
    def _connected(self, write: bool) -> Iterator[sqlite3.Connection]:
        """Open the file in a transaction that is rolled back unless the block commits it."""
        try:
            # Also a reader may have to roll back what a crash left, if it is allowed to.
            mode = "rw" if write or os.access(self.path, os.W_OK) else "ro"
            connection = sqlite3.connect(
                f"file:{quote(os.fsencode(self.path))}?mode={mode}",
                uri=True,
                timeout=PATIENCE,
                isolation_level=None,
            )
            try:
                begin = (*_SETTINGS, "BEGIN IMMEDIATE") if write else (_SETTINGS[0], "BEGIN")
                connection.executescript(";".join(begin))
                yield connection
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                connection.close()
        except sqlite3.Error as error:
            raise _explained(self.path, error) from None

    def _head(self, connection: sqlite3.Connection) -> Head:
        """Return what the ledger says of itself; LedgerError if it is none of this version."""
        try:
            rows = connection.execute("SELECT * FROM dphist_ledger").fetchall()
        except sqlite3.Error as error:
            if primary_code(error) in (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_NOTADB):
                raise not_a_ledger(self.name) from None
            raise
        return checked_head(rows, self.name)


def _name_of(path: str | Path) -> str:
    """Return a name for the ledger in a file; it is shown in messages and pages."""
    stem = Path(path).stem
    return stem if stem.isprintable() else "ledger"


def _real(path: str | Path) -> Path:
    """Return where a path leads: a journal lies beside the file itself, and not beside a link."""
    try:
        return Path(os.path.realpath(path))
    except (TypeError, ValueError):
        raise ParameterError(
            "place", "must be the path of a file, or a postgresql:// address"
        ) from None


def _write_new(target: Path, name: str, begin: Callable[[Transaction], None]) -> None:
    """Write the file under another name, and give it its own when it is whole."""
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(6)}.part")
    files.register_temporary(temporary)
    try:
        _write_and_link(temporary, target, name, begin)
    finally:
        files.forget_temporary(temporary)


def _write_and_link(
    temporary: Path, target: Path, name: str, begin: Callable[[Transaction], None]
) -> None:
    descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        if sys.platform == "linux":  # nobody comes in before it is whole
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        identity.mark(descriptor)
        known = identity.identity_text(identity.read_facts(descriptor))
        connection = sqlite3.connect(temporary, isolation_level=None)
        try:
            # Until it has its name, a file that is not whole is thrown away.
            connection.execute("PRAGMA journal_mode = MEMORY")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA fullfsync = ON")
            connection.execute("BEGIN")
            for table in TABLES.values():
                connection.execute(table)
            row = new_head(name, known)
            marks = ", ".join("?" * len(row))
            connection.execute(f"INSERT INTO dphist_ledger VALUES ({marks})", row)  # noqa: S608
            tables = Transaction(_executor(connection, []), Head(*row))
            begin(tables)
            connection.execute("COMMIT")
        finally:
            connection.close()
        identity.note_commits(descriptor, tables.head.entries)
        # A link, because a renaming would replace what somebody else has just put there.
        os.link(temporary, target)
    finally:
        temporary.unlink()
        os.close(descriptor)


def _executor(connection: sqlite3.Connection, cursors: list[sqlite3.Cursor]) -> Any:
    """Return what runs statements, and adds the cursor of each to `cursors`."""

    def execute(statement: str, parameters: Sequence[Any] = ()) -> Rows:
        cursors.append(connection.execute(statement, parameters))
        return cursors[-1]

    return execute


_DAMAGE = (
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_ERROR,
    sqlite3.SQLITE_CONSTRAINT,
    sqlite3.SQLITE_MISMATCH,
)
_DAMAGE_IN_FULL = (
    sqlite3.SQLITE_IOERR_SHORT_READ,
    sqlite3.SQLITE_IOERR_CORRUPTFS,
    sqlite3.SQLITE_READONLY,  # without an extension: the file's own version field says so
)


def _explained(path: Path, error: sqlite3.Error) -> LedgerError | OutputFileError:
    """Return our error for one of SQLite, without its text."""
    code = primary_code(error)
    if code == sqlite3.SQLITE_FULL:
        return OutputFileError(f"no space left to write {path}; nothing was written")
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return in_use(path)
    if code in _DAMAGE or extended_code(error) in _DAMAGE_IN_FULL:
        return _damaged(path)
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN):
        return LedgerError(f"{path} and its folder must be writable; nothing was written")
    return OutputFileError(
        f"could not write {path}: the system refused. Look at the ledger before trying again: "
        "a charge may have been made"
    )


def _damaged(path: Path) -> LedgerError:
    return LedgerError(
        f"{path} is damaged or was edited; restore it, and run `dphist ledger verify`"
    )
