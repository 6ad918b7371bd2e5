"""Temporary files and folders, removed however the process ends, unless it is killed.

They may hold labels. Whoever makes one removes it when done; what is left, as the process ends in
the middle, is removed here, once and for all.
"""

import atexit
import contextlib
import os
import shutil
import time
from pathlib import Path

_TRIES = 100
_SECONDS_BETWEEN = 0.01

# Each path, and the process that made it: a forked one must not remove what its parent uses.
_paths: dict[str, int] = {}


def remember(path: str) -> None:
    """Have a file or folder removed at the end; called before it is made."""
    _paths[path] = os.getpid()


def forget(path: str) -> None:
    """Leave a path alone; called when it is gone, or has become what stays."""
    _paths.pop(path, None)


def remove(path: str) -> None:
    """Remove a file or folder that is remembered, and forget it.

    Other threads may still be writing into a folder, so that it takes several tries.
    """
    for _ in range(_TRIES):
        with contextlib.suppress(OSError):
            Path(path).unlink()
        shutil.rmtree(path, ignore_errors=True)
        if not os.path.lexists(path):
            break
        time.sleep(_SECONDS_BETWEEN)
    forget(path)


def remove_all() -> None:
    """Remove what this process remembers."""
    for path, process in list(_paths.items()):
        if process == os.getpid():
            remove(path)


atexit.register(remove_all)
