"""From rows to counts of bins between fixed edges, batch by batch, where the rows are.

Every row is counted once, in one of the slots ``[below, bin 0, ..., bin B - 1, above, null]``. Of
several axes the bins are in the order of a NumPy array, last axis fastest; ``below`` then stands
for every row that is outside some axis, and ``above`` is 0.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from dphist.arrays import AnyArray, IntArray
from dphist.errors import DataError
from dphist.tables.binning.edges import Search, search_for
from dphist.tables.binning.text_values import MomentTextSearch, NumberTextSearch, UnreadableText
from dphist.tables.engine.progress import Progress
from dphist.tables.reading.columns import Use, Wanted
from dphist.tables.reading.gate import open_source
from dphist.tables.reading.source import Source
from dphist.tables.reading.spark import SparkSource

# Up to this many bins a row of a batch they are counted in an array made for it.
_BINS_A_ROW = 4


@dataclass(frozen=True, slots=True)
class Grid:
    """The columns and their edges: all that counting needs, also in a worker of Spark.

    Attributes
    ----------
    names : (d,) the columns, for the errors.
    edges : (d,) arrays (n + 1,), each int64, float64, datetime64[D] or datetime64[us], increasing.
    zoned : (d,) whether the edges were given with a time zone; they are in UTC.
    """

    names: tuple[str, ...]
    edges: tuple[AnyArray, ...]
    zoned: tuple[bool, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of bins of each axis."""
        return tuple(len(edges) - 1 for edges in self.edges)

    def wanted(self) -> list[Wanted]:
        """The columns, by their place."""
        parts = zip(self.names, value_roles(len(self.names)), strict=True)
        return [
            Wanted(f"c{place}", name, Use.VALUE, parameter)
            for place, (name, parameter) in enumerate(parts)
        ]

    def check(self, source: Source) -> None:
        """Refuse columns whose type their edges do not suit, before anything is read."""
        kinds = [source.kinds[f"c{place}"] for place in range(len(self.names))]
        self.searches(kinds, source.from_text)

    def searches(self, kinds: Sequence[pa.DataType], from_text: bool) -> list[Search]:
        """Return how each column is searched, having checked their types.

        Raises
        ------
        ColumnError
        """
        parts = zip(kinds, self.edges, self.names, self.zoned, strict=True)
        if from_text:
            return [_search_of_text(edges, zoned) for _, edges, _, zoned in parts]
        return [search_for(kind, edges, name, zoned) for kind, edges, name, zoned in parts]


def value_roles(axes: int) -> list[str]:
    """Return what the parameters are called that name the columns."""
    return ["column"] if axes == 1 else [f"column[{place}]" for place in range(axes)]


class Slotting:
    """Finds the slot of each row, batch by batch: a function of this row and the grid alone.

    Attributes
    ----------
    unreadable : the columns in which text was not what it should be.
    """

    __slots__ = ("_from_text", "_grid", "_kinds", "_null", "_searches", "unreadable")

    def __init__(self, grid: Grid, from_text: bool = False) -> None:
        self._grid = grid
        self._from_text = from_text
        self._kinds: list[pa.DataType] = []
        self._searches: list[Search] = []
        self._null = slots_of(grid) - 1
        self.unreadable: set[str] = set()

    def of(self, columns: list[pa.Array]) -> IntArray:
        """Return the slots of the rows of a batch; 0 where text is unreadable: an error follows."""
        kinds = [column.type for column in columns]
        if kinds != self._kinds:
            self._searches = self._grid.searches(kinds, self._from_text)
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
            found = places if len(columns) == 1 else _combined(found, places, size)
            if absent is not None:
                missing = absent if missing is None else missing | absent
        if self.unreadable or found is None:
            return np.zeros(len(columns[0]), np.int64)
        if missing is not None:
            found[missing] = self._null
        return found


class Tally:
    """Counts rows, batch by batch.

    Attributes
    ----------
    slotting : Slotting
    slots : (B + 3,) int64, rows; see the module.
    """

    __slots__ = ("slots", "slotting")

    def __init__(self, grid: Grid, from_text: bool = False) -> None:
        self.slotting = Slotting(grid, from_text)
        self.slots: IntArray = np.zeros(slots_of(grid), np.int64)

    def add(self, columns: list[pa.Array]) -> None:
        """Count the rows of a batch."""
        found = self.slotting.of(columns)
        if len(self.slots) <= _BINS_A_ROW * len(found):
            self.slots += np.bincount(found, minlength=len(self.slots))
        else:
            np.add.at(self.slots, found, 1)


