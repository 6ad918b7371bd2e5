"""Heights of a scan's blocks, each steadied by its neighbours.

Neighbouring blocks differ by what the curve falls between them, which is known about: labels
end, or gaps come, at random. So the heights are the most likely ones under two things with
known variances, the noise of the counts and the chance of the falls: a tridiagonal system of
linear equations, as in a Kalman smoother. Pure functions of noisy numbers.
"""

import math

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from dphist.anonymized.adaptive_scan.roughness import Roughness
from dphist.anonymized.adaptive_scan.trend import noise_variance
from dphist.anonymized.inference import isotonic_decreasing
from dphist.arrays import FloatArray, IntArray

# A fall is foretold from so many blocks on either side, to within this part of it.
_REACH, _KNOWN_TO = 3, 0.2
# A fall is never known better than to this part of the noise, for none may have been foretold.
_FLOOR = 0.2
# A fall that is off by more standard deviations than this is a step, and is let be.
_STEP = 2.0
# Noise is larger than its standard deviation more often than a normal variable: each count's
# variance is at least this part of the mean one, and grows in proportion to what it is off.
_USUAL = 0.7


def block_heights(ends: IntArray, counts: IntArray) -> FloatArray:
    """Mean height of each block: least squares, each weighted by its inverse variance."""
    widths = np.diff(ends).astype(np.float64)
    return np.maximum(isotonic_decreasing(counts / widths, widths**2), 0)


def smoothed_heights(
    ends: IntArray, counts: IntArray, epsilon: float, roughness: Roughness
) -> FloatArray:
    """Mean height of each block, not increasing.

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
    falls = foretold_falls(ends, heights, epsilon)
    chance = chance_of_falls(falls, gaps, epsilon, roughness)
    off = (-np.diff(heights) - falls) ** 2
    seen = noise * (1 / widths[:-1] ** 2 + 1 / widths[1:] ** 2)
    chance = chance + np.maximum(off - _STEP**2 * (seen + chance), 0)
    variances = np.full(len(counts), noise)
    steadied = _most_likely(widths, counts, variances, falls, chance)
    variances = _weighed(noise, counts - widths * steadied)
    steadied = _most_likely(widths, counts, variances, falls, chance)
    return np.maximum(isotonic_decreasing(steadied, widths), 0)


def foretold_falls(ends: IntArray, heights: FloatArray, epsilon: float) -> FloatArray:
    """Falls between neighbouring blocks, (k - 1,), if the curve were a power law there.

    A straight line on log-log axes is fitted to the blocks near each pair.
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
    """Variance of the falls between neighbouring blocks, `gaps` from middle to middle."""
    by_chance = roughness(falls / gaps) * gaps
    return np.asarray(by_chance + (_KNOWN_TO * falls) ** 2 + (_FLOOR / (epsilon * gaps)) ** 2)


def _weighed(noise: float, off: FloatArray) -> FloatArray:
    """Variance to give each count of a mean variance, if it is `off` from what was expected."""
    return np.asarray(_USUAL * np.maximum(noise, np.abs(off) * math.sqrt(noise)))


def _most_likely(
    widths: FloatArray,
    counts: IntArray,
    variances: FloatArray,
    falls: FloatArray,
    chance: FloatArray,
) -> FloatArray:
    """Minimise the sum of (count - width v)^2 / variance and (v - v' - fall)^2 / chance over v."""
    diagonal, right = widths**2 / variances, widths * counts / variances
    diagonal[:-1] += 1 / chance
    diagonal[1:] += 1 / chance
    right[:-1] += falls / chance
    right[1:] -= falls / chance
    above = np.append(0.0, -1 / chance)
    from scipy.linalg import solveh_banded  # slow to import; a dry run needs none

    return np.asarray(solveh_banded(np.array([above, diagonal]), right))
