"""The format of a file, by its name, and a file that is open."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import duckdb
import pyarrow as pa

from dphist.errors import InputFileError, ParameterError


class Container(Enum):
    """What holds the records of a file, as an error calls it."""

    TEXT = "a text file"
    PARQUET = "a Parquet file"
    JSON_LINES = "a file of JSON lines"
    SPREADSHEET = "a spreadsheet"
    SQLITE = "an SQLite file"


_DELIMITERS = {".csv": ",", ".txt": ",", ".tsv": "\t"}
_COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
_COMPRESSED = {
    **dict.fromkeys(_DELIMITERS, Container.TEXT),
    **dict.fromkeys((".jsonl", ".ndjson"), Container.JSON_LINES),
}
_WHOLE = {
    ".parquet": Container.PARQUET,
    ".xlsx": Container.SPREADSHEET,
    **dict.fromkeys((".sqlite", ".sqlite3", ".db"), Container.SQLITE),
}
_OTHER_SPREADSHEETS = (".ods", ".xls", ".xlsb", ".xlsm")
ARCHIVE = ".zip"
"""How the name of an archive ends, which stands for the files in it."""
ENDINGS = (
    *_WHOLE,
    ARCHIVE,
    *(text + how for text in _COMPRESSED for how in ("", *_COMPRESSIONS)),
)
"""How names of files that can be read end."""


@dataclass(frozen=True, slots=True)
class FileFormat:
    """The format of a file; `delimiter` is empty unless fields are separated by it."""

    container: Container
    delimiter: str = ""
    compression: str | None = None


@dataclass(frozen=True, slots=True)
class OpenedFile:
    """A file on a private connection.

    Attributes
    ----------
    path : of the file that is read, which may be a copy.
    relation : the rows of the file.
    number : of the rows, as we counted them, or as the file says.
    projection : SQL of the wanted columns, each named by its role.
    kinds : Arrow type of each role.
    failure : the error for a damaged file.
    names : of all columns, in their order.
    is_text : whether fields are text.
    locate : returns `failure`, or an error that says where the fault is; called after a failure.
    rows_each : how many of the projected rows each row of the file is.
    """

    path: Path
    relation: duckdb.DuckDBPyRelation
    number: int
    projection: str
    kinds: Mapping[str, pa.DataType]
    failure: InputFileError
    names: list[str]
    is_text: bool
    locate: Callable[[], InputFileError]
    rows_each: int = 1

    @property
    def projected(self) -> duckdb.DuckDBPyRelation:
        """The wanted columns, each named by its role."""
        return self.relation.project(self.projection)


def find_format(name: str, shown: str, delimiter: str | None = None) -> FileFormat:
    """Return the format for the extensions of a file name.

    `delimiter` replaces the usual delimiter of a text file.
    """
    suffixes = Path(name.lower()).suffixes
    compression = _COMPRESSIONS.get(suffixes[-1]) if suffixes else None
    last = (suffixes[-2:-1] if compression else suffixes[-1:]) or [""]
    container = (_COMPRESSED if compression else _COMPRESSED | _WHOLE).get(last[0])
    if last[0] in _OTHER_SPREADSHEETS:
        raise InputFileError(f"{shown} is a spreadsheet of another kind: save it as .xlsx or CSV")
    if container is None:
        raise InputFileError(
            f"{shown} must end in .csv, .tsv, .txt, .jsonl or .ndjson, each also with .gz or .zst, "
            "or in .parquet, .xlsx, .sqlite, .sqlite3, .db or .zip"
        )
    if container is Container.TEXT:
        return FileFormat(container, delimiter or _DELIMITERS[last[0]], compression)
    if delimiter is not None:
        raise ParameterError("delimiter", f"applies to text files only, not to {shown}")
    return FileFormat(container, compression=compression)


def is_archive(path: Path) -> bool:
    """Whether a file is an archive by its name."""
    return path.suffix.lower() == ARCHIVE
