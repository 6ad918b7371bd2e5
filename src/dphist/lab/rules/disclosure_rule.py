"""Disclosure rules as they are used, and what each writes in place of a count."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from dphist.arrays import BoolArray, IntArray
from dphist.errors import Argument, ParameterError
from dphist.lab.rules.counts import UNBOUNDED, Cell, OpenCounts
from dphist.parameters import optional_whole, whole_number

Named = Literal["ten-five"]
"""Rules by their names."""

NAMED: Mapping[Named, Mapping[str, Any]] = {
    "ten-five": {"suppress_below": 10, "round_to": 5, "below_is": 0}
}
"""Parameters of each of them."""

Groups: TypeAlias = Mapping[tuple[str | None, ...], IntArray]
"""The places of cells by the values that they share; None for the others."""

_LARGEST = 10**6


@dataclass(frozen=True, slots=True)
class DisclosureRule:
    """A rule for the counts of a table.

    Attributes
    ----------
    suppress_below : smaller counts are not shown; 0 or 1 suppresses none.
    round_to : others are rounded to a multiple of it, halves upwards; 1 rounds none.
    below_is : the number that is written for suppressed counts; None writes a mark.
    show_zeros : whether counts of 0 are shown.
    complementary : whether further cells are suppressed, so that none follows from its margin by
        one subtraction.
    """

    suppress_below: int = 0
    round_to: int = 1
    below_is: int | None = None
    show_zeros: bool = False
    complementary: bool = False

    @classmethod
    def read(
        cls,
        suppress_below: object,
        round_to: object,
        below_is: object,
        *,
        show_zeros: bool,
        complementary: bool,
    ) -> "DisclosureRule":
        """Return a rule, checked.

        Raises
        ------
        ParameterError
            If a number is not a whole number in its range, the rule does nothing, or options
            exclude each other.
        """
        below = whole_number(suppress_below, "suppress_below", 0, _LARGEST)
        width = whole_number(round_to, "round_to", 1, _LARGEST)
        written = optional_whole(below_is, "below_is", 0, max(below - 1, 0))
        if below <= 1 - show_zeros and width == 1:
            raise ParameterError(
                ("suppress_below", "round_to"),
                "must change something",
                "give " + Argument("suppress_below", 10) + " or " + Argument("round_to", 5),
            )
        if below == 0 and (written is not None or complementary or show_zeros):
            what = "below_is" if written is not None else "complementary"
            what = "show_zeros" if show_zeros else what
            raise ParameterError(what, "applies to suppressed counts", "give suppress_below")
        if written is not None and complementary:
            raise ParameterError(
                ("below_is", "complementary"),
                "must not both be given: a number below "
                + Argument("suppress_below")
                + " cannot stand for a larger count",
            )
        if written is not None and show_zeros:
            raise ParameterError(
                ("below_is", "show_zeros"), "must not both be given: a number would stand for both"
            )
        return cls(below, width, written, show_zeros, complementary)

    @property
    def mark(self) -> str:
        """What is written for a suppressed count.

        >>> DisclosureRule(10).mark, DisclosureRule(10, below_is=0).mark
        ('<10', '0')
        """
        if self.below_is is not None:
            return str(self.below_is)
        return "*" if self.complementary else f"<{self.suppress_below}"

    def suppresses(self, counts: IntArray) -> BoolArray:
        """Return which counts are too small to be shown."""
        found: BoolArray = counts < self.suppress_below
        return found & (counts != 0) if self.show_zeros else found

    def round(self, counts: IntArray) -> IntArray:
        """Return counts as they are shown.

        >>> DisclosureRule(round_to=5).round(np.array([2, 3, 7, 8])).tolist()
        [0, 5, 5, 10]
        """
        width = self.round_to
        rounded: IntArray = (2 * counts + width) // (2 * width) * width
        return rounded

    def bounds_of_shown(self, counts: IntArray) -> tuple[IntArray, IntArray]:
        """Return the smallest and the largest count that is written as each of these is.

        >>> low, high = DisclosureRule(7, 5, below_is=5).bounds_of_shown(np.array([7, 8]))
        >>> low.tolist(), high.tolist()  # a 5 stands for 0 to 7
        ([0, 8], [7, 12])
        """
        shown, width = self.round(counts), self.round_to
        high = shown + (width - 1) // 2
        low = np.maximum(high - width + 1, self.suppress_below)
        if self.show_zeros:
            high = np.where((shown == 0) & (self.suppress_below > high), 0, high)
            low = np.where(shown == 0, 0, low)
        if self.below_is is not None:
            low = np.where(shown == self.below_is, 0, low)
        return np.maximum(low, 0), high

    @property
    def bounds_of_suppressed(self) -> tuple[int, int]:
        """What the rule itself says of a suppressed count: from, and up to."""
        if self.complementary:
            return int(self.show_zeros), UNBOUNDED
        smallest = np.array([self.suppress_below], np.int64)  # of those that are shown
        if self.below_is == int(self.round(smallest)[0]):
            return 0, int(self.bounds_of_shown(smallest)[1][0])
        return int(self.show_zeros), self.suppress_below - 1


@dataclass(frozen=True, slots=True)
class Line:
    """Cells whose sum is published.

    Attributes
    ----------
    over : the key that is summed over; empty for a sum over several.
    places : (m,) of the cells.
    low, high : what is published of their sum: the same number, but for one suppressed already.
    """

    over: str
    places: IntArray
    low: int
    high: int

    @property
    def is_exact(self) -> bool:
        """Whether the sum is published as a number."""
        return self.low == self.high


@dataclass(frozen=True, slots=True)
class Published:
    """What a rule publishes of a table.

    Attributes
    ----------
    counts : the table.
    rule : the rule.
    primary : (n,) bool, suppressed as too small.
    secondary : (n,) bool, suppressed so that others do not follow by one subtraction.
    given : (n,) bool, suppressed in the table already.
    shown : (n,) int64, the numbers that are written; -1 for a mark.
    low, high : (n,) int64, what what is written says of each count.
    lines : margins that are published.
    """

    counts: OpenCounts
    rule: DisclosureRule
    primary: BoolArray
    secondary: BoolArray
    given: BoolArray
    shown: IntArray
    low: IntArray
    high: IntArray
    lines: tuple[Line, ...]

    @property
    def suppressed(self) -> BoolArray:
        """Which cells are not shown."""
        return self.primary | self.secondary | self.given

    @property
    def texts(self) -> list[str]:
        """What is written in each cell."""
        held = zip(self.shown.tolist(), self.low.tolist(), self.high.tolist(), strict=True)
        is_given = self.given.tolist()
        return [
            write_span(low, high)
            if is_given[place]
            else f"{shown:,}"
            if shown >= 0
            else self.rule.mark
            for place, (shown, low, high) in enumerate(held)
        ]


def write_span(low: int, high: int) -> str:
    """Write what is known of a count.

    >>> write_span(3, 3), write_span(0, 9), write_span(4, UNBOUNDED), write_span(0, UNBOUNDED)
    ('3', '0 to 9', '4 or more', '*')
    """
    if low == high:
        return f"{low:,}"
    if high < UNBOUNDED:
        return f"{low:,} to {high:,}"
    return f"{low:,} or more" if low else "*"


def publish_counts(counts: OpenCounts, rule: DisclosureRule, *, margins: bool) -> Published:
    """Apply a rule to a table, with its margins or without."""
    lines = tuple(find_lines(counts)) if margins else ()
    given = ~counts.is_known
    primary = rule.suppresses(counts.low) & ~given
    secondary = np.zeros_like(primary)
    if rule.complementary:
        secondary = _choose_complementary(counts.low, primary | given, lines)
    low, high = rule.bounds_of_shown(counts.low)
    least, most = rule.bounds_of_suppressed
    hidden = primary | secondary
    low, high = np.where(hidden, least, low), np.where(hidden, most, high)
    low, high = np.where(given, counts.low, low), np.where(given, counts.high, high)
    marked = -1 if rule.below_is is None else rule.below_is
    shown = np.where(hidden, marked, rule.round(counts.low))
    shown = np.where(given, -1, shown)
    return Published(counts, rule, primary, secondary, given, shown, low, high, lines)


def find_lines(counts: OpenCounts) -> Iterable[Line]:
    """Yield the margins: rows that are sums, and sums over each key where all counts are known.

    Sums over several keys follow from these. A key with one value has no margin of its own.
    """
    groups: dict[tuple[int, ...], Groups] = {}

    def group(axes: tuple[int, ...]) -> Groups:
        if axes not in groups:
            groups[axes] = group_cells(counts.cells, axes)
        return groups[axes]

    stated = {each.cell for each in counts.totals}
    for each in counts.totals:
        axes = tuple(axis for axis, value in enumerate(each.cell) if value is None)
        if each.cell in group(axes):
            over = counts.keys[axes[0]] if len(axes) == 1 else ""
            yield Line(over, group(axes)[each.cell], each.low, each.high)
    several = [len(held) > 1 for held in counts.list_values().values()]
    for axis, name in enumerate(counts.keys):
        for cell, places in group((axis,)).items() if several[axis] else ():
            if cell not in stated and counts.is_known[places].all():
                total = int(counts.low[places].sum())
                yield Line(name, places, total, total)


def group_cells(cells: Sequence[Cell], axes: Sequence[int]) -> Groups:
    """Return the places of cells that differ in some keys alone, with None for each of these."""
    found = defaultdict[tuple[str | None, ...], list[int]](list)
    for place, cell in enumerate(cells):
        found[tuple(None if axis in axes else value for axis, value in enumerate(cell))].append(
            place
        )
    return {cell: np.array(places, np.int64) for cell, places in found.items()}


def _choose_complementary(
    counts: IntArray, suppressed: BoolArray, lines: Sequence[Line]
) -> BoolArray:
    """Return further cells to suppress: the smallest other one of a line with a single one.

    A cell of 0 is taken where a line has no other.
    """
    hidden, chosen = suppressed.copy(), np.zeros_like(suppressed)
    changed = True
    while changed:
        changed = False
        for line in lines:
            places = line.places
            if int(hidden[places].sum()) != 1 or len(places) == 1:
                continue
            others = places[~hidden[places]]
            order = np.lexsort((counts[others], counts[others] == 0))
            hidden[others[order[0]]] = chosen[others[order[0]]] = changed = True
    return chosen
