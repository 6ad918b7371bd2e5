"""Exact conversion and range checks of numeric parameters.

A privacy parameter is held as a `Fraction`, so that the guarantee and the sampler use the same
number. A float means its shortest decimal: 0.1 is 1/10. Text is read by one grammar, in Python, on
the command line and in files: digits 0 to 9 with an optional sign, point and exponent, or a
fraction of two whole numbers. What Python's own parsers take beyond this, such as "1_0", spaces,
digits of other scripts, "nan" and "infinity", is refused: a person may read another number.
"""

import math
import re
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from numbers import Integral, Rational, Real
from typing import TypeAlias

from dphist.errors import ParameterError

Exact: TypeAlias = int | float | str | Fraction | Decimal

# Exact arithmetic on longer numbers ("1e999999999") would not end.
MOST_DIGITS = 400
# Longer numbers are refused when a saved file is read.
_LONGEST = 10**150
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_FRACTION = re.compile(r"([+-]?[0-9]+)/([0-9]+)")
_WHOLE = re.compile(r"[+-]?[0-9]+")


def read_number(text: str) -> Fraction | None:
    """Return the number that a text writes; None for other text.

    None also stands for a number of more than 400 digits, written out or by its exponent.

    >>> read_number("-2.5e1"), read_number("1/3"), read_number("1_0")
    (Fraction(-25, 1), Fraction(1, 3), None)
    """
    if len(text) > MOST_DIGITS:
        return None
    try:
        if parts := _FRACTION.fullmatch(text):
            return Fraction(int(parts[1]), int(parts[2]))
        decimal = Decimal(text) if _DECIMAL.fullmatch(text) else None
    except (InvalidOperation, ZeroDivisionError):
        return None
    if decimal is None or abs(decimal.adjusted()) > MOST_DIGITS:
        return None
    return Fraction(decimal)


def read_whole_number(text: str) -> int | None:
    """Return the whole number that a text writes, of at most 400 digits; None for other text.

    >>> read_whole_number("10"), read_whole_number("1_0"), read_whole_number("1e1")
    (10, None, None)
    """
    is_whole = len(text) <= MOST_DIGITS and _WHOLE.fullmatch(text)
    return int(text) if is_whole else None


def exact_number(value: Exact, name: str) -> Fraction:
    """Return `value` as a Fraction; a float means its shortest decimal.

    Raises
    ------
    ParameterError
        If `value` is not a finite number. The message names the parameter `name`.

    >>> exact_number(0.1, "epsilon"), exact_number("1/3", "epsilon")
    (Fraction(1, 10), Fraction(1, 3))
    """
    problem = ParameterError(name, "must be a finite number, for example 1, 0.5 or '1/3'")
    if isinstance(value, bool):
        raise problem
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    # NumPy scalars, and others that look like one, print as numbers.
    of_numpy = getattr(value, "ndim", None) == 0
    of_numpy = of_numpy and getattr(getattr(value, "dtype", None), "kind", "") in "iuf"
    number = None
    if of_numpy or isinstance(value, str | float | Decimal):
        number = read_number(str(value))
    if number is not None:
        return number
    if isinstance(value, str) and len(value) > MOST_DIGITS:
        raise ParameterError(name, f"must be a number of at most {MOST_DIGITS} digits")
    raise problem


def positive_number(value: Exact, name: str, most: int = 10**9) -> Fraction:
    """Return `value` as a Fraction above zero and at most `most`.

    >>> positive_number("1/2", "epsilon")
    Fraction(1, 2)
    """
    number = exact_number(value, name)
    if not number > 0:
        raise ParameterError(name, "must be greater than 0")
    if not number <= most:
        raise ParameterError(name, f"must be at most {most}")
    return number


def probability(value: Exact, name: str) -> Fraction:
    """Return `value` as a Fraction in [0, 1)."""
    number = exact_number(value, name)
    if not 0 <= number < 1:
        raise ParameterError(name, "must be at least 0 and below 1")
    return number


def check_level(level: object, name: str = "level", most: float | None = None) -> float:
    """Return the probability with which something should hold: below 1, or at most `most`.

    >>> check_level(0.95), check_level(1, most=1)
    (0.95, 1.0)
    """
    number = float(level) if type(level) is not bool and isinstance(level, Real) else math.nan
    if number > 0 and (number < 1 if most is None else number <= most):
        return number
    end = "below 1" if most is None else f"at most {most}"
    raise ParameterError(name, f"must be a number above 0 and {end}")


def privacy_parameter(value: Exact, name: str) -> Fraction:
    """Return epsilon, rho or the like: above zero, and short enough to be saved and read again.

    >>> privacy_parameter("1/2", "epsilon")
    Fraction(1, 2)
    """
    return short_number(positive_number(value, name), name)


def positive_delta(value: Exact | None, reason: str) -> Fraction:
    """Return delta as a Fraction in (0, 1), short enough to be saved and read again.

    Parameters
    ----------
    reason : why it cannot be left out or zero; it ends the message of an error.
    """
    if value is None:
        raise ParameterError("delta", f"must be given, above 0 and below 1: {reason}")
    exact = probability(value, "delta")
    if not exact > 0:
        raise ParameterError("delta", f"must be above 0: {reason}")
    return short_number(exact, "delta")


def optional_whole(value: object, name: str, least: int, most: int = 2**62) -> int | None:
    """Return `value` as `whole_number` does, or None for None."""
    return None if value is None else whole_number(value, name, least, most)


def short_number(number: Fraction, name: str) -> Fraction:
    """Return `number` if it is short enough to be saved and loaded."""
    if max(number.numerator, number.denominator) > _LONGEST:
        raise ParameterError(name, "must have fewer than 150 digits, so that it can be saved")
    return number


def whole_number(value: object, name: str, least: int, most: int = 2**62) -> int:
    """Return `value` as an int between `least` and `most`; 3.0 and True are refused."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise ParameterError(name, "must be a whole number")
    number = int(value)
    if not least <= number:
        raise ParameterError(name, f"must be at least {least}")
    if not number <= most:
        raise ParameterError(name, f"must be at most {most}")
    return number


def decimal_text(number: Fraction, digits: int = 12) -> str:
    """Return text that `exact_number` reads back: a decimal of at most `digits`, or a fraction.

    >>> decimal_text(Fraction(1, 10)), decimal_text(Fraction(1, 3))
    ('0.1', '1/3')
    """
    rest = number.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    places = 0 if rest != 1 else _places(number.denominator)
    if rest != 1 or places > digits:
        return f"{number.numerator}/{number.denominator}"
    scaled = number.numerator * 10**places // number.denominator
    if places == 0:
        return str(scaled)
    sign, body = ("-", -scaled) if scaled < 0 else ("", scaled)
    text = str(body).rjust(places + 1, "0")
    return f"{sign}{text[:-places]}.{text[-places:]}"


def _places(denominator: int) -> int:
    """Return the decimal places of 1/denominator; its only prime factors must be 2 and 5."""
    twos = (denominator & -denominator).bit_length() - 1
    fives = round(math.log(denominator >> twos, 5))
    return max(twos, fives)
