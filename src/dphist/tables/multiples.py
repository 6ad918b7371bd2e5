"""Tables of three keys as small multiples: a small chart for each value of a key, on one scale."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product

import numpy as np

from dphist.arrays import FloatArray
from dphist.document.blocks import ON_PAGE, Figures
from dphist.document.chart import Axis, Chart, Line, Spans
from dphist.document.shades import BLANK, shade_cells
from dphist.document.unit_words import Counted
from dphist.sentence import Sentence
from dphist.tables.charts import (
    MOST_VALUES,
    choose_shades,
    list_texts,
    mark_some,
    room_for,
    short_texts,
)
from dphist.tables.keyed_tables import KeyedTables
from dphist.tables.keys import Key, Names
from dphist.tables.words import say_error
from dphist.visible import harmless

MOST_PANELS, MOST_TABLES = 12, 2
MOST_ROWS = 24  # of a panel: taller ones break the sheets of a printed page
LEAST_OF_MAP = 5
"""Values of both keys of a map; a table with fewer has a panel for each two values instead."""
_WIDTH, _HEIGHT, _OF_VALUE = 260, 70, 18
_OF_ROW, _ROWS, _ALONG = 17, 30, 28  # of a map: a row, how many have a text, letters below
_LETTERS = 40  # of a value above a panel

Panel = tuple[str, FloatArray, FloatArray, FloatArray]
"""Its title, its cells, and the ends of their intervals."""


def draw_multiples(tables: KeyedTables, counted: Counted) -> list[Figures]:
    """Return small multiples of the first tables of three keys that have room for them.

    The key with the fewest values has a panel for each. If the two others are large enough, a panel
    is a map; else the two smallest have a panel for each pair of values, with dots and intervals.
    """
    found: list[Figures] = []
    for names in tables.tables:
        keys = sorted((tables.keys[name] for name in names), key=lambda key: key.size)
        draw = _choose(keys)
        if draw is None or len(found) == MOST_TABLES or not tables.cell_error(names):
            continue  # an error of 0 is of known numbers
        found.append(draw(tables, keys, counted, len(found)))
    return found


def _choose(keys: list[Key]) -> Callable[..., Figures] | None:
    """Return what draws a table of keys, the smallest first; None if there is no room for it."""
    if len(keys) != 3 or keys[0].size < 2:
        return None
    small, middle, large = (key.size for key in keys)
    if middle >= LEAST_OF_MAP:
        return _draw_maps if small <= MOST_PANELS and large <= MOST_VALUES else None
    return _draw_dots if small * middle <= MOST_PANELS and large <= MOST_ROWS else None


def _draw_dots(tables: KeyedTables, keys: list[Key], counted: Counted, number: int) -> Figures:
    """Return a panel of dots for each pair of values of the two smaller keys."""
    *outer, rows = keys
    panels = [*_panels(tables, outer, [rows])]
    start = min(0.0, *(float(low.min()) for _, _, low, _ in panels))
    stop = max(1.0, *(float(high.max()) for _, _, _, high in panels))
    margin = 0.05 * (stop - start)
    scale = Axis("", start - margin if start < 0 else 0.0, stop + margin)
    places = np.arange(rows.size, 0, -1).astype(np.float64)
    ticks = list(zip(places.tolist(), short_texts(rows), strict=True))
    by = _names(keys)
    text = Sentence(
        "{Records} by {rows}, a panel for each {outer}, on one scale: dots are released numbers, "
        "lines 95 % intervals of {error} each{after}.",
        rows=rows.name,
        outer=" and ".join(key.name for key in outer),
        error=_error(tables, by),
        after=counted.after,
    )
    charts = [
        Chart(
            f"panel{number}-{at}",
            title,
            text,
            scale,
            Axis("", 0.0, rows.size + 1.0, ticks=ticks),
            lines=[Line("", cells, places, style="dots")],
            spans=[Spans("", places, low, high, "x")],
            height=_HEIGHT + _OF_VALUE * rows.size,
            width=_WIDTH,
        )
        for at, (title, cells, low, high) in enumerate(panels)
    ]
    return Figures(charts, ON_PAGE, _title(keys), text)


def _draw_maps(tables: KeyedTables, keys: list[Key], counted: Counted, number: int) -> Figures:
    """Return a map for each value of the smallest key; shades are the same on all of them."""
    outer, *inner = keys
    across, down = sorted(inner, key=lambda key: max(map(len, short_texts(key))))
    panels = [*_panels(tables, [outer], [across, down])]
    by = _names(keys)
    least = max(float((high - low).max()) for _, _, low, high in panels) / 2
    shades = choose_shades(np.stack([cells for _, cells, _, _ in panels]), least)
    room = room_for(across, down, _ALONG)
    x, y = np.arange(across.size + 1.0), down.size - np.arange(down.size + 1.0)
    text = Sentence(
        "{Records} by {down}, from top to bottom, and {across}, from left to right, a map for each "
        "{outer}{after}. A fuller color means more, the same on all maps: shades begin at {shades}."
        " Blank cells have fewer; each number is {error} (95 %).",
        down=down.name,
        across=across.name,
        outer=outer.name,
        after=counted.after,
        shades=", ".join(f"{shade:,}" for shade in shades),
        error=_error(tables, by),
    )
    charts = []
    for at, (title, cells, _, _) in enumerate(panels):
        areas = [replace(area, name="") for area in shade_cells(cells, shades, x, y)]
        charts.append(
            Chart(
                f"panel{number}-{at}",
                title,
                text,
                Axis(across.name, 0.0, float(across.size), ticks=mark_some(across, x, room)),
                Axis("", 0.0, float(down.size), ticks=mark_some(down, y, _ROWS)),
                areas=areas,
                empty="" if areas else BLANK,
                height=_HEIGHT + _OF_ROW * down.size,
                width=_WIDTH,
            )
        )
    return Figures(charts, ON_PAGE, _title(keys), text)


def _panels(tables: KeyedTables, outer: list[Key], inner: list[Key]) -> Iterator[Panel]:
    """Return the cells of `inner` for each combination of values of `outer`."""
    names = _names([*outer, *inner])
    counts, (low, high) = tables.table(*names).counts, tables.bounds(names)
    values = [[harmless(text, _LETTERS) for text in list_texts(key)] for key in outer]
    for places in product(*(range(key.size) for key in outer)):
        held = zip(outer, places, values, strict=True)
        title = ", ".join(f"{key.name}: {texts[place]}" for key, place, texts in held)
        yield title, counts[places], low[places], high[places]


def _names(keys: list[Key]) -> Names:
    return tuple(key.name for key in keys)


def _title(keys: list[Key]) -> Sentence:
    first, second, third = (key.name for key in reversed(keys))
    return Sentence("By {a}, {b} and {c}", a=first, b=second, c=third)


def _error(tables: KeyedTables, names: Names) -> str:
    """Return the error of each cell, or the largest where cells have different ones."""
    said = say_error(tables.reach.widen(tables.cell_error(names)))
    unequal = not tables.ordered.isdisjoint(map(tables.keys.names.index, names))
    return f"at most {said}" if unequal else said
