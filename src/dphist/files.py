"""Outputs written whole or not at all, and temporary files that go however the process ends.

Each output is written under a temporary name in its target folder. Outputs are renamed when all of
them are complete, so a full disk or a crash leaves the previous files in place.

Temporary files and folders may hold labels. The code that creates one removes it when done; this
module removes those that are left when the process exits early. A process that is killed removes
nothing, so every path is also noted in a journal, which the next process reads.

A journal is a file in the folder of temporary files, readable by its owner only. Its process holds
a lock on it, which the system releases however the process ends: a journal that can be locked
belongs to nobody. It holds names of files and folders, never data.
"""

import contextlib
import errno
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
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from dphist.errors import OutputFileError
from dphist.signals import call_at_end, exceptions_wait, handlers_wait

if sys.platform != "win32":  # there nothing is noted: only an exit removes what is left
    import fcntl

_TRIES, _SECONDS_BETWEEN = 100, 0.01

# What this package names its temporary files; nothing else is removed for another process.
_OURS = re.compile(r"dphist-[0-9a-f]{16}|\..+\.[0-9a-f]{12}\.part", re.DOTALL)

# Path and the process that created it: a forked process must not remove files of its parent.
_paths: dict[str, int] = {}

# Held while paths and journal change: else one thread may note a path in the journal that another
# ends, or write to its file number when that is already another file. Finalizers enter again.
_lock = threading.RLock()


class StagedOutputs:
    """Files written under temporary names, waiting to be renamed together."""

    def __init__(self) -> None:
        self._renames: list[tuple[Path, Path, bool]] = []

    def write(
        self, path: str | Path, content: str | bytes, *, replace: bool = True, private: bool = False
    ) -> None:
        """Write a temporary file, which `commit` moves to `path`.

        Parameters
        ----------
        content : text is written in UTF-8.
        replace : if false, `commit` fails if `path` exists by then.
        private : whether the owner alone can read the file.
        """
        target = check_output_path(path)
        temporary = name_temporary(target)
        self._renames.append((temporary, target, replace))
        flags, mode = os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666
        try:
            descriptor = os.open(temporary, flags, mode)
            with os.fdopen(descriptor, "wb") as file:
                file.write(content.encode() if isinstance(content, str) else content)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise _explain(target, error) from None

    def commit(self) -> None:
        """Move every file to its place; signal handlers wait until this is done.

        If one file cannot be moved, the moves before it are undone.

        Raises
        ------
        OutputFileError
            If a file exists that must not be replaced, or the system refuses. The message names
            the files that could not be restored.
        """
        moves = _Moves()
        with handlers_wait():
            # Files that replace nothing come first: undoing them needs no copy.
            ordered = sorted(self._renames, key=lambda each: each[2])
            for place, (temporary, target, replace) in enumerate(ordered, 1):
                try:
                    if replace:
                        # Nothing that could fail follows the last move: it needs no copy.
                        moves.replace(temporary, target, last=place == len(ordered))
                    else:
                        moves.place(temporary, target)
                except OSError as error:
                    raise _explain(target, error, moves.take_back()) from None
            for kept, _ in moves.kept:
                _try_to_remove(kept)
            self.discard()

    def discard(self) -> None:
        """Remove the files that have not been moved."""
        for temporary, _, _ in self._renames:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
            forget_temporary(temporary)
        self._renames.clear()


@contextlib.contextmanager
def stage_outputs() -> Iterator[StagedOutputs]:
    """Collect output files: all appear if the block succeeds, none if it raises.

    The block may call `commit` itself.
    """
    outputs = StagedOutputs()
    try:
        yield outputs
        outputs.commit()
    finally:
        outputs.discard()


def write_text(path: str | Path, text: str) -> None:
    """Write one file whole or not at all, replacing an existing one."""
    with stage_outputs() as outputs:
        outputs.write(path, text)


