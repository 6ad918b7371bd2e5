"""The page of a comparison: one HTML file that opens anywhere, without a network or scripts."""

from dataclasses import replace

from matplotlib.axes import Axes

from dphist.comparing.case import Measure
from dphist.comparing.comparison import NOTICE, Comparison
from dphist.comparing.contender import BLACK
from dphist.comparing.figures import draw_panel, lines_of
from dphist.comparing.text import capital
from dphist.comparing.words import cells_of, ending, heading, headings, title_of
from dphist.render.charts import Drawing, Palette, color_text
from dphist.render.svg import HEIGHT
from dphist.report.html import template_of
from dphist.report.page import Figure
from dphist.report.svg import figure

_LINE = 20  # of the legend, in the figure's units


def comparison_html(comparison: Comparison) -> str:
    """Return the page as the text of an HTML file."""
    tables = [
        (
            heading(measure),
            measure.meaning,
            headings(measure),
            list(map(cells_of, comparison.of(measure.name))),
        )
        for measure in comparison.measures
        if comparison.of(measure.name)
    ]
    return template_of("dphist.comparing").render(
        title=title_of(comparison),
        notice=NOTICE,
        facts=list(comparison.facts.items()),
        figures=_figures(comparison),
        tables=tables,
        ending=ending(comparison)[0],
        left_out=comparison.left_out,
        version=comparison.version,
    )


def _figures(comparison: Comparison) -> list[Figure]:
    """Draw each measure against epsilon, and the first against time too."""
    found = []
    for place, measure in enumerate(comparison.measures):
        if not comparison.of(measure.name):
            continue
        said = (
            f"{measure.meaning} Bars reach two standard errors to both sides; both axes are "
            "logarithmic."
        )
        what = capital(measure.name)
        found.append(_figure(comparison, measure, f"error-{place}", f"{what} against ε", said))
        if len(found) == 1:
            found.append(_figure(comparison, measure, "time", f"{what} against time", said))
    return found


def _figure(comparison: Comparison, measure: Measure, name: str, title: str, said: str) -> Figure:
    lines = lines_of(comparison, comparison.of(measure.name))

    def draw(ax: Axes, palette: Palette) -> None:
        # Black would vanish on a dark page: such a line has the color of text.
        black = palette.text or BLACK
        shown = [
            (replace(style, color=black) if style.color == BLACK else style, rows)
            for style, rows in lines
        ]
        draw_panel(ax, shown, measure, by_time=name == "time")
        ax.grid(visible=True, color=palette.grid, alpha=0.3, linewidth=0.7)
        ax.spines[["top", "right"]].set_visible(False)
        # One name a line: a phone has no room for two.
        ax.legend(
            loc="lower left", bbox_to_anchor=(0, 1), ncols=1, frameon=False, borderpad=0,
            borderaxespad=0.4, handlelength=2.4,
        )  # fmt: skip
        if palette.text is not None:
            color_text(ax, palette.text)

    return figure(Drawing(title, draw), name, said, HEIGHT + _LINE * (len(lines) - 1))
