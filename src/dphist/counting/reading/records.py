"""The records of a text file, checked and counted by us before DuckDB reads them.

DuckDB does not notice that a compressed file is truncated. It drops everything after a quote that
is never closed, and what follows a record that is too long for it, if that record begins near a
boundary of its threads. So one record could remove all later records. Here the file is read to its
end. Each record is held to one rule, which depends on this record and the first line alone, and the
records are counted, to be compared with the rows that DuckDB returns.

The rule of a record: it ends like the first line; it has as many fields as the first line; it has
at most `LONGEST` bytes; a field that contains a delimiter, a quote or a line ending is quoted, and
each quote inside it is doubled. An empty line is a record without a value if there is one field,
and nothing otherwise.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from dphist.arrays import BoolArray, IntArray
from dphist.counting.reading.file_format import FileFormat
from dphist.errors import InputFileError

LONGEST = 2_000_000
"""Maximum length of a record, in bytes, without its line ending."""

_BYTES_AT_ONCE = 2**20
_QUOTE, _CR, _LF = b'"\r\n'
_MARK = b"\xef\xbb\xbf"

_Bytes: TypeAlias = np.ndarray[tuple[int], np.dtype[np.uint8]]

_STRAY_QUOTE = (
    "has a quote inside a field, or text after a closing quote: put quotes around the field, and "
    "double each quote in it"
)
_OTHER_ENDING = (
    "has another line ending than the first line: use one kind, or put quotes around the field "
    "that contains it"
)
_TOO_LONG = f"has more than {LONGEST:,} bytes: shorten it"
_OTHER_FIELDS = (
    "must have as many fields as the first line: correct it, or put quotes around fields that "
    "contain the delimiter"
)
_SEVERAL_LINES = (
    "begins a record of several lines that is not valid: close the quotes of its fields, double "
    f"each quote inside a field, and check its length (at most {LONGEST:,} bytes) and its fields"
)
"""Where such a record ends depends on the lines after its first one, which may be meant as other
records. So an error says nothing of them."""


@dataclass(frozen=True, slots=True)
class Header:
    """The first line of a text file.

    Attributes
    ----------
    fields : its fields, at least one.
    ending : its line ending, which all records have; empty if the file ends without one.
    """

    fields: list[str]
    ending: str


@dataclass(frozen=True, slots=True)
class Records:
    """What DuckDB has to read.

    Attributes
    ----------
    number : of the records after the header.
    one_thread : whether DuckDB must read them with one thread. With several threads, each reads a
        range of bytes with a buffer of its own. At the start of a range DuckDB refuses a quoted
        field of several lines, and does not skip an empty line. Then the result would depend on the
        position of a record. So a file with a quote or an empty line needs one thread.
    """

    number: int
    one_thread: bool


def check_records(path: Path, kind: FileFormat, header: Header, shown: str) -> Records:
    """Read a text file to its end; return what DuckDB has to find there.

    Raises
    ------
    InputFileError
        If a record breaks the rule, with the number of the line where the first such record begins.
    Exception
        Of Arrow, if a compressed file is damaged or truncated.
    """
    check = _Check(len(header.fields), header.ending or "\n", kind.delimiter, shown)
    for block in _blocks(path, kind):
        check.add(block)
    return check.end()


def _blocks(path: Path, kind: FileFormat) -> Iterator[bytes]:
    """Yield the content of a file, without its byte order mark."""
    with pa.input_stream(str(path), compression=kind.compression) as stream:
        start = stream.read(len(_MARK))
        if start != _MARK:
            yield start
        while block := stream.read(_BYTES_AT_ONCE):
            yield block


class _Check:
    """Checks a text, the header included, in blocks of any size.

    A block is looked at together with the unfinished record before it. So what is looked at always
    starts with a record, and quotes alternate from there: an opening quote, a closing quote. An
    opening quote is valid at the start of a field. A closing quote is valid at the end of a field,
    or directly before an opening quote: the two together mean a quote inside the field. Up to the
    first invalid quote all records and fields are separated correctly.
    """

    def __init__(self, fields: int, ending: str, delimiter: str, shown: str) -> None:
        self._records = 0  # so far
        self._is_quoted = self._has_empty_line = False
        self._delimiters = fields - 1  # of a record
        self._ending = ending.encode()
        self._delimiter = delimiter.encode()
        self._shown = shown
        self._beside_quotes = np.zeros(256, np.bool_)  # bytes that may stand outside of quotes
        self._beside_quotes[list(b'"\r\n' + self._delimiter)] = True
        self._rest = b""  # of the blocks so far: an unfinished record
        self._line = 1  # the number of the line where it begins

    def add(self, block: bytes) -> None:
        """Check the next block."""
        self._look_at(self._rest + block)

    def end(self) -> Records:
        """Check the last record, which need not have a line ending; return what was found."""
        if self._rest:
            self._look_at(self._rest + self._ending)
        if self._rest:
            raise self._error(self._line, _SEVERAL_LINES)
        return Records(self._records - 1, self._is_quoted or self._has_empty_line)

    def _look_at(self, text: bytes) -> None:
        """Check all that is known of a text, and keep its unfinished record."""
        found = np.frombuffer(text, np.uint8)
        breaks = np.flatnonzero(found == self._ending[-1])
        is_outside = _outside(text, found)
        ends = is_outside(breaks)
        faults = [
            *self._stray_quotes(text, found),
            *self._other_endings(text, found, ends, is_outside),
            *self._wrong_records(text, found, ends, is_outside),
        ]
        if faults:
            place, fault = min(faults, key=lambda each: each[0])
            begin = _find_start(ends, int(np.searchsorted(ends, place)))
            lines, lines_until_fault = np.searchsorted(breaks, [begin, place])
            fault = fault if lines == lines_until_fault else _SEVERAL_LINES
            raise self._error(self._line + int(lines), fault)
        begin = _find_start(ends, len(ends))
        self._line += int(np.searchsorted(breaks, begin))
        self._rest = text[begin:]

    def _stray_quotes(self, text: bytes, found: _Bytes) -> Iterator[tuple[int, str]]:
        """Yield the place of the first quote that is out of place, if there is one."""
        if b'"' not in text:
            return
        self._is_quoted = True
        quotes = np.flatnonzero(found == _QUOTE)
        opening, closing = quotes[::2], quotes[1::2]
        # A text starts like a field. What follows a quote at its end is not known yet.
        wrong_before = opening[(opening > 0) & ~self._beside_quotes[found[opening - 1]]]
        closing = closing[closing + 1 < len(found)]
        wrong_after = closing[~self._beside_quotes[found[closing + 1]]]
        for wrong in (wrong_before, wrong_after):
            if len(wrong):
                yield int(wrong[0]), _STRAY_QUOTE

    def _other_endings(
        self, text: bytes, found: _Bytes, ends: IntArray, is_outside: "_Outside"
    ) -> Iterator[tuple[int, str]]:
        """Yield the place of the first line ending of another kind outside quotes, if any."""
        if self._ending != b"\r\n":
            other = b"\n" if self._ending == b"\r" else b"\r"
            wrong = is_outside(np.flatnonzero(found == other[0])) if other in text else ends[:0]
        else:
            # Whether a line feed follows a carriage return at the end is not known yet.
            before = is_outside(np.flatnonzero(found[:-1] == _CR))
            if np.array_equal(before + 1, ends):
                return
            alone = np.setxor1d(before + 1, ends)
            wrong = alone[:1]
        if len(wrong):
            yield int(wrong[0]), _OTHER_ENDING

    def _wrong_records(
        self, text: bytes, found: _Bytes, ends: IntArray, is_outside: "_Outside"
    ) -> Iterator[tuple[int, str]]:
        """Count the records; yield the place of the first fault of each kind."""
        begin = _find_start(ends, len(ends))
        most = LONGEST + len(self._ending) - 1  # from the start of a record to its end
        if len(found) - begin > most + 1:
            yield begin + most, _TOO_LONG
        if not len(ends):
            return
        starts = np.append(0, ends[:-1] + 1)
        is_long = ends - starts > most
        if is_long.any():
            yield int(starts[np.argmax(is_long)]) + most, _TOO_LONG
        is_empty = ends - starts == len(self._ending) - 1
        number = len(ends)
        delimiters = ends[:0]
        if self._delimiter in text:
            delimiters = is_outside(np.flatnonzero(found[:begin] == self._delimiter[0]))
        if not self._are_rectangular(delimiters, starts, ends):
            of_each = np.diff(np.searchsorted(delimiters, ends), prepend=0)
            wrong = of_each != self._delimiters
            if self._delimiters:
                wrong &= ~is_empty
                number -= int(is_empty.sum())
            if wrong.any():
                yield int(ends[np.argmax(wrong)]), _OTHER_FIELDS
        self._has_empty_line |= bool(is_empty.any())
        self._records += number

    def _are_rectangular(self, delimiters: IntArray, starts: IntArray, ends: IntArray) -> bool:
        """Whether each record has as many delimiters as the header."""
        if len(delimiters) != len(ends) * self._delimiters:
            return False
        if not self._delimiters:
            return True
        table = delimiters.reshape(len(ends), self._delimiters)
        return bool((table[:, 0] >= starts).all() and (table[:, -1] < ends).all())

    def _error(self, line: int, fault: str) -> InputFileError:
        return InputFileError(f"line {line:,} of {self._shown} {fault}")


_Outside: TypeAlias = Callable[[IntArray], IntArray]


def _outside(text: bytes, found: _Bytes) -> _Outside:
    """Return what keeps the places of a text that are outside quotes."""
    if b'"' not in text:
        return lambda places: places
    inside: BoolArray = np.logical_xor.accumulate(found == _QUOTE)
    return lambda places: places[~inside[places]]


def _find_start(ends: IntArray, number: int) -> int:
    """Return where the record with this number begins, given the ends of the records."""
    return int(ends[number - 1]) + 1 if number else 0
