"""JSON, TOML and CSV that somebody else may have written, read no more freely than a person would.

Python's readers keep the last of two equal keys, fail on deep nesting and on numbers of 5,000
digits with errors of their own, and take 0x10 and 1_0 for numbers, of TOML. Here each is a
ValueError that says what is wrong and shows nothing else of the content.
"""

import csv
import gzip
import io
import json
import math
import re
import tomllib
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from dphist.errors import InputFileError
from dphist.parameters import MOST_DIGITS

T = TypeVar("T")

_DEEP = "it is nested too deeply"
_LONG = f"a number has more than {MOST_DIGITS} digits"
_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\])*"|\'[^\']*\'|#[^\n]*'
    r"|[\[\]{}=,\n]|[^\s\[\]{}=,#\"\']+",
    re.DOTALL,
)
_FREE_NUMBER = re.compile(r"[+-]?(?:0[xob].*|[0-9].*_.*)")


class RepeatedKeyError(ValueError):
    """A JSON object has a key twice."""


def read_text(content: bytes) -> str:
    """Return UTF-8 as text, without a byte order mark, which some editors write.

    Raises
    ------
    ValueError
    """
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        pass
    raise ValueError("it is not UTF-8")


def refuse_header(name: str, first: object, column: str | None) -> None:
    """Refuse a list of values of a column that begins with the name of the column.

    Parameters
    ----------
    name : of the file.
    first : its first value.

    Raises
    ------
    InputFileError
    """
    if column is not None and first == column:
        raise InputFileError(
            f"{name} has the header {column!r}, and each line must be a value: remove that line, "
            "or, if it is a value, move it down"
        )


def read_json(text: str, *, skip_long: bool = False, finite: bool = True) -> Any:
    """Return the value of a JSON text, which may begin with a byte order mark.

    Parameters
    ----------
    skip_long : read a whole number of more than 400 digits as NaN, for fields that nobody reads.
    finite : refuse NaN, Infinity and floats beyond a double, which Python reads as infinite.

    Raises
    ------
    RepeatedKeyError
        If an object has a key twice.
    ValueError
        If it is no JSON, is nested too deeply or has a longer whole number, or one not finite.
    """

    def whole(digits: str) -> int | float:
        if len(digits) <= MOST_DIGITS:
            return int(digits)
        if skip_long:
            return math.nan
        raise ValueError(_LONG)

    def number(text: str) -> float:
        found = float(text)
        if finite and not math.isfinite(found):
            raise ValueError("a number is not finite")
        return found

    decoder = json.JSONDecoder(
        object_pairs_hook=_once, parse_int=whole, parse_float=number, parse_constant=number
    )
    return _not_deep(lambda: decoder.decode(text.removeprefix("\ufeff")))


class WrittenNumber(str):
    """A number with a point or exponent, as it is written."""

    __slots__ = ()


def read_toml(content: bytes) -> dict[str, Any]:
    """Return the tables of a TOML file; numbers with a point or exponent are `WrittenNumber`.

    Raises
    ------
    ValueError
        If it is no TOML in UTF-8, is nested too deeply, or has a number that is longer than 400
        digits or written with a prefix or underscores.
    """
    text = read_text(content)
    try:
        found = _not_deep(lambda: tomllib.loads(text, parse_float=WrittenNumber))
    except tomllib.TOMLDecodeError:
        raise
    except ValueError as error:  # int() refuses thousands of digits
        raise ValueError(_DEEP if str(error) == _DEEP else _LONG) from None
    for line, token in _find_values(text):
        if _FREE_NUMBER.fullmatch(token):
            raise ValueError(f"line {line} has the number {token}: write its digits alone")
        if len(token) > MOST_DIGITS:
            raise ValueError(f"{_LONG} (line {line})")
    return found


def _not_deep(read: Callable[[], T]) -> T:
    try:
        return read()
    except RecursionError:
        pass
    raise ValueError(_DEEP)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise RepeatedKeyError("an object has a key twice")
    return found


def _find_values(text: str) -> Iterator[tuple[int, str]]:
    """Yield line and text of the numbers, dates and truth values of valid TOML."""
    line, is_value = 1, False
    opened: list[bool] = []  # whether each open bracket is that of an array
    for part in _TOKEN.findall(text):
        if part == "=":
            is_value = True
        elif part in ("[", "{"):
            opened.append(is_value and part == "[")
            is_value = opened[-1]
        elif part in ("]", "}"):
            opened.pop()
            is_value = False
        elif part == ",":
            is_value = opened[-1]
        elif part != "\n" and part[0] != "#":
            if is_value and part[0] not in "\"'":
                yield line, part
            is_value = False
        line += part.count("\n")


def read_columns(path: Path) -> dict[str, list[str]]:
    """Return the fields of each column of a CSV file.

    An empty line is an empty field if there is one column, and nothing otherwise.

    Parameters
    ----------
    path : of a file that is UTF-8 and may be gzipped.

    Raises
    ------
    InputFileError
        If it cannot be read, or a row has more or fewer fields than the first line.
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
