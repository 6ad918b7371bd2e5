"""A map of two axes: a few areas, each of one shade, so that its SVG is small."""

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch, PathPatch
from matplotlib.path import Path

from dphist.arrays import BoolArray, FloatArray, IntArray
from dphist.release.range_histogram import RangeHistogram
from dphist.release.range_histogram.picture import ERRORS, grouped
from dphist.render.charts import Palette, color_text, short_number
from dphist.report.ranges.axis_texts import axis_text
from dphist.report.ranges.rows import usual_error
from dphist.report.ranges.scale import scale_of
from dphist.report.ranges.window import window_of

CELLS = 64  # of each axis that are drawn
_SHADES = 8
_LEGEND = 4  # shades side by side


def cells_of(
    histogram: RangeHistogram,
) -> tuple[FloatArray, list[IntArray]]:
    """Return the counts of at most 64 by 64 cells, and where their edges are in each axis."""
    places, found = [], histogram.bins.astype(np.float64)
    for axis in range(histogram.bins.ndim):
        window = window_of(histogram, axis)
        ends = window.start + grouped(window.stop - window.start, CELLS)
        found = np.take(found, range(window.start, window.stop), axis=axis)
        found = np.add.reduceat(found, ends[:-1] - window.start, axis=axis)
        places.append(ends)
    return found, places


def shades_of(top: float, least: float = 1) -> list[float]:
    """Return the records a cell at which each shade begins: 1, 3, 10, 30 and so on.

    Parameters
    ----------
    least : below it, cells stay blank: noise and records look the same there.

    >>> shades_of(900), shades_of(2), shades_of(900, 8)
    ([1, 3, 10, 30, 100, 300], [1], [10, 30, 100, 300])
    """
    last = math.floor(math.log10(max(top, 1)))
    steps = [digit * 10**power for power in range(last + 1) for digit in (1, 3)]
    shown = [step for step in steps if least <= step <= max(top, 1)]
    return (shown or steps)[-_SHADES:]


def least_seen(histogram: RangeHistogram) -> float:
    """Return the error (95 %) of a usual bin with records; fewer records in a cell are no sign."""
    return ERRORS * (usual_error(histogram) or 0)


def draw_map(ax: Axes, palette: Palette, histogram: RangeHistogram) -> None:
    """Draw cells in shades of the line's color; the first axis goes to the right."""
    cells, places = cells_of(histogram)
    across, up = (scale_of(e, p) for e, p in zip(histogram.edges, places, strict=True))
    shades = shades_of(float(cells.max()), least_seen(histogram))
    level = np.searchsorted(np.array(shades, np.float64), cells, side="right")
    keys = []
    for number, least in enumerate(shades, start=1):
        strength = 0.08 + 0.92 * (number / len(shades)) ** 1.2
        area = _area(level == number, across.x, up.x)
        if area is None:
            continue
        ax.add_patch(PathPatch(area, facecolor=palette.line, alpha=strength, linewidth=0, aa=False))
        label = f"≥ {short_number(least)}"
        keys.append(Patch(facecolor=palette.line, alpha=strength, linewidth=0, label=label))
    across.apply(ax)
    up.apply(ax, "y")
    ax.set_xlabel(across.label(axis_text(histogram, 0)), parse_math=False)
    ax.set_ylabel(up.label(axis_text(histogram, 1)), parse_math=False)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(
        handles=keys, loc="lower left", bbox_to_anchor=(0, 1), ncols=_LEGEND, frameon=False,
        borderpad=0, borderaxespad=0.4, handlelength=0.8, handletextpad=0.3, columnspacing=0.7,
    )  # fmt: skip
    if palette.text is not None:
        color_text(ax, palette.text)


def _area(inside: BoolArray, x: FloatArray, y: FloatArray) -> Path | None:
    """Return the rectangles that make up an area, runs of cells joined; None if it is empty."""
    padded = np.zeros((inside.shape[0], inside.shape[1] + 2), np.int8)
    padded[:, 1:-1] = inside
    turns = np.diff(padded, axis=1)
    column, first = np.nonzero(turns == 1)
    stop = np.nonzero(turns == -1)[1]
    if len(column) == 0:
        return None
    left, right, low, high = x[column], x[column + 1], y[first], y[stop]
    corners = [(left, low), (right, low), (right, high), (left, high), (left, low)]
    vertices = np.stack([np.stack(corner, axis=1) for corner in corners], axis=1)
    codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY]
    return Path(vertices.reshape(-1, 2), np.tile(np.array(codes, np.uint8), len(column)))
