"""The secret state of a stream on disk: rows of bytes, all of which are committed or none."""

import contextlib
import logging
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NoReturn, SupportsIndex

from dphist.durable.identity import AN_OLDER_CONTENT, identity_text, is_same_file, undetected
from dphist.durable.owned_file import OwnedFile, create_file
from dphist.errors import Argument, InputFileError, StateError
from dphist.streams.store.database import (
    TABLES,
    Header,
    Key,
    check_rows,
    explain_errors,
    insert_header,
    read_header,
    row_hash,
    translate_error,
    write_header,
)

_LOG = logging.getLogger(__name__)

Kind = str

_ROWS_AT_ONCE = 1000


class Store:
    """Rows of bytes in one SQLite file, owned by one process; a commit writes all rows or none.

    A row is found by its kind (text) and its key (a 64-bit integer, or bytes). The file holds exact
    counts and the noise, so only its owner may read it. Its folder must be on a local disk that
    supports locks and syncing.

    **Guarantee.** When `commit` returns, all its rows are on the disk. A crash before that leaves
    either all of them or none. While a Store is open, no other Store opens the file. A copy of the
    file is refused, and so is an older content that is written back into it, if the file system can
    distinguish them (see `identity`). If it cannot, `create` logs a warning; `open` logs one if the
    number of its first commit cannot be noted.

    Not covered: notes that fail later; a disk, volume or virtual machine that is restored as a
    whole; a program that writes an older content back into the same file and also restores its
    extended attributes and removes later ones (`rsync --inplace --xattrs`); and an edit by a person
    who recomputes the digest.

    Several threads may use one Store, one at a time.
    """

    def __init__(self, owned: OwnedFile, header: Header) -> None:
        """Wrap a file that was checked; use `create` or `open` instead."""
        self.path = owned.path
        self._owned = owned
        self._header = header
        self._uncertain = False

    @classmethod
    def create(cls, path: str | Path, *, replace_taken: bool = False) -> "Store":
        """Create a state without rows at `path`, readable by its owner only.

        The file is created completely or not at all. With `replace_taken`, it may replace a file
        that another stream has taken over, which has no rows.

        Raises
        ------
        StateError
            If `path` exists, or the journal of an earlier state with this name.
        OutputFileError
            If the file cannot be written.
        """
        target = _resolve(path)
        if replace_taken:
            _remove_taken(target)
        try:
            owned = create_file(target, TABLES.values(), insert_header)
        except (OSError, sqlite3.Error) as error:
            raise translate_error(target, error) from None
        store = cls._check(owned, moved=False, new=True)
        passing = undetected(owned.facts)
        if AN_OLDER_CONTENT not in passing and not store._is_noted:
            passing.append(AN_OLDER_CONTENT)
        if passing:
            _LOG.warning(
                "%s: this file system cannot distinguish it from %s; do not restore backups of it",
                store.path,
                ", or ".join(passing),
            )
        return store

    @classmethod
    def open(cls, path: str | Path, *, moved: bool = False) -> "Store":
        """Own the state at `path`, and check that its content is what was committed.

        Parameters
        ----------
        path : the file; it may have been renamed within its file system.
        moved : whether to accept a copy of the created file; from then on the copy is the original.
            Use this only if the original was not used after it was copied, and never will be.

        Raises
        ------
        InputFileError
            If there is no file.
        StateError
            If the file is in use, a copy, restored to an older content, taken over, damaged,
            edited, of another version, not a state, or has a second name.
        OutputFileError
            If the file cannot be written.
        """
        store = cls._check(_own_file(_resolve(path)), moved=moved)
        if not store._is_noted:
            _LOG.warning(
                "%s: the number of its last commit could not be noted in an extended attribute, so "
                "it cannot be distinguished from %s; do not restore backups of it",
                store.path,
                AN_OLDER_CONTENT,
            )
        return store

    @classmethod
    def _check(cls, owned: OwnedFile, *, moved: bool, new: bool = False) -> "Store":
        path = owned.path
        try:
            owned.check_name(_make_renamed_error(path))
            with explain_errors(path):
                connection = owned.connect()
            header = read_header(connection, path)
            if header.taken:
                raise StateError(
                    f"{path} was taken over by the stream that loaded it; save that stream again "
                    "to have a file to load later"
                )
            original = is_same_file(header.identity, owned.facts)
            if not original and not moved:
                raise StateError(
                    f"{path} is a copy, or was moved to another file system: if two copies of one "
                    "stream continue, they draw different noise for the same counts. If the "
                    "original was not used since and is gone, open the copy with "
                    + Argument("moved", True)
                )
            if header.commits < owned.commits:
                raise StateError(
                    f"{path} holds an older content than before, such as a backup that was written "
                    "back into it: the stream would draw new noise for the same counts. It cannot "
                    "continue; begin a new stream, which costs its own budget"
                )
            check_rows(connection, path, header)
            if not original:
                owned.mark()
                header = replace(header, identity=identity_text(owned.facts))
            store = cls(owned, header)
            # An empty transaction shows at once, before any event, whether the file can be written.
            # It also lets SQLite find a journal left by a crash, and remove it on closing.
            with store._transaction(header):
                pass
        except BaseException:
            if new:
                owned.remove()
            owned.close()
            raise
        return store

    def rows(self, kind: Kind) -> Iterator[tuple[Key, bytes]]:
        """Yield key and content of all rows of a kind: integer keys ascending, then bytes.

        Rows are read lazily; commit only after the last one.
        """
        with explain_errors(self.path):
            found = self._connection().execute(
                "SELECT key, content FROM rows WHERE kind = ? ORDER BY key", (kind,)
            )
            while part := found.fetchmany(_ROWS_AT_ONCE):
                yield from part
                self._connection()

    def commit(self, rows: Mapping[Kind, Iterable[tuple[Key, bytes]]]) -> None:
        """Write rows; a row replaces an existing row of the same kind and key.

        Returns when all rows are durable. If two of the rows have the same key, the later one is
        written.

        Raises
        ------
        OutputFileError
            If there is no space, or the system refuses. Then nothing is written. If that is not
            certain, this Store cannot be used any more; opening the file again shows the result.
        StateError
            If the Store is closed, forked, or failed before, or its file was renamed, removed or
            given a second name.
        """
        changes = {(kind, key): content for kind, part in rows.items() for key, content in part}
        secret = self._header.key
        total = self._header.sum
        new = [(kind, key, content) for (kind, key), content in changes.items()]
        for row in new:
            total += row_hash(secret, *row)
        connection = self._connection()
        with explain_errors(self.path):
            for kind, key in changes:
                old = connection.execute(
                    "SELECT content FROM rows WHERE kind = ? AND key = ?", (kind, key)
                ).fetchone()
                if old is not None:
                    total -= row_hash(secret, kind, key, old[0])
        with self._transaction(self._header.with_sum(total)):
            connection.executemany("INSERT OR REPLACE INTO rows VALUES (?, ?, ?)", new)

    def take(self) -> None:
        """Mark the file as taken over and erase its rows, in one durable commit.

        Afterwards the Store can only be closed.
        """
        connection = self._connection()
        with explain_errors(self.path):
            # The journal has the old pages, so it is truncated rather than only invalidated.
            connection.execute("PRAGMA journal_size_limit = 0")
        with self._transaction(replace(self._header, taken=1).with_sum(0)):
            connection.execute("DELETE FROM rows")  # overwrites their pages: see secure_delete
        with contextlib.suppress(sqlite3.Error):  # optional: only makes the file smaller
            connection.execute("VACUUM")

    @property
    def _is_noted(self) -> bool:
        """Whether the number of the last commit is noted in the file's attributes."""
        return self._owned.is_noted(self._header.commits)

    @property
    def is_open(self) -> bool:
        """Whether this object, in this process, still owns the file."""
        return self._owned.connection is not None and not self._owned.is_forked

    @property
    def commits(self) -> int:
        """How many transactions there were; those of an older content are fewer."""
        return self._header.commits

    @property
    def secret(self) -> bytes:
        """Random bytes that no other state has."""
        return self._header.key

    @property
    def uncertain(self) -> bool:
        """Whether a commit failed that may nevertheless have reached the disk."""
        return self._uncertain

    def discard(self) -> bool:
        """Remove the file of a state that was never used; return whether it was removed."""
        return self._owned.remove()

    def close(self) -> None:
        """Give up the file, so that others can open it. May be called again."""
        self._owned.close()

    @contextlib.contextmanager
    def _transaction(self, header: Header) -> Iterator[None]:
        """Commit what the block writes together with `header`, which counts one more commit."""
        connection = self._connection()
        header = replace(header, commits=header.commits + 1)
        self._owned.check_name(_make_renamed_error(self.path))
        with explain_errors(self.path):
            # If COMMIT fails or an exception from a signal interrupts it, the commit may or may not
            # have reached the disk. After a failed sync, reading the file does not show which. So
            # this Store stops. Opening the file again finds one of the two states and continues.
            self._uncertain = True
            try:
                connection.execute("BEGIN")
                yield
                write_header(connection, header)
            except BaseException:
                if connection.in_transaction:  # after some errors SQLite itself rolls back
                    connection.execute("ROLLBACK")
                self._uncertain = False  # nothing was committed
                raise
            connection.execute("COMMIT")
            self._header = header
            self._uncertain = False
        self._owned.note(header.commits)

    def _connection(self) -> sqlite3.Connection:
        connection = self._owned.connection
        if self._owned.is_forked:
            raise StateError(
                f"{self.path} is in use by the process that this one was forked from; "
                "use the stream there, or close it before the fork and open it in one of the two"
            )
        if connection is None:
            raise StateError(f"{self.path} is closed; open it again")
        if self._uncertain:
            raise StateError(
                f"writing {self.path} failed, and the last event may or may not be recorded; "
                "close the stream and open it again"
            )
        if self._header.taken:
            raise StateError(f"{self.path} was taken over; use the stream that loaded it")
        return connection

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Refuse pickling and copying: a state has one owner."""
        raise StateError(f"{self.path} has one owner; a stream in use cannot be copied or pickled")


def _own_file(path: Path) -> OwnedFile:
    """Own the state at `path`, which must exist."""
    try:
        if path.exists() and not path.is_file():
            raise StateError(f"{path} is not a file; name the state of a stream")
        owned = OwnedFile.open(path, os.O_RDWR)
        if owned.is_at_path():
            return owned
        owned.close()  # replaced between the opening and the locking
        raise BlockingIOError
    except FileNotFoundError:
        raise InputFileError(f"there is no stream state at {path}") from None
    except OSError as error:
        raise translate_error(path, error) from None


def _remove_taken(path: Path) -> None:
    """Remove a state file that was taken over, if there is one."""
    if not path.exists():
        return
    owned = _own_file(path)  # owned until it is removed, so that nobody else uses it
    try:
        if read_header(owned.connect(), path).taken:
            owned.remove()
    except (StateError, sqlite3.Error):
        pass  # creating a file with this name then raises the error
    finally:
        owned.close()


def _make_renamed_error(path: Path) -> StateError:
    return StateError(
        f"{path} was renamed or removed while in use; move it back, or close the stream and open "
        "the state where it is now"
    )


def _resolve(path: str | Path) -> Path:
    """Resolve links in `path`: a journal is beside the file itself, not beside a link."""
    return Path(os.path.realpath(path))
