"""The largest sum of rhos that an account of epsilon and delta admits, and what shows it."""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from dphist.errors import ParameterError
from dphist.privacy.conversion import best_order, rho_to_epsilon, rho_to_epsilon_at
from dphist.privacy.rounding import DIGITS

_BISECTED_DIGITS = 14
_LONGEST = 200


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


@dataclass(frozen=True, slots=True)
class LargestRho:
    """A rho that converts to at most an epsilon, with the order of the conversion that shows it.

    The search for both is in floating point and may end elsewhere on another machine. So the entry
    of an account keeps them, and whoever verifies it evaluates the conversion at this one order.

    Attributes
    ----------
    rho : of at most 12 digits; 0 if none was found.
    order : of the conversion (docs/understand/proofs/accounting.md, Lemma 3); None for a rho of 0.
    """

    rho: Fraction
    order: Fraction | None

    @classmethod
    @lru_cache(maxsize=256)
    def of(cls, epsilon: Fraction, delta: Fraction) -> "LargestRho":
        """Search for the largest rho that converts to at most `epsilon` at `delta`."""
        low, high = Fraction(0), epsilon  # order > 1 in the conversion, so rho is below epsilon
        while high - low > high / 10**_BISECTED_DIGITS:
            middle = (low + high) / 2
            if rho_to_epsilon(middle, delta) <= epsilon:
                low = middle
            else:
                high = middle
            if high < Fraction(1, 10**30):
                return cls(Fraction(0), None)
        rounded = round_down(low)
        found = cls(rounded, best_order(rounded, delta) if rounded else None)
        # The conversion grows with rho up to its rounding; the claim is that of this very number.
        return found if found.converts(epsilon, delta) else cls(Fraction(0), None)

    def converts(self, epsilon: Fraction, delta: Fraction) -> bool:
        """Whether this rho implies (epsilon, delta), by its order; the same on all machines."""
        if not self.rho:
            return self.order is None
        if self.order is None or not (self.order > 1 and self.rho > 0):
            return False
        return _epsilon_of(self.rho, delta, self.order) <= epsilon

    def to_content(self) -> dict[str, Any]:
        """Return it as exact text, for an entry."""
        return {"rho": str(self.rho), "order": None if self.order is None else str(self.order)}

    @classmethod
    def from_content(cls, content: Any, epsilon: Fraction, delta: Fraction) -> "LargestRho":
        """Return what `to_content` wrote.

        Raises
        ------
        ParameterError
            If it does not convert to at most `epsilon`.
        """
        rho, order = content["rho"], content["order"]
        found = cls(_read(rho), None if order is None else _read(order))
        if not found.converts(epsilon, delta):
            raise ParameterError("content", "has a rho that is worth more than its epsilon")
        return found


@lru_cache(maxsize=256)  # a cap is read for every charge
def _epsilon_of(rho: Fraction, delta: Fraction, order: Fraction) -> Fraction:
    return rho_to_epsilon_at(rho, delta, order)


def _read(text: Any) -> Fraction:
    """Return a fraction of digits alone: an exponent could stand for a number of any length."""
    if not isinstance(text, str) or len(text) > _LONGEST or not text.replace("/", "").isdecimal():
        raise ParameterError("content", "has a number that cannot be read")
    number = Fraction(text)
    if str(number) != text:
        raise ParameterError("content", "has a number that cannot be read")
    return number
