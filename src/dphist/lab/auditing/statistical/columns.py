"""Features of many runs as arrays, from which events are chosen.

Runs on the first of two neighbors come first, then as many on the second.
"""

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, compress
from typing import Any

import numpy as np

from dphist.arrays import BoolArray, FloatArray, IntArray
from dphist.lab.auditing.outcome import Features
from dphist.lab.auditing.statistical.events import Condition, is_number

_FEW_VALUES = 40  # numbers that take so few values are also compared one by one
_MOST_FEATURES = 2000
_CUTS_BETWEEN, _CUTS_AT_ENDS = 100, 25  # that are tried where there are more


class _Absent:
    """Stands for what an outcome lacks."""


_ABSENT: Any = _Absent()


@dataclass(frozen=True)
class Column:
    """A feature in all runs.

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
        return order, ends[some_of(len(ends))]

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


def columns_of(ones: Sequence[Features], others: Sequence[Features]) -> list[Column]:
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


def some_of(number: int) -> IntArray:
    """Return places at which cuts are tried: all, or some everywhere and all at either end."""
    if number <= _CUTS_BETWEEN + 2 * _CUTS_AT_ENDS:
        return np.arange(number)
    ends = np.arange(_CUTS_AT_ENDS)
    between = np.linspace(0, number - 1, _CUTS_BETWEEN).astype(np.int64)
    return np.unique(np.concatenate([ends, between, number - 1 - ends]))
