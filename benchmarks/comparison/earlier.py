"""Cells of an earlier table, so that one mechanism is measured anew and the others are kept."""

import csv
from collections.abc import Iterable
from pathlib import Path

from benchmarks.comparison.cells import Cell
from benchmarks.comparison.journal import Journal
from dphist.lab.comparing.measuring import Measured
from dphist.lab.comparing.results import epsilon_text


def take_earlier(cells: Iterable[Cell], table: Path, journal: Journal) -> int:
    """Put the cells that `table` has into the journal, if they are not there; return how many.

    A row stands for a cell if it names the same profile, with as many records and labels, and the
    same epsilon and mechanism.
    """
    with table.open(encoding="utf-8", newline="") as file:
        rows = {
            tuple(row[name] for name in ("profile", "n", "labels", "epsilon", "mechanism")): row
            for row in csv.DictReader(file)
        }
    taken = 0
    for cell in cells:
        name, profile = cell.dataset.name, cell.dataset.profile
        row = rows.get((
            name,
            str(profile.total),
            str(profile.labels),
            epsilon_text(cell.epsilon),
            cell.contender.name,
        ))  # fmt: skip
        if row is None or journal.get(cell.key) is not None:
            continue
        measured = Measured(
            runs=int(row["runs"]),
            error=float(row["sorted L1 error"]),
            standard_error=float(row["standard error"]),
            seconds=float(row["seconds per release"]),
        )
        journal.add(cell.key, f"{name}, from {table.name}", measured)
        taken += 1
    return taken
