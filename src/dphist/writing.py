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

from dphist.errors import OutputFileError


class StagedOutputs:
    """Files written under temporary names, waiting to be renamed together."""

    def __init__(self) -> None:
        self._renames: list[tuple[Path, Path]] = []

    def write_text(self, path: str | Path, text: str) -> None:
        """Write `text` (UTF-8) where `commit` will move it to `path`."""
        target = check_output_path(path)
        temporary = target.with_name(f".{target.name}.{secrets.token_hex(6)}.part")
        self._renames.append((temporary, target))
        try:
            with temporary.open("x", encoding="utf-8", newline="\n") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise _explained(target, error) from None

    def commit(self) -> None:
        """Move every file to its place."""
        while self._renames:
            temporary, target = self._renames[0]
            try:
                temporary.replace(target)
            except OSError as error:
                raise _explained(target, error) from None
            self._renames.pop(0)

    def discard(self) -> None:
        """Remove what has not been moved."""
        for temporary, _ in self._renames:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
        self._renames.clear()


@contextlib.contextmanager
def staged_outputs() -> Iterator[StagedOutputs]:
    """Collect output files; all appear when the block ends well, none when it does not."""
    outputs = StagedOutputs()
    try:
        yield outputs
        outputs.commit()
    finally:
        outputs.discard()


def write_text(path: str | Path, text: str) -> None:
    """Write one file whole or not at all."""
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


def _explained(path: Path, error: OSError) -> OutputFileError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return OutputFileError(f"no space left to write {path}; nothing was written")
    reason = error.strerror or "the system refused"
    return OutputFileError(f"could not write {path}: {reason}; nothing was written")
