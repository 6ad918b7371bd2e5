"""Decoding of noisy counts of consecutive blocks to an integer, non-increasing curve.

Pure functions of noisy numbers.
"""

import math
from typing import NamedTuple

import numpy as np

from dphist.anonymized.adaptive_scan.blocks import (
    average_turned,
    bends,
    edge_heights,
    smooth_heights,
    steps,
)
from dphist.anonymized.adaptive_scan.refining import Refined, Scanned, refine_curve
from dphist.anonymized.adaptive_scan.scan import Scan
from dphist.anonymized.adaptive_scan.trend import Roughness, of_columns
from dphist.anonymized.band import from_rows_and_columns
from dphist.anonymized.inference import isotonic_decreasing, whole_non_negative
from dphist.arrays import BoolArray, FloatArray, IntArray
from dphist.release.anonymized_histogram import AnonymizedHistogram

# Minimum average count, in units of 1 / epsilon, for which blocks at the end are kept: noise
# alone, with mean 0, then rarely adds a tail.
_WORTH_KEEPING = 0.9
# Where even counts exceed chance, by more than one standard deviation, a value tells nothing about
# which of two counts is right if it is this near to half between them, for each deviation more.
_HALFWAY, _FARTHEST_HALFWAY = 0.1, 0.25
# Share of the second decoding in the result, where there is one. A step or a bend, which only the
# first one looks for, remains in part.
_SECOND = 0.8
# Above the first epsilon of a cell's noise the share shrinks with the logarithm of epsilon, to 0 at
# the second.
_ALL_UP_TO, _NONE_FROM = 1.0, 2.0
# A corner is kept if the second decoding moves this many cells in a block, in units of 1 / epsilon.
_CORNER = 4.0


class Decoded(NamedTuple):
    """A decoded curve, and what its second decoding was.

    Attributes
    ----------
    curve : (n,) int64, non-increasing, non-negative; its value at each position.
    model : of the curve's beginning, where that was decoded again.
    trust : (m,) float64 for the positions of the model; how much of it is used, from 0 to 1.
    """

    curve: IntArray
    model: Refined | None
    trust: FloatArray


def decode_curve(
    ends: IntArray,
    counts: IntArray,
    epsilon: float,
    roughness: Roughness,
    length: int,
    base: int | None = None,
) -> Decoded:
    """Return the curve's value at each position, and the model behind it.

    Parameters
    ----------
    ends : (k + 1,) int64, ascending from 0; where blocks end.
    counts : (k,) int64; noisy numbers of cells.
    epsilon : parameter of their noise.
    roughness : variance of the curve's fall over one position, for its mean.
    length : number of positions wanted; blocks beyond are not decoded.
    base : for rows, where they begin: with `base` added they are counts. Where counts are even
        more often than chance allows, a value about halfway between two becomes the even one.
    """
    heights = compute_kept_heights(ends, counts, epsilon, roughness)
    curve, kept = np.zeros(length, np.int64), len(heights)
    if kept == 0:
        return Decoded(curve, None, np.zeros(0))
    # A truncated curve is 0 afterwards; otherwise the last block continues its trend.
    values, turns = inside_blocks(
        ends[: kept + 1], heights, length, 1 / epsilon, falls_to_zero=kept < len(counts)
    )
    first, second, trust = isotonic_decreasing(values), None, np.zeros(0)
    if _SECOND * trust_at(epsilon) > 0:
        second = _second(ends, counts[:kept], epsilon, roughness, first)
    if second is not None:
        n = len(second.values)
        change = second.values - first[:n]
        smoothed = find_smoothed_away(ends, change, turns, epsilon)
        trust = np.where(smoothed, 0.0, trust_at(epsilon))
        first[:n] += _SECOND * trust * change
    falling = np.maximum(isotonic_decreasing(first), 0)
    if base is None:
        curve[: len(first)] = whole_non_negative(falling)
    else:
        reach = halfway(ends[: kept + 1], counts[:kept] + base)
        curve[: len(first)] = whole_or_even(falling, base, reach)
    return Decoded(curve, second, trust)


