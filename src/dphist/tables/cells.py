"""KeyedTable: one released table as a frame, a row for each cell."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Never

import numpy as np
import pyarrow as pa

from dphist.arrays import BoolArray, FloatArray, IntArray
from dphist.errors import UnsupportedError
from dphist.release.tabular import Tabular
from dphist.tables.keys import Key, Keys
from dphist.tables.widths import NORMAL, Reach

LEVEL = 0.95
MADE_WHOLE = {
    "made_whole": "These counts were made whole: they are biased, and have no errors or intervals."
}


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class KeyedTable(Tabular):
    """One table, a row for each cell.

    Attributes
    ----------
    keys : those of the table.
    counts : float64 with a dimension for each key.
    errors : float64 of the same shape: standard errors.
    impossible : bool of the same shape: cells in which no record can be, as everybody knows; None
        if no such cells were named. Their counts are as unbiased as others: noise around 0.
    reach : how many standard errors intervals reach.
    sums : sums and means of each cell with both ends of intervals, flat, by the names of columns;
        NaN for a mean of which nothing is known.

    >>> keys = Keys.read({"sex": ["f", "m"]})
    >>> table = KeyedTable(keys, np.array([3.5, 2.0]), np.array([1.0, 1.0]))
    >>> table.to_arrow().column_names, len(table)
    (['sex', 'count', 'error', 'low', 'high'], 2)
    """

    keys: tuple[Key, ...] | Keys
    counts: FloatArray
    errors: FloatArray
    impossible: BoolArray | None = None
    reach: Reach = NORMAL
    sums: Mapping[str, FloatArray] = field(default_factory=dict)

    def __len__(self) -> int:
        return int(self.counts.size)

    def to_arrow(self) -> pa.Table:
        """Return columns of the keys, count, error, and low and high, a 95 % interval.

        A key of bins has two columns, its name with _start and _stop, the same and null for
        "other". A key of other values than text that has "other" is text. Intervals are of each
        cell by itself. If impossible cells were named, a column `impossible` marks them. Then come
        sums and means, if there are any: of a column, its name with _sum and _mean, and both ends.
        """
        columns = columns_of_cells(self.keys)
        counts, errors = self.counts.ravel(), self.errors.ravel()
        wide = self.reach.of(LEVEL) * errors
        numbers = {"count": counts, "error": errors, "low": counts - wide, "high": counts + wide}
        for name, values in numbers.items():
            columns[name] = pa.array(values)
        if self.impossible is not None:
            columns["impossible"] = pa.array(self.impossible.ravel())
        for name, values in self.sums.items():
            columns[name] = pa.array(values, mask=np.isnan(values))
        return pa.table(columns)

    def __repr__(self) -> str:
        names = "+".join(key.name for key in self.keys)
        return f"KeyedTable({names or 'total'}, {len(self):,} cells)"


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class WholeTable(Tabular):
    """One table of whole numbers, a row for each cell.

    Attributes
    ----------
    keys : those of the table.
    counts : int64 with a dimension for each key.
    """

    keys: tuple[Key, ...]
    counts: IntArray

    def __len__(self) -> int:
        return int(self.counts.size)

    @property
    def errors(self) -> Never:
        """Refuse, as `WholeTables.interval` does."""
        refuse_errors()

    def to_arrow(self) -> pa.Table:
        """Return columns of the keys, and count; the schema's metadata say "made_whole"."""
        columns = {**columns_of_cells(self.keys), "count": pa.array(self.counts.ravel())}
        return pa.table(columns).replace_schema_metadata(MADE_WHOLE)

    def __repr__(self) -> str:
        names = "+".join(key.name for key in self.keys)
        return f"WholeTable({names or 'total'}, {len(self):,} cells, whole numbers without errors)"


def write_cell(cell: object) -> str:
    """Return a value of a key, or an edge of bins, as text."""
    return cell.isoformat() if hasattr(cell, "isoformat") else str(cell)


def refuse_errors() -> Never:
    """Refuse: whole numbers are biased, and no interval of the noise holds the truth."""
    raise UnsupportedError(
        "whole numbers have no errors or intervals: use those of the unbiased tables that they "
        "were made of"
    )


def columns_of_cells(keys: Iterable[Key]) -> dict[str, pa.Array]:
    """Return the values of keys, a row for each combination of them, the last key fastest."""
    held = tuple(keys)
    shape = tuple(key.size for key in held)
    columns: dict[str, pa.Array] = {}
    for axis, key in enumerate(held):
        along = [1] * len(shape)
        along[axis] = key.size
        places = np.broadcast_to(np.arange(key.size).reshape(along), shape).ravel()
        for name, values in label_columns(key).items():
            columns[name] = values.take(pa.array(places))
    return columns


def label_columns(key: Key) -> dict[str, pa.Array]:
    """Return the values of a key as columns: one, or of bins the start and stop of each."""
    if key.axis is None:
        values = key.labels
        kind = None if len(set(map(type, values))) == 1 else pa.string()
        return {key.name: pa.array([str(v) for v in values] if kind else list(values), kind)}
    edges = pa.array(key.axis.edges)
    if key.axis.zone is not None:
        edges = edges.cast(pa.timestamp("us", "UTC")).cast(pa.timestamp("us", key.axis.zone))
    ends = {"start": edges[:-1], "stop": edges[1:]}
    missing = pa.nulls(int(key.other), edges.type)
    return {f"{key.name}_{end}": pa.concat_arrays([each, missing]) for end, each in ends.items()}


def join_tables(shown: Mapping[str, pa.Table], keys: Keys) -> pa.Table:
    """Return several tables, by name, one after the other, with the columns of all keys first."""
    named = [
        each.add_column(0, "table", pa.array([name] * len(each), pa.string()))
        for name, each in shown.items()
    ]
    order = [column for key in keys for column in label_columns(key)]
    whole = pa.concat_tables(named, promote_options="default")
    numbers = [name for name in whole.column_names if name not in (*order, "table")]
    return whole.select(["table", *(n for n in order if n in whole.column_names), *numbers])
