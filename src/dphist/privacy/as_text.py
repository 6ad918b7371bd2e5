"""Privacy numbers as text, rounded conservatively, and the forms of nouns.

A printed claim must hold for the printed number. Epsilon, delta, rho and odds are rounded up, as
are thresholds ("counts above it are released") and standard errors ("at most"). The noise scale
that protects, and the coverage of a band, are rounded down.
"""

import math
import re
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import TypeAlias

from dphist.parameters import decimal_text

Number: TypeAlias = int | float | Fraction

_LONGEST = 16
_WIDE = Context(60, ROUND_CEILING, -(10**9), 10**9)  # wide enough to normalize without rounding


def up(number: Number, digits: int = 6) -> Decimal:
    """Round up to `digits` significant digits.

    >>> up(Fraction(2, 3)), up(1234567), up(0.1)
    (Decimal('0.666667'), Decimal('1.23457E+6'), Decimal('0.100001'))
    """
    return _divide(number, Context(digits, ROUND_CEILING, -(10**9), 10**9))


def down(number: Number, digits: int = 6) -> Decimal:
    """Round down to `digits` significant digits."""
    return _divide(number, Context(digits, ROUND_FLOOR, -(10**9), 10**9))


def _divide(number: Number, context: Context) -> Decimal:
    exact = Fraction(number)
    return context.divide(Decimal(exact.numerator), Decimal(exact.denominator))


def plain(number: Decimal) -> str:
    """Format a rounded number, with thousands separators.

    >>> plain(up(1234567)), plain(up(Fraction(1, 8))), plain(up(Fraction(1, 10**9)))
    ('1,234,570', '0.125', '1e-9')
    """
    if number and abs(number.adjusted()) > 12:
        return f"{number.normalize(_WIDE):e}"
    if 0 < abs(number) < Decimal("0.0001"):
        return f"{number.normalize(_WIDE):e}"
    text = f"{number:,f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def percent(share: float, digits: int = 6) -> str:
    """Format a share in percent, rounded down; a float means its shortest decimal.

    >>> percent(0.95), percent(0.99999985)
    ('95 %', '99.9999 %')
    """
    return f"{plain(down(100 * Fraction(repr(float(share))), digits))} %"


def short_exact(number: Fraction) -> str:
    """Format a privacy parameter: exactly if that is short, else six digits, rounded up.

    >>> short_exact(Fraction(1, 3)), short_exact(Fraction(10**12 + 39, 10**24))
    ('1/3', '1.00001e-12')
    >>> short_exact(Fraction(10**20 - 1, 5 * 10**18))
    '20'
    """
    text = decimal_text(number, digits=18)
    if len(text) <= _LONGEST:
        return text
    rounded = up(number).normalize(_WIDE)
    # Decimal's "g" would write 20, normalized, as 2e+1.
    return f"{rounded:f}" if 0 <= rounded.adjusted() <= 12 else f"{rounded:g}"


def float_up(number: Number) -> float:
    """Return the smallest float not below a number, for JSON.

    >>> float_up(Fraction(1, 3)) > Fraction(1, 3), float_up(Fraction(1, 2))
    (True, 0.5)
    """
    near = float(number)
    return near if near >= Fraction(number) else math.nextafter(near, math.inf)


def with_article(noun: str) -> str:
    """Put the article before a noun.

    >>> with_article("patient"), with_article("account"), with_article("user")
    ('a patient', 'an account', 'a user')
    """
    word = noun.lower()
    vowel = word.startswith(tuple("aeiou")) and not word.startswith(("us", "uni", "eu", "one"))
    return f"{'an' if vowel else 'a'} {noun}"


def find_forms(noun: str) -> tuple[str, str]:
    """Return singular and plural of a name.

    >>> find_forms("gene"), find_forms("hospital stay"), find_forms("person/people")
    (('gene', 'genes'), ('hospital stay', 'hospital stays'), ('person', 'people'))
    >>> find_forms("city"), find_forms("search"), find_forms("基因")
    (('city', 'cities'), ('search', 'searches'), ('基因', '基因'))
    """
    singular, slash, plural = noun.partition("/")
    if slash:
        return singular, plural
    if not singular.isascii() or not singular[-1].isalpha():
        return singular, singular
    if singular.lower().endswith(("s", "x", "z", "ch", "sh")):
        return singular, f"{singular}es"
    ending = re.fullmatch(r"(.*[^aeiouAEIOU])y", singular)
    return singular, f"{ending[1]}ies" if ending else f"{singular}s"
