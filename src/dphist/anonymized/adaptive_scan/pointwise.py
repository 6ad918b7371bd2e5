"""Error bars: the likely error of each point of a scan's curve.

They are estimates, not bounds, from the noise of the counts and the random variation of the curve.
Pure functions of noisy numbers (`docs/understand/adaptive-scan.md#error-bars`).
"""

import numpy as np

from dphist.anonymized.adaptive_scan.decoding import decode_curve, kept_heights
from dphist.anonymized.adaptive_scan.roughness import Roughness, of_columns
from dphist.anonymized.adaptive_scan.smoothing import block_heights, chance_of_falls
from dphist.anonymized.adaptive_scan.spread import deviations as modeled_deviations
from dphist.anonymized.adaptive_scan.trend import noise_variance
from dphist.arrays import FloatArray, IntArray

# Variance of the curve around the fit within a block, as a share of the variance of its fall:
# between 1/15, if the ends are known as well, and 1/6, if only the ends are known.
_INSIDE = 0.15
# Actual over modeled standard deviation, where the curve was decoded twice. Gaps between large
# counts vary more than the model of rows allows.
_TRUSTED_OF_COLUMNS, _TRUSTED_OF_ROWS = 1.1, 1.25


def curve_between(
    ends: IntArray,
    counts: IntArray,
    epsilon: float,
    roughness: Roughness,
    z: float,
) -> tuple[IntArray, IntArray]:
    """Return the decoded curve minus and plus `z` standard deviations.

    Parameters
    ----------
    ends, counts, epsilon, roughness : as for `decode_curve`.

    Returns
    -------
    Two (n,) int64, non-increasing, non-negative; n is where the upper one reaches 0, or the last
    end.
    """
    heights, deviations = heights_and_deviations(ends, counts, epsilon, roughness)
    # The curve beyond is not higher, however noisy its own count.
    some = np.flatnonzero(np.minimum.accumulate(heights + z * deviations) >= 0.5)
    length = int(ends[some[-1] + 1]) if len(some) else 0
    curve, model, trust = decode_curve(ends, counts, epsilon, roughness, length)
    spread = np.repeat(deviations, np.diff(np.minimum(ends, length)))
    if model is not None:
        n = len(model.values)
        scale = _TRUSTED_OF_COLUMNS if roughness is of_columns else _TRUSTED_OF_ROWS
        spread[:n] += trust * (scale * modeled_deviations(model) - spread[:n])
    reach = z * spread
    low = np.maximum.accumulate(np.ceil(curve - reach)[::-1])[::-1]
    high = np.minimum.accumulate(np.floor(curve + reach))
    return np.maximum(low, 0).astype(np.int64), np.maximum(high, curve).astype(np.int64)


def heights_and_deviations(
    ends: IntArray, counts: IntArray, epsilon: float, roughness: Roughness
) -> tuple[FloatArray, FloatArray]:
    """Return the mean height of each block, and the curve's standard deviation in it; (k,)."""
    widths = np.diff(ends).astype(np.float64)
    own = noise_variance(epsilon) / widths**2
    heights = kept_heights(ends, counts, epsilon, roughness)
    kept = len(heights)
    if kept < 2:
        return block_heights(ends, counts), np.sqrt(own)
    gaps = (widths[: kept - 1] + widths[1:kept]) / 2
    falls = -np.diff(heights)
    chance = chance_of_falls(falls, gaps, epsilon, roughness)
    # Each block is estimated from its own count and, less accurately, from its neighbors.
    known = 1 / own
    known[: kept - 1] += 1 / (chance + own[1:kept])
    known[1:kept] += 1 / (chance + own[: kept - 1])
    slopes = falls / gaps
    steeper = np.maximum(np.append(slopes, slopes[-1]), np.append(slopes[0], slopes))
    inside = np.zeros(len(counts))
    inside[:kept] = _INSIDE * roughness(steeper) * widths[:kept]
    deviations = np.sqrt(1 / known + np.where(widths > 1, inside, 0))
    return np.append(heights, np.zeros(len(counts) - kept)), deviations