def find_smoothed_away(
    ends: IntArray, change: FloatArray, turns: BoolArray, epsilon: float
) -> BoolArray:
    """Return where the second decoding, whose slopes are smooth, lost a corner; (n,) bool.

    A step is none: as a fall by chance it stays, and is found more exactly.

    Parameters
    ----------
    ends : (k + 1,) int64, where blocks end.
    change : (n,) float64, the second decoding minus the first.
    turns : (k,) bool, blocks in which the first decoding found a bend.
    """
    blocks = int(np.searchsorted(ends, len(change)))
    moved = np.add.reduceat(np.abs(change), ends[:blocks])
    lost = turns[:blocks] & (moved > _CORNER / epsilon)
    return np.repeat(lost, np.diff(ends[: blocks + 1]))


def trust_at(epsilon: float) -> float:
    """Return how much of the second decoding is used, from 0 to 1; continuous in `epsilon`.

    Where noise is small, single counts say more than their neighbors, and it gains nothing.
    """
    fading = math.log(_NONE_FROM / epsilon) / math.log(_NONE_FROM / _ALL_UP_TO)
    return min(max(fading, 0.0), 1.0)


def halfway(ends: IntArray, counts: IntArray) -> float:
    """Return how near to half a value is no evidence against the even count; 0 for none.

    The more single counts are even, beyond what chance allows, the farther it reaches.
    """
    single = counts[np.diff(ends) == 1]
    surplus = float((1 - 2 * (single % 2)).sum()) / math.sqrt(max(len(single), 1))
    return min(max(_HALFWAY * (surplus - 1), 0), _FARTHEST_HALFWAY)


def whole_or_even(values: FloatArray, base: int, reach: float) -> IntArray:
    """Round to whole numbers, but to the even count where a value is within `reach` of half.

    Some data double counts, and people round them. Then equal counts are even more often than
    others, and noise on one of them leaves their mean between two.
    """
    below = np.floor(values)
    even = below + (below + base) % 2
    within = (np.abs(values - below - 0.5) <= reach) & (reach > 0)
    return np.asarray(np.where(within, even, np.rint(values)), np.int64)


def _second(
    ends: IntArray, counts: IntArray, epsilon: float, roughness: Roughness, first: FloatArray
) -> Refined | None:
    """Decode the whole blocks within the first decoding again, where noise is large."""
    blocks = min(len(counts), int(np.searchsorted(ends, len(first), side="right")) - 1)
    if blocks < 1:
        return None
    curve = np.append(first, 0.0)[: int(ends[blocks]) + 1]
    return refine_curve(Scanned(ends[: blocks + 1], counts[:blocks], epsilon, roughness, curve))


def without_tail(counts: IntArray, epsilon: float) -> int:
    """Return the number of blocks to keep; the rest is treated as noise on empty blocks."""
    gain = np.cumsum(counts - _WORTH_KEEPING / epsilon)
    return int(np.argmax(np.append(0.0, gain)))


def compute_kept_heights(
    ends: IntArray, counts: IntArray, epsilon: float, roughness: Roughness
) -> FloatArray:
    """Return the mean heights of the blocks, non-increasing; 0 for blocks not kept."""
    kept = without_tail(counts, epsilon)
    return smooth_heights(ends[: kept + 1], counts[:kept], epsilon, roughness)


def rows_expected(columns: Scan) -> int:
    """Return about how many rows reach beyond the last column of a scan.

    Where a tail was cut, that is a guess from a column far left of it, and too many. But a
    trend is at least half of the height before it, so that the scan of columns would have
    gone on if there were more than four times as many as columns.
    """
    ends, counts = np.array(columns.ends), np.array(columns.counts)
    heights = compute_kept_heights(ends, counts, columns.epsilon, of_columns)
    last = round(heights[-1]) if len(heights) else 0
    return max(1, min(last, 4 * columns.position))


