"""What the noisy counts of a scan say of its curve: trend, random variation, and the next width."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from dphist.arrays import FloatArray

Number = TypeVar("Number", float, FloatArray)


class Roughness(Protocol):
    """Variance of the fall over one position, given its mean; `of_columns` or `of_rows`."""

    def __call__(self, slope: Number, /) -> Number:
        """Return the variance, for one slope or an array of them."""


def of_columns(slope: Number, /) -> Number:
    """Labels end at random: the fall over one column is Poisson, with variance equal to mean."""
    return slope


def of_rows(slope: Number, /) -> Number:
    """The standard deviation of a gap between counts is its mean."""
    return slope * slope


# The slope is measured over enough blocks to exceed the noise by this many standard deviations,
# but not further back than this share of the position.
_SIGNIFICANT, _LOOK_BACK = 5.0, 0.36
# Steps are detected by the variation of slopes over this many blocks. It counts with this weight
# only, because a few large labels also look like steps.
_BLOCKS, _BELIEVED = 14, 0.25
# Relative change of the slope of a curve c / x per block, in units of width / position.
_BENDING = 2.0


@dataclass(frozen=True, slots=True)
class Trend:
    """Height and slope of the curve at the position of a scan.

    `doubt` is the standard deviation of the slope.
    """

    height: float
    slope: float
    doubt: float


def noise_variance(epsilon: float) -> float:
    """Return the variance of two-sided geometric noise, bounded away from 0."""
    return 1 / (2 * math.sinh(min(epsilon, 200.0) / 2) ** 2)


def trend(ends: Sequence[int], totals: Sequence[int], epsilon: float) -> Trend:
    """Compare the last k blocks with the k before, k = 1, 2, 4, ..., until the fall is significant.

    Parameters
    ----------
    ends : ends of blocks, preceded by a 0; at least two blocks.
    totals : noisy numbers of cells up to each end.
    """
    variance, blocks = noise_variance(epsilon), len(ends) - 1
    half = 1
    while True:
        near, far = ends[-1] - ends[-1 - half], ends[-1 - half] - ends[-1 - 2 * half]
        level = (totals[-1] - totals[-1 - half]) / near
        drop = (totals[-1 - half] - totals[-1 - 2 * half]) / far - level
        deviation = math.sqrt(variance * half * (1 / far**2 + 1 / near**2))
        told = drop > _SIGNIFICANT * deviation
        if told or 4 * half > blocks or near + far > _LOOK_BACK * ends[-1]:
            break
        half *= 2
    gap = (near + far) / 2
    slope = max(drop, 0.0) / gap
    return Trend(max(level - slope * near / 2, level / 2), slope, deviation / gap)


def clumps(
    ends: Sequence[int],
    counts: Sequence[int],
    epsilon: float,
    roughness: Roughness,
) -> float:
    """Return the ratio of the slope's variation between blocks to that by chance; at least 1.

    If many labels share a count, the curve has steps and varies as if labels came in clumps.
    Variation explained by noise, and by a curve like c / x, is subtracted.
    """
    if len(counts) < 5:
        return 1.0
    edges = np.array(ends[-1 - _BLOCKS :], np.float64)
    widths = edges[1:] - edges[:-1]  # a fraction of the time of np.diff, on so few numbers
    heights = np.array(counts[-_BLOCKS:], np.float64) / widths
    gaps = (widths[:-1] + widths[1:]) / 2
    slopes = (heights[:-1] - heights[1:]) / gaps
    inverse = 1 / gaps[:-1] + 1 / gaps[1:]
    over = gaps[:-1] + gaps[1:]
    mean_slopes = np.maximum((heights[:-2] - heights[2:]) / over, 0)
    # The noise of three blocks, in the difference of the slopes between them.
    noise = noise_variance(epsilon) * (
        (1 / (widths[:-2] * gaps[:-1])) ** 2
        + (inverse / widths[1:-1]) ** 2
        + (1 / (widths[2:] * gaps[1:])) ** 2
    )
    bent = (_BENDING * mean_slopes * widths[1:-1] / edges[2:-1]) ** 2
    # Means of adjacent blocks of a Brownian motion differ with 2/3 of its variance over a block.
    by_chance = 2 / 3 * roughness(mean_slopes) * inverse
    expected = float((over**2 * by_chance).sum())
    if expected <= 0:
        return 1.0
    unexplained = float((over**2 * ((slopes[1:] - slopes[:-1]) ** 2 - noise - bent)).sum())
    return max(1.0, _BELIEVED * unexplained / expected)


# Mean of |Brownian bridge| over its length, in units of the standard deviation of a free end: the
# mean distance of a curve from the line between a block's ends.
_BRIDGE = math.sqrt(math.pi / 32)
# A curve c / x is not linear: a block of width t at x has an error of about 0.1 slope t^2 / x.
_BEND = 0.1
# Maximum width as a share of the position, for each halving of epsilon below 2, because the curve
# ahead may change. From epsilon 2 on, blocks have width 1.
_AHEAD = 0.04
# The curve is flat if it would fall by less than the share _FLAT up to twice the position. Then
# wide blocks are less useful: their noise averages out, and the plateau may end at any point.
_FLAT, _AHEAD_IF_FLAT = 0.3, 0.1
# Maximum width as a multiple of the last one: a flat stretch may be the tread of a stair.
_GROWTH = 1.5

# All small widths, then widths in ratios of 1 + 1/64.
_WIDTHS = np.unique(np.floor((1 + 1 / 64) ** np.arange(2770))).astype(np.int64)


def best_width(epsilon: float, position: int, last: int, here: Trend, roughness: float) -> int:
    """Return the width with the minimum expected error per position.

    The error is the mean magnitude of a block's noise, divided by its positions, plus the
    deviation of the curve from its interpolation within the block.

    Parameters
    ----------
    last : width of the last block.
    here : the curve at `position`.
    roughness : variance of its fall over one position.
    """
    ahead = max(0.0, _AHEAD * math.log2(2 / epsilon))
    if (here.slope + 2 * here.doubt) * position < _FLAT * here.height:
        ahead = min(ahead, _AHEAD_IF_FLAT)
    widest = min(1 + int(ahead * position), max(last + 1, int(_GROWTH * last)))
    widths = _WIDTHS[: _WIDTHS.searchsorted(widest, side="right")]
    noise = 1 / math.sinh(min(epsilon, 700.0))
    bend = _BEND * here.slope * (widths / position) * widths
    cost = noise / widths + (1 - 1 / widths) * (_BRIDGE * np.sqrt(roughness * widths) + bend)
    return int(widths[cost.argmin()])
