"""Mean and tail bounds of the magnitude of noise, for error estimates and error bands.

These numbers describe a release before it is made. They do not decide a released value, so
floating point is safe here.
"""

import math
from fractions import Fraction

from scipy.special import ndtri


def geometric_standard_deviation(epsilon: Fraction) -> float:
    """Return the standard deviation of two-sided geometric noise: sqrt(2 a) / (1 - a)."""
    return 1 / (math.sqrt(2) * math.sinh(min(float(epsilon), 700.0) / 2))


def geometric_log_magnitude(epsilon: Fraction) -> float:
    """Return the logarithm of the mean of |Z|, 1 / sinh(epsilon); finite for every epsilon."""
    rate = float(epsilon)
    return math.log(2) - rate - math.log(-math.expm1(-2 * rate))


def geometric_upper_bound(epsilon: Fraction, probability: float) -> int:
    """Return the smallest t with Pr[Z > t] = a**(t+1) / (1 + a) <= probability."""
    if not 0 < probability < 1:
        raise ValueError("a probability lies between 0 and 1")
    rate = float(epsilon)
    needed = -(math.log(probability) + math.log1p(math.exp(-rate))) / rate
    return max(0, math.ceil(needed) - 1)


def geometric_half_width(epsilon: Fraction, level: float) -> int:
    """Return the smallest q with Pr[|Z| <= q] >= level."""
    return geometric_upper_bound(epsilon, (1 - level) / 2)


def gaussian_half_width(sigma: Fraction | float, level: float) -> int:
    """Return the smallest q with Pr[|N| <= q] >= level, where N is normal noise, rounded."""
    # Rounded noise is beyond q where the noise is beyond q + 1/2.
    return max(math.ceil(float(ndtri((1 + level) / 2)) * float(sigma) - 0.5), 0)


def geometric_stopped_bound(epsilon: Fraction, draws: int, missed: float) -> int:
    """Return t such that |Z| <= t for all `draws` samples, except with probability `missed`.

    The number of draws may depend on the noise. Class k covers all numbers up to 64 * 2**(k-1)
    and fails with probability at most missed / (k (k+1)); these probabilities add up to `missed`.
    """
    k = max(1, (draws - 1).bit_length() - 5)
    return geometric_simultaneous_bound(epsilon, 2 ** (k + 5), missed / (k * (k + 1)))


def geometric_simultaneous_bound(epsilon: Fraction, draws: int, missed: float) -> int:
    """Return t such that |Z| <= t for all `draws` samples, except with probability `missed`."""
    # Independent draws: 1 - (1 - p)**draws <= missed, and Pr[|Z| > t] = 2 Pr[Z > t].
    each = -math.expm1(math.log1p(-missed) / max(draws, 1))
    return geometric_upper_bound(epsilon, each / 2)
