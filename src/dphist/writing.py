"""Writing output files whole, or not at all.

Each file is written under a temporary name in its own folder and renamed when all of
them are complete, so a full disk or a crash leaves what was there before.
"""

import contextlib
import errno
import os
import secrets
from collections.abc import Iterable, Iterator
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
        temporary = target.with_name(f".{target.name}.{secrets.token_hex(6)}.part")
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

        Raises
        ------
        OutputFileError
            If a file is there that is not to be replaced, or the system refuses.
        """
        made: list[Path] = []
        with handlers_wait():
            # Those that replace nothing first: they can be taken back.
            for temporary, target, replace in sorted(self._renames, key=lambda each: each[2]):
                try:
                    if replace:
                        temporary.replace(target)
                    else:
                        _place(temporary, target)
                        made.append(target)
                except OSError as error:
                    for each in made:
                        each.unlink(missing_ok=True)
                    raise _explained(target, error) from None
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


def _place(temporary: Path, target: Path) -> None:
    """Move a file to where none is, or raise FileExistsError: decided by the system, at once."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise
    except OSError:  # no hard links on this file system: hold the place while moving there
        target.touch(exist_ok=False)
        temporary.replace(target)
    else:
        temporary.unlink()


def _explained(path: Path, error: OSError) -> OutputFileError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return OutputFileError(f"no space left to write {path}; nothing was written")
    if error.errno == errno.EEXIST:
        return OutputFileError(f"{path} has appeared meanwhile; nothing was written")
    reason = error.strerror or "the system refused"
    return OutputFileError(f"could not write {path}: {reason}; nothing was written")
