"""Card: what a notebook shows of a document, as HTML that loads nothing and runs no script."""

from collections.abc import Mapping
from functools import cache
from itertools import count
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from dphist.document.blocks import CARD, Column, Document, Fact, Figures, Note, Table
from dphist.render.text import in_one_line
from dphist.sentence import fill, joined
from dphist.visible import harmless, visible_lines

_LONGEST = 60  # letters of a released label
_WHOLE = 32  # rows of a table that other surfaces show whole
HEAD = 8
"""Rows of a table that are shown."""

_HEIGHT = 260  # of a chart
_NUMBERS = count(1)  # figures of one notebook need names of their own


def card(document: Document) -> str:
    """Return a document as a card: its facts and sentences, a chart, the heads of its tables."""
    slots, blocks = document.slots, list(document.blocks(CARD))
    notes = [block.text for block in blocks if isinstance(block, Note)]
    facts = [block for block in blocks if isinstance(block, Fact)]
    tables = [block for block in blocks if isinstance(block, Table)]
    notes += [table.empty for table in tables if not table.rows]
    charts = [block.charts[0] for block in blocks if isinstance(block, Figures)]
    return _template().render(
        title=fill(joined((document.about, document.title), ": "), slots),
        warning=" ".join(document.warnings),
        facts=[(fill(fact.name, slots), fill(in_one_line(fact), slots)) for fact in facts],
        notes=[fill(note, slots) for note in (document.result, *notes) if note],
        figure=_draw(charts[0], slots) if charts else Markup(),
        tables=[_head(table, slots) for table in tables if table.rows],
    )


def _head(table: Table, slots: Mapping[str, str]) -> dict[str, Any]:
    """Return the first rows of a table."""
    places = range(min(_WHOLE if table.whole else HEAD, table.rows))
    total = table.rows if table.total is None else table.total
    caption = fill(table.caption[0], slots) if table.whole else ""
    if len(places) < total:
        caption = f"{fill(table.caption[1], slots)}: {len(places)} of {total:,}."
    barred = next((column for column in table.columns if CARD in column.bars), None)
    longest = 1.0 if barred is None else max(map(float, barred.cells[: len(places)]))
    return {
        "names": [fill(name, slots) for column in table.columns for name in column.names],
        "rows": [[cell for each in table.columns for cell in _show(each, at)] for at in places],
        "widths": [] if barred is None else [_percent(barred.cells[at], longest) for at in places],
        "caption": caption,
    }


def _show(column: Column, place: int) -> list[tuple[str, bool]]:
    """Return a cell, then its interval if it has one, and whether each is a number."""
    text, *interval = column.shown(place)
    if column.is_text:
        return [(harmless(text, _LONGEST) if column.released else text, False)]
    return [(each, True) for each in (text, *interval)]


def _percent(number: Any, longest: float) -> float:
    """Return the length of a bar; numbers below 0 have none."""
    return round(100 * max(float(number), 0.0) / longest, 1) if longest > 0 else 0.0


def _draw(chart: Any, slots: Mapping[str, str]) -> Markup:
    """Draw a chart; matplotlib is imported here, where something is drawn."""
    from dphist.render.svg import inline_svg

    return inline_svg(chart, slots, f"dphist-{next(_NUMBERS)}", _HEIGHT)


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("dphist", "render"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("card.html.j2")


def _finalize(value: Any) -> Any:
    """Escape what cannot be printed, such as of a column's name; a figure is our own."""
    return visible_lines(value) if isinstance(value, str) and type(value) is not Markup else value
