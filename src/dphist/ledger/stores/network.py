"""File systems on which a SQLite file is not safe, because their locks may not hold."""

import os
import re
import sys
from pathlib import Path

from dphist.errors import LedgerError

_NETWORK = re.compile(
    r"nfs\d?|cifs|smb\d*|smbfs|afs|9p|ncpfs|coda|ceph|lustre|gpfs|glusterfs|davfs\d?|ocfs2|beegfs|"
    r"orangefs|pvfs2|vboxsf|prl_fs|fuse\.(?!overlayfs|portal|fuseblk).*|fuse"
)
_MOUNTS = Path("/proc/self/mountinfo")


def check_local(folder: Path) -> None:
    """Refuse a folder on a network file system, as far as the system tells.

    Raises
    ------
    LedgerError
        If the folder lies on one. Other systems than Linux do not tell.
    """
    kind = _file_system(folder)
    if kind is not None and _NETWORK.fullmatch(kind):
        raise LedgerError(
            f"{folder} is on a network file system ({kind}), where the locks of SQLite may not "
            "hold and two users could spend the same budget; use a local disk, or PostgreSQL"
        )


def _file_system(folder: Path) -> str | None:
    """Return the type of the file system of a folder; None where it is not known."""
    if sys.platform != "linux":
        return None
    try:
        device = folder.stat().st_dev
        lines = _MOUNTS.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return None
    wanted = f"{os.major(device)}:{os.minor(device)}"
    found = None
    for line in lines:
        fields, _, kind = line.partition(" - ")
        if fields.split()[2] == wanted:
            found = kind.split()[0]
    return found
