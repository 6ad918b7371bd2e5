"""Running counts over the events of a stream, with error bands, as a plot."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator
from rich.cells import cell_len

from dphist.release.release import Release
from dphist.render.charts import (
    Drawing,
    Palette,
    Panels,
    draw_charts,
    finish,
    is_seen,
    say_empty,
    short_number,
)
from dphist.render.text_table import in_columns
from dphist.render.tick_names import numbered
from dphist.report.nouns import nouns_of
from dphist.report.streams.colors import DASHES, LIGHT
from dphist.report.streams.counted import counted_by
from dphist.report.streams.lines import Line, apart, lines_of
from dphist.report.streams.rows import least_count
from dphist.report.streams.words import mechanism_of, threshold_of
from dphist.visible import harmless

FloatArray = npt.NDArray[np.float64]

TITLE = "Running counts"
_COLUMNS = 14  # of a label beside its line
_LEADER, _LETTER = 0.07, 0.034  # room for names, as parts of the time that is drawn
_GAP = 0.062  # between two labels, as a part of the height
_FEW = 12  # readings up to which each is marked


def plot(release: Release) -> Panels:
    """Draw the running counts of a stream: see `dphist.plot`."""
    return draw_charts([chart_of(release)], 8, 5)


def chart_of(release: Release, colors: Sequence[str] = LIGHT) -> Drawing:
    """Return the chart of a release: the lines of its top labels, in these colors."""
    lines = lines_of(release)
    threshold = threshold_of(release)
    limit = None if threshold is None else float(threshold)
    mechanism, end = mechanism_of(release), float(release.value.times[-1])
    of = counted_by(mechanism, release.provenance)
    nouns, name = nouns_of(release), None
    if band_seen(release):
        name = nouns(f"95 % band, {of.who}" if of.who else "95 % band")
    least, labels = least_count(release), (nouns("Time (events)"), nouns("Count (events)"))
    return Drawing(
        TITLE,
        lambda ax, palette: _draw(
            ax, palette, lines, limit, end, least, tuple(colors), name, labels
        ),
    )


def band_seen(release: Release) -> bool:
    """Whether the band of any line can be told from it."""
    lines, threshold = lines_of(release), threshold_of(release)
    limits = _limits(lines, None if threshold is None else float(threshold), least_count(release))
    span = limits[1] - limits[0]
    return any(
        is_seen(line.low[there], line.high[there], span)
        for line in lines
        for there in [np.isfinite(line.low)]
    )


def _draw(
    ax: Axes,
    palette: Palette,
    lines: list[Line],
    threshold: float | None,
    end: float,
    least: int | None,
    colors: tuple[str, ...],
    band: str | None,
    labels: tuple[str, str],
) -> None:
    bottom, top = _limits(lines, threshold, least)
    for line, color, dashes in zip(lines, colors, DASHES, strict=False):
        _draw_line(ax, line, color, dashes)
    # Entries of the legend alone: the bands have the colors of their lines.
    if lines and band is not None:
        ax.fill_between([], [], facecolor=palette.grid, alpha=0.5, linewidth=0, label=band)
    if threshold is not None:
        ax.plot([0, end], [threshold] * 2, color=palette.grid, linestyle="--", linewidth=1.2,
                label="Threshold")  # fmt: skip
    if not lines:
        say_empty(ax)
    ax.set_ylim(bottom, top)
    names = numbered(
        [in_columns(harmless(line.label, _COLUMNS), _COLUMNS).rstrip() for line in lines]
    )
    _scale(ax, end, _LEADER + _LETTER * max(map(cell_len, names), default=0))
    ax.set_xlabel(labels[0])
    ax.set_ylabel(labels[1])
    finish(ax, palette)
    _draw_grid(ax, palette, end)
    _draw_names(ax, lines, names, colors, end)


def _draw_line(ax: Axes, line: Line, color: str, dashes: object) -> None:
    ax.fill_between(line.times, line.low, line.high, facecolor=color, alpha=0.15, linewidth=0)
    ax.plot(line.times, line.counts, color=color, linestyle=dashes, linewidth=1.7)
    marked = np.isfinite(line.counts) if len(line.times) <= _FEW else line.alone
    ax.plot(line.times[marked], line.counts[marked], "o", color=color, markersize=3.5)
    # A band of one reading has no width.
    alone = line.alone
    ax.vlines(line.times[alone], line.low[alone], line.high[alone], color=color, alpha=0.3,
              linewidth=3)  # fmt: skip


def _limits(lines: list[Line], threshold: float | None, least: int | None) -> tuple[float, float]:
    """Return the limits of the counts, all bands and the threshold among them."""
    highs = [line.high[np.isfinite(line.high)].max() for line in lines]
    lows = [line.low[np.isfinite(line.low)].min() for line in lines]
    top = max([1.0, *highs, *([] if threshold is None else [threshold])])
    bottom = min([0.0, *lows])
    margin = 0.04 * (top - bottom)
    return bottom - margin if bottom < 0 else 0.0, top + margin


def _scale(ax: Axes, end: float, names: float) -> None:
    """Set the limits and ticks; to the right of the last reading there is room for names."""
    last = max(end, 1.0)
    ax.set_xlim(0, last * (1 + names))
    ticks = MaxNLocator(nbins=4, integer=True).tick_values(0, last)
    ax.xaxis.set_major_locator(FixedLocator([tick for tick in ticks if 0 <= tick <= last]))
    ax.yaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: short_number(value)))


def _draw_grid(ax: Axes, palette: Palette, end: float) -> None:
    """Draw the grid as far as the last reading, not behind the names."""
    ax.grid(visible=False)
    low, high = ax.get_ylim()
    style: dict[str, Any] = {"color": palette.grid, "alpha": 0.3, "linewidth": 0.7, "zorder": 0.5}
    last = max(end, 1.0)
    ax.hlines([tick for tick in ax.get_yticks() if low <= tick <= high], 0, last, **style)
    ax.vlines(ax.get_xticks(), low, high, **style)
    ax.spines["bottom"].set_bounds(0, last)


def _draw_names(
    ax: Axes, lines: list[Line], names: list[str], colors: tuple[str, ...], end: float
) -> None:
    """Write each label at the end of its line, moved where two would overlap, with a leader."""
    if not lines:
        return
    low, high = ax.get_ylim()
    height, last = high - low, max(end, 1.0)
    shown = [np.flatnonzero(np.isfinite(line.counts))[-1] for line in lines]
    ends = [line.counts[at] for line, at in zip(lines, shown, strict=True)]
    gap = _GAP * height
    places = apart(np.array(ends, np.float64), gap, low + gap / 2, high)
    each = zip(lines, names, shown, ends, places, colors, strict=False)
    for line, name, at, y, place, color in each:
        start = line.times[at]
        corners = [start, last * 1.015, last * 1.045], [y, y if start == end else place, place]
        ax.plot(*corners, color=color, linewidth=0.7, alpha=0.8)
        ax.text(last * 1.055, place, name, color=color, va="center", parse_math=False)
