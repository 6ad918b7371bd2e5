"""JSON lines: a file of one object a line, each a record.

Lines are read one by one, so that no line affects how another is read, and a line is a record or
refuses the file. Numbers are kept as they are written: a float would round them.
"""

import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from dphist.counting.reading.columns import Wanted
from dphist.counting.reading.fields import GivenRows, NumberedRows, RealNumber
from dphist.counting.reading.file_format import FileFormat
from dphist.counting.reading.records import LONGEST
from dphist.errors import InputFileError

_MARK = b"\xef\xbb\xbf"
_MOST_DIGITS = 400
_MISSING = object()


class _BadLineError(Exception):
    """A line is no record; the message says what it must be, and shows nothing of it."""


def read_json_lines(
    path: Path, kind: FileFormat, wanted: Sequence[Wanted], shown: str
) -> GivenRows:
    """Return the values of the wanted keys of each line.

    Empty lines are no records. Every object must have every wanted key: whether a key is missing
    from all of them would depend on the data as a whole. A missing value is ``null``.

    Raises
    ------
    InputFileError
        While rows are read: if a line is no JSON object in UTF-8, is too long, or has a key twice,
        or no value for a wanted one.
    """
    keys = [column.name for column in wanted]

    def read() -> NumberedRows:
        for number, line in enumerate(_read_lines(path, kind), 1):
            fault = ""
            try:
                values = _read_values(line, keys)
            except _BadLineError as error:
                fault = str(error)
            if fault:
                raise InputFileError(f"line {number:,} of {shown} {fault}")
            if values:
                yield number, values

    return GivenRows(keys, read(), "line")


def _read_lines(path: Path, kind: FileFormat) -> Iterator[bytes]:
    """Yield the lines of a file, without a byte order mark; one too long is cut."""
    with pa.input_stream(str(path), compression=kind.compression) as stream:
        lines = io.BufferedReader(stream)
        line = lines.readline(LONGEST + len(_MARK) + 2).removeprefix(_MARK)
        while line:
            yield line
            line = lines.readline(LONGEST + 2)


def _read_values(line: bytes, keys: Sequence[str]) -> list[Any]:
    """Return the values of a line, none if it is empty.

    Raises
    ------
    _BadLineError
    """
    if len(line.rstrip(b"\r\n")) > LONGEST:
        raise _BadLineError(f"has more than {LONGEST:,} bytes: shorten it")
    if not line.strip(b" \t\r\n"):
        return []
    try:
        record = _DECODER.decode(line.decode())
    except (ValueError, RecursionError):  # also if it is not UTF-8
        record = None
    if type(record) is not dict:
        raise _BadLineError(
            "must be a JSON object in UTF-8 that has each key once, and whole numbers of at most "
            f"{_MOST_DIGITS} digits: correct it"
        )
    values = [record.get(key, _MISSING) for key in keys]
    if _MISSING in values:
        key = keys[values.index(_MISSING)]
        raise _BadLineError(f"has no key {key!r}: give null for a missing value")
    return values


def _read_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError
    return found


def _read_whole(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError
    return int(digits)


def _refuse_constant(_: str) -> None:
    raise ValueError  # NaN and Infinity are no JSON


_DECODER = json.JSONDecoder(
    object_pairs_hook=_read_object,
    parse_int=_read_whole,
    parse_float=RealNumber,
    parse_constant=_refuse_constant,
)
