"""The choice of an event that tells neighbors apart."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dphist.arrays import BoolArray, FloatArray, IntArray
from dphist.lab.auditing.outcome import Features
from dphist.lab.auditing.statistical.columns import Column, columns_of, first_half, some_of
from dphist.lab.auditing.statistical.events import Condition, Event, Weighed
from dphist.lab.auditing.statistical.weighing import (
    Table,
    table_of_numbers,
    table_of_values,
    weights_of,
)

_REFINED, _SECOND = 4, 12  # best conditions that a second one is looked for, and best features
_TIMID = 2.6  # standard deviations, of either share: there are many events to choose from
_WEIGHED = 24  # features that are weighed together
_FEWEST_WEIGHED = 40  # runs on each of the two


@dataclass(frozen=True)
class Choice:
    """An event that is likelier on one of two neighbors, and how much it seems to show."""

    event: Event
    score: float
    swapped: bool


def choose(
    ones: Sequence[Features],
    others: Sequence[Features],
    delta: float,
    check: Callable[[], None] = lambda: None,
) -> list[Choice]:
    """Return the events that tell most, by bounds of these runs that are meant to be timid.

    Parameters
    ----------
    ones, others : as many runs on each of two neighbors.
    delta : at which the event is to show an epsilon.
    check : called now and then; what it raises ends the choice.

    Returns
    -------
    At most one for either direction: none where no event seems likelier.
    """
    columns = columns_of(ones, others)
    here = np.arange(2 * len(ones)) < len(ones)
    found = []
    for swapped in (False, True):
        check()
        sides = _Sides(~here if swapped else here, here if swapped else ~here, delta)
        best = _best(columns, sides, check)
        if best is not None:
            found.append(Choice(best[1], best[0], swapped))
    return found


@dataclass(frozen=True)
class _Sides:
    """Runs on the neighbor where an event is to be likelier, and on the other.

    Attributes
    ----------
    one, other : (2 runs,) bool, those that are counted.
    """

    one: BoolArray
    other: BoolArray
    delta: float

    @property
    def runs(self) -> int:
        """How many there are on each neighbor, counted or not."""
        return len(self.one) // 2

    @cached_property
    def early(self) -> BoolArray:
        """(2 runs,) bool, the first half of the runs on each neighbor."""
        return first_half(self.runs)

    def where(self, held: BoolArray) -> "_Sides":
        """Return these of runs in which something holds."""
        return _Sides(self.one & held, self.other & held, self.delta)


def rough_epsilons(hits: IntArray, other_hits: IntArray, runs: int, delta: float) -> FloatArray:
    """Return approximately what events show; exact bounds on all of them would take too long.

    The arcsine of the root of a frequency has about the same error whatever the probability is.
    """
    reach = _TIMID / (2 * math.sqrt(runs))
    low = np.sin(np.maximum(np.arcsin(np.sqrt(hits / runs)) - reach, 0)) ** 2 - delta
    other = np.arcsin(np.sqrt((other_hits + 1) / (runs + 1)))
    high = np.sin(np.minimum(other + reach, math.pi / 2)) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(low > 0, np.log(low) - np.log(high), -np.inf)


def _best_of(hits: IntArray, other_hits: IntArray, runs: int, delta: float) -> tuple[float, int]:
    """Return how much the best of some events shows, and which it is."""
    if not len(hits):
        return -math.inf, 0
    scores = rough_epsilons(hits, other_hits, runs, delta)
    number = int(scores.argmax())
    return float(scores[number]), number


Options = tuple[IntArray, IntArray, int, Callable[[int], Condition]]
"""In how many runs on either neighbor conditions hold, of how many, and the condition by number."""

Single = tuple[float, Condition, Column]
"""A condition, how much it seems to show, and the feature that it is about."""


def _best(
    columns: list[Column], sides: _Sides, check: Callable[[], None]
) -> tuple[float, Event] | None:
    found = _singles(columns, sides)
    if not found:
        return None
    found.sort(key=lambda single: -single[0])
    best = [(score, Event((condition,))) for score, condition, _ in found]
    ranked = list({column.name: column for _, _, column in found}.values())
    if len(ranked) > 1 and sides.runs >= _FEWEST_WEIGHED:
        check()
        best.append(_weighed(ranked[:_WEIGHED], sides))
    for _, condition, column in found[:_REFINED]:
        check()
        left = sides.where(column.holds(condition))
        for score, second, _ in _singles(ranked[:_SECOND], left):
            if second.feature != condition.feature:
                best.append((score, Event((condition, second))))
    return max(best, key=lambda pair: pair[0] - 0.05 * len(pair[1].conditions))


def _singles(columns: list[Column], sides: _Sides) -> list[Single]:
    """Return conditions: the best of each kind for each feature."""
    found = []
    for column in columns:
        for hits, other_hits, runs, make in _conditions(column, sides):
            score, number = _best_of(hits, other_hits, runs, sides.delta)
            if score > -math.inf:
                found.append((score, make(number), column))
    return found


def _conditions(column: Column, sides: _Sides) -> Iterator[Options]:
    """Return conditions of each kind on a feature."""
    name, runs = column.name, sides.runs
    if not column.present.all():
        hits, others = (
            np.bincount(column.present[side], minlength=2)[::-1]
            for side in (sides.one, sides.other)
        )
        yield hits, others, runs, lambda k: Condition(name, ("present", "absent")[k])
    if column.numbers is not None:
        below, above = column.count_cuts(sides.one)
        others_below, others_above = column.count_cuts(sides.other)
        yield below, others_below, runs, lambda k: Condition(name, "at most", column.cuts[k])
        yield above, others_above, runs, lambda k: Condition(name, "more than", column.cuts[k])
    if column.known:
        # Sets of values: the first runs say which values to take first, the others count them.
        first, other_first = (
            column.count_values(side & sides.early) for side in (sides.one, sides.other)
        )
        order = np.argsort(-(first + 0.5) / (other_first + 0.5), kind="stable")
        order = order[(first + other_first)[order] > 0]
        hits, others = (
            np.cumsum(column.count_values(side & ~sides.early)[order])
            for side in (sides.one, sides.other)
        )
        values = [column.known[place] for place in order.tolist()]
        yield (
            hits, others, runs - runs // 2,
            lambda k: Condition(name, "in", frozenset(values[: k + 1])),
        )  # fmt: skip


def _weighed(columns: list[Column], sides: _Sides) -> tuple[float, Event]:
    """Return an event of several features: half of the runs weigh them, half choose a line."""
    early, late = sides.early, ~sides.early
    tables = tuple(_table(column, sides.one & early, sides.other & early) for column in columns)
    scored = np.column_stack([_scored(*each) for each in zip(tables, columns, strict=True)])
    weights = weights_of(scored[early], sides.one[early])
    sums = [
        np.sort((scored[side & late] * weights).sum(axis=1)) for side in (sides.one, sides.other)
    ]
    lines = np.unique(np.concatenate(sums))
    lines = lines[some_of(len(lines))]
    hits, others = (len(side) - np.searchsorted(side, lines, side="right") for side in sums)
    score, number = _best_of(hits, others, len(sums[0]), sides.delta)
    return score, Event((Weighed(tables, tuple(weights.tolist()), float(lines[number])),))


def _table(column: Column, one: BoolArray, other: BoolArray) -> Table:
    """Return the log ratios of a feature's values."""
    if column.numbers is None or column.known:
        counts = column.count_values(one), column.count_values(other)
        return table_of_values(column.name, column.known, counts)
    return table_of_numbers(column.name, (column.numbers[one], column.numbers[other]))


def _scored(table: Table, column: Column) -> FloatArray:
    """Return what `Table.score` says of each run, 0 where the feature is absent."""
    if table.ratios is not None:
        return np.array([*table.ratios.values(), 0.0])[column.codes]
    places = np.searchsorted(np.array(table.cuts), np.asarray(column.numbers), side="left")
    return np.where(column.present, np.array(table.steps)[places], 0.0)
