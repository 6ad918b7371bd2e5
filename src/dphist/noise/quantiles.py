"""Quantiles of the normal distribution, rigorously rounded up."""

import functools
import math
from fractions import Fraction

from scipy.special import ndtri_exp

from dphist.errors import ParameterError
from dphist.noise.enclosures import normal_two_sided_tail

_GRID = 32


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
    z = Fraction(max(math.floor(guess * (1 << _GRID)), 0), 1 << _GRID)
    step = Fraction(1, 1 << _GRID)
    while normal_two_sided_tail(z, bits)[1] > 2 * p * (1 << bits):
        z += step
    return z
