"""What a file system records about a file, to distinguish it from its copies and its own past.

A copy has another inode. But once the original is removed its inode is used again, and
`cp -a`, `tar --xattrs` and `rsync -X` copy extended attributes too. No program that copies files
sets the time when an inode was born, nor the generation number that the file system gives it.

An older content that is written back into the same file changes none of these. So the number of
the last commit is noted beside the content, in an extended attribute. Its name holds the number:
`cp -a` sets the attributes that the backup has, but removes no others, and the larger number stays.
"""

import contextlib
import ctypes
import os
import secrets
import struct
import sys

if sys.platform == "linux":
    import fcntl

_TOKEN = "user.dphist.state"  # noqa: S105 - the name of an attribute, no secret
_COMMITS = "user.dphist.commits."

_AT_EMPTY_PATH = 0x1000
_STATX_BTIME = 0x800
_BTIME_PLACE = 80  # in struct statx, which is the same on all processors
_STATX_SIZE = 256
# _IOR('v', 1, long), as x86 and Arm code it. Processors that code it otherwise do not know this
# number, and the generation is then missing.
_GET_GENERATION = 0x80000000 | struct.calcsize("l") << 16 | ord("v") << 8 | 1
_BTRFS_LOOKUP = 0xD0009412  # BTRFS_IOC_INO_LOOKUP
_BTRFS_FIRST_FILE = 256  # which anybody may look up

Facts = dict[str, str]

AN_OLDER_CONTENT = "an older content written back into it"


def facts(descriptor: int) -> Facts:
    """Return what the system tells about an open file, as far as it tells it.

    Returns
    -------
    Some of: `inode` and `device`, always; `birth`, when the inode was made, seconds; `generation`,
    another number for each file that the inode ever was; `subvolume` of btrfs, in which a snapshot
    differs; `token`, the random bytes of `mark`.
    """
    status = os.fstat(descriptor)
    found = {
        "inode": str(status.st_ino),
        "device": str(status.st_dev),
        "birth": _birth(descriptor, status),
        "generation": _generation(descriptor),
        "subvolume": _subvolume(descriptor),
        "token": _token(descriptor),
    }
    return {name: value for name, value in found.items() if value}


def as_text(found: Facts) -> str:
    """Spell the facts that a file keeps as long as it exists, for `is_of`.

    A device has another number after a restart, or on another port: it is left out where anything
    else distinguishes the file from others of the same inode.
    """
    kept = dict(found)
    if len(kept) > 2:
        del kept["device"]
    return " ".join(f"{name}={value}" for name, value in kept.items())


def is_of(recorded: str, found: Facts) -> bool:
    """Whether the facts that were recorded are still the same.

    One that was recorded and is no longer told counts as another: that is how it looks after a
    copy to a file system that tells less. One that is told for the first time is no difference.
    """
    known = dict(fact.partition("=")[::2] for fact in recorded.split())
    return all(found.get(name) == value for name, value in known.items())


def what_passes(found: Facts) -> list[str]:
    """Say what cannot be distinguished from the file here, because the system tells too little."""
    passing = []
    if "birth" not in found and "generation" not in found:
        passing.append("a copy that got its inode and attributes")
    if "token" not in found:
        passing.append(AN_OLDER_CONTENT)
    return passing


def mark(descriptor: int) -> None:
    """Give a file a new token, which copying its content does not carry along."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):  # not every file system has room for it
            os.setxattr(descriptor, _TOKEN, secrets.token_bytes(16))


def note_commits(descriptor: int, commits: int) -> None:
    """Note beside the content how many commits it had; to be called when the last is durable.

    So a crash may leave a smaller number than the content's, and never a larger one. A file system
    without room for the note does not take it, and nothing is said here: read it back.
    """
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            name = f"{_COMMITS}{commits}"
            os.setxattr(descriptor, name, b"1")
            for other in _notes(descriptor):
                if other != name:
                    os.removexattr(descriptor, other)


def noted_commits(descriptor: int) -> int:
    """Return the largest number of commits that was noted, or 0."""
    numbers = (name.removeprefix(_COMMITS) for name in _notes(descriptor))
    return max((int(number) for number in numbers if number.isdecimal()), default=0)


def _notes(descriptor: int) -> list[str]:
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            return [name for name in os.listxattr(descriptor) if name.startswith(_COMMITS)]
    return []


def _token(descriptor: int) -> str:
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            return os.getxattr(descriptor, _TOKEN).hex()
    return ""


def _birth(descriptor: int, status: os.stat_result) -> str:
    """Return when the inode was made, or nothing: Python tells it on macOS, and not on Linux."""
    if sys.platform != "linux":
        birth = getattr(status, "st_birthtime", None)
        return "" if birth is None else repr(birth)
    statx = getattr(ctypes.CDLL(None), "statx", None)  # of glibc from 2.28 on, and of musl
    buffer = ctypes.create_string_buffer(_STATX_SIZE)
    if statx is None or statx(descriptor, b"", _AT_EMPTY_PATH, _STATX_BTIME, buffer) != 0:
        return ""
    (told,) = struct.unpack_from("=I", buffer)
    if not told & _STATX_BTIME:
        return ""
    seconds, nanoseconds = struct.unpack_from("=qI", buffer, _BTIME_PLACE)
    return f"{seconds}.{nanoseconds:09}"


def _generation(descriptor: int) -> str:
    """Return the number that tells apart the files that an inode was, one after the other."""
    if sys.platform == "linux":
        answer = bytearray(struct.calcsize("l"))
        with contextlib.suppress(OSError):
            fcntl.ioctl(descriptor, _GET_GENERATION, answer)
            return str(struct.unpack_from("=I", answer)[0])
    return ""


def _subvolume(descriptor: int) -> str:
    """Return the number of the subvolume, on btrfs."""
    if sys.platform == "linux":
        question = bytearray(struct.pack("=QQ", 0, _BTRFS_FIRST_FILE).ljust(4096, b"\0"))
        with contextlib.suppress(OSError):
            fcntl.ioctl(descriptor, _BTRFS_LOOKUP, question)
            return str(struct.unpack_from("=Q", question)[0])
    return ""
