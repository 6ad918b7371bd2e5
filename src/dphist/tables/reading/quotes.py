"""Checks of a text file before DuckDB reads it: the file is complete and its quotes are valid.

DuckDB does not notice that a compressed file is truncated, and it drops everything after a quote
that is never closed: one record could remove all later records. So the file is first read to its
end, and a quote is accepted only where all readers of such files agree on its meaning.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from dphist.errors import InputFileError

_BYTES_AT_ONCE = 2**24
_QUOTE = 0x22
_LINE_ENDS = b"\r\n"
_EMPTY_LINES = (b"\n\n", b"\n\r", b"\r\r")
_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class FileFormat:
    """The format of a file; `delimiter` is empty for Parquet."""

    delimiter: str
    compression: str | None


def needs_one_thread(path: Path, kind: FileFormat, failure: InputFileError) -> bool:
    """Return whether DuckDB must read a text file with one thread; reads the file to its end.

    With several threads, each reads a range of bytes with a buffer of its own. At the start of a
    range DuckDB refuses a quoted field of several lines, and does not skip an empty line. Then the
    result would depend on the position of a line in the file. So a file with a quote or an empty
    line needs one thread.

    Raises
    ------
    InputFileError
        `failure`, if an unquoted field contains a quote, a quoted field continues after its closing
        quote, or the last quoted field is not closed.
    """
    quotes = _Quotes(kind.delimiter)
    for block in _blocks(path, kind):
        quotes.check(block)
    if not quotes.are_valid():
        raise failure
    return quotes.found or quotes.empty_line


def _blocks(path: Path, kind: FileFormat) -> Iterator[bytes]:
    """Yield the content of a file; Arrow raises if a compressed file is truncated."""
    with pa.input_stream(str(path), compression=kind.compression) as stream:
        while block := stream.read(_BYTES_AT_ONCE):
            yield block


class _Quotes:
    """The quotes of a text, block by block; opening and closing quotes alternate.

    An opening quote is valid at the start of a field. A closing quote is valid at the end of a
    field, or directly before an opening quote: the two together mean a quote inside the field. Up
    to the first invalid quote all fields are separated correctly, so the error is in the field with
    this quote.

    Attributes
    ----------
    found : whether there was a quote so far.
    empty_line : whether there were two consecutive line endings so far, inside quotes or not.
    """

    def __init__(self, delimiter: str) -> None:
        self.found = self.empty_line = False
        self._before = np.frombuffer(_LINE_ENDS + delimiter.encode(), np.uint8)
        self._opened = False  # whether the number of quotes so far is odd
        self._last = _LINE_ENDS[-1]  # the byte before the block; a file starts like a line
        self._valid = True
        self._started = self._seen = False

    def check(self, block: bytes) -> None:
        """Check the next block, of at least one byte."""
        if not self._started and block.startswith(_MARK):
            block = block[len(_MARK) :]
        self._started = True
        if not block:
            return
        if not self.empty_line:
            joint = bytes([self._last]) + block[:1] if self._seen else b""
            self.empty_line = any(ends in block or ends == joint for ends in _EMPTY_LINES)
        self._seen = True
        if b'"' in block or self._last == _QUOTE:
            self._check_quotes(np.frombuffer(block, np.uint8))
        self._last = block[-1]

    def _check_quotes(self, block: np.ndarray[tuple[int], np.dtype[np.uint8]]) -> None:
        places = np.flatnonzero(block == _QUOTE)
        self.found |= len(places) > 0
        before = np.concatenate([[self._last], block[:-1]]).astype(np.uint8)
        opening, closing = places[int(self._opened) :: 2], places[1 - int(self._opened) :: 2]
        starts = before[opening]
        # Quotes alternate, so a quote directly before an opening quote is a closing quote.
        self._valid &= bool(np.all(np.isin(starts, self._before) | (starts == _QUOTE)))
        # The previous block may end with a closing quote.
        if self._last == _QUOTE and not self._opened:
            self._valid &= self._may_follow(block[:1])
        inner = closing[closing < len(block) - 1]
        self._valid &= self._may_follow(block[inner + 1])
        self._opened ^= bool(len(places) % 2)

    def _may_follow(self, after: np.ndarray[tuple[int], np.dtype[np.uint8]]) -> bool:
        return bool(np.all(np.isin(after, self._before) | (after == _QUOTE)))

    def are_valid(self) -> bool:
        """Whether all quotes are valid and the last quoted field is closed."""
        return self._valid and not self._opened
