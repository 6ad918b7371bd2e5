"""A drawing as a figure of a page of the kinds that declare no charts yet."""

from collections.abc import Callable

from markupsafe import Markup

from dphist.render.charts import Drawing
from dphist.render.svg import HEIGHT, inline_svg
from dphist.report.page import Figure as PageFigure


def figure(
    chart: Drawing,
    name: str,
    text: str,
    height: int = HEIGHT,
    recolor: Callable[[Markup], Markup] | None = None,
) -> PageFigure:
    """Draw a chart as a figure of a page: see `inline_svg`.

    Parameters
    ----------
    text : what the figure shows, for its caption and for readers who do not see it.
    recolor : changes the drawing at the end.
    """
    svg = inline_svg(chart, name, text, height)
    return PageFigure(chart.title, text, svg if recolor is None else recolor(svg))
