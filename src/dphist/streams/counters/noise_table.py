"""NoiseTable: the noise drawn so far for the running counts of all labels, by any counter.

Conceptually, every possible label has a path of noise from the first reading on. Here paths are
drawn when labels need them, and some in advance. A path drawn late is stepped through all earlier
times, so it has the same distribution as the others: the noise of a label does not depend on when
the label first occurred.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import islice
from typing import Protocol, overload

import numpy as np

from dphist.arrays import BoolArray, IntArray
from dphist.noise.inversion import Source


class Counter(Protocol):
    """The noise of running counts: a distribution of paths, one independent path for each label.

    A path is drawn only at the times requested, in ascending order. Its state is `width` numbers
    for each label, which determine the distribution of its future. Noise is a whole number of
    units of 2**-`unit_bits` records. The methods do not modify their arguments.

    Attributes
    ----------
    width : numbers stored for each label.
    unit_bits : at least 0.
    variance : the largest variance of a path's Gaussian part at any time, records**2.
    rounding : maximum distance of a path from its Gaussian part due to rounding, records.
    skips : whether the distribution at a time is independent of the times requested before.
    """

    @property
    def width(self) -> int: ...

    @property
    def unit_bits(self) -> int: ...

    @property
    def variance(self) -> Fraction: ...

    @property
    def rounding(self) -> Fraction: ...

    @property
    def skips(self) -> bool: ...

    def variance_at(self, time: int) -> Fraction:
        """Return the variance at a time, 1 to the horizon, records**2."""

    def start(self, labels: int, time: int, source: Source | None) -> IntArray:
        """Draw `labels` new paths at a time, (labels, width) int64."""

    def step(self, rows: IntArray, before: int, now: int, source: Source | None) -> IntArray:
        """Advance paths, (labels, width) int64, from one time to a later one."""

    def total(self, rows: IntArray) -> IntArray:
        """Return the noise of the running counts at the time of the rows, (labels,) int64."""


_LEAST_PATHS = 64


class Times(Sequence[int]):
    """Ascending times that never change; a continuation shares their memory.

    Adding a time takes the same short time however many there are, so that reading a stream after
    every event does not take longer from reading to reading.
    """

    __slots__ = ("_items", "_number")

    def __init__(self, times: Iterable[int] = ()) -> None:
        """Hold these times; ValueError if they do not ascend."""
        self._items = list(times)
        self._number = len(self._items)
        if any(later <= earlier for earlier, later in zip((0, *self), self, strict=False)):
            raise ValueError("times must ascend")

    def append_time(self, time: int) -> "Times":
        """Return these times and a later one."""
        if time <= (self[-1] if self._number else 0):
            raise ValueError("times must ascend")
        # Another continuation may have used the place behind these: a step that was not taken.
        is_last = len(self._items) == self._number
        longer = Times()
        longer._items = self._items if is_last else self._items[: self._number]
        longer._items.append(time)
        longer._number = self._number + 1
        return longer

    def __len__(self) -> int:
        return self._number

    @overload
    def __getitem__(self, place: int) -> int: ...
    @overload
    def __getitem__(self, place: slice) -> "Times": ...

    def __getitem__(self, place: int | slice) -> "int | Times":
        if isinstance(place, slice):
            return Times(self._items[each] for each in range(self._number)[place])
        return self._items[range(self._number)[place]]

    def __iter__(self) -> Iterator[int]:
        return islice(self._items, self._number)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Times | tuple) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class NoiseTable:
    """Paths of noise, one per row: those of labels, by index, then spare ones. Secret.

    A table is immutable: `advance_to` returns another one.

    Attributes
    ----------
    counter : the distribution of the paths.
    times : ascending times that a path is stepped through: all at which noise was drawn or, if
        the counter skips, those of `marks` and the last.
    rows : (paths, width) int64, at the last time; empty if there is none.
    marks : the totals of all paths at each marked time, (paths,) int64 units.
    """

    counter: Counter
    times: Times
    rows: IntArray
    marks: Mapping[int, IntArray] = field(default_factory=dict)

    @classmethod
    def empty(cls, counter: Counter) -> "NoiseTable":
        """Return the table before any reading."""
        return cls(counter, Times(), np.empty((0, counter.width), np.int64))

    def advance_to(
        self, time: int, labels: int, *, mark: bool = False, source: Source | None = None
    ) -> "NoiseTable":
        """Return a table with the noise of `labels` labels at a time; itself if it has that.

        Parameters
        ----------
        time : 1 or more, not before the last.
        labels : number of labels.
        mark : keep the totals at this time.
        """
        table = self if labels <= len(self.rows) else self._add_paths(labels, source)
        if not table.times or table.times[-1] < time:
            table = table._advance(time, source)
        if mark and time not in table.marks:
            table = replace(table, marks={**table.marks, time: table.total()})
        return table

    def total(self) -> IntArray:
        """Return the noise at the last time, (paths,) int64 units."""
        return self.counter.total(self.rows)

    def _advance(self, time: int, source: Source | None) -> "NoiseTable":
        if not self.times:
            return replace(
                self, times=Times((time,)), rows=self.counter.start(len(self.rows), time, source)
            )
        rows = self.counter.step(self.rows, self.times[-1], time, source)
        kept = self.times
        if self.counter.skips and kept[-1] not in self.marks:
            kept = kept[:-1]
        return replace(self, times=kept.append_time(time), rows=rows)

    def _add_paths(self, labels: int, source: Source | None) -> "NoiseTable":
        """Return a table with enough paths; new ones are stepped through all times.

        The number of paths grows by half, so that this is rarely needed: it takes as long as all
        readings so far.
        """
        number = max(labels, len(self.rows) * 3 // 2, _LEAST_PATHS) - len(self.rows)
        rows = np.empty((number, self.counter.width), np.int64)
        marks = dict(self.marks)
        for before, now in zip((None, *self.times), self.times, strict=False):
            if before is None:
                rows = self.counter.start(number, now, source)
            else:
                rows = self.counter.step(rows, before, now, source)
            if now in marks:
                marks[now] = np.append(marks[now], self.counter.total(rows))
        return replace(self, rows=np.concatenate([self.rows, rows]), marks=marks)


def whole_and_rest(units: IntArray, unit_bits: int) -> tuple[IntArray, IntArray]:
    """Split units into whole records, rounded down, and the remaining units."""
    return units >> unit_bits, units & ((1 << unit_bits) - 1)


def round_units(units: IntArray, unit_bits: int) -> IntArray:
    """Return units as records, rounded to the nearest integer, halves up."""
    whole, rest = whole_and_rest(units, unit_bits)
    nearest: IntArray = whole + (2 * rest >= 1 << unit_bits) if unit_bits else whole
    return nearest


def are_above(counts: IntArray, units: IntArray, threshold: int, unit_bits: int) -> BoolArray:
    """Return where counts + units 2**-unit_bits > threshold 2**-unit_bits, without overflow."""
    whole, rest = whole_and_rest(units, unit_bits)
    limit, limit_rest = threshold >> unit_bits, threshold & ((1 << unit_bits) - 1)
    value = counts + whole
    above: BoolArray = (value > limit) | ((value == limit) & (rest > limit_rest))
    return above
