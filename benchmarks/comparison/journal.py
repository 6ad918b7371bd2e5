"""Results on disk, one line a finished cell, so that a killed run can go on.

A line is written and synced when its cell is finished. Killed while writing, a run leaves at
most a torn last line, which the next run cuts off; its cell is measured again.
"""

import json
import os
from dataclasses import asdict
from pathlib import Path

from dphist.lab.comparing.measuring import Measured


class Journal:
    """Finished measurements by key, and the file that keeps them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        _cut_torn_line(path)
        self._found: dict[str, Measured] = {}
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            entry = _decoded(line)
            if entry is not None:
                self._found[entry[0]] = entry[1]

    def get(self, key: str) -> Measured | None:
        """Return what was measured under `key`, if it was."""
        return self._found.get(key)

    def add(self, key: str, what: str, measured: Measured) -> None:
        """Keep a measurement for good; `what` names it to someone who reads the file."""
        line = json.dumps({"what": what, "key": key, **asdict(measured)}, ensure_ascii=False)
        with self._path.open("a", encoding="utf-8", newline="\n") as file:
            file.write(line + "\n")
            file.flush()
            os.fsync(file.fileno())
        self._found[key] = measured


def _cut_torn_line(path: Path) -> None:
    with path.open("r+b") as file:
        content = file.read()
        file.truncate(content.rfind(b"\n") + 1)


def _decoded(line: str) -> tuple[str, Measured] | None:
    """Read a line; one that cannot be read was never finished."""
    try:
        entry = json.loads(line)
        return str(entry["key"]), Measured(
            runs=int(entry["runs"]),
            error=float(entry["error"]),
            standard_error=float(entry["standard_error"]),
            seconds=float(entry["seconds"]),
        )
    except (ValueError, KeyError, TypeError):
        return None
