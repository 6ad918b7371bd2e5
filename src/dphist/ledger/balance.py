"""What was spent of an account, what is left, and what a list of releases would cost."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from dphist.errors import LedgerError
from dphist.ledger.amounts import Totals
from dphist.ledger.book import EVERYBODY, Tables, admits, count_releases, find_account
from dphist.ledger.budget import Budget
from dphist.ledger.charging import Largest, Price, ends_epsilons, largest_fitting, prices
from dphist.ledger.periods import ALL_TIME
from dphist.ledger.units import DataUnit


@dataclass(frozen=True, slots=True)
class Amounts:
    """Sums of what was spent, or what is left.

    Attributes
    ----------
    epsilon : sum of the pure releases' epsilons, or what is left for them; None if other
        releases rule a sum of epsilons out, or the account is one of rho.
    rho, delta : sums over all releases, or what is left; of a pure account rho is not counted.
    """

    epsilon: Fraction | None
    rho: Fraction
    delta: Fraction


@dataclass(frozen=True, slots=True)
class Balance:
    """What was spent of an account, or of a cap in it, and what is left.

    Attributes
    ----------
    account : its name.
    budget : of the account, or the cap.
    totals : sums over the entries; of a budget that is renewed, over those of `period`.
    period : the month that pays now, such as "2026-11"; "" for a budget that is never renewed.
    all_time : sums over the entries of all months.
    """

    account: str
    budget: Budget
    totals: Totals
    period: str = ALL_TIME
    all_time: Totals = field(default_factory=Totals)

    @property
    def spent(self) -> Amounts:
        """The sums of what was charged or is reserved."""
        epsilon = None if self.totals.mixed else self.totals.epsilon
        return Amounts(epsilon, self.totals.rho, self.totals.delta)

    @property
    def remaining(self) -> Amounts:
        """What is left: by epsilons alone, as long as all is pure, or by rho and delta."""
        none = Fraction(0)
        epsilon = None
        if self.budget.epsilon is not None and not self.totals.mixed:
            epsilon = max(self.budget.epsilon - self.totals.epsilon, none)
        return Amounts(
            epsilon,
            max(self.budget.most_rho - self.totals.rho, none),
            max(self.budget.delta_of_entries - self.totals.delta, none),
        )

    @property
    def largest_epsilon(self) -> Fraction:
        """The largest epsilon of one more pure release that still fits; 0 if none does."""
        return self.budget.largest_epsilon(self.totals)


@dataclass(frozen=True, slots=True)
class Plan:
    """The price of a list of releases, and how many of them would be paid.

    Attributes
    ----------
    prices : for each release, what it costs each account.
    paid : how many of them fit, from the first on.
    ends_epsilons : place in the list, from 0, of the release after which an account or cap adds up
        no epsilons any more, because it states none, as with Gaussian noise: from then on only rho
        and delta count, also for pure releases. None if there is no such release.
    """

    prices: list[list[Price]]
    paid: int
    ends_epsilons: int | None = None

    @property
    def affordable(self) -> bool:
        """Whether all of them fit."""
        return self.paid == len(self.prices)


def find_balance(tables: Tables, name: str, by: str | None) -> Balance:
    """Return the balance of an account, or of a person's cap in it.

    Raises
    ------
    LedgerError
        If the account or the cap does not exist.
    """
    account, holder = find_account(tables, name), by or EVERYBODY
    budget = account.budget if by is None else tables.cap(name, by)
    if budget is None:
        raise LedgerError(f"{by!r} has no cap in the account {name!r}; see `allow`")
    period = account.find_period(tables.now())
    now, all_time = (tables.totals(name, holder, each) for each in (period, ALL_TIME))
    return Balance(name, budget, now, period, all_time)


def plan_releases(
    tables: Tables, names: Sequence[str], releases: Sequence[tuple[Any, DataUnit]], by: str | None
) -> Plan:
    """Return the price of mechanisms for data of these units, one after the other."""
    after: dict[tuple[str, str], Totals] = {}
    priced: list[list[Price]] = []
    paid, ends = 0, None
    for mechanism, unit in releases:
        priced.append(prices(tables, names, mechanism, unit))
        found = [
            _would_fit(tables, price, holder, after)
            for price in priced[-1]
            for holder in dict.fromkeys((EVERYBODY, by or EVERYBODY))
        ]
        if ends is None and any(ended for _, ended in found):
            ends = len(priced) - 1
        if all(fits for fits, _ in found) and paid == len(priced) - 1:
            paid += 1
    return Plan(priced, paid, ends)


@dataclass(frozen=True, slots=True)
class Room:
    """How much is left for one kind of release.

    Attributes
    ----------
    releases : how many more of the same cost would be paid, one after the other.
    largest : the largest budget of one more release of this kind; None if none fits.
    period : the month that has to pay for them; "" if a budget that is never renewed has to.
    """

    releases: int
    largest: Largest | None
    period: str = ALL_TIME

    def __str__(self) -> str:
        many = {0: "no more releases like this one fit", 1: "1 more release like this one fits"}
        text = many.get(self.releases, f"{self.releases:,} more releases like this one fit")
        text += f" in {self.period}" if self.period else ""
        if self.largest is None:
            return text
        return f"{text}; the largest of this kind that fits has {self.largest}"


@dataclass(frozen=True, slots=True)
class Held:
    """A price, and a budget that it must fit, of the account or of a cap, with its sums."""

    price: Price
    budget: Budget
    totals: Totals
    period: str

    def count(self) -> int:
        """Return how many more releases of this price fit, one after the other."""
        return count_releases(self.price.account, self.budget, self.totals, self.price.cost)


def join_held(parts: Sequence[Held]) -> Held:
    """Return one budget with the price of several releases that are made together."""
    cost = parts[0].price.cost
    for part in parts[1:]:
        cost = cost.plus(part.price.cost)
    return replace(parts[0], price=replace(parts[0].price, cost=cost))


def list_held(
    tables: Tables, names: Sequence[str], mechanism: Any, data: DataUnit, by: str | None
) -> list[Held]:
    """Return every budget that a release of a mechanism must fit."""
    found: list[Held] = []
    for price in prices(tables, names, mechanism, data):
        name, period = price.account.name, price.account.find_period(tables.now())
        sums = tables.totals(name, EVERYBODY, period)
        found.append(Held(price, price.account.budget, sums, period))
        cap = None if by is None else tables.cap(name, by)
        if cap is not None and by is not None:
            found.append(Held(price, cap, tables.totals(name, by, period), period))
    return found


def count_room(held: Sequence[Held]) -> Room:
    """Return how many more releases of one price would be paid, one after the other."""
    first = min(held, key=Held.count)  # whose budget ends them
    return Room(first.count(), None, first.period)


def find_room(held: Sequence[Held], mechanism: Any, data: DataUnit) -> Room:
    """Return how many releases of a mechanism fit all of some budgets, and the largest of them."""
    largest = [
        None
        if each.price.account.closed
        else largest_fitting(each.price.account, each.budget, each.totals, mechanism, data)
        for each in held
    ]
    known = [each for each in largest if each is not None]
    most = min(known, key=lambda each: each.number) if len(known) == len(largest) else None
    return replace(count_room(held), largest=most)


def _would_fit(
    tables: Tables, price: Price, holder: str, after: dict[tuple[str, str], Totals]
) -> tuple[bool, bool]:
    """Whether a price fits after those before it in a plan, which `after` adds up.

    Returns
    -------
    That, and whether it ends the adding up of epsilons.
    """
    name = price.account.name
    budget = price.account.budget if holder == EVERYBODY else tables.cap(name, holder)
    period = price.account.find_period(tables.now())
    totals = after.get((name, holder)) or tables.totals(name, holder, period)
    after[name, holder] = totals.plus(price.cost)
    fits = budget is None or admits(price.account, budget, totals, price.cost)
    ends = budget is not None and ends_epsilons(budget, totals, price.cost)
    return fits and not price.account.closed, ends
