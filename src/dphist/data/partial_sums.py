"""Sums of the counts of all parts of a table, as `partial` makes and checks them."""

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dphist.arrays import AnyArray, IntArray
from dphist.counting import LARGEST
from dphist.data.partial import no_part
from dphist.errors import DataError, phrase

_BITS = 31
_LOW = (1 << _BITS) - 1


def sum_slots(tables: Iterable[pa.Table], number: int) -> IntArray:
    """Add the counts of the slots of all parts.

    Parameters
    ----------
    tables : columns slot and count, int64; each slot at most once.
    number : number of slots.

    Returns
    -------
    (number,) int64, at most 2**62 - 1.

    Raises
    ------
    DataError
        If a slot or count is out of range, or a slot is there twice.
    """
    slots = np.zeros(number, np.int64)
    for table in tables:
        places, counts = (table[name].to_numpy() for name in ("slot", "count"))
        if len(places) and not (
            places.min() >= 0
            and places.max() < number
            and counts.min() >= 0
            and counts.max() <= LARGEST
            and len(np.unique(places)) == len(places)
        ):
            raise DataError(
                phrase("{parts} must hold counts of the bins of their axes: count it again")
            )
        # Clamping never increases a difference; a sum of two clamped counts cannot wrap.
        slots[places] = np.minimum(slots[places] + counts, LARGEST)
    return slots


def sum_cells(tables: Sequence[pa.Table], number: int) -> tuple[IntArray, IntArray]:
    """Add the counts of the cells of all parts: only cells with records take memory.

    Parameters
    ----------
    tables : columns cell and count, int64; each cell at most once. At most 2**20 of them.
    number : number of cells, at most 2**62.

    Returns
    -------
    cells : (d,) int64, ascending.
    counts : (d,) int64, above 0, at most 2**62 - 1.

    Raises
    ------
    DataError
        If a cell or count is out of range, or a cell is there twice in a part.
    """
    for table in tables:
        cells, counts = (table[name].to_numpy() for name in ("cell", "count"))
        if len(cells) and not (
            cells.min() >= 0
            and cells.max() < number
            and counts.min() >= 1
            and counts.max() <= LARGEST
            and len(np.unique(cells)) == len(cells)
        ):
            raise DataError(
                phrase("{parts} must hold counts of the cells of their keys: count it again")
            )
    joined = pa.concat_tables(tables)
    cells, places = np.unique(joined["cell"].to_numpy(), return_inverse=True)
    return cells, _sum_at(places, joined["count"].to_numpy(), len(cells))


def sum_terms(tables: Sequence[pa.Table]) -> tuple[AnyArray, IntArray]:
    """Add the counts of the terms of all parts.

    Parameters
    ----------
    tables : columns term, bytes, and count, int64; each term at most once. At most 2**20 of them.

    Returns
    -------
    terms : (d,) bytes, each once.
    counts : (d,) int64, above 0, at most 2**62 - 1.

    Raises
    ------
    DataError
        If a count is out of range, or a term is there twice in a part.
    """
    for table in tables:
        counts = table["count"].to_numpy()
        if len(counts) and not (
            counts.min() >= 1
            and counts.max() <= LARGEST
            and pc.count_distinct(table["term"]).as_py() == len(counts)
        ):
            raise no_part()
    joined = pa.concat_tables(tables).combine_chunks()
    encoded = joined["term"].combine_chunks().dictionary_encode()
    counts = joined["count"].to_numpy()
    summed = _sum_at(encoded.indices.to_numpy(), counts, len(encoded.dictionary))
    return encoded.dictionary.to_numpy(zero_copy_only=False), summed


def _sum_at(places: IntArray, counts: IntArray, size: int) -> IntArray:
    """Return the sums of up to 2**20 counts at each place, at most 2**62 - 1."""
    # Sums of the upper and of the lower 31 bits of 2**20 counts do not wrap.
    lower: IntArray = np.zeros(size, np.int64)
    upper: IntArray = np.zeros(size, np.int64)
    np.add.at(lower, places, counts & _LOW)
    np.add.at(upper, places, counts >> _BITS)
    upper += lower >> _BITS
    # Clamping never increases a difference.
    return np.where(upper > _LOW, LARGEST, (upper << _BITS) | (lower & _LOW))
