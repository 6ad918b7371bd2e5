"""A document in a few lines of plain text, for a terminal."""

import textwrap
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from wcwidth import wcswidth

from dphist.document.blocks import JSON, TERMINAL, Document, Fact, Note, PlusMinus, Table
from dphist.sentence import fill, join_sentences
from dphist.visible import harmless

WIDTH = 78
GAP = "   "


def pad_right(texts: Sequence[str], width: int | None = None) -> list[str]:
    """Pad a column on the right, to the given number of cells or to its widest text.

    >>> pad_right(["a", "bcd"]), pad_right(["a", "bcd"], 2)
    (['a  ', 'bcd'], ['a ', 'b…'])
    """
    if width is not None:
        return [in_columns(text, width) for text in texts]
    widest = max(map(len, texts), default=0)
    return [text.ljust(widest) for text in texts]


def right(texts: Sequence[str]) -> list[str]:
    """Pad a column of numbers on the left to its widest text.

    >>> right(["1", "100"])
    ['  1', '100']
    """
    widest = max(map(len, texts), default=0)
    return [text.rjust(widest) for text in texts]


def beside(*columns: Sequence[str], gap: str = GAP, width: int | None = WIDTH) -> list[str]:
    """Return the lines of a table of padded columns, indented and cut to the terminal's width.

    Parameters
    ----------
    width : the number of columns that are left; None for all.

    >>> beside(["a", "b"], right(["1", "100"]))
    ['  a     1', '  b   100']
    """
    return [f"  {gap.join(cells)}"[:width].rstrip() for cells in zip(*columns, strict=True)]


def in_columns(text: str, columns: int) -> str:
    """Pad or cut a text to a number of columns of a terminal."""
    if count_columns(text) <= columns:
        return text + " " * (columns - count_columns(text))
    shown = text[:columns]
    while count_columns(shown) >= columns:
        shown = shown[:-1]
    return shown + " " * (columns - 1 - count_columns(shown)) + "…"


def count_columns(text: str) -> int:
    """Return the number of columns of a terminal that a text takes, without control characters.

    >>> count_columns("日本"), count_columns("e\u0301")
    (4, 1)
    """
    return max(wcswidth(text), 0)


_ROWS = 5  # of each end of a table
_HEADING = 14  # letters of a line of a heading
_BAR = 20  # letters of the longest bar
_LABEL = 40  # columns of a terminal for a released label, if there is room
_SHORT_LABEL = 16  # where other columns need the room


def text(document: Document) -> str:
    """Return a document in lines of at most 78 columns: facts, sentences, tables."""
    slots = document.slots

    def wrap(said: str, first: str) -> list[str]:
        filled = fill(said, slots)
        return textwrap.wrap(
            filled,
            WIDTH,
            initial_indent=first,
            subsequent_indent=" " * len(first),
            break_on_hyphens=False,  # a path or an option is copied from here
        )

    title = fill(document.title, slots)
    lines = wrap(f"{title}, {document.made} (dphist {document.version})", "")
    for warning in document.warnings:
        lines += wrap(warning, "")
    lines.append("")
    if document.result:
        lines += [*wrap(document.result, "  "), ""]
    blocks = list(document.blocks(TERMINAL))
    names: list[str] = []
    for fact in (block for block in blocks if isinstance(block, Fact)):
        if fact.name in names and fact.name != names[-1]:  # the next of several accounts
            lines.append("")
            names.clear()
        names.append(fact.name)
        lines += wrap(in_one_line(fact), f"  {fill(fact.name, slots):<15} ")
    for note in (block for block in blocks if isinstance(block, Note)):
        copied = [f"  {line}" for line in note.text.splitlines()]
        lines += ["", *(copied if note.style == "code" else wrap(note.text, "  "))]
    for table in (block for block in blocks if isinstance(block, Table)):
        lines += ["", *_table(table, document)]
    return "\n".join(lines) + "\n"


def in_one_line(fact: Fact) -> str:
    """Return a fact, with its error and note, as a text."""
    if fact.error is None and not fact.note:
        return fact.text
    between = " " if isinstance(fact.error, PlusMinus) else ", "
    return join_sentences((join_sentences((fact.text, fact.uncertainty), between), fact.note), ", ")


def _table(table: Table, document: Document) -> list[str]:
    """Return both ends of a table in aligned columns; the last ones are left out if too wide."""
    if table.rows == 0:
        return [f"  {fill(table.empty, document.slots)}"]
    head, tail = table.ends(_ROWS)
    headings: list[list[str]] = []
    columns: list[list[str]] = []
    sides: list[Callable[[Sequence[str]], list[str]]] = []
    labels: list[int] = []
    for column in table.columns:
        shown = zip(*(column.shown(place) for place in (*head, *tail)), strict=True)
        for name, cells in zip(column.names, shown, strict=True):
            headings.append(textwrap.wrap(fill(name, document.slots), _HEADING))
            own = [harmless(cell, 200) for cell in cells] if column.released else cells
            columns.append([fill(cell, document.slots) for cell in own])
            sides.append(pad_right if column.is_text else right)
            if column.released and column.is_text:
                labels.append(len(columns) - 1)
    for place, wide in zip(labels, _fit(columns, headings, labels, table.whole), strict=True):
        sides[place] = partial(pad_right, width=wide)
    for column in table.columns:
        if TERMINAL in column.bars:
            headings.append([])
            columns.append(_bars([float(column.cells[place]) for place in (*head, *tail)]))
            sides.append(pad_right)
    high = max(map(len, headings))
    padded = [
        side([*[""] * (high - len(heading)), *heading, *cells])
        for side, heading, cells in zip(sides, headings, columns, strict=True)
    ]
    if table.whole:
        caption = textwrap.wrap(fill(table.caption[0], document.slots), WIDTH)
        return [*caption, *beside(*padded, gap=GAP[1:], width=None)]
    while len(GAP.join(texts[0] for texts in padded)) > WIDTH - 2:  # too wide for a terminal
        padded.pop()
    lines = beside(*padded)
    hidden = sum(len(column.names) for column in table.columns) - len(padded)  # bars may go
    if hidden > 0:
        lines.append(f"  ... {hidden} more column{'s'[: hidden != 1]} ...")
    left_out = table.rows + table.further - len(head) - len(tail)
    if left_out:
        gap = f"... {left_out:,} more rows ...".center(len(lines[0]) - 2)
        lines.insert(high + len(head), f"  {gap}".rstrip())
    return lines


def _fit(
    columns: Sequence[Sequence[str]],
    headings: Sequence[Sequence[str]],
    labels: Sequence[int],
    whole: bool,
) -> list[int]:
    """Return the widths of the columns of released labels: narrower where others need the room."""
    widths = [
        max(map(count_columns, [*heading, *cells]), default=0)
        for heading, cells in zip(headings, columns, strict=True)
    ]
    if whole:
        return [widths[place] for place in labels]
    others = sum(wide for place, wide in enumerate(widths) if place not in labels)
    room = WIDTH - 2 - others - len(GAP) * (len(columns) - 1)
    wide = min(_LABEL, max(_SHORT_LABEL, room // max(len(labels), 1)))
    return [wide] * len(labels)


def _bars(numbers: list[float]) -> list[str]:
    """Return numbers as bars; those below 0 have none."""
    longest = max(*numbers, 1.0)
    return ["#" * round(_BAR * max(number, 0) / longest) for number in numbers]


def content(document: Document) -> dict[str, Any]:
    """Return the values of facts by their keys, in the library's own words."""
    facts = (block for block in document.blocks(JSON) if isinstance(block, Fact))
    return {fact.key: fact.value for fact in facts if fact.key}
