"""The price of a release, and what would be left of each account and cap."""

import argparse
import contextlib
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dphist.commands.publishing import Protected
from dphist.document.totals import guarantee_json
from dphist.errors import LedgerError
from dphist.ledger import Deferred, Ledger
from dphist.ledger.amounts import Totals
from dphist.ledger.balance import Balance
from dphist.ledger.book import admits
from dphist.ledger.budget import Budget
from dphist.ledger.charging import (
    Price,
    ends_epsilons,
    fitting_in_words,
    largest_fitting,
    left_in_words,
    readable_down,
)
from dphist.parameters import decimal_text

ONLY_RHO = (
    "It states no epsilon, as with Gaussian noise. Once it is charged, epsilons are not added up "
    "any more: only rho and delta count, also for pure releases."
)


@dataclass(frozen=True, slots=True)
class Part:
    """What one account, or a cap in it, would pay.

    Attributes
    ----------
    price : what the account would be charged.
    balance : of the account or cap, now.
    by : whose cap it is; None of the account itself.
    """

    price: Price
    balance: Balance
    by: str | None

    @property
    def whose(self) -> str:
        """The account, or the cap, in words."""
        name = f"the account {self.price.account.name!r}"
        return name if self.by is None else f"the cap of {self.by!r} in {name}"

    @property
    def fits(self) -> bool:
        """Whether it would be paid."""
        account, budget = self.price.account, self.balance.budget
        fits = admits(account, budget, self.balance.totals, self.price.cost)
        return fits and not self.price.account.closed

    @property
    def ends_epsilons(self) -> bool:
        """Whether epsilons are not added up any more once it is paid."""
        return ends_epsilons(self.balance.budget, self.balance.totals, self.price.cost)

    @property
    def after(self) -> Totals:
        """The sums with this release."""
        return self.balance.totals.plus(self.price.cost)


@dataclass(frozen=True, slots=True)
class Found:
    """The price of a release, for each account and each cap in it.

    Attributes
    ----------
    mechanism : that would release.
    parts : in the order in which they would be checked.
    known : what the ledger knows of the key already, in words; empty if nothing.
    """

    mechanism: Any
    parts: list[Part]
    known: str

    @property
    def fits(self) -> bool:
        """Whether all of them would pay."""
        return all(part.fits for part in self.parts)

    def said(self, name: str) -> list[str]:
        """Return the price in lines of text."""
        lines = []
        for part in self.parts:
            budget, totals = part.balance.budget, part.balance.totals
            if part.by is None:
                unit = part.price.account.unit
                lines.append(
                    f"Ledger {name!r}: {part.whose} would be charged {part.price.guarantee}, for "
                    f"{unit}."
                )
            if part.fits:
                left = left_in_words(budget, part.after)
                lines.append(f"It fits: {part.whose} would have {left} left of {budget}.")
                if part.ends_epsilons:
                    lines.append(ONLY_RHO)
            elif part.price.account.closed:
                lines.append(f"It would be refused: {part.whose} is closed.")
            else:
                lines.append(
                    f"It would be refused: {part.whose} has {left_in_words(budget, totals)} left "
                    f"of {budget}; {fitting_in_words(budget, totals, part.price, self.mechanism)}."
                )
        return [*lines, *([self.known] if self.known else [])]

    def shown(self, ledger: Ledger) -> dict[str, Any]:
        """Return the price for programs; numbers are exact texts, or rounded to claim less."""
        return {
            "name": ledger.name,
            "id": ledger.id,
            "fits": self.fits,
            "charges": [self._part_shown(part) for part in self.parts],
            **({"key": self.known} if self.known else {}),
        }

    def _part_shown(self, part: Part) -> dict[str, Any]:
        budget, totals = part.balance.budget, part.balance.totals
        largest = largest_fitting(budget, totals, part.price, self.mechanism)
        return {
            "account": part.price.account.name,
            **({} if part.by is None else {"cap_of": part.by}),
            "cost": guarantee_json(part.price.guarantee),
            "fits": part.fits,
            "ends_epsilons": part.ends_epsilons,
            "left": left_json(budget, totals),
            "left_after": left_json(budget, part.after) if part.fits else None,
            "largest_epsilon": None if largest is None else readable_down(largest),
        }


def price_of(
    ledger: Ledger, mechanism: Any, options: argparse.Namespace, protected: Protected
) -> Found:
    """Return what a release would cost; no data are opened, and nothing is charged."""
    data = Deferred(lambda: None, protected.unit, protected.records)
    (prices,) = ledger.plan([mechanism], by=options.by, account=options.account, data=data).prices
    parts = []
    for price in prices:
        parts.append(Part(price, ledger.balance(price.account.name), None))
        with contextlib.suppress(LedgerError):  # without a cap
            if options.by is not None:
                cap = ledger.balance(price.account.name, by=options.by)
                parts.append(Part(price, cap, options.by))
    return Found(mechanism, parts, _known(ledger, options.key))


def left_json(budget: Budget, totals: Totals) -> dict[str, str]:
    """Return what is left, each number by itself, as exact text."""
    zero = Fraction(0)
    left: dict[str, Fraction] = {}
    if budget.epsilon is not None and not totals.mixed:
        left["epsilon"] = max(budget.epsilon - totals.epsilon, zero)
    if budget.most_rho:
        left["rho"] = max(budget.most_rho - totals.rho, zero)
    if budget.delta_of_entries:
        left["delta"] = max(budget.delta_of_entries - totals.delta, zero)
    return {name: decimal_text(number, digits=150) for name, number in left.items()}


def _known(ledger: Ledger, key: str | None) -> str:
    """Say what the ledger knows of a key."""
    if key is None:
        return ""
    try:
        charge = ledger.find(key)
    except LedgerError:
        return ""
    if charge.state == "canceled":
        return ""
    said = {
        "reserved": "its cost is set aside already, and would not be charged again",
        "finished": "the same command returns its release, and costs nothing",
        "charged": "it is running, or failed, or is a stream; only a stream goes on",
    }[charge.state]
    return f"The key {key!r} is {charge.state} (entry {charge.entry}): {said}."
