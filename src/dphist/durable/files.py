"""Making the names of files durable."""

import os
from pathlib import Path


def sync_folder(folder: Path) -> None:
    """Make the folder's entries durable, where the system lets folders be synced."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
