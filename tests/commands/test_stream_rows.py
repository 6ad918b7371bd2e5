"""CSV rows of `dphist stream` are those of a plain reader, however their bytes come."""

import random

import pytest

from dphist.errors import DataError
from dphist.streams.events.forms import LONGEST, Rows
from tests.support.counting.plain_text import WrongRecord, read_plainly

WORDS = [b"a", b",", b'"', b"\n", b"\n", b'""', b'"a,\n"', b",b\n", b"\\", b" "]


def events_of(text: bytes, size: int) -> list[list[str]]:
    form = Rows("label", None, None)
    found = []
    for start in range(0, len(text), size):
        found += [event.labels for event in form.events(text[start : start + size])]
    return found + [event.labels for event in form.last()]


@pytest.mark.quick("[0]")
@pytest.mark.parametrize("seed", range(10))
def test_rows_are_those_of_a_plain_reader(seed: int) -> None:
    draw, read = random.Random(seed), 0
    for _ in range(1500):
        header = draw.choice([b"label\n", b"label,x\n"])
        text = header + b"".join(draw.choice(WORDS) for _ in range(draw.randint(0, 8)))
        size = draw.randint(1, 9)
        try:
            rows = read_plainly(text, b",", LONGEST)
        except WrongRecord as wrong:
            with pytest.raises(DataError, match=f"^line {wrong.line} "):
                events_of(text, size)
            continue
        # In one column an empty line is no event; an empty field is no label.
        kept = [row[0] for row in rows if row != (None,)]
        assert events_of(text, size) == [[each.decode()] if each else [] for each in kept]
        read += len(kept)
    assert read > 100


def test_a_line_may_end_with_a_carriage_return() -> None:
    assert events_of(b'label,x\r\n"a\r\nb",1\r\nc,2\n\r\n', 3) == [["a\r\nb"], ["c"]]
    with pytest.raises(DataError, match="line 2 is not CSV"):
        events_of(b"label\na\rb\n", 3)


def test_a_quote_that_does_not_end_is_noticed_early() -> None:
    with pytest.raises(DataError, match="line 2 is not CSV"):
        list(Rows("label", None, None).events(b'label\na"b\nc\n'))
    form = Rows("label", None, None)
    list(form.events(b"label\n"))
    with pytest.raises(DataError, match="line 2 begins a row of more than 16,777,216 bytes"):
        for line in (b'"a\n', *[b"b" * 2**20 + b"\n"] * 20):
            list(form.events(line))