def inside_blocks(
    ends: IntArray, heights: FloatArray, length: int, noise: float, falls_to_zero: bool
) -> tuple[FloatArray, BoolArray]:
    """Return the values at the first `length` positions, or at all if there are fewer.

    Also returned is which blocks have a bend; (k,) bool.

    Each block gets a step, a bend or a parabola, which keeps the block's number of cells. A
    parabola connects the heights at the block's edges; if it would rise, one of these is moved
    just enough that it does not.
    """
    widths = np.diff(ends)
    edges = edge_heights(ends, heights)
    if not falls_to_zero:
        edges[-1] = max(0.0, 2 * heights[-1] - edges[-2])
    late, early, edges = bends(ends, heights, edges)
    left, right = edges[:-1].copy(), edges[1:].copy()
    bend = 6 * (heights - (left + right) / 2)
    over, under = bend > left - right, bend < right - left
    right[over] = (3 * heights - 2 * left)[over]
    left[under] = (3 * heights - 2 * right)[under]
    bend = 6 * (heights - (left + right) / 2)
    # Blocks of rows may exceed memory; only their beginnings are decoded.
    shown = np.diff(np.minimum(ends, length))
    block = np.repeat(np.arange(len(shown)), shown)
    inside = (np.arange(len(block)) - ends[block]).astype(np.float64)
    start, end = inside / widths[block], (inside + 1) / widths[block]
    a, b, c = left[block], (right - left + bend)[block], bend[block]
    # The mean of a + b u - c u^2 over the unit's part of the block.
    smooth: FloatArray = a + b * (start + end) / 2 - c * (start**2 + start * end + end**2) / 3
    found = steps(ends, heights, noise, falls_to_zero)
    before, after = found[block].T
    turns = np.isnan(found[:, 0]) & ~(np.isnan(late) & np.isnan(early))
    place = widths[block] * (heights[block] - after) / np.maximum(before - after, 1e-12)
    stepped = after + (before - after) * np.clip(place - inside, 0, 1)
    # Mirrored, a block that falls and then is level is one that is level and then rises.
    back = widths[block] - 1 - inside
    upper, lower = edges[block], edges[block + 1]
    at_end = average_turned(inside, widths[block], upper, lower, late[block])
    at_start = average_turned(back, widths[block], lower, upper, early[block])
    turning = np.where(np.isnan(at_end), at_start, at_end)
    smooth = np.where(np.isnan(turning), smooth, turning)
    return np.where(np.isnan(before), smooth, stepped), turns


def join_curves(columns: IntArray, rows: IntArray) -> AnonymizedHistogram:
    """Return the histogram with these columns and, right of them all, rows of these lengths."""
    rows = rows[rows > 0]
    # A row reaches beyond the columns' end, less the columns that are not so high.
    lower = np.searchsorted(columns[::-1], np.arange(1, len(rows) + 1), side="left")
    return from_rows_and_columns(rows + len(columns) - lower, np.maximum(columns - len(rows), 0))


def make_agree(columns: IntArray, rows: IntArray) -> tuple[IntArray, IntArray]:
    """Return both curves with no more rows than the last column is high, with fewest changes.

    Columns and rows are decoded apart, but each row passes through all columns. Where there are
    more rows, the columns are too low by noise, or the last rows are noise: some height between
    changes the fewest cells.

    Parameters
    ----------
    columns, rows : (c,) and (k,) int64, non-increasing, non-negative.
    """
    height, reach = int(columns[-1]), int(np.count_nonzero(rows))
    if reach <= height:
        return columns, rows
    heights = np.arange(height, reach + 1)
    removed = np.append(np.cumsum(rows[height:reach][::-1])[::-1], 0)
    ascending = columns[::-1]
    lower = np.searchsorted(ascending, heights, side="left")
    added = heights * lower - np.append(0, np.cumsum(ascending))[lower]
    best = int(heights[np.argmin(removed + added)])
    return np.maximum(columns, best), np.where(np.arange(len(rows)) < best, rows, 0)


def level_start(columns: IntArray, rows: IntArray, epsilon: float) -> IntArray:
    """Return the columns without a first level that noise explains better than labels do.

    Where the columns are level for long, and only the first ones are higher, labels would end
    right there and then none for long. Noise is as likely as exp(-epsilon) for each cell, and a
    fall at one of many positions about as likely as one over their number.

    Parameters
    ----------
    columns, rows : curves that agree; a level of columns goes on as far as the shortest row.
    epsilon : parameter of the noise.
    """
    second = int(np.searchsorted(-columns, -columns[0], side="right"))
    if second == len(columns) or columns[second] == 0:
        return columns
    height = int(columns[second])
    level = int(np.count_nonzero(columns == height))
    if columns[-1] == height == np.count_nonzero(rows):
        level += int(rows[height - 1])
    cells = second * int(columns[0] - height)
    return np.minimum(columns, height) if epsilon * cells < math.log(level) else columns
