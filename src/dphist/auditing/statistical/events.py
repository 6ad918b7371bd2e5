"""Events: conditions on what a run shows, and the choice of one that tells neighbors apart."""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dphist.arrays import BoolArray, FloatArray, IntArray
from dphist.auditing.outcome import Features
from dphist.auditing.statistical.bounds import least_epsilons
from dphist.auditing.statistical.weighing import Table, table_of, weights_of

_MOST_FEATURES = 2000
_FEW_VALUES = 40  # numbers that take so few values are also compared one by one
_REFINED = 6  # best conditions that a second one is looked for
_TIMID = 1e-4  # error of the bounds that an event is chosen by: there are many to choose from
_WEIGHED = 24  # features that are weighed together


@dataclass(frozen=True)
class Condition:
    """One feature lies in a set, or on one side of a number.

    Attributes
    ----------
    feature : its name.
    kind : "in", "at most", "more than", "present" or "absent".
    value : the set, or the number; None for the last two.
    """

    feature: str
    kind: str
    value: Any = None

    def holds(self, features: Features) -> bool:
        """Whether it holds of an outcome."""
        if self.kind in ("present", "absent"):
            return (self.feature in features) == (self.kind == "present")
        if self.feature not in features:
            return False
        found: Any = features[self.feature]
        if self.kind == "in":
            return found in self.value
        if not _is_number(found):
            return False
        return bool(found <= self.value if self.kind == "at most" else found > self.value)

    def __str__(self) -> str:
        if self.kind in ("present", "absent"):
            return f"{self.feature} is {'there' if self.kind == 'present' else 'not there'}"
        if self.kind != "in":
            return f"{self.feature} is {self.kind} {self.value}"
        shown = sorted((_short(each) for each in self.value), key=lambda text: (len(text), text))
        if len(shown) == 1:
            return f"{self.feature} is {shown[0]}"
        more = f" or {len(shown) - 5} others" if len(shown) > 6 else ""
        return f"{self.feature} is one of {', '.join(shown[: 5 if more else 6])}{more}"


@dataclass(frozen=True)
class Weighed:
    """Several features together are likelier on one neighbor, by more than a factor.

    Attributes
    ----------
    tables : log ratios of the features' values.
    weights : what each table counts.
    line : a weighted sum above it is in the event.
    """

    tables: tuple[Table, ...]
    weights: tuple[float, ...]
    line: float

    def holds(self, features: Features) -> bool:
        """Whether it holds of an outcome."""
        return self.sum_of(features) > self.line

    def sum_of(self, features: Features) -> float:
        """Return the weighted sum of an outcome."""
        return sum(
            weight * table.score(features[table.feature])
            for table, weight in zip(self.tables, self.weights, strict=True)
            if table.feature in features
        )

    def __str__(self) -> str:
        ranked = sorted(zip(self.weights, self.tables, strict=True), key=lambda pair: -pair[0])
        names = [table.feature for weight, table in ranked[:4] if weight > 0]
        return (
            f"weighed together, {', '.join(names)} and {len(self.tables) - len(names)} others are "
            f"likelier on one of the two, the weighted sum of their log ratios being above "
            f"{self.line:.3g}"
        )


@dataclass(frozen=True)
class Event:
    """Conditions that all hold."""

    conditions: tuple[Condition | Weighed, ...]

    def holds(self, features: Features) -> bool:
        """Whether it happened in a run."""
        return all(each.holds(features) for each in self.conditions)

    def __str__(self) -> str:
        return ", and ".join(str(each) for each in self.conditions)


@dataclass(frozen=True)
class Choice:
    """An event that is likelier on the first of two neighbors, and how much it seems to show."""

    event: Event
    score: float


