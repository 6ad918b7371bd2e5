"""From rows to counts of cells of several keys, sparse: cells in which no row lies take no memory.

A key is a column with listed values, or with public edges, and perhaps with a last cell "other" for
every other row, one without a value included. A row's cell is a number with one digit for each key,
the last key fastest. It depends only on the row and on the keys, so users are bounded as those of
bins are (see `users`). A row whose value no cell of some key has is a record that is invalid in
itself: after all rows were read, the first such column is named.
"""

import math
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any, Unpack

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dphist.arrays import AnyArray, IntArray
from dphist.counting.binning.edges import Search, search_for
from dphist.counting.binning.slots import search_for_text, unreadable_text
from dphist.counting.binning.spark_slots import place_of, value_of
from dphist.counting.binning.text_values import UnreadableText
from dphist.counting.bounding.bounds import Cut, check_users
from dphist.counting.bounding.contributions import count_bounded_terms
from dphist.counting.engine.interruptible import interruptible
from dphist.counting.engine.private_duckdb import open_private_connection
from dphist.counting.engine.rows import SparkRows
from dphist.counting.reading.columns import (
    OBJECTS,
    Use,
    Wanted,
    canonical_type,
    count_column,
    decoded_type,
    is_text,
    key_column,
)
from dphist.counting.reading.gate import Reading, open_source
from dphist.counting.reading.source import Batches, Source, engine_failure, stream_rows
from dphist.counting.reading.spark import SparkSource
from dphist.errors import Argument, ColumnError, DataError

MOST_CELLS = 2**62
"""Maximum number of cells of all keys together: a cell is an int64."""

_DENSE = 2**22  # up to this number of cells, counts are an array of all of them


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """The column of a key.

    Attributes
    ----------
    name : the name of the column.
    values : (n,) its values, all text, all whole numbers or all truth values; None with edges.
    edges, zone : as for `Grid`; None with values.
    other : whether the key has one more cell, for all other rows.
    """

    name: str
    values: tuple[str | int | bool, ...] | None = None
    edges: AnyArray | None = None
    zone: str | None = None
    other: bool = False

    @property
    def listed(self) -> int:
        """The number of cells without "other"."""
        return len(self.edges) - 1 if self.values is None else len(self.values)  # type: ignore[arg-type]

    @property
    def size(self) -> int:
        """The number of cells."""
        return self.listed + self.other


@dataclass(frozen=True, slots=True)
class ListedSearch:
    """Search among listed values, of the type of the column.

    Attributes
    ----------
    values : (m,) those of the listed values that the type has.
    places : (m,) int64, the place of each in the list, from 1.
    """

    values: pa.Array
    places: IntArray

    def find(self, column: pa.Array) -> IntArray:
        """Return the place of each value in the list, from 1; 0 for others and for no value."""
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if column.type != self.values.type:
            column = column.cast(self.values.type)
        found = pc.index_in(column, value_set=self.values)
        known = np.append(self.places, 0)
        places: IntArray = known[pc.fill_null(found, len(self.places)).to_numpy()]
        return places


@dataclass(frozen=True, slots=True)
class EdgeSearch:
    """Search among edges: bins from 1, and 0 for what is in no bin."""

    search: Search
    bins: int

    def find(self, column: pa.Array) -> IntArray:
        """Return the bin of each value, from 1; 0 for others and for no value."""
        places, missing = self.search.places(column)
        inside = (places >= 1) & (places <= self.bins)
        if missing is not None:
            inside &= ~missing
        return np.where(inside, places, 0)


