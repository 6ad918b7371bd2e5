"""What all plots share: colors, limits, legends, and arrays of axes that a notebook shows.

Only matplotlib's objects are used, never pyplot. Nothing is registered globally, so plotting in a
loop leaks nothing, and no backend has to be chosen.
"""

import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from dphist.document.chart import Area, Axis, Chart, Measured, short_number
from dphist.errors import ParameterError
from dphist.render.series import LIGHT, date_ticks, distinct_names, draw_series, name_series
from dphist.sentence import fill

# Letters of a line of a legend with three entries, with two and with four: a figure of a page is
# some 400 units wide.
_LEGEND_LETTERS, _LETTERS_OF_TWO, _LETTERS_OF_FOUR = 36, 40, 24
_TICKS = 5
_STYLES: dict[str, dict[str, Any]] = {
    "solid": {"linestyle": "-"},
    "dashed": {"linestyle": "--"},
    "dotted": {"linestyle": ":"},
    "dots": {"linestyle": "none", "marker": "o"},
    "diamonds": {"linestyle": "none", "marker": "D"},
}
_MARKED: tuple[tuple[Any, str], ...] = (
    *(("-", "o"), ("--", "s"), (":", "^"), ("-.", "D")),
    *(((0, (6, 2, 1, 2, 1, 2)), "v"), ((0, (1, 3)), "x")),
)
"""How the first, second, ... marked line of a chart is drawn."""
_BLACK = "#000000"


@dataclass(frozen=True, slots=True)
class Palette:
    """Colors of a plot, as matplotlib reads them; None leaves the user's own style."""

    line: str = "#1f5fa8"
    band: str = "#1f5fa8"
    grid: str = "#8a94a0"
    text: str | None = None
    series: Sequence[str] = LIGHT


_DEFAULT = Palette()


class Panels(np.ndarray[Any, np.dtype[np.object_]]):
    """An array of axes that a notebook shows as the picture they belong to."""

    def _repr_png_(self) -> bytes | None:
        if self.size == 0:
            return None
        first: Axes = self.ravel().tolist()[0]
        figure = first.get_figure(root=True)
        if figure is None:
            return None
        picture = io.BytesIO()
        figure.savefig(picture, format="png", dpi=110)
        return picture.getvalue()


def draw_chart(
    ax: Axes, chart: Chart, slots: Mapping[str, str], palette: Palette = _DEFAULT
) -> None:
    """Draw a chart into axes, in the owner's words: all but its title.

    Axes that hold a plot keep its limits, or wider ones.
    """
    drawn = ax.has_data()
    for each, axis, scale, limits, label in (
        (chart.x, ax.xaxis, ax.set_xscale, ax.set_xlim, ax.set_xlabel),
        (chart.y, ax.yaxis, ax.set_yscale, ax.set_ylim, ax.set_ylabel),
    ):
        if drawn and each.low < each.high:
            low, high = axis.get_view_interval()
            if each.log and low <= 0:
                low = axis.get_minpos()
            each = replace(each, low=min(each.low, low), high=max(each.high, high))
        if each.log:
            scale("log")
        limits(each.low, each.high)
        left_out = _mark(axis, each)
        name = fill(each.label, slots)
        label(f"{name} ({left_out})" if left_out else name, parse_math=False)
    # Areas without a line are what is shown.
    color = palette.band if chart.lines else palette.line
    for area in chart.areas:
        _fill(ax, area, color, fill(area.name, slots) or None)
    for spans in chart.spans:
        draw = ax.hlines if spans.axis == "x" else ax.vlines
        draw(spans.places, spans.low, spans.high, color=palette.band, alpha=0.6, linewidth=3,
             label=fill(spans.name, slots))  # fmt: skip
    draw_series(ax, chart.series, palette.series)
    if chart.band:  # an entry of the legend alone: the bands have the colors of their lines
        ax.fill_between([], [], facecolor=palette.grid, alpha=0.5, linewidth=0,
                        label=fill(chart.band, slots))  # fmt: skip
    marked = [{"linestyle": dashes, "marker": mark} for dashes, mark in _MARKED]
    for line in chart.lines:
        style = marked.pop(0) if line.style == "marked" else _STYLES[line.style]
        color = palette.grid if chart.series else palette.line
        if line.style == "diamonds":
            color = palette.band
        ax.plot(line.x, line.y, **style, color=color,
                markersize=8 if line.style == "diamonds" else 5,
                linewidth=1.2 if line.style == "dashed" else 1.6,
                label=fill(line.name, slots))  # fmt: skip
    for measured in chart.measured:
        _plot(ax, measured, measured.color or palette.text or _BLACK)
    if not chart.y.log and chart.y.low < 0 and not chart.series:
        ax.axhline(0, color=palette.grid, linewidth=0.9, zorder=1)
    if chart.empty:
        ax.text(
            0.5, 0.5, fill(chart.empty, slots), transform=ax.transAxes, ha="center", va="center"
        )
    _finish(ax, palette, right=not isinstance(chart.y.ticks, str))  # texts stand on the left
    if chart.series:
        name_series(ax, chart.series, palette.series, palette.grid)


