"""How many standard errors an interval of released tables reaches."""

import math
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

from dphist.noise.magnitude import geometric_half_width, geometric_standard_deviation

_LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Reach:
    """How far the noise of an estimate reaches, which is a sum of many draws or of one.

    Gaussian noise is about normal. A sum of geometric noise of small rates lies between normal
    noise and one draw, so the wider of both is taken. Of large rates most draws are 0, and a sum of
    many is often 1 where one draw almost never is, so whole numbers reach to 1 at least. None needs
    more than Chebyshev's inequality, which holds for every sum.

    Attributes
    ----------
    rate : of geometric noise, the largest there is; None of Gaussian noise.
    on_cells : whether all noise has this rate and is on cells, so that one draw is a whole number.

    >>> [round(Reach(rate, True).of(0.95), 2) for rate in (None, Fraction(1, 100), Fraction(1))]
    [1.96, 2.12, 2.58]
    """

    rate: Fraction | None = None
    on_cells: bool = False

    def of(self, level: float) -> float:
        """Return how many standard errors an interval of this level reaches to both sides.

        One draw is beyond -ln(1 - level) / rate, and half a record, with at most 1 - level, as
        2 / (1 + a) is below exp(rate / 2) for a = exp(-rate).
        """
        normal = -NormalDist().inv_cdf((1 - level) / 2)
        if self.rate is None:
            return normal
        if self.on_cells:
            # Half a record more, as sums of whole noise do not fill what a normal law does.
            one = max(geometric_half_width(self.rate, level) + 0.5, 1.0)
        else:
            one = 0.5 - math.log1p(-level) / float(self.rate)
        every = 1 / math.sqrt(1 - level)
        return max(normal, min(one / geometric_standard_deviation(self.rate), every))

    def widen(self, error: float) -> float:
        """Return the standard error of normal noise with as wide a 95 % interval."""
        if self.rate is None:
            return error
        return error * self.of(_LEVEL) / Reach().of(_LEVEL)


NORMAL = Reach()
