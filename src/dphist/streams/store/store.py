"""The secret state of a stream on disk: rows of bytes, committed together or not at all."""

import contextlib
import logging
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NoReturn, SupportsIndex

from dphist.durable.files import sync_folder
from dphist.durable.identity import AN_OLDER_CONTENT
from dphist.errors import StateError
from dphist.streams.store.creation import create_file
from dphist.streams.store.database import check_rows, connect, explained, read_header, write_header
from dphist.streams.store.digest import Header, Key, row_hash
from dphist.streams.store.owner import Owner

_LOG = logging.getLogger(__name__)

Kind = str

_ROWS_AT_ONCE = 1000


class Store:
    """Rows of bytes in one SQLite file, committed together or not at all, owned by one process.

    A row is found by its kind (text) and its key (a 64-bit integer, or bytes). The file is
    for its owner's eyes: it holds exact counts and the noise. Its folder must be on a local disk
    that honours locks and syncing.

    **Guarantee.** When `commit` returns, all its rows are on the disk; before, a crash leaves none
    of them or all. While a Store is open, no second one opens the file. A copy of the file is
    refused, and so is an older content written back into it, as far as the file system tells
    them apart (`store_identity`); where it does not, `create` logs a warning, and so does `open`
    where the number of its first commit does not stay noted. Not covered: notes that fail later, a
    disk, volume or virtual machine that is set back as a whole, an older content that is written
    back into the same file by a program that also sets back its extended attributes and removes
    those that came later (`rsync --inplace --xattrs`), and an edit by somebody who recomputes the
    digest.

    Several threads may use one Store, one at a time.
    """

    def __init__(self, path: Path, owner: Owner, header: Header) -> None:
        """Take an examined file; use `create` or `open`."""
        self.path = path
        self._owner = owner
        self._header = header
        self._uncertain = False

    @classmethod
    def create(cls, path: str | Path, *, replace_taken: bool = False) -> "Store":
        """Make a state without rows at `path`, whole or not at all, readable by its owner only.

        Where `replace_taken`, in the place of a file there that was taken over, which is empty.

        Raises
        ------
        StateError
            If `path` exists, or the journal of a state that was there before it.
        OutputFileError
            If the file cannot be written.
        """
        target = _real(path)
        if replace_taken:
            _remove_taken(target)
        store = cls._examined(target, create_file(target), moved=False, new=True)
        passing = store._owner.what_passes
        if AN_OLDER_CONTENT not in passing and not store._is_noted:
            passing.append(AN_OLDER_CONTENT)
        if passing:
            _LOG.warning(
                "%s: this file system does not tell it from %s; do not restore backups of it",
                store.path,
                ", or ".join(passing),
            )
        return store

    @classmethod
    def open(cls, path: str | Path, *, moved: bool = False) -> "Store":
        """Own the state at `path` and check that it is as it was committed.

        Parameters
        ----------
        path : the file; it may have been renamed within its file system.
        moved : accept a file that is not the one that was created, and make it the one from now
            on. For a state whose original was not used after it was copied, and never will be.

        Raises
        ------
        InputFileError
            If there is no file.
        StateError
            If it is in use, a copy, set back to an older content, taken over, damaged, edited, of
            another version, or no state.
        OutputFileError
            If it cannot be written.
        """
        target = _real(path)
        store = cls._examined(target, Owner.of_file(target), moved=moved)
        if not store._is_noted:
            _LOG.warning(
                "%s: the number of its last commit could not be noted beside it (is there room for "
                "extended attributes?), so it is not told from %s; do not restore backups of it",
                store.path,
                AN_OLDER_CONTENT,
            )
        return store

    @classmethod
    def _examined(cls, path: Path, owner: Owner, *, moved: bool, new: bool = False) -> "Store":
        try:
            try:
                owner.attach(connect(path))
            except sqlite3.Error as error:
                raise explained(path, error) from None
            header = read_header(owner.connection, path)
            if header.taken:
                raise StateError(
                    f"{path} was taken over by the stream that loaded it; to have a file to load "
                    "later, save that one again"
                )
            original = owner.is_of(header.identity)
            if not original and not moved:
                raise StateError(
                    f"{path} is a copy, or was moved to another file system: two copies of one "
                    "stream that both go on would draw different noise for the same counts. If "
                    "the original was not used since and is gone, open it with moved=True"
                )
            if header.commits < owner.commits:
                raise StateError(
                    f"{path} holds an older content than it had, as from a backup that was written "
                    "back into it: noise that was drawn since would be drawn anew for the same "
                    "counts. A stream cannot go on from it; begin a new one, which costs anew"
                )
            check_rows(owner.connection, path, header)
            if not original:
                owner.mark()
                header = replace(header, identity=owner.identity)
            store = cls(path, owner, header)
            # Shows at once whether the file can be written, and not only when an event came. It
            # also lets SQLite find, and remove when it closes, a journal that a crash left.
            with store._transaction(header):
                pass
        except BaseException:
            if new:
                _remove(path, owner)
            owner.close()
            raise
        return store

    def rows(self, kind: Kind) -> Iterator[tuple[Key, bytes]]:
        """Yield key and content of all rows of a kind, integers ascending, then bytes.

        Rows are read as they are asked for; commit only when done with them.
        """
        try:
            found = self._connection().execute(
                "SELECT key, content FROM rows WHERE kind = ? ORDER BY key", (kind,)
            )
            while part := found.fetchmany(_ROWS_AT_ONCE):
                yield from part
                self._connection()
        except sqlite3.Error as error:
            raise explained(self.path, error) from None

    def commit(self, rows: Mapping[Kind, Iterable[tuple[Key, bytes]]]) -> None:
        """Write rows, each new or in the place of the one with its kind and key.

        Returns when all of them are durable. Of two rows with one key the later counts.

        Raises
        ------
        OutputFileError
            If there is no space, or the system refuses. Nothing is written; where that is not
            certain, the Store is of no use any more, and the file tells when it is opened again.
        StateError
            If the Store is not usable: closed, forked, failed before, its file renamed or removed.
        """
        changes = {(kind, key): content for kind, part in rows.items() for key, content in part}
        secret = self._header.key
        total = self._header.sum
        new = [(kind, key, content) for (kind, key), content in changes.items()]
        for row in new:
            total += row_hash(secret, *row)
        connection = self._connection()
        with self._explaining():
            for kind, key in changes:
                old = connection.execute(
                    "SELECT content FROM rows WHERE kind = ? AND key = ?", (kind, key)
                ).fetchone()
                if old is not None:
                    total -= row_hash(secret, kind, key, old[0])
        with self._transaction(self._header.with_sum(total)):
            connection.executemany("INSERT OR REPLACE INTO rows VALUES (?, ?, ?)", new)

    def take(self) -> None:
        """Mark the file as taken over and wipe its rows, at once and durably.

        Nothing but `close` can be done with the Store afterwards.
        """
        connection = self._connection()
        with self._explaining():
            # The journal has the old pages: it is cut off and not only made invalid.
            connection.execute("PRAGMA journal_size_limit = 0")
        with self._transaction(replace(self._header, taken=1).with_sum(0)):
            connection.execute("DELETE FROM rows")  # overwrites their pages: see secure_delete
        with contextlib.suppress(sqlite3.Error):  # done; this only makes the file small
            connection.execute("VACUUM")

    @property
    def _is_noted(self) -> bool:
        """Whether the last commit's number is beside the file."""
        return self._owner.is_noted(self._header.commits)

    @property
    def is_open(self) -> bool:
        """Whether this object, in this process, still owns the file."""
        return self._owner.is_open

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
        """Whether a commit failed of which it is open if it reached the disk."""
        return self._uncertain

    def discard(self) -> bool:
        """Remove the file, of a state that was never used; say whether it is removed."""
        return _remove(self.path, self._owner)

    def close(self) -> None:
        """Give the file up, for others to open. May be called again."""
        self._owner.close()

    @contextlib.contextmanager
    def _transaction(self, header: Header) -> Iterator[None]:
        """Make what the block writes, and `header` as one more commit's, durable together."""
        connection = self._connection()
        header = replace(header, commits=header.commits + 1)
        if not self._owner.is_at(self.path):
            # What is committed to a removed file is lost; a journal beside a renamed one is not
            # found after a crash; and at the old name a second stream may have begun.
            raise StateError(
                f"{self.path} was renamed or removed while in use; move it back, or close the "
                "stream and open the state where it is now"
            )
        with self._explaining():
            # A COMMIT that fails, or that a signal's exception cuts off, may have reached the disk
            # or not, and if syncing failed no later look at the file tells which. So this Store
            # stops; whoever opens the file finds one of the two and goes on from there.
            self._uncertain = True
            try:
                connection.execute("BEGIN")
                yield
                write_header(connection, header)
            except BaseException:
                if connection.in_transaction:  # some errors have SQLite roll back by itself
                    connection.execute("ROLLBACK")
                self._uncertain = False  # nothing had been committed, and nothing is left of it
                raise
            connection.execute("COMMIT")
            self._header = header
            self._uncertain = False
        self._owner.note(header.commits)

    @contextlib.contextmanager
    def _explaining(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise explained(self.path, error) from None

    def _connection(self) -> sqlite3.Connection:
        connection = self._owner.connection
        if self._uncertain:
            raise StateError(
                f"writing {self.path} failed, and whether the last event was recorded is open; "
                "close the stream and open it again"
            )
        if self._header.taken:
            raise StateError(f"{self.path} was taken over; use the stream that loaded it")
        return connection

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Refuse pickling and copying: a state has one owner."""
        raise StateError(f"{self.path} has one owner; a stream in use cannot be copied or pickled")


def _remove(path: Path, owner: Owner) -> bool:
    """Remove the owned file, of a state that was never used; say whether it is removed.

    While it is owned nobody else can have begun to use it. Closing it then removes its journal.
    """
    if not owner.is_at(path):
        return False  # another one has its name
    try:
        path.unlink()
    except OSError:
        return False
    with contextlib.suppress(OSError):
        sync_folder(path.parent)
    return True


def _remove_taken(path: Path) -> None:
    """Remove a state file that was taken over, if there is one."""
    if not path.exists():
        return
    owner = Owner.of_file(path)  # until it is removed, so that nobody puts another in its place
    try:
        owner.attach(connect(path))
        if read_header(owner.connection, path).taken and owner.is_at(path):
            path.unlink()
    except (StateError, OSError, sqlite3.Error):
        pass  # whoever makes a file there says what is wrong
    finally:
        owner.close()


def _real(path: str | Path) -> Path:
    """Return where `path` points: a journal lies beside the file itself, not beside a link."""
    return Path(os.path.realpath(path))
