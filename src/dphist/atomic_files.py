"""Writing output files whole, or not at all.

Each file is written under a temporary name in its target folder. Files are renamed when all of
them are complete, so a full disk or a crash leaves the previous files in place.
"""

import contextlib
import errno
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from dphist import leftovers
from dphist.errors import OutputFileError
from dphist.signals import handlers_wait


class StagedOutputs:
    """Files written under temporary names, waiting to be renamed together."""

    def __init__(self) -> None:
        self._renames: list[tuple[Path, Path, bool]] = []

    def write_text(self, path: str | Path, text: str, *, replace: bool = True) -> None:
        """Write `text` (UTF-8) to a temporary file, which `commit` moves to `path`.

        Without `replace`, `commit` fails if `path` exists by then.
        """
        self._write(path, text.encode(), replace, 0o666)

    def write_bytes(self, path: str | Path, content: bytes, *, replace: bool = True) -> None:
        """Write bytes, such as a picture, as `write_text` writes text."""
        self._write(path, content, replace, 0o666)

    def write_private(self, path: str | Path, content: bytes, *, replace: bool = True) -> None:
        """Write bytes, as `write_text` writes text, into a file that its owner alone can read."""
        self._write(path, content, replace, 0o600)

    def _write(self, path: str | Path, content: bytes, replace: bool, mode: int) -> None:
        target = check_output_path(path)
        temporary = _beside(target)
        leftovers.remember(str(temporary))
        self._renames.append((temporary, target, replace))
        try:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise _explained(target, error) from None

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
                    raise _explained(target, error, moves.take_back()) from None
            moves.settle()
            self._forget()

    def discard(self) -> None:
        """Remove the files that have not been moved."""
        for temporary, _, _ in self._renames:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
        self._forget()

    def _forget(self) -> None:
        for temporary, _, _ in self._renames:
            leftovers.forget(str(temporary))
        self._renames.clear()


@contextlib.contextmanager
def staged_outputs() -> Iterator[StagedOutputs]:
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
    with staged_outputs() as outputs:
        outputs.write_text(path, text)


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
        self._kept: list[tuple[Path, Path]] = []

    def place(self, temporary: Path, target: Path) -> None:
        """Move a file to a free place, or raise FileExistsError; the system call is atomic."""
        try:
            os.link(temporary, target)
        except FileExistsError:
            raise
        except OSError:  # no hard links on this file system: reserve the name, then move
            target.touch(exist_ok=False)
            self._made.append(target)
            temporary.replace(target)
        else:
            self._made.append(target)
            temporary.unlink()

    def replace(self, temporary: Path, target: Path, *, last: bool) -> None:
        """Move a file to its place; an existing file is kept under another name until `settle`."""
        kept = None if last else self._keep(target)
        try:
            temporary.replace(target)
        except OSError:
            if kept is not None:
                _remove(kept)
            raise
        if kept is not None:
            self._kept.append((kept, target))
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
        for kept, target in self._kept:
            leftovers.forget(str(kept))
            try:
                kept.replace(target)
            except OSError:
                left.append(f"{target} was written; the previous file is now {kept}")
        return left

    def settle(self) -> None:
        """Remove the replaced files."""
        for kept, _ in self._kept:
            _remove(kept)

    def _keep(self, target: Path) -> Path | None:
        """Keep an existing file under a second name and return that; None if there is no file.

        Raises
        ------
        OSError
            If it can be neither linked nor copied, so that it could not be restored.
        """
        kept = _beside(target)
        leftovers.remember(str(kept))
        try:
            try:
                os.link(target, kept)
            except FileNotFoundError:
                raise
            except OSError:  # no hard links, or a file of somebody else
                shutil.copy2(target, kept)
        except OSError as error:
            _remove(kept)
            if isinstance(error, FileNotFoundError):
                return None
            raise
        return kept


def _beside(target: Path) -> Path:
    """Return a new temporary name in the folder of a file."""
    return target.with_name(f".{target.name}.{secrets.token_hex(6)}.part")


def _remove(temporary: Path) -> None:
    """Remove a temporary file; if the system refuses, it is tried again at exit."""
    with contextlib.suppress(OSError):
        temporary.unlink(missing_ok=True)
        leftovers.forget(str(temporary))


def _explained(path: Path, error: OSError, left: Sequence[str] = ()) -> OutputFileError:
    """Return an error that says what failed, and which files could not be restored."""
    outcome = "; ".join(left) or "nothing was written"
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return OutputFileError(f"no space left to write {path}; {outcome}")
    if error.errno == errno.EEXIST:
        return OutputFileError(f"{path} was created meanwhile by another program; {outcome}")
    reason = error.strerror or "the system refused"
    return OutputFileError(f"could not write {path}: {reason}; {outcome}")
