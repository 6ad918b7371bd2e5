"""What an entry costs, and what entries cost together: exact fractions, never rounded down."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from dphist.parameters import decimal_text, exact_number
from dphist.privacy.guarantees import ApproxDP, Guarantee, PureDP, find_delta, find_rho

PLACES = 60
"""Decimal places kept of a sum whose exact form is too long; it is rounded up."""
_LONGEST = 10**200


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one entry to one account.

    Attributes
    ----------
    epsilon : that holds with `delta` on the same event as rho; None if only rho is known.
    rho : of the guarantee, or of the zCDP that it implies.
    delta : of the guarantee.
    alone : the smallest epsilon at the account's delta if this is the only entry; None if unknown.
    """

    epsilon: Fraction | None
    rho: Fraction
    delta: Fraction
    alone: Fraction | None = None

    @classmethod
    def of(
        cls,
        guarantee: Guarantee,
        direct: PureDP | ApproxDP | None = None,
        alone: Fraction | None = None,
    ) -> "Cost":
        """Return what a guarantee, for the unit of the account, costs.

        Parameters
        ----------
        direct : a guarantee in epsilon that the mechanism has beside it, on the same event (see
            `epsilon_guarantee`); it counts if its delta is the same.
        """
        if isinstance(guarantee, PureDP | ApproxDP):
            direct = guarantee
        elif direct is not None and find_delta(direct) != find_delta(guarantee):
            direct = None
        epsilon = None if direct is None else direct.epsilon
        return cls(epsilon, find_rho(guarantee), find_delta(guarantee), alone)

    def plus(self, cost: "Cost") -> "Cost":
        """Return what two entries cost that are made one after the other."""
        known = self.epsilon is not None and cost.epsilon is not None
        epsilon = _add(self.epsilon or Fraction(0), cost.epsilon) if known else None
        return Cost(epsilon, _add(self.rho, cost.rho), _add(self.delta, cost.delta))

    def to_content(self) -> dict[str, Any]:
        """Return the cost as exact text, for an entry."""
        return {
            name: None if value is None else decimal_text(value)
            for name, value in (
                ("epsilon", self.epsilon),
                ("rho", self.rho),
                ("delta", self.delta),
                ("alone", self.alone),
            )
        }

    @classmethod
    def from_content(cls, content: dict[str, Any]) -> "Cost":
        """Return the cost that `to_content` wrote."""
        found = {
            name: None if text is None else exact_number(text, name)
            for name, text in content.items()
            if name in ("epsilon", "rho", "delta", "alone")
        }
        return cls(**found)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Totals:
    """The sums over the live entries of an account, or of one person in it.

    Attributes
    ----------
    entries : number of live entries: all except reservations that were canceled.
    mixed : how many of them state no epsilon.
    epsilon : sum over those that state one.
    rho, delta : sums over all of them.
    """

    entries: int = 0
    mixed: int = 0
    epsilon: Fraction = Fraction(0)
    rho: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)

    def plus(self, cost: Cost) -> "Totals":
        """Return the totals with one more entry."""
        return Totals(
            self.entries + 1,
            self.mixed + (cost.epsilon is None),
            _add(self.epsilon, cost.epsilon),
            _add(self.rho, cost.rho),
            _add(self.delta, cost.delta),
        )

    def minus(self, cost: Cost) -> "Totals":
        """Return the totals without an entry that never looked at data.

        A sum that was rounded up stays at least the sum of what is left.
        """
        return replace(
            self,
            entries=self.entries - 1,
            mixed=self.mixed - (cost.epsilon is None),
            epsilon=_round_if_long(self.epsilon - (cost.epsilon or 0)),
            rho=_round_if_long(self.rho - cost.rho),
            delta=_round_if_long(self.delta - cost.delta),
        )


def _add(total: Fraction, more: Fraction | None) -> Fraction:
    return _round_if_long(total + more) if more else total


def _round_if_long(total: Fraction) -> Fraction:
    """Return a sum exactly, or rounded up where its denominator has grown too long to store."""
    if total.denominator <= _LONGEST:
        return total
    return Fraction(-(-total.numerator * 10**PLACES // total.denominator), 10**PLACES)


def round_up(step: Fraction) -> Fraction:
    """Return at least what a cost adds to a sum that is rounded up afterwards."""
    return step + Fraction(1, 10**PLACES)


def may_round(step: Fraction, left: Fraction) -> bool:
    """Whether a sum to which a cost is added again and again may grow too long to store."""
    return (step.denominator * left.denominator) ** 2 > _LONGEST
