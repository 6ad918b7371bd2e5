"""Estimates of a curve from the last noisy counts of a scan: height, slope and steps.

Functions of noisy counts only.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dphist.anonymized.adaptive_scan.roughness import Roughness

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
    widths = np.diff(edges)
    heights = np.array(counts[-_BLOCKS:], np.float64) / widths
    gaps = (widths[:-1] + widths[1:]) / 2
    slopes = -np.diff(heights) / gaps
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
    unexplained = float((over**2 * (np.diff(slopes) ** 2 - noise - bent)).sum())
    return max(1.0, _BELIEVED * unexplained / expected)
