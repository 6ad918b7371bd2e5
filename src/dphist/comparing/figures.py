"""A comparison in a picture: error against epsilon, and error against time."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from dphist.comparing import drawing
from dphist.comparing.case import Measure
from dphist.comparing.comparison import ComparedRow, Comparison, Style
from dphist.comparing.text import capital
from dphist.render.charts import Panels, say_empty

_BARS = 2  # standard errors, to both sides
_WIDTH, _HEIGHT = 11, 4.4


def draw(comparison: Comparison, measure: Measure) -> Panels:
    """Draw both panels into a new figure."""
    figure = drawing.new_figure(_WIDTH, _HEIGHT)
    axes = figure.subplots(1, 2, squeeze=False)[0]
    rows = comparison.of(measure.name)
    lines = lines_of(comparison, rows)
    name = capital(measure.name)
    titles = (f"{name} against ε", f"{name} against time")
    for ax, title, by_time in zip(axes, titles, (False, True), strict=True):
        drawing.clean(ax, title)
        draw_panel(ax, lines, measure, by_time=by_time)
    if rows:
        drawing.legend(figure, [style for style, _ in lines], _style)
    return np.asarray(axes, object).view(Panels)


def _style(style: Style) -> dict[str, Any]:
    """Return how a mechanism is drawn."""
    drawn = drawing.line_style(style)
    if style.stands_out:
        drawn |= {"linewidth": 2.6, "marker": "D", "markersize": 6, "zorder": 3}
    return drawn


def lines_of(
    comparison: Comparison, rows: Sequence[ComparedRow]
) -> list[tuple[Style, list[ComparedRow]]]:
    """Return the rows of each mechanism that has any, by epsilon."""
    found = []
    for style in comparison.styles:
        mine = [row for row in rows if row.mechanism == style.name]
        if mine:
            found.append((style, sorted(mine, key=lambda row: row.epsilon)))
    return found


def draw_panel(
    ax: Axes,
    lines: Sequence[tuple[Style, Sequence[ComparedRow]]],
    measure: Measure,
    *,
    by_time: bool,
) -> None:
    """Draw errors with bars of two standard errors; on logarithmic axes, where 0 has no place."""
    seen = [row for _, rows in lines for row in rows if row.error > 0]
    if not seen:
        say_empty(ax)
        return
    for style, rows in lines:
        mine = [row for row in rows if row.error > 0]
        if not mine:
            continue
        drawn = _style(style)
        if by_time:
            drawn["linewidth"] *= 0.55
        x = [row.seconds if by_time else float(row.epsilon) for row in mine]
        errors = [row.error for row in mine]
        bars = [_BARS * (row.standard_error or 0) for row in mine]
        below = [min(bar, 0.99 * error) for bar, error in zip(bars, errors, strict=True)]
        ax.errorbar(
            x,
            errors,
            yerr=[below, bars],
            capsize=2.5,
            elinewidth=1,
            label=drawing.plain(style.name),
            **drawn,
        )
    drawing.log_y_axis(ax, _reached(seen))
    ax.set_ylabel(f"{capital(measure.name)}, {measure.unit}")
    if by_time:
        drawing.time_axis(ax, (row.seconds for row in seen))
        ax.set_xlabel("Seconds of a release (median)")
    else:
        drawing.epsilon_axis(ax, {float(row.epsilon) for row in seen})
        ax.set_xlabel("ε")


def _reached(rows: Sequence[ComparedRow]) -> list[float]:
    """Return the errors, and the ends of bars that are not far below."""
    ends = [row.error + _BARS * (row.standard_error or 0) for row in rows]
    low = [max(row.error - _BARS * (row.standard_error or 0), row.error / 3) for row in rows]
    return [*ends, *low]
