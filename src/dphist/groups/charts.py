"""The chart of groups: the middle of each, with the interval of its median."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from dphist.arrays import FloatArray
from dphist.document.chart import Area, Axis, Chart, Line, Spans
from dphist.document.unit_words import Counted, find_counted
from dphist.groups.estimates import TOO_SMALL
from dphist.groups.histograms import HistogramsByGroup
from dphist.groups.overview import GroupLine, column_text, make_lines, sort_by_median
from dphist.release.release import Release
from dphist.sentence import Sentence
from dphist.visible import harmless

MOST_GROUPS = 60
_LONGEST = 24  # characters of a group along an axis
_HEIGHT, _OF_GROUP = 90, 18
_HALF = 0.3  # of the height of a box, in groups
_DAY = np.timedelta64(1, "D")


def draw_charts(release: Release) -> list[Chart]:
    """Return the chart of all groups, by their medians."""
    return [draw_groups(release.value, make_lines(release.value), find_counted(release))]


def draw_groups(value: HistogramsByGroup, lines: Sequence[GroupLine], counted: Counted) -> Chart:
    """Return a row for each group, sorted by median: a box and the interval of the median.

    If there are more than `MOST_GROUPS`, those with the most records are drawn.
    """
    fullest = sorted(lines, key=lambda line: -line.count)[:MOST_GROUPS]
    drawn = sort_by_median([line for line in lines if line in fullest])
    places = np.arange(len(drawn), 0, -1).astype(np.float64)  # the first on top
    names = [harmless(line.name, _LONGEST) for line in drawn]
    known = [at for at, line in enumerate(drawn) if line.median.is_known]
    rows = [drawn[at] for at in known]
    low, middle, high = (_find_places(value, [getattr(r.median, e) for r in rows]) for e in _ENDS)
    boxes = _make_boxes(value, rows, places[known])
    left, right = _find_limits(value, [low, high, *boxes[:1]])
    dates = value.axis.edges.dtype.kind == "M"
    name = harmless(value.name, _LONGEST)
    return Chart(
        "groups",
        Sentence("By {name}", name=name),
        Sentence(
            "{column} of each {name}{after}, by ascending median: a dot is the median, a thick "
            "line its 95 % interval, and the box goes from the tenth percentile to the ninetieth.",
            column=column_text(value).capitalize(),
            name=name,
            after=counted.after,
        ),
        Axis(column_text(value), left, right, ticks="dates" if dates else "in full"),
        Axis("", 0.0, len(drawn) + 1.0, ticks=list(zip(places.tolist(), names, strict=True))),
        areas=[Area("10 % to 90 %", *boxes)] if rows else [],
        lines=[Line("Median", middle, places[known], style="dots")] if rows else [],
        spans=[Spans("95 % interval", places[known], low, high, "x")] if rows else [],
        note=_write_note(lines, drawn),
        empty="" if rows else TOO_SMALL,
        height=_HEIGHT + _OF_GROUP * len(drawn),
    )


_ENDS = ("low", "value", "high")


def _write_note(lines: Sequence[GroupLine], drawn: Sequence[GroupLine]) -> str:
    """Say which groups have no mark, and which are not drawn."""
    said = []
    if any(not line.median.is_known for line in drawn):
        said.append("Groups without a mark are too small beside the noise.")
    if len(drawn) < len(lines):
        said.append(f"Drawn are the {len(drawn)} largest of {len(lines):,} groups.")
    return " ".join(said)


def _make_boxes(
    value: HistogramsByGroup, rows: Sequence[GroupLine], places: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the corners of boxes from the first to the last quantile, where both are known."""
    ends = [row.quantiles[:: len(row.quantiles) - 1] for row in rows]
    kept = [at for at, pair in enumerate(ends) if all(each.is_known for each in pair)]
    start, stop = (_find_places(value, [ends[at][side].value for at in kept]) for side in (0, 1))
    bottom, top = places[kept] - _HALF, places[kept] + _HALF
    x, y = np.stack([start, stop, stop, start], axis=-1), np.stack([bottom, bottom, top, top], -1)
    return x, y


def _find_places(value: HistogramsByGroup, found: Sequence[Any]) -> FloatArray:
    """Return places along the axis as numbers: dates as days since 1970."""
    if value.axis.edges.dtype.kind != "M":
        return np.array(found, np.float64)
    plain = [each if isinstance(each, np.datetime64) else _without_zone(each) for each in found]
    return (np.array(plain, "M8[us]") - np.datetime64(0, "us")) / _DAY


def _without_zone(moment: Any) -> np.datetime64:
    """Return what clocks show."""
    return np.datetime64(moment.replace(tzinfo=None), "us")


def _find_limits(value: HistogramsByGroup, drawn: Sequence[FloatArray]) -> tuple[float, float]:
    """Return limits that hold all that is drawn, and something if nothing is."""
    held = np.concatenate([each.ravel() for each in drawn])
    held = held[np.isfinite(held)]
    if not held.size:
        return 0.0, float(value.axis.bins)
    left, right = float(held.min()), float(held.max())
    margin = 0.04 * ((right - left) or 1.0)
    return left - margin if left else 0.0, right + margin
