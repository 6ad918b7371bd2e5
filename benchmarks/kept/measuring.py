"""Ratios with standard errors, and which of them moved."""

import csv
import math
import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the cases import all that they compare with
    from benchmarks.kept.cases import Case

RESAMPLES = 500
MOVED = 3.0
"""Standard errors of a difference from which on a ratio has moved."""
BETWEEN_RUNS = 0.05
"""What two runs of the same code differ by, relatively, beyond what turns of one run show:
addresses of memory, order of modules, what else the caches hold. Added to standard errors."""


@dataclass(frozen=True)
class Ratio:
    """A ratio of two medians; `error` is its standard error from resampling turns."""

    name: str
    ratio: float
    error: float
    turns: int
    other: str
    limit: float | None
    page: str

    @property
    def missed(self) -> bool:
        """Whether the ratio is above what a page claims, by more than chance."""
        return self.limit is not None and self.ratio - MOVED * self.error > self.limit


def measured(case: "Case") -> Ratio:
    """Run a case, both in turn."""
    times: list[tuple[float, float]] = []
    for turn in range(-1, case.turns):  # in the first, tables are made and code is loaded
        began = case.clock()
        case.ours()
        middle = case.clock()
        case.other()
        ended = case.clock()
        if turn >= 0:
            times.append(((middle - began) / case.times_ours, ended - middle))
    chance = random.Random(0)
    found = [_of(chance.choices(times, k=len(times))) for _ in range(RESAMPLES)]
    ratio, error = _of(times), statistics.stdev(found)
    return Ratio(case.name, ratio, error, len(times), case.other_name, case.limit, case.page)


def _of(times: Sequence[tuple[float, float]]) -> float:
    ours, others = zip(*times, strict=True)
    # Processor time has steps: a median of very short work can be 0.
    return float(statistics.median(ours) / max(statistics.median(others), 1e-9))


def difference(now: Ratio, before: Ratio) -> float:
    """Return by how many standard errors a ratio is above that of the table."""
    errors = [now.error, before.error, BETWEEN_RUNS * now.ratio, BETWEEN_RUNS * before.ratio]
    return (now.ratio - before.ratio) / math.hypot(*errors)


def said(now: Ratio, before: Ratio | None) -> str:
    """Return a word on what has become of a ratio, if it is of the same two as before."""
    if before is None or now.other != before.other:
        return "new"
    deviation = difference(now, before)
    if abs(deviation) <= MOVED:
        return "as before"
    return f"{'SLOWER' if deviation > 0 else 'faster'} by {abs(deviation):.1f} standard errors"


def write(path: Path, ratios: Sequence[Ratio]) -> None:
    """Write the table."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["name", "ratio", "standard_error", "turns", "other", "limit", "page"])
        for each in ratios:
            limit = "" if each.limit is None else f"{each.limit:.4g}"
            writer.writerow(
                [
                    *(each.name, f"{each.ratio:.4g}", f"{each.error:.2g}", each.turns),
                    *(each.other, limit, each.page),
                ]
            )


def read(path: Path) -> dict[str, Ratio]:
    """Read the table, by name."""
    with path.open(newline="") as file:
        return {
            row["name"]: Ratio(
                row["name"],
                float(row["ratio"]),
                float(row["standard_error"]),
                int(row["turns"]),
                row["other"],
                float(row["limit"]) if row["limit"] else None,
                row["page"],
            )
            for row in csv.DictReader(file)
        }
