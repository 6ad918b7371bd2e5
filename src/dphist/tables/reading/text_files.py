"""Text files of separated fields: a header line, then one record a line or more."""

import codecs
import csv
import glob
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from dphist.errors import ColumnError, InputFileError, ParameterError
from dphist.tables.engine.redaction import redact_errors
from dphist.tables.reading.columns import Use, Wanted, twice
from dphist.tables.reading.quotes import FileFormat, needs_one_thread

_MOST_HEADER_BYTES = 2**20
# What a delimiter is called; the first four are tried when a column is not found.
_CALLED = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars", " ": "spaces"}
_TRIED = ",;\t|"


def check_delimiter(delimiter: str | None) -> None:
    """Refuse what cannot separate fields."""
    if delimiter is None:
        return
    single = isinstance(delimiter, str) and len(delimiter) == 1 and delimiter.isascii()
    if not single or delimiter in '"\r\n\0' or delimiter.isalnum():
        raise ParameterError(
            "delimiter must be one ASCII character that is no letter, digit, quote or line ending, "
            "such as ';' or a tab"
        )


def text_columns(
    connection: duckdb.DuckDBPyConnection,
    path: Path,
    kind: FileFormat,
    wanted: Sequence[Wanted],
    shown: str,
) -> tuple[duckdb.DuckDBPyRelation, str, dict[str, pa.DataType], InputFileError]:
    """Return a file's relation, the projection of the wanted columns to their roles, their types.

    And the error for a file that is damaged. Fields are text; an empty one is null, and ``""`` is
    the empty text, as pandas, Polars and R write them. Counts are parsed.
    """
    failure = InputFileError(
        f"{shown} must be {_described(kind)} in UTF-8, with a header line, as many fields in each "
        "line as in the header, one kind of line ending, and fields that hold a delimiter, a "
        'quote or a line ending in "quotes"; a line may have 2 million bytes'
    )
    header = _header_of(path, kind, shown, failure)
    positions = {
        column.role: _position_in_header(column.name, header, path, kind, shown)
        for column in wanted
    }
    one_thread = redact_errors(lambda: needs_one_thread(path, kind, failure), failure)
    relation = redact_errors(
        lambda: _relation(connection, path, kind, len(header), one_thread), failure
    )
    chosen, kinds = [], {}
    for column in wanted:
        field = f"c{positions[column.role]}"
        parsed = column.use is Use.COUNT
        value = _DIGITS.format(field) if parsed else field
        chosen.append(f"{value} AS {column.role}")
        kinds[column.role] = pa.int64() if parsed else pa.string()
    return relation, ", ".join(chosen), kinds, failure


def _relation(
    connection: duckdb.DuckDBPyConnection,
    path: Path,
    kind: FileFormat,
    fields: int,
    one_thread: bool,
) -> duckdb.DuckDBPyRelation:
    """Return the fields of a text file, columns c0, c1, ... of text."""
    compression: Any = kind.compression or "none"
    return connection.read_csv(
        glob.escape(str(path)),  # DuckDB would take `*` as a pattern
        auto_detect=False,
        columns={f"c{column}": "VARCHAR" for column in range(fields)},
        header=True,
        delimiter=kind.delimiter,
        quotechar='"',
        escapechar='"',
        compression=compression,
        encoding="utf-8",
        strict_mode=True,
        null_padding=False,
        ignore_errors=False,
        allow_quoted_nulls=False,
        hive_partitioning=False,
        parallel=not one_thread,
    )


def _described(kind: FileFormat) -> str:
    text = f"text with fields separated by {_named(kind.delimiter)}"
    return f"{text}, compressed by {kind.compression}" if kind.compression else text


def _named(delimiter: str) -> str:
    return _CALLED.get(delimiter, repr(delimiter))


def _header_of(path: Path, kind: FileFormat, shown: str, failure: InputFileError) -> list[str]:
    """Return the fields of the first line.

    Raises
    ------
    InputFileError
        If there is none.
    """

    def first_line() -> list[str]:
        with pa.input_stream(str(path), compression=kind.compression) as stream:
            start = stream.read(_MOST_HEADER_BYTES)
        whole = len(start) < _MOST_HEADER_BYTES
        # What follows the header in these bytes is not judged here: it has no say in the header.
        decoder = codecs.getincrementaldecoder("utf-8-sig")(errors="surrogateescape")
        text = decoder.decode(start, final=whole)
        lines = io.StringIO(text, newline="")
        fields = next(_fields(lines, kind.delimiter), [])
        if not whole and lines.tell() == len(text):  # the header goes on
            raise failure
        for field in fields:
            field.encode()  # which raises where the header is not UTF-8
        return fields

    header = redact_errors(first_line, failure)
    if not header:
        raise InputFileError(f"{shown} is empty: its first line must name the columns")
    return header


def _fields(lines: io.StringIO, delimiter: str) -> Iterator[list[str]]:
    return csv.reader(lines, delimiter=delimiter, strict=True)


def _position_in_header(
    wanted: str, header: list[str], path: Path, kind: FileFormat, shown: str
) -> int:
    """Return where a column stands in the header.

    Raises
    ------
    ColumnError
        If it is not there, or twice. The first line of a file without a header is a record, which
        no error may show: it says how many fields there are, and how they were separated.
    """
    if header.count(wanted) > 1:
        raise twice(wanted)
    if wanted in header:
        return header.index(wanted)
    fields = f"{len(header)} fields" if len(header) > 1 else "one field"
    others = [delimiter for delimiter in _TRIED if delimiter != kind.delimiter]
    found = [other for other in others if _has_column(wanted, path, kind, other)]
    if found:
        remedy = f"separated by {_named(found[0])} it would: give delimiter={found[0]!r}"
    else:
        listed = ", ".join(_named(other) for other in others[:-1])
        remedy = (
            f"nor does it separated by {listed} or {_named(others[-1])}: correct the name, add a "
            "header line, or give delimiter, the character that separates the fields"
        )
    raise ColumnError(
        f"the first line of {shown} must name the columns, and names no {wanted!r}; it has "
        f"{fields}, separated by {_named(kind.delimiter)}; {remedy}"
    )


def _has_column(wanted: str, path: Path, kind: FileFormat, delimiter: str) -> bool:
    """Whether the first line would name a column if another delimiter separated its fields."""
    other = FileFormat(delimiter, kind.compression)
    problem = InputFileError("the first line cannot be read so")
    try:
        return _header_of(path, other, "", problem).count(wanted) == 1
    except InputFileError:
        return False


# Decimal digits, spaces around them and one plus sign before them; anything else is -1,
# which no count is, and null stays null.
_DIGITS = (
    "CASE WHEN {0} IS NULL THEN NULL "
    "WHEN regexp_full_match({0}, ' *[+]?0*[0-9]{{1,19}} *') "
    "THEN coalesce(try_cast(ltrim(trim({0}, ' '), '+') AS BIGINT), -1) ELSE -1 END"
)
