"""The two curves of a release with their error bands, drawn with matplotlib.

Only matplotlib's objects are used, never pyplot: nothing is registered globally, so nothing
leaks when a release is plotted in a loop, and no backend has to be chosen.
"""

import io
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from dphist.anonymized.band import Band
from dphist.data.profile import Profile
from dphist.privacy.as_text import percent
from dphist.release.release import Release
from dphist.report.anonymized.curves import Curve, counts_by_rank, labels_by_count, outline, thin
from dphist.report.what_is_counted import counted_of
from dphist.report.words import checked_release

COUNTS_TITLE = "Counts by rank"
LABELS_TITLE = "Labels by count"
_LEGEND_LETTERS = 36  # of one line of a legend; a figure of a page is some 400 units wide


@dataclass(frozen=True, slots=True)
class Palette:
    """Colours of a plot, as matplotlib reads them; None leaves the user's own style."""

    line: str = "#1f5fa8"
    band: str = "#1f5fa8"
    grid: str = "#8a94a0"
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Chart:
    """A plot: its title, and what draws it into axes."""

    title: str
    draw: Callable[[Axes, Palette], None]


@dataclass(frozen=True, slots=True)
class Panel:
    """One of the two plots: its curves, thinned, and what they are called.

    `bars` are the lower and upper curves of error bars, where the mechanism has any.
    """

    title: str
    x_label: str
    y_label: str
    lower: Curve
    released: Curve
    upper: Curve
    band_label: str
    bars: tuple[Curve, Curve] | None = None
    bars_label: str = ""
    released_label: str = "Released"


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


def plot(release: Release) -> Panels:
    """Draw both panels of a release: see `dphist.plot`."""
    checked = checked_release(release)
    layout = ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.1, wspace=0.04)
    figure = Figure(figsize=(11, 4.6), layout=layout)
    axes = figure.subplots(1, 2)
    mechanism = checked.mechanism
    bands = mechanism.band(checked), mechanism.pointwise_band(checked)
    for ax, panel in zip(
        axes, panels(checked.value, *bands, counted_of(checked).released), strict=True
    ):
        draw(ax, panel, Palette())
        add_title(ax, panel.title)
    return np.asarray(axes, object).view(Panels)


def panels(
    released: Profile, band: Band, bars: Band | None = None, name: str = "Released"
) -> tuple[Panel, Panel]:
    """Return what the two plots show, thinned; the legend calls the released curve `name`."""
    band_label = f"{percent(band.level)} " + ("band" if bars else "error band")
    bars_label = "pointwise" if bars else ""
    return (
        Panel(
            COUNTS_TITLE,
            "Rank (labels)",
            "Count (records)",
            lower=thin(counts_by_rank(band.lower)),
            released=thin(counts_by_rank(released)),
            upper=thin(counts_by_rank(band.upper)),
            band_label=band_label,
            bars=_bars(bars, counts_by_rank),
            bars_label=bars_label,
            released_label=name,
        ),
        Panel(
            LABELS_TITLE,
            "Count r (records)",
            "Labels with r records or more",
            lower=thin(labels_by_count(band.lower)),
            released=thin(labels_by_count(released)),
            upper=thin(labels_by_count(band.upper)),
            band_label=band_label,
            bars=_bars(bars, labels_by_count),
            bars_label=bars_label,
            released_label=name,
        ),
    )


def _bars(bars: Band | None, curve: Callable[[Profile], Curve]) -> tuple[Curve, Curve] | None:
    return None if bars is None else (thin(curve(bars.lower)), thin(curve(bars.upper)))


def draw(ax: Axes, panel: Panel, palette: Palette) -> None:
    """Draw one panel into axes, with limits, ticks, labels and legend but no title."""
    ax.set_xscale("log")
    ax.set_yscale("log")
    (left, right), (floor, ceiling) = _limits(panel)
    x, y = outline(panel.lower, panel.upper, floor)
    ax.fill(x, y, facecolor=palette.band, alpha=0.25, linewidth=0, label=panel.band_label)
    if panel.bars is not None:
        x, y = outline(*panel.bars, floor)
        ax.fill(x, y, facecolor=palette.band, alpha=0.45, linewidth=0, label=panel.bars_label)
    ax.plot(panel.released.x, panel.released.y, color=palette.line, linewidth=1.6,
            label=panel.released_label)  # fmt: skip
    if len(panel.released.x) == 0:
        ax.text(0.5, 0.5, "no label was released", transform=ax.transAxes, ha="center", va="center")
    for axis, (low, high) in ((ax.xaxis, (left, right)), (ax.yaxis, (floor, ceiling))):
        axis.set_major_locator(FixedLocator(log_ticks(low, high)))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(lambda value, _: short_number(value)))
    ax.set_xlim(left, right)
    ax.set_ylim(floor, ceiling)
    ax.set_xlabel(panel.x_label)
    ax.set_ylabel(panel.y_label)
    finish(ax, palette)