def slots_of(grid: Grid) -> int:
    """Return how many slots there are."""
    return math.prod(grid.shape) + 3


def bin_rows(
    frame: object, grid: Grid, progress: Progress | None = None, delimiter: str | None = None
) -> IntArray:
    """Count the rows of a table between fixed edges.

    Parameters
    ----------
    frame, progress, delimiter
        As for `open_source`; evaluated once.
    grid : the columns and their edges

    Returns
    -------
    (B + 3,) int64, rows: below, each bin, above, null; see the module.

    Raises
    ------
    ParameterError
        If `frame` is no table.
    ColumnError
        If a column is missing, or of a type that its edges do not suit.
    DataError
        If a field of a text file is not what its column should hold, or the engine fails.
    InputFileError
        If the file is missing or its content does not match its extension.
    """
    with ExitStack() as stack:
        source = open_source(stack, frame, grid.wanted(), progress=progress, delimiter=delimiter)
        grid.check(source)
        if isinstance(source, SparkSource):
            return _in_spark(source, grid)
        tally = source.run(lambda: _tallied(source, grid))
    raise_unreadable(grid, tally.slotting)
    return tally.slots


def _tallied(source: Source, grid: Grid) -> Tally:
    tally = Tally(grid, source.from_text)
    for batch in source.batches():
        tally.add(batch.columns)
    return tally


def _in_spark(source: SparkSource, grid: Grid) -> IntArray:
    """Count in Spark's workers, and add up there what each partition found."""

    def summed() -> Any:
        from pyspark.sql.functions import expr

        found = source.frame.mapInArrow(_PartitionTally(grid), "slot long, found long")
        return found.groupBy("slot").agg(expr("sum(found) AS found")).toArrow()

    counted = source.run(summed)
    slots: IntArray = np.zeros(slots_of(grid), np.int64)
    slots[counted["slot"].to_numpy()] = counted["found"].to_numpy()
    return slots


class _PartitionTally:
    """Counts the rows of a Spark partition, in an executor."""

    def __init__(self, grid: Grid) -> None:
        self.grid = grid

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        tally = Tally(self.grid)
        for batch in batches:
            tally.add(batch.columns)
        slots = np.flatnonzero(tally.slots)
        columns = [pa.array(slots), pa.array(tally.slots[slots])]
        yield pa.RecordBatch.from_arrays(columns, names=["slot", "found"])


def _combined(found: IntArray | None, places: IntArray, size: int) -> IntArray:
    """Return slots over one axis more; 0 for rows outside of any."""
    inside = (places >= 1) & (places <= size)
    if found is None:
        return np.where(inside, places, 0)
    return np.where(inside & (found > 0), (found - 1) * size + places, 0)


def _search_of_text(edges: AnyArray, zoned: bool) -> Search:
    """Return how text is searched: as what the edges are."""
    if edges.dtype.kind in "if":
        return NumberTextSearch.among(edges)
    return MomentTextSearch.among(edges, zoned)


def raise_unreadable(grid: Grid, slotting: Slotting) -> None:
    """Raise the error for the first column with unreadable text, if there is one."""
    for name in grid.names:
        if name in slotting.unreadable:
            raise _unreadable(grid, name)


def _unreadable(grid: Grid, name: str) -> DataError:
    """The error for a column in whose text some field is not what it should be."""
    place = grid.names.index(name)
    if grid.edges[place].dtype.kind in "if":
        return DataError(
            f"column {name!r} must hold numbers, such as 12, -0.5 or 1e3, or empty fields: correct "
            "or empty the others"
        )
    zone = ", each with its time zone, as the edges have one" if grid.zoned[place] else ""
    return DataError(
        f"column {name!r} must hold dates or times such as 2024-01-31 or 2024-01-31T12:30:00"
        f"{zone}, or empty fields: correct or empty the others"
    )
