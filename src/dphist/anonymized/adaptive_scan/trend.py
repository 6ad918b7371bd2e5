"""What the last noisy counts of a scan tell of the curve: height, slope, and whether it has steps.

Functions of noisy counts alone.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dphist.anonymized.adaptive_scan.roughness import Roughness

# The slope is measured over as many blocks as it takes to tell it from noise by so many standard
# deviations, but not farther back than this part of the position.
_SIGNIFICANT, _LOOK_BACK = 5.0, 0.36
# Steps show in how much slopes vary over so many blocks; what they show is believed by this part,
# for a few large labels look like steps.
_BLOCKS, _BELIEVED = 14, 0.25
# The slope of a curve c / x changes by this part of itself, times width over position, a block.
_BENDING = 2.0


@dataclass(frozen=True, slots=True)
class Trend:
    """The curve where a scan has arrived: its height there, and how fast it falls.

    `doubt` is the standard deviation of the slope.
    """

    height: float
    slope: float
    doubt: float


def noise_variance(epsilon: float) -> float:
    """Variance of two-sided geometric noise; no smaller than what can be divided by."""
    return 1 / (2 * math.sinh(min(epsilon, 200.0) / 2) ** 2)


def trend(ends: Sequence[int], totals: Sequence[int], epsilon: float) -> Trend:
    """Compare the last k blocks with the k before them, k = 1, 2, 4, ... until the fall is clear.

    Parameters
    ----------
    ends : where blocks end, after a leading 0; at least two blocks.
    totals : noisy numbers of cells up to there.
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
    """How many times as much the slope varies from block to block as it would by chance; >= 1.

    Where many labels have one count the curve has steps: it varies as if labels came in clumps.
    What noise and a curve like c / x explain is taken off.
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
    # The noise of three blocks, as the difference of the slopes between them weighs it.
    noise = noise_variance(epsilon) * (
        (1 / (widths[:-2] * gaps[:-1])) ** 2
        + (inverse / widths[1:-1]) ** 2
        + (1 / (widths[2:] * gaps[1:])) ** 2
    )
    bent = (_BENDING * mean_slopes * widths[1:-1] / edges[2:-1]) ** 2
    # Means of neighbouring blocks of a Brownian motion differ by 2/3 of its variance over one.
    by_chance = 2 / 3 * roughness(mean_slopes) * inverse
    expected = float((over**2 * by_chance).sum())
    if expected <= 0:
        return 1.0
    unexplained = float((over**2 * (np.diff(slopes) ** 2 - noise - bent)).sum())
    return max(1.0, _BELIEVED * unexplained / expected)
