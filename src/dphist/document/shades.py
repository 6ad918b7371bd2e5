"""Cells of two axes in a few shades: a map that is read by its legend."""

import math
from collections.abc import Sequence

import numpy as np

from dphist.arrays import BoolArray, FloatArray
from dphist.document.chart import Area, short_number

BLANK = "no cell stands out from the noise"
_SHADES = 8


def list_shades(top: float, least: float = 1) -> list[int]:
    """Return the records a cell at which each shade begins: 1, 3, 10, 30 and so on.

    Parameters
    ----------
    least : below it, cells stay blank: noise and records look the same there.

    >>> list_shades(900), list_shades(2), list_shades(900, 8)
    ([1, 3, 10, 30, 100, 300], [1], [10, 30, 100, 300])
    """
    last = math.floor(math.log10(max(top, 1)))
    steps = [digit * 10**power for power in range(last + 1) for digit in (1, 3)]
    shown = [step for step in steps if least <= step <= max(top, 1)]
    return (shown or steps)[-_SHADES:]


def even_shades(top: float, least: float = 1) -> list[int]:
    """Return the records a cell at which shades of equal steps begin; see `list_shades`.

    >>> even_shades(900, 8), even_shades(15_000, 4000)
    ([200, 400, 600, 800], [4000, 6000, 8000, 10000, 12000, 14000])
    """
    power = 10 ** math.floor(math.log10(max(top / _SHADES, 1)))
    step = next(d * power for d in (1, 2, 5, 10) if top < (_SHADES + 1) * d * power)
    return [n for n in range(step, math.floor(top) + 1, step) if n >= least]


def shade_cells(
    cells: FloatArray, shades: Sequence[int], x: FloatArray, y: FloatArray
) -> list[Area]:
    """Return an area for each shade that cells have; those below the first stay blank.

    Parameters
    ----------
    cells : (nx, ny)
    x, y : (nx + 1,) and (ny + 1,) the edges of cells.
    """
    level = np.searchsorted(np.array(shades, np.float64), cells, side="right")
    return [
        Area(f"≥ {short_number(least)}", *_cells_in(level == number, x, y), strength)
        for number, least in enumerate(shades, start=1)
        if (level == number).any()
        for strength in [0.08 + 0.92 * (number / len(shades)) ** 1.2]
    ]


def _cells_in(inside: BoolArray, x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the corners (k, 4) of rectangles that make up an area, runs of cells joined."""
    padded = np.zeros((inside.shape[0], inside.shape[1] + 2), np.int8)
    padded[:, 1:-1] = inside
    turns = np.diff(padded, axis=1)
    column, first = np.nonzero(turns == 1)
    stop = np.nonzero(turns == -1)[1]
    left, right, low, high = x[column], x[column + 1], y[first], y[stop]
    return np.stack([left, right, right, left], 1), np.stack([low, low, high, high], 1)
