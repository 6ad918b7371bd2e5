"""Text files in other encodings, copied as UTF-8 for the readers."""

import codecs
from contextlib import suppress
from pathlib import Path

import pyarrow as pa

from dphist.errors import InputFileError

_BYTES_AT_ONCE = 2**20


def copy_as_utf8(
    path: Path, compression: str | None, encoding: str, target: Path, shown: str
) -> None:
    """Write the text of a file as UTF-8, with the lines that it has.

    Raises
    ------
    InputFileError
        If it is not text in the encoding, with the number of the first line that is not.
    Exception
        Of Arrow, if a compressed file is damaged or truncated.
    """
    lines = _Lines()
    decoder = codecs.getincrementaldecoder(encoding)()
    with pa.input_stream(str(path), compression=compression) as stream, target.open("xb") as file:
        is_last = False
        while not is_last:
            block = stream.read(_BYTES_AT_ONCE)
            is_last = not block
            state, text = decoder.getstate(), None
            with suppress(UnicodeDecodeError):
                text = decoder.decode(block, final=is_last)
            if text is None:
                decoder.setstate(state)
                lines.add_decodable(decoder, block)
                raise InputFileError(
                    f"line {lines.number:,} of {shown} is not text in {encoding}: save the file in "
                    "this encoding, or name its own"
                )
            lines.add(text)
            file.write(text.encode())


class _Lines:
    """Counts the lines of a text that comes in parts; `number` is that of the line at its end."""

    def __init__(self) -> None:
        self.number = 1
        self._after_return = False

    def add(self, text: str) -> None:
        """Count the line endings in the next part: LF, CR, or both in this order."""
        if text:
            self.number += text.count("\n") + text.count("\r") - text.count("\r\n")
            self.number -= self._after_return and text[0] == "\n"
            self._after_return = text[-1] == "\r"

    def add_decodable(self, decoder: codecs.IncrementalDecoder, block: bytes) -> None:
        """Count the line endings before the first byte that cannot be decoded."""
        with suppress(UnicodeDecodeError):
            for place in range(len(block)):
                self.add(decoder.decode(block[place : place + 1]))
