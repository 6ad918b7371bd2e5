"""A document as a page: one HTML file that opens anywhere, without a network."""

import re
from functools import cache
from itertools import groupby
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template, pass_context
from jinja2.runtime import Context
from markupsafe import Markup, escape

from dphist.document.blocks import PAGE, Document, Fact, Figures, Note, Section, Table
from dphist.sentence import fill

_DATE = re.compile(r"\d{4}-\d\d-\d\d(?: \d\d:\d\d(?::\d\d(?:\.\d+)?)?)?")
_NAMES: dict[type, str] = {Note: "note", Figures: "figures"}
_IN_A_ROW: dict[type, str] = {Fact: "facts", Table: "tables"}


def page(document: Document) -> str:
    """Return a document as the text of an HTML page."""
    from dphist.render.charts import drawing_of  # matplotlib takes long to import
    from dphist.render.svg import inline_svg

    def draw(chart: Any) -> Markup:
        drawing = drawing_of(chart, document.slots)
        said = f"{fill(chart.text, document.slots)} {drawing.note}".strip()
        return inline_svg(drawing, chart.name, said, chart.height)

    # The template sees texts and blocks alone: sections could reach the release.
    return _template().render(
        kind=document.kind,
        title=document.title,
        headline=document.headline,
        version=document.version,
        date=document.date,
        heads=document.heads,
        result=document.result,
        lead=document.lead,
        warnings=document.warnings,
        slots=document.slots,
        glance=[fact for section in document.glance for fact in section.shown_on(PAGE)],
        sections=[
            {"name": each.name, "title": each.title, "wide": each.wide, "blocks": _group(each)}
            for each in document.sections
        ],
        draw=draw,
    )


def typeset(text: str) -> Markup:
    """Escape a text, keep dates, numbers and their signs on one line, and curl apostrophes."""
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
        return typeset(fill(text, context["slots"]))

    environment.filters["said"] = said
    environment.filters["typeset"] = in_type
    environment.filters["unbroken"] = lambda text: text.replace(" ", "\u00a0")
    return environment.get_template("page.html.j2")
