"""The choice of an event that tells neighbors apart, from features of many runs as arrays."""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, compress
from typing import Any

import numpy as np

from dphist.arrays import BoolArray, FloatArray, IntArray
from dphist.lab.auditing.outcome import Features
from dphist.lab.auditing.statistical.events import (
    Condition,
    Event,
    Table,
    Weighed,
    fit_weights,
    is_number,
    table_of_numbers,
    table_of_values,
)

_FEW_VALUES = 40  # numbers that take so few values are also compared one by one
_MOST_FEATURES = 2000
_CUTS_BETWEEN, _CUTS_AT_ENDS = 100, 25  # that are tried where there are more


_ABSENT: Any = object()  # stands for what an outcome lacks


@dataclass(frozen=True)
class Column:
    """A feature in all runs: those on the first of two neighbors, then as many on the second.

    Attributes
    ----------
    values : the feature's value in each run.
    present : (2 runs,) bool, whether the outcome has the feature.
    numbers : (2 runs,) float64, NaN where it is absent; None if some values are no numbers.
    known : the values that are compared one by one: those of several runs of the first half. The
        second half has no say in it, so that it can count them.
    codes : (2 runs,) int64, places in `known`; one more where it is another value, or absent.
    """

    name: str
    values: list[Hashable]
    present: BoolArray
    numbers: FloatArray | None
    known: list[Hashable]
    codes: IntArray

    def holds(self, condition: Condition) -> BoolArray:
        """Return in which runs a condition on this feature holds."""
        if condition.kind in ("present", "absent"):
            return np.asarray(self.present == (condition.kind == "present"))
        if condition.kind == "in":
            listed = [place for place, each in enumerate(self.known) if each in condition.value]
            return np.isin(self.codes, listed)
        below = np.asarray(self.numbers) <= as_float(condition.value)  # not where it is absent
        return below if condition.kind == "at most" else self.present & ~below

    @cached_property
    def _ranked(self) -> tuple[IntArray, IntArray]:
        """Runs that have the feature, in rising order, and the last place of each cut."""
        numbers = np.asarray(self.numbers)
        order: IntArray = np.argsort(numbers, kind="stable")[: np.count_nonzero(self.present)]
        ranked = numbers[order]
        ends = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True))
        return order, ends[choose_places(len(ends))]

    @cached_property
    def cuts(self) -> list[Any]:
        """Values by which runs are told apart, where these are numbers."""
        order, ends = self._ranked
        return [self.values[place] for place in order[ends].tolist()]

    def count_cuts(self, held: BoolArray) -> tuple[IntArray, IntArray]:
        """Return how many of the runs in which `held` holds are at most each cut, or above it."""
        order, ends = self._ranked
        counted: IntArray = np.cumsum(held[order])
        return counted[ends], counted[-1] - counted[ends]

    def count_values(self, held: BoolArray) -> IntArray:
        """Return how many of the runs in which `held` holds have each known value."""
        return np.bincount(self.codes[held], minlength=len(self.known) + 1)[:-1]


def first_half(runs: int) -> BoolArray:
    """Return (2 runs,) bool, the first half of the runs on each neighbor."""
    return np.arange(2 * runs) % runs < runs // 2


def find_columns(ones: Sequence[Features], others: Sequence[Features]) -> list[Column]:
    """Return the features that vary, the most frequent first."""
    early = first_half(len(ones)).tolist()
    often = Counter(chain.from_iterable(chain(ones, others)))
    columns = []
    for name, _ in often.most_common(_MOST_FEATURES):
        values = [each.get(name, _ABSENT) for each in chain(ones, others)]
        counted = Counter(values)
        if len(counted) == 1:
            continue
        absent = counted.pop(_ABSENT, 0)
        numeric = all(map(is_number, counted))
        known: list[Hashable] = []
        if not numeric or len(counted) <= _FEW_VALUES:
            often_at_first = Counter(compress(values, early))
            known = [value for value in counted if often_at_first[value] > 1]
        present = np.ones(len(values), bool)
        if absent:
            present = np.array([value is not _ABSENT for value in values], bool)
        numbers = _numbers(values, absent > 0) if numeric else None
        columns.append(Column(name, values, present, numbers, known, _codes(values, known)))
    return columns


def _codes(values: list[Hashable], known: list[Hashable]) -> IntArray:
    if not known:
        return np.zeros(len(values), np.int64)
    places = {value: place for place, value in enumerate(known)}
    return np.array([places.get(value, len(known)) for value in values], np.int64)


def _numbers(values: list[Any], absent: bool) -> FloatArray:
    if not absent:
        try:
            return np.array(values, np.float64)
        except OverflowError:
            pass
    return np.array([np.nan if value is _ABSENT else as_float(value) for value in values])


def as_float(value: Any) -> float:
    """Return a number as a float, infinite where it is too large for one."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def choose_places(number: int) -> IntArray:
    """Return places at which cuts are tried: all, or some everywhere and all at either end."""
    if number <= _CUTS_BETWEEN + 2 * _CUTS_AT_ENDS:
        return np.arange(number)
    ends = np.arange(_CUTS_AT_ENDS)
    between = np.linspace(0, number - 1, _CUTS_BETWEEN).astype(np.int64)
    return np.unique(np.concatenate([ends, between, number - 1 - ends]))


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
    At most one for either direction, and none if no event seems likelier.
    """
    columns = find_columns(ones, others)
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


def _find_best(hits: IntArray, other_hits: IntArray, runs: int, delta: float) -> tuple[float, int]:
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
        best.append(_weigh_features(ranked[:_WEIGHED], sides))
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
            score, number = _find_best(hits, other_hits, runs, sides.delta)
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


def _weigh_features(columns: list[Column], sides: _Sides) -> tuple[float, Event]:
    """Return an event of several features: half of the runs weigh them, half choose a line."""
    early, late = sides.early, ~sides.early
    tables = tuple(_table(column, sides.one & early, sides.other & early) for column in columns)
    scored = np.column_stack([_score_runs(*each) for each in zip(tables, columns, strict=True)])
    weights = fit_weights(scored[early], sides.one[early])
    sums = [
        np.sort((scored[side & late] * weights).sum(axis=1)) for side in (sides.one, sides.other)
    ]
    lines = np.unique(np.concatenate(sums))
    lines = lines[choose_places(len(lines))]
    hits, others = (len(side) - np.searchsorted(side, lines, side="right") for side in sums)
    score, number = _find_best(hits, others, len(sums[0]), sides.delta)
    return score, Event((Weighed(tables, tuple(weights.tolist()), float(lines[number])),))


def _table(column: Column, one: BoolArray, other: BoolArray) -> Table:
    """Return the log ratios of a feature's values."""
    if column.numbers is None or column.known:
        counts = column.count_values(one), column.count_values(other)
        return table_of_values(column.name, column.known, counts)
    return table_of_numbers(column.name, (column.numbers[one], column.numbers[other]))


def _score_runs(table: Table, column: Column) -> FloatArray:
    """Return what `Table.score` says of each run, 0 where the feature is absent."""
    if table.ratios is not None:
        return np.array([*table.ratios.values(), 0.0])[column.codes]
    places = np.searchsorted(np.array(table.cuts), np.asarray(column.numbers), side="left")
    return np.where(column.present, np.array(table.steps)[places], 0.0)
