"""How small a delta should be for a number of protected units."""

from fractions import Fraction

from dphist.privacy.as_text import down

MENTIONED = Fraction(1, 100)
"""Above this, delta times the number of units is mentioned."""


def suggest_delta(units: int) -> Fraction:
    """Return a delta that is small for this number of units: times it, at most 0.01; one digit.

    >>> suggest_delta(100_000), suggest_delta(30_000)
    (Fraction(1, 10000000), Fraction(3, 10000000))
    """
    return Fraction(down(MENTIONED / units, 1))
