"""Opening a file as a table DuckDB reads where it lies.

Nothing is guessed from the content. The name says what a file is, every CSV field is text
(``007`` and ``7`` are two labels), and delimiter, quote and header are fixed: a guess would
depend on the data, and could change with one record.
"""

import codecs
import csv
import glob
import io
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import duckdb
import narwhals.stable.v2 as nw
import pyarrow as pa
import pyarrow.parquet as pq

from dphist.errors import ColumnError, InputFileError
from dphist.tables.engine.guard import shielded
from dphist.tables.engine.interruptible import interruptible
from dphist.tables.engine.private_duckdb import connected, out_of_room
from dphist.tables.engine.progress import Progress, reported
from dphist.tables.reading.columns import LABELS, position_of, twice
from dphist.tables.reading.frames import AnyFrame, Source, selected

_DELIMITERS = {".csv": ",", ".txt": ",", ".tsv": "\t"}
_COMPRESSIONS: dict[str, Literal["gzip", "zstd"]] = {".gz": "gzip", ".zst": "zstd"}
_MOST_HEADER_BYTES = 2**20


@dataclass(frozen=True, slots=True)
class FileFormat:
    """What the name of a file says it is; `delimiter` is empty for Parquet."""

    delimiter: str
    compression: Literal["gzip", "zstd"] | None


@contextmanager
def open_file(
    path: str | os.PathLike[str],
    names: Mapping[str, str],
    progress: Progress | None,
    connection: duckdb.DuckDBPyConnection | None = None,
) -> Iterator[Source]:
    """Open a file as a Source, on a connection that is gone when the block ends, however it ends.

    Parameters
    ----------
    path : str or path
        Read literally: ``*``, ``?`` and ``[`` are part of the name.
    names : dict
        The wanted columns: role to the name in the file.
    progress : function of a float, or None
        See `reported`.
    connection : DuckDB connection, optional
        One of `connected` to use instead, which stays open.

    Raises
    ------
    InputFileError
        If the file is missing, unreadable, or not what its name says.
    ColumnError
        If a column is missing, there twice, or has a type that cannot serve.
    """
    shown = f"'{os.fspath(path)}'"
    path = Path(path).absolute()  # no engine shall see a `~` or an `s3:` at its start
    kind = format_of(path.name, shown)
    check_regular(path, shown)
    with ExitStack() as stack:
        engine = connected(stack) if connection is None else connection
        frame, failure = _opened(engine, path, kind, names, shown)
        shortage = out_of_room(f"reading {shown}")

        def run(call: Callable[[], Any]) -> Any:
            with reported(engine, progress):
                return interruptible(engine, lambda: shielded(call, failure, shortage))

        yield Source(frame, names, run, from_text=bool(kind.delimiter))


def _opened(
    connection: duckdb.DuckDBPyConnection,
    path: Path,
    kind: FileFormat,
    names: Mapping[str, str],
    shown: str,
) -> tuple[AnyFrame, InputFileError]:
    """Return the wanted columns of the file, and the error for a file that is damaged."""
    # DuckDB would take `*` as a pattern and a folder `x=1` as a column.
    literal = glob.escape(str(path))
    if not kind.delimiter:
        failure = InputFileError(f"{shown} must be a Parquet file: it cannot be read as one")
        there = shielded(lambda: parquet_names(path), failure)
        wanted = {role: position_of(name, there) for role, name in names.items()}
        relation = shielded(
            lambda: connection.read_parquet(literal, hive_partitioning=False), failure
        )
        # By position, as DuckDB renames columns that differ only in case.
        physical = {role: relation.columns[position] for role, position in wanted.items()}
        return selected(nw.from_native(relation), names, failure, physical), failure
    fields, there, failure = text_fields(connection, path, kind, shown)
    wanted = {role: position_in_header(name, there, shown) for role, name in names.items()}
    relation = shielded(lambda: _counted(fields, wanted), failure)
    return selected(
        nw.from_native(relation), names, failure, {role: role for role in names}
    ), failure


def format_of(name: str, shown: str) -> FileFormat:
    """Return what the suffixes of a file name say."""
    suffixes = Path(name.lower()).suffixes
    if suffixes[-1:] == [".parquet"]:
        return FileFormat("", None)
    compression = _COMPRESSIONS.get(suffixes[-1]) if suffixes else None
    last = suffixes[-2:-1] if compression else suffixes[-1:]
    if not last or last[0] not in _DELIMITERS:
        raise InputFileError(
            f"{shown} must end in .csv, .tsv or .txt, each also with .gz or .zst, or in .parquet"
        )
    return FileFormat(_DELIMITERS[last[0]], compression)


def _described(kind: FileFormat) -> str:
    text = "tab-separated text" if kind.delimiter == "\t" else "comma-separated text"
    return f"{text} compressed by {kind.compression}" if kind.compression else text


