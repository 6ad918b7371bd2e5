"""A SQLite file with an owner: nothing that was committed is lost, or undone unnoticed.

The state of a stream and a ledger are such files. Two owners of one state would draw different
noise for the same partial sum, and two of one ledger would spend one budget twice. So the file is
locked while it is in use, a copy of it is refused, and so is an older content that was written back
(see `identity`). Under its name, a file either does not exist or is complete.
"""

import contextlib
import ctypes
import errno
import glob
import os
import random
import sqlite3
import sys
import time
import weakref
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from dphist.durable.identity import (
    identity_text,
    mark,
    note_commits,
    read_facts,
    read_noted_commits,
)
from dphist.errors import DphistError, UnsupportedError
from dphist.files import check_output_path, is_at, name_temporary, remove_temporary

if sys.platform == "linux":
    import fcntl

_living: "weakref.WeakSet[OwnedFile]" = weakref.WeakSet()


class OwnedFile:
    """A lock on a file and a connection to it, in the process that made this object.

    Attributes
    ----------
    path : the name of the file.
    facts : what distinguishes the owned file from its copies; see `identity`.
    connection : the connection of SQLite, None until `connect` and after `close`.
    """

    def __init__(
        self, path: Path, descriptor: int, *, shared: bool = False, patience: float = 0
    ) -> None:
        """Own the file that is open as `descriptor`, and close that in the end.

        SQLite locks the file against other programs, with a POSIX lock. But the system drops the
        POSIX locks of a process as soon as the process closes any descriptor of the file, for
        example after reading it for a backup. A lock by `flock` stays until this descriptor is
        closed or the process ends.

        Parameters
        ----------
        shared : whether others may own the file at the same time, if they share it too.
        patience : seconds to wait for others who own the file.

        Raises
        ------
        BlockingIOError
            If another object, here or in another process, owns the file.
        OSError
            If the file cannot be locked.
        """
        self.path = path
        self.connection: sqlite3.Connection | None = None
        self._process = os.getpid()
        self._descriptor: int | None = descriptor
        _living.add(self)
        try:
            self._lock(descriptor, shared, patience)
            self._status = os.fstat(descriptor)
            self.facts = read_facts(descriptor)
        except BaseException:
            self.close()
            raise

    @classmethod
    def open(
        cls, path: Path, flags: int, *, shared: bool = False, patience: float = 0
    ) -> "OwnedFile":
        """Open an existing file with these flags of `os.open`, and own it.

        Raises
        ------
        UnsupportedError
            If this system is not Linux.
        OSError
            If the file cannot be opened or locked; BlockingIOError if another object owns it.
        """
        _check_system(path)
        return cls(path, os.open(path, flags), shared=shared, patience=patience)

    @staticmethod
    def _lock(descriptor: int, shared: bool, patience: float) -> None:
        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        end = time.monotonic() + patience
        while True:
            try:
                fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= end:
                    raise
                time.sleep(random.uniform(0.0005, 0.01))  # noqa: S311 - so that waiters do not march
            else:
                return

    def check_name(self, moved: DphistError) -> None:
        """Refuse another file at the path, and a second name of the owned one.

        A commit to a removed file is lost. The journal that a crash leaves is found by one name
        only, so a file with two would hold different content under each. And a second stream may
        have begun at the old name.

        Parameters
        ----------
        moved : the error if the path leads to another file or to none; one of its type is raised
            if the file has a second name.
        """
        try:
            status = self.path.stat()
        except OSError:
            status = None
        if status is None or not os.path.samestat(status, self._status):
            raise moved
        if _has_second_name(self.path, status):
            raise type(moved)(
                f"{self.path} has a second name (a hard link), under which a crash could not be "
                "recovered from; remove the other name"
            )

    def is_at_path(self) -> bool:
        """Whether the path leads to the owned file."""
        return is_at(self.path, self._status)

    def remove(self) -> bool:
        """Remove the owned file if it has its name; return whether it was removed.

        Nobody else can use the file while it is owned. Closing it later removes its journal.
        """
        if not self.is_at_path():
            return False  # another file has this name
        try:
            self.path.unlink()
        except OSError:
            return False
        with contextlib.suppress(OSError):
            _sync_folder(self.path.parent)
        return True

    def mark(self) -> None:
        """Give the owned file a new token, which its copies do not have."""
        if self._descriptor is not None:
            mark(self._descriptor)
            self.facts = read_facts(self._descriptor)

    @property
    def commits(self) -> int:
        """The largest number of commits noted in the file's attributes, or 0."""
        return 0 if self._descriptor is None else read_noted_commits(self._descriptor)

    def note(self, commits: int) -> None:
        """Note a number of durable commits."""
        if self._descriptor is not None:
            note_commits(self._descriptor, commits)

    def is_noted(self, commits: int) -> bool:
        """Whether at least this number of commits is noted."""
        return self.commits >= commits

    @property
    def is_forked(self) -> bool:
        """Whether this process was forked from the owner."""
        return self._process != os.getpid()

    def connect(self, *, mode: str = "rw", timeout: float = 0) -> sqlite3.Connection:
        """Return a connection to the file, in autocommit mode, usable from any thread."""
        self.connection = sqlite3.connect(
            f"file:{quote(os.fsencode(self.path))}?mode={mode}",
            uri=True,
            timeout=timeout,
            isolation_level=None,
            check_same_thread=False,
        )
        return self.connection

    def close(self) -> None:
        """Give up the file. In a forked process this does nothing, because it owns nothing."""
        if self.is_forked:
            return
        connection, self.connection = self.connection, None
        descriptor, self._descriptor = self._descriptor, None
        _living.discard(self)
        try:
            if connection is not None:
                # An error leaves at most a journal, which is replayed when the file is next opened.
                with contextlib.suppress(sqlite3.Error):
                    connection.close()
        finally:
            if descriptor is not None:  # last, because it also drops the locks of SQLite
                # Closing alone does not unlock if another thread has just forked.
                fcntl.flock(descriptor, fcntl.LOCK_UN)
                os.close(descriptor)

    def __del__(self) -> None:
        # At interpreter shutdown, modules that `close` needs may no longer exist.
        with contextlib.suppress(Exception):
            self.close()


