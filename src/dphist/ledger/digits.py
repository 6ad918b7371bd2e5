"""Numbers of few digits, for what is left of a budget."""

from fractions import Fraction

DIGITS = 12


def round_down(number: Fraction) -> Fraction:
    """Round down to 12 significant digits."""
    if not number:
        return number
    exponent = 0
    while number * 10**exponent < 10 ** (DIGITS - 1):
        exponent += 1
    while number * Fraction(10) ** exponent >= 10**DIGITS:
        exponent -= 1
    scale = Fraction(10) ** exponent
    return Fraction(int(number * scale)) / scale