def check_regular(path: Path, shown: str) -> None:
    """Refuse what is no readable file, in Python: DuckDB's words differ between versions."""
    problem = f"{shown} cannot be read"
    try:
        if path.is_dir():
            problem = f"{shown} is a folder, and a file was expected"
        elif not path.exists():
            problem = f"{shown} does not exist"
        elif not path.is_file():
            problem = f"{shown} must be a regular file"
        else:
            with path.open("rb"):
                return
    except PermissionError:
        problem = f"{shown} may not be read: its permissions forbid it"
    except (OSError, ValueError):
        pass
    raise InputFileError(problem)


def _header_of(path: Path, kind: FileFormat, shown: str, failure: InputFileError) -> list[str]:
    """Return the fields of the first line."""

    def first_line() -> list[str]:
        with pa.input_stream(str(path), compression=kind.compression) as stream:
            start = stream.read(_MOST_HEADER_BYTES)
        whole = len(start) < _MOST_HEADER_BYTES
        text = codecs.getincrementaldecoder("utf-8-sig")().decode(start, final=whole)
        lines = io.StringIO(text, newline="")
        fields = next(csv.reader(lines, delimiter=kind.delimiter, strict=True), [])
        if not whole and lines.tell() == len(text):  # the header goes on
            raise failure
        return fields

    header = shielded(first_line, failure)
    if not header:
        raise InputFileError(f"{shown} is empty: its first line must name the columns")
    return header


def position_in_header(wanted: str, header: list[str], shown: str) -> int:
    """Like `position_of`, but naming only columns that look like names.

    The first line of a file without a header is a record, which no error may show.
    """
    if wanted not in header:
        names = [repr(name) for name in header if _NAME.fullmatch(name)]
        if len(names) < len(header):
            names.append(f"{len(header) - len(names)} not shown, as they may be a record")
        raise ColumnError(
            f"the first line of {shown} must name the columns, and has no {wanted!r}; "
            f"it has: {', '.join(names)}"
        )
    if header.count(wanted) > 1:
        raise twice(wanted)
    return header.index(wanted)


# Words of letters, as columns are mostly named; without digits, spaces and other signs, so
# that most passwords, numbers, people, codes and addresses do not pass.
_NAME = re.compile(r"[A-Za-z]+([_.][A-Za-z]+)*")


def parquet_names(path: Path) -> list[str]:
    """Return the columns of a Parquet file as they are written there."""
    with path.open("rb") as file:
        names: list[str] = pq.read_schema(file).names
    return names


def _read_through(path: Path) -> None:
    """Decompress a file from start to end; Arrow raises if the end is missing."""
    with pa.input_stream(str(path), compression="zstd") as stream:
        while stream.read(_MOST_HEADER_BYTES):
            pass


def text_fields(
    connection: duckdb.DuckDBPyConnection, path: Path, kind: FileFormat, shown: str
) -> tuple[duckdb.DuckDBPyRelation, list[str], InputFileError]:
    """Return the fields of a text file, its header, and the error for a file that is damaged.

    The fields are columns c0, c1, ... of text. An empty one is null, and ``""`` is the empty text,
    as pandas, Polars and R write them.
    """
    failure = InputFileError(
        f"{shown} must be {_described(kind)} in UTF-8, with a header line, as many fields in each "
        "line as in the header, one kind of line ending, and fields that hold a delimiter, a "
        'quote or a line ending in "quotes"'
    )
    there = _header_of(path, kind, shown, failure)
    if kind.compression == "zstd":
        # DuckDB takes a zstd file that was cut off for one that ends there.
        shielded(lambda: _read_through(path), failure)
    fields = shielded(
        lambda: connection.read_csv(
            glob.escape(str(path)),  # DuckDB would take `*` as a pattern
            auto_detect=False,
            columns={f"c{column}": "VARCHAR" for column in range(len(there))},
            header=True,
            delimiter=kind.delimiter,
            quotechar='"',
            escapechar='"',
            compression=kind.compression or "none",
            encoding="utf-8",
            strict_mode=True,
            null_padding=False,
            ignore_errors=False,
            allow_quoted_nulls=False,
            hive_partitioning=False,
            parallel=True,
        ),
        failure,
    )
    return fields, there, failure


def _counted(
    relation: duckdb.DuckDBPyRelation, wanted: Mapping[str, int]
) -> duckdb.DuckDBPyRelation:
    """Return the wanted columns, a role to its position, named by their roles, counts as integers.

    Roles of `LABELS` stay text.
    """
    fields = {role: f"c{position}" for role, position in wanted.items()}
    return relation.project(
        ", ".join(
            f'{field if role in LABELS else _DIGITS.format(field)} AS "{role}"'
            for role, field in fields.items()
        )
    )


# Decimal digits, spaces around them and one plus sign before them; anything else is -1,
# which no count is, and null stays null.
_DIGITS = (
    "CASE WHEN {0} IS NULL THEN NULL "
    "WHEN regexp_full_match({0}, ' *[+]?0*[0-9]{{1,19}} *') "
    "THEN coalesce(try_cast(ltrim(trim({0}, ' '), '+') AS BIGINT), -1) ELSE -1 END"
)
