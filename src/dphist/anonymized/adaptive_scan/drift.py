"""The slope of a curve at each position, smoothed on log-log axes. Pure functions of a curve."""

import numpy as np

from dphist.anonymized.adaptive_scan.roughness import Roughness, of_columns
from dphist.arrays import FloatArray, IntArray

# A slope is averaged over positions up to this factor away.
_WINDOW = 2.0
# Falls are averaged with the position to this power as weight: about constant for real data.
_POWER_OF_COLUMNS, _POWER_OF_ROWS = 1.5, 1.0
# Fewer positions than this are not averaged, but are no less than this slope.
_NARROW, _LEAST_NARROW = 3, 0.05
_LEAST = 1e-6
# The power of the slope is averaged over this share of all positions on either side.
_STEADY = 20
# Sums of powers are computed term by term up to this position, and as integrals beyond.
_TERMS = 40


def smooth_drift(falls: FloatArray, roughness: Roughness) -> FloatArray:
    """Return the smoothed fall of a curve from each position to the next.

    Parameters
    ----------
    falls : (n,) float64, non-negative; the curve's own falls.
    roughness : the kind of curve.

    Returns
    -------
    (n,) float64, positive. A power law is unchanged, except at positions 1 and 2.
    """
    n = len(falls)
    x = np.arange(1, n + 1, dtype=np.float64)
    first = np.ceil(x / _WINDOW).astype(np.int64)
    last = np.minimum(n, np.floor(x * _WINDOW)).astype(np.int64)
    narrow = last - first < _NARROW
    weights = x ** (_POWER_OF_COLUMNS if roughness is of_columns else _POWER_OF_ROWS)
    sums = np.append(0.0, np.cumsum(falls * weights))
    means = (sums[last] - sums[first - 1]) / ((last - first + 1) * weights)
    rough = np.where(narrow, np.maximum(falls, _LEAST_NARROW), np.maximum(means, _LEAST))
    if n <= _NARROW:
        return rough
    power = _moving_mean(np.gradient(np.log(rough), np.log(x)), max(1, n // _STEADY))
    # From the end, where curves are low, so that no digits of small falls are lost.
    rest = np.append(np.cumsum(falls[::-1])[::-1], 0.0)
    mean = np.maximum((rest[first - 1] - rest[last]) / _sums_of_powers(power, x, first, last), 0)
    return np.where(narrow, rough, np.maximum(mean, _LEAST))


def _moving_mean(values: FloatArray, reach: int) -> FloatArray:
    """Return the mean of the values up to `reach` away; the ends are repeated."""
    sums = np.append(0.0, np.cumsum(np.pad(values, reach, mode="edge")))
    width = 2 * reach + 1
    return np.asarray((sums[width:] - sums[:-width]) / width)


def _sums_of_powers(
    power: FloatArray, x: FloatArray, first: IntArray, last: IntArray
) -> FloatArray:
    """Return the sum of (i / x)^power over i = first..last, for each x; (n,) float64."""
    start, stop = np.log((first - 0.5) / x), np.log((last + 0.5) / x)
    exponent = power + 1
    flat = np.abs(exponent) < 1e-6
    by = np.where(flat, 1.0, exponent)
    # Where a curve falls off a cliff, the power is so large that a sum may be infinite: then there
    # is no slope.
    with np.errstate(over="ignore"):
        grown = np.exp(by * start) * np.expm1(by * (stop - start)) / by
        sums = np.asarray(x * np.where(flat, stop - start, grown))
        for i in range(min(len(x), _TERMS)):
            terms = np.arange(first[i], last[i] + 1) / x[i]
            sums[i] = (terms ** power[i]).sum()
    return sums
