"""Error bars: how far each point of a scan's curve is likely to be off.

Estimates from the noise of the counts, and from the chance by which labels end and gaps come;
not bounds. Pure functions of noisy numbers (`docs/adaptive-scan.md#error-bars`).
"""

import numpy as np

from dphist.anonymized.adaptive_scan.decoding import decode_curve, kept_heights
from dphist.anonymized.adaptive_scan.roughness import Roughness
from dphist.anonymized.adaptive_scan.smoothing import block_heights, chance_of_falls
from dphist.anonymized.adaptive_scan.trend import noise_variance
from dphist.arrays import FloatArray, IntArray

# Within a block a curve strays from the fitted one with this part of the variance of its fall:
# between 1/15, were its ends known too, and 1/6, were only they known.
_INSIDE = 0.15


def curve_between(
    ends: IntArray,
    counts: IntArray,
    epsilon: float,
    roughness: Roughness,
    z: float,
) -> tuple[IntArray, IntArray]:
    """Return the decoded curve, minus and plus `z` standard deviations.

    Parameters
    ----------
    ends, counts, epsilon, roughness : as for `decode_curve`.

    Returns
    -------
    Two (n,) int64, non-increasing, non-negative; n is where the upper one has come to 0, or
    the last end.
    """
    heights, deviations = heights_and_deviations(ends, counts, epsilon, roughness)
    # What is beyond is not higher, be its own count ever so noisy.
    some = np.flatnonzero(np.minimum.accumulate(heights + z * deviations) >= 0.5)
    length = int(ends[some[-1] + 1]) if len(some) else 0
    curve = decode_curve(ends, counts, epsilon, roughness, length)
    reach = z * np.repeat(deviations, np.diff(np.minimum(ends, length)))
    low = np.maximum.accumulate(np.ceil(curve - reach)[::-1])[::-1]
    high = np.minimum.accumulate(np.floor(curve + reach))
    return np.maximum(low, 0).astype(np.int64), np.maximum(high, curve).astype(np.int64)


def heights_and_deviations(
    ends: IntArray, counts: IntArray, epsilon: float, roughness: Roughness
) -> tuple[FloatArray, FloatArray]:
    """Mean height of each block, and standard deviation of the curve at its positions; (k,)."""
    widths = np.diff(ends).astype(np.float64)
    own = noise_variance(epsilon) / widths**2
    heights = kept_heights(ends, counts, epsilon, roughness)
    kept = len(heights)
    if kept < 2:
        return block_heights(ends, counts), np.sqrt(own)
    gaps = (widths[: kept - 1] + widths[1:kept]) / 2
    falls = -np.diff(heights)
    chance = chance_of_falls(falls, gaps, epsilon, roughness)
    # Each block is known from its own count and, less well, from those of its neighbours.
    known = 1 / own
    known[: kept - 1] += 1 / (chance + own[1:kept])
    known[1:kept] += 1 / (chance + own[: kept - 1])
    slopes = falls / gaps
    steeper = np.maximum(np.append(slopes, slopes[-1]), np.append(slopes[0], slopes))
    inside = np.zeros(len(counts))
    inside[:kept] = _INSIDE * roughness(steeper) * widths[:kept]
    deviations = np.sqrt(1 / known + np.where(widths > 1, inside, 0))
    return np.append(heights, np.zeros(len(counts) - kept)), deviations