def check_output_path(path: str | Path) -> Path:
    """Return the real path of an output, checked before any work is done.

    Raises
    ------
    OutputFileError
        If the folder does not exist or cannot be written, or `path` is not a regular file.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        raise OutputFileError(f"{path} is not a regular file; name another output")
    if not target.parent.is_dir():
        raise OutputFileError(f"the folder of {path} does not exist; create it first")
    if not os.access(target.parent, os.W_OK):
        raise OutputFileError(f"the folder of {path} cannot be written to")
    return target


def check_distinct(paths: Iterable[str | Path]) -> None:
    """Refuse two names of one file: an output must not overwrite another, nor the input."""
    seen: set[str] = set()
    for path in paths:
        real = os.path.realpath(path)
        if real in seen:
            raise OutputFileError(f"{path} is named twice; give every file a name of its own")
        seen.add(real)


class _Moves:
    """Moves of files to their places, with what is needed to undo them."""

    def __init__(self) -> None:
        self._made: list[Path] = []
        self.kept: list[tuple[Path, Path]] = []  # second names of replaced files, and their own

    def place(self, temporary: Path, target: Path) -> None:
        """Move a file to a free place, or raise FileExistsError; the system call is atomic."""
        try:
            os.link(temporary, target)
        except OSError:  # no hard links on this file system: reserve the name, then move
            target.touch(exist_ok=False)
            self._made.append(target)
            temporary.replace(target)
        else:
            self._made.append(target)
            temporary.unlink()

    def replace(self, temporary: Path, target: Path, *, last: bool) -> None:
        """Move a file to its place; an existing file is kept, unless this is the last move."""
        kept = None if last or not target.exists() else self._keep(target)
        try:
            temporary.replace(target)
        except OSError:
            if kept is not None:
                _try_to_remove(kept)
            raise
        if kept is not None:
            self.kept.append((kept, target))
        elif not last:
            self._made.append(target)

    def take_back(self) -> list[str]:
        """Undo the moves; return a sentence for each file that could not be restored."""
        left = []
        for target in self._made:
            try:
                target.unlink(missing_ok=True)
            except OSError:
                left.append(f"{target} was written and could not be removed")
        for kept, target in self.kept:
            forget_temporary(kept)
            try:
                kept.replace(target)
            except OSError:
                left.append(f"{target} was written; the previous file is now {kept}")
        return left

    def _keep(self, target: Path) -> Path:
        """Keep an existing file under a second name and return that.

        Raises
        ------
        OSError
            If it can be neither linked nor copied, so that it could not be restored.
        """
        kept = name_temporary(target)
        try:
            try:
                os.link(target, kept)
            except OSError:  # no hard links, or a file of somebody else
                shutil.copy2(target, kept)
        except OSError:
            _try_to_remove(kept)
            raise
        return kept


def name_temporary(target: Path) -> Path:
    """Return a new name in the folder of a file, registered as temporary."""
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(6)}.part")
    register_temporary(temporary)
    return temporary


def _try_to_remove(temporary: Path) -> None:
    """Remove a temporary file; if the system refuses, it is tried again at exit."""
    with contextlib.suppress(OSError):
        temporary.unlink(missing_ok=True)
        forget_temporary(temporary)


def _explain(path: Path, error: OSError, left: Sequence[str] = ()) -> OutputFileError:
    """Return an error that says what failed, and which files could not be restored."""
    outcome = "; ".join(left) or "nothing was written"
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return OutputFileError(f"no space left to write {path}; {outcome}")
    if error.errno == errno.EEXIST:
        return OutputFileError(f"{path} was created meanwhile by another program; {outcome}")
    reason = error.strerror or "the system refused"
    return OutputFileError(f"could not write {path}: {reason}; {outcome}")


def register_temporary(path: str | Path) -> None:
    """Register a file or folder for removal at exit; call it before creating the path."""
    path = str(path)
    with _lock:
        _paths[path] = os.getpid()
        _journal.note("+", path)


def forget_temporary(path: str | Path) -> None:
    """Unregister a path: it is gone, or has become a permanent file."""
    with _lock:
        if _paths.pop(str(path), None) != os.getpid():
            return
        if os.getpid() in _paths.values():
            _journal.note("-", str(path))
        else:
            _journal.end()


def remove_temporary(path: str | Path) -> None:
    """Remove a registered file or folder, and unregister it.

    Other threads may still write into the folder, so removal is tried several times. What a forked
    process has of its parent's stays.
    """
    if _paths.get(str(path), os.getpid()) != os.getpid():
        return
    for _ in range(_TRIES):
        _delete(path)
        if not os.path.lexists(path):
            break
        time.sleep(_SECONDS_BETWEEN)
    forget_temporary(path)


def remove_all() -> None:
    """Remove all paths that this process registered."""
    for path in list(_paths):
        remove_temporary(path)


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
                    _remove_listed(Path(folder) / name)


class _Journal:
    """The journal of a process: made with its first path, and removed with its last."""

    def __init__(self) -> None:
        self._path: Path | None = None
        self._descriptor = -1

    def note(self, mark: str, path: str) -> None:
        """Add a line; without a place to write, nothing is noted."""
        if sys.platform == "win32":
            return
        with contextlib.suppress(OSError):
            if self._descriptor < 0:
                remove_abandoned()
                self._open()
            line = json.dumps([mark, str(Path(path).absolute())]) + "\n"
            os.write(self._descriptor, line.encode())

    def end(self) -> None:
        """Remove the journal: all its paths are gone."""
        path, descriptor = self._path, self._descriptor
        self._path, self._descriptor = None, -1
        if path is not None:
            with contextlib.suppress(OSError):
                path.unlink()
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
            path = Path(tempfile.gettempdir()) / f"dphist-{_host()}-{secrets.token_hex(8)}.paths"
            with exceptions_wait():  # a journal is in its place with its path known, or is not made
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
                descriptor = os.open(path, flags, 0o600)
                # Another process may have found it before it was locked, and removed it.
                if _lock_file(descriptor) and is_at(path, os.fstat(descriptor)):
                    self._path, self._descriptor = path, descriptor
                else:
                    os.close(descriptor)


_journal = _Journal()


def is_at(path: Path, status: os.stat_result) -> bool:
    """Whether `path` leads to this file, which is open, so that its inode is not reused."""
    try:
        return os.path.samestat(path.stat(), status)
    except OSError:
        return False


def _remove_listed(journal: Path) -> None:
    """Remove the paths of a journal whose process has ended, and the journal."""
    descriptor = os.open(journal, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, encoding="utf-8") as lines:
        found = os.fstat(descriptor)
        private = stat.S_ISREG(found.st_mode) and not found.st_mode & 0o077
        if not private or found.st_uid != os.geteuid() or not _lock_file(descriptor):
            return
        left: dict[str, None] = {}
        for line in lines:
            if line.endswith("\n"):  # else it was killed while writing, before the file was
                mark, path = json.loads(line)
                left.pop(path, None) if mark == "-" else left.update({path: None})
        for path in filter(_is_ours, left):
            _delete(path)
        if not any(map(_is_ours, left)):
            journal.unlink()


def _delete(path: str | Path) -> None:
    """Remove a file, or a folder with all that can be removed from it."""
    with contextlib.suppress(OSError):
        Path(path).unlink()
    shutil.rmtree(path, ignore_errors=True)


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


def _lock_file(descriptor: int) -> bool:
    """Whether this process now holds the lock of a file; another may hold it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _host() -> str:
    """Return what distinguishes machines that share a folder: locks may not reach across them."""
    return f"{zlib.crc32(os.uname().nodename.encode()):08x}"


call_at_end(remove_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_journal.leave)
