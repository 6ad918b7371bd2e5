"""Facts that a file system records about a file, which distinguish it from its copies and backups.

A copy has another inode. But the inode of a removed file is reused, and `cp -a`, `tar --xattrs` and
`rsync -X` copy extended attributes too. No program that copies files sets the birth time of an
inode or the generation number from the file system.

If an older content is written back into the same file, all these facts stay the same. So the number
of the last commit is also noted in an extended attribute. The number is in the attribute's name:
`cp -a` sets the attributes of the backup but removes no others, so the larger number stays.
"""

import contextlib
import ctypes
import os
import secrets
import struct
import sys

if sys.platform == "linux":
    import fcntl

_TOKEN = "user.dphist.state"  # noqa: S105 - the name of an attribute, not a secret
_COMMITS = "user.dphist.commits."

_AT_EMPTY_PATH = 0x1000
_STATX_BTIME = 0x800
# In glibc 2.28 or later, and in musl. Looked up once: a ledger asks in every transaction.
_STATX = getattr(ctypes.CDLL(None), "statx", None) if sys.platform == "linux" else None
_BTIME_PLACE = 80  # in struct statx, which is the same on all processors
_STATX_SIZE = 256
# _IOR('v', 1, long) in the encoding of x86 and Arm. Processors with another encoding do not know
# this number, and the generation is then missing.
_GET_GENERATION = 0x80000000 | struct.calcsize("l") << 16 | ord("v") << 8 | 1
_BTRFS_LOOKUP = 0xD0009412  # BTRFS_IOC_INO_LOOKUP
_BTRFS_FIRST_FILE = 256  # every user may look it up

Facts = dict[str, str]

AN_OLDER_CONTENT = "an older content written back into it"


def read_facts(descriptor: int) -> Facts:
    """Return the facts that the system reports about an open file.

    Returns
    -------
    Always `inode` and `device`. If the system reports them: `birth`, the time at which the inode
    was created, in seconds; `generation`, a different number for each file that used the inode;
    `subvolume` of btrfs, which differs in a snapshot; and `token`, the random bytes of `mark`.
    """
    status = os.fstat(descriptor)
    found = {
        "inode": str(status.st_ino),
        "device": str(status.st_dev),
        "birth": _birth(descriptor),
        "generation": _generation(descriptor),
        "subvolume": _subvolume(descriptor),
        "token": _token(descriptor),
    }
    return {name: value for name, value in found.items() if value}


def identity_text(found: Facts) -> str:
    """Return as text the facts that stay the same as long as the file exists.

    The number of a device can change after a restart or on another port. So it is left out if a
    further fact distinguishes the file from others with the same inode.
    """
    kept = dict(found)
    if len(kept) > 2:
        del kept["device"]
    return " ".join(f"{name}={value}" for name, value in kept.items())


def is_same_file(recorded: str, found: Facts) -> bool:
    """Whether all recorded facts are still the same.

    A recorded fact that the system no longer reports counts as different: this happens after a copy
    to a file system that reports less. A fact that was not recorded makes no difference.
    """
    known = dict(fact.partition("=")[::2] for fact in recorded.split())
    return all(found.get(name) == value for name, value in known.items())


def undetected(found: Facts) -> list[str]:
    """Return what cannot be distinguished from the file, because the system reports too little."""
    passing = []
    if "birth" not in found and "generation" not in found:
        passing.append("a copy that got its inode and attributes")
    if "token" not in found:
        passing.append(AN_OLDER_CONTENT)
    return passing


def mark(descriptor: int) -> None:
    """Give a file a new token, which is not copied together with its content."""
    with contextlib.suppress(OSError):  # not every file system has extended attributes
        os.setxattr(descriptor, _TOKEN, secrets.token_bytes(16))


def note_commits(descriptor: int, commits: int) -> None:
    """Note the number of commits in an extended attribute; call it once the last one is durable.

    So after a crash the noted number may be smaller than that of the content, but never larger. On
    a file system without extended attributes nothing is noted, and no error is raised: read the
    number back to check it.
    """
    with contextlib.suppress(OSError):
        name = f"{_COMMITS}{commits}"
        os.setxattr(descriptor, name, b"1")
        for other in _notes(descriptor):
            if other != name:
                os.removexattr(descriptor, other)


def read_noted_commits(descriptor: int) -> int:
    """Return the largest noted number of commits, or 0."""
    numbers = (name.removeprefix(_COMMITS) for name in _notes(descriptor))
    return max((int(number) for number in numbers if number.isdecimal()), default=0)


def _notes(descriptor: int) -> list[str]:
    with contextlib.suppress(OSError):
        return [name for name in os.listxattr(descriptor) if name.startswith(_COMMITS)]
    return []


def _token(descriptor: int) -> str:
    with contextlib.suppress(OSError):
        return os.getxattr(descriptor, _TOKEN).hex()
    return ""


def _birth(descriptor: int) -> str:
    """Return the birth time of the inode, or "", which Python does not report."""
    buffer = ctypes.create_string_buffer(_STATX_SIZE)
    if _STATX is None or _STATX(descriptor, b"", _AT_EMPTY_PATH, _STATX_BTIME, buffer) != 0:
        return ""
    (reported,) = struct.unpack_from("=I", buffer)
    if not reported & _STATX_BTIME:
        return ""
    seconds, nanoseconds = struct.unpack_from("=qI", buffer, _BTIME_PLACE)
    return f"{seconds}.{nanoseconds:09}"


def _generation(descriptor: int) -> str:
    """Return the number that distinguishes successive files with the same inode, or ""."""
    answer = bytearray(struct.calcsize("l"))
    with contextlib.suppress(OSError):
        fcntl.ioctl(descriptor, _GET_GENERATION, answer)
        return str(struct.unpack_from("=I", answer)[0])
    return ""


def _subvolume(descriptor: int) -> str:
    """Return the number of the subvolume on btrfs, or ""."""
    question = bytearray(struct.pack("=QQ", 0, _BTRFS_FIRST_FILE).ljust(4096, b"\0"))
    with contextlib.suppress(OSError):
        fcntl.ioctl(descriptor, _BTRFS_LOOKUP, question)
        return str(struct.unpack_from("=Q", question)[0])
    return ""
