"""A table of counts that may be looked at: a row for each cell, with what is known of its count.

A count may be suppressed already, as ``<10``, ``1-9`` or ``*``: it is then an interval.
"""

import re
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from dphist.arrays import IntArray
from dphist.data.open_data import open_rows
from dphist.errors import Argument, ColumnError, DataError, SizeError

Cell: TypeAlias = tuple[str, ...]

UNBOUNDED = 2**60
"""Stands for the upper end of a count of which none is known."""
MAX_COUNT = 10**15
"""The largest count of a cell: sums of all cells stay exact."""
MAX_CELLS = 50_000

_MARKS = frozenset(("", "*", "**", "-", "–", "—", ".", "..", "…", ":", "c", "s", "x", "suppressed"))
_WHOLE = r"(\d{1,3}(?:,\d{3})+|\d+)"
_BELOW = re.compile(rf"(<=|≤|<)\s*{_WHOLE}")
_FROM = re.compile(rf"(>=|≥|>)\s*{_WHOLE}|{_WHOLE}\s*\+")
_SPAN = re.compile(rf"{_WHOLE}\s*(?:-|–|to)\s*{_WHOLE}")
_PLAIN = re.compile(_WHOLE)


@dataclass(frozen=True, slots=True)
class Total:
    """A row of a table that is a sum of cells, as the table states it.

    Attributes
    ----------
    cell : the values of the keys; None for each key that is summed over.
    low, high : what is known of it.
    """

    cell: tuple[str | None, ...]
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class OpenCounts:
    """Counts by keys, to be looked at.

    Attributes
    ----------
    count : the name of the column of counts.
    keys : the names of the other columns.
    cells : (n,) values of the keys, each cell once.
    low, high : (n,) int64, records; the same where the count is known.
    totals : rows that are sums of cells, if a word for them was given.
    """

    count: str
    keys: tuple[str, ...]
    cells: tuple[Cell, ...]
    low: IntArray
    high: IntArray
    totals: tuple[Total, ...] = ()

    @property
    def size(self) -> int:
        """The number of cells."""
        return len(self.cells)

    @property
    def is_known(self) -> Any:
        """(n,) bool, whether the count of a cell is known."""
        return self.low == self.high

    def list_values(self) -> dict[str, list[str]]:
        """Return the values of each key, in the order of the rows."""
        columns = zip(*self.cells, strict=True) if self.cells else [()] * len(self.keys)
        return {
            name: list(dict.fromkeys(held)) for name, held in zip(self.keys, columns, strict=True)
        }

    @property
    def codes(self) -> IntArray:
        """(n, k) the place of each cell among the values of each key."""
        values = self.list_values().values()
        places = [{value: place for place, value in enumerate(held)} for held in values]
        held = [[where[v] for where, v in zip(places, cell, strict=True)] for cell in self.cells]
        return np.array(held, np.int64).reshape(-1, len(self.keys))

    def make_grid(self) -> IntArray:
        """Return the counts with a dimension for each key, 0 where there is no cell."""
        grid = np.zeros([len(held) for held in self.list_values().values()], np.int64)
        grid[tuple(self.codes.T)] = self.low
        return grid


def read_counts(
    table: object,
    count: str,
    keys: tuple[str, ...] | None = None,
    *,
    total: str | None = None,
    parameter: str = "table",
    delimiter: str | None = None,
) -> OpenCounts:
    """Read a table of counts.

    Parameters
    ----------
    table : a table or file, as `LabelCounts.from_table` takes it: one row for each cell.
    count : the column of counts.
    keys : the columns that name a cell (default: all others).
    total : the value of a key that marks a row as a sum, such as "Total".
    parameter : names the table in errors.

    Raises
    ------
    ColumnError
        If a column is missing, or there is none but that of the counts.
    DataError
        If a cell occurs twice, a value of a key is missing, or a count is neither a whole number
        from 0 nor a mark of a suppressed one.
    """
    rows = open_rows(
        table,
        (count, *(keys or ())),
        others=keys is None,
        parameter=parameter,
        delimiter=delimiter,
    )
    names = tuple(keys or (each for each in rows.column_names if each != count))
    if not names:
        raise ColumnError(
            f"{parameter} must have a column beside {count!r} that says what is counted: name it "
            "with " + Argument("keys")
        )
    if len(rows) > MAX_CELLS:
        raise SizeError(f"{parameter} must have at most {MAX_CELLS:,} rows")
    columns = [_read_key(rows[name], name, parameter) for name in names]
    spans = [_read_count(text, count, parameter) for text in rows[count].to_pylist()]
    cells: dict[tuple[str | None, ...], tuple[int, int]] = {}
    for cell, span in zip(zip(*columns, strict=True), spans, strict=True):
        marked = tuple(None if value == total else value for value in cell)
        if marked in cells:
            raise DataError(
                f"{parameter} must have each cell in one row: two rows agree in "
                f"{_list_names(names)}; add their counts up, or name all columns of keys with "
                + Argument("keys")
            )
        cells[marked] = span
    return _gather(count, names, cells)


def _gather(
    count: str, names: tuple[str, ...], found: dict[tuple[str | None, ...], tuple[int, int]]
) -> OpenCounts:
    """Return the cells, apart from the rows that are sums."""
    cells: dict[Cell, tuple[int, int]] = {}
    totals = []
    for marked, span in found.items():
        if None in marked:
            totals.append(Total(marked, *span))
        else:
            cells[tuple(str(value) for value in marked)] = span
    spans = np.array([*cells.values()], np.int64).reshape(-1, 2)
    return OpenCounts(count, names, tuple(cells), spans[:, 0], spans[:, 1], tuple(totals))


def _read_key(column: pa.ChunkedArray, name: str, parameter: str) -> list[str]:
    if column.null_count:
        raise DataError(
            f"column {name!r} of {parameter} must have a value in each row: write the name of "
            "those without one, such as unknown"
        )
    return list(column.to_pylist())


def _read_count(text: str | None, name: str, parameter: str) -> tuple[int, int]:
    """Return what a field says of a count: from, and up to."""
    found = _read_span("" if text is None else text.strip())
    if found is None or found[0] > found[1] or (found[1] > MAX_COUNT and found[1] != UNBOUNDED):
        raise DataError(
            f"column {name!r} of {parameter} must hold whole numbers from 0 to {MAX_COUNT:,}, or "
            "counts that are suppressed already, such as <10, 1-9 or *"
        )
    return found


def _read_span(text: str) -> tuple[int, int] | None:
    """Return the interval that a field stands for; None if it is none.

    >>> [_read_span(text) for text in ("1,234", "<10", "≤9", "1-9", "-3")]
    [(1234, 1234), (0, 9), (0, 9), (1, 9), None]
    >>> _read_span("*") == (0, UNBOUNDED), _read_span("10+") == (10, UNBOUNDED)
    (True, True)
    """
    if text.lower() in _MARKS:
        return 0, UNBOUNDED
    if match := _PLAIN.fullmatch(text):
        return (_parse_digits(match[1]),) * 2
    if match := _BELOW.fullmatch(text):
        return 0, _parse_digits(match[2]) - (match[1] == "<")
    if match := _SPAN.fullmatch(text):
        return _parse_digits(match[1]), _parse_digits(match[2])
    if match := _FROM.fullmatch(text):
        return _parse_digits(match[2] or match[3]) + (match[1] == ">"), UNBOUNDED
    return None


def _parse_digits(digits: str) -> int:
    return int(digits.replace(",", "")) if len(digits) <= 20 else MAX_COUNT + 1


def _list_names(names: tuple[str, ...]) -> str:
    return " and ".join(map(repr, names))
