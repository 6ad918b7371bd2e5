"""Plots of a released histogram: steps for one axis, a map for two."""

from typing import TYPE_CHECKING, Any

import numpy as np

from dphist.errors import UnsupportedError
from dphist.visible import visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dphist.release.range_histogram.value import RangeHistogram

ERRORS = 1.96
"""Half width of a 95 % interval, in standard errors."""

_INK = "#1f4e79"
_MOST_STEPS = 2000
MOST_CELLS = 1000


def draw(
    histogram: "RangeHistogram",
    ax: "Axes | None" = None,
    color: str | None = None,
    label: str | None = None,
) -> "Axes":
    """Draw the bins of one axis as steps with a 95 % band, those of two axes as a map.

    More than 2,000 bins of one axis, or 1,000 of each of two, are drawn in groups with the error
    of the group's sum.
    """
    import matplotlib.pyplot as plt

    if histogram.bins.ndim > 2:
        raise UnsupportedError("a histogram of more than two axes cannot be drawn")
    if ax is None:
        _, ax = plt.subplots(layout="constrained")
    if histogram.bins.ndim == 1:
        _steps(histogram, ax, _INK if color is None else color, label or "released")
    else:
        _map(histogram, ax)
    return ax


def _steps(histogram: "RangeHistogram", ax: "Axes", color: str, label: str) -> None:
    places = grouped(len(histogram.bins))
    edges = finite(histogram.edges[0])[places]
    lo, hi = places[:-1], places[1:]
    if histogram.answers is None:
        counts = np.add.reduceat(histogram.bins, lo)
    else:
        counts = histogram.count(lo, hi)
        low, high = band(counts, ERRORS * histogram.error(lo, hi))
        ax.fill_between(
            edges,
            closed(low),
            closed(high),
            step="post",
            color=color,
            alpha=0.2,
            linewidth=0,
            label="95 % of bins",
        )
    ax.stairs(counts, edges, color=color, linewidth=1, label=label)
    ax.set_xlabel(_name(histogram, 0) if histogram.has_edges else "bin", parse_math=False)
    ax.set_ylabel("records" if len(lo) == len(histogram.bins) else "records a group of bins")
    ax.margins(x=0)
    _short_dates(ax.xaxis, edges)


def _map(histogram: "RangeHistogram", ax: "Axes") -> None:
    from matplotlib.colors import SymLogNorm

    places = [grouped(size, MOST_CELLS) for size in histogram.bins.shape]
    x, y = (finite(e)[p] for e, p in zip(histogram.edges, places, strict=True))
    cells = histogram.bins
    for axis, ends in enumerate(places):
        cells = np.add.reduceat(cells, ends[:-1], axis=axis)
    top = max(float(cells.max()), 1.0)
    low = min(float(cells.min()), 0.0)
    norm = SymLogNorm(linthresh=1, vmin=low, vmax=top)
    drawn = ax.pcolormesh(x, y, cells.T, norm=norm, cmap="viridis", rasterized=True)
    ax.figure.colorbar(drawn, ax=ax, label="records a cell")
    before = "" if histogram.has_edges else "bin of axis "
    ax.set_xlabel(before + _name(histogram, 0), parse_math=False)
    ax.set_ylabel(before + _name(histogram, 1), parse_math=False)
    _short_dates(ax.xaxis, x)
    _short_dates(ax.yaxis, y)


def _name(histogram: "RangeHistogram", axis: int) -> str:
    return visible(histogram.axis_name(axis))


def _short_dates(axis: Any, edges: "np.ndarray[Any, Any]") -> None:
    """Label an axis of dates so that the labels do not overlap."""
    from matplotlib import dates

    ticks: Any = dates  # matplotlib has no types for these
    if edges.dtype.kind == "M":
        locator = ticks.AutoDateLocator()
        axis.set_major_locator(locator)
        axis.set_major_formatter(ticks.ConciseDateFormatter(locator))


def grouped(bins: int, most: int = _MOST_STEPS) -> "np.ndarray[Any, np.dtype[np.int64]]":
    """Return the edge indices, (k + 1,) int64, of at most `most` groups of adjacent bins."""
    groups = -(-bins // most)
    return np.append(np.arange(0, bins, groups), bins)


def finite(edges: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
    """Return the edges with finite ends: an unbounded bin is drawn as wide as its neighbor."""
    if edges.dtype.kind != "f" or len(edges) < 3:
        return edges
    shown = edges.copy()
    if np.isinf(shown[0]):
        shown[0] = shown[1] - (1.0 if np.isinf(shown[2]) else shown[2] - shown[1])
    if np.isinf(shown[-1]):
        shown[-1] = shown[-2] + (shown[-2] - shown[-3])
    return shown


def band(
    counts: "np.ndarray[Any, Any]", errors: "np.ndarray[Any, Any]"
) -> tuple["np.ndarray[Any, Any]", "np.ndarray[Any, Any]"]:
    """Return both ends of a band, cut at 0: true counts are never negative."""
    return np.maximum(counts - errors, np.minimum(counts, 0)), counts + errors


def closed(values: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
    """Return the values of steps with the last one repeated, as filling needs."""
    return np.append(values, values[-1])
