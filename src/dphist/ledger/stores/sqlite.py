"""A ledger in a SQLite file: nothing to install, for the users of one machine.

No connection outlives a transaction, so threads and forked processes share nothing.
"""

import contextlib
import errno
import os
import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from dphist.durable.identity import identity_text, is_same_file
from dphist.durable.owned_file import OwnedFile, classify, create_file, journal_path
from dphist.errors import Argument, InputFileError, LedgerError, OutputFileError, ParameterError
from dphist.ledger.stores.schema import TABLES, VERSION, Head, check_head, new_head, not_a_ledger
from dphist.ledger.stores.transaction import Prefetch, Rows, Transaction

PATIENCE = 60.0
"""Seconds to wait for other users of the file."""

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

_NETWORK = re.compile(
    r"nfs\d?|cifs|smb\d*|smbfs|afs|9p|ncpfs|coda|ceph|lustre|gpfs|glusterfs|davfs\d?|ocfs2|beegfs|"
    r"orangefs|pvfs2|vboxsf|prl_fs|fuse\.(?!overlayfs|portal|fuseblk).*|fuse"
)
_MOUNTS = Path("/proc/self/mountinfo")


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
        entries = 0

        def fill(connection: sqlite3.Connection, identity: str) -> None:
            nonlocal entries
            row = new_head(name or _make_name(path), identity)
            marks = ", ".join("?" * len(row))
            connection.execute(f"INSERT INTO dphist_ledger VALUES ({marks})", row)  # noqa: S608
            with _tables(connection, Head(*row)) as tables:
                begin(tables)
                entries = tables.head.entries

        _check_local(target.parent)
        try:
            with contextlib.closing(create_file(target, TABLES.values(), fill)) as owned:
                owned.note(entries)
        except FileExistsError as error:
            raise LedgerError(f"{error.filename} exists; open it, or name another file") from None
        except (OSError, sqlite3.Error) as error:
            raise _explain(target, error) from None
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
            raise _explain(target, error) from None
        if not there:
            raise InputFileError(f"there is no ledger at {target}; make it with Ledger.create")
        if not is_file:
            raise LedgerError(f"{target} is not a file; name the file of a ledger")
        _check_local(target.parent)
        store = cls(target)
        if moved:
            store._adopt(check)
        with store.transaction(write=False) as tables:
            check(tables)
            version = tables.head.version
        if version < VERSION:
            with store.transaction(write=True) as tables:
                tables.migrate(TABLES)
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
        with self._open_owned(write) as (owned, connection):
            head = self._head(connection)
            self._check_original(owned, head)
            with _tables(connection, head) as tables:
                yield tables
            if write:
                connection.execute("COMMIT")
                if tables.head.entries != head.entries:
                    owned.note(tables.head.entries)

    def check(self) -> None:
        """Check the structure of the file, and that it has our tables and nothing else."""
        with self._open_owned(write=False) as (_, connection):
            whole = connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            held = dict(
                connection.execute("SELECT name, sql FROM sqlite_schema WHERE sql NOT NULL")
            )
            if not whole or held != TABLES:
                raise _make_damaged_error(self.path)

    def close(self) -> None:
        """Do nothing: no connection outlives a transaction."""

    def _adopt(self, check: Callable[[Transaction], None]) -> None:
        """Make this copy the ledger from now on."""
        with self._open_owned(write=True) as (owned, connection):
            head = self._head(connection)
            self._check_latest(owned, head)
            with _tables(connection, head) as tables:
                check(tables)
            if is_same_file(head.identity, owned.facts):
                return  # a new token that could not be recorded would make a copy of the original
            owned.mark()
            known = identity_text(owned.facts)
            connection.execute("UPDATE dphist_ledger SET identity = ?", (known,))
            connection.execute("COMMIT")
            owned.note(head.entries)

    def _check_original(self, owned: OwnedFile, head: Head) -> None:
        """Refuse a copy, and an older content that was written back."""
        if not head.identity:
            raise _make_damaged_error(self.path)
        if not is_same_file(head.identity, owned.facts):
            raise LedgerError(
                f"{self.path} is a copy of a ledger, or was moved to another file system: two "
                "copies of one ledger would spend the budget twice. If the original is gone and "
                "was not used since, open this one with "
                + Argument("moved", True)
                + " (`dphist ledger verify --moved`)"
            )
        self._check_latest(owned, head)

    def _check_latest(self, owned: OwnedFile, head: Head) -> None:
        """Refuse an older content that was written back."""
        if head.entries < owned.commits:
            raise LedgerError(
                f"{self.path} holds an older content than it had, as from a backup: it does not "
                "know of releases that were made since. Restore the latest content; if it is "
                "lost, close the data set's budget: what was spent is not known"
            )

    @contextlib.contextmanager
    def _open_owned(self, write: bool) -> Iterator[tuple[OwnedFile, sqlite3.Connection]]:
        """Own the file, in a transaction that is rolled back unless the block commits it."""
        with contextlib.closing(self._own(write)) as owned:
            owned.check_name(LedgerError(f"{self.path} was replaced while in use; open it again"))
            try:
                # Also a reader may have to roll back what a crash left, if it is allowed to.
                mode = "rw" if write or os.access(self.path, os.W_OK) else "ro"
                connection = owned.connect(mode=mode, timeout=PATIENCE)
                begin = (*_SETTINGS, "BEGIN IMMEDIATE") if write else (_SETTINGS[0], "BEGIN")
                try:
                    connection.executescript(";".join(begin))
                    yield owned, connection
                finally:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
            except sqlite3.Error as error:
                raise _explain(self.path, error) from None

    def _own(self, write: bool) -> OwnedFile:
        """Own the file: alone to write, or to play back a journal that a crash left."""
        path = self.path
        try:
            flags = os.O_RDWR if write else os.O_RDONLY
            owned = OwnedFile.open(path, flags, shared=not write, patience=PATIENCE)
            if write or not _has_journal(path):
                return owned
            owned.close()
            return OwnedFile.open(path, os.O_RDONLY, patience=PATIENCE)
        except FileNotFoundError:
            raise LedgerError(f"{path} was moved or removed while in use") from None
        except OSError as error:
            forbidden = error.errno in (errno.EACCES, errno.EPERM, errno.EROFS)
            if write and forbidden and os.access(path, os.R_OK):
                raise LedgerError(
                    f"{path} cannot be written, so nothing can be charged; make it writable"
                ) from None
            raise _explain(path, error) from None

    def _head(self, connection: sqlite3.Connection) -> Head:
        """Return what the ledger says of itself; LedgerError if it is none of this version."""
        try:
            rows = connection.execute("SELECT * FROM dphist_ledger").fetchall()
        except sqlite3.Error as error:
            if classify(error) == "foreign":
                raise not_a_ledger(self.name) from None
            raise
        return check_head(rows, self.name)


