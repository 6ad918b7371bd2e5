"""Released tables as CSV, a row for each cell: in pieces, as there may be millions of them."""

from collections.abc import Iterator
from itertools import islice, product

from dphist.document.csv_field import Field
from dphist.tables.cells import LEVEL, label_columns
from dphist.tables.keyed_tables import KeyedTables
from dphist.tables.keys import Key, Names

_NUMBERS = ("count", "error", "low", "high")
_PIECE = 2**16  # rows that are Python objects at once


def list_columns(value: KeyedTables) -> list[str]:
    """Return the names of the columns of `KeyedTables.to_arrow`, of which no cell is computed."""
    marks = () if value.impossible is None else ("impossible",)
    labels = (column for key in _list_used(value) for column in label_columns(key))
    return ["table", *labels, *_NUMBERS, *marks]


def write_rows(value: KeyedTables, field: Field) -> str:
    """Return a line for each cell, all tables one after the other, below a line of the columns.

    Parameters
    ----------
    field : writes a text, such as a value of a key.
    """
    pieces = [",".join(map(field, list_columns(value))) + "\n"]
    for names in value.tables:
        pieces += _write_table(value, names, field)
    return "".join(pieces)


def write_cell(cell: object) -> str:
    """Return a value of a key, or an edge of bins, as text."""
    return cell.isoformat() if hasattr(cell, "isoformat") else str(cell)


def _list_used(value: KeyedTables) -> list[Key]:
    """Return the keys that a table asked has."""
    return [key for key in value.keys if any(key.name in names for names in value.tables)]


def _write_table(value: KeyedTables, names: Names, field: Field) -> Iterator[str]:
    """Yield the lines of a table, whose keys are in the order of all keys, in pieces."""
    texts = [_write_values(key, key.name in names, field) for key in _list_used(value)]
    starts = map(",".join, product([field("+".join(names))], *texts))
    table = value.table(*names)
    counts, errors = table.counts.ravel(), table.errors.ravel()
    marks = None if table.impossible is None else table.impossible.ravel()
    reach = table.reach.of(LEVEL)
    for first in range(0, counts.size, _PIECE):
        rows = slice(first, first + _PIECE)
        wide = reach * errors[rows]
        ends = [""] * _PIECE
        if marks is not None:
            ends = [",true" if mark else ",false" for mark in marks[rows].tolist()]
        numbers = (counts[rows], errors[rows], counts[rows] - wide, counts[rows] + wide)
        held = zip(islice(starts, _PIECE), *(each.tolist() for each in numbers), ends, strict=False)
        yield "".join(
            f"{start},{count:.3f},{error:.6g},{low:.3f},{high:.3f}{end}\n"
            for start, count, error, low, high, end in held
        )


def _write_values(key: Key, within: bool, field: Field) -> list[str]:
    """Return the fields of each value of a key; of a key that a table does not have, empty ones."""
    columns = list(label_columns(key).values())
    if not within:
        return ["," * (len(columns) - 1)]

    def write(cell: object) -> str:
        return "" if cell is None else field(write_cell(cell))

    return [
        ",".join(map(write, row)) for row in zip(*(c.to_pylist() for c in columns), strict=True)
    ]
