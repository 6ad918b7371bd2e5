"""A document as a page, one HTML file that opens anywhere, and as the card of a notebook.

Neither loads anything or runs a script.
"""

import re
from collections.abc import Mapping
from functools import cache
from itertools import count, groupby
from typing import Any
from urllib.parse import quote

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined, Template, pass_context
from jinja2.runtime import Context
from markupsafe import Markup, escape

from dphist.document.blocks import (
    CARD,
    PAGE,
    Column,
    Document,
    Fact,
    Figures,
    File,
    Note,
    Section,
    Table,
)
from dphist.render.text import in_one_line
from dphist.sentence import Sentence, fill, join_sentences
from dphist.visible import harmless, visible_lines

_DATE = re.compile(r"\d{4}-\d\d-\d\d(?: \d\d:\d\d(?::\d\d(?:\.\d+)?)?)?")
_BEGIN, _END = "\u2068", "\u2069"  # labels cannot contain them: they are not printable
_QUOTED = {"quoted": f"{_BEGIN}{{}}{_END}"}
_LONGEST = 120  # letters of a released label
_BARS = 20  # numbered rows with a bar
_IN_SIGHT, _MOST = 100, 20_000  # numbered rows before others scroll; rows of a page
_ONE_TABLE = 24  # numbered rows; more stand in two columns
_LONGEST_LINK = 3 * 2**19  # letters; browsers stop at 2**21
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
        glance=[fact for section in document.glance for fact in section.list_blocks(PAGE)],
        sections=[
            {"name": each.name, "title": each.title, "wide": each.wide, "blocks": _group(each)}
            for each in document.sections
        ],
        draw=lambda chart: inline_svg(chart, document.slots, chart.name, chart.height),
        divide=_divide,
        group_rows=group_rows,
        link=link_to,
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
    for kind, blocks in groupby(section.list_blocks(PAGE), type):
        if kind in _IN_A_ROW:
            found.append((_IN_A_ROW[kind], list(blocks)))
        else:
            found += [(_NAMES[kind], each) for each in blocks]
    return found


def _divide(table: Table) -> dict[str, Any]:
    """Return the parts of a table with numbers: with bars, in sight, and scrolled."""
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
    further_down = range(_IN_SIGHT, rows)
    return {
        "first": (name_bars(), range(len(bars))) if bars else None,
        "bars": bars,
        "others": [(name(places), places) for places in others],
        "scrolled": (name(further_down), further_down) if further_down else None,
        "left_out": table.rows - rows,
    }


Heading = tuple[str, int, str]
"""Heading of a row or of several: its text, how many it spans, and its scope."""


def group_rows(table: Table, places: range) -> list[list[tuple[int, list[Heading]]]]:
    """Return the rows of a table by their first heading, each with the headings that begin there.

    A table with headings at one level, or without any, is one group.

    >>> rows = Table([Column("a", ["x", "x", "y"], heads=True), Column("b", "123", heads=True)])
    >>> for group in group_rows(rows, range(3)):
    ...     print(*group)
    (0, [('x', 2, 'rowgroup'), ('1', 1, 'row')]) (1, [('2', 1, 'row')])
    (2, [('y', 1, 'rowgroup'), ('3', 1, 'row')])
    """
    heads = [column for column in table.columns if column.heads]
    texts = [tuple(column.shown(place)[0] for column in heads) for place in places]
    groups: list[list[tuple[int, list[Heading]]]] = []
    for row, place in enumerate(places):
        begun: list[Heading] = []
        for level in range(len(heads)):
            last = level == len(heads) - 1
            here = texts[row][: level + 1]
            if not last and row and texts[row - 1][: level + 1] == here:
                continue
            stop = row + 1
            while not last and stop < len(texts) and texts[stop][: level + 1] == here:
                stop += 1
            scope = "row" if last or level else "rowgroup"
            begun.append((here[-1], stop - row, scope))
        if not groups or (len(heads) > 1 and begun[0][2] == "rowgroup"):
            groups.append([])
        groups[-1].append((place, begun))
    return groups


def link_to(file: File) -> str:
    """Return an address that holds a whole file; empty if browsers would not open it.

    >>> link_to(File("a.csv", "", lambda: '"a#b",1\\n'))
    'data:text/csv;charset=utf-8,%22a%23b%22,1%0A'
    """
    found = f"data:text/csv;charset=utf-8,{quote(file.write(), safe=',')}"
    return found if len(found) <= _LONGEST_LINK else ""


def make_environment(**more: Any) -> Environment:
    """Return where templates of pages are found; they escape what they are given."""
    return Environment(
        loader=PackageLoader("dphist", "render"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        **more,
    )


@cache
def _template() -> Template:
    """Return the template; compiling it takes as long as the rest of a small page."""
    environment = make_environment()

    @pass_context
    def fill_text(context: Context, text: str) -> str:
        filled: str = fill(text, context["slots"])
        return filled

    @pass_context
    def in_type(context: Context, text: str) -> Markup:
        return typeset(fill(text, {**context["slots"], **_QUOTED}))

    environment.filters["said"] = fill_text
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


# Cards.

HEAD = 8
"""Rows of a table that cards show."""

_SHORT = 60  # letters of a released label
_WHOLE = 32  # rows of a table that other surfaces show whole
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
    return _card_template().render(
        title=fill(join_sentences((document.about, document.title), ": "), slots),
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
        return [(harmless(text, _SHORT) if column.released else text, False)]
    return [(each, True) for each in (text, *interval)]


def _percent(number: Any, longest: float) -> float:
    """Return the length of a bar; numbers below 0 have none."""
    return round(100 * max(float(number), 0.0) / longest, 1) if longest > 0 else 0.0


def _draw(chart: Any, slots: Mapping[str, str]) -> Markup:
    """Draw a chart; matplotlib is imported here, where something is drawn."""
    from dphist.render.svg import inline_svg

    return inline_svg(chart, slots, f"dphist-{next(_NUMBERS)}", _HEIGHT)


@cache
def _card_template() -> Template:
    return make_environment(finalize=_finalize).get_template("card.html.j2")


def _finalize(value: Any) -> Any:
    """Escape what cannot be printed, such as of a column's name; a figure is our own."""
    return visible_lines(value) if isinstance(value, str) and type(value) is not Markup else value
