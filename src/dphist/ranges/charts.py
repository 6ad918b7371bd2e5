"""The charts of a histogram over ranges: its bins and their sums, or a map of two axes."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from dphist.arrays import AnyArray, FloatArray, IntArray
from dphist.data.axis.zones import local_times
from dphist.document.chart import NARROW, Area, Axis, Chart, Line
from dphist.document.shades import BLANK, list_shades, shade_cells
from dphist.document.unit_words import Counted, find_counted
from dphist.errors import ParameterError
from dphist.ranges.overview import axis_text, short_edges, split_into_groups, sums, usual_error
from dphist.release.range_histogram import RangeHistogram
from dphist.release.range_histogram.answers import ERRORS, band
from dphist.release.release import Release
from dphist.sentence import Sentence, join_sentences

MOST = 200  # steps that are drawn; a figure is some 400 units wide
CELLS = 64  # of each axis of a map that are drawn
_MAP_HEIGHT = 400
_HAIR = 1 / 200  # of the height; a narrower band is hidden by its line
_THIN = 1 / 300  # of the axis; narrower bins would not be seen
_LETTERS = 44  # of all texts along an axis together
_DAY = np.timedelta64(1, "D")
_LEFT_OUT = 0.0025  # of the records, at each end of what is drawn
_PART = 0.4  # of the axis; if the records need more, all of it is drawn
_PART_OF_MAP = 0.8  # of an axis of a map, which is not read from its end
_NORTH = frozenset(("lat", "latitude", "north", "northing", "y"))
_EAST = frozenset(("lon", "lng", "long", "longitude", "east", "easting", "x"))
_LEAST = 12  # bins that are drawn at least
_CHANGED = 10  # of a step, the part by which it may be drawn wider or narrower than it is


def draw_charts(release: Release) -> list[Chart]:
    """Return two charts of one axis, or the map of two.

    Raises
    ------
    ParameterError
        If there are more axes.
    """
    histogram, counted = release.value, find_counted(release)
    if histogram.counts.ndim > 2:
        raise ParameterError("release", "must be of one axis or two to be plotted")
    if histogram.counts.ndim == 2:
        return [draw_map(histogram, counted)]
    return [bins_chart(histogram, counted), _sums_chart(histogram, counted)]


def bins_chart(histogram: RangeHistogram, counted: Counted) -> Chart:
    """Return the chart of the bins of the only axis, or of means of neighboring ones."""
    places = choose_edges(histogram)
    if histogram.answers is None:  # made by hand
        found = np.add.reduceat(histogram.counts, places[:-1]), np.zeros(len(places) - 1)
    else:
        found = sums(histogram, 0, places)
    counts, errors = (part / np.diff(places) for part in found)
    together = int(places[1] - places[0])  # the last step may have fewer
    text = Sentence("{Records} in each bin{after}.", after=counted.after)
    if together > 1:
        text = Sentence(
            "{Records} per bin, averaged over groups of {together:,} neighboring bins{after}.",
            together=together,
            after=counted.after,
        )
    words = "bins", "Histogram", text, Sentence("{Records} per bin")
    return _chart(histogram, counted, words, np.repeat(counts, 2), np.repeat(errors, 2))


def _sums_chart(histogram: RangeHistogram, counted: Counted) -> Chart:
    places = choose_edges(histogram)
    below = np.asarray(histogram.count_bins(0, places), np.float64)
    text = Sentence("{Records} below each edge{after}.", after=counted.after)
    words = "sums", "Cumulative curve", text, Sentence("{Records} below")
    return _chart(histogram, counted, words, below, ERRORS * histogram.error_bins(0, places))


def _chart(
    histogram: RangeHistogram,
    counted: Counted,
    words: tuple[str, str, str, str],
    values: FloatArray,
    errors: FloatArray,
) -> Chart:
    """Declare a curve with its band: one value for each edge, or two for each step."""
    name, title, text, label = words
    places = choose_edges(histogram)
    x, axis = scale_axis(
        axis_text(histogram, 0), histogram.edges[0], places, histogram.axes[0].zone
    )
    if len(values) > len(x):
        x = np.repeat(x, 2)[1:-1]
    low, high = band(values, errors)
    bottom, top = min(float(low.min()), 0.0), max(float(high.max()), 1.0)
    margin = 0.04 * (top - bottom)
    y = Axis(label, bottom - margin if bottom < 0 else 0.0, top + margin)
    is_seen = float(np.max(high - low)) >= _HAIR * (y.high - y.low)
    narrow = NARROW if errors.any() and not is_seen else ""
    outline = np.append(x, x[::-1]), np.append(high, low[::-1])
    return Chart(
        name,
        title,
        text,
        axis,
        y,
        areas=[Area("95 % band" if is_seen else "", *outline, strength=0.35)],
        lines=[Line(counted.released, x, values)],
        note=join_sentences((window_in_words(histogram, 0), narrow)),
    )


def draw_map(histogram: RangeHistogram, counted: Counted) -> Chart:
    """Return the map of two axes: cells of a few shades.

    The first axis goes to the right, unless the names say that it goes north.
    """
    cells, places = group_cells(histogram)
    names = [axis_text(histogram, axis) for axis in (0, 1)]
    axes = (1, 0) if _goes(names[0], _NORTH) and _goes(names[1], _EAST) else (0, 1)
    names, places = [names[axis] for axis in axes], [places[axis] for axis in axes]
    cells = cells.transpose(axes)
    edges = [histogram.edges[axis] for axis in axes]
    zones = [histogram.axes[axis].zone for axis in axes]
    (x, across), (y, up) = map(scale_axis, names, edges, places, zones)
    shades = list_shades(float(cells.max()), least_seen(histogram))
    areas = shade_cells(cells, shades, x, y)
    return Chart(
        "map",
        Sentence("{Records} by {across} and {up}", across=names[0], up=names[1]),
        Sentence(
            "{Records} per cell of {across:,} by {up:,} bins{after}; a fuller color means more. "
            "Cells with fewer than {least:,} are blank: there, noise and {records} look the same.",
            across=int(places[0][1] - places[0][0]),
            up=int(places[1][1] - places[1][0]),
            after=counted.after,
            least=shades[0],
        ),
        across,
        up,
        areas=areas,
        note=join_sentences(window_in_words(histogram, axis) for axis in axes),
        empty="" if areas else BLANK,
        height=_MAP_HEIGHT,
    )


def _goes(name: str, words: frozenset[str]) -> bool:
    """Whether one of the words of a column's name is among these.

    >>> _goes("pickup_Lat", _NORTH), _goes("late", _NORTH)
    (True, False)
    """
    letters = "".join(each if each.isalpha() else " " for each in name.lower())
    return not words.isdisjoint(letters.split())


def group_cells(histogram: RangeHistogram) -> tuple[FloatArray, list[IntArray]]:
    """Return the counts of at most 64 by 64 cells, and where their edges are in each axis."""
    places, found = [], histogram.counts.astype(np.float64)
    for axis in range(histogram.counts.ndim):
        window = find_window(histogram, axis)
        ends = window.start + split_into_groups(window.stop - window.start, CELLS)
        found = np.take(found, range(window.start, window.stop), axis=axis)
        found = np.add.reduceat(found, ends[:-1] - window.start, axis=axis)
        places.append(ends)
    return found, places


def least_seen(histogram: RangeHistogram) -> float:
    """Return the error (95 %) of a usual bin with records; fewer records in a cell are no sign."""
    return ERRORS * (usual_error(histogram) or 0)


def scale_axis(
    name: str, edges: AnyArray, places: IntArray, zone: str | None = None
) -> tuple[FloatArray, Axis]:
    """Return where the edges at some places stand along an axis, and the axis.

    Edges stand where their number or date is, in local time if there is a time zone. If a step
    would be too thin to be seen, is infinite, or is longer or shorter than local time says because
    clocks are changed, all steps are drawn equally wide, with their edges written below.
    """
    name = name if zone is None else f"{name} ({zone})"
    drawn, changed = edges[places], False
    if zone is not None:
        local = local_times(drawn, zone)
        elapsed = np.diff(drawn)
        changed = bool((np.abs(np.diff(local) - elapsed) > elapsed / _CHANGED).any())
        x = (local - np.datetime64(0, "us")) / _DAY
    elif edges.dtype.kind == "M":
        x = (drawn.astype("M8[us]") - np.datetime64(0, "us")) / _DAY
    else:
        x = _finite(edges)[places].astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        widths = np.diff(x)
        thin = not widths[:-1].min(initial=np.inf) >= _THIN * (x[-1] - x[0])
    endless = edges.dtype.kind == "f" and not np.isfinite(edges[[0, -1]]).all()
    if thin or endless or changed:
        x = np.arange(len(drawn), dtype=np.float64)
        return x, Axis(name, 0.0, float(x[-1]), ticks=_choose_marks(short_edges(drawn, zone)))
    ticks: Literal["dates", "in full"] = "dates" if edges.dtype.kind == "M" else "in full"
    return x, Axis(name, float(x[0]), float(x[-1]), ticks=ticks)


def _finite(edges: AnyArray) -> AnyArray:
    """Return the edges with finite ends: an unbounded bin is drawn as wide as its neighbor."""
    if edges.dtype.kind != "f" or len(edges) < 3:
        return edges
    shown = edges.copy()
    if np.isinf(shown[0]):
        shown[0] = shown[1] - (1.0 if np.isinf(shown[2]) else shown[2] - shown[1])
    if np.isinf(shown[-1]):
        shown[-1] = shown[-2] + (shown[-2] - shown[-3])
    return shown


def _choose_marks(texts: list[str]) -> list[tuple[float, str]]:
    """Return as many of the texts of equally wide steps as there is room for."""
    last = len(texts) - 1
    room = max(_LETTERS // (max(map(len, texts)) + 2), 2)
    places = np.unique(np.rint(np.linspace(0, last, min(room, last + 1))).astype(int)).tolist()
    return [(float(place), texts[place]) for place in places]


def choose_edges(histogram: RangeHistogram) -> IntArray:
    """Return the edges of the steps that are drawn of the only axis."""
    window, axis = find_window(histogram, 0), histogram.axes[0]
    drawn = axis.edges[window.start : window.stop + 1]
    if axis.zone is not None and len(set(np.diff(drawn).tolist())) > 1:
        drawn = local_times(drawn, axis.zone)  # days of 23 to 25 hours are equal there
    return window.start + group_bins(drawn, MOST)


def group_bins(edges: AnyArray, most: int) -> IntArray:
    """Group neighboring bins into about `most` steps; return the places of their edges.

    Steps of hours, or of other bins that divide a day, become whole days if they are longer than
    half a day; steps of days become whole weeks if they are longer than half a week. Otherwise
    nights and weekends would draw waves.

    >>> group_bins(np.arange(0, 8760 * 3600, 3600).astype("M8[s]").astype("M8[us]"), 200)[:3]
    array([ 0, 48, 96])
    """
    bins = len(edges) - 1
    together = -(-bins // most)
    if edges.dtype.kind == "M" and together > 1:
        widths = np.diff(edges)
        whole_part = widths[0] <= _DAY and _DAY % widths[0] == np.timedelta64(0, "D")
        if (widths == widths[0]).all() and whole_part:
            cycle = 7 if widths[0] == _DAY else int(_DAY / widths[0])
            if together > cycle / 2:
                together = -(-together // cycle) * cycle
    return np.append(np.arange(0, bins, together), bins)


@dataclass(frozen=True, slots=True)
class Window:
    """Bins of an axis from `start` up to, not including, `stop`; `whole` if these are all."""

    start: int
    stop: int
    whole: bool


def find_window(histogram: RangeHistogram, axis: int) -> Window:
    """Return the bins of an axis that are drawn: all, or those that hold nearly all records.

    The choice is a function of released counts. Data on a long axis often lie at one end, and a
    figure of the whole axis would be empty for the most part.

    >>> find_window(RangeHistogram(np.array([5, 5] + [0] * 98)), 0)
    Window(start=0, stop=12, whole=False)
    """
    bins = histogram.counts.shape[axis]
    others = tuple(a for a in range(histogram.counts.ndim) if a != axis)
    counts = np.maximum(histogram.counts.sum(axis=others, dtype=np.float64), 0)
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
    if stop - start > (_PART_OF_MAP if others else _PART) * bins:
        return Window(0, bins, True)
    return Window(start, stop, False)


def window_in_words(histogram: RangeHistogram, axis: int) -> str:
    """Say which part of an axis is drawn; empty if it is all of it.

    >>> window_in_words(RangeHistogram(np.array([5, 5] + [0] * 98)), 0)
    'Drawn is bin 0 to 12 of 0 to 100: by the estimates, at most 0.5 % of the records lie beyond.'
    """
    window = find_window(histogram, axis)
    if window.whole:
        return ""
    edges = histogram.edges[axis][[0, window.start, window.stop, -1]]
    first, start, stop, last = short_edges(edges, histogram.axes[axis].zone)
    return Sentence(
        "Drawn is {name} {start} to {stop} of {first} to {last}: by the estimates, at most {share} "
        "of the {records} lie beyond.",
        name=axis_text(histogram, axis),
        start=start,
        stop=stop,
        first=first,
        last=last,
        share=f"{200 * _LEFT_OUT:g} %",
    )
