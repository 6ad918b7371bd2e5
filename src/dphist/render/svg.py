"""A chart as SVG for a page: text stays text, colors follow the reader's scheme.

Matplotlib writes colors and fonts into each element. Charts are drawn with stand-in colors, which
become CSS variables; fonts are left to the page; and every id begins with the figure's name, as
two figures share one page.
"""

import io
import re
import textwrap
import warnings
from collections.abc import Mapping
from unicodedata import east_asian_width
from xml.etree import ElementTree

from markupsafe import Markup
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dphist.document.chart import Chart
from dphist.render.charts import Palette, draw_chart, legend_rows
from dphist.render.series import LIGHT
from dphist.sentence import fill, join_sentences

# Units of the drawing. A phone 390 pixels wide shows them at 0.9, so that text of 13 units
# stays above 11 pixels there.
HEIGHT, TEXT = 330, 13
_MARGINS = {"left": 0.16, "right": 0.985, "bottom": 0.145, "top": 0.905}
_LINE = 20  # of the legend, where it has several
_NO_LEGEND = 8  # above a chart without one
_LETTER = 0.56  # width of a letter, on average, in heights of the text

_SERIES = tuple(f"#0a000{place}" for place in range(1, len(LIGHT) + 1))
_STAND_INS = {
    "#010101": "var(--curve)",
    "#020202": "var(--band)",
    "#030303": "var(--grid)",
    "#040404": "var(--figure-text)",
    **{color: f"var(--line-{place})" for place, color in enumerate(_SERIES, 1)},
}
_PALETTE = Palette(line="#010101", band="#020202", grid="#030303", text="#040404", series=_SERIES)

_NUMBER = re.compile(r"-?\d+\.\d{3,}")


def inline_svg(chart: Chart, slots: Mapping[str, str], name: str, height: int) -> Markup:
    """Draw a chart and return an `<svg>` element to be put into a page.

    Parameters
    ----------
    chart : if it names the ticks of the y axis by words, the figure makes room for them.
    slots : the owner's words.
    name : goes in front of every id; different for each figure of a page.
    height : in units of which the drawing is `chart.width` wide.

    Returns
    -------
    Markup
        The same for the same chart: no dates, no random ids. It loads nothing.
    """
    root = ElementTree.fromstring(_draw(chart, slots, name, height))  # noqa: S314 - written a line ago, by us
    for element in root.iter():
        element.tag = _local(element.tag)
    for parent in list(root.iter()):
        for child in list(parent):
            # The style would apply to the whole page; the metadata hold the web's addresses.
            if child.tag in ("metadata", "style"):
                parent.remove(child)
    for element in root.iter():
        _adapt(element, name)
    for attribute in ("width", "height", "version"):
        root.attrib.pop(attribute, None)
    root.set("role", "img")
    root.set("aria-labelledby", f"{name}-title {name}-desc")
    described = {"title": chart.title, "desc": join_sentences((chart.text, chart.note))}
    for place, (tag, text) in enumerate(described.items()):
        element = ElementTree.Element(tag, {"id": f"{name}-{tag}"})
        element.text = fill(text, slots)
        root.insert(place, element)
    _drop_white_space(root)
    return Markup(ElementTree.tostring(root, encoding="unicode"))  # noqa: S704 - escaped by it


def _draw(chart: Chart, slots: Mapping[str, str], name: str, height: int) -> str:
    settings = {"svg.fonttype": "none", "svg.hashsalt": name, "font.size": TEXT}
    # Matplotlib's own defaults: a report must not depend on the settings of its author.
    with style.context(["default", settings]):
        figure = Figure(figsize=(chart.width / 72, height / 72))
        ax = figure.add_subplot()
        file = io.StringIO()
        with warnings.catch_warnings():  # matplotlib's font may lack letters that the page's has
            warnings.simplefilter("ignore", UserWarning)
            draw_chart(ax, chart, slots, _PALETTE)
            _wrap_label(ax, height)
            figure.subplots_adjust(**_margins(ax, chart.width, height))
            figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    return file.getvalue()


def _wrap_label(ax: Axes, height: int) -> None:
    """Break a label of the y axis that is longer than the axis into lines."""
    text = ax.get_ylabel()
    room = int((_MARGINS["top"] - _MARGINS["bottom"]) * height / (TEXT * _LETTER))
    if len(text) > room:
        ax.yaxis.label.set_text("\n".join(textwrap.wrap(text, room)))


def _margins(ax: Axes, width: int, height: int) -> dict[str, float]:
    """Return the margins: the same at any height, but wider on the left if ticks are words."""
    found = {name: at if name in ("left", "right") else 0.0 for name, at in _MARGINS.items()}
    found["bottom"] = _MARGINS["bottom"] * HEIGHT / height
    found["top"] = 1 - ((1 - _MARGINS["top"]) * HEIGHT + _LINE * (legend_rows(ax) - 1)) / height
    if not ax.get_legend_handles_labels()[1]:
        found["top"] = 1 - _NO_LEGEND / height
    if not ax.get_ylabel():
        longest = max((_width(text.get_text()) for text in ax.get_yticklabels()), default=0)
        found["right"] = 0.95  # half of the last number
        found["left"] = min(max(found["left"], (longest * TEXT * _LETTER + 12) / width), 0.45)
    found["left"] += ax.get_ylabel().count("\n") * TEXT * 1.25 / width
    return found


def _width(text: str) -> float:
    """Return how wide a text is, in letters; those of East Asia are as wide as they are high."""
    return sum(1 / _LETTER if east_asian_width(each) in "WF" else 1 for each in text)


def _adapt(element: ElementTree.Element, name: str) -> None:
    """Give one element the page's ids, colors and fonts, and shorter numbers."""
    for key in list(element.attrib):
        value = element.attrib.pop(key)
        if key == "id":
            value = f"{name}-{value}"
        elif key.endswith("href"):
            value = value.replace("#", f"#{name}-")
        elif key == "style":
            value = _page_style(value)
        elif key in ("d", "x", "y", "transform"):
            value = _NUMBER.sub(lambda found: f"{float(found.group()):.2f}", value)
            value = " ".join(value.split())
        value = value.replace("url(#", f"url(#{name}-")
        if value:
            element.set(_local(key), value)


def _page_style(text: str) -> str:
    declarations = [part.strip() for part in text.split(";") if part.strip()]
    kept = "; ".join(part for part in declarations if not part.startswith("font"))
    for stand_in, variable in _STAND_INS.items():
        kept = kept.replace(stand_in, variable)
    return kept


def _drop_white_space(root: ElementTree.Element) -> None:
    for element in root.iter():
        if element.text is not None and not element.text.strip():
            element.text = None
        element.tail = None


def _local(name: str) -> str:
    """Return a name without its namespace, which HTML does not need."""
    return name.rpartition("}")[2]
