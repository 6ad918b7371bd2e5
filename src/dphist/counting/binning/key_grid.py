"""Keys, by which rows are counted, and the cell of each row, batch by batch.

A key is a column with listed values, or with public edges, and perhaps with a last cell "other" for
every other row, one without a value included. A row's cell is a number with one digit for each key,
the last key fastest. It depends only on the row and on the keys, and so does whether it has one.

A value that is summed is one more digit, of whole steps within public bounds: see `cell_sums`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dphist.arrays import AnyArray, BoolArray, IntArray
from dphist.counting.binning.edges import Search, search_for
from dphist.counting.binning.slots import search_for_text, unreadable_text
from dphist.counting.binning.text_values import UnreadableText
from dphist.counting.bounding.steps import NO_NUMBERS, Summed, check_kind, snap
from dphist.counting.reading.columns import (
    OBJECTS,
    Use,
    Wanted,
    canonical_type,
    find_decoded_type,
    is_text,
    key_column,
)
from dphist.counting.reading.source import Source
from dphist.errors import Argument, ColumnError, DataError

MOST_CELLS = 2**62
"""Maximum number of cells of all keys together: a cell is an int64."""


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """The column of a key.

    Attributes
    ----------
    name : the name of the column.
    values : (n,) its values, all text, all whole numbers or all truth values; None with edges.
    edges, zone : as for `Grid`; None with values.
    other : whether the key has one more cell, for all other rows.
    labels : whether its values are the texts that occur: all rows are in the cell `other` of the
        grid, and are told apart by their texts (see `label_keys`).
    summed : what is summed of the column, which is no key then; None of a key.
    """

    name: str
    values: tuple[str | int | bool, ...] | None = None
    edges: AnyArray | None = None
    zone: str | None = None
    other: bool = False
    labels: bool = False
    summed: Summed | None = None

    @property
    def listed(self) -> int:
        """The number of cells without "other"."""
        if self.summed is not None:
            return self.summed.high - self.summed.low + 1
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
class ValueSearch:
    """Whole steps of values within bounds: the lowest has place 1."""

    summed: Summed
    text: bool

    def find(self, column: pa.Array) -> IntArray:
        """Return the place of each value, of one beyond a bound that of the bound; 0 for none."""
        steps = snap(column, self.summed.step, text=self.text)
        low, high = self.summed.low, self.summed.high
        inside = np.clip(pc.fill_null(steps, 0).to_numpy(), low, high) - (low - 1)
        missing = steps.is_null().to_numpy(zero_copy_only=False)
        return np.where(missing, 0, inside)


class LabelSearch:
    """Search in a column whose texts are labels: no place is listed."""

    def find(self, column: pa.Array) -> IntArray:
        """Return 0 for each row."""
        return np.zeros(len(column), np.int64)


AnySearch = ListedSearch | EdgeSearch | LabelSearch | ValueSearch


@dataclass(frozen=True, slots=True)
class KeyGrid:
    """The columns of all keys.

    Attributes
    ----------
    columns : of the keys.
    drop : whether rows without a cell are left out; else they are refused.
    """

    columns: tuple[KeyColumn, ...]
    drop: bool = False

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

    def list_wanted(self) -> list[Wanted]:
        """Return the wanted columns, with their positions as roles."""
        return [
            Wanted(f"c{place}", column.name, Use.VALUE, "sums" if column.summed else "keys")
            if column.values is None
            else key_column(f"c{place}", column.name, "keys")
            for place, column in enumerate(self.columns)
        ]

    def searches(self, source: Source) -> list[AnySearch]:
        """Return how the places of values are found; refuse columns of unsuitable types."""
        return [self._search(place, source) for place in range(len(self.columns))]

    def _search(self, place: int, source: Source) -> AnySearch:
        column, role = self.columns[place], f"c{place}"
        kind = source.kinds[role]
        if column.summed is not None:
            if not source.is_text(role):
                check_kind(kind, column.name)
            return ValueSearch(column.summed, source.is_text(role))
        if column.labels:
            _check_labels(column.name, kind, source.from_text)
            return LabelSearch()
        if column.values is not None:
            return make_listed_search(column, kind, source.from_text)
        edges = column.edges
        assert edges is not None  # noqa: S101 - a key has values or edges
        text = source.is_text(role)
        found = (
            search_for_text(edges, column.zone)
            if text
            else search_for(kind, edges, column.name, column.zone)
        )
        return EdgeSearch(found, column.listed)


def _check_labels(name: str, kind: pa.DataType, from_text: bool) -> None:
    """Refuse a column of labels that does not hold text."""
    held = find_decoded_type(kind)
    if not (from_text or held is OBJECTS or canonical_type(held) == pa.string()):
        raise ColumnError(
            f"column {name!r} must hold text, as the values of its key are found: cast it to text"
        )


def make_listed_search(column: KeyColumn, kind: pa.DataType, from_text: bool) -> ListedSearch:
    """Return the search for listed values in a column of a type.

    Fields of text files and Python objects are compared as text, as `objects` writes them; for a
    truth value, both true and True stand for it.

    Raises
    ------
    ColumnError
        If no column of that type holds such values.
    """
    values, held = column.values or (), find_decoded_type(kind)
    places = range(1, len(values) + 1)
    if not values:  # all rows are in its cell "other"
        return _make_search([], [], pa.large_string())
    if from_text or held is OBJECTS:
        texts = [(text, p) for v, p in zip(values, places, strict=True) for text in _list_texts(v)]
        return _make_search([text for text, _ in texts], [p for _, p in texts], pa.large_string())
    sort = type(values[0])
    if sort is str and canonical_type(held) == pa.string():
        return _make_search(values, places, pa.large_string())
    if sort is bool and pa.types.is_boolean(held):
        return _make_search(values, places, held)
    if sort is int and pa.types.is_integer(held):
        ends = np.iinfo(held.to_pandas_dtype())
        pairs = zip(map(int, values), places, strict=True)
        fitting = [(v, p) for v, p in pairs if ends.min <= v <= ends.max]
        return _make_search([v for v, _ in fitting], [p for _, p in fitting], held)
    if is_text(held) and pa.types.is_null(held):
        return _make_search([], [], pa.large_string())
    named = {str: "text", int: "whole numbers", bool: "truth values"}[sort]
    raise ColumnError(
        f"column {column.name!r} must hold {named}, as the values of its key are: cast it, or list "
        "values of its own type in " + Argument("keys")
    )


def _make_search(values: Any, places: Sequence[int], kind: pa.DataType) -> ListedSearch:
    return ListedSearch(pa.array(list(values), kind), np.array(list(places), np.int64))


def _list_texts(value: str | int | bool) -> list[str]:
    """Return how a value is written; truth values as most software does, or as Python does."""
    return [str(value).lower(), str(value)] if isinstance(value, bool) else [str(value)]


class Celling:
    """Find the cell of each row, batch by batch.

    Attributes
    ----------
    unlisted, unreadable : the columns with values that no cell has, and with unreadable text.
    missing : the columns that are summed and have rows without a value.
    """

    __slots__ = ("_grid", "_searches", "missing", "unlisted", "unreadable")

    def __init__(self, grid: KeyGrid, source: Source) -> None:
        self._grid, self._searches = grid, grid.searches(source)
        self.unlisted: set[str] = set()
        self.unreadable: set[str] = set()
        self.missing: set[str] = set()

    def find(self, columns: Sequence[pa.Array]) -> tuple[IntArray, BoolArray]:
        """Return the cells of the rows of a batch, any cell for rows without one, and who has one.

        The latter are all rows, unless the grid drops some.
        """
        cells: IntArray = np.zeros(len(columns[0]), np.int64)
        inside: BoolArray = np.ones(len(cells), np.bool_)
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
            elif column.summed is not None and not places.all():
                self.missing.add(column.name)  # a fault of the row, whether it has a cell or not
                places = np.maximum(places, 1)
            elif not places.all():
                self.unlisted.add(column.name)
                if self._grid.drop:
                    inside &= places > 0
                places = np.maximum(places, 1)
            cells += (places - 1) * stride
        return cells, inside

    def check(self) -> None:
        """Raise the error for the first column with a value that no cell has, if there is one.

        Rows without a cell are no fault where the grid drops them; unreadable text always is.
        """
        for column in self._grid.columns:
            if column.name in self.unreadable and column.edges is not None:
                raise unreadable_text(column.name, column.edges, column.zone)
            if column.summed is not None and column.name in self.unreadable:
                raise DataError(f"column {column.name!r} {NO_NUMBERS}")
            if column.name in self.missing:
                raise DataError(f"column {column.name!r} {NO_VALUE}")
        for column in () if self._grid.drop else self._grid.columns:
            if column.name in self.unlisted:
                raise DataError(f"column {column.name!r} " + UNLISTED)


NO_VALUE = "must have a number in each row, as it is summed: fill in or drop the other rows"
"""What is wrong with a column that is summed and has rows without a value."""

UNLISTED = (
    "has rows that no value of its key has, or without a value: give the key a value for all "
    "others with "
    + Argument("other")
    + ", list the missing values, or leave such rows out with "
    + Argument("unlisted", "drop")
)
"""What is wrong with a column that has rows without a cell."""
