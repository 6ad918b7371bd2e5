"""From rows to counts of bins between fixed edges, batch by batch, in the engine of the rows.

Every row is counted once, in one of the slots ``[below, bin 0, ..., bin B - 1, above, null]``. With
several axes the bins are in the order of a NumPy array, with the last axis fastest. Then ``below``
counts all rows that are outside the edges of some axis, and ``above`` is 0.
"""

import math
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Unpack

import numpy as np
import pyarrow as pa

from dphist.arrays import AnyArray, IntArray
from dphist.counting.binning.edges import Search, search_for
from dphist.counting.binning.spark_slots import find_slots
from dphist.counting.binning.text_values import MomentTextSearch, NumberTextSearch, UnreadableText
from dphist.counting.engine.rows import SparkRows
from dphist.counting.reading.columns import Use, Wanted
from dphist.counting.reading.gate import Reading, open_source
from dphist.counting.reading.source import Source, engine_failure
from dphist.counting.reading.spark import SparkSource
from dphist.errors import Argument, DataError

OTHER_SLOTS = 3
"""Slots beside those of bins: below, above and null."""

# With at most this many bins per row, a batch is counted by `bincount` into a new array.
_BINS_PER_ROW = 4


@dataclass(frozen=True, slots=True)
class Grid:
    """The columns and their edges.

    Attributes
    ----------
    names : (d,) the names of the columns, for error messages.
    edges : (d,) arrays (n + 1,), each int64, float64, datetime64[D] or datetime64[us], increasing.
    zones : (d,) the names of their time zones, in which case they are in UTC; otherwise None.
    """

    names: tuple[str, ...]
    edges: tuple[AnyArray, ...]
    zones: tuple[str | None, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of bins of each axis."""
        return tuple(len(edges) - 1 for edges in self.edges)

    def list_wanted(self) -> list[Wanted]:
        """Return the wanted columns, with their positions as roles."""
        parts = zip(self.names, value_roles(len(self.names)), strict=True)
        return [
            Wanted(f"c{place}", name, Use.VALUE, parameter)
            for place, (name, parameter) in enumerate(parts)
        ]

    def check(self, source: Source) -> None:
        """Refuse columns with types that do not suit their edges, before any row is read."""
        self.searches(
            [source.kinds[column.role] for column in self.list_wanted()], self.texts(source)
        )

    def texts(self, source: Source) -> list[bool]:
        """Return, for each column, whether its values are text that is still to be read."""
        return [source.is_text(column.role) for column in self.list_wanted()]

    def searches(self, kinds: Sequence[pa.DataType], texts: Sequence[bool]) -> list[Search]:
        """Check the types of the columns, and return a search for each column.

        Parameters
        ----------
        kinds : (d,) the types of the columns.
        texts : (d,) whether their values are text that is still to be read.

        Raises
        ------
        ColumnError
            If a type does not suit the edges.
        """
        parts = zip(kinds, texts, self.edges, self.names, self.zones, strict=True)
        return [
            search_for_text(edges, zone) if text else search_for(kind, edges, name, zone)
            for kind, text, edges, name, zone in parts
        ]


def value_roles(axes: int) -> list[str]:
    """Return the names of the parameters that name the columns of the axes."""
    return ["column"] if axes == 1 else [f"column[{place}]" for place in range(axes)]


class Slotting:
    """Find the slot of each row, batch by batch. It depends only on the row and the grid.

    Attributes
    ----------
    unreadable : the columns with unreadable text so far.
    """

    __slots__ = ("_grid", "_kinds", "_null", "_searches", "_texts", "unreadable")

    def __init__(self, grid: Grid, texts: Sequence[bool] | None = None) -> None:
        self._grid = grid
        self._texts = texts or [False] * len(grid.names)
        self._kinds: list[pa.DataType] = []
        self._searches: list[Search] = []
        self._null = number_of_slots(grid) - 1
        self.unreadable: set[str] = set()

    def find(self, columns: list[pa.Array]) -> IntArray:
        """Return the slots of the rows of a batch.

        If any column has unreadable text, all slots are 0, and `raise_unreadable` raises an error
        at the end.
        """
        kinds = [column.type for column in columns]
        if kinds != self._kinds:
            self._searches = self._grid.searches(kinds, self._texts)
            self._kinds = kinds
        found, missing = None, None
        for search, column, name, size in zip(
            self._searches, columns, self._grid.names, self._grid.shape, strict=True
        ):
            try:
                places, absent = search.places(column)
            except UnreadableText:
                self.unreadable.add(name)
                continue
            found = places if len(columns) == 1 else _add_axis(found, places, size)
            if absent is not None:
                missing = absent if missing is None else missing | absent
        if self.unreadable or found is None:
            return np.zeros(len(columns[0]), np.int64)
        if missing is not None:
            found[missing] = self._null
        return found


class Tally:
    """Count rows, batch by batch.

    Attributes
    ----------
    slotting : finds the slots.
    slots : (B + 3,) int64, the number of rows in each slot; see the module.
    """

    __slots__ = ("slots", "slotting")

    def __init__(self, grid: Grid, texts: Sequence[bool] | None = None) -> None:
        self.slotting = Slotting(grid, texts)
        self.slots: IntArray = np.zeros(number_of_slots(grid), np.int64)

    def add(self, columns: list[pa.Array]) -> None:
        """Count the rows of a batch."""
        found = self.slotting.find(columns)
        if len(self.slots) <= _BINS_PER_ROW * len(found):
            self.slots += np.bincount(found, minlength=len(self.slots))
        else:
            np.add.at(self.slots, found, 1)


def number_of_slots(grid: Grid) -> int:
    """Return the number of slots."""
    return math.prod(grid.shape) + OTHER_SLOTS


def bin_rows(frame: object, grid: Grid, **reading: Unpack[Reading]) -> IntArray:
    """Count the rows of a table between fixed edges.

    Parameters
    ----------
    frame, reading
        As for `open_source`; the frame is evaluated once.
    grid : the columns and their edges.

    Returns
    -------
    (B + 3,) int64, the number of rows below, in each bin, above, and null; see the module.

    Raises
    ------
    ParameterError
        If `frame` is not a table.
    ColumnError
        If a column is missing, or its type does not suit its edges.
    DataError
        If a text file has a field that cannot be read as a value of its column, or the engine
        fails.
    InputFileError
        If the file is missing or its content does not match its extension.
    """
    with ExitStack() as stack:
        source = open_source(stack, frame, grid.list_wanted(), **reading)
        grid.check(source)
        if isinstance(source, SparkSource):
            return _bin_in_spark(source, grid)
        tally = source.run(lambda: _tally(source, grid))
    raise_unreadable(grid, tally.slotting)
    return tally.slots


def _tally(source: Source, grid: Grid) -> Tally:
    tally = Tally(grid, grid.texts(source))
    for batch in source.batches():
        tally.add(batch.columns)
    return tally


def _bin_in_spark(source: SparkSource, grid: Grid) -> IntArray:
    """Find and count the slots in Spark."""
    counted = source.run(
        lambda: (
            rows_of_slots(source, grid, [])
            .group(["term"], "count(*) AS records")
            .to_arrow(["term", "records"])
        )
    )
    return counts_of_slots(
        counted["term"].to_numpy(), counted["records"].to_numpy(), grid, grid.list_wanted()
    )


def counts_of_slots(
    places: AnyArray, counts: IntArray, grid: Grid, wanted: Sequence[Wanted]
) -> IntArray:
    """Return the counts of all slots, from those that an engine has counted.

    Raises
    ------
    DataError
        If a slot is missing or out of range: the engine mixed up rows, or does not compute what it
        was asked for. NumPy's own error would show the number.
    """
    slots: IntArray = np.zeros(number_of_slots(grid), np.int64)
    if len(places):
        if not (places.min() >= 0 and places.max() < len(slots)):  # also if one is NaN
            raise engine_failure(wanted)
        slots[places] = counts
    return slots


def rows_of_slots(source: SparkSource, grid: Grid, others: Sequence[str]) -> SparkRows:
    """Return the slot of each row in Spark, `term`, and other columns, named by their roles."""
    kinds = [source.kinds[column.role] for column in grid.list_wanted()]
    return find_slots(
        source.rows(), grid.searches(kinds, grid.texts(source)), kinds, grid.shape, others
    )


def _add_axis(found: IntArray | None, places: IntArray, size: int) -> IntArray:
    """Return the slots over one more axis; 0 for rows outside the edges of some axis."""
    inside = (places >= 1) & (places <= size)
    if found is None:
        return np.where(inside, places, 0)
    return np.where(inside & (found > 0), (found - 1) * size + places, 0)


def search_for_text(edges: AnyArray, zone: str | None) -> Search:
    """Return the search for a column of text, which is read as values of the edges' type."""
    if edges.dtype.kind in "if":
        return NumberTextSearch.from_edges(edges)
    return MomentTextSearch.from_edges(edges, zone is not None)


def raise_unreadable(grid: Grid, slotting: Slotting) -> None:
    """Raise the error for the first column with unreadable text, if there is one."""
    for name in grid.names:
        if name in slotting.unreadable:
            place = grid.names.index(name)
            raise unreadable_text(name, grid.edges[place], grid.zones[place])


def unreadable_text(name: str, edges: AnyArray, zone: str | None) -> DataError:
    """Return the error for a column with unreadable text."""
    if edges.dtype.kind in "if":
        return DataError(
            f"column {name!r} must hold numbers, such as 12, -0.5 or 1e3, or empty fields: correct "
            "or empty the others"
        )
    if zone is not None:
        return DataError(
            f"column {name!r} must hold times such as 2024-01-31T12:30:00+01:00, each with a time "
            "zone because the edges have one, or empty fields: correct or empty the others, or "
            "leave out " + Argument("tz") + " and the zones of edges if all times are local"
        )
    return DataError(
        f"column {name!r} must hold dates or times such as 2024-01-31 or 2024-01-31T12:30:00, each "
        "without a time zone because the edges have none, or empty fields: correct or empty the "
        "others, or give " + Argument("tz") + ", the time zone of the edges, if all times have a "
        "zone"
    )