def _mark(axis: Any, declared: Axis) -> str:
    """Mark places along an axis, with texts; return what all texts leave out, such as the year."""
    low, high, left_out = declared.low, declared.high, ""
    if declared.log:
        axis.set_major_locator(FixedLocator(log_ticks(low, high, declared.whole)))
        axis.set_minor_locator(NullLocator())
    if declared.ticks == "in short":
        if not declared.log:
            axis.set_major_locator(MaxNLocator(nbins=_TICKS, integer=declared.whole))
        axis.set_major_formatter(FuncFormatter(lambda value, _: short_number(value)))
        return ""
    if not isinstance(declared.ticks, str):
        places = [place for place, _ in declared.ticks]
        texts = distinct_names([text for _, text in declared.ticks])
    elif declared.ticks == "dates":
        places, texts, left_out = date_ticks(low, high, _TICKS)
    else:
        found = MaxNLocator(nbins=_TICKS).tick_values(low, high)
        places = [float(place) for place in found if low <= place <= high]
        texts = [f"{place:.10g}" for place in places]
    axis.set_ticks(places, texts, parse_math=False)
    if axis.axis_name == "x":  # texts at the ends stay within the figure
        for place, text in zip(places, axis.get_ticklabels(), strict=True):
            part = (place - low) / (high - low)
            if declared.log:
                part = math.log(place / low) / math.log(high / low)
            side = "left" if part < 0.04 else "right" if part > 0.94 else "center"
            text.set_horizontalalignment(side)
    return left_out


def _fill(ax: Axes, area: Area, color: str, name: str | None) -> None:
    """Draw one polygon, or several that touch: their edges would show if they were smoothed."""
    style: Any = {"facecolor": color, "alpha": area.strength, "linewidth": 0, "label": name}
    if area.x.ndim == 1:
        ax.fill(area.x, area.y, **style)
        return
    corners = np.stack([area.x, area.y], axis=2)
    closed = np.concatenate([corners, corners[:, :1]], axis=1)
    codes = [Path.MOVETO, *[Path.LINETO] * (corners.shape[1] - 1), Path.CLOSEPOLY]
    path = Path(closed.reshape(-1, 2), np.tile(np.array(codes, np.uint8), len(corners)))
    ax.add_patch(PathPatch(path, aa=False, **style))


def _plot(ax: Axes, measured: Measured, color: str) -> None:
    """Draw measured points with their bars."""
    ax.errorbar(
        measured.x,
        measured.y,
        yerr=np.abs(np.stack([measured.low, measured.high]) - measured.y),
        label=measured.name.replace("$", r"\$"),  # no part of it is a formula
        color=color,
        linestyle=(0, (4, 2)) if measured.dashed else "-",
        linewidth=2.6 if measured.strong else 1.5,
        marker="D" if measured.strong else "s" if measured.dashed else "o",
        markersize=6 if measured.strong else 4,
        markerfacecolor="none" if measured.dashed else color,
        zorder=3 if measured.strong else 2,
        capsize=2.5,
        elinewidth=1,
    )


def draw_figure(
    charts: Sequence[Chart],
    slots: Mapping[str, str],
    size: tuple[float, float] = (7, 4.6),
    *,
    beside: bool = False,
) -> Panels:
    """Draw charts into a new figure, each below its title: one below the other, or side by side.

    Parameters
    ----------
    size : width and height of one chart, in inches.
    """
    rows, columns = (1, len(charts)) if beside else (len(charts), 1)
    layout = ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.1, wspace=0.04, hspace=0.04)
    figure = Figure(figsize=(columns * size[0], rows * size[1]), layout=layout)
    panels: Panels = draw_into(charts, slots, figure.subplots(rows, columns, squeeze=False).ravel())
    return panels


