"""Blocks with a step: the curve falls at once where many labels have the same count.

A smooth curve through such a block would be off by half the fall. The position of the step follows
from the block's number of cells.
"""

import math
from typing import NamedTuple

import numpy as np

from dphist.arrays import FloatArray, IntArray

# A block is a step if the curve falls at least this many times as steeply there as on both sides,
_STEEPER = 3.0
# and by more than this many standard deviations of the noise.
_CLEARLY = 3.0
# Width of each side, at least, as a share of the block's own width.
_SIDE = 0.25


class Side(NamedTuple):
    """Adjacent blocks: their mean height, its noise, their width, and the last block."""

    height: float
    noise: float
    width: float
    last: int


def side(ends: IntArray, heights: FloatArray, start: int, need: float, way: int) -> Side | None:
    """Return enough blocks next to `start` for a width of `need`; None if there are none."""
    width, cells, blocks, i = 0.0, 0.0, 0, start
    while 0 <= i + way < len(heights) and width < need:
        i += way
        own = float(ends[i + 1] - ends[i])
        width, cells, blocks = width + own, cells + heights[i] * own, blocks + 1
    return Side(cells / width, math.sqrt(blocks) / width, width, i) if blocks else None


def steps(ends: IntArray, heights: FloatArray, noise: float, falls_to_zero: bool) -> FloatArray:
    """Return the heights before and after the step of each block, (k, 2); nan without a step.

    Parameters
    ----------
    noise : approximate standard deviation of a block's count.
    falls_to_zero : whether the curve is 0 after the last block.
    """
    found = np.full((len(heights), 2), math.nan)
    widths = np.diff(ends)
    for i in np.flatnonzero((widths > 1) & (heights > 0)).tolist():
        width = float(widths[i])
        need = max(1.0, _SIDE * width)
        left, right = side(ends, heights, i, need, -1), side(ends, heights, i, need, 1)
        if left is None or (right is None and not falls_to_zero):
            continue
        right = right or Side(0.0, 0.0, width, i)
        beyond_left = side(ends, heights, left.last, need, -1)
        beyond_right = side(ends, heights, right.last, need, 1) if right.last > i else None
        slopes = [_slope(beyond_left, left, noise), _slope(right, beyond_right, noise)]
        fall = left.height - right.height
        steep = fall / (width + (left.width + right.width) / 2)
        clear = noise * (left.noise + right.noise + 1 / width)
        if steep > _STEEPER * max(slopes) and fall > _CLEARLY * clear:
            found[i] = max(left.height, heights[i]), min(right.height, heights[i])
    return found


def _slope(before: Side | None, after: Side | None, noise: float) -> float:
    """Return an upper bound of the slope between two sides; 0 beyond the end."""
    if before is None or after is None:
        return 0.0
    fall = before.height - after.height + 1.5 * noise * (before.noise + after.noise)
    return max(0.0, fall) / ((before.width + after.width) / 2)
