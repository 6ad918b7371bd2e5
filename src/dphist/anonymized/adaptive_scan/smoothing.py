"""Heights of a scan's blocks, smoothed with their neighbors.

Adjacent blocks differ by the fall of the curve between them, which is random with known variance.
The heights are the most likely ones given the noise of the counts and the variation of the falls:
the solution of a tridiagonal linear system, as in a Kalman smoother. Pure functions of noisy
numbers.
"""

import math

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from dphist.anonymized.adaptive_scan.roughness import Roughness
from dphist.anonymized.adaptive_scan.trend import noise_variance
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


def smoothed_heights(
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
    falls = predicted_falls(ends, heights, epsilon)
    chance = chance_of_falls(falls, gaps, epsilon, roughness)
    off = (-np.diff(heights) - falls) ** 2
    seen = noise * (1 / widths[:-1] ** 2 + 1 / widths[1:] ** 2)
    chance = chance + np.maximum(off - _STEP**2 * (seen + chance), 0)
    variances = np.full(len(counts), noise)
    steadied = _most_likely(widths, counts, variances, falls, chance)
    variances = _weighed(noise, counts - widths * steadied)
    steadied = _most_likely(widths, counts, variances, falls, chance)
    return np.maximum(isotonic_decreasing(steadied, widths), 0)


def predicted_falls(ends: IntArray, heights: FloatArray, epsilon: float) -> FloatArray:
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


def _weighed(noise: float, off: FloatArray) -> FloatArray:
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
