"""Released labels with their intervals and the threshold, as plots."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from dphist.arrays import FloatArray
from dphist.document.counted import Counted
from dphist.errors import ParameterError
from dphist.labels import DiscoverLabels
from dphist.release.release import Release
from dphist.render.charts import (
    Drawing,
    Palette,
    Panels,
    draw_charts,
    finish,
    log_ticks,
    say_empty,
    short_number,
)
from dphist.report.labels.appearance import half_width
from dphist.report.labels.counted import counted_of
from dphist.report.labels.order import chance_in_order, sure_difference
from dphist.report.labels.rows import Row, least_count, rows_of
from dphist.report.labels.words import mechanism_of, threshold_base
from dphist.report.labels_shown import distinct_names
from dphist.report.nouns import Nouns, nouns_of

LARGEST_TITLE = "Largest counts"
ALL_TITLE = "All released counts"
ORDER_TITLE = "How sure the order is"
LARGEST = 20  # labels that are drawn by name
_POINTS = 400  # ranks that are drawn; a figure is some 400 units wide
_NARROW = 10  # a logarithmic axis needs a range of more than this factor


def plot(release: Release) -> Panels:
    """Draw both charts, or how sure a ranking is: see `dphist.plot`."""
    charts = charts_of(release)
    return draw_charts(charts, 6, 4.6) if len(charts) == 1 else draw_charts(charts, 11, 5.4)


def charts_of(release: Release) -> tuple[Drawing, ...]:
    """Return the two charts of a release with counts, or the one of a ranking."""
    if isinstance(release.mechanism, DiscoverLabels):
        raise ParameterError(
            "release", "must hold counts or a ranking to be plotted; this one holds labels alone"
        )
    if release.value.counts is None:
        return (order_chart(release),)
    rows = rows_of(release, LARGEST)
    counts = release.value.counts.astype(np.float64)
    width, least = half_width(mechanism_of(release)), least_count(release)
    threshold, of, nouns = _threshold(release), counted_of(release), nouns_of(release)
    return (
        Drawing(
            LARGEST_TITLE,
            lambda ax, palette: _draw_largest(ax, palette, rows, threshold, of, nouns),
        ),
        Drawing(
            ALL_TITLE,
            lambda ax, palette: _draw_all(ax, palette, counts, width, least, threshold, of, nouns),
        ),
    )


def order_chart(release: Release) -> Drawing:
    """Return the chart of how sure the order of two labels is."""
    mechanism, nouns = mechanism_of(release), nouns_of(release)
    sure = sure_difference(mechanism)
    apart = np.linspace(0, 2 * sure, 100)
    chances = np.array([chance_in_order(mechanism, gap) for gap in apart])

    def draw(ax: Axes, palette: Palette) -> None:
        ax.plot(apart, 100 * chances, color=palette.line, linewidth=1.6,
                label="Chance of the right order")  # fmt: skip
        ax.plot([sure, sure, 0], [0, 95, 95], color=palette.line, linestyle="--", linewidth=1.2,
                label="95 %")  # fmt: skip
        ax.set_xlim(0, 2.06 * sure)  # the last number stays within the figure
        ax.set_ylim(45, 100.5)
        ax.xaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: short_number(value)))
        ax.set_xlabel(nouns("Difference of two counts (records)"))
        ax.set_ylabel("Chance (%)")
        finish(ax, palette)

    return Drawing(ORDER_TITLE, draw)


def _threshold(release: Release) -> float | None:
    """Return the threshold if it is a count; one above another noisy count cannot be drawn."""
    mechanism = mechanism_of(release)
    threshold = mechanism.threshold
    if threshold is None or threshold_base(mechanism) != "zero":
        return None
    return float(threshold)


def _draw_largest(
    ax: Axes,
    palette: Palette,
    rows: list[Row],
    threshold: float | None,
    of: Counted,
    nouns: Nouns,
) -> None:
    """Draw one line a label: released count and interval."""
    counts = np.array([row.count for row in rows], np.float64)
    low = np.array([row.low for row in rows], np.float64)
    high = np.array([row.high for row in rows], np.float64)
    places = np.arange(len(rows))
    ax.hlines(places, np.minimum(low, counts), high, color=palette.band, alpha=0.6, linewidth=3,
              label="95 % interval")  # fmt: skip
    ax.plot(counts, places, "o", color=palette.line, markersize=5, label=nouns(of.released))
    if threshold is not None:
        ax.axvline(threshold, color=palette.line, linestyle="--", linewidth=1.2,
                   label="Threshold")  # fmt: skip
    names = distinct_names([row.label or "" for row in rows])
    ax.set_yticks(places, names, parse_math=False)
    ax.set_ylim(max(len(rows), 4) - 0.4, -0.6)
    _scale(ax, "x", np.concatenate([low, high, counts, _present(threshold)]))
    ax.set_xlabel(nouns(f"Count (records{of.after})"))
    _finish(ax, palette, len(rows))
    ax.tick_params(axis="y", length=0)
    ax.grid(visible=False, axis="y")


def _draw_all(
    ax: Axes,
    palette: Palette,
    counts: FloatArray,
    width: int,
    least: int,
    threshold: float | None,
    of: Counted,
    nouns: Nouns,
) -> None:
    """Draw released counts over their rank."""
    last = max(len(counts), 1)
    ranks = np.unique(np.geomspace(1, last, _POINTS).astype(np.int64))[: len(counts)]
    drawn = counts[ranks - 1] if len(counts) else counts
    low, high = np.maximum(drawn - width, least), np.maximum(drawn + width, least)
    few = len(counts) <= 2 * LARGEST
    if few:
        ax.vlines(ranks, low, high, color=palette.band, alpha=0.6, linewidth=3,
                  label="95 % interval")  # fmt: skip
    else:
        ax.fill_between(ranks, low, high, facecolor=palette.band, alpha=0.3, linewidth=0,
                        label="95 % interval")  # fmt: skip
    ax.plot(ranks, drawn, "o" if few else "-", color=palette.line, markersize=5, linewidth=1.6,
            label=nouns(of.released))  # fmt: skip
    if threshold is not None:
        ax.axhline(threshold, color=palette.line, linestyle="--", linewidth=1.2,
                   label="Threshold")  # fmt: skip
    _scale(ax, "y", np.concatenate([low, high, drawn, _present(threshold)]))
    _scale(ax, "x", np.array([0.8, 1.25 * last]), ticks_from=1)
    ax.set_xlabel(nouns("Rank (labels)"))
    ax.set_ylabel(nouns(f"Count (records{of.after})"))
    _finish(ax, palette, len(counts))


def _present(threshold: float | None) -> FloatArray:
    return np.array([] if threshold is None else [threshold], np.float64)


def _scale(ax: Axes, name: str, values: FloatArray, ticks_from: float = 0) -> None:
    """Set limits and ticks of an axis, logarithmic if all values are positive and far apart."""
    axis = ax.xaxis if name == "x" else ax.yaxis
    low, high = (values.min(), values.max()) if len(values) else (0.0, 1.0)
    limits = ax.set_xlim if name == "x" else ax.set_ylim
    if low > 0 and high > _NARROW * low:
        (ax.set_xscale if name == "x" else ax.set_yscale)("log")
        low, high = (low, high) if ticks_from else (low / 1.2, high * 1.2)
        axis.set_major_locator(FixedLocator(log_ticks(max(low, 0.5), high)))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(lambda value, _: short_number(value)))
        limits(low, high)
        return
    margin = 0.08 * max(high - low, 1)
    limits(low - margin, high + margin)
    axis.set_major_locator(MaxNLocator(nbins=5, integer=True))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))


def _finish(ax: Axes, palette: Palette, rows: int) -> None:
    if not rows:
        say_empty(ax)
    named = not ax.get_ylabel()  # ticks on the left are labels
    finish(ax, palette, spacing=1.0, right=named and bool(ax.get_yticklabels()[:1]))
