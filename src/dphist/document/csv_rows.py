"""Released tables as CSV, in pieces: there may be millions of rows."""

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from dphist.arrays import AnyArray
from dphist.data.axis.zones import exact_texts
from dphist.document.blocks import NO_BOUND
from dphist.document.small_counts import find_small, leave_out_small, write_below

Field: TypeAlias = Callable[[str | None], str]

MARK = "\ufeff"
"""Begins a file for spreadsheets: without it, Excel reads UTF-8 as another encoding."""

_SPECIAL = frozenset(',"\r\n')
# Where a spreadsheet that expects another separator may begin a cell, whatever is quoted.
_BEGINS = re.compile(r"(?<![^;\t\r\n])[^;\t\r\n]*")


def csv_field(label: str | None) -> str:
    """Write a label; a missing one as nothing.

    Also quoted are the empty text, and labels that begin or end with white space: programs that
    read CSV often drop these.

    >>> [csv_field(label) for label in ("tea", "", " milk", "a,b", None)]
    ['tea', '""', '" milk"', '"a,b"', '']
    """
    if label is None:
        return ""
    if label.strip() == label != "" and _SPECIAL.isdisjoint(label):
        return label
    return _quote(label)


def safe_field(label: str | None) -> str:
    """Write a label so that a spreadsheet shows it, and reads it as no formula, number or date.

    It is quoted. An apostrophe stands ahead of it unless it begins with a letter and has no digit.
    The same holds for each part of it that follows a semicolon, tab or line ending, where programs
    that expect another separator begin a cell. Which other labels a spreadsheet runs or changes
    depends on the program, its language and its settings.

    >>> print(*[safe_field(label) for label in ("tea", "=1+1", "007", "MARCH1", "'a", "a;b;=1")])
    "tea" "'=1+1" "'007" "'MARCH1" "''a" "a;b;'=1"
    """
    return "" if label is None else _quote(_BEGINS.sub(_as_text, label))


def _as_text(part: re.Match[str]) -> str:
    text = part[0]
    is_plain = text[:1].isalpha() and not any(map(str.isdigit, text))
    return text if is_plain else f"'{text}"


def _quote(text: str) -> str:
    doubled = text.replace('"', '""')
    return f'"{doubled}"'


_PIECE = 2**16  # rows that are texts at once
_FORMS = {"error": "{:.6g}", **dict.fromkeys(("count", "low", "high"), "{:.3f}")}
"""How estimates are written: a thousandth of a record, and six digits of an error."""


def write_csv(table: pa.Table, field: Field, below: int | None = None) -> str:
    """Return a table as CSV with a header line.

    Parameters
    ----------
    field : writes a text, such as a label or the name of a column. Numbers, dates and truth values
        stand as they are: no program takes them for formulas.
    below : a smaller number in the column count is written as ``<10``, and what follows it in its
        row is left empty, but for what does not depend on it.

    >>> print(write_csv(pa.table({"sex": ["f"], "count": [2.0], "error": [1.0]}), safe_field))
    "sex","count","error"
    "f",2.000,1
    <BLANKLINE>
    """
    return "".join(map("".join, _list_pieces(table, field, below)))


def list_lines(table: pa.Table, field: Field) -> Iterator[str]:
    """Yield the header and the rows, each with its line ending; a label may hold others."""
    return chain.from_iterable(_list_pieces(table, field))


def _list_pieces(
    table: pa.Table, field: Field, below: int | None = None
) -> Iterator[Iterable[str]]:
    """Yield the lines in pieces."""
    yield [",".join(map(field, table.column_names)) + "\n"]
    for first in range(0, len(table), _PIECE):
        rows = table.slice(first, _PIECE)
        if below is not None:
            rows = leave_out_small(rows, below)
        columns = zip(rows.column_names, rows.columns, strict=True)
        texts = [write_column(name, column, field) for name, column in columns]
        if below is not None:
            counts = texts[rows.column_names.index("count")]
            for row in np.flatnonzero(find_small(rows, below)).tolist():
                counts[row] = field(write_below(below))
        yield [f"{line}\n" for line in map(",".join, zip(*texts, strict=True))]


def write_column(name: str, column: pa.ChunkedArray, field: Field) -> list[str]:
    """Return the fields of a column; each different text, date or moment is written once."""
    if column.null_count == 0 and pa.types.is_floating(column.type):
        return write_values(name, column.combine_chunks(), field)
    coded = column.combine_chunks().dictionary_encode()
    texts = [*write_values(name, coded.dictionary, field), ""]
    return [texts[-1 if place is None else place] for place in coded.indices.to_pylist()]


def write_values(name: str, values: pa.Array, field: Field) -> list[str]:
    """Return values as fields, none of them null."""
    kind = values.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return [field(value) for value in values.to_pylist()]
    if pa.types.is_timestamp(kind):
        return edge_texts(values.cast(pa.timestamp("us")).to_numpy(), kind.tz)
    if pa.types.is_floating(kind):
        return [_FORMS.get(name, "{!r}").format(value) for value in values.to_pylist()]
    return list(values.cast(pa.string()).to_pylist())


def edge_texts(edges: AnyArray, zone: str | None = None) -> list[str]:
    """Write edges so that they can be read back: numbers, or ISO dates and times.

    With a time zone, they are local times with their offsets to UTC.

    >>> edge_texts(np.array([0.1, 2.0, np.inf])), edge_texts(np.array(["2024-01-31"], "M8[D]"))
    (['0.1', '2.0', 'inf'], ['2024-01-31'])
    >>> edge_texts(np.array(["2024-01-31T12:30"], "M8[us]"))
    ['2024-01-31T12:30:00']
    >>> edge_texts(np.array(["2024-01-31T12:30"], "M8[us]"), "Europe/Zurich")
    ['2024-01-31T13:30:00+01:00']
    """
    if zone is not None:
        return exact_texts(edges, zone)
    if edges.dtype.kind != "M":
        return [repr(edge) for edge in edges.tolist()]
    if edges.dtype == np.dtype("M8[D]"):
        return list(np.datetime_as_string(edges).tolist())
    whole = bool((edges == edges.astype("M8[s]")).all())
    return list(np.datetime_as_string(edges, unit="s" if whole else "us").tolist())


def add_interval(table: pa.Table, low: AnyArray, high: AnyArray) -> pa.Table:
    """Return a table with columns low and high, of which an end that is not known is null.

    >>> add_interval(pa.table({"count": [5]}), np.array([3]), np.array([2**62])).to_pydict()
    {'count': [5], 'low': [3], 'high': [None]}
    """
    for name, ends in (("low", low), ("high", high)):
        beyond = np.abs(np.asarray(ends, np.float64)) >= NO_BOUND
        table = table.append_column(name, pa.array(ends, mask=beyond))
    return table


def add_constants(table: pa.Table, values: dict[str, Any]) -> pa.Table:
    """Return a table with further columns, each of one number."""
    for name, value in values.items():
        table = table.append_column(name, pa.repeat(pa.scalar(value, pa.float64()), len(table)))
    return table
