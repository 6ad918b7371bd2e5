"""Blocks in which a curve turns: level on one side of the block, and falling on the other.

A parabola drawn through such a block would round the corner off. Its place is known: it is the one
that keeps the block's number of cells.
"""

from typing import NamedTuple

import numpy as np

from dphist.arrays import FloatArray, IntArray

# A side is level if the curve falls there so many times less steeply than in the block.
_LEVEL = 3.0


class Bends(NamedTuple):
    """Where blocks bend, and the heights between blocks where that is known better now.

    `late` is how much of each block falls if it does so at its end, `early` if at its beginning;
    (k,) float64, nan where there is no such bend. `edges` has the heights at the k + 1 ends.
    """

    late: FloatArray
    early: FloatArray
    edges: FloatArray


def bends(ends: IntArray, heights: FloatArray, edges: FloatArray) -> Bends:
    """Find the blocks that bend, from the heights of all blocks and those at their edges."""
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
    # The edge on the falling side lies where the two blocks beyond it point to.
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
    """Mean height of unit cells at `position` in blocks that are level and then fall.

    `late` is the width that falls, of `width`; the height goes from `left` to `right`.
    """

    def lost(x: FloatArray) -> FloatArray:
        into = np.maximum(x - (width - late), 0)
        return np.asarray((left - right) * into**2 / (2 * np.maximum(late, 1e-9)))

    return np.asarray(left - (lost(position + 1) - lost(position)))
