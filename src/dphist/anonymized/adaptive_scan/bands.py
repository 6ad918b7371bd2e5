"""Bounds on the true diagram, and error bars, from the noisy counts of an adaptive scan.

Bounds are those of Lemma 4 of `docs/understand/proofs/adaptive_scan.md`. Error bars are estimates,
not bounds, from the noise of the counts and the random variation of the curve
(`docs/understand/adaptive-scan.md#error-bars`). Where a curve was decoded twice, they follow from
the model of `refining.py`: the inverse of the banded matrix, near its diagonal, and the law of a
Brownian bridge inside blocks. Pure functions of noisy numbers.
"""

from collections.abc import Mapping

import numpy as np

from dphist.anonymized.adaptive_scan.blocks import block_heights, chance_of_falls
from dphist.anonymized.adaptive_scan.decoding import compute_kept_heights, decode_curve
from dphist.anonymized.adaptive_scan.refining import Refined
from dphist.anonymized.adaptive_scan.trend import Roughness, noise_variance, of_columns
from dphist.anonymized.band import curve_bounds
from dphist.arrays import FloatArray, IntArray
from dphist.release.anonymized_histogram import AnonymizedHistogram


def bound_scans(
    noisy: Mapping[str, IntArray], t: int
) -> tuple[AnonymizedHistogram, AnonymizedHistogram]:
    """Return a diagram inside the true one and one containing it, if no noise exceeds `t`."""
    ends, row_ends = noisy["column_ends"], noisy["row_ends"]
    low, high = curve_bounds(ends, noisy["columns"], t)
    short, long = curve_bounds(row_ends, noisy["rows"], t)
    # Rows with a lower bound above 0 certainly reach beyond the last column.
    surely = int(row_ends[1:][short > 0].max(initial=0))
    # At most as many rows reach beyond the last column as it is high.
    rows_up_to = np.minimum(row_ends[1:], high[-1])
    return (
        _join(ends, np.maximum(low, surely), row_ends[1:], short),
        _join(ends, high, rows_up_to, long),
    )


def _join(
    ends: IntArray, heights: IntArray, row_ends: IntArray, lengths: IntArray
) -> AnonymizedHistogram:
    """Return the diagram with these columns and, right of them, rows of these lengths."""
    reach = int(row_ends[lengths > 0].max(initial=0))
    how_many = np.diff(np.minimum(row_ends, reach), prepend=0)
    steps = heights - np.append(heights[1:], reach)
    return AnonymizedHistogram(np.append(ends[1:], ends[-1] + lengths), np.append(steps, how_many))


def model_deviations(found: Refined) -> FloatArray:
    """Return the standard deviation of the curve at each position; (n,) float64."""
    walk, block = found.walk, found.walk.block
    inverse = band_of_inverse(found.solved.factor)
    start, following, drift = walk.weights()
    total = walk.bridges + found.noise
    pulls = walk.pulls / total[block]
    # How the value at a position depends on its block's three unknowns.
    by = (
        1 - walk.parts - pulls * start[block],
        walk.parts * walk.falls[block] - walk.fallen - pulls * drift[block],
        walk.parts - pulls * following[block],
    )
    variance = walk.variances[block] * walk.parts * (1 - walk.parts) - pulls * walk.pulls
    for p in range(3):
        for q in range(p + 1):
            here = inverse[p - q, q : q + 2 * len(walk.widths) : 2][: len(walk.widths)]
            variance = variance + (1 + (p != q)) * by[p] * by[q] * here[block]
    return np.sqrt(np.maximum(variance, 0))


def band_of_inverse(factor: FloatArray) -> FloatArray:
    """Return the inverse of L L' within the band of L, as lower diagonals; O(size).

    Row by row from the last (Takahashi, Fagan and Chen 1973).

    Parameters
    ----------
    factor : (band + 1, size) float64; the lower diagonals of L.
    """
    band, size = len(factor) - 1, factor.shape[1]
    inverse = np.zeros((band + 1, size))
    after = np.zeros((band, band))  # the inverse at the `band` unknowns that follow
    for j in range(size - 1, -1, -1):
        below = factor[1:, j] / factor[0, j]
        column = -after @ below
        inverse[0, j] = 1 / factor[0, j] ** 2 - below @ column
        inverse[1:, j] = column
        after[1:, 1:] = after[:-1, :-1].copy()
        after[0, 0] = inverse[0, j]
        after[0, 1:] = after[1:, 0] = column[:-1]
    return inverse


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
        spread[:n] += trust * (scale * model_deviations(model) - spread[:n])
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
    heights = compute_kept_heights(ends, counts, epsilon, roughness)
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
