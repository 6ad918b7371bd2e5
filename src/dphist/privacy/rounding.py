"""Exponentials and logarithms with directed rounding.

Decimal arithmetic with 40 digits, each operation rounded in the direction of its name. Decimal's
exp and ln round to nearest, so their results are moved outwards by one unit in the last place.
"""

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from dphist.parameters import decimal_text

DIGITS = 12
"""Significant digits of a number that has no exact form."""

UP = Context(prec=40, rounding=ROUND_CEILING, Emax=10**9, Emin=-(10**9))
DOWN = Context(prec=40, rounding=ROUND_FLOOR, Emax=10**9, Emin=-(10**9))
_SHORT = Context(prec=6, rounding=ROUND_CEILING, Emax=10**9, Emin=-(10**9))


def decimal(number: Fraction, context: Context) -> Decimal:
    """Return a fraction as a decimal, rounded by the context."""
    return context.divide(Decimal(number.numerator), Decimal(number.denominator))


def log_up(number: Fraction) -> Decimal:
    """Return an upper bound of ln(number)."""
    return UP.next_plus(UP.ln(decimal(number, UP)))


def exp_up(number: Decimal) -> Decimal:
    """Return an upper bound of exp(number)."""
    return UP.next_plus(UP.exp(number))


def exp_down(number: Decimal) -> Decimal:
    """Return a lower bound of exp(number)."""
    return DOWN.next_minus(DOWN.exp(number))


def round_up(number: Decimal, digits: int = DIGITS) -> Fraction:
    """Round up to `digits` significant digits."""
    return Fraction(Context(prec=digits, rounding=ROUND_CEILING).plus(number))


def readable(number: Fraction) -> str:
    """Format a number: exactly if that is short, else six digits, rounded up.

    >>> readable(Fraction(1, 3)), readable(Fraction(1, 10**6)), readable(Fraction(2**70, 3**30))
    ('1/3', '1e-6', '5.73406E+6')
    """
    text = decimal_text(number, digits=18)
    if len(text) > 24:
        text = f"{decimal(number, _SHORT)}"
    if "/" not in text and 0 < number < Fraction(1, 1000):
        text = f"{Decimal(text).normalize(UP):e}"
    return text
