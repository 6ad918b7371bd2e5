"""Group privacy: the guarantee for several units, from the guarantee for one.

Data sets that differ in `steps` units are joined by a path of `steps` pairs of neighbors. All four
results are proved in `docs/understand/proofs/accounting.md` (Lemma 9) and rounded up.
"""

import math
from decimal import Decimal
from fractions import Fraction

from dphist.errors import ParameterError
from dphist.privacy.rounding import DOWN, UP, decimal, exp_down, exp_up, log_up, round_up

_MOST_TERMS = 1000  # of a sum over the steps; longer sums bound runs of terms by their largest


def pure_of_group(epsilon: Fraction, steps: int) -> Fraction:
    """Return the epsilon of pure DP: each step adds epsilon."""
    return steps * epsilon


def zcdp_of_group(rho: Fraction, steps: int) -> Fraction:
    """Return the rho of zCDP: steps**2 rho (Bun and Steinke 2016, Prop. 1.9)."""
    return steps**2 * rho


def delta_of_group(epsilon: Fraction, delta: Fraction, steps: int) -> Fraction:
    """Return the delta of (epsilon, delta)-DP: the sum of delta exp(i epsilon) over i < steps.

    It is delta (exp(steps epsilon) - 1) / (exp(epsilon) - 1).

    Raises
    ------
    ParameterError
        If it is 1 or more, which guarantees nothing.
    """
    if delta == 0 or steps == 1:
        return delta
    if decimal((steps - 1) * epsilon, DOWN) >= log_up(1 / delta):  # the last term is at least 1
        raise _too_large_error(steps)
    # x <= e**x - 1 <= x e**x, which is tighter than the rounded difference for tiny x.
    whole = decimal(steps * epsilon, UP)
    top = min(UP.subtract(exp_up(whole), Decimal(1)), UP.multiply(whole, exp_up(whole)))
    bottom = max(
        DOWN.subtract(exp_down(decimal(epsilon, DOWN)), Decimal(1)), decimal(epsilon, DOWN)
    )
    return _below_one(UP.multiply(decimal(delta, UP), UP.divide(top, bottom)), steps)


def approximate_delta_of_group(rho: Fraction, delta: Fraction, steps: int) -> Fraction:
    """Return the delta of delta-approximate rho-zCDP; the rho is steps**2 rho.

    It is the sum of h(i**2 rho) over i < steps, with h(r) = exp(-(sqrt(ln(1/delta)) - sqrt(r))**2).
    h(r) bounds the probability of an event under a second law with divergences at most r a, if its
    probability under the first is delta.

    Raises
    ------
    ParameterError
        If it is 1 or more, which guarantees nothing.
    """
    if delta == 0 or steps == 1:
        return delta
    log_delta = UP.minus(_log_down(1 / delta))
    size = -(-steps // _MOST_TERMS)
    total = Decimal(0)
    for start in range(0, steps, size):
        stop = min(start + size, steps)
        last = _amplify(log_delta, (stop - 1) ** 2 * rho)
        total = UP.add(total, UP.multiply(Decimal(stop - start), last))
        if total >= 1:
            raise _too_large_error(steps)
    return _below_one(total, steps)


def _amplify(log_delta: Decimal, rho: Fraction) -> Decimal:
    """Bound the probability of an event from the log of its probability under another law.

    If the divergences between the two laws are at most rho a, the probability is at most
    exp((1 - 1/a) log_delta + (a - 1) rho) for every order a > 1. Every `a` gives a valid bound, so
    it is found in floating point; only the bound is computed with directed rounding.
    """
    if rho == 0:
        return exp_up(log_delta)
    square = -Fraction(log_delta) / rho
    # Larger rationals may exceed the range of floats.
    order = math.sqrt(square) if square < 10**30 else math.isqrt(math.floor(square))
    if not order > 1 + 1e-9:
        return Decimal(1)
    exact = Fraction(order).limit_denominator(10**9)
    kept = UP.multiply(decimal(1 - 1 / exact, DOWN), log_delta)
    return exp_up(UP.add(kept, decimal((exact - 1) * rho, UP)))


def _log_down(number: Fraction) -> Decimal:
    return DOWN.next_minus(DOWN.ln(decimal(number, DOWN)))


def _below_one(delta: Decimal, steps: int) -> Fraction:
    rounded = round_up(delta)
    if rounded >= 1:
        raise _too_large_error(steps)
    return rounded


def _too_large_error(steps: int) -> ParameterError:
    return ParameterError(
        "delta",
        f"of a group of {steps} would reach 1, which guarantees nothing",
        "use a smaller group, or a mechanism with a smaller delta",
    )
