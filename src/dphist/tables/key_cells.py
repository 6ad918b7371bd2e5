"""The cells of keys: how rows are counted by them, and how a part states which ones it counted."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from dphist.arrays import IntArray
from dphist.counting import LARGEST, redact_errors
from dphist.counting.binning.cell_sums import add_up, add_values, have_room
from dphist.counting.binning.key_grid import MOST_CELLS, KeyColumn, KeyGrid
from dphist.counting.binning.keys import count_cells
from dphist.counting.binning.label_keys import count_label_terms, read_terms
from dphist.counting.checks import check_grid
from dphist.data.counting import state_treatment
from dphist.data.partial import no_part, read_columns
from dphist.data.partial_sums import sum_cells, sum_terms
from dphist.errors import DphistError, ParameterError
from dphist.foreign import read_json
from dphist.privacy.unit import PrivacyUnit
from dphist.tables.cell_sums import Columns, list_summed
from dphist.tables.keys import OTHER, Key, Keys
from dphist.tables.label_cells import LabelCells
from dphist.tables.row_bounds import read_one_row_per


def check_cells(keys: Keys) -> None:
    """Refuse keys with more cells together than an int64 numbers.

    Raises
    ------
    ParameterError
    """
    if math.prod(keys.shape) >= MOST_CELLS:
        raise ParameterError(
            "keys", "have 2**62 cells or more together", "count by fewer keys or values"
        )


def hold_numbers(name: str, given: Any) -> IntArray:
    """Return a read-only copy of an array of int64.

    Raises
    ------
    ParameterError
    """
    if not isinstance(given, np.ndarray) or given.dtype != np.int64 or given.ndim != 1:
        raise ParameterError(name, "must be a one-dimensional array of int64")
    held = given.copy()
    held.setflags(write=False)
    return held


def check_counted(cells: IntArray, counts: IntArray, most: int, *, ordered: bool) -> None:
    """Refuse cells that are not those of the keys, and numbers that are no counts.

    Parameters
    ----------
    most : the number of cells of the keys.
    ordered : whether cells must be ascending.

    Raises
    ------
    ParameterError
    """
    inside = not len(cells) or (cells.min() >= 0 and int(cells.max()) < most)
    fits = not ordered or not (np.diff(cells) <= 0).any()
    if len(cells) != len(counts) or not inside or not fits:
        raise ParameterError("cells", "must be ascending cells of the keys, one for each count")
    if (counts <= 0).any() or (counts > LARGEST).any():
        raise ParameterError("counts", "must be above 0 and at most 2**62 - 1")


def read_grid(counts: Any, keys: Keys) -> IntArray:
    """Return counts of all cells, flat, of an array with a dimension for each key.

    Raises
    ------
    ParameterError, DataError
    """
    flat, shape = check_grid(counts if len(keys) > 1 else [counts], "counts")
    if shape != (keys.shape if len(keys) > 1 else (1, *keys.shape)):
        raise ParameterError("counts", "must have a dimension for each key, of its values")
    return flat


def make_grid(keys: Keys, unlisted: str) -> KeyGrid:
    """Return how rows are counted by keys.

    Parameters
    ----------
    unlisted : what is done with rows outside the keys, as of `KeyedCounts`.
    """
    return KeyGrid(tuple(map(_make_column, keys)), unlisted == "drop")


def _make_column(key: Key) -> KeyColumn:
    if key.discover is not None:
        return KeyColumn(key.name, (), other=True, labels=True)
    if key.axis is None:
        return KeyColumn(key.name, key.values, other=key.other)
    return KeyColumn(key.name, None, key.axis.edges, key.axis.zone, key.other)


def write_keys(keys: Keys) -> str:
    """Return keys as text that is the same for the same cells alone, in the same order.

    Mappings are equal in any order, and numbers are equal to truth values; texts are not.
    """
    return json.dumps(keys.to_content())


def read_keys(text: str) -> Keys:
    """Return the keys of a part.

    Raises
    ------
    DataError
        If the text is not one that `write_keys` returns for keys of a part.
    """

    def read() -> Keys:
        keys = Keys.read(read_json(text))
        check_cells(keys)
        if write_keys(keys) != text:
            raise no_part()
        return keys

    try:
        return redact_errors(read, no_part())
    except DphistError:  # those of keys show names and values
        raise no_part() from None


def check_part(one_row_per: str | None, keys: Keys, max_rows: int) -> None:
    """Refuse a part that names a key of which nobody can have one row for each value.

    Raises
    ------
    DataError
    """
    try:
        if one_row_per is not None:
            read_one_row_per(one_row_per, keys, max_rows)
    except DphistError:  # shows names
        raise no_part() from None


def count_part(
    frame: object,
    keys: Keys,
    grid: KeyGrid,
    columns: Columns,
    *,
    one_each: int | None,
    **counting: Any,
) -> pa.Table:
    """Return the rows of one part: of each cell, of each cell and its labels, or values.

    So it has no more lines than rows that were kept, of each user at most the bound.

    Parameters
    ----------
    frame, one_each, counting : as for `count_cells`; no key of labels has one row for each value.
    """
    if not keys.discovering:
        wide = add_values(grid, list_summed(columns))
        cells, counts = count_cells(frame, wide, one_each=one_each, **counting)
        return pa.table({"cell": cells, "count": counts})
    terms, counts = count_label_terms(frame, grid, OTHER, **counting)
    return pa.table({"term": pa.array(terms, pa.large_binary()), "count": counts})


def read_parts(head: Mapping[str, Any], tables: Sequence[pa.Table]) -> tuple[Any, ...]:
    """Return what all parts have counted together, in the order of `KeyedCounts`.

    Parameters
    ----------
    head : what each part states.
    tables : of all parts.

    Raises
    ------
    DataError
    """
    keys, unlisted, per = read_keys(head["keys"]), head["unlisted"], head["one_row_per"]
    check_part(per, keys, head["max_rows"])
    unit, missing = PrivacyUnit.from_content(head["unit"]), state_treatment(head["null_users"])
    bounds, columns = (head["max_rows"], unit, unlisted), read_columns(head)
    if columns:
        grid, summed = make_grid(keys, unlisted), list_summed(columns)
        if keys.discovering or not have_room(grid, summed):
            raise no_part()
        found = sum_cells(tables, add_values(grid, summed).cells)
        cells, counts, totals = add_up(*found, grid, summed)
        return keys, cells, counts, *bounds, None, missing, per, None, columns, totals
    cells, counts, labels = add_parts(tables, keys, unlisted)
    return keys, cells, counts, *bounds, labels, missing, per


def add_parts(
    tables: Sequence[pa.Table], keys: Keys, unlisted: str
) -> tuple[IntArray, IntArray, LabelCells | None]:
    """Return the cells of all parts, their rows, and the labels, if values are to be found.

    Raises
    ------
    DataError
        If a table is none that `count_part` returns for these keys.
    """
    if any(("term" in table.column_names) != bool(keys.discovering) for table in tables):
        raise no_part()
    if not keys.discovering:
        return *sum_cells(tables, math.prod(keys.shape)), None

    def read() -> tuple[IntArray, IntArray, LabelCells]:
        found = read_terms(*sum_terms(tables), make_grid(keys, unlisted))
        if any(OTHER in labels for labels in found.labels):
            raise no_part()
        return found.cells, found.counts, LabelCells(found.labels, found.places)

    return redact_errors(read, no_part())
