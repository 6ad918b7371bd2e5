"""What is published, as linear constraints on whole numbers, and what follows without a solver."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from dphist.arrays import BoolArray, FloatArray, IntArray
from dphist.errors import DataError
from dphist.lab.rules.counts import UNBOUNDED

_ROUNDS = 60  # of tightening: each is sound, so that the number decides nothing but time
CONTRADICTION = (
    "no counts agree with all that is given: sums, cells that are suppressed already, and other "
    "tables contradict each other; see that they are of the same records"
)


@dataclass
class System:
    """Unknown whole numbers, each between bounds, and sums of them between bounds.

    Attributes
    ----------
    low, high : bounds of each unknown; `UNBOUNDED` where there is none.
    places, signs : the unknowns of each sum, and +1 or -1 for each.
    least, most : bounds of each sum.
    """

    low: list[int] = field(default_factory=list)
    high: list[int] = field(default_factory=list)
    places: list[IntArray] = field(default_factory=list)
    signs: list[IntArray] = field(default_factory=list)
    least: list[int] = field(default_factory=list)
    most: list[int] = field(default_factory=list)

    def add_unknowns(
        self, low: Sequence[int] | IntArray, high: Sequence[int] | IntArray
    ) -> IntArray:
        """Add unknowns; returns their places."""
        first = len(self.low)
        self.low += map(int, low)
        self.high += map(int, high)
        return np.arange(first, len(self.low))

    def add_sum(
        self, plus: IntArray, minus: IntArray | Sequence[int], least: int, most: int
    ) -> None:
        """Add a sum of unknowns, less a sum of others."""
        taken = np.array(minus, np.int64)
        self.places.append(np.concatenate([plus, taken]))
        self.signs.append(np.repeat(np.array([1, -1], np.int64), [len(plus), len(taken)]))
        self.least.append(least)
        self.most.append(most)

    def freeze(self) -> "Frozen":
        """Return the same as arrays."""
        sizes = [len(each) for each in self.places]
        none = np.zeros(0, np.int64)
        return Frozen(
            np.array(self.low, np.int64),
            np.array(self.high, np.int64),
            np.repeat(np.arange(len(sizes)), sizes),
            np.concatenate([none, *self.places]),
            np.concatenate([none, *self.signs]),
            np.array(self.least, np.int64),
            np.array(self.most, np.int64),
        )


@dataclass(frozen=True, slots=True)
class Frozen:
    """A system as arrays: entry e says that the unknown `columns[e]` is in the sum `rows[e]`."""

    low: IntArray
    high: IntArray
    rows: IntArray
    columns: IntArray
    signs: IntArray
    least: IntArray
    most: IntArray

    def tighten(self) -> None:
        """Narrow the bounds by each sum alone, again and again: exact, and sound at any time.

        Raises
        ------
        DataError
            If no numbers satisfy all of it.
        """
        for _ in range(_ROUNDS):
            low, high = self._bounds_by_sums()
            if not ((low > self.low).any() or (high < self.high).any()):
                break
            np.maximum(self.low, low, out=self.low)
            np.minimum(self.high, high, out=self.high)
            if (self.low > self.high).any():
                raise DataError(CONTRADICTION)

    def _bounds_by_sums(self) -> tuple[IntArray, IntArray]:
        """Return bounds of each unknown, from those of the other unknowns of its sums."""
        low, high = self.low[self.columns], self.high[self.columns]
        plus = self.signs > 0
        # The smallest and the largest of each signed unknown; and where there is none.
        open_low, open_high = ~plus & (high >= UNBOUNDED), plus & (high >= UNBOUNDED)
        smallest = np.where(open_low, 0, np.where(plus, low, -high))
        largest = np.where(open_high, 0, np.where(plus, high, -low))
        size = len(self.least)
        rest_low, free_low = self._sum_others(smallest, open_low, size)
        rest_high, free_high = self._sum_others(largest, open_high, size)
        least, most = self.least[self.rows], self.most[self.rows]
        up = np.where((most >= UNBOUNDED) | free_low, UNBOUNDED, most - rest_low)
        down = np.where((least <= -UNBOUNDED) | free_high, -UNBOUNDED, least - rest_high)
        found_high = np.where(plus, up, -down)
        found_low = np.where(plus, down, -up)
        lowest, highest = np.full(len(self.low), -UNBOUNDED), np.full(len(self.low), UNBOUNDED)
        np.maximum.at(lowest, self.columns, found_low)
        np.minimum.at(highest, self.columns, found_high)
        return lowest, highest

    def _sum_others(
        self, values: IntArray, is_open: BoolArray, size: int
    ) -> tuple[IntArray, BoolArray]:
        """Return the sum of the others in each row, and whether one of these has no bound."""
        sums, opened = np.zeros(size, np.int64), np.zeros(size, np.int64)
        np.add.at(sums, self.rows, values)
        np.add.at(opened, self.rows, is_open.astype(np.int64))
        return sums[self.rows] - values, opened[self.rows] - is_open > 0

    def is_solved_by(self, values: IntArray) -> bool:
        """Return whether whole numbers satisfy all of it."""
        if ((values < self.low) | (values > self.high)).any():
            return False
        sums = np.zeros(len(self.least), np.int64)
        np.add.at(sums, self.rows, self.signs * values[self.columns])
        return bool(((sums >= self.least) & (sums <= self.most)).all())

    def split(self) -> Iterator["Part"]:
        """Yield the parts that share no unknown which is still open."""
        is_open = self.low < self.high
        kept = is_open[self.columns]
        rows, columns, signs = self.rows[kept], self.columns[kept], self.signs[kept]
        total = len(self.least) + len(self.low)
        links = csr_array(
            (np.ones(len(rows)), (rows, len(self.least) + columns)), shape=(total, total)
        )
        _, labels = connected_components(links, directed=False)
        fixed = np.zeros(len(self.least), np.int64)
        np.add.at(fixed, self.rows[~kept], (self.signs * self.low[self.columns])[~kept])
        order = np.argsort(labels[len(self.least) + columns], kind="stable")
        marks = labels[len(self.least) + columns][order]
        for entries in np.split(order, np.flatnonzero(np.diff(marks)) + 1):
            if len(entries):
                yield self._take(rows[entries], columns[entries], signs[entries], fixed)

    def _take(self, rows: IntArray, columns: IntArray, signs: IntArray, fixed: IntArray) -> "Part":
        unknowns, column_places = np.unique(columns, return_inverse=True)
        sums, row_places = np.unique(rows, return_inverse=True)
        shift = np.zeros(len(self.least), np.int64)
        np.add.at(shift, rows, signs * self.low[columns])
        shift = (shift + fixed)[sums]
        matrix = csr_array(
            (signs.astype(float), (row_places, column_places)), shape=(len(sums), len(unknowns))
        )
        least, most = self.least[sums], self.most[sums]
        return Part(
            unknowns,
            self.low[unknowns],
            matrix,
            np.where(least <= -UNBOUNDED, -np.inf, (least - shift).astype(float)),
            np.where(most >= UNBOUNDED, np.inf, (most - shift).astype(float)),
        )


@dataclass(frozen=True, slots=True)
class Part:
    """Unknowns that hang together, each counted from its lower bound, so that numbers are small.

    Attributes
    ----------
    unknowns : (p,) their places in the system.
    base : (p,) int64, their lower bounds when the part was made.
    matrix : (s, p) sparse, the sums.
    least, most : (s,) float64, bounds of the sums of what is above the lower bounds.
    """

    unknowns: IntArray
    base: IntArray
    matrix: csr_array
    least: FloatArray
    most: FloatArray
