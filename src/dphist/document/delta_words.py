"""What a delta means: delta times the number of protected units should be far below 1.

A mechanism that publishes all data of each person with probability delta satisfies (0, delta)-DP.
Among n persons it exposes delta * n on average.
"""

from dataclasses import dataclass
from fractions import Fraction

from dphist.privacy.as_text import down, plain, up
from dphist.privacy.delta_worth import MENTIONED, advised_delta
from dphist.sentence import Sentence

TOO_LARGE = Fraction(1, 10)
"""From here on, a warning is given, and no promise is called strong."""


@dataclass(frozen=True, slots=True)
class Number:
    """How many protected units there are, as far as it is public.

    Attributes
    ----------
    units : a guess, or what released numbers show; None if nothing shows it.
    noun : what they are, in the plural, such as "users".
    at_least : whether there may be more: released counts may show a part only.
    """

    units: int | None = None
    noun: str = "users"
    at_least: bool = False


UNKNOWN = Number()


def is_too_large(delta: Fraction, number: Number) -> bool:
    """Whether delta times the number is so large that epsilon means little."""
    return number.units is not None and delta * number.units >= TOO_LARGE


def advised(number: Number) -> Fraction | None:
    """Return a delta that is small for this number of units; None if it is unknown or 0."""
    return advised_delta(number.units) if number.units else None


def delta_in_words(delta: Fraction, number: Number) -> str:
    """Say what delta means for a number of units; empty if it is small.

    >>> delta_in_words(Fraction(1, 10**6), Number(9_000))
    ''
    >>> delta_in_words(Fraction(1, 10**6), Number(20_000))
    'δ times the number of users, 20,000, is 0.02; at most 0.01 is usual.'
    >>> delta_in_words(Fraction(1, 10**6), Number(200_000, "users", True)).split(". ")[0]
    'Warning: δ times the number of users, 200,000 or more, is 0.2 or more'
    >>> delta_in_words(Fraction(1, 10**6), UNKNOWN)
    'This δ is meant for up to 10,000 users: δ times their number should be at most 0.01.'
    """
    if delta == 0:
        return ""
    if number.units is None:
        return Sentence(
            "This δ is meant for up to {most} {noun}: δ times their number should be at most 0.01.",
            most=plain(down(MENTIONED / delta, 2)),
            noun=number.noun,
        )
    product = delta * number.units
    if product <= MENTIONED:
        return ""
    said = Sentence(
        "δ times the number of {noun}, {units:,}{more}, is {times}{more}",
        noun=number.noun,
        units=number.units,
        more=" or more" if number.at_least else "",
        times=plain(up(product, 2)),
    )
    if product < TOO_LARGE:
        return Sentence("{said}; at most 0.01 is usual.", said=said)
    return Sentence(
        "Warning: {said}. A mechanism that publishes all data of {times} {noun} on average keeps "
        "this promise too, so the promise is not strong. Choose δ of {small} or less.",
        said=said,
        times=plain(up(product, 2)),
        noun=number.noun,
        small=plain(down(advised(number) or delta)),
    )