def draw_into(charts: Sequence[Chart], slots: Mapping[str, str], ax: Any) -> Any:
    """Draw charts into axes of the caller's, each below its title, and return the axes.

    Parameters
    ----------
    ax : Axes, for the first chart, or a sequence of Axes, one for each chart.
    """
    alone = isinstance(ax, Axes)
    axes = [ax] if alone else list(np.asarray(ax, object).ravel())
    if not all(isinstance(each, Axes) for each in axes):
        raise ParameterError("ax", "must be matplotlib Axes, or a sequence of them")
    if not alone and len(axes) != len(charts):
        raise ParameterError(
            "ax", f"must be Axes, or a sequence of {len(charts)}, one for each plot"
        )
    for each, chart in zip(axes, charts, strict=False):
        draw_chart(each, chart, slots)
        pad = 16 + 15 * legend_rows(each)  # above the legend
        each.set_title(fill(chart.title, slots), loc="left", pad=pad, fontweight="bold")
    return ax if alone else np.asarray(axes, object).view(Panels)


def _finish(ax: Axes, palette: Palette, right: bool) -> None:
    """Add grid and legend, and color the text.

    Parameters
    ----------
    right : whether the legend stands above the right end of the axes.
    """
    ax.grid(visible=True, color=palette.grid, alpha=0.3, linewidth=0.7)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    handles, names = ax.get_legend_handles_labels()
    entries = sorted(zip(handles, names, strict=True), key=lambda entry: entry[1] != "Released")
    # Above the axes: inside them no corner is free for every shape of curve.
    legend = ax.legend(
        [handle for handle, _ in entries],
        [name for _, name in entries],
        loc="lower right" if right else "lower left",
        bbox_to_anchor=(1 if right else 0, 1),
        ncols=_legend_columns(names),
        frameon=False,
        borderpad=0,
        borderaxespad=0.4,
        handlelength=1.4,
        columnspacing=1.2,
    )
    if palette.text is None:
        return
    for text in (*ax.texts, ax.xaxis.label, ax.yaxis.label, *legend.get_texts()):
        text.set_color(palette.text)
    ax.tick_params(colors=palette.text)
    for spine in ax.spines.values():
        spine.set_edgecolor(palette.text)


def log_ticks(low: float, high: float, whole: bool = True) -> list[float]:
    """Return numbers to mark between two limits: at most nine or so.

    Parameters
    ----------
    whole : whether only whole numbers are marked.

    >>> log_ticks(0.5, 40)
    [1, 2, 5, 10, 20]
    >>> log_ticks(0.5, 5000)
    [1, 10, 100, 1000]
    >>> log_ticks(0.5, 2e10)
    [1, 100, 10000, 1000000, 100000000, 10000000000]
    >>> log_ticks(0.015, 0.3, whole=False)
    [0.02, 0.05, 0.1, 0.2]
    """
    first = 0 if whole else math.floor(math.log10(low))
    last = max(math.floor(math.log10(high)), first)
    if high / low < 200:
        candidates = [digit * 10**power for power in range(first, last + 1) for digit in (1, 2, 5)]
    else:
        step = 1 + (last - first) // 9
        candidates = [10**power for power in range(first, last + 1, step)]
    return [tick for tick in candidates if low <= tick <= high]


def _legend_columns(names: Sequence[str]) -> int:
    """Return how many entries of the legend stand side by side: fewer where they are long."""
    if len(names) > 3 and sum(sorted(map(len, names))[-4:]) <= _LETTERS_OF_FOUR:
        return 4
    if sum(map(len, names)) <= _LEGEND_LETTERS:
        return 3
    return 2 if sum(sorted(map(len, names))[-2:]) <= _LETTERS_OF_TWO else 1


def legend_rows(ax: Axes) -> int:
    """Return how many lines the legend has, at least one."""
    legend = ax.get_legend()
    if legend is None:
        return 1
    columns: int = legend._ncols  # type: ignore[attr-defined]
    return max(-(-len(legend.get_texts()) // columns), 1)
