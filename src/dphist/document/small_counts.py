"""Small estimates that a document and a table leave out, as rules for small counts ask.

This is a function of released values: it costs nothing, and adds no privacy.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from dphist.arrays import BoolArray
from dphist.document.blocks import ON_PAGE, READ, Block, Document, Figures, Note, Section

_UNAFFECTED = ("error", "impossible")
"""Columns behind the estimates that do not depend on them."""
_NO_PRIVACY = (
    "adds no privacy: noise protects people, small numbers and large ones alike, and the saved "
    "release holds every number. Where numbers add up, one that is not shown may follow from "
    "others."
)
NO_PICTURES = "There are no pictures here: they would draw small numbers too."


def write_below(below: int) -> str:
    """Return what stands for a number that is below another.

    >>> write_below(1000)
    '<1000'
    """
    return f"<{below}"


def is_below(number: float, below: int | None) -> bool:
    """Whether a number is left out: it is below one that is given.

    >>> is_below(9.9, 10), is_below(10, 10), is_below(9, None)
    (True, False, False)
    """
    return below is not None and number < below


def find_small(table: pa.Table, below: int) -> BoolArray:
    """Return which rows of a released table have a count below a number."""
    small: BoolArray = table["count"].to_numpy() < below
    return small


def leave_out_small(table: pa.Table, below: int) -> pa.Table:
    """Return a released table without what tells the counts below a number, but for the counts.

    >>> held = pa.table({"x": ["a", "b"], "count": [9, 2], "error": [1, 1], "low": [7, 0]})
    >>> leave_out_small(held, 5)["low"].to_pylist()
    [7, None]
    """
    small = pa.array(find_small(table, below))
    for place, name in enumerate(table.column_names):
        if place > table.column_names.index("count") and name not in _UNAFFECTED:
            held = pc.if_else(small, pa.scalar(None, table[name].type), table[name])
            table = table.set_column(place, name, held)
    return table


def leave_out_figures(document: Document, below: int) -> Document:
    """Return a document that says what it does not show, and has no figures.

    Parameters
    ----------
    below : smaller estimates are not shown: the kind has left them out of all other blocks.
    """
    written = f"Estimates below {below} are written {write_below(below)}, as a rule asks. That"
    notes = [Note(f"{written} {_NO_PRIVACY}"), Note(NO_PICTURES, on=ON_PAGE)]
    sections = [
        replace(each, blocks=_drop_figures(each.blocks))
        if not callable(each.blocks)
        else replace(each, blocks=partial(lambda blocks: _drop_figures(blocks()), each.blocks))
        for each in document.sections
    ]
    return replace(document, sections=[Section("small", "", notes, READ), *sections])


def _drop_figures(blocks: Sequence[Block]) -> list[Block]:
    return [block for block in blocks if not isinstance(block, Figures)]
