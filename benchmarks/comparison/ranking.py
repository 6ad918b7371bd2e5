"""Rows of the comparison with the place each mechanism takes, and means over profiles."""

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from benchmarks.comparison.cells import Cell
from benchmarks.comparison.journal import Journal
from dphist.document.compared import NOTHING, Contender
from dphist.lab.comparing.measuring import Measured, guarantee_text

K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class Row:
    """A finished cell.

    Attributes
    ----------
    rank : 1 for the lowest error on this profile at this epsilon.
    fair_rank : the same among pure mechanisms that were given nothing; None for the others.
    relative : error over the lowest one among those; None where none of them is finished.
    """

    cell: Cell
    measured: Measured
    rank: int
    fair_rank: int | None
    relative: float | None

    @property
    def per_record(self) -> float:
        """Error over n."""
        return self.measured.error / max(self.cell.dataset.profile.total, 1)


@dataclass(frozen=True, slots=True)
class Summary:
    """A mechanism at one epsilon, over the profiles it is finished on."""

    contender: Contender
    epsilon: Fraction
    profiles: int
    relative: float | None  # geometric mean
    rank: float  # mean


def is_fair(cell: Cell) -> bool:
    """Whether anyone could use this mechanism: it is pure and needs to know nothing."""
    return cell.contender.told == NOTHING and guarantee_text(cell.mechanism.guarantee) == "pure"


def rows_of(cells: Sequence[Cell], journal: Journal) -> list[Row]:
    """Return the finished cells in the order planned."""
    groups: dict[tuple[str, Fraction], list[tuple[Cell, Measured]]] = {}
    for cell in cells:
        measured = journal.get(cell.key)
        if measured is not None:
            groups.setdefault((cell.dataset.name, cell.epsilon), []).append((cell, measured))
    return [row for group in groups.values() for row in _ranked(group)]


def _ranked(group: list[tuple[Cell, Measured]]) -> list[Row]:
    every = [measured.error for _, measured in group]
    fair = [measured for cell, measured in group if is_fair(cell)]
    best = min(map(resolved, fair), default=None)
    return [
        Row(
            cell,
            measured,
            rank=_place(measured.error, every),
            fair_rank=_place(measured.error, [m.error for m in fair]) if is_fair(cell) else None,
            relative=None if best is None else resolved(measured) / best,
        )
        for cell, measured in group
    ]


def _place(error: float, among: Iterable[float]) -> int:
    return 1 + sum(other < error for other in among)


def resolved(measured: Measured) -> float:
    """Return the error, or half of the least one that so many runs could show if it was 0."""
    return max(measured.error, 0.5 / measured.runs)


def summaries(rows: Sequence[Row]) -> list[Summary]:
    """Return means over profiles, by mechanism, then epsilon, in the order of the rows."""
    return [
        Summary(
            some[0].cell.contender,
            some[0].cell.epsilon,
            len(some),
            _geometric_mean([row.relative for row in some]),
            statistics.fmean(row.rank for row in some),
        )
        for mechanism in grouped(rows, lambda row: row.cell.contender.name).values()
        for some in grouped(mechanism, lambda row: row.cell.epsilon).values()
    ]


def _geometric_mean(ratios: Sequence[float | None]) -> float | None:
    known = [ratio for ratio in ratios if ratio is not None]
    return math.exp(statistics.fmean(map(math.log, known))) if known else None


def grouped(rows: Iterable[Row], by: Callable[[Row], K]) -> dict[K, list[Row]]:
    """Return rows by what they have in common, in the order they come."""
    groups: dict[K, list[Row]] = {}
    for row in rows:
        groups.setdefault(by(row), []).append(row)
    return groups
