"""Support size by a Chebyshev polynomial (Wu and Yang 2019).

Labels have probability 0 or at least p_min. A label seen r times counts as 1 + b_r r! if r is at
most the degree L, and as 1 otherwise. P(x) = sum b_r x^r is the polynomial of degree L with
P(0) = -1 and the smallest maximum of |P| between x = n p_min and x = M. If counts are Poisson, a
label of expected count x adds 1 + exp(-x) P(x) in the mean: 0 if the label does not exist, nearly
1 if it does.

Source: Y. Wu and P. Yang, "Chebyshev polynomials, moment matching, and optimal estimation of the
unseen", Annals of Statistics 47 (2019). Degree 0.45 ln(1/p_min) and M = 0.5 ln(1/p_min) as in its
experiments.
"""

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from dphist.arrays import FloatArray, IntArray

_DEGREE = Fraction(45, 100)  # of ln(1/p_min); c0 of the paper
_RIGHT_END = 0.5  # of ln(1/p_min), in expected records of a label; c1 of the paper


def weights(counts: IntArray, total: int, p_min: Fraction) -> FloatArray:
    """Return f(r, n) of each count r, so that the support size is sum f(r, n) phi_r.

    Parameters
    ----------
    counts : (c,) int64, records per label, positive.
    total : records, n.
    p_min : minimum probability of a label, 0 < p_min <= 1.

    Returns
    -------
    (c,) float64, dimensionless; 1 for every count above the degree, and for all counts if n p_min
    is so large that all labels are seen.
    """
    corrections = np.array([0.0, *_corrections(total, p_min)])
    found: FloatArray = 1 + corrections[np.where(counts < len(corrections), counts, 0)]
    return found


def bias_share(total: int, p_min: Fraction) -> float:
    """Bound |E estimate - support size| as a share of the support size, for Poisson counts.

    It is the maximum of exp(-x) |P(x)| over expected counts x >= n p_min, found on a grid.
    """
    if all_are_seen(total, p_min):
        # The estimate is wrong only if a label is missed, which has this probability.
        return math.exp(-min(float(total * p_min), 700.0))
    degree, left, right = _degree(p_min), float(total * p_min), _right_end(p_min)
    # Past the right end |P| grows like x^degree; soon after x = degree, exp(-x) dominates.
    x = np.union1d(np.linspace(left, right, 513), np.linspace(right, right + 8 * degree + 40, 1025))
    logs = _log_chebyshev(degree, (2 * x - right - left) / (right - left))
    at_zero = _log_chebyshev(degree, np.array([(right + left) / (right - left)]))[0]
    return min(float(np.exp(np.max(logs - x) - at_zero)), 1.0)


def all_are_seen(total: int, p_min: Fraction) -> bool:
    """Whether a label of probability p_min is expected so often that none is missed."""
    return float(total * p_min) >= _right_end(p_min)


def _degree(p_min: Fraction) -> int:
    return max(1, math.floor(_DEGREE * Fraction(_log_of_inverse(p_min))))


def _right_end(p_min: Fraction) -> float:
    return _RIGHT_END * _log_of_inverse(p_min)


def _log_of_inverse(p_min: Fraction) -> float:
    """Return ln(1/p_min); the terms of the fraction may exceed the range of floats."""
    return math.log(p_min.denominator) - math.log(p_min.numerator)


@lru_cache(maxsize=256)
def _corrections(total: int, p_min: Fraction) -> tuple[float, ...]:
    """Return b_r r! for r = 1..L, computed exactly and rounded to floats.

    Terms of a Chebyshev polynomial alternate and grow like 2^L, so they are added as fractions.
    """
    if all_are_seen(total, p_min):
        return ()
    left, right = total * p_min, Fraction(_right_end(p_min))
    slope, shift = 2 / (right - left), -(right + left) / (right - left)
    before, now = [Fraction(1)], [shift, slope]
    for _ in range(_degree(p_min) - 1):  # T_{m+1}(y) = 2 y T_m(y) - T_{m-1}(y), y = shift + slope x
        after = [2 * shift * b for b in now] + [Fraction(0)]
        for power, b in enumerate(now):
            after[power + 1] += 2 * slope * b
        for power, b in enumerate(before):
            after[power] -= b
        before, now = now, after
    at_zero = now[0]
    return tuple(
        float(-b / at_zero * math.factorial(power)) for power, b in enumerate(now) if power > 0
    )


def _log_chebyshev(degree: int, y: FloatArray) -> FloatArray:
    """Return ln |T_degree(y)|, also where T itself is too large for a float."""
    outside = degree * np.arccosh(np.maximum(np.abs(y), 1))
    inside = np.abs(np.cos(degree * np.arccos(np.clip(y, -1, 1))))
    logs = np.where(
        np.abs(y) > 1,
        outside + np.log1p(np.exp(-2 * outside)) - math.log(2),
        np.log(np.maximum(inside, 1e-300)),
    )
    return np.asarray(logs)
