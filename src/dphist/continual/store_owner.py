"""Who owns a state file: one object of one process, and never a copy of the file.

Two owners of one state would draw different noise for the same partial sum, and whoever sees
both releases could average the noise away.
"""

import contextlib
import ctypes
import os
import secrets
import sqlite3
import sys
import weakref
from pathlib import Path

from dphist.errors import DphistError, InputFileError, OutputFileError, StateError

if sys.platform == "linux":
    import fcntl

_TOKEN = "user.dphist.state"  # noqa: S105 - the name of an attribute, no secret
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
        else:
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
        if identity(path) != owner.identity:  # replaced between the opening and the locking
            owner.close()
            raise in_use(path)
        return owner

    def attach(self, connection: sqlite3.Connection) -> None:
        """Make `connection` part of what this object owns and closes."""
        self._connection = connection

    def mark(self) -> None:
        """Tell the owned file anew from its copies."""
        mark(self._path if self._descriptor is None else self._descriptor)

    @property
    def identity(self) -> str:
        """What tells the owned file from every other file of this computer."""
        return identity(self._path if self._descriptor is None else self._descriptor)

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


def identity(file: Path | int) -> str:
    """Return what tells a file from its copies, or nothing if there is none.

    Its inode, and the token that `mark` gave it. An inode alone is used again by another file once
    the first is removed: a backup put in its place would pass for it. Where files cannot be marked,
    device and inode have to do.
    """
    try:
        status = os.fstat(file) if isinstance(file, int) else file.stat()
    except OSError:
        return ""
    token = b""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            token = os.getxattr(file, _TOKEN)
    return f"{status.st_ino}:{token.hex()}" if token else f"{status.st_dev}:{status.st_ino}"


def mark(file: Path | int) -> None:
    """Give a file a new token, which copying its content does not carry along."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):  # not every file system has room for it
            os.setxattr(file, _TOKEN, secrets.token_bytes(16))


def in_use(path: Path) -> StateError:
    """Return the error of a state that somebody else owns."""
    return StateError(
        f"{path} is in use, by another process or by another stream of this one; "
        "close it there first"
    )


def refused(path: Path, error: OSError) -> DphistError:
    """Return the error of a file that the system does not let us write."""
    return OutputFileError(f"could not write {path}: {error.strerror or 'the system refused'}")
