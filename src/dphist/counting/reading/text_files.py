"""Text files of separated fields: a header line, then records of one or more lines each."""

import codecs
import csv
import glob
import io
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from dphist.counting.engine.redaction import redact_errors
from dphist.counting.reading.columns import Use, Wanted, make_repeated_column_error
from dphist.counting.reading.file_format import FileFormat, OpenedFile
from dphist.counting.reading.records import LONGEST, Header, Records, check_records
from dphist.counting.reading.written_values import USUAL, WrittenValues
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
    written: WrittenValues = USUAL,
) -> OpenedFile:
    """Open a text file, after its records were checked and counted.

    Fields are text; an empty field is null, and ``""`` is the empty text, as pandas, Polars and R
    write them. Counts are parsed, and values to bin rewritten if they are `written` in another way.

    Raises
    ------
    InputFileError
        If a record breaks the rule of `records`, or the file is damaged.
    ColumnError
    """
    header = read_header(path, kind, shown)
    positions = {
        column.role: _position_in_header(column.name, header.fields, path, kind, shown)
        for column in wanted
    }
    records = redact_errors(
        lambda: check_records(path, kind, header, shown), _undecompressed(kind, shown)
    )
    failure = InputFileError(
        f"{shown} cannot be read as {_description(kind)}, though each of its records can: write "
        "it again, if possible as a Parquet file"
    )
    relation = redact_errors(lambda: _relation(connection, path, kind, header, records), failure)
    chosen, kinds = [], {}
    for column in wanted:
        field = f"c{positions[column.role]}"
        parsed = column.use is Use.COUNT
        value = _DIGITS.format(field) if parsed else field
        if column.use is Use.VALUE:
            value = written.to_sql(field)
        chosen.append(f"{value} AS {column.role}")
        kinds[column.role] = pa.int64() if parsed else pa.string()
    locate = partial(_locate, path, kind, set(positions.values()), shown, failure)
    names = header.fields
    return OpenedFile(
        path, relation, records.number, ", ".join(chosen), kinds, failure, names, True, locate
    )


def _locate(
    path: Path, kind: FileFormat, positions: Collection[int], shown: str, failure: InputFileError
) -> InputFileError:
    """Return the error of the first record with a wanted field that is not UTF-8; or `failure`."""

    def find_line() -> int | None:
        with pa.input_stream(str(path), compression=kind.compression) as stream:
            lines = io.TextIOWrapper(stream, "latin-1", newline="")  # a letter for each byte
            records = csv.reader(lines, delimiter=kind.delimiter)
            begin = 1
            for record in records:
                if not all(_is_utf8(record[each]) for each in positions if each < len(record)):
                    return begin
                begin = records.line_num + 1
        return None

    usual = csv.field_size_limit(2 * LONGEST)  # of the process
    try:
        line = redact_errors(find_line, failure)
    finally:
        csv.field_size_limit(usual)
    if line is None:
        return failure
    return InputFileError(
        f"line {line:,} of {shown} is not text in UTF-8: save the file in this encoding"
    )


def _is_utf8(letters: str) -> bool:
    try:
        letters.encode("latin-1").decode()
    except UnicodeDecodeError:
        return False
    return True


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


def _undecompressed(kind: FileFormat, shown: str) -> InputFileError:
    """Return the error for a file that ends early, or is not compressed as its name says."""
    if not kind.compression:
        return InputFileError(f"{shown} cannot be read to its end: write it again")
    return InputFileError(
        f"{shown} cannot be decompressed by {kind.compression} to its end: it is damaged, "
        "incomplete, or its name is wrong"
    )


def read_header(path: Path, kind: FileFormat, shown: str, encoding: str = "utf-8") -> Header:
    """Return the first line.

    Parameters
    ----------
    encoding : of a file that is not read itself, but as a copy in UTF-8.

    Raises
    ------
    InputFileError
        If there is no first line, or it cannot be read.
    """

    def read_start() -> bytes:
        with pa.input_stream(str(path), compression=kind.compression) as stream:
            start: bytes = stream.read(_MAX_HEADER_BYTES)
            return start

    start = redact_errors(read_start, _undecompressed(kind, shown))
    whole = len(start) < _MAX_HEADER_BYTES
    # Bytes after the header are not checked here: they must not affect the header.
    name = "utf-8-sig" if encoding == "utf-8" else encoding
    decoder = codecs.getincrementaldecoder(name)(errors="surrogateescape")
    not_text = f"is not text in {encoding.upper()}; save the file in this encoding"
    decode = partial(decoder.decode, start, final=whole)
    text = redact_errors(decode, _header_error(shown, not_text))
    lines = io.StringIO(text, newline="")
    read_fields = partial(next, _fields(lines, kind.delimiter), [])
    fields = redact_errors(read_fields, _header_error(shown, "has quotes that are not closed"))
    end = lines.tell()
    if not whole and end == len(text):  # the header is longer than these bytes
        raise _header_error(shown, "has more than 1 MiB")
    if any("\udc80" <= letter <= "\udcff" for field in fields for letter in field):
        raise _header_error(shown, not_text)
    if not fields:
        fault = "is empty" if not text else "begins with an empty line"
        raise InputFileError(f"{shown} {fault}: its first line must name the columns")
    endings = (ending for ending in ("\r\n", "\n", "\r") if text[:end].endswith(ending))
    return Header(fields, next(endings, ""))


def _header_error(shown: str, fault: str) -> InputFileError:
    return InputFileError(f"line 1 of {shown}, which must name the columns, {fault}")


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
        raise make_repeated_column_error(wanted)
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
    other = replace(kind, delimiter=delimiter)
    try:
        return read_header(path, other, "").fields.count(wanted) == 1
    except InputFileError:
        return False


# A count is written as decimal digits, with optional spaces around them and one optional plus sign.
# Any other text becomes -1, which is never a count, and null stays null.
_DIGITS = (
    "CASE WHEN {0} IS NULL THEN NULL "
    "WHEN regexp_full_match({0}, ' *[+]?0*[0-9]{{1,19}} *') "
    "THEN coalesce(try_cast(ltrim(trim({0}, ' '), '+') AS BIGINT), -1) ELSE -1 END"
)
