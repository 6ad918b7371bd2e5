"""Text files of separated fields: a header line, then records of one or more lines each."""

import codecs
import csv
import glob
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from dphist.counting.engine.redaction import redact_errors
from dphist.counting.reading.columns import Use, Wanted, repeated_column
from dphist.counting.reading.file_format import FileFormat, OpenedFile
from dphist.counting.reading.records import LONGEST, Header, Records, check_records
from dphist.errors import Argument, ColumnError, InputFileError, ParameterError

_MAX_HEADER_BYTES = 2**20
# Our rule decides how long a record may be. Where DuckDB's own limit decides, its threads lose what
# follows a longer record.
_MAX_LINE_SIZE = 2 * LONGEST
_BUFFER_SIZE = 32_000_000  # DuckDB's default; it would follow the limit above
# The names of delimiters in messages.
_DELIMITER_NAMES = {
    ",": "commas",
    ";": "semicolons",
    "\t": "tabs",
    "|": "vertical bars",
    " ": "spaces",
}
# If a column is not found, these delimiters are tried, to suggest one.
_TRIED = ",;\t|"


def check_delimiter(delimiter: str | None) -> None:
    """Refuse a delimiter that cannot separate fields."""
    if delimiter is None:
        return
    single = isinstance(delimiter, str) and len(delimiter) == 1 and delimiter.isascii()
    if not single or delimiter in '"\r\n\0' or delimiter.isalnum():
        raise ParameterError(
            "delimiter",
            "must be one ASCII character, such as ';' or a tab, but not a letter, digit, quote "
            "or line ending",
        )


def open_text_file(
    connection: duckdb.DuckDBPyConnection,
    path: Path,
    kind: FileFormat,
    wanted: Sequence[Wanted],
    shown: str,
) -> OpenedFile:
    """Open a text file, after its records were checked and counted.

    Fields are text; an empty field is null, and ``""`` is the empty text, as pandas, Polars and R
    write them. Counts are parsed.

    Raises
    ------
    InputFileError
        If a record breaks the rule of `records`, or the file is damaged.
    ColumnError
    """
    failure = InputFileError(
        f"{shown} must be {_description(kind)} in UTF-8, complete, with a header line of at most "
        "1 MiB that names the columns"
    )
    header = _read_header(path, kind, shown, failure)
    positions = {
        column.role: _position_in_header(column.name, header.fields, path, kind, shown)
        for column in wanted
    }
    records = redact_errors(lambda: check_records(path, kind, header, shown), failure)
    relation = redact_errors(lambda: _relation(connection, path, kind, header, records), failure)
    chosen, kinds = [], {}
    for column in wanted:
        field = f"c{positions[column.role]}"
        parsed = column.use is Use.COUNT
        value = _DIGITS.format(field) if parsed else field
        chosen.append(f"{value} AS {column.role}")
        kinds[column.role] = pa.int64() if parsed else pa.string()
    return OpenedFile(relation, records.number, ", ".join(chosen), kinds, failure)


def _relation(
    connection: duckdb.DuckDBPyConnection,
    path: Path,
    kind: FileFormat,
    header: Header,
    records: Records,
) -> duckdb.DuckDBPyRelation:
    """Return the fields of a text file, columns c0, c1, ... of text."""
    compression: Any = kind.compression or "none"
    return connection.read_csv(
        glob.escape(str(path)),  # DuckDB would read `*` as a pattern
        auto_detect=False,
        columns={f"c{place}": "VARCHAR" for place in range(len(header.fields))},
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
        max_line_size=_MAX_LINE_SIZE,
        buffer_size=_BUFFER_SIZE,
        parallel=not records.one_thread,
    )


def _description(kind: FileFormat) -> str:
    text = f"text with fields separated by {_name(kind.delimiter)}"
    return f"{text}, compressed by {kind.compression}" if kind.compression else text


def _name(delimiter: str) -> str:
    return _DELIMITER_NAMES.get(delimiter, repr(delimiter))


def _read_header(path: Path, kind: FileFormat, shown: str, failure: InputFileError) -> Header:
    """Return the first line.

    Raises
    ------
    InputFileError
        If there is no first line, or it cannot be read.
    """

    def read_first_line() -> Header:
        with pa.input_stream(str(path), compression=kind.compression) as stream:
            start = stream.read(_MAX_HEADER_BYTES)
        whole = len(start) < _MAX_HEADER_BYTES
        # Bytes after the header are not checked here: they must not affect the header.
        decoder = codecs.getincrementaldecoder("utf-8-sig")(errors="surrogateescape")
        text = decoder.decode(start, final=whole)
        lines = io.StringIO(text, newline="")
        fields = next(_fields(lines, kind.delimiter), [])
        end = lines.tell()
        if not whole and end == len(text):  # the header is longer than these bytes
            raise failure
        for field in fields:
            field.encode()  # raises if the header is not UTF-8
        endings = (ending for ending in ("\r\n", "\n", "\r") if text[:end].endswith(ending))
        return Header(fields, next(endings, ""))

    header = redact_errors(read_first_line, failure)
    if not header.fields:
        raise InputFileError(f"{shown} is empty: its first line must name the columns")
    return header


def _fields(lines: io.StringIO, delimiter: str) -> Iterator[list[str]]:
    return csv.reader(lines, delimiter=delimiter, strict=True)


def _position_in_header(
    wanted: str, header: list[str], path: Path, kind: FileFormat, shown: str
) -> int:
    """Return the position of a column in the header.

    Raises
    ------
    ColumnError
        If the column is missing or occurs twice. Without a header, the first line is a record, so
        the error never shows it. The error states the number of fields and the delimiter.
    """
    if header.count(wanted) > 1:
        raise repeated_column(wanted)
    if wanted in header:
        return header.index(wanted)
    fields = f"{len(header)} fields" if len(header) > 1 else "one field"
    others = [delimiter for delimiter in _TRIED if delimiter != kind.delimiter]
    found = [other for other in others if _has_column(wanted, path, kind, other)]
    if found:
        remedy = f"it has this column with {_name(found[0])}: give " + Argument(
            "delimiter", found[0]
        )
    else:
        listed = ", ".join(_name(other) for other in others[:-1])
        remedy = (
            f"it does not have this column with {listed} or {_name(others[-1])} either: correct "
            "the name, add a header line, or give "
            + Argument("delimiter")
            + ", the character that separates the fields"
        )
    raise ColumnError(
        f"the first line of {shown} must name the columns, but names no {wanted!r}; it has "
        f"{fields}, separated by {_name(kind.delimiter)}; " + remedy
    )


def _has_column(wanted: str, path: Path, kind: FileFormat, delimiter: str) -> bool:
    """Whether the first line names a column when its fields are separated by another delimiter."""
    other = FileFormat(delimiter, kind.compression)
    problem = InputFileError("the first line cannot be read with this delimiter")
    try:
        return _read_header(path, other, "", problem).fields.count(wanted) == 1
    except InputFileError:
        return False


# A count is written as decimal digits, with optional spaces around them and one optional plus sign.
# Any other text becomes -1, which is never a count, and null stays null.
_DIGITS = (
    "CASE WHEN {0} IS NULL THEN NULL "
    "WHEN regexp_full_match({0}, ' *[+]?0*[0-9]{{1,19}} *') "
    "THEN coalesce(try_cast(ltrim(trim({0}, ' '), '+') AS BIGINT), -1) ELSE -1 END"
)
