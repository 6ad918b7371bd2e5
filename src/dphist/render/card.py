"""Card: what a notebook shows of one value, as HTML that loads nothing and runs no script."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from dphist.document.blocks import CARD, Column, Document, Fact, Figures, Note
from dphist.document.blocks import Table as Declared
from dphist.document.chart import Chart
from dphist.document.of_value import Table
from dphist.render.text import in_one_line
from dphist.sentence import fill
from dphist.visible import harmless, visible_lines

_LONGEST = 60  # letters of a cell
_WHOLE = 32  # rows of a table that other surfaces show whole
HEAD = 8
"""Rows of a table that are shown."""


class Prose(str):
    """A text of the library's own, which a table shows in full."""

    __slots__ = ()


class Digits(Prose):
    """A number as text, such as an interval, which stands at the right of its cell."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Card:
    """What a notebook shows of a value; all text is escaped.

    Attributes
    ----------
    title : what the value is, in a few words.
    facts : names and texts, such as the guarantee and its unit.
    notes : sentences below the facts.
    warning : a sentence that stands out; empty for none.
    tables : heads of tables.
    figure : an `<svg>` element, such as `dphist.render.svg.inline_svg` returns; empty for none.
    """

    title: str
    facts: Sequence[tuple[str, str]] = ()
    notes: Sequence[str] = ()
    warning: str = ""
    tables: Sequence[Table] = ()
    figure: Markup = field(default_factory=Markup)

    def html(self) -> str:
        """Return the card as HTML."""
        return _template().render(card=self, cells=_cells, widths=_widths)


def card(document: Document) -> Card:
    """Return the card of a document: its facts and sentences, the head of its table, a chart."""
    slots, blocks = document.slots, list(document.blocks(CARD))
    notes = [fill(block.text, slots) for block in blocks if isinstance(block, Note)]
    facts = [
        (fill(block.name, slots), fill(in_one_line(block), slots))
        for block in blocks
        if isinstance(block, Fact)
    ]
    tables = [_head(block, slots) for block in blocks if isinstance(block, Declared) and block.rows]
    figures = [block.charts[0] for block in blocks if isinstance(block, Figures)]
    figure = draw_chart(figures[0], slots) if figures else Markup()
    title = fill(document.title, slots)
    if document.result:
        notes.insert(0, fill(document.result, slots))
    warning = " ".join(document.warnings)
    return Card(f"{document.about}: {title}", facts, notes, warning, tables, figure)


def _head(table: Declared, slots: Mapping[str, str]) -> Table:
    """Return the first rows of a table."""
    names = [fill(name, slots) for column in table.columns for name in column.names]
    most = _WHOLE if table.whole else HEAD
    rows = [
        [cell for column in table.columns for cell in _show(column, place)]
        for place in range(min(most, table.rows))
    ]
    left_out = f"{fill(table.caption[1], slots)}: {len(rows)} of {table.rows:,}."
    bars = [fill(column.name, slots) for column in table.columns if CARD in column.bars]
    every = fill(table.caption[0], slots) if table.whole else ""
    caption = left_out if table.rows > most else every
    return Table(names, rows, table.rows, "".join(bars[:1]), caption)


def _show(column: Column, place: int) -> list[Any]:
    """Return the cells of a row: a text or a number, then its interval if it has one."""
    text, *interval = column.shown(place)
    if column.is_text:
        return [text if column.released else Prose(text)]
    number = int(column.cells[place]) if CARD in column.bars else Digits(text)
    return [number, *map(Digits, interval)]


_NUMBERS = count(1)  # figures of one notebook need names of their own


def draw_chart(chart: Chart, slots: Mapping[str, str]) -> Markup:
    """Draw a declared chart as `<svg>`; matplotlib is imported here, where something is drawn."""
    from dphist.render.charts import drawing_of

    return drawn(drawing_of(chart, slots), fill(chart.text, slots))


def drawn(drawing: Any, description: str) -> Markup:
    """Draw a drawing as `<svg>`."""
    from dphist.render.svg import inline_svg

    return inline_svg(drawing, f"dphist-{next(_NUMBERS)}", description, 260)


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


def _cells(table: Table) -> list[list[tuple[str, bool]]]:
    """Return the texts of the cells, and whether each is a number."""
    return [[_cell(value) for value in row] for row in table.rows]


def _cell(value: Any) -> tuple[str, bool]:
    if value is None:
        return "(missing)", False
    if isinstance(value, bool):
        return str(value), False
    if isinstance(value, int):
        return f"{value:,}", True
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}", True
    if isinstance(value, Prose):
        return str(value), isinstance(value, Digits)
    text = value.isoformat() if hasattr(value, "isoformat") else str(value)
    return harmless(text.removesuffix("T00:00:00"), _LONGEST), False


def _widths(table: Table) -> list[float]:
    """Return the lengths of the bars, in percent; empty if there are none."""
    if not table.bars:
        return []
    place = list(table.columns).index(table.bars)
    values = [max(float(row[place]), 0.0) for row in table.rows]
    longest = max(values, default=0.0) or 1.0
    return [round(100 * value / longest, 1) for value in values]
