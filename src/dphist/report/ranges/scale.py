"""Where the edges of bins stand along an axis of a figure, and what is written there."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib import dates
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, MaxNLocator

from dphist.arrays import AnyArray, FloatArray, IntArray
from dphist.release.range_histogram.picture import finite
from dphist.report.ranges.axis_texts import short_edges

_dates: Any = dates  # it has no types
_NONE = np.timedelta64(0, "D")
_TICKS = 5
_CYCLES = ((dates.MONTHLY, 12), (dates.HOURLY, 24), (dates.MINUTELY, 60), (dates.SECONDLY, 60))
_THIN = 1 / 300  # of the axis; narrower bins would not be seen
_LETTERS = 44  # of all ticks together


@dataclass(frozen=True, slots=True)
class Scale:
    """Where edges stand, and what is written there.

    Attributes
    ----------
    x : (k + 1,) float64, increasing.
    ticks, texts : what is marked.
    about : what the texts leave out, such as the year of all of them.
    """

    x: FloatArray
    ticks: list[float]
    texts: list[str]
    about: str = ""

    def label(self, name: str) -> str:
        """Return the axis' label."""
        return f"{name} ({self.about})" if self.about else name

    def apply(self, ax: Axes, axis: str = "x") -> None:
        """Set limits and ticks; texts at the ends stay within the figure."""
        low, high = float(self.x[0]), float(self.x[-1])
        if axis == "y":
            ax.set_ylim(low, high)
            ax.yaxis.set_major_locator(FixedLocator(self.ticks))
            ax.set_yticks(self.ticks, self.texts, parse_math=False)
            return
        ax.set_xlim(low, high)
        ax.set_xticks(self.ticks, self.texts, parse_math=False)
        for tick, text in zip(self.ticks, ax.get_xticklabels(), strict=True):
            part = (tick - low) / (high - low)
            text.set_horizontalalignment(
                "left" if part < 0.04 else "right" if part > 0.94 else "center"
            )


def steps_of(edges: AnyArray, most: int) -> IntArray:
    """Group neighboring bins into about `most` steps; return the places of their edges.

    Steps of hours, or of other bins that divide a day, become whole days if they are longer than
    half a day; steps of days become whole weeks if they are longer than half a week. Otherwise
    nights and weekends would draw waves.

    >>> steps_of(np.arange(0, 8760 * 3600, 3600).astype("M8[s]").astype("M8[us]"), 200)[:3]
    array([ 0, 48, 96])
    """
    bins = len(edges) - 1
    together = -(-bins // most)
    if edges.dtype.kind == "M" and together > 1:
        widths = np.diff(edges)
        day = np.timedelta64(1, "D")
        if (widths == widths[0]).all() and widths[0] <= day and day % widths[0] == _NONE:
            cycle = 7 if widths[0] == day else int(day / widths[0])
            if together > cycle / 2:
                together = -(-together // cycle) * cycle
    return np.append(np.arange(0, bins, together), bins)


def scale_of(edges: AnyArray, places: IntArray) -> Scale:
    """Return the scale of an axis of which the edges at some places are drawn.

    Edges stand where their number or date is. If a step would be too thin to be seen, or is
    infinite, all steps are drawn equally wide, with their edges written below.
    """
    drawn = edges[places]
    if edges.dtype.kind == "M":
        x = np.asarray(_dates.date2num(drawn.astype("M8[us]")), np.float64)
    else:
        x = finite(edges)[places].astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        widths = np.diff(x)
        thin = not widths[:-1].min(initial=np.inf) >= _THIN * (x[-1] - x[0])
    endless = edges.dtype.kind == "f" and not np.isfinite(edges[[0, -1]]).all()
    if thin or endless:
        return _by_place(drawn)
    if edges.dtype.kind == "M":
        return _by_date(x)
    ticks = MaxNLocator(nbins=_TICKS).tick_values(x[0], x[-1])
    inside = [float(tick) for tick in ticks if x[0] <= tick <= x[-1]]
    return Scale(x, inside, [f"{tick:.10g}" for tick in inside])


def _by_date(x: FloatArray) -> Scale:
    start, stop = _dates.num2date([float(x[0]), float(x[-1])])
    for most in (_TICKS, 2 * _TICKS):
        locator = _dates.AutoDateLocator(minticks=3, maxticks=most)
        # Its longest steps are too short for two and a half days, or years: it would warn.
        for frequency, cycle in _CYCLES:
            locator.intervald[frequency] = [*locator.intervald[frequency], cycle]
        found = np.asarray(locator.tick_values(start, stop), np.float64)
        inside = found[(x[0] <= found) & (found <= x[-1])]
        if len(inside) > 1:
            break
    formatter = _dates.ConciseDateFormatter(locator)
    texts = formatter.format_ticks(inside)
    return Scale(x, inside.tolist(), list(texts), formatter.get_offset())


def _by_place(drawn: AnyArray) -> Scale:
    """Return steps of equal width, with as many edges written as there is room for."""
    texts = short_edges(drawn)
    last = len(drawn) - 1
    room = max(_LETTERS // (max(map(len, texts)) + 2), 2)
    wanted = np.unique(np.rint(np.linspace(0, last, min(room, last + 1))).astype(int)).tolist()
    x = np.arange(last + 1, dtype=np.float64)
    return Scale(x, [float(place) for place in wanted], [texts[place] for place in wanted])
