"""The largest rho of a release with Gaussian noise that a total epsilon and delta pay for."""

from fractions import Fraction
from functools import lru_cache

from dphist.errors import ParameterError
from dphist.privacy import ZCDP, ApproxZCDP, Guarantee, least_epsilon
from dphist.privacy.epsilon_search import down

_DIGITS = Fraction(1, 10**10)
_MOST_STEPS = 200


@lru_cache(maxsize=256)
def rho_of_total(epsilon: Fraction, delta: Fraction, of_finding: Fraction) -> Fraction:
    """Return the largest rho, nearly, that costs (epsilon, delta) with the delta of finding.

    It is found by trying, and whatever is returned was priced: `least_epsilon` of it is at most
    epsilon.

    Raises
    ------
    ParameterError
        If there is none.

    >>> float(rho_of_total(Fraction(1), Fraction(1, 10**6), Fraction(0)))
    0.0...
    """
    low, high = Fraction(0), max(epsilon, Fraction(1))
    for _ in range(_MOST_STEPS):
        middle = down((low + high) / 2) if low else high / 2
        if low and high - low <= low * _DIGITS:
            break
        cost = least_epsilon([_guarantee(middle, of_finding)], delta, 1)
        fits = cost is not None and cost <= epsilon
        low, high = (middle, high) if fits else (low, middle)
    if not low:
        raise ParameterError(("epsilon", "delta"), "are too small", "raise one of them")
    return low


def _guarantee(rho: Fraction, of_finding: Fraction) -> Guarantee:
    return ApproxZCDP(rho, of_finding) if of_finding else ZCDP(rho)
