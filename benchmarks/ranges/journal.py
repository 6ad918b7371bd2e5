"""Results on disk, one line a workload of a finished cell, so that a killed run can go on."""

import csv
import os
from collections.abc import Mapping
from dataclasses import asdict, fields
from io import StringIO
from pathlib import Path
from typing import TypeAlias

from benchmarks.ranges.measuring import Cell, Effort, Measured
from dphist import __version__
from dphist.ranges.comparing.queries import WORKLOADS

_KEY = ["version", "axes", "shape", "digest", "scale", "epsilon", "contender", "effort"]
_HEAD = [*_KEY, "workload", *(field.name for field in fields(Measured))]

Key: TypeAlias = tuple[str, ...]


class Journal:
    """Finished measurements by cell, and the CSV file that keeps them.

    The lines of a cell are written at once. Killed while writing, a run leaves at most a torn
    line or a cell that lacks a workload, which is then measured again.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        content = path.read_text(encoding="utf-8")
        whole = content[: content.rfind("\n") + 1]
        if not whole:
            whole = ",".join(_HEAD) + "\n"
        if whole != content:
            path.write_text(whole, encoding="utf-8")
        self._found: dict[Key, dict[str, Measured]] = {}
        for line in csv.DictReader(StringIO(whole)):
            key = tuple(line[name] for name in _KEY)
            self._found.setdefault(key, {})[line["workload"]] = Measured(
                runs=int(line["runs"]),
                mse=float(line["mse"]),
                per_run=float(line["per_run"]),
                seconds=float(line["seconds"]),
            )

    def get(self, cell: Cell, effort: Effort) -> Mapping[str, Measured] | None:
        """Return what was measured in a cell, by workload, if all of it was."""
        found = self._found.get(_key(cell, effort), {})
        return found if all(name in found for name in WORKLOADS[cell.shape.axes]) else None

    def add(self, cell: Cell, effort: Effort, measured: Mapping[str, Measured]) -> None:
        """Keep a finished cell for good."""
        key = _key(cell, effort)
        text = StringIO()
        writer = csv.writer(text, lineterminator="\n")
        for workload, one in measured.items():
            writer.writerow([*key, workload, *asdict(one).values()])
        with self._path.open("a", encoding="utf-8", newline="\n") as file:
            file.write(text.getvalue())
            file.flush()
            os.fsync(file.fileno())
        self._found[key] = dict(measured)


def _key(cell: Cell, effort: Effort) -> Key:
    """Return what a result depends on; the version of the library stands for its code."""
    asked = f"{effort.runs} runs or {effort.seconds:g} s"
    shape = cell.shape
    about = (str(shape.axes), shape.name, shape.digest, cell.scale, cell.epsilon)
    return (__version__, *about, cell.contender.name, asked)
