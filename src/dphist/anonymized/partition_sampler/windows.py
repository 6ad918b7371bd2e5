"""Windows that contain all partitions within a distance of a given partition.

Consider all partitions with a sorted L1 distance of at most D from a diagram. Their i-th count is
in one window, their number of counts >= r is in another, and their Durfee side (the largest i for
which the i-th count is at least i) is in a third. The partition sampler draws only from these
windows. See Lemma 3 of `docs/understand/proofs/partition_sampler.md`.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dphist.arrays import IntArray
from dphist.data.diagram import Diagram
from dphist.data.tiling import first_rows
from dphist.noise.search import first_true

_LARGEST_SIDE = 2**31  # a larger square has more cells than data may have


@dataclass(frozen=True, slots=True)
class RowWindows:
    """The rows of a diagram, and the possible rows of diagrams within the radius.

    Attributes
    ----------
    true, least, most : (k,) int64; the first k rows, their smallest and largest lengths.
    """

    true: IntArray
    least: IntArray
    most: IntArray


@dataclass(frozen=True, slots=True)
class Entries:
    """The possible values of the entries of a non-increasing sequence.

    Attributes
    ----------
    true, least, most : for each entry, the true value, and the smallest and largest possible value.
        `most` is non-increasing, and `least` is at most `most`.
    """

    true: list[int]
    least: list[int]
    most: list[int]

    def farthest(self) -> int:
        """Return the largest distance of a possible value from its true value."""
        ends = zip(self.true, self.least, self.most, strict=True)
        return max((max(most - true, true - least) for true, least, most in ends), default=0)


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows that contain all diagrams within some distance of a given diagram.

    Attributes
    ----------
    smallest, largest : the smallest and largest Durfee side.
    rows, columns : windows of the first `largest` rows and columns.
    """

    smallest: int
    largest: int
    rows: RowWindows
    columns: RowWindows

    def choices(self, profile: Diagram) -> "Choices":
        """Return the choices of a draw; `profile` is the diagram in the middle of these windows."""
        # Entry i is used only for sides of at least i, and an entry is at least the side.
        places = np.maximum(np.arange(1, self.largest + 1), self.smallest)

        def half(of: RowWindows) -> Entries:
            least = np.maximum(of.least, places)
            return Entries(of.true.tolist(), least.tolist(), of.most.tolist())

        conjugate = profile.conjugate()
        sides = np.arange(self.smallest, self.largest + 1)
        # Both halves count the missing cells of the square; neither counts cells beyond its corner.
        missing = missing_in_square(profile, conjugate, sides)
        costs = beyond_corner(profile, conjugate, sides) - missing
        costs -= costs.min()
        return Choices(self.smallest, half(self.rows), half(self.columns), costs.tolist())


@dataclass(frozen=True, slots=True)
class Choices:
    """The partitions in the windows, as a side and two non-increasing sequences of that length.

    The sequences are the first rows and the first columns. Their entries are at least the side.

    Attributes
    ----------
    smallest : the smallest side.
    rows, columns : the possible entries of the two sequences.
    costs : for each side, the distance of the diagram minus the distances of the two sequences, up
        to a constant that makes the smallest cost 0 (Lemma 5).
    """

    smallest: int
    rows: Entries
    columns: Entries
    costs: list[int]


def find_windows(profile: Diagram, distance: int) -> Windows:
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


def row_windows(profile: Diagram, rows: int, distance: int) -> RowWindows:
    """Return the windows of rows 1..`rows` of all partitions within `distance`."""
    i = np.arange(1, rows + 1)
    true = first_rows(profile, rows)
    to_here = profile.cells_up_to(true)

    def cost_of_raising(length: IntArray) -> IntArray:
        """Return the cells of the rectangle i x length outside the diagram.

        If row i has this length, rows 1..i must contain the rectangle.
        """
        added: IntArray = i * (length - true) - (profile.cells_up_to(length) - to_here)
        return added

    def cost_of_lowering(length: IntArray) -> IntArray:
        """Return the cells in rows from i on to the right of `length`.

        If row i has this length, no row from i on may contain these cells.
        """
        removed: IntArray = to_here - profile.cells_up_to(length) - (i - 1) * (true - length)
        return removed

    # The second bound, a rectangle with more cells than possible, keeps products below 2**63.
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


def missing_in_square(profile: Diagram, rows: Diagram, side: int | IntArray) -> IntArray:
    """Return the cells of each square side x side outside the diagram; `rows` is its conjugate."""
    sides = np.asarray(side, np.int64)
    row: IntArray = np.minimum(rows.cumulative_prevalences(np.maximum(sides, 1)), sides)
    inside = profile.cells_up_to(sides) - profile.cells_up_to(row)
    missing: IntArray = sides * (sides - row) - inside
    return missing


def beyond_corner(profile: Diagram, rows: Diagram, side: int | IntArray) -> IntArray:
    """Return the number of cells in rows beyond each side that are also in columns beyond it."""
    sides = np.asarray(side, np.int64)
    row: IntArray = np.maximum(rows.cumulative_prevalences(sides + 1), sides)
    right = profile.cells_up_to(row) - profile.cells_up_to(sides)
    beyond: IntArray = right - sides * (row - sides)
    return beyond


def _last(holds: Callable[[int], bool]) -> int:
    """Return the last number for which `holds` is true; it is true from 0 up to some number."""
    return first_true(lambda number: not holds(number)) - 1