def _disown() -> None:
    """Give up, in a forked child, everything that its parent owns.

    The child must not close a connection of its parent: SQLite would delete or replay the journal
    that the parent uses. So the connection gets an extra reference and is never freed, not even at
    interpreter shutdown. The child closes its descriptor: the lock belongs to all descriptors that
    a fork has copied, so if the parent is killed before it unlocks, the child would keep everybody
    else waiting.
    """
    for owned in list(_living):
        if owned.connection is not None:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(owned.connection))
        if owned._descriptor is not None:
            os.close(owned._descriptor)
            owned._descriptor = None
    _living.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_disown)


def create_file(
    target: Path,
    tables: Iterable[str],
    fill: Callable[[sqlite3.Connection, str], None],
) -> OwnedFile:
    """Create a durable file at `target`, readable by its owner only, and own it.

    Parameters
    ----------
    tables : the statements that make its tables.
    fill : writes its first rows; it is given the identity that they record.

    Raises
    ------
    FileExistsError
        If the file exists, or the journal of an earlier file with this name, which is `filename`.
    OutputFileError
        If the folder is missing or cannot be written.
    UnsupportedError
        If this system is not Linux.
    OSError, sqlite3.Error
        If the system refuses.
    """
    _check_system(target)
    for file in (target, journal_path(target)):  # SQLite would replay a journal into the new file
        if os.path.lexists(file):
            raise FileExistsError(errno.EEXIST, "exists", str(file))
    check_output_path(target)
    temporary = name_temporary(target)
    owned = None
    try:
        try:
            descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            owned = OwnedFile(target, descriptor)  # locked before others can find it by its name
            owned.mark()
            _write_new(temporary, tables, fill, identity_text(owned.facts))
            # A link, because renaming would replace a file that another process has just created.
            os.link(temporary, target)
        finally:
            remove_temporary(temporary)
        _sync_folder(target.parent)
    except BaseException as error:
        if owned is not None:
            owned.close()
        if isinstance(error, FileExistsError):
            raise FileExistsError(errno.EEXIST, "exists", str(target)) from None
        raise
    return owned


