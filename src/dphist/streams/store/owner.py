"""Ownership of a state file: at most one object in one process owns it, and none owns a copy.

Two owners of one state would draw different noise for the same partial sum. Anyone who sees both
releases could average the noise away.
"""

import contextlib
import ctypes
import os
import sqlite3
import sys
import weakref
from pathlib import Path

from dphist.durable.files import A_SECOND_NAME, has_second_name, is_at
from dphist.durable.identity import (
    identity_text,
    is_same_file,
    mark,
    note_commits,
    noted_commits,
    read_facts,
    undetected,
)
from dphist.errors import DphistError, InputFileError, OutputFileError, StateError

if sys.platform == "linux":
    import fcntl

_living: "weakref.WeakSet[Owner]" = weakref.WeakSet()


class Owner:
    """The lock on a state file and the connection to it, in the process that made this object."""

    def __init__(self, path: Path, descriptor: int) -> None:
        """Own the file that is open as `descriptor` and called `path` in messages.

        SQLite locks the file against other programs, with a POSIX lock. But the system drops the
        POSIX locks of a process as soon as the process closes any descriptor of the file, for
        example after reading it for a backup. A lock by `flock` stays until this descriptor is
        closed or the process ends. On systems other than Linux the two kinds of locks may conflict,
        so there only SQLite's lock is used.

        Raises
        ------
        StateError
            If another object, here or in another process, owns the file.
        """
        self._path = path
        self._process = os.getpid()
        self._connection: sqlite3.Connection | None = None
        self._descriptor: int | None = descriptor
        if sys.platform == "linux":
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                self.close()
                raise (
                    in_use_error(path)
                    if isinstance(error, BlockingIOError)
                    else write_error(path, error)
                ) from None
        self._status = os.fstat(descriptor)
        self._facts = read_facts(descriptor)
        if sys.platform != "linux":
            self._descriptor = None
            os.close(descriptor)
        _living.add(self)

    @classmethod
    def of_file(cls, path: Path) -> "Owner":
        """Own the state at `path`, which must exist."""
        try:
            if path.exists() and not path.is_file():
                raise StateError(f"{path} is not a file; name the state of a stream")
            descriptor = os.open(path, os.O_RDWR)
        except FileNotFoundError:
            raise InputFileError(f"there is no stream state at {path}") from None
        except OSError as error:
            raise write_error(path, error) from None
        owner = cls(path, descriptor)
        if not owner.is_at(path):  # replaced between the opening and the locking
            owner.close()
            raise in_use_error(path)
        return owner

    def attach(self, connection: sqlite3.Connection) -> None:
        """Take over `connection`, which this object closes."""
        self._connection = connection

    def mark(self) -> None:
        """Give the owned file a new token, which its copies do not have."""
        if self._descriptor is not None:
            mark(self._descriptor)
            self._facts = read_facts(self._descriptor)

    @property
    def identity(self) -> str:
        """The facts that distinguish the owned file from others, as text to record in it."""
        return identity_text(self._facts)

    @property
    def undetected(self) -> list[str]:
        """What cannot be distinguished from the owned file on this system."""
        return undetected(self._facts)

    def is_same_file(self, identity: str) -> bool:
        """Whether the owned file is the one with this recorded identity."""
        return is_same_file(identity, self._facts)

    def is_at(self, path: Path) -> bool:
        """Whether `path` leads to the owned file."""
        return is_at(path, self._status)

    def check_name(self, path: Path) -> None:
        """Refuse another file at `path`, and a second name of the owned one.

        A commit to a removed file is lost. The journal that a crash leaves is found by one name
        only, so a file with two would hold different content under each. And a second stream may
        have begun at the old name.

        Raises
        ------
        StateError
        """
        try:
            status = path.stat()
        except OSError:
            status = None
        if status is None or not os.path.samestat(status, self._status):
            raise StateError(
                f"{path} was renamed or removed while in use; move it back, or close the "
                "stream and open the state where it is now"
            )
        if has_second_name(path, status):
            raise StateError(f"{path} {A_SECOND_NAME}")

    @property
    def commits(self) -> int:
        """The largest number of commits noted in the file's attributes, or 0."""
        return 0 if self._descriptor is None else noted_commits(self._descriptor)

    def note(self, commits: int) -> None:
        """Note a number of durable commits."""
        if self._descriptor is not None:
            note_commits(self._descriptor, commits)

    def is_noted(self, commits: int) -> bool:
        """Whether at least this number of commits is noted; true on systems without notes."""
        return self._descriptor is None or self.commits >= commits

    @property
    def is_open(self) -> bool:
        """Whether this object still owns the file, in the process that made it."""
        return self._connection is not None and self._process == os.getpid()

    @property
    def connection(self) -> sqlite3.Connection:
        """The connection, for its owner.

        Raises
        ------
        StateError
            If the connection is closed, or this process was forked from the owner.
        """
        if self._process != os.getpid():
            raise StateError(
                f"{self._path} is in use by the process that this one was forked from; "
                "use the stream there, or close it before the fork and open it in one of the two"
            )
        if self._connection is None:
            raise StateError(f"{self._path} is closed; open it again")
        return self._connection

    def close(self) -> None:
        """Give up the file. In a forked process this does nothing, because it owns nothing."""
        if self._process != os.getpid():
            return
        connection, self._connection = self._connection, None
        descriptor, self._descriptor = self._descriptor, None
        _living.discard(self)
        try:
            if connection is not None:
                # An error leaves at most a journal, which is replayed when the file is next opened.
                with contextlib.suppress(sqlite3.Error):
                    connection.close()
        finally:
            if descriptor is not None:  # last, because it also drops the locks of SQLite
                os.close(descriptor)

    def __del__(self) -> None:
        # At interpreter shutdown, modules that `close` needs may no longer exist.
        with contextlib.suppress(Exception):
            self.close()


def _disown() -> None:
    """Give up, in a forked child, everything that its parent owns.

    The child must not close a connection of its parent: SQLite would delete or replay the journal
    that the parent uses. So the connection gets an extra reference and is never freed, not even at
    interpreter shutdown. The child closes its descriptor, so that the lock ends with the parent;
    the parent's own descriptor keeps the lock until then.
    """
    for owner in list(_living):
        if owner._connection is not None:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(owner._connection))
        if owner._descriptor is not None:
            os.close(owner._descriptor)
            owner._descriptor = None
    _living.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_disown)


def in_use_error(path: Path) -> StateError:
    """Return the error for a state that has another owner."""
    return StateError(
        f"{path} is in use by another process, or by another stream of this process; "
        "close it there first"
    )


def write_error(path: Path, error: OSError) -> DphistError:
    """Return the error for a file that the system does not allow to be written."""
    return OutputFileError(f"could not write {path}: {error.strerror or 'the system refused'}")
