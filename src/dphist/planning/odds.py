"""What a guarantee means for a guess: of 100 people who look, how many guess right."""

import math
from decimal import Decimal
from fractions import Fraction

from dphist.privacy.rounding import DOWN, UP, decimal, exp_up

_ENDLESS = 30  # above this a guess may be certain


def guessed_right(epsilon: Fraction, delta: Fraction = Fraction(0)) -> int:
    """Return how many of 100 people guess right who is in the data, on average, at most.

    Each of them knows all other data, holds both cases for equally likely, and sees the release.
    No rule of guessing is right with a probability above (e**epsilon + delta) / (1 + e**epsilon)
    (Kairouz, Oh and Viswanath 2015, Theorem 2.1, for equal priors). Rounded up.

    >>> guessed_right(Fraction(1)), guessed_right(Fraction(1, 10)), guessed_right(Fraction(40))
    (74, 53, 100)
    """
    if epsilon > _ENDLESS:
        return 100
    odds = exp_up(decimal(epsilon, UP))
    above = UP.multiply(Decimal(100), UP.add(odds, decimal(delta, UP)))
    return min(math.ceil(UP.divide(above, DOWN.add(odds, Decimal(1)))), 100)