def _check_system(path: Path) -> None:
    """Refuse a system on which locks and copies of files were not tested."""
    if sys.platform != "linux":
        raise UnsupportedError(
            f"{path} needs Linux, whose locks and file systems keep a ledger or a stream in one "
            "file from being used twice; run dphist in Linux (WSL on Windows, or a container), or "
            "keep the ledger in PostgreSQL"
        )


def _write_new(
    path: Path,
    tables: Iterable[str],
    fill: Callable[[sqlite3.Connection, str], None],
    identity: str,
) -> None:
    """Write the tables of a new file, which nobody else uses yet."""
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        # If this is interrupted, the file is discarded, so the journal need not be durable.
        connection.execute("PRAGMA journal_mode = MEMORY")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA fullfsync = ON")
        connection.execute("BEGIN")
        for table in tables:
            connection.execute(table)
        fill(connection, identity)
        connection.execute("COMMIT")
    finally:
        connection.close()


def journal_path(path: Path) -> Path:
    """Return the path of SQLite's journal of a file."""
    return path.with_name(f"{path.name}-journal")


def _sync_folder(folder: Path) -> None:
    """Make the folder's entries durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _has_second_name(path: Path, status: os.stat_result) -> bool:
    """Whether the file of this status, which is at `path`, has other names.

    The temporary name that a file keeps if its maker is killed is removed instead; another process
    may remove it at the same time.
    """
    if status.st_nlink > 1:
        for name in path.parent.glob(f".{glob.escape(path.name)}.*.part"):
            with contextlib.suppress(OSError):
                if is_at(name, status):
                    name.unlink()
        with contextlib.suppress(OSError):
            status = path.stat()
    return status.st_nlink > 1


Fault = Literal["foreign", "damaged", "full", "in use", "folder", "read-only", "refused"]

_PRIMARY: dict[int, Fault] = {
    sqlite3.SQLITE_ERROR: "foreign",
    sqlite3.SQLITE_NOTADB: "foreign",
    sqlite3.SQLITE_CORRUPT: "damaged",
    sqlite3.SQLITE_CONSTRAINT: "damaged",
    sqlite3.SQLITE_MISMATCH: "damaged",
    sqlite3.SQLITE_FULL: "full",
    sqlite3.SQLITE_BUSY: "in use",
    sqlite3.SQLITE_LOCKED: "in use",
    sqlite3.SQLITE_CANTOPEN: "folder",
    sqlite3.SQLITE_READONLY: "read-only",
}
_EXTENDED: dict[int, Fault] = {
    sqlite3.SQLITE_IOERR_SHORT_READ: "damaged",
    sqlite3.SQLITE_IOERR_CORRUPTFS: "damaged",
    sqlite3.SQLITE_READONLY: "damaged",  # without an extension: the file's own version field
    sqlite3.SQLITE_READONLY_DIRECTORY: "folder",
}


def classify(error: sqlite3.Error | OSError) -> Fault:
    """Return what an error of SQLite or of the system means, without its message.

    Returns
    -------
    "foreign" if the file does not have our tables: it is not ours, or damaged; "folder" if no
    journal can be created beside it.
    """
    if isinstance(error, OSError):
        return "in use" if isinstance(error, BlockingIOError) else "refused"
    code: Any = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    return _EXTENDED.get(code) or _PRIMARY.get(code & 0xFF, "refused")
