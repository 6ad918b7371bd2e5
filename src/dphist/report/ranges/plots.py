"""A histogram over ranges as plots: its bins and their sums, or a map of two axes."""

from collections.abc import Callable
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from dphist.arrays import FloatArray, IntArray
from dphist.document.chart import NARROW
from dphist.document.counted import counted_of
from dphist.errors import ParameterError
from dphist.release.range_histogram import RangeHistogram
from dphist.release.range_histogram.picture import ERRORS, band, closed
from dphist.release.release import Release
from dphist.render.charts import (
    Drawing,
    Palette,
    Panels,
    draw_charts,
    finish,
    is_seen,
    short_number,
)
from dphist.report.nouns import nouns_of
from dphist.report.ranges.axis_texts import axis_text
from dphist.report.ranges.map import draw_map
from dphist.report.ranges.rows import sums
from dphist.report.ranges.scale import Scale, scale_of, steps_of
from dphist.report.ranges.window import window_in_words, window_of

BINS_TITLE = "Histogram"
SUMS_TITLE = "Cumulative curve"
MOST = 200  # steps that are drawn; a figure is some 400 units wide
_BAND = "95 % band"

_Draw = Callable[..., None]


def plot(release: Release) -> Panels:
    """Draw a histogram of one axis or two: see `dphist.plot`."""
    histogram: RangeHistogram = release.value
    check_plotted(histogram)
    if histogram.bins.ndim == 2:
        return draw_charts(charts_of(release), 7, 5.4)
    return draw_charts(charts_of(release), 11, 4.6)


def check_plotted(histogram: RangeHistogram) -> None:
    """Refuse a histogram that has too many axes for a plot."""
    if histogram.bins.ndim > 2:
        raise ParameterError("release", "must be of one axis or two to be plotted")


def charts_of(release: Release) -> list[Drawing]:
    """Return the charts of a page: two of one axis, one of two, none of more."""
    histogram: RangeHistogram = release.value
    nouns = nouns_of(release)
    if histogram.bins.ndim == 2:
        title = nouns(f"Records by {' and '.join(axis_text(histogram, axis) for axis in (0, 1))}")
        return [Drawing(title, lambda ax, palette: draw_map(ax, palette, histogram))]
    if histogram.bins.ndim > 2:
        return []
    places = places_of(histogram)
    scale = scale_of(histogram.edges[0], places)
    counts, errors = (part / np.diff(places) for part in sums(histogram, 0, places))
    below = np.asarray(histogram.count(0, places), np.float64)
    doubt = ERRORS * histogram.error(0, places)
    name, released = axis_text(histogram, 0), nouns(counted_of(release).released)
    window = nouns(window_in_words(histogram, 0))
    drawings: list[tuple[str, FloatArray, FloatArray, str, _Draw]] = [
        (BINS_TITLE, counts, errors, nouns("Records per bin"), _draw_bins),
        (SUMS_TITLE, below, doubt, nouns("Records below"), _draw_sums),
    ]
    charts = []
    for title, curve, error, y_name, draw in drawings:
        drawn = partial(
            draw, scale=scale, values=curve, errors=error, names=(name, y_name, released)
        )
        narrow = "" if _band_seen(curve, error) else NARROW
        charts.append(Drawing(title, drawn, " ".join(filter(None, (window, narrow)))))
    return charts


def places_of(histogram: RangeHistogram) -> IntArray:
    """Return the edges of the steps that are drawn of the only axis."""
    window = window_of(histogram, 0)
    drawn = histogram.edges[0][window.start : window.stop + 1]
    return window.start + steps_of(drawn, MOST)


def bins_a_step(histogram: RangeHistogram) -> int:
    """Return how many neighboring bins a drawn step is the mean of; the last may have fewer."""
    places = places_of(histogram)
    return int(places[1] - places[0])


def _band_seen(values: FloatArray, errors: FloatArray) -> bool:
    low, high = band(values, errors)
    bottom, top = _limits(low, high)
    return is_seen(low, high, top - bottom)


def _draw_bins(
    ax: Axes,
    palette: Palette,
    scale: Scale,
    values: FloatArray,
    errors: FloatArray,
    names: tuple[str, str, str],
) -> None:
    """Draw means with their band; `names` are those of both axes and of what was released."""
    low, high = band(values, errors)
    ax.fill_between(scale.x, closed(low), closed(high), step="post", facecolor=palette.band,
                    alpha=0.35, linewidth=0, label=_band_label(values, errors))  # fmt: skip
    ax.stairs(values, scale.x, baseline=None, color=palette.line, linewidth=1.2, label=names[2])
    if low.min() < 0:
        ax.axhline(0, color=palette.grid, linewidth=0.9)
    _finish(ax, palette, scale, low, high)
    ax.set_xlabel(scale.label(names[0]), parse_math=False)
    ax.set_ylabel(names[1])


def _draw_sums(
    ax: Axes,
    palette: Palette,
    scale: Scale,
    values: FloatArray,
    errors: FloatArray,
    names: tuple[str, str, str],
) -> None:
    """Draw how many records lie below each edge."""
    low, high = band(values, errors)
    ax.fill_between(scale.x, low, high, facecolor=palette.band, alpha=0.35, linewidth=0,
                    label=_band_label(values, errors))  # fmt: skip
    ax.plot(scale.x, values, color=palette.line, linewidth=1.6, label=names[2])
    _finish(ax, palette, scale, low, high)
    ax.set_xlabel(scale.label(names[0]), parse_math=False)
    ax.set_ylabel(names[1])


def _band_label(values: FloatArray, errors: FloatArray) -> str | None:
    """Return the legend's name of a band; None of one that cannot be seen."""
    return _BAND if _band_seen(values, errors) else None


def _limits(low: FloatArray, high: FloatArray) -> tuple[float, float]:
    bottom, top = min(float(low.min()), 0.0), max(float(high.max()), 1.0)
    margin = 0.04 * (top - bottom)
    return (bottom - margin if bottom < 0 else 0.0), top + margin


def _finish(ax: Axes, palette: Palette, scale: Scale, low: FloatArray, high: FloatArray) -> None:
    ax.set_ylim(*_limits(low, high))
    ax.yaxis.set_major_locator(MaxNLocator(nbins=5))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: short_number(value)))
    scale.apply(ax)
    finish(ax, palette)
