"""Blocks with a bend: the curve is level on one side of the block and falls on the other.

A parabola through such a block would round the corner off. The position of the bend follows from
the block's number of cells.
"""

from typing import NamedTuple

import numpy as np

from dphist.arrays import FloatArray, IntArray

# A side is level if the curve falls at least this many times less steeply there than in the block.
_LEVEL = 3.0


class Bends(NamedTuple):
    """Bends of blocks, and the heights between blocks that bends improve.

    `late` is the falling width of each block that falls at its end, `early` of each that falls at
    its beginning; (k,) float64, nan without such a bend. `edges` are the heights at k + 1 ends.
    """

    late: FloatArray
    early: FloatArray
    edges: FloatArray


def bends(ends: IntArray, heights: FloatArray, edges: FloatArray) -> Bends:
    """Find the blocks that bend, from the heights of all blocks and of their edges."""
    widths = np.diff(ends)
    if len(widths) < 3:
        nowhere = np.full(len(widths), np.nan)
        return Bends(nowhere, nowhere, edges)
    slopes = -np.diff(heights) * 2 / (widths[:-1] + widths[1:])
    unknown = [np.inf, np.inf]  # near an end
    before = np.append(unknown, slopes[:-1])
    after = np.append(slopes[1:], unknown)
    within = (edges[:-1] - edges[1:]) / widths
    turns_late = (widths > 1) & (_LEVEL * before < within)
    turns_early = (widths > 1) & (_LEVEL * after < within) & ~turns_late
    # The edge on the falling side is extrapolated from the two blocks beyond it.
    known = edges.copy()
    late, early = np.flatnonzero(turns_late[:-2]), np.flatnonzero(turns_early[2:]) + 2
    pointed = heights[late + 1] + slopes[late + 1] * widths[late + 1] / 2
    known[late + 1] = np.clip(pointed, heights[late + 1], heights[late])
    pointed = heights[early - 1] - slopes[early - 2] * widths[early - 1] / 2
    known[early] = np.clip(pointed, heights[early], heights[early - 1])
    left, right = known[:-1], known[1:]
    falls = np.maximum(left - right, 1e-9)  # a billionth of a label is no fall
    at_end, at_start = 2 * widths * (left - heights) / falls, 2 * widths * (heights - right) / falls
    return Bends(
        np.where(turns_late & (at_end >= 0) & (at_end < widths), at_end, np.nan),
        np.where(turns_early & (at_start >= 0) & (at_start < widths), at_start, np.nan),
        known,
    )


def turned(
    position: FloatArray, width: FloatArray, left: FloatArray, right: FloatArray, late: FloatArray
) -> FloatArray:
    """Return the mean height of unit cells at `position` in blocks that are level, then fall.

    The last `late` of `width` falls; the height changes from `left` to `right`.
    """

    def lost(x: FloatArray) -> FloatArray:
        into = np.maximum(x - (width - late), 0)
        return np.asarray((left - right) * into**2 / (2 * np.maximum(late, 1e-9)))

    return np.asarray(left - (lost(position + 1) - lost(position)))