@dataclass(frozen=True, slots=True)
class KeyGrid:
    """The columns of all keys."""

    columns: tuple[KeyColumn, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of cells of each key."""
        return tuple(column.size for column in self.columns)

    @property
    def cells(self) -> int:
        """The number of cells of all keys together."""
        return math.prod(self.shape)

    @property
    def strides(self) -> tuple[int, ...]:
        """How much one step of each key adds to a cell's number."""
        return tuple(math.prod(self.shape[place + 1 :]) for place in range(len(self.shape)))

    def wanted(self) -> list[Wanted]:
        """Return the wanted columns, with their positions as roles."""
        return [
            Wanted(f"c{place}", column.name, Use.VALUE, "keys")
            if column.values is None
            else key_column(f"c{place}", column.name, "keys")
            for place, column in enumerate(self.columns)
        ]

    def searches(self, source: Source) -> list[ListedSearch | EdgeSearch]:
        """Return how the places of values are found; refuse columns of unsuitable types."""
        return [self._search(place, source) for place in range(len(self.columns))]

    def _search(self, place: int, source: Source) -> ListedSearch | EdgeSearch:
        column, role = self.columns[place], f"c{place}"
        kind = source.kinds[role]
        if column.values is not None:
            return listed_search(column, kind, source.from_text)
        edges = column.edges
        assert edges is not None  # noqa: S101 - a key has values or edges
        text = source.is_text(role)
        found = (
            search_for_text(edges, column.zone)
            if text
            else search_for(kind, edges, column.name, column.zone)
        )
        return EdgeSearch(found, column.listed)


def listed_search(column: KeyColumn, kind: pa.DataType, from_text: bool) -> ListedSearch:
    """Return the search for listed values in a column of a type.

    Fields of text files and Python objects are compared as text, as `objects` writes them.

    Raises
    ------
    ColumnError
        If no column of that type holds such values.
    """
    values, held = column.values or (), decoded_type(kind)
    places = range(1, len(values) + 1)
    if from_text or held is OBJECTS:
        return _search_of(map(_text_of, values), places, pa.large_string())
    sort = type(values[0])
    if sort is str and canonical_type(held) == pa.string():
        return _search_of(values, places, pa.large_string())
    if sort is bool and pa.types.is_boolean(held):
        return _search_of(values, places, held)
    if sort is int and pa.types.is_integer(held):
        ends = np.iinfo(held.to_pandas_dtype())
        pairs = zip(map(int, values), places, strict=True)
        fitting = [(v, p) for v, p in pairs if ends.min <= v <= ends.max]
        return _search_of([v for v, _ in fitting], [p for _, p in fitting], held)
    if is_text(held) and pa.types.is_null(held):
        return _search_of([], [], pa.large_string())
    named = {str: "text", int: "whole numbers", bool: "truth values"}[sort]
    raise ColumnError(
        f"column {column.name!r} must hold {named}, as the values of its key are: cast it, or list "
        "values of its own type in " + Argument("keys")
    )


def _search_of(values: Any, places: Sequence[int], kind: pa.DataType) -> ListedSearch:
    return ListedSearch(pa.array(list(values), kind), np.array(list(places), np.int64))


def _text_of(value: str | int | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class Celling:
    """Find the cell of each row, batch by batch.

    Attributes
    ----------
    unlisted, unreadable : the columns with values that no cell has, and with unreadable text.
    """

    __slots__ = ("_grid", "_searches", "unlisted", "unreadable")

    def __init__(self, grid: KeyGrid, source: Source) -> None:
        self._grid, self._searches = grid, grid.searches(source)
        self.unlisted: set[str] = set()
        self.unreadable: set[str] = set()

    def find(self, columns: Sequence[pa.Array]) -> IntArray:
        """Return the cells of the rows of a batch; any cell for rows that have none."""
        cells: IntArray = np.zeros(len(columns[0]), np.int64)
        for search, values, column, stride in zip(
            self._searches, columns, self._grid.columns, self._grid.strides, strict=True
        ):
            try:
                places = search.find(values)
            except UnreadableText:
                self.unreadable.add(column.name)
                continue
            if column.other:
                places = np.where(places == 0, column.size, places)
            elif not places.all():
                self.unlisted.add(column.name)
                places = np.maximum(places, 1)
            cells += (places - 1) * stride
        return cells

    def check(self) -> None:
        """Raise the error for the first column with a value that no cell has, if there is one."""
        for column in self._grid.columns:
            if column.name in self.unreadable and column.edges is not None:
                raise unreadable_text(column.name, column.edges, column.zone)
        for column in self._grid.columns:
            if column.name in self.unlisted:
                raise unlisted_error(column.name)


def unlisted_error(name: str) -> DataError:
    """Return the error for a column with rows that no cell of its key has."""
    return DataError(
        f"column {name!r} has rows that no value of its key has, or without a value: give the key "
        "a value for all others with "
        + Argument("other")
        + ", list the missing values, or drop the rows"
    )


def count_cells(
    frame: object,
    grid: KeyGrid,
    *,
    user: str | None = None,
    count: str | None = None,
    max_records: int | None = None,
    key: str | None = None,
    cut: Cut | None = None,
    **reading: Unpack[Reading],
) -> tuple[IntArray, IntArray]:
    """Bound each user, or each row, to `max_records` records, then count the cells.

    Parameters
    ----------
    grid : the keys.
    frame, user, count, max_records, key, cut, reading
        As for `bin_rows_bounded`; without `user`, `count` and `max_records`, a row is a record.

    Returns
    -------
    cells : (d,) int64, ascending: the cells with records.
    counts : (d,) int64, above 0: the records in each.

    Raises
    ------
    ParameterError, ColumnError, DataError, InputFileError
        As for `bin_rows_bounded`.
    DataError
        Also if a row lies in no cell: the column is named, and nothing was counted.
    """
    others = [] if count is None else [count_column("amount", count, "count")]
    if user is not None:
        others.append(key_column("who", user, "user", only_text=cut is not None))
    roles = [column.role for column in others]
    with ExitStack() as stack:
        wanted = [*grid.wanted(), *others]
        source = open_source(stack, frame, wanted, **reading)
        celling = Celling(grid, source)
        check_users(source, cut)
        if isinstance(source, SparkSource):
            found = _count_in_spark(source, grid, others, max_records, key, cut)
        elif not roles:
            found = source.run(lambda: _count_rows(source, celling, grid))
        else:
            # Not the connection that reads the file: a connection runs one query at a time.
            connection = open_private_connection(stack, large=True)
            batches = _with_cells(source.batches(), celling, roles)
            found = count_bounded_terms(
                lambda: stream_rows(connection, batches, source.wall),
                lambda call: interruptible(connection, lambda: source.run(call)),
                source,
                wanted=others,
                terms=grid.cells if grid.cells <= _DENSE else None,
                max_records=max_records,
                key=key,
                cut=cut,
            )
        celling.check()
    return _sorted(*found, grid, wanted)


def _with_cells(batches: Batches, celling: Celling, roles: Sequence[str]) -> Batches:
    for batch in batches:
        columns = batch.columns
        keys = len(columns) - len(roles)
        cells = pa.array(celling.find(columns[:keys]))
        yield pa.RecordBatch.from_arrays([cells, *columns[keys:]], names=["term", *roles])


def _count_rows(source: Source, celling: Celling, grid: KeyGrid) -> tuple[IntArray, IntArray]:
    """Count rows as they are, each of which is a record."""
    if grid.cells <= _DENSE:
        dense: IntArray = np.zeros(grid.cells, np.int64)
        for batch in source.batches():
            dense += np.bincount(celling.find(batch.columns), minlength=grid.cells)
        return np.arange(grid.cells), dense
    found: list[tuple[IntArray, IntArray]] = []
    for batch in source.batches():
        found.append(np.unique(celling.find(batch.columns), return_counts=True))
        if len(found) > 1 and len(found[-1][0]) * 2 > len(found[-2][0]):
            found[-2:] = [_add(found[-2], found[-1])]
    total: tuple[IntArray, IntArray] = (np.zeros(0, np.int64), np.zeros(0, np.int64))
    for part in found:
        total = _add(total, part)
    return total


def _add(
    one: tuple[IntArray, IntArray], other: tuple[IntArray, IntArray]
) -> tuple[IntArray, IntArray]:
    """Return the sum of two sparse counts."""
    cells, places = np.unique(np.concatenate([one[0], other[0]]), return_inverse=True)
    counts: IntArray = np.zeros(len(cells), np.int64)
    np.add.at(counts, places, np.concatenate([one[1], other[1]]))
    return cells, counts


def _count_in_spark(
    source: SparkSource,
    grid: KeyGrid,
    others: Sequence[Wanted],
    max_records: int | None,
    key: str | None,
    cut: Cut | None,
) -> tuple[IntArray, IntArray]:
    """Find and count the cells in Spark, after a first pass that looks for rows without one."""
    roles = [column.role for column in others]
    rows = _rows_of_cells(source, grid, roles)
    marks = [f"max(bad{place}) AS bad{place}" for place in range(len(grid.columns))]
    names = [f"bad{place}" for place in range(len(grid.columns))]
    found = source.run(lambda: rows.project("1 AS one", *names).group(["one"], *marks).fetch(names))
    for column, bad in zip(grid.columns, found[0] if found else (), strict=False):
        if bad:
            raise unlisted_error(column.name)
    cells = partial(rows.project, "term", *roles)
    if not roles:
        counted = source.run(
            lambda: cells().group(["term"], "count(*) AS records").to_arrow(["term", "records"])
        )
        return counted["term"].to_numpy(), counted["records"].to_numpy()
    return count_bounded_terms(
        cells,
        source.run,
        source,
        wanted=others,
        terms=None,
        max_records=max_records,
        key=key,
        cut=cut,
    )


def _rows_of_cells(source: SparkSource, grid: KeyGrid, others: Sequence[str]) -> SparkRows:
    """Return the cell of each row in Spark, `term`, other columns, and marks of rows without one.

    A mark `bad0`, `bad1`, ... is 1 for a row that no cell of that key has.
    """
    values, places, cells, marks = [], [], [], []
    lists: dict[str, pa.Array] = {}
    searches = grid.searches(source)
    for axis, (search, column, stride) in enumerate(
        zip(searches, grid.columns, grid.strides, strict=True)
    ):
        kind, own = source.kinds[f"c{axis}"], f"c{axis}"
        value, place = _expressions(search, kind, own, axis, lists)
        values.append(f"{value} AS v{axis}")
        places.append(f"{place} AS p{axis}")
        listed = f"p{axis} >= 1 AND p{axis} <= {column.listed}"
        last = column.size - 1 if column.other else 0
        cells.append(f"(CASE WHEN {listed} THEN p{axis} - 1 ELSE {last} END) * {stride}")
        bad = "0" if column.other else f"CASE WHEN {listed} THEN 0 ELSE 1 END"
        marks.append(f"{bad} AS bad{axis}")
    found = source.rows().beside(lists)
    found = found.project(*values, *lists, *others).project(*places, *others)
    return found.project(f"CAST({' + '.join(cells)} AS BIGINT) AS term", *marks, *others)


def _expressions(
    search: ListedSearch | EdgeSearch,
    kind: pa.DataType,
    own: str,
    axis: int,
    lists: dict[str, pa.Array],
) -> tuple[str, str]:
    """Return the SQL of a value and of its place, which may use an array of `lists`."""
    name = f"e{axis}"
    if isinstance(search, EdgeSearch):
        place, edges = place_of(search.search, kind, f"v{axis}", name)
        if edges is not None:
            lists[name] = edges
        return value_of(kind, own), place
    if pa.types.is_large_string(search.values.type):
        lists[name] = search.values.cast(pa.large_binary()).cast(pa.binary())
        value = f"CAST({own} AS BINARY)"
    else:
        lists[name] = search.values.cast(pa.int64())
        value = f"CAST({own} AS BIGINT)"
    # Values of a list that the type of the column does not have are not in the array.
    known = ", ".join(map(str, search.places.tolist()))
    at = f"coalesce(array_position({name}, v{axis}), 0)"
    if search.places.tolist() == list(range(1, len(search.places) + 1)):
        return value, at
    return value, f"coalesce(get(array({known}), CAST({at} AS INT) - 1), 0)"


def _sorted(
    cells: AnyArray, counts: IntArray, grid: KeyGrid, wanted: Sequence[Wanted]
) -> tuple[IntArray, IntArray]:
    """Return the cells with records, ascending; refuse what no engine can have counted."""
    held = counts > 0
    cells, counts = cells[held], counts[held]
    if len(cells) and not (cells.min() >= 0 and cells.max() < grid.cells):
        raise engine_failure(wanted)
    order = np.argsort(cells, kind="stable")
    ordered = cells[order].astype(np.int64, copy=False)
    if (ordered[1:] == ordered[:-1]).any():
        raise engine_failure(wanted)
    return ordered, counts[order]
