"""Looking through a text file before DuckDB reads it: is it whole, are its quotes in order?

DuckDB takes a compressed file that was cut off for one that ends there, and drops what follows a
quote that is opened and never closed: one record could make all later ones vanish. So the file is
read to its end first, and every quote must be one that all readers of such files agree on.
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
    """What a file is; `delimiter` is empty for Parquet."""

    delimiter: str
    compression: str | None


def needs_one_thread(path: Path, kind: FileFormat, failure: InputFileError) -> bool:
    """Whether what becomes of a field or line could depend on where in the file it stands.

    DuckDB's threads start at every so many bytes, and each has a buffer. A quoted field of several
    lines is refused, and an empty line not passed over, where one of them starts. So a file with
    a quote or an empty line is read by one thread. The file is read to its end.

    Raises
    ------
    InputFileError
        `failure`, if a field that holds a quote is not in quotes, a quoted field goes on after
        its closing quote, or the last one has none.
    """
    quotes = _Quotes(kind.delimiter)
    for block in _blocks(path, kind):
        quotes.look_at(block)
    if not quotes.end():
        raise failure
    return quotes.found or quotes.empty_line


def _blocks(path: Path, kind: FileFormat) -> Iterator[bytes]:
    """Return the content of a file; Arrow raises if the end of a compressed one is missing."""
    with pa.input_stream(str(path), compression=kind.compression) as stream:
        while block := stream.read(_BYTES_AT_ONCE):
            yield block


class _Quotes:
    """The quotes of a text, block by block, opening and closing by turns.

    A quote that opens a field stands at the start of one. A quote that closes it stands at its
    end, or before another that opens it again: the two are a quote in the field. Up to the first
    that stands elsewhere every field was separated correctly, so that the fault is in its field.

    Attributes
    ----------
    found : whether there was a quote.
    empty_line : whether two ends of lines stood together, quoted or not.
    """

    def __init__(self, delimiter: str) -> None:
        self.found = self.empty_line = False
        self._before = np.frombuffer(_LINE_ENDS + delimiter.encode(), np.uint8)
        self._opened = False  # whether the number of quotes so far is odd
        self._last = _LINE_ENDS[-1]  # the byte before this block: a file starts like a line
        self._sound = True
        self._started = self._seen = False

    def look_at(self, block: bytes) -> None:
        """Look at the next bytes, at least one."""
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
            self._look_closely(np.frombuffer(block, np.uint8))
        self._last = block[-1]

    def _look_closely(self, block: np.ndarray[tuple[int], np.dtype[np.uint8]]) -> None:
        places = np.flatnonzero(block == _QUOTE)
        self.found |= len(places) > 0
        before = np.concatenate([[self._last], block[:-1]]).astype(np.uint8)
        opening, closing = places[int(self._opened) :: 2], places[1 - int(self._opened) :: 2]
        starts = before[opening]
        # A quote before one that opens can only have closed, as they take turns.
        self._sound &= bool(np.all(np.isin(starts, self._before) | (starts == _QUOTE)))
        # The last quote of the block before was one that closes.
        if self._last == _QUOTE and not self._opened:
            self._sound &= self._may_follow(block[:1])
        inner = closing[closing < len(block) - 1]
        self._sound &= self._may_follow(block[inner + 1])
        self._opened ^= bool(len(places) % 2)

    def _may_follow(self, after: np.ndarray[tuple[int], np.dtype[np.uint8]]) -> bool:
        return bool(np.all(np.isin(after, self._before) | (after == _QUOTE)))

    def end(self) -> bool:
        """Whether all quotes stood where they may, and the last field was closed."""
        return self._sound and not self._opened
