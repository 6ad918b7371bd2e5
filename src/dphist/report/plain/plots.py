"""The largest counts of a release with their intervals, as a plot."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from dphist.errors import ParameterError
from dphist.release.release import Release
from dphist.render.charts import (
    Drawing,
    Palette,
    Panels,
    draw_charts,
    finish,
    say_empty,
    short_number,
)
from dphist.render.ticks import distinct_names
from dphist.report.plain.rows import Row, counts_of, rows_of

TITLE = "First labels"
_ROWS = 20


def plot(release: Release) -> Panels:
    """Draw the counts of the first labels: see `dphist.plot`."""
    return draw_charts([chart_of(release)], 6.5, 5.4)


def chart_of(release: Release) -> Drawing:
    """Return the chart of a release with counts: one line a label, in the order released."""
    if counts_of(release) is None:
        raise ParameterError(
            "release", "must hold counts to be plotted; this one holds ranked labels alone"
        )
    rows = rows_of(release, _ROWS)
    return Drawing(TITLE, lambda ax, palette: _draw(ax, palette, rows))


def _draw(ax: Axes, palette: Palette, rows: list[Row]) -> None:
    places = np.arange(len(rows))
    if rows and rows[0].low is not None:
        low = np.array([row.low for row in rows], np.float64)
        high = np.array([row.high for row in rows], np.float64)
        ax.hlines(places, low, high, color=palette.band, alpha=0.6, linewidth=3,
                  label="95 % interval")  # fmt: skip
    counts = np.array([row.count for row in rows], np.float64)
    ax.plot(counts, places, "o", color=palette.line, markersize=5, label="Released")
    ax.set_yticks(places, distinct_names([row.label or "" for row in rows]), parse_math=False)
    ax.set_ylim(max(len(rows), 4) - 0.4, -0.6)
    ax.xaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: short_number(value)))
    ax.set_xlabel("Count")
    if not rows:
        say_empty(ax)
    finish(ax, palette, spacing=1.0, right=bool(rows))
    ax.tick_params(axis="y", length=0)
    ax.grid(visible=False, axis="y")
