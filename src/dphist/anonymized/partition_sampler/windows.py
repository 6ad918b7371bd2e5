"""Where partitions within a distance of a given one can reach.

All partitions whose sorted L1 distance from a diagram is at most D have their i-th count
in a window, their number of counts >= r in another, and their Durfee side (the largest i
whose i-th count is at least i) in a third. The partition sampler looks nowhere else.
Lemma 3 of `docs/proofs/partition_sampler.md`.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dphist.anonymized.tiling import first_rows
from dphist.arrays import IntArray
from dphist.data.profile import Profile

_LARGEST_SIDE = 2**31  # of a square with no more cells than data may have


@dataclass(frozen=True, slots=True)
class RowWindows:
    """The rows of a diagram, and how far those of diagrams within the radius can be from them.

    Attributes
    ----------
    true, least, most : (k,) int64; the first k rows, their smallest and largest lengths.
    """

    true: IntArray
    least: IntArray
    most: IntArray


@dataclass(frozen=True, slots=True)
class Entries:
    """What the entries of a non-increasing sequence are chosen among, and how far from what.

    Attributes
    ----------
    true, least, most : of each entry, the value in the data and the bounds of those to choose
        from. `most` does not increase, and `least` is not above it.
    """

    true: list[int]
    least: list[int]
    most: list[int]

    def farthest(self) -> int:
        """Return the largest distance of a value from the true one."""
        ends = zip(self.true, self.least, self.most, strict=True)
        return max((max(most - true, true - least) for true, least, most in ends), default=0)


@dataclass(frozen=True, slots=True)
class Windows:
    """Where diagrams within some distance of a given one can be.

    Attributes
    ----------
    smallest, largest : their Durfee sides.
    rows, columns : of their first `largest` rows and columns.
    """

    smallest: int
    largest: int
    rows: RowWindows
    columns: RowWindows

    def choices(self, profile: Profile) -> "Choices":
        """Return what a draw around `profile`, whose windows these are, chooses among."""
        # An entry is used only with sides from its own place on, and is not below the side.
        places = np.maximum(np.arange(1, self.largest + 1), self.smallest)

        def half(of: RowWindows) -> Entries:
            least = np.maximum(of.least, places)
            return Entries(of.true.tolist(), least.tolist(), of.most.tolist())

        conjugate = profile.conjugate()
        sides = np.arange(self.smallest, self.largest + 1)
        # Both halves count the square's missing cells, and neither counts those beyond it.
        missing = missing_in_square(profile, conjugate, sides)
        costs = beyond_corner(profile, conjugate, sides) - missing
        costs -= costs.min()
        return Choices(self.smallest, half(self.rows), half(self.columns), costs.tolist())


@dataclass(frozen=True, slots=True)
class Choices:
    """The partitions in the windows, as a side and two non-increasing sequences of that length.

    The sequences are the first rows and the first columns, with entries not below the side.

    Attributes
    ----------
    smallest : the first of the sides to choose from.
    rows, columns : bounds of their entries.
    costs : of each side, what has to be added to the distances of the two sequences to give that of
        the diagram, up to a constant that makes the smallest of them 0 (Lemma 5).
    """

    smallest: int
    rows: Entries
    columns: Entries
    costs: list[int]


def windows_around(profile: Profile, distance: int) -> Windows:
    """Return windows that hold all partitions within `distance` of a diagram."""
    rows = profile.conjugate()

    def reachable(side: int) -> bool:
        return side <= _LARGEST_SIDE and bool(missing_in_square(profile, rows, side) <= distance)

    def too_small(side: int) -> bool:
        return bool(beyond_corner(profile, rows, side) > distance)

    largest = _last(reachable)
    smallest = _last(lambda side: side == 0 or too_small(side - 1))
    return Windows(
        smallest,
        largest,
        row_windows(profile, largest, distance),
        row_windows(rows, largest, distance),
    )


def row_windows(profile: Profile, rows: int, distance: int) -> RowWindows:
    """Return the windows of rows 1..`rows` of all partitions within `distance`."""
    i = np.arange(1, rows + 1)
    true = first_rows(profile, rows)
    to_here = profile.cells_up_to(true)

    def cost_of_raising(length: IntArray) -> IntArray:
        """Cells of the rectangle i x length outside the diagram: rows 1..i must reach it."""
        added: IntArray = i * (length - true) - (profile.cells_up_to(length) - to_here)
        return added

    def cost_of_lowering(length: IntArray) -> IntArray:
        """Cells in rows from i on, right of length: no row from i on may reach there."""
        removed: IntArray = to_here - profile.cells_up_to(length) - (i - 1) * (true - length)
        return removed

    # The second bound, a rectangle of more cells than there are, keeps products below 2**63.
    most = true.copy()
    too_much = np.minimum(true + distance, (profile.total + distance) // i) + 1
    while np.any(too_much - most > 1):
        middle = most + (too_much - most) // 2
        fits = cost_of_raising(middle) <= distance
        most, too_much = np.where(fits, middle, most), np.where(fits, too_much, middle)
    least, too_little = true.copy(), np.full(rows, -1)
    while np.any(least - too_little > 1):
        middle = (least + too_little + 1) // 2  # never the impossible -1
        fits = cost_of_lowering(middle) <= distance
        least, too_little = np.where(fits, middle, least), np.where(fits, too_little, middle)
    return RowWindows(true, least, most)


def missing_in_square(profile: Profile, rows: Profile, side: int | IntArray) -> IntArray:
    """Cells of each square side x side outside the diagram, whose conjugate is `rows`."""
    sides = np.asarray(side, np.int64)
    row: IntArray = np.minimum(rows.cumulative_prevalences(np.maximum(sides, 1)), sides)
    inside = profile.cells_up_to(sides) - profile.cells_up_to(row)
    missing: IntArray = sides * (sides - row) - inside
    return missing


def beyond_corner(profile: Profile, rows: Profile, side: int | IntArray) -> IntArray:
    """Cells in both rows and columns beyond each side."""
    sides = np.asarray(side, np.int64)
    row: IntArray = np.maximum(rows.cumulative_prevalences(sides + 1), sides)
    right = profile.cells_up_to(row) - profile.cells_up_to(sides)
    beyond: IntArray = right - sides * (row - sides)
    return beyond


def _last(holds: Callable[[int], bool]) -> int:
    """Return the last number for which a property holds that holds up to some number >= 0."""
    beyond = 1
    while holds(beyond):
        beyond *= 2
    last = beyond // 2
    while beyond - last > 1:
        middle = (last + beyond) // 2
        last, beyond = (middle, beyond) if holds(middle) else (last, middle)
    return last
