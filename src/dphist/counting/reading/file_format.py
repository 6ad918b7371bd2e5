"""The format of a file, by its name, and a file that is open."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa

from dphist.errors import InputFileError, ParameterError

_DELIMITERS = {".csv": ",", ".txt": ",", ".tsv": "\t"}
_COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
ENDINGS = (".parquet", *(text + how for text in _DELIMITERS for how in ("", *_COMPRESSIONS)))
"""How names of files that can be read end."""


@dataclass(frozen=True, slots=True)
class FileFormat:
    """The format of a file; `delimiter` is empty for Parquet."""

    delimiter: str
    compression: str | None


@dataclass(frozen=True, slots=True)
class OpenedFile:
    """A file on a private connection.

    Attributes
    ----------
    relation : the rows of the file.
    number : of the rows, as we counted them, or as the file says.
    projection : SQL of the wanted columns, each named by its role.
    kinds : Arrow type of each role.
    failure : the error for a damaged file.
    names : of all columns, sorted.
    is_text : whether fields are text.
    locate : returns `failure`, or an error that says where the fault is; called after a failure.
    """

    relation: duckdb.DuckDBPyRelation
    number: int
    projection: str
    kinds: Mapping[str, pa.DataType]
    failure: InputFileError
    names: list[str]
    is_text: bool
    locate: Callable[[], InputFileError]

    @property
    def projected(self) -> duckdb.DuckDBPyRelation:
        """The wanted columns, each named by its role."""
        return self.relation.project(self.projection)


def format_of(name: str, shown: str, delimiter: str | None = None) -> FileFormat:
    """Return the format for the extensions of a file name.

    `delimiter` replaces the usual delimiter of a text file.
    """
    suffixes = Path(name.lower()).suffixes
    if suffixes[-1:] == [".parquet"]:
        if delimiter is not None:
            raise ParameterError("delimiter", f"applies to text files only, not to {shown}")
        return FileFormat("", None)
    compression = _COMPRESSIONS.get(suffixes[-1]) if suffixes else None
    last = suffixes[-2:-1] if compression else suffixes[-1:]
    if not last or last[0] not in _DELIMITERS:
        raise InputFileError(
            f"{shown} must end in .csv, .tsv or .txt, each also with .gz or .zst, or in .parquet"
        )
    return FileFormat(delimiter or _DELIMITERS[last[0]], compression)
