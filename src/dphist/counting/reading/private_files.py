"""Files in a folder that only its owner may read, which goes with the table that is read."""

from contextlib import ExitStack
from pathlib import Path

from dphist.counting.engine.private_duckdb import make_folder


class PrivateFiles:
    """Names of new files, in a folder that is made for the first of them and removed in the end."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._folder: Path | None = None
        self._number = 0

    def make_path(self) -> Path:
        """Return the path of a file that is not there yet."""
        if self._folder is None:
            self._folder = Path(make_folder(self._stack))
        self._number += 1
        return self._folder / f"copy-{self._number}"
