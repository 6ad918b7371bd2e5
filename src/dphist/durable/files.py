"""The name of a durable file: how it reaches the disk, and that there is only one."""

import contextlib
import glob
import os
from pathlib import Path

A_SECOND_NAME = (
    "has a second name (a hard link), under which a crash could not be recovered from; remove the "
    "other name"
)
"""What is wrong with a file that `has_second_name`, for error messages."""


def sync_folder(folder: Path) -> None:
    """Make the folder's entries durable, where the system lets folders be synced."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_at(path: Path, status: os.stat_result) -> bool:
    """Whether `path` leads to this file, which is open, so that its inode is not reused."""
    try:
        return os.path.samestat(path.stat(), status)
    except OSError:
        return False


def has_second_name(path: Path, status: os.stat_result) -> bool:
    """Whether the file of this status, which is at `path`, has other names.

    SQLite finds the journal that a crash left by one of the names only. The temporary name that a
    file keeps if its maker is killed is removed instead.
    """
    others = status.st_nlink - 1
    if others > 0:
        for name in path.parent.glob(f".{glob.escape(path.name)}.*.part"):
            with contextlib.suppress(OSError):
                if is_at(name, status):
                    name.unlink()
                    others -= 1
    return others > 0
