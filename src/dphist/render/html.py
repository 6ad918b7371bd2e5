"""A document as a page: one HTML file that opens anywhere, without a network."""

import re
from functools import cache
from itertools import groupby
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined, Template, pass_context
from jinja2.runtime import Context
from markupsafe import Markup, escape

from dphist.document.blocks import PAGE, Column, Document, Fact, Figures, Note, Section, Table
from dphist.sentence import Sentence, fill
from dphist.visible import harmless

_DATE = re.compile(r"\d{4}-\d\d-\d\d(?: \d\d:\d\d(?::\d\d(?:\.\d+)?)?)?")
_BEGIN, _END = "\u2068", "\u2069"  # labels cannot contain them: they are not printable
_QUOTED = {"quoted": f"{_BEGIN}{{}}{_END}"}
_LONGEST = 120  # letters of a released label
_BARS = 20  # numbered rows with a bar
_IN_SIGHT, _MOST = 100, 20_000  # numbered rows that are not folded; rows of a page
_ONE_TABLE = 24  # numbered rows; more stand in two columns
_NAMES: dict[type, str] = {Note: "note", Figures: "figures"}
_IN_A_ROW: dict[type, str] = {Fact: "facts", Table: "tables"}


def page(document: Document) -> str:
    """Return a document as the text of an HTML page."""
    from dphist.render.svg import inline_svg  # matplotlib takes long to import

    # The template sees texts and blocks alone: sections could reach the release.
    return _template().render(
        kind=document.kind,
        title=document.title,
        headline=document.headline,
        version=document.version,
        date=document.date,
        kicker=document.kicker,
        heads=document.heads,
        result=document.result,
        lead=document.lead,
        warnings=document.warnings,
        closing=document.closing,
        slots=document.slots,
        glance=[fact for section in document.glance for fact in section.shown_on(PAGE)],
        sections=[
            {"name": each.name, "title": each.title, "wide": each.wide, "blocks": _group(each)}
            for each in document.sections
        ],
        draw=lambda chart: inline_svg(chart, document.slots, chart.name, chart.height),
        divide=_divide,
    )


def typeset(text: str) -> Markup:
    """Escape a text, keep dates, numbers and their signs on one line, and curl apostrophes.

    Between the marks of `_QUOTED` stand words that are not the library's. They stay as they are,
    in an element of their own, so that their direction does not turn the rest around.
    """
    parts = [part.split(_END) for part in text.split(_BEGIN)]
    own = [_typeset(after[-1]) for after in parts]
    quoted = [Markup("<bdi>{}</bdi>").format(part[0]) for part in parts[1:]]
    return Markup().join(part for pair in zip(own, [*quoted, ""], strict=True) for part in pair)


def _typeset(text: str) -> Markup:
    text = text.replace(" %", "\u00a0%").replace("'", "\u2019")
    text = text.replace("± ", "±\u00a0").replace("ε = ", "ε\u00a0=\u00a0")
    safe = str(escape(text))  # of Markup, re.sub would escape the tags as well
    return Markup(_DATE.sub(r'<span class="whole">\g<0></span>', safe))  # noqa: S704


def _group(section: Section) -> list[tuple[str, Any]]:
    """Return the blocks of a section that a page shows; facts or tables in a row are one list."""
    found: list[tuple[str, Any]] = []
    for kind, blocks in groupby(section.shown_on(PAGE), type):
        if kind in _IN_A_ROW:
            found.append((_IN_A_ROW[kind], list(blocks)))
        else:
            found += [(_NAMES[kind], each) for each in blocks]
    return found


def _divide(table: Table) -> dict[str, Any]:
    """Return the parts of a table with numbers: rows with bars, rows in sight, folded rows."""
    rows = min(table.rows, _MOST)
    column = next((each for each in table.columns if PAGE in each.bars), None)
    bars, is_seen = draw_bars(column, _BARS) if column else ([], True)
    rest = range(len(bars), min(rows, _IN_SIGHT))
    half = len(rest) if len(rest) <= _ONE_TABLE else -(-len(rest) // 2)
    every, first, further = table.caption

    def name(places: range) -> str:
        given = {"labels": further, "first": places[0] + 1, "last": places[-1] + 1}
        named = Sentence("{labels} {first:,} to {last:,}", **given)
        return every if len(places) == table.rows else named

    def name_bars() -> str:
        hidden = "" if is_seen else " (the intervals are too narrow to be seen on the bars)"
        return Sentence(
            "{which}{hidden}", which=first if len(bars) < rows else every, hidden=hidden
        )

    others = [rest[start : start + half] for start in range(0, len(rest), half or 1)]
    folded = range(_IN_SIGHT, rows)
    return {
        "first": (name_bars(), range(len(bars))) if bars else None,
        "bars": bars,
        "others": [(name(places), places) for places in others],
        "folded": (name(folded), folded) if folded else None,
        "left_out": table.rows - rows,
    }


@cache
def _template() -> Template:
    """Return the template; compiling it takes as long as the rest of a small page."""
    environment = Environment(
        loader=PackageLoader("dphist", "render"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )

    @pass_context
    def said(context: Context, text: str) -> str:
        filled: str = fill(text, context["slots"])
        return filled

    @pass_context
    def in_type(context: Context, text: str) -> Markup:
        return typeset(fill(text, {**context["slots"], **_QUOTED}))

    environment.filters["said"] = said
    environment.filters["harmless"] = lambda label: harmless(label, _LONGEST)
    environment.filters["typeset"] = in_type
    environment.filters["unbroken"] = lambda text: text.replace(" ", "\u00a0")
    return environment.get_template("page.html.j2")


_HAIR = 0.3  # percent of the bar's width; a narrower interval cannot be seen


def draw_bars(column: Column, rows: int) -> tuple[list[Markup], bool]:
    """Return a bar for each of the first rows, and whether any interval can be seen.

    Bars begin at 0 and share one scale.
    """
    ends = column.low, column.cells, column.high
    numbers = list(zip(*(np.asarray(end)[:rows].tolist() for end in ends), strict=True))
    low = min((min(row) for row in numbers), default=0)
    low, high = min(low, 0), max((max(row) for row in numbers), default=1)

    def place(number: int) -> float:
        return 100 * (number - low) / max(high - low, 1)

    found, seen = [], False
    for least, number, most in numbers:
        start, end = sorted((place(0), place(number)))
        shape = f'<rect x="{start:.2f}" y="1" width="{end - start:.2f}" height="8"/>'
        if place(most) - place(least) >= _HAIR:
            seen = True
            shape += (
                f'<path d="M{place(least):.2f} 5H{place(most):.2f}M{place(least):.2f} 2.5V7.5'
                f'M{place(most):.2f} 2.5V7.5"/>'
            )
        found.append(
            Markup(  # noqa: S704 - numbers alone
                '<svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
                f"{shape}</svg>"
            )
        )
    return found, seen
