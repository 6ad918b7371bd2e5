"""Who owns a state file: one object of one process, and never one of a copy of the file.

Two owners of one state would draw different noise for the same partial sum, and whoever sees
both releases could average the noise away.
"""

import contextlib
import ctypes
import os
import sqlite3
import sys
import weakref
from pathlib import Path

from dphist.durable.identity import (
    as_text,
    facts,
    is_of,
    mark,
    note_commits,
    noted_commits,
    what_passes,
)
from dphist.errors import DphistError, InputFileError, OutputFileError, StateError

if sys.platform == "linux":
    import fcntl

_living: "weakref.WeakSet[Owner]" = weakref.WeakSet()


class Owner:
    """The lock on a state file and the connection to it, of the process that made this object."""

    def __init__(self, path: Path, descriptor: int) -> None:
        """Own the file open as `descriptor`, called `path` in messages.

        SQLite holds a lock of its own, which keeps other programs out. But the system drops a
        process's POSIX locks as soon as the process closes any descriptor of the file, say after
        reading it for a backup; a lock of `flock` stays until this very descriptor is closed, by
        us or by the process's death. Elsewhere than on Linux the two kinds of lock may get in
        each other's way, and SQLite's has to do.

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
                    in_use(path) if isinstance(error, BlockingIOError) else refused(path, error)
                ) from None
        self._status = os.fstat(descriptor)
        self._facts = facts(descriptor)
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
            raise refused(path, error) from None
        owner = cls(path, descriptor)
        if not owner.is_at(path):  # replaced between the opening and the locking
            owner.close()
            raise in_use(path)
        return owner

    def attach(self, connection: sqlite3.Connection) -> None:
        """Make `connection` part of what this object owns and closes."""
        self._connection = connection

    def mark(self) -> None:
        """Distinguish the owned file anew from its copies."""
        if self._descriptor is not None:
            mark(self._descriptor)
            self._facts = facts(self._descriptor)

    @property
    def identity(self) -> str:
        """What distinguishes the owned file from others, to be recorded in it."""
        return as_text(self._facts)

    @property
    def what_passes(self) -> list[str]:
        """What cannot be distinguished from the owned file here."""
        return what_passes(self._facts)

    def is_of(self, identity: str) -> bool:
        """Whether the owned file is the one that has recorded this identity."""
        return is_of(identity, self._facts)

    def is_at(self, path: Path) -> bool:
        """Whether `path` leads to the owned file; its inode is not used again while it is open."""
        try:
            return os.path.samestat(path.stat(), self._status)
        except OSError:
            return False

    @property
    def commits(self) -> int:
        """The largest number of commits that was noted beside the file's content, or 0."""
        return 0 if self._descriptor is None else noted_commits(self._descriptor)

    def note(self, commits: int) -> None:
        """Note a number of commits, all of which are durable."""
        if self._descriptor is not None:
            note_commits(self._descriptor, commits)

    def is_noted(self, commits: int) -> bool:
        """Whether the note of so many commits can be read back, on systems that take notes."""
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
            If it was closed, or this is a fork of the process that owns it.
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
        """Give the file up. In a forked process nothing happens: there it was never owned."""
        if self._process != os.getpid():
            return
        connection, self._connection = self._connection, None
        descriptor, self._descriptor = self._descriptor, None
        _living.discard(self)
        try:
            if connection is not None:
                # An error leaves at most a journal, which the next to open the file plays back.
                with contextlib.suppress(sqlite3.Error):
                    connection.close()
        finally:
            if descriptor is not None:  # last: it also drops the locks that SQLite held
                os.close(descriptor)

    def __del__(self) -> None:
        # When the interpreter shuts down, what `close` needs may be gone.
        with contextlib.suppress(Exception):
            self.close()


def _disown() -> None:
    """Forget, in a forked child, what its parent owns.

    A connection carried across a fork must not be closed there: SQLite would delete or play back
    the journal under the parent. So it is given one reference more than anybody will drop, and
    is never freed, not even when the interpreter shuts down. The child's descriptor is closed, so
    that the lock goes when the parent goes; that unlocks nothing as long as the parent has it.
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


def in_use(path: Path) -> StateError:
    """Return the error of a state that somebody else owns."""
    return StateError(
        f"{path} is in use, by another process or by another stream of this one; "
        "close it there first"
    )


def refused(path: Path, error: OSError) -> DphistError:
    """Return the error of a file that the system does not let us write."""
    return OutputFileError(f"could not write {path}: {error.strerror or 'the system refused'}")
