"""Temporary files and folders, removed when the process exits, unless it is killed.

They may hold labels. The code that creates one removes it when done; this module removes those
that are left when the process exits early.
"""

import atexit
import contextlib
import os
import shutil
import time
from pathlib import Path

_TRIES = 100
_SECONDS_BETWEEN = 0.01

# Path and the process that created it: a forked process must not remove files of its parent.
_paths: dict[str, int] = {}


def remember(path: str) -> None:
    """Register a file or folder for removal at exit; call it before creating the path."""
    _paths[path] = os.getpid()


def forget(path: str) -> None:
    """Unregister a path: it is gone, or has become a permanent file."""
    _paths.pop(path, None)


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


atexit.register(remove_all)
