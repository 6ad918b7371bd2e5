"""A histogram over ranges as plots: its bins and their sums, or a map of two axes."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from dphist.arrays import FloatArray
from dphist.errors import ParameterError
from dphist.release.range_histogram import RangeHistogram
from dphist.release.range_histogram.picture import ERRORS, band, closed
from dphist.release.release import Release
from dphist.report.plots import Chart, Palette, Panels, draw_charts, finish, short_number
from dphist.report.ranges.axis_texts import axis_text
from dphist.report.ranges.map import draw_map
from dphist.report.ranges.rows import sums
from dphist.report.ranges.scale import Scale, scale_of, steps_of
from dphist.report.records import counted_of

BINS_TITLE = "Histogram"
SUMS_TITLE = "Cumulative curve"
MAP_TITLE = "Map"
MOST = 200  # steps that are drawn; a figure is some 400 units wide
_BAND = "95 % band"


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
        raise ParameterError("release must be of one axis or two to be plotted")


def charts_of(release: Release) -> list[Chart]:
    """Return the charts of a page: two of one axis, one of two, none of more."""
    histogram: RangeHistogram = release.value
    if histogram.bins.ndim == 2:
        return [Chart(MAP_TITLE, lambda ax, palette: draw_map(ax, palette, histogram))]
    if histogram.bins.ndim > 2:
        return []
    places = steps_of(histogram.edges[0], MOST)
    scale = scale_of(histogram.edges[0], places)
    counts, errors = (part / np.diff(places) for part in sums(histogram, 0, places))
    below = np.asarray(histogram.count(0, places), np.float64)
    doubt = ERRORS * histogram.error(0, places)
    name, released = axis_text(histogram, 0), counted_of(release).released
    return [
        Chart(
            BINS_TITLE,
            lambda ax, palette: _draw_bins(ax, palette, scale, counts, errors, name, released),
        ),
        Chart(
            SUMS_TITLE,
            lambda ax, palette: _draw_sums(ax, palette, scale, below, doubt, name, released),
        ),
    ]


def bins_a_step(histogram: RangeHistogram) -> int:
    """Return how many neighboring bins a drawn step is the mean of; the last may have fewer."""
    return int(steps_of(histogram.edges[0], MOST)[1])


def _draw_bins(
    ax: Axes,
    palette: Palette,
    scale: Scale,
    counts: FloatArray,
    errors: FloatArray,
    name: str,
    released: str,
) -> None:
    """Draw means with their band."""
    low, high = band(counts, errors)
    ax.fill_between(scale.x, closed(low), closed(high), step="post",
                    facecolor=palette.band, alpha=0.35, linewidth=0, label=_BAND)  # fmt: skip
    ax.stairs(counts, scale.x, baseline=None, color=palette.line, linewidth=1.2, label=released)
    if low.min() < 0:
        ax.axhline(0, color=palette.grid, linewidth=0.9)
    _finish(ax, palette, scale, low, high)
    ax.set_xlabel(scale.label(name), parse_math=False)
    ax.set_ylabel("Records per bin")


def _draw_sums(
    ax: Axes,
    palette: Palette,
    scale: Scale,
    below: FloatArray,
    errors: FloatArray,
    name: str,
    released: str,
) -> None:
    """Draw how many records lie below each edge."""
    low, high = band(below, errors)
    ax.fill_between(scale.x, low, high, facecolor=palette.band, alpha=0.35, linewidth=0,
                    label=_BAND)  # fmt: skip
    ax.plot(scale.x, below, color=palette.line, linewidth=1.6, label=released)
    _finish(ax, palette, scale, low, high)
    ax.set_xlabel(scale.label(name), parse_math=False)
    ax.set_ylabel("Records below")


def _finish(ax: Axes, palette: Palette, scale: Scale, low: FloatArray, high: FloatArray) -> None:
    bottom, top = min(float(low.min()), 0.0), max(float(high.max()), 1.0)
    margin = 0.04 * (top - bottom)
    ax.set_ylim(bottom - margin if bottom < 0 else 0, top + margin)
    ax.yaxis.set_major_locator(MaxNLocator(nbins=5))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: short_number(value)))
    scale.apply(ax)
    finish(ax, palette)
