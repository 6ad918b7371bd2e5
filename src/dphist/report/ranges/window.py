"""Which part of an axis is drawn: all of it, or the part that holds nearly all records.

The choice is a function of released counts. Data on a long axis often lie at one end, and a figure
of the whole axis would be empty for the most part.
"""

from dataclasses import dataclass

import numpy as np

from dphist.release.range_histogram import RangeHistogram
from dphist.report.ranges.axis_texts import axis_text, short_edges

_LEFT_OUT = 0.0025  # of the records, at each end
_PART = 0.4  # of the axis; if they need more, all of it is drawn
_LEAST = 12  # bins that are drawn at least


@dataclass(frozen=True, slots=True)
class Window:
    """Bins of an axis from `start` up to, not including, `stop`; `whole` if these are all."""

    start: int
    stop: int
    whole: bool


def window_of(histogram: RangeHistogram, axis: int) -> Window:
    """Return the bins of an axis that are drawn.

    >>> window_of(RangeHistogram(np.array([5, 5] + [0] * 98)), 0)
    Window(start=0, stop=12, whole=False)
    """
    bins = histogram.bins.shape[axis]
    others = tuple(a for a in range(histogram.bins.ndim) if a != axis)
    counts = np.maximum(histogram.bins.sum(axis=others, dtype=np.float64), 0)
    total = counts.sum()
    if not total > 0:
        return Window(0, bins, True)
    below = np.cumsum(counts) / total
    start = int(np.searchsorted(below, _LEFT_OUT, side="right"))
    stop = min(int(np.searchsorted(below, 1 - _LEFT_OUT)) + 1, bins)
    margin = max((stop - start) // 10, (_LEAST - (stop - start) + 1) // 2, 1)
    if start > 0:
        start = max(start - margin, 0)
    stop = min(max(stop + margin, start + _LEAST), bins)
    if stop - start > _PART * bins:
        return Window(0, bins, True)
    return Window(start, stop, False)


def window_in_words(histogram: RangeHistogram, axis: int) -> str:
    """Say which part of an axis is drawn; empty if it is all of it.

    >>> window_in_words(RangeHistogram(np.array([5, 5] + [0] * 98)), 0)
    'Drawn is bin 0 to 12 of 0 to 100: at most 0.5 % of the records lie beyond.'
    """
    window = window_of(histogram, axis)
    if window.whole:
        return ""
    edges = histogram.edges[axis]
    first, start, stop, last = short_edges(edges[[0, window.start, window.stop, -1]])
    name = axis_text(histogram, axis)
    return (
        f"Drawn is {name} {start} to {stop} of {first} to {last}: at most {200 * _LEFT_OUT:g} % of "
        "the records lie beyond."
    )