def choose(
    ones: Sequence[Features],
    others: Sequence[Features],
    delta: float,
    check: Callable[[], None] = lambda: None,
) -> Choice | None:
    """Return the event that tells most, by bounds of these runs that are meant to be timid.

    Parameters
    ----------
    ones, others : as many runs on each of two neighbors.
    delta : at which the event is to show an epsilon.
    check : called now and then; what it raises ends the choice.

    Returns
    -------
    None if no event seems likelier on the first.
    """
    runs = len(ones)
    columns = _columns(ones, others)
    everywhere = np.ones(runs, bool), np.ones(runs, bool)
    found = _singles(columns, everywhere, runs, delta)
    if not found:
        return None
    found.sort(key=lambda pair: -pair[0])
    best = [(score, Event((condition,))) for score, condition in found]
    check()
    if (
        weighed := _weighed(columns, [c.feature for _, c in found], ones, others, delta)
    ) is not None:
        best.append(weighed)
    for _, condition in found[:_REFINED]:
        check()
        held = tuple(
            np.fromiter((condition.holds(each) for each in side), bool, runs)
            for side in (ones, others)
        )
        for score, second in _singles(columns, (held[0], held[1]), runs, delta):
            if second.feature != condition.feature:
                best.append((score, Event((condition, second))))
    score, event = max(best, key=lambda pair: pair[0] - 0.05 * len(pair[1].conditions))
    return Choice(event, score) if score > -math.inf else None


def _weighed(
    columns: "list[_Column]",
    ranked: list[str],
    ones: Sequence[Features],
    others: Sequence[Features],
    delta: float,
) -> tuple[float, Event] | None:
    """Return an event of several features: half of the runs weigh them, half choose a line."""
    by_name = {column.name: column for column in columns}
    kept = [by_name[name] for name in dict.fromkeys(ranked)][:_WEIGHED]
    runs, half = len(ones), len(ones) // 2
    if len(kept) < 2 or half < 20:
        return None
    tables = tuple(_table_of_first(column, half) for column in kept)
    scored = [
        np.array([[t.score(each[t.feature]) if t.feature in each else 0.0 for t in tables]
                  for each in side])
        for side in (ones, others)
    ]  # fmt: skip
    training = np.concatenate([side[:half] for side in scored])
    weights = weights_of(training, np.arange(2 * half) < half)
    sums = [np.sort(side[half:] @ weights) for side in scored]
    lines = np.unique(np.concatenate(sums))
    above = [len(side) - np.searchsorted(side, lines, side="right") for side in sums]
    found = _scores(above[0], above[1], runs - half, delta)
    place = int(found.argmax())
    if not found[place] > -math.inf:
        return None
    event = Weighed(tables, tuple(weights.tolist()), float(lines[place]))
    return float(found[place]), Event((event,))


@dataclass(frozen=True)
class _Column:
    """A feature in all runs: numbers, or codes of values; absent where `present` is False."""

    name: str
    present: tuple[BoolArray, BoolArray]
    numbers: tuple[FloatArray, FloatArray] | None
    values: tuple[list[Hashable], list[Hashable]]


def _table_of_first(column: "_Column", half: int) -> Table:
    """Return the table of a feature in the first runs."""
    ones, others = ([v for v in side[:half] if v is not _ABSENT] for side in column.values)
    numbers = column.numbers
    cut = None if numbers is None else (numbers[0][:half], numbers[1][:half])
    return table_of(column.name, ones, others, cut)


def _columns(ones: Sequence[Features], others: Sequence[Features]) -> list[_Column]:
    often = Counter(name for side in (ones, others) for each in side for name in each)
    columns = []
    for name, _ in often.most_common(_MOST_FEATURES):
        here, there = ([each.get(name, _ABSENT) for each in side] for side in (ones, others))
        together = {*here, *there}
        if len(together) == 1:
            continue
        numbers = None
        if all(_is_number(value) for value in together if value is not _ABSENT):
            numbers = _numbers(here), _numbers(there)
        columns.append(_Column(name, (_present(here), _present(there)), numbers, (here, there)))
    return columns


