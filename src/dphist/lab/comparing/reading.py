"""Files of public data to compare on: bins in their order, and events in theirs."""

import csv
import gzip
import io
import zlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dphist.arrays import IntArray
from dphist.errors import ColumnError, DataError, InputFileError

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
    columns = _columns(Path(path))
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


def read_events(path: str | Path, label: str) -> list[list[str]]:
    """Read events from a CSV or Parquet file: each row one label, or none.

    Raises
    ------
    InputFileError, ColumnError
        If the file cannot be read, or has no such column.
    """
    if not str(path).endswith(".parquet"):
        columns = _columns(Path(path))
        if label not in columns:
            raise _no_column(label)
        return [[text] if text else [] for text in columns[label]]
    try:
        names = pq.read_schema(path).names
        table = pq.read_table(path, columns=[label]) if label in names else None
    except (OSError, pa.ArrowException):
        raise InputFileError(f"{path} cannot be read as Parquet") from None
    if table is None:
        raise _no_column(label)
    try:
        texts = table[label].cast(pa.string()).to_pylist()
    except pa.ArrowException:
        raise ColumnError(f"the column {label!r} must hold a text in each row") from None
    return [[] if text is None else [text] for text in texts]


def _no_column(label: str) -> ColumnError:
    return ColumnError(f"the file must have the column {label!r}")


def _columns(path: Path) -> dict[str, list[str]]:
    """Return the fields of each column of a CSV file.

    An empty line is an empty field if there is one column, and nothing otherwise.
    """
    try:
        content = path.read_bytes()
        if path.suffix == ".gz":
            content = gzip.decompress(content)
        reader = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), strict=True)
        names = next(reader, [])
        found = list(reader)
    except (OSError, EOFError, zlib.error, csv.Error, UnicodeDecodeError):
        raise InputFileError(f"{path} cannot be read as CSV") from None
    rows = [row or [""] for row in found if row or len(names) == 1]
    if any(len(row) != len(names) for row in rows):
        raise InputFileError(f"{path} has rows with more or fewer fields than its first line")
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}


def _whole(texts: list[str], name: str) -> IntArray:
    if not all(text.isascii() and text.isdecimal() and len(text) <= 19 for text in texts):
        raise DataError(f"column {name} must hold whole numbers of at least 0")
    numbers = [int(text) for text in texts]
    if max(numbers, default=0) >= 2**62:
        raise DataError(f"column {name} must hold numbers below 2**62")
    return np.array(numbers, np.int64)
