"""Conversion of epsilon to rho and of rho to epsilon, rounded up.

Formulas: Bun and Steinke 2016; Canonne, Kamath, Steinke 2020.
"""

import functools
import math
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from dphist.privacy.rounding import DIGITS, DOWN, UP, decimal, exp_down, log_up, round_up


def pure_to_rho(epsilon: Fraction) -> Fraction:
    """Return epsilon tanh(epsilon/2) = epsilon (1 - e) / (1 + e), e = exp(-epsilon), rounded up."""
    if epsilon > 1000:  # tanh is 1 to hundreds of digits
        return epsilon
    e_low = exp_down(DOWN.minus(decimal(epsilon, UP)))
    tanh = UP.divide(UP.subtract(Decimal(1), e_low), DOWN.add(Decimal(1), e_low))
    rounded = round_up(UP.multiply(decimal(epsilon, UP), tanh))
    return min(rounded, epsilon * epsilon / 2)


@functools.lru_cache(maxsize=1024)
def geometric_to_rho(epsilon: Fraction, cells: int) -> Fraction:
    """Return the rho of two-sided geometric noise, exactly known, rounded up.

    The noise of each count has rate ``r = epsilon / cells``, Pr[Z = z] in proportion to
    exp(-r abs(z)), and counts with noise of their own change by `cells` together, at most: that is
    pure epsilon-DP. With a = exp(-r), rho = r (cells - 2 a (1 - a**cells) / (1 - a**2)), which is
    epsilon tanh(epsilon/2) for one cell and less for more
    (`docs/understand/proofs/geometric_rho.md`, Lemma 1).

    Parameters
    ----------
    epsilon : the pure epsilon, above 0.
    cells : at least 1.

    >>> float(geometric_to_rho(Fraction(1), 1)), float(geometric_to_rho(Fraction(1), 10))
    (0.462117157261, 0.368931747608)
    """
    rate = epsilon / cells
    if rate > 1000:
        return epsilon
    # Leading digits cancel: rho is about epsilon**2 / 2.
    lost = max(0, rate.denominator.bit_length() - rate.numerator.bit_length() + 4)  # digits enough
    up, down = (
        Context(prec=40 + lost, rounding=rounding, Emax=10**9, Emin=-(10**9))
        for rounding in (ROUND_CEILING, ROUND_FLOOR)
    )

    def exponential(number: Fraction, context: Context) -> Decimal:
        """Return exp(-number), rounded by the context."""
        least = decimal(number, down if context is up else up).copy_negate()
        found = context.exp(least)
        return context.next_plus(found) if context is up else context.next_minus(found)

    low = exponential(rate, down)  # 2 a / (1 - a**2) grows with a
    part = down.divide(down.multiply(Decimal(2), low), up.subtract(1, down.multiply(low, low)))
    part = down.multiply(part, down.subtract(1, exponential(epsilon, up)))
    rho = up.multiply(decimal(rate, up), up.subtract(Decimal(cells), part))
    return min(round_up(rho), pure_to_rho(epsilon))


def rho_to_epsilon(rho: Fraction, delta: Fraction) -> Fraction:
    """Return an epsilon for which rho-zCDP implies (epsilon, delta)-DP, rounded up.

    For any a > 1: epsilon = a rho + (ln(1/delta) + (a-1) ln(1 - 1/a) - ln a) / (a-1)
    (Canonne, Kamath, Steinke 2020, Corollary 13). Every a gives a valid bound, so `a` is found in
    floating point; only the bound at this `a` is computed with directed rounding.
    """
    return rho_to_epsilon_at(rho, delta, best_order(rho, delta))


def best_order(rho: Fraction, delta: Fraction) -> Fraction:
    """Return the order a at which `rho_to_epsilon` states its bound.

    It may differ in its last digits between machines: floats and the system's logarithm find it.
    """
    return Fraction(_best_order(float(rho), delta)).limit_denominator(10**9)


def rho_to_epsilon_at(rho: Fraction, delta: Fraction, order: Fraction) -> Fraction:
    """Return the bound of `rho_to_epsilon` at one order a > 1, rounded up.

    It is the same on all machines: decimals compute it, whose logarithms are rounded correctly.
    """
    less = order - 1
    numerator = UP.add(log_up(1 / delta), log_up(1 / order))
    term = UP.add(
        UP.divide(numerator, decimal(less, DOWN if numerator > 0 else UP)),
        log_up(1 - 1 / order),
    )
    tight = UP.add(UP.multiply(decimal(order, UP), decimal(rho, UP)), term)
    # A guarantee needs epsilon above 0; a tiny one covers 0.
    return max(round_up(tight), Fraction(1, 10**DIGITS))


def _best_order(rho: float, delta: Fraction) -> float:
    """Find the order a that minimizes the bound, by a search over ln(a - 1)."""
    log_delta = math.log(delta.numerator) - math.log(delta.denominator)

    def bound(t: float) -> float:
        less = math.exp(t)
        order = 1 + less
        return order * rho + (-log_delta - math.log(order)) / less + t - math.log(order)

    return 1 + math.exp(_golden_minimum(bound, -18.0, 40.0))


def _golden_minimum(function: Callable[[float], float], low: float, high: float) -> float:
    """Golden-section search; every point gives a valid bound, the minimum the tightest."""
    ratio = (math.sqrt(5) - 1) / 2
    while high - low > 1e-9:  # closer than that, two values near a minimum are the same float
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        if function(left) < function(right):
            high = right
        else:
            low = left
    return (low + high) / 2
