"""Writing output files whole, or not at all.

Each file is written under a temporary name in its own folder and renamed when all of
them are complete, so a full disk or a crash leaves what was there before.
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
from dphist.stopping import handlers_wait


class StagedOutputs:
    """Files written under temporary names, waiting to be renamed together."""

    def __init__(self) -> None:
        self._renames: list[tuple[Path, Path, bool]] = []

    def write_text(self, path: str | Path, text: str, *, replace: bool = True) -> None:
        """Write `text` (UTF-8) where `commit` will move it to `path`.

        Without `replace`, `commit` fails where a file is there by then.
        """
        target = check_output_path(path)
        temporary = _beside(target)
        leftovers.remember(str(temporary))
        self._renames.append((temporary, target, replace))
        try:
            with temporary.open("x", encoding="utf-8", newline="\n") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise _explained(target, error) from None

    def commit(self) -> None:
        """Move every file to its place; no signal cuts that in two.

        Where one of them cannot be moved, those before it are put back as they were.

        Raises
        ------
        OutputFileError
            If a file is there that is not to be replaced, or the system refuses. It names what
            could not be put back.
        """
        moves = _Moves()
        with handlers_wait():
            # Those that replace nothing first: they are taken back without a copy.
            ordered = sorted(self._renames, key=lambda each: each[2])
            for place, (temporary, target, replace) in enumerate(ordered, 1):
                try:
                    if replace:
                        # Nothing that could fail follows the last one: it needs no way back.
                        moves.replace(temporary, target, last=place == len(ordered))
                    else:
                        moves.place(temporary, target)
                except OSError as error:
                    raise _explained(target, error, moves.take_back()) from None
            moves.settle()
            self._forget()

    def discard(self) -> None:
        """Remove what has not been moved."""
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
    """Collect output files; all appear when the block ends well, none when it does not.

    The block may call `commit` itself.
    """
    outputs = StagedOutputs()
    try:
        yield outputs
        outputs.commit()
    finally:
        outputs.discard()


def write_text(path: str | Path, text: str) -> None:
    """Write one file whole or not at all, in the place of one that is there."""
    with staged_outputs() as outputs:
        outputs.write_text(path, text)


def check_output_path(path: str | Path) -> Path:
    """Return where `path` really points, or say what is wrong with it before any work is done.

    Raises
    ------
    OutputFileError
        If the folder does not exist or cannot be written, or `path` is not a regular file.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        raise OutputFileError(f"{path} is not a file that can be replaced; name another output")
    if not target.parent.is_dir():
        raise OutputFileError(f"the folder of {path} does not exist; create it first")
    if not os.access(target.parent, os.W_OK):
        raise OutputFileError(f"the folder of {path} cannot be written to")
    return target


def check_distinct(paths: Iterable[str | Path]) -> None:
    """Refuse two names for one file: an output over another, or over the input."""
    seen: set[str] = set()
    for path in paths:
        real = os.path.realpath(path)
        if real in seen:
            raise OutputFileError(f"{path} is named twice; give every file a name of its own")
        seen.add(real)


class _Moves:
    """Files that were moved to their places, and how to take that back."""

    def __init__(self) -> None:
        self._made: list[Path] = []
        self._kept: list[tuple[Path, Path]] = []

    def place(self, temporary: Path, target: Path) -> None:
        """Move a file to where none is, or raise FileExistsError, as the system decides at once."""
        try:
            os.link(temporary, target)
        except FileExistsError:
            raise
        except OSError:  # no hard links on this file system: hold the place while moving there
            target.touch(exist_ok=False)
            self._made.append(target)
            temporary.replace(target)
        else:
            self._made.append(target)
            temporary.unlink()

    def replace(self, temporary: Path, target: Path, *, last: bool) -> None:
        """Move a file to its place; what is there is kept under another name until all is done."""
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
        """Put everything back as it was; say what could not be."""
        left = []
        for target in self._made:
            try:
                target.unlink(missing_ok=True)
            except OSError:
                left.append(f"{target} was written, and could not be removed")
        for kept, target in self._kept:
            leftovers.forget(str(kept))
            try:
                kept.replace(target)
            except OSError:
                left.append(f"{target} was written; what was there before is {kept}")
        return left

    def settle(self) -> None:
        """Remove what was replaced."""
        for kept, _ in self._kept:
            _remove(kept)

    def _keep(self, target: Path) -> Path | None:
        """Return another name of what is at a place; None where nothing is.

        Raises
        ------
        OSError
            If it can be neither linked nor copied: then it could not be put back.
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
    """Return a new name in the folder of a file, for what is there for a moment."""
    return target.with_name(f".{target.name}.{secrets.token_hex(6)}.part")


def _remove(temporary: Path) -> None:
    """Remove a file that is remembered; if the system refuses, it is tried again at the end."""
    with contextlib.suppress(OSError):
        temporary.unlink(missing_ok=True)
        leftovers.forget(str(temporary))


def _explained(path: Path, error: OSError, left: Sequence[str] = ()) -> OutputFileError:
    """Say what failed, and what that left: nothing, or files that could not be taken back."""
    outcome = "; ".join(left) or "nothing was written"
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return OutputFileError(f"no space left to write {path}; {outcome}")
    if error.errno == errno.EEXIST:
        return OutputFileError(f"{path} has appeared meanwhile; {outcome}")
    reason = error.strerror or "the system refused"
    return OutputFileError(f"could not write {path}: {reason}; {outcome}")
