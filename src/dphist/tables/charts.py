"""The charts of tables: the values of each key, with their intervals."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from dphist.document.chart import Axis, Chart, Line, Spans
from dphist.document.unit_words import Counted, counted_of
from dphist.release.release import Release
from dphist.sentence import Sentence
from dphist.tables.keyed_tables import KeyedTables
from dphist.tables.keys import OTHER, Key

MOST_CHARTS = 4
MOST_VALUES = 40
_LONGEST = 18  # characters of a value along an axis
_HEIGHT, _OF_VALUE = 90, 18


def charts_of(release: Release) -> list[Chart]:
    """Return a chart for each of the first keys in the tables, or none where values are many."""
    return draw_keys(release.value, counted_of(release))


def draw_keys(tables: KeyedTables, counted: Counted) -> list[Chart]:
    """Return a chart for each of the first keys that a table has."""
    asked = {name for names in tables.tables for name in names}
    drawn = [k for k in tables.keys if k.name in asked and 2 <= k.size <= MOST_VALUES]
    return [_draw(tables, key, counted) for key in drawn[:MOST_CHARTS]]


def texts_of(key: Key) -> list[str]:
    """Return the values of a key as texts; of bins, from where to below where."""
    if key.axis is None:
        return list(map(str, key.labels))
    edges = key.axis.local_edges
    shown = np.datetime_as_string(edges).tolist() if edges.dtype.kind == "M" else edges.tolist()
    found = [f"{low} to {high}" for low, high in pairwise(shown)]
    return [*found, OTHER] if key.other else found


def _draw(tables: KeyedTables, key: Key, counted: Counted) -> Chart:
    table = tables.table(key.name)
    low, high = tables.bounds([key.name])
    places = np.arange(key.size, 0, -1).astype(np.float64)  # the first value on top
    texts = [
        text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…" for text in texts_of(key)
    ]
    ticks: Sequence[tuple[float, str]] = list(zip(places.tolist(), texts, strict=True))
    start, stop = min(float(low.min()), 0.0), max(float(high.max()), 1.0)
    margin = 0.04 * (stop - start)
    return Chart(
        f"key{tables.keys.names.index(key.name)}",
        Sentence("By {name}", name=key.name),
        Sentence("{Records} by {name}{after}.", name=key.name, after=counted.after),
        Axis(Sentence("{Records}"), start - margin if start < 0 else 0.0, stop + margin),
        Axis(key.name, 0.0, key.size + 1.0, ticks=ticks),
        lines=[Line(counted.released, table.counts, places, style="dots")],
        spans=[Spans("95 % interval", places, low, high, "x")],
        height=_HEIGHT + _OF_VALUE * key.size,
    )
