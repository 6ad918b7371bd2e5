"""Files as sources, read in place by a private DuckDB.

Nothing is inferred from the content: a guess would depend on the data and could change with one
record. The extension determines the format of a file. Every field of a text file is text, so
``007`` and ``7`` are two labels. Delimiter, quote and header are fixed.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TypeVar

import duckdb
import pyarrow as pa

from dphist.errors import InputFileError, ParameterError
from dphist.tables.engine.interruptible import interruptible
from dphist.tables.engine.private_duckdb import open_private_connection, out_of_room
from dphist.tables.engine.progress import Report, of_query, reported
from dphist.tables.engine.redaction import Wall
from dphist.tables.engine.rows import DuckRows
from dphist.tables.reading.columns import Wanted
from dphist.tables.reading.parquet_files import parquet_columns, rows_of
from dphist.tables.reading.quotes import FileFormat
from dphist.tables.reading.relations import check_batches
from dphist.tables.reading.source import ROWS_AT_ONCE, Batches, Source
from dphist.tables.reading.text_files import check_delimiter, text_columns

T = TypeVar("T")

_DELIMITERS = {".csv": ",", ".txt": ",", ".tsv": "\t"}
_COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}


def open_file(
    stack: ExitStack,
    path: str | os.PathLike[str],
    wanted: Sequence[Wanted],
    progress: Report | None,
    delimiter: str | None,
) -> "FileSource":
    """Open a file on a private connection, which is closed together with `stack`.

    Parameters
    ----------
    path : str or path
        Taken literally: ``*``, ``?`` and ``[`` are part of the name.
    wanted, progress, delimiter
        As for `open_source`.

    Raises
    ------
    ParameterError, InputFileError, ColumnError
    """
    check_delimiter(delimiter)
    shown = f"'{os.fspath(path)}'"
    path = Path(path).absolute()  # so that no engine interprets a leading `~` or `s3:`
    kind = format_of(path.name, shown, delimiter)
    check_regular(path, shown)
    connection = open_private_connection(stack, large=True)
    columns = text_columns if kind.delimiter else parquet_columns
    relation, chosen, kinds, failure = columns(connection, path, kind, wanted, shown)
    wall = Wall(failure, out_of_room(f"reading {shown}"))
    source = FileSource(wanted, kinds, connection, wall(lambda: relation.project(chosen)), wall)
    source.from_text = bool(kind.delimiter)
    source.progress = progress
    if progress is not None:
        source.size = _size_of(path, kind)
    return source


class FileSource(Source):
    """Columns of a file, on a private connection.

    Attributes
    ----------
    size : the number of rows of a Parquet file, or of bytes of a text file, and what it counts.
    """

    size: tuple[int | None, str] = (None, "bytes")

    def __init__(
        self,
        wanted: Sequence[Wanted],
        kinds: Mapping[str, pa.DataType],
        connection: duckdb.DuckDBPyConnection,
        relation: duckdb.DuckDBPyRelation,
        wall: Wall,
    ) -> None:
        super().__init__(wanted, kinds, wall)
        self._connection, self._relation = connection, relation

    def rows(self) -> DuckRows:
        """Return the rows; DuckDB reads the file when they are evaluated."""
        return DuckRows(self._connection, self._relation)

    def batches(self) -> Batches:
        """Yield the rows in batches."""
        yield from check_batches(self._relation.to_arrow_reader(ROWS_AT_ONCE), self.wanted)

    def run(self, call: Callable[[], T]) -> T:
        """Return ``call()``; reports progress, and Ctrl-C stops it immediately."""
        with reported(of_query(self._connection, *self.size), self.progress):
            return interruptible(self._connection, lambda: self.wall(call))


def format_of(name: str, shown: str, delimiter: str | None = None) -> FileFormat:
    """Return the format for the extensions of a file name.

    `delimiter` replaces the usual delimiter of a text file.
    """
    suffixes = Path(name.lower()).suffixes
    if suffixes[-1:] == [".parquet"]:
        if delimiter is not None:
            raise ParameterError(f"delimiter applies to text files only, not to {shown}")
        return FileFormat("", None)
    compression = _COMPRESSIONS.get(suffixes[-1]) if suffixes else None
    last = suffixes[-2:-1] if compression else suffixes[-1:]
    if not last or last[0] not in _DELIMITERS:
        raise InputFileError(
            f"{shown} must end in .csv, .tsv or .txt, each also with .gz or .zst, or in .parquet"
        )
    return FileFormat(delimiter or _DELIMITERS[last[0]], compression)


def _size_of(path: Path, kind: FileFormat) -> tuple[int | None, str]:
    """Return the size of a file for its progress, which must never cost a result."""
    try:
        return (path.stat().st_size, "bytes") if kind.delimiter else (rows_of(path), "rows")
    except Exception:
        return None, "bytes"


def check_regular(path: Path, shown: str) -> None:
    """Refuse anything but a readable file, in Python: DuckDB's errors differ between versions."""
    problem = f"{shown} cannot be read"
    try:
        if path.is_dir():
            problem = f"{shown} is a folder: name a file"
        elif not path.exists():
            problem = f"{shown} does not exist"
        elif not path.is_file():
            problem = f"{shown} must be a regular file"
        else:
            with path.open("rb"):
                return
    except PermissionError:
        problem = f"{shown} cannot be read: its permissions forbid it"
    except (OSError, ValueError):
        pass
    raise InputFileError(problem)
