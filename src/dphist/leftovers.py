"""Temporary files and folders, removed when the process exits, or else when dphist starts again.

They may hold labels. The code that creates one removes it when done; this module removes those
that are left when the process exits early. A process that is killed removes nothing, so every path
is also noted in a journal, which the next process reads.

A journal is a file in the folder of temporary files, readable by its owner only. Its process holds
a lock on it, which the system releases however the process ends: a journal that can be locked
belongs to nobody. It holds names of files and folders, never data.
"""

import contextlib
import json
import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
import threading
import time
import zlib
from pathlib import Path

from dphist.signals import call_at_end, exceptions_wait

if sys.platform != "win32":  # there nothing is noted: only an exit removes what is left
    import fcntl

_TRIES = 100
_SECONDS_BETWEEN = 0.01

# What this package names its temporary folders and files; nothing else is ever removed for another
# process.
_OURS = re.compile(r"dphist-[0-9a-f]{16}|\..+\.[0-9a-f]{12}\.part", re.DOTALL)

# Path and the process that created it: a forked process must not remove files of its parent.
_paths: dict[str, int] = {}

# Held while paths and journal change: else one thread may note a path in the journal that another
# ends, or write to its file number when that is already another file. Finalizers enter again.
_lock = threading.RLock()


class _Journal:
    """The journal of a process: made with its first path, and removed with its last."""

    def __init__(self) -> None:
        self._path: str | None = None
        self._descriptor = -1

    def note(self, mark: str, path: str) -> None:
        """Add a line; without a place to write, nothing is noted."""
        if sys.platform == "win32":
            return
        with contextlib.suppress(OSError):
            if self._descriptor < 0:
                remove_abandoned()
                self._open()
            os.write(self._descriptor, (json.dumps([mark, path]) + "\n").encode())

    def end(self) -> None:
        """Remove the journal: all its paths are gone."""
        path, descriptor = self._path, self._descriptor
        self._path, self._descriptor = None, -1
        if path is not None:
            with contextlib.suppress(OSError):
                Path(path).unlink()
            os.close(descriptor)

    def leave(self) -> None:
        """Let go of the journal of a parent; the parent's lock stays."""
        global _lock
        _lock = threading.RLock()  # another thread of the parent may have held it
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._path, self._descriptor = None, -1

    def _open(self) -> None:
        while self._descriptor < 0:
            name = f"dphist-{_host()}-{secrets.token_hex(8)}.paths"
            path = str(Path(tempfile.gettempdir()) / name)
            with exceptions_wait():  # a journal is in its place with its path known, or is not made
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
                descriptor = os.open(path, flags, 0o600)
                # Another process may have found it before it was locked, and removed it.
                if _locked(descriptor) and _is_still(path, descriptor):
                    self._path, self._descriptor = path, descriptor
                else:
                    os.close(descriptor)


_journal = _Journal()


def remember(path: str) -> None:
    """Register a file or folder for removal at exit; call it before creating the path."""
    with _lock:
        _paths[path] = os.getpid()
        _journal.note("+", str(Path(path).absolute()))


def forget(path: str) -> None:
    """Unregister a path: it is gone, or has become a permanent file."""
    with _lock:
        if _paths.pop(path, None) != os.getpid():
            return
        if os.getpid() in _paths.values():
            _journal.note("-", str(Path(path).absolute()))
        else:
            _journal.end()


def remove(path: str) -> None:
    """Remove a registered file or folder, and unregister it.

    Other threads may still write into the folder, so removal is tried several times. What a forked
    process has of its parent's stays.
    """
    if _paths.get(path, os.getpid()) != os.getpid():
        return
    for _ in range(_TRIES):
        with contextlib.suppress(OSError):
            Path(path).unlink()
        shutil.rmtree(path, ignore_errors=True)
        if not os.path.lexists(path):
            break
        time.sleep(_SECONDS_BETWEEN)
    forget(path)


def remove_all() -> None:
    """Remove all paths that this process registered."""
    for path, process in list(_paths.items()):
        if process == os.getpid():
            remove(path)


def remove_abandoned() -> None:
    """Remove what processes of this user on this machine left behind when they were killed.

    Only names that this package gives, and only what belongs to this user, is removed. Journals
    are looked for in the folder of temporary files; what they name may be anywhere.
    """
    if sys.platform == "win32":
        return
    pattern = re.compile(rf"dphist-{_host()}-[0-9a-f]{{16}}\.paths")
    with contextlib.suppress(OSError):
        folder = tempfile.gettempdir()
        for name in os.listdir(folder):  # noqa: PTH208 - names alone: there may be many
            if pattern.fullmatch(name):
                with contextlib.suppress(OSError, ValueError, TypeError):
                    _remove_those_of(Path(folder) / name)


def _remove_those_of(journal: Path) -> None:
    """Remove the paths of a journal whose process has ended, and the journal."""
    descriptor = os.open(journal, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        found = os.fstat(descriptor)
        private = stat.S_ISREG(found.st_mode) and not found.st_mode & 0o077
        if not private or found.st_uid != os.geteuid() or not _locked(descriptor):
            return
        left: dict[str, None] = {}
        with os.fdopen(os.dup(descriptor), encoding="utf-8") as lines:
            for line in lines:
                if line.endswith("\n"):  # else it was killed while writing, before the file was
                    mark, path = json.loads(line)
                    left.pop(path, None) if mark == "-" else left.update({path: None})
        for path in left:
            _remove_abandoned(path)
        if not any(_is_ours(path) for path in left):
            journal.unlink()
    finally:
        os.close(descriptor)


def _remove_abandoned(path: str) -> None:
    """Remove a file or folder of a process that has ended, if it is one that dphist made."""
    if not _is_ours(path):
        return
    if Path(path).is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            Path(path).unlink()


def _is_ours(path: str) -> bool:
    """Whether there is a file or folder that dphist made for this user, by its name and owner."""
    if not _OURS.fullmatch(Path(path).name):
        return False
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return False
    made = stat.S_ISDIR(found.st_mode) or stat.S_ISREG(found.st_mode)
    return made and found.st_uid == os.geteuid()


def _locked(descriptor: int) -> bool:
    """Whether this process now holds the lock of a file; another may hold it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _is_still(path: str, descriptor: int) -> bool:
    """Whether a path is that of an open file."""
    try:
        return os.path.samestat(Path(path).stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _host() -> str:
    """Return what distinguishes machines that share a folder: locks may not reach across them."""
    return f"{zlib.crc32(os.uname().nodename.encode()):08x}"


call_at_end(remove_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_journal.leave)
