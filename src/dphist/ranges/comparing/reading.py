"""Files of public bins in their order."""

from pathlib import Path

import numpy as np

from dphist.arrays import IntArray
from dphist.errors import ColumnError, DataError
from dphist.foreign import read_columns

_MOST_CELLS = 2**28


def read_bins(path: str | Path, side: int | None = None) -> IntArray:
    """Read counts of bins from a CSV file, which may be gzipped.

    Parameters
    ----------
    path : of a file with a column `count`, one bin a row; or with columns `row`, `col` and `count`,
        cells of a grid in any order, those without records left out.
    side : rows and columns of a grid (default: as many as occur).

    Returns
    -------
    (bins,) or (rows, columns) int64, records per bin.

    Raises
    ------
    InputFileError
        If the file cannot be read as CSV.
    ColumnError, DataError
        If a column is missing, or a value is not a whole number in its range.
    """
    columns = read_columns(Path(path))
    if "count" not in columns:
        raise ColumnError("the file must have a column count, or columns row, col and count")
    counts = _whole(columns["count"], "count")
    if not {"row", "col"} <= set(columns):
        if not len(counts):
            raise DataError("the file must have at least one bin")
        return counts
    places = [_whole(columns[name], name) for name in ("row", "col")]
    shape = tuple(int(place.max(initial=0)) + 1 if side is None else side for place in places)
    if any(place.max(initial=0) >= size for place, size in zip(places, shape, strict=True)):
        raise DataError(f"row and col must be from 0 to {max(shape) - 1}")
    if shape[0] * shape[1] > _MOST_CELLS:
        raise DataError(f"the grid must have at most {_MOST_CELLS} cells")
    grid = np.zeros(shape, np.int64)
    np.add.at(grid, (places[0], places[1]), counts)
    return grid


def _whole(texts: list[str], name: str) -> IntArray:
    if not all(text.isascii() and text.isdecimal() and len(text) <= 19 for text in texts):
        raise DataError(f"column {name} must hold whole numbers of at least 0")
    numbers = [int(text) for text in texts]
    if max(numbers, default=0) >= 2**62:
        raise DataError(f"column {name} must hold numbers below 2**62")
    return np.array(numbers, np.int64)
