"""Logarithms and quantiles of the normal distribution, rigorously rounded up."""

import functools
import math
from fractions import Fraction

from scipy.special import ndtri_exp

from dphist.errors import ParameterError
from dphist.noise.enclosures import exp_negative, normal_two_sided_tail

GRID = 32
"""What is rounded up is a multiple of 2**-32 or so."""


@functools.lru_cache(maxsize=1024)
def normal_quantile_above(p: Fraction) -> Fraction:
    """Return a rational z >= 0 just above the smallest with Pr[N(0, 1) > z] <= p.

    Floating point proposes z; an enclosure proves that the tail beyond it is at most p. z is a
    multiple of 2**-32, usually the smallest; for p >= 1/2 it is 0.
    """
    if not 0 < p < 1:
        raise ParameterError("p", "must be a probability between 0 and 1")
    if p >= Fraction(1, 2):
        return Fraction(0)
    # p is at least 2**64 units of 2**-bits; the tail is known to 3 units.
    bits = p.denominator.bit_length() + 64
    guess = -float(ndtri_exp(math.log(p.numerator) - math.log(p.denominator)))
    z = Fraction(max(math.floor(guess * (1 << GRID)), 0), 1 << GRID)
    step = Fraction(1, 1 << GRID)
    while normal_two_sided_tail(z, bits)[1] > 2 * p * (1 << bits):
        z += step
    return z


def logarithm_above(number: Fraction) -> Fraction:
    """Return a rational number just above ln(number), for number >= 1.

    Floating point proposes; exp(-t) * number <= 1 is certain of what is returned.
    """
    bits = number.numerator.bit_length() + 64
    guess = math.log(number.numerator) - math.log(number.denominator)
    step = Fraction(1, 1 << GRID)
    least = max(Fraction(math.floor(guess * (1 << GRID)), 1 << GRID), Fraction(0))
    while exp_negative(least, bits)[1] * number > 1 << bits:
        least += step
    return least
