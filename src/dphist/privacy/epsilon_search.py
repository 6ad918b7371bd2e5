"""The largest epsilon or rho that fits a total, found with few claims, as each takes time."""

import math
from collections.abc import Callable
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from dphist.errors import ParameterError

_MOST_STEPS = 12  # of a coarse search, which otherwise brackets
_CLAIMED = 5e-13  # claims have 12 digits
_DOWN = Context(prec=12, rounding=ROUND_FLOOR, Emax=10**9, Emin=-(10**9))
_RHO = Context(prec=9, rounding=ROUND_FLOOR, Emax=10**9, Emin=-(10**9))
_CLOSE = 1 + Fraction(1, 10**11)
_MOST_HALVED = 400


def approach(
    fits: Callable[[Fraction], bool],
    ratios: dict[Fraction, float | None],
    first: Fraction,
    closeness: float,
) -> Fraction | None:
    """Return an epsilon that fits with a claim this near to the aim; None if it is not found soon.

    The secant method on logarithms, aimed between the aim and the smallest claim that is near
    enough.
    """
    candidate, slope = first, 1.0
    last: tuple[float, float] | None = None
    for _ in range(_MOST_STEPS):
        fitted = fits_if_possible(fits, candidate)
        ratio = ratios.get(candidate)
        if not ratio:
            return None
        if fitted and ratio >= 1 - closeness:
            return candidate
        at, off = math.log(candidate), math.log(ratio)
        if last is not None and abs(at - last[0]) > 1e-12:
            slope = min(max((off - last[1]) / (at - last[0]), 0.25), 4.0)
        last = at, off
        step = min(max(-(off + closeness / 2) / slope, -3.0), 3.0)
        candidate = (candidate * Fraction(math.exp(step))).limit_denominator(10**30)
    return None


def bracket(
    fits: Callable[[Fraction], bool],
    ratios: dict[Fraction, float | None],
    first: Fraction,
    closeness: float,
    smallest: Fraction,
) -> tuple[Fraction, Fraction] | None:
    """Return an epsilon that fits, and a slightly larger one that does not; None if none fits.

    The secant method proposes, on logarithms; it aims slightly past the root, so that both ends of
    the bracket close in. Bisection replaces it where it does not.

    Parameters
    ----------
    ratios : the claim over the aim of each epsilon that `fits` was called with.
    """
    low = high = last = None
    candidate, slope, same, step = first, 1.0, 0, 0
    while low is None or high is None or high > low * (1 + Fraction(closeness)):
        fitted = fits_if_possible(fits, candidate)
        same = same + 1 if last is not None and last[2] == fitted else 0
        low, high = (candidate, high) if fitted else (low, candidate)
        ratio = ratios.get(candidate)
        at = math.log(candidate)
        if ratio and last is not None and last[1] is not None and abs(at - last[0]) > 1e-12:
            slope = min(max((math.log(ratio) - last[1]) / (at - last[0]), 0.25), 4.0)
        last = (at, math.log(ratio) if ratio else None, fitted)
        step += 1
        past = max(closeness / 4, _CLAIMED) * 8**same
        candidate = _propose(candidate, ratio, slope, past, fitted)
        if low is None and candidate < smallest:
            return None
        inside = (low is None or candidate > low) and (high is None or candidate < high)
        if not inside or step % 6 == 5:
            candidate = _middle(low, high)
    return low, high


def _propose(
    candidate: Fraction, ratio: float | None, slope: float, past: float, fitted: bool
) -> Fraction:
    """Return where the claim should be the aim, a little past that."""
    if not ratio:
        return 2 * candidate if fitted else candidate / 2
    factor = math.exp(min(max(-math.log(ratio) / slope, -3.0), 3.0))
    factor *= 1 + past if fitted else 1 / (1 + past)
    return (candidate * Fraction(factor)).limit_denominator(10**30)


def _middle(low: Fraction | None, high: Fraction | None) -> Fraction:
    """Return an epsilon inside a bracket, or outside of the end that is known."""
    if low is None:
        return Fraction(high or 1) / 2
    return 2 * low if high is None else Fraction((low + high) / 2).limit_denominator(10**30)


def fits_if_possible(fits: Callable[[Fraction], bool], candidate: Fraction) -> bool:
    """Whether an epsilon fits; one refused by the mechanism or a guarantee does not."""
    try:
        return fits(candidate)
    except ParameterError:
        return False


def down(number: Fraction) -> Fraction:
    """Round down to 12 digits."""
    return Fraction(_DOWN.divide(Decimal(number.numerator), Decimal(number.denominator)))


def find_largest_rho(fits: Callable[[Fraction], bool], epsilon: Fraction) -> Fraction:
    """Return the largest rho of 9 digits that fits, where smaller ones fit as well.

    Parameters
    ----------
    fits : whether what a rho costs is within the total.
    epsilon : of that total, where the search begins.

    Raises
    ------
    ParameterError
        If none fits.
    """
    low, high = Fraction(0), max(epsilon, Fraction(1))
    while fits(high):
        low, high = high, 2 * high
    for _ in range(_MOST_HALVED):
        middle = down((low + high) / 2) if low else high / 2
        if low and high <= low * _CLOSE:
            break
        low, high = (middle, high) if fits(middle) else (low, middle)
    if not low:
        raise ParameterError(("epsilon", "delta"), "are too small", "raise one of them")
    # The search decides more digits, and the last of those may depend on the machine.
    return Fraction(_RHO.divide(Decimal(low.numerator), Decimal(low.denominator)))