def _present(values: list[Hashable]) -> BoolArray:
    return np.array([value is not _ABSENT for value in values], bool)


def _numbers(values: list[Hashable]) -> FloatArray:
    return np.array([np.nan if value is _ABSENT else _as_float(value) for value in values])


class _Absent:
    pass


_ABSENT: Any = _Absent()


def _singles(
    columns: list[_Column], held: tuple[BoolArray, BoolArray], runs: int, delta: float
) -> list[tuple[float, Condition]]:
    """Return the best condition of each feature, among the runs in which `held` holds."""
    found = []
    for column in columns:
        options = [
            *((a, b, runs, made) for a, b, made in _by_presence(column, held)),
            *((a, b, runs, made) for a, b, made in _by_threshold(column, held)),
            *((a, b, runs - runs // 2, made) for a, b, made in _by_value(column, held, runs // 2)),
        ]
        scored = [(_scores(a, b, counted, delta), made) for a, b, counted, made in options]
        best = max(
            ((float(s.max()), made(int(s.argmax()))) for s, made in scored if len(s)),
            key=lambda pair: pair[0],
            default=None,
        )
        if best is not None and best[0] > -math.inf:
            found.append(best)
    return found


def _scores(hits: IntArray, other_hits: IntArray, runs: int, delta: float) -> FloatArray:
    return least_epsilons(hits, other_hits, runs, delta, _TIMID)


_Option = tuple[IntArray, IntArray, Callable[[int], Condition]]


def _by_presence(column: _Column, held: tuple[BoolArray, BoolArray]) -> list[_Option]:
    if all(side.all() for side in column.present):
        return []
    there = [int((side & h).sum()) for side, h in zip(column.present, held, strict=True)]
    away = [int((~side & h).sum()) for side, h in zip(column.present, held, strict=True)]
    hits, other_hits = (np.array(pair) for pair in zip(there, away, strict=True))
    return [(hits, other_hits, lambda k: Condition(column.name, ("present", "absent")[k]))]


def _by_threshold(column: _Column, held: tuple[BoolArray, BoolArray]) -> list[_Option]:
    if column.numbers is None:
        return []
    sides = [
        np.sort(numbers[h & there])
        for numbers, h, there in zip(column.numbers, held, column.present, strict=True)
    ]
    cuts = np.unique(np.concatenate(sides))
    if len(cuts) < 2:
        return []
    exact = {_as_float(v): v for side in column.values for v in side if v is not _ABSENT}
    below = [np.searchsorted(side, cuts, side="right") for side in sides]
    above = [len(side) - under for side, under in zip(sides, below, strict=True)]

    def made(kind: str) -> Callable[[int], Condition]:
        return lambda k: Condition(column.name, kind, exact[float(cuts[k])])

    return [
        (below[0], below[1], made("at most")),
        (above[0], above[1], made("more than")),
    ]


def _by_value(column: _Column, held: tuple[BoolArray, BoolArray], half: int) -> list[_Option]:
    """Sets of values: the first runs say which values to take first, the others count them."""
    first, second = (
        [
            Counter(
                value
                for value, h in zip(values[part], which[part], strict=True)
                if h and value is not _ABSENT
            )
            for values, which in zip(column.values, held, strict=True)
        ]
        for part in (slice(half), slice(half, None))
    )
    values = list({**first[0], **first[1]})
    if not values or (column.numbers is not None and len(values) > _FEW_VALUES):
        return []
    seen = [np.array([side[v] for v in values]) for side in first]
    order = np.argsort(-(seen[0] + 0.5) / (seen[1] + 0.5), kind="stable")
    hits, other_hits = (np.array([side[values[place]] for place in order]) for side in second)

    def made(k: int) -> Condition:
        return Condition(column.name, "in", frozenset(values[place] for place in order[: k + 1]))

    return [(np.cumsum(hits), np.cumsum(other_hits), made)]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | Fraction) and not isinstance(value, bool)


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, value)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
