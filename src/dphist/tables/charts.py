"""The charts of tables: the values of each key, with their intervals."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from dphist.arrays import FloatArray
from dphist.data.axis.axis import Axis as Bins
from dphist.data.axis.zones import local_texts
from dphist.document.chart import Area, Axis, Chart, Line, Spans
from dphist.document.unit_words import Counted, counted_of
from dphist.errors import ParameterError
from dphist.release.release import Release
from dphist.sentence import Sentence
from dphist.tables.keyed_tables import KeyedTables
from dphist.tables.keys import OTHER, Key
from dphist.visible import harmless

MOST_CHARTS = 4
MOST_VALUES, MOST_BINS = 40, 2000
_LONGEST = 24  # characters of a value along an axis
_MOST_LETTERS = 200  # of a value anywhere
_HEIGHT, _OF_VALUE = 90, 18


def charts_of(release: Release) -> list[Chart]:
    """Return a chart for each of the first keys in the tables.

    Raises
    ------
    ParameterError
        If no key can be drawn: they have too many values.
    """
    found = draw_keys(release.value, counted_of(release))
    if not found:
        raise ParameterError(
            "release", f"must have a key of bins, or of 2 to {MOST_VALUES} values, to be plotted"
        )
    return found


def draw_keys(tables: KeyedTables, counted: Counted) -> list[Chart]:
    """Return a chart for each of the first keys that a table has and that can be drawn."""
    asked = {name for names in tables.tables for name in names}
    found = []
    for key in tables.keys:
        if key.name in asked and 2 <= key.size <= MOST_VALUES:
            found.append(_draw_values(tables, key, counted))
        elif key.name in asked and key.axis is not None and MOST_VALUES < key.size <= MOST_BINS:
            found.append(_draw_bins(tables, key, key.axis, counted))
    return found[:MOST_CHARTS]


def texts_of(key: Key, most: int | None = None) -> list[str]:
    """Return the values of a key as texts, or the first; of bins, from where to below where.

    >>> texts_of(Key("day", axis=Bins.from_edges(["2024-01-01T00:00", "2024-02-01T00:00"])))
    ['2024-01-01 to 2024-02-01']
    >>> texts_of(Key("size", axis=Bins.from_edges([0.5, 1.0, float("inf")]), other=True))
    ['0.5 to 1', '1 to inf', 'other']
    """
    if key.axis is None:
        return [harmless(str(label), _MOST_LETTERS) for label in key.labels[:most]]
    edges = key.axis.edges if most is None else key.axis.edges[: most + 1]
    if edges.dtype.kind == "M":
        shown = local_texts(edges.astype("M8[us]"), key.axis.zone or "UTC")
    else:
        shown = [
            f"{edge:.12g}" if isinstance(edge, float) else str(edge) for edge in edges.tolist()
        ]
    found = [f"{low} to {high}" for low, high in pairwise(shown)]
    return [*found, OTHER][:most] if key.other else found


def _draw_values(tables: KeyedTables, key: Key, counted: Counted) -> Chart:
    counts = tables.table(key.name).counts
    low, high = tables.bounds([key.name])
    places = np.arange(key.size, 0, -1).astype(np.float64)  # the first value on top
    texts = [harmless(text, _LONGEST) for text in texts_of(key)]
    ticks: Sequence[tuple[float, str]] = list(zip(places.tolist(), texts, strict=True))
    return Chart(
        *_name_chart(tables, key, counted),
        _scale(Sentence("{Records}"), low, high),
        Axis("", 0.0, key.size + 1.0, ticks=ticks),  # the heading names the key
        lines=[Line(counted.released, counts, places, style="dots")],
        spans=[Spans("95 % interval", places, low, high, "x")],
        height=_HEIGHT + _OF_VALUE * key.size,
    )


def _draw_bins(tables: KeyedTables, key: Key, axis: Bins, counted: Counted) -> Chart:
    """Return the chart of many bins: steps with their band. "Other" is not drawn."""
    edges = axis.local_edges
    dates = edges.dtype.kind == "M"
    x = np.arange(axis.bins + 1).astype(np.float64)
    if dates:
        x = (edges.astype("M8[us]") - np.datetime64(0, "us")) / np.timedelta64(1, "D")
    elif np.isfinite(edges.astype(np.float64)).all():
        x = edges.astype(np.float64)
    steps = np.repeat(x, 2)[1:-1]
    counts = tables.table(key.name).counts
    middle, low, high = (
        np.repeat(each[: axis.bins], 2) for each in (counts, *tables.bounds([key.name]))
    )
    outline = np.append(steps, steps[::-1]), np.append(high, low[::-1])
    return Chart(
        *_name_chart(tables, key, counted),
        Axis(key.name, float(x[0]), float(x[-1]), ticks="dates" if dates else "in full"),
        _scale(Sentence("{Records}"), low, high),
        areas=[Area("95 % band", *outline, strength=0.35)],
        lines=[Line(counted.released, steps, middle)],
    )


def _name_chart(tables: KeyedTables, key: Key, counted: Counted) -> tuple[str, Sentence, Sentence]:
    """Return the name of a chart, its heading, and what it shows."""
    return (
        f"key{tables.keys.names.index(key.name)}",
        Sentence("By {name}", name=key.name),
        Sentence("{Records} by {name}{after}.", name=key.name, after=counted.after),
    )


def _scale(label: Sentence, low: FloatArray, high: FloatArray) -> Axis:
    start, stop = min(float(low.min()), 0.0), max(float(high.max()), 1.0)
    margin = 0.04 * (stop - start)
    return Axis(label, start - margin if start < 0 else 0.0, stop + margin)