def finish(ax: Axes, palette: Palette, spacing: float = 1.2, right: bool = False) -> None:
    """Add grid and legend, and colour the text.

    Parameters
    ----------
    spacing : between the legend's entries, in letters.
    right : whether the legend stands above the right end of the axes.
    """
    ax.grid(visible=True, color=palette.grid, alpha=0.3, linewidth=0.7)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    # Above the axes: inside them no corner is free for every shape of curve.
    ax.legend(
        *_legend_entries(ax),
        loc="lower right" if right else "lower left",
        bbox_to_anchor=(1 if right else 0, 1),
        ncols=legend_columns(ax),
        frameon=False,
        borderpad=0,
        borderaxespad=0.4,
        handlelength=1.4,
        columnspacing=spacing,
    )
    if palette.text is not None:
        colour_text(ax, palette.text)


def log_ticks(low: float, high: float) -> list[float]:
    """Return whole numbers to mark between two limits: at most nine.

    >>> log_ticks(0.5, 40)
    [1, 2, 5, 10, 20]
    >>> log_ticks(0.5, 5000)
    [1, 10, 100, 1000]
    >>> log_ticks(0.5, 2e10)
    [1, 100, 10000, 1000000, 100000000, 10000000000]
    """
    last = max(math.floor(math.log10(high)), 0)
    if high / low < 200:
        candidates = [digit * 10**power for power in range(last + 1) for digit in (1, 2, 5)]
    else:
        step = 1 + last // 9
        candidates = [10**power for power in range(0, last + 1, step)]
    return [tick for tick in candidates if low <= tick <= high]


def short_number(value: float) -> str:
    """Write a tick's number in the width a phone has.

    >>> [short_number(n) for n in (1, 200, 1_000, 10_000_000, 10**15)]
    ['1', '200', '1k', '10M', '1000T']
    """
    for unit, letter in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k")):
        if value >= unit:
            return f"{value / unit:.0f}{letter}"
    return f"{value:.0f}"


def _limits(panel: Panel) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the limits of x and of y: all curves, with a margin in proportion.

    The bottom is a little below 1, the least count there is, and stands for zero.
    """
    drawn = (panel.released, panel.upper)
    end = max([10.0] + [float(curve.x[-1]) for curve in drawn if len(curve.x)])
    top = max([10.0] + [float(curve.y[0]) for curve in drawn if len(curve.y)])
    return (0.5, end * (2 * end) ** 0.03), (top**-0.08, top**1.05)


def legend_columns(ax: Axes) -> int:
    """Return how many entries of the legend stand side by side: fewer where they are long."""
    _, names = _legend_entries(ax)
    return 3 if sum(map(len, names)) <= _LEGEND_LETTERS else 2


def legend_rows(ax: Axes) -> int:
    """Return how many lines the legend has, at least one."""
    return max(-(-len(_legend_entries(ax)[1]) // legend_columns(ax)), 1)


def add_title(ax: Axes, title: str) -> None:
    """Add a title above the legend of an axes that was drawn."""
    ax.set_title(title, loc="left", pad=16 + 14 * legend_rows(ax), fontweight="bold")


def _legend_entries(ax: Axes) -> tuple[list[Any], list[str]]:
    """Return handles and names, the released curve first."""
    handles, names = ax.get_legend_handles_labels()
    order = sorted(range(len(names)), key=lambda i: names[i] != "Released")
    return [handles[i] for i in order], [names[i] for i in order]


def colour_text(ax: Axes, colour: str) -> None:
    """Give all text of axes a colour."""
    legend = ax.get_legend()
    texts = [*ax.texts, ax.xaxis.label, ax.yaxis.label, *(legend.get_texts() if legend else [])]
    for text in texts:
        text.set_color(colour)
    ax.tick_params(colors=colour)
    for spine in ax.spines.values():
        spine.set_edgecolor(colour)
