"""The charts of tables: the values of each key, with their intervals, and maps of two keys."""

import math
from collections.abc import Sequence
from itertools import pairwise
from unicodedata import east_asian_width

import numpy as np

from dphist.arrays import AnyArray, FloatArray
from dphist.data.axis.axis import Axis as Bins
from dphist.data.axis.zones import local_texts
from dphist.document.chart import Area, Axis, Chart, Line, Spans
from dphist.document.shades import BLANK, even_shades, list_shades, shade_cells
from dphist.document.unit_words import Counted
from dphist.errors import ParameterError
from dphist.release.release import Release
from dphist.sentence import Sentence
from dphist.tables.keyed_tables import KeyedTables
from dphist.tables.keys import OTHER, Key, Names
from dphist.tables.weight_words import count_weighted, weigh_words
from dphist.visible import harmless

MOST_CHARTS = 4
MOST_VALUES, MOST_BINS = 40, 2000
_LONGEST = 24  # characters of a value along an axis
_MOST_LETTERS = 200  # of a value anywhere
_HEIGHT, _OF_VALUE = 90, 18
LEAST_OF_MAP, MOST_OF_MAP = 8, 60  # values of both keys of a map
_MOST_MAPS = 2
_MAP_HEIGHT, _OF_ROW, _ROWS = 120, 15, 30  # and how many rows have a text
_ALONG, _SHORT = 48, 14  # letters of all texts along the axis to the right, and of one text
_EVEN = 20  # if nine of ten cells are above this part of the largest, shades have equal steps


def draw_charts(release: Release) -> list[Chart]:
    """Return a chart for each of the first keys in the tables.

    Raises
    ------
    ParameterError
        If no key can be drawn: they have too many values.
    """
    found = draw_keys(release.value, count_weighted(release))
    if not found:
        raise ParameterError(
            "release", f"must have a key of bins, or of 2 to {MOST_VALUES} values, to be plotted"
        )
    return found


def draw_keys(tables: KeyedTables, counted: Counted) -> list[Chart]:
    """Return a chart for each of the first keys that can be drawn, and maps of large tables."""
    asked = {name for names in tables.tables for name in names}
    found = []
    for key in tables.keys:
        if key.name in asked and 2 <= key.size <= MOST_VALUES:
            found.append(_draw_values(tables, key, counted))
        elif key.name in asked and key.axis is not None and MOST_VALUES < key.size <= MOST_BINS:
            found.append(_draw_bins(tables, key, key.axis, counted))
    sizes = [[tables.keys[name].size for name in names] for names in tables.tables]
    maps = [
        names
        for names, own in zip(tables.tables, sizes, strict=True)
        if len(own) == 2 and min(own) >= LEAST_OF_MAP and max(own) <= MOST_OF_MAP
    ]
    return found[:MOST_CHARTS] + [_draw_map(tables, pair, counted) for pair in maps[:_MOST_MAPS]]


def list_texts(key: Key, most: int | None = None) -> list[str]:
    """Return the values of a key as texts, or the first; of bins, from where to below where.

    >>> list_texts(Key("day", axis=Bins.from_edges(["2024-01-01T00:00", "2024-02-01T00:00"])))
    ['2024-01-01 to 2024-02-01']
    >>> list_texts(Key("size", axis=Bins.from_edges([0.5, 1.0, float("inf")]), other=True))
    ['0.5 to 1', '1 to inf', 'other']
    """
    if key.axis is None:
        return [harmless(str(label), _MOST_LETTERS) for label in key.labels[:most]]
    edges = key.axis.edges if most is None else key.axis.edges[: most + 1]
    found = [f"{low} to {high}" for low, high in pairwise(_texts_of_edges(edges, key.axis.zone))]
    return [*found, OTHER][:most] if key.other else found


def _texts_of_edges(edges: AnyArray, zone: str | None) -> list[str]:
    if edges.dtype.kind == "M":
        return local_texts(edges.astype("M8[us]"), zone or "UTC")
    return [f"{edge:.12g}" if isinstance(edge, float) else str(edge) for edge in edges.tolist()]


