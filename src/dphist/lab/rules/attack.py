"""A differencing attack: what follows for each cell from everything that is published.

Unknowns are the counts of all tables, all of them at least 0. Known are what the rule writes in
each cell, margins, and how the tables hang together. Not used is that a reader may know how further
cells were chosen (complementary suppression), or anything that is not published.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dphist.arrays import BoolArray, IntArray
from dphist.errors import DataError
from dphist.lab.rules.counts import UNBOUNDED, OpenCounts
from dphist.lab.rules.disclosure_rule import Published, group_cells
from dphist.lab.rules.moves import Moves
from dphist.lab.rules.programs import find_bounds
from dphist.lab.rules.system import System

FEW = 3
"""Numbers that a count can still be, at most, to be called within few."""


@dataclass(frozen=True, slots=True)
class Learned:
    """What a reader learns of counts.

    Attributes
    ----------
    low, high : (n,) int64, bounds of each that hold for all counts that agree with what is
        published.
    is_sharp : (n,) bool, whether both bounds are taken by such counts; else the time ended first.
    """

    low: IntArray
    high: IntArray
    is_sharp: BoolArray

    @property
    def follows(self) -> BoolArray:
        """(n,) bool, whether a count follows exactly."""
        exact: BoolArray = self.low == self.high
        return exact

    @property
    def is_within_few(self) -> BoolArray:
        """(n,) bool, whether a count is one of few numbers, and does not follow exactly."""
        found: BoolArray = (self.high - self.low < FEW) & ~self.follows
        return found


@dataclass(frozen=True, slots=True)
class Attacked:
    """What an attack found.

    Attributes
    ----------
    cells : of the table.
    changes : by how much each cell has grown since the table before; None without one. They are
        counts of records too: of those that came in between.
    programs : the number of linear programs.
    """

    cells: Learned
    changes: Learned | None
    programs: int

    @property
    def open(self) -> int:
        """The number of counts of which narrower bounds may hold, as the time ended first."""
        learned = (self.cells, *([] if self.changes is None else [self.changes]))
        return sum(int((~each.is_sharp).sum()) for each in learned)


def attack(
    published: Published, before: Published | None, also: Published | None, *, seconds: float
) -> Attacked:
    """Find what follows for each cell of a table.

    Parameters
    ----------
    before : the table of a part of the same records, by the same keys, such as last month's of
        counts that only grow.
    also : a table of the same records by other keys.
    seconds : after which bounds are those found so far.
    """
    system = System()
    places = _add_table(system, published)
    size, truth = len(places), [published]
    grown = np.zeros(0, np.int64)
    solution = [published.counts.low]
    if before is not None:
        grown, change = _add_before(system, published, places, before)
        truth.append(before)
        solution += [before.counts.low, change]
    if also is not None:
        truth.append(also)
        _add_also(system, published, places, also)
        solution.append(also.counts.low)
    first = np.argsort(~published.suppressed, kind="stable")
    targets = np.concatenate([places[first], grown])
    known = all(each.counts.is_known.all() for each in truth)
    moves = Moves.make(published.counts.codes) if before is None else None
    found = find_bounds(
        system.freeze(), targets, np.concatenate(solution) if known else None, seconds, moves
    )
    cells = Learned(found.low[:size], found.high[:size], found.is_exact[:size])
    changes = None
    if before is not None:
        changes = Learned(found.low[grown], found.high[grown], found.is_exact[grown])
    return Attacked(cells, changes, found.programs)


def _add_table(system: System, published: Published) -> IntArray:
    """Add the cells and margins of a table; returns the places of the cells."""
    places = system.add_unknowns(published.low, published.high)
    for line in published.lines:
        system.add_sum(places[line.places], (), line.low, line.high)
    return places


def _add_before(
    system: System, published: Published, places: IntArray, before: Published
) -> tuple[IntArray, IntArray]:
    """Add an earlier table, and by how much each cell has grown, which is at least 0.

    Returns
    -------
    The places of what has grown, one for each cell; and by how much it did in truth.

    Raises
    ------
    DataError
        If a count is smaller now.
    """
    counts, earlier = published.counts, before.counts
    check_keys(counts, earlier)
    where = {cell: place for place, cell in enumerate(earlier.cells)}
    old = _add_table(system, before)
    matched = [where.get(cell) for cell in counts.cells]
    was = np.array([0 if place is None else earlier.low[place] for place in matched], np.int64)
    change = counts.low - was
    was_known = [place is None or bool(earlier.is_known[place]) for place in matched]
    gone = sum(int(earlier.low[where[cell]]) for cell in set(earlier.cells) - set(counts.cells))
    if ((change < 0) & counts.is_known & np.array(was_known, bool)).any() or gone:
        raise DataError(
            "before must have no larger count than the table: it is of a part of the same "
            "records, such as last month's of counts that only grow"
        )
    grown = system.add_unknowns([0] * counts.size, [UNBOUNDED] * counts.size)
    for cell, place in enumerate(matched):
        less = [grown[cell]] if place is None else [grown[cell], old[place]]
        system.add_sum(places[[cell]], less, 0, 0)
    return grown, np.maximum(change, 0)


def _add_also(system: System, published: Published, places: IntArray, also: Published) -> None:
    """Add a table of the same records by other keys: sums over what they do not share agree.

    Raises
    ------
    DataError
        If they do not: it is of other records.
    """
    counts, other = published.counts, also.counts
    shared = [name for name in counts.keys if name in other.keys]
    ours = _group_by(counts, shared)
    theirs = _group_by(other, shared)
    others = _add_table(system, also)
    for values in ours.keys() & theirs.keys():
        mine, its = ours[values], theirs[values]
        known = counts.is_known[mine].all() and other.is_known[its].all()
        if known and counts.low[mine].sum() != other.low[its].sum():
            raise DataError(
                "also must be of the same records as the table: their sums "
                + (f"by {', '.join(map(repr, shared))} differ" if shared else "differ")
            )
        system.add_sum(places[mine], others[its], 0, 0)


def _group_by(counts: OpenCounts, names: Sequence[str]) -> dict[tuple[str, ...], IntArray]:
    """Return the places of cells by the values of some keys, in the order of `names`."""
    axes = [counts.keys.index(name) for name in names]
    rest = [axis for axis in range(len(counts.keys)) if axis not in axes]
    groups = group_cells(counts.cells, rest)
    return {tuple(str(cell[axis]) for axis in axes): held for cell, held in groups.items()}


def check_keys(counts: OpenCounts, earlier: OpenCounts) -> None:
    """Refuse an earlier table with other keys, or with them in another order."""
    if counts.keys != earlier.keys:
        raise DataError(
            "before must have the same columns of keys as the table: "
            + ", ".join(map(repr, counts.keys))
        )
