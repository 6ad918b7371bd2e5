"""Group privacy: what a guarantee for one unit promises several of them together.

Data sets that differ in `steps` units are joined by a path of neighbours. All four results are
proved in `docs/proofs/accounting.md` (Lemma 9), and rounded up.
"""

import math
from decimal import Decimal
from fractions import Fraction

from dphist.errors import ParameterError
from dphist.privacy.rounding import DOWN, UP, decimal, exp_down, exp_up, log_up, round_up

_MOST_TERMS = 1000  # of a sum over the steps; of more, neighbouring terms are taken for the largest


def pure_of_group(epsilon: Fraction, steps: int) -> Fraction:
    """Return the epsilon of pure DP: each step costs epsilon once more."""
    return steps * epsilon


def zcdp_of_group(rho: Fraction, steps: int) -> Fraction:
    """Return the rho of zCDP, which grows with the square (Bun and Steinke 2016, Prop. 1.9)."""
    return steps**2 * rho


def delta_of_group(epsilon: Fraction, delta: Fraction, steps: int) -> Fraction:
    """Return the delta of (epsilon, delta)-DP: the sum of delta exp(i epsilon) over i < steps.

    It is delta (exp(steps epsilon) - 1) / (exp(epsilon) - 1).

    Raises
    ------
    ParameterError
        If it is 1 or more, so that nothing is promised.
    """
    if delta == 0 or steps == 1:
        return delta
    if decimal((steps - 1) * epsilon, DOWN) >= log_up(1 / delta):  # the last term alone is 1
        raise _nothing_left(steps)
    # e**x - 1 lies between x and x e**x: that is nearer than the difference where x is tiny.
    whole = decimal(steps * epsilon, UP)
    top = min(UP.subtract(exp_up(whole), Decimal(1)), UP.multiply(whole, exp_up(whole)))
    bottom = max(
        DOWN.subtract(exp_down(decimal(epsilon, DOWN)), Decimal(1)), decimal(epsilon, DOWN)
    )
    return _below_one(UP.multiply(decimal(delta, UP), UP.divide(top, bottom)), steps)


def approximate_delta_of_group(rho: Fraction, delta: Fraction, steps: int) -> Fraction:
    """Return the delta of delta-approximate rho-zCDP, whose rho grows with the square.

    It is the sum of h(i**2 rho) over i < steps, where h(r) bounds what an event of probability
    delta has under a law of divergences at most r a: exp(-(sqrt(ln(1/delta)) - sqrt(r))**2).

    Raises
    ------
    ParameterError
        If it is 1 or more, so that nothing is promised.
    """
    if delta == 0 or steps == 1:
        return delta
    log_delta = UP.minus(_log_down(1 / delta))
    size = -(-steps // _MOST_TERMS)
    total = Decimal(0)
    for start in range(0, steps, size):
        stop = min(start + size, steps)
        last = _amplified(log_delta, (stop - 1) ** 2 * rho)
        total = UP.add(total, UP.multiply(Decimal(stop - start), last))
        if total >= 1:
            raise _nothing_left(steps)
    return _below_one(total, steps)


def _amplified(log_delta: Decimal, rho: Fraction) -> Decimal:
    """Bound the probability of an event whose probability under another law has this logarithm.

    With divergences at most rho a between the two laws it is at most
    exp((1 - 1/a) log_delta + (a - 1) rho) for every order a > 1, so that `a` may be sought in
    floating point; only the bound at the `a` found is rounded.
    """
    if rho == 0:
        return exp_up(log_delta)
    square = -Fraction(log_delta) / rho
    # Not every rational number is in the range of floats.
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
        raise _nothing_left(steps)
    return rounded


def _nothing_left(steps: int) -> ParameterError:
    return ParameterError(
        f"delta of a group of {steps} would reach 1, so nothing would be promised: take a smaller "
        "group, or a mechanism with a smaller delta"
    )
