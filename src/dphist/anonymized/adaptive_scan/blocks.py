"""The blocks of a scan, decoded: heights, smoothed with their neighbors, edges, bends and steps.

Adjacent blocks differ by the fall of the curve between them, which is random with known variance.
The heights are the most likely ones given the noise of the counts and the variation of the falls:
the solution of a tridiagonal linear system, as in a Kalman smoother.

A smooth curve through a block is wrong where it turns within the block. In a block with a bend the
curve is level on one side and falls on the other: a parabola would round the corner off. In a block
with a step it falls at once, where many labels have the same count: a smooth curve would be off by
half the fall. The position of both follows from the block's number of cells. Pure functions of
noisy numbers.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from dphist.anonymized.adaptive_scan.trend import Roughness, noise_variance
from dphist.anonymized.inference import isotonic_decreasing
from dphist.arrays import FloatArray, IntArray

# A fall is predicted from this many blocks on either side, with this relative error.
_REACH, _KNOWN_TO = 3, 0.2
# Minimum standard deviation of a fall, relative to the noise: the predicted fall may be 0.
_FLOOR = 0.2
# A fall that differs from its prediction by more standard deviations is a step, and not smoothed.
_STEP = 2.0
# Geometric noise has heavier tails than a normal variable: each count's variance is at least this
# share of the mean variance, and grows in proportion to its deviation.
_USUAL = 0.7


def block_heights(ends: IntArray, counts: IntArray) -> FloatArray:
    """Return the mean height of each block: least squares, weighted by inverse variances."""
    widths = np.diff(ends).astype(np.float64)
    return np.maximum(isotonic_decreasing(counts / widths, widths**2), 0)


def smooth_heights(
    ends: IntArray, counts: IntArray, epsilon: float, roughness: Roughness
) -> FloatArray:
    """Return the mean height of each block, non-increasing.

    Parameters
    ----------
    ends : (k + 1,) int64, ascending from 0; where blocks end.
    counts : (k,) int64; noisy numbers of cells.
    epsilon : parameter of their noise.
    roughness : variance of the fall over one position, for its mean.
    """
    heights = block_heights(ends, counts)
    if len(heights) < 4:
        return heights
    widths = np.diff(ends).astype(np.float64)
    gaps = (widths[:-1] + widths[1:]) / 2
    noise = noise_variance(epsilon)
    falls = predict_falls(ends, heights, epsilon)
    chance = chance_of_falls(falls, gaps, epsilon, roughness)
    off = (-np.diff(heights) - falls) ** 2
    seen = noise * (1 / widths[:-1] ** 2 + 1 / widths[1:] ** 2)
    chance = chance + np.maximum(off - _STEP**2 * (seen + chance), 0)
    variances = np.full(len(counts), noise)
    steadied = _most_likely(widths, counts, variances, falls, chance)
    variances = _weigh_counts(noise, counts - widths * steadied)
    steadied = _most_likely(widths, counts, variances, falls, chance)
    return np.maximum(isotonic_decreasing(steadied, widths), 0)


def predict_falls(ends: IntArray, heights: FloatArray, epsilon: float) -> FloatArray:
    """Return the falls between adjacent blocks, (k - 1,), predicted by a local power law.

    A line on log-log axes is fitted to the blocks near each pair.
    """
    widths = np.diff(ends)
    x = np.log(ends[:-1] / 2 + ends[1:] / 2 + 0.5)
    y = np.log(np.maximum(heights, 0.3 / (epsilon * widths)))
    missing = np.full(_REACH - 1, np.nan)

    def near(values: FloatArray) -> FloatArray:
        padded = np.concatenate([missing, values, missing])
        return np.asarray(sliding_window_view(padded, 2 * _REACH))

    xs, ys = near(x), near(y)
    middle_x, middle_y = np.nanmean(xs, axis=1), np.nanmean(ys, axis=1)
    dx, dy = xs - middle_x[:, None], ys - middle_y[:, None]
    slope = np.minimum(np.nansum(dx * dy, axis=1) / np.nansum(dx**2, axis=1), 0)
    before, after = (middle_y + slope * (side - middle_x) for side in (x[:-1], x[1:]))
    return np.asarray(np.exp(before) - np.exp(after))


def chance_of_falls(
    falls: FloatArray, gaps: FloatArray, epsilon: float, roughness: Roughness
) -> FloatArray:
    """Return the variance of the falls between adjacent blocks, with centers `gaps` apart."""
    by_chance = roughness(falls / gaps) * gaps
    return np.asarray(by_chance + (_KNOWN_TO * falls) ** 2 + (_FLOOR / (epsilon * gaps)) ** 2)


def _weigh_counts(noise: float, off: FloatArray) -> FloatArray:
    """Return the variance of each count, given its deviation `off` from the expected value."""
    return np.asarray(_USUAL * np.maximum(noise, np.abs(off) * math.sqrt(noise)))


def _most_likely(
    widths: FloatArray,
    counts: IntArray,
    variances: FloatArray,
    falls: FloatArray,
    chance: FloatArray,
) -> FloatArray:
    """Minimize the sum of (count - width v)^2 / variance and (v - v' - fall)^2 / chance over v.

    Without the second term where floats cannot hold the sum.
    """
    diagonal, right = widths**2 / variances, widths * counts / variances
    diagonal[:-1] += 1 / chance
    diagonal[1:] += 1 / chance
    right[:-1] += falls / chance
    right[1:] -= falls / chance
    above = np.append(0.0, -1 / chance)
    from scipy.linalg import solveh_banded  # slow to import; a dry run needs none

    try:
        return np.asarray(solveh_banded(np.array([above, diagonal]), right))
    except np.linalg.LinAlgError:
        # Counts so far apart, such as 0 beside 10**15, that a float rounds `diagonal` to a number
        # too small: nothing is smoothed.
        return counts / widths


def edge_heights(ends: IntArray, heights: FloatArray) -> FloatArray:
    """Return the heights at the k + 1 ends of k blocks, non-increasing; the last is 0.

    Curves of counts are close to power laws, so heights are interpolated between block centers on
    log-log axes, or on linear axes if the lower block is nearly empty.
    """
    edges = np.zeros(len(heights) + 1)
    edges[0] = heights[0]
    centers = (np.log(ends[:-1] + 0.5) + np.log(ends[1:] + 0.5)) / 2
    part = (np.log(ends[1:-1] + 0.5) - centers[:-1]) / np.diff(centers)
    widths, logs = np.diff(ends), np.log(np.maximum(heights, 1e-9))
    power = np.exp(logs[:-1] * (1 - part) + logs[1:] * part)
    straight = (heights[:-1] * widths[1:] + heights[1:] * widths[:-1]) / (widths[1:] + widths[:-1])
    between = np.where(heights[1:] > 0.5, power, straight)
    edges[1:-1] = np.clip(between, heights[1:], heights[:-1])
    return edges


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


def average_turned(
    position: FloatArray, width: FloatArray, left: FloatArray, right: FloatArray, late: FloatArray
) -> FloatArray:
    """Return the mean height of unit cells at `position` in blocks that are level, then fall.

    The last `late` of `width` falls; the height changes from `left` to `right`.
    """

    def compute_lost(x: FloatArray) -> FloatArray:
        into = np.maximum(x - (width - late), 0)
        return np.asarray((left - right) * into**2 / (2 * np.maximum(late, 1e-9)))

    return np.asarray(left - (compute_lost(position + 1) - compute_lost(position)))


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