def _make_name(path: str | Path) -> str:
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


@contextlib.contextmanager
def _tables(connection: sqlite3.Connection, head: Head) -> Iterator[Transaction]:
    """Give the tables of a connection; its cursors are closed at the end of the block.

    One that is not read to its end holds SQLite's lock while an error that knows it is alive.
    """
    cursors: list[sqlite3.Cursor] = []

    def execute(statement: str, parameters: Sequence[Any] = ()) -> Rows:
        cursors.append(connection.execute(statement, parameters))
        return cursors[-1]

    try:
        yield Transaction(execute, head)
    finally:
        for cursor in cursors:
            cursor.close()


def _has_journal(path: Path) -> bool:
    try:
        return journal_path(path).stat().st_size > 0
    except OSError:
        return False


def _check_local(folder: Path) -> None:
    """Refuse a folder on a network file system, as far as the system tells.

    Raises
    ------
    LedgerError
        If the folder lies on one.
    """
    kind = _file_system(folder)
    if kind is not None and _NETWORK.fullmatch(kind):
        raise LedgerError(
            f"{folder} is on a network file system ({kind}), where the locks of SQLite may not "
            "hold and two users could spend the same budget; use a local disk, or PostgreSQL"
        )


def _file_system(folder: Path) -> str | None:
    """Return the type of the file system of a folder; None if it is not known."""
    try:
        device = folder.stat().st_dev
        lines = _MOUNTS.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return None
    wanted = f"{os.major(device)}:{os.minor(device)}"
    found = None
    for line in lines:
        fields, _, kind = line.partition(" - ")
        if fields.split()[2] == wanted:
            found = kind.split()[0]
    return found


def _explain(path: Path, error: sqlite3.Error | OSError) -> LedgerError | OutputFileError:
    """Return our error for one of SQLite or of the system, without the text of SQLite."""
    fault = classify(error)
    if fault == "in use":
        return LedgerError(f"{path} is in use by other processes for too long; try again")
    if isinstance(error, OSError):
        return OutputFileError(f"could not open {path}: {error.strerror or 'the system refused'}")
    if fault == "full":
        return OutputFileError(f"no space left to write {path}; nothing was written")
    if fault in ("foreign", "damaged"):
        return _make_damaged_error(path)
    if fault in ("folder", "read-only"):
        return LedgerError(f"{path} and its folder must be writable; nothing was written")
    return OutputFileError(
        f"could not write {path}: the system refused. Look at the ledger before trying again: "
        "a charge may have been made"
    )


def _make_damaged_error(path: Path) -> LedgerError:
    return LedgerError(
        f"{path} is damaged or was edited; restore it, and run `dphist ledger verify`"
    )
