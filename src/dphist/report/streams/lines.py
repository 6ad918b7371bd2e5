"""The lines of running counts: which ones, with how many points, and where names stand."""

from dataclasses import dataclass

import numpy as np

from dphist.arrays import BoolArray, FloatArray
from dphist.release.release import Release
from dphist.report.streams.rows import least_count
from dphist.report.streams.words import half_width, mechanism_of, until

MOST_LINES = 8
_POINTS = 200  # readings that are drawn; a figure is some 400 units wide


@dataclass(frozen=True, slots=True)
class Line:
    """The running count of one label; NaN if the label was not in a reading.

    Attributes
    ----------
    label : text.
    times : (n,) float64, events.
    counts, low, high : (n,) float64, released count and its 95 % band, events.
    """

    label: str
    times: FloatArray
    counts: FloatArray
    low: FloatArray
    high: FloatArray

    @property
    def alone(self) -> BoolArray:
        """Which points have no neighbor, so that no line shows them."""
        there = np.isfinite(self.counts)
        beside = np.append(there[1:], False) | np.append(False, there[:-1])
        alone: BoolArray = there & ~beside
        return alone


def lines_of(release: Release) -> list[Line]:
    """Return the lines of the labels with the largest last counts.

    If there are many readings, some are drawn, the same for all labels. Those at which a drawn
    label first appears are among them.
    """
    value = release.value
    pairs = list(zip(value.labels, value.label_texts, strict=True))[:MOST_LINES]
    found = [(text, *value.line(label)) for label, text in pairs]
    drawn = np.unique(np.linspace(0, len(value) - 1, _POINTS).round().astype(np.int64))
    drawn = np.union1d(drawn, np.array([places[0] for _, places, _ in found], np.int64))
    times = value.times.astype(np.float64)[drawn]
    lines = []
    for label, places, counts in found:
        full = np.full(len(value), np.nan)
        full[places] = counts
        lines.append(Line(label, times, full[drawn], *_band(release, full[drawn])))
    return lines


def _band(release: Release, counts: FloatArray) -> tuple[FloatArray, FloatArray]:
    width, least = half_width(mechanism_of(release), until(release)), least_count(release)
    low, high = counts - width, counts + width
    return (low, high) if least is None else (np.maximum(low, least), np.maximum(high, least))


def apart(wanted: FloatArray, gap: float, low: float, high: float) -> FloatArray:
    """Return places near the wanted ones, in the same order, at least `gap` apart.

    They lie between `low` and `high` if there is room for all. Places that would be too close
    form a group around the mean of the wanted ones.

    Parameters
    ----------
    wanted : (k,) float64, in any order.

    >>> apart(np.array([5.0, 5.0, 0.0]), 2, 0, 10)
    array([4., 6., 0.])
    """
    order = np.argsort(wanted, kind="stable")
    room = max(high - low - gap * (len(wanted) - 1), 0.0)
    groups: list[tuple[float, int]] = []  # mean of the wanted places less what goes before, size
    for i, want in enumerate(wanted[order].tolist()):
        groups.append((min(max(want - low - gap * i, 0.0), room), 1))
        while len(groups) > 1 and groups[-2][0] > groups[-1][0]:
            (mean, size), (before, others) = groups.pop(), groups.pop()
            groups.append(((mean * size + before * others) / (size + others), size + others))
    shifts = np.array([mean for mean, size in groups for _ in range(size)], np.float64)
    found = np.empty(len(wanted), np.float64)
    found[order] = low + shifts + gap * np.arange(len(wanted))
    return found