def _draw_values(tables: KeyedTables, key: Key, counted: Counted) -> Chart:
    counts = tables.table(key.name).counts
    low, high = tables.bounds([key.name])
    places = np.arange(key.size, 0, -1).astype(np.float64)  # the first value on top
    texts = [harmless(text, _LONGEST) for text in list_texts(key)]
    ticks: Sequence[tuple[float, str]] = list(zip(places.tolist(), texts, strict=True))
    return Chart(
        *_name_chart(tables, key, counted),
        _scale(weigh_words(Sentence("{Records}"), tables.step), low, high),
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
        _scale(weigh_words(Sentence("{Records}"), tables.step), low, high),
        areas=[Area("95 % band", *outline, strength=0.35)],
        lines=[Line(counted.released, steps, middle)],
    )


def _draw_map(tables: KeyedTables, names: Names, counted: Counted) -> Chart:
    """Return the map of a table of two keys: the first goes down, the second to the right."""
    down, across = (tables.keys[name] for name in names)
    cells = tables.table(*names).counts.T
    low, high = tables.bounds(names)
    least = float((high - low).max()) / 2
    shades = choose_shades(cells, least)
    x, y = np.arange(across.size + 1.0), down.size - np.arange(down.size + 1.0)
    areas = shade_cells(cells, shades, x, y)
    return Chart(
        "_".join(["map", *(str(tables.keys.names.index(name)) for name in names)]),
        Sentence("By {down} and {across}", down=down.name, across=across.name),
        Sentence(
            "{Records} by {down}, from top to bottom, and {across}, from left to right{after}; a "
            "fuller color means more. Blank cells have fewer than {least:,}{noise}.",
            down=down.name,
            across=across.name,
            after=counted.after,
            least=shades[0],
            noise="" if not least else f"; ± {math.ceil(least):,} is noise (95 %)",
        ),
        Axis(
            across.name, 0.0, float(across.size), ticks=mark_some(across, x, room_for(across, down))
        ),
        Axis("", 0.0, float(down.size), ticks=mark_some(down, y, _ROWS)),
        areas=areas,
        empty="" if areas else BLANK,
        height=_MAP_HEIGHT + _OF_ROW * down.size,
    )


def choose_shades(cells: FloatArray, least: float) -> list[int]:
    """Return where the shades of a map begin, in even steps if nearly all cells are alike.

    Parameters
    ----------
    least : half of the widest interval, below which cells stay blank.
    """
    top = float(cells.max())
    even = float(np.quantile(cells, 0.1)) > top / _EVEN
    found = even_shades(top, least) if even else list_shades(top, least)
    return [shade for shade in found if shade >= least] or [max(math.ceil(least), 1)]


def room_for(across: Key, down: Key, letters: int = _ALONG) -> int:
    """Return how many texts of a key stand side by side, right of those of the other."""
    longest = [max(map(len, short_texts(key))) for key in (across, down)]
    return max((letters - longest[1]) // (longest[0] + 2), 1)


def short_texts(key: Key) -> list[str]:
    """Return a text for each value of a key; of bins, where they start."""
    if key.axis is None:
        return [_shorten(text) for text in list_texts(key)]
    starts = _texts_of_edges(key.axis.edges[:-1], key.axis.zone)
    return [text[:_SHORT] for text in ([*starts, OTHER] if key.other else starts)]


def _shorten(text: str) -> str:
    """Return a text of at most `_SHORT` letters; those of East Asia are as wide as two.

    >>> _shorten("self-employed, inc."), _shorten("新型冠状病毒感染肺炎")
    ('self-employed…', '新型冠状病毒…')
    """
    wide = sum(east_asian_width(each) in "WF" for each in text[:_SHORT])
    return harmless(text, max(_SHORT - wide, _SHORT // 2))


def mark_some(key: Key, edges: FloatArray, most: int) -> list[tuple[float, str]]:
    """Return texts in the middle of cells, of bins where they start: every second, third, ..."""
    places = edges[:-1] if key.axis is not None else (edges[1:] + edges[:-1]) / 2
    return list(zip(places.tolist(), short_texts(key), strict=True))[:: -(-key.size // most)]


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
