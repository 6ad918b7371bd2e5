"""Deciding what a release costs, and whether it fits, before any data are read."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

from dphist.errors import BudgetError, LedgerError, ParameterError
from dphist.labels import PayWhatYouGet
from dphist.ledger.amounts import Cost, Totals
from dphist.ledger.book import EVERYBODY, Account, Tables, admits, find_account
from dphist.ledger.budget import Budget
from dphist.ledger.entries import canonical, digest
from dphist.ledger.groups import Groups
from dphist.ledger.periods import find_end
from dphist.ledger.units import DataUnit, cost_for, is_unchanged
from dphist.mechanism import MechanismBase
from dphist.privacy import Guarantee, PureDP
from dphist.privacy.calibration import calibrate
from dphist.privacy.rounding import readable
from dphist.release.maker import find_target, read_parameters
from dphist.release.mechanism_json import describe
from dphist.streams import ContinualMechanism

_LONGEST_NOTE = 1000
_LONGEST_NAME = 200
"""Characters; an index of PostgreSQL takes two names, but not two notes."""


@dataclass(frozen=True, slots=True)
class Price:
    """What a release costs one account.

    Attributes
    ----------
    account : that is charged.
    guarantee : of the release, for one unit of the account.
    cost : as the account counts it.
    """

    account: Account
    guarantee: Guarantee
    cost: Cost

    def to_content(self) -> dict[str, Any]:
        """Return the price for its entry."""
        return {
            "account": self.account.name,
            "guarantee": str(self.guarantee),
            "unit": str(self.account.unit),
            "cost": self.cost.to_content(),
        }


def prices(tables: Tables, names: Sequence[str], mechanism: Any, data: DataUnit) -> list[Price]:
    """Return what a mechanism, or those of `Groups` together, cost each of these accounts.

    Raises
    ------
    LedgerError
        If there is no such account, or the release protects another unit.
    """
    found = []
    for name in names:
        account = find_account(tables, name)
        if isinstance(mechanism, Groups):
            unit, delta = account.unit, account.budget.delta
            guarantee, cost = mechanism.cost_for(unit, delta, name)
        else:
            guarantee, cost = cost_in(account, mechanism, data)
        found.append(Price(account, guarantee, cost))
    return found


def cost_in(account: Account, mechanism: Any, data: DataUnit) -> tuple[Guarantee, Cost]:
    """Return the guarantee and the cost of a mechanism in an account."""
    unit, delta = account.unit, account.budget.delta
    if unit.exchanged and isinstance(mechanism, ContinualMechanism | PayWhatYouGet):
        raise LedgerError(
            f"the account {account.name!r} protects {unit}: an exchange takes two steps, which are "
            "not covered for streams and sessions; use an account for a unit added or removed"
        )
    guarantee, cost = cost_for(mechanism, data, unit, delta, account.name)
    if account.renew and isinstance(mechanism, ContinualMechanism | PayWhatYouGet):
        # It runs on beside the releases of later months: proofs/ledger.md, Lemma 11.
        cost = replace(cost, alone=None)
    return guarantee, cost


def check_one_step(found: Sequence[Price], mechanism: Any) -> None:
    """Refuse group privacy for what runs beside other releases (proofs/ledger.md, Lemma 5)."""
    for price in found:
        if not is_unchanged(price.guarantee, mechanism.guarantee):
            raise LedgerError(
                f"the account {price.account.name!r} protects {price.account.unit}, and a "
                f"stream or session protects {mechanism.guarantee.unit}: several of them "
                "together are not covered; use an account for that unit"
            )


@dataclass(frozen=True, slots=True)
class Quote:
    """What a release costs, as its entry says it.

    It depends on the mechanism and the accounts alone, so it can be made before the ledger is
    locked.

    Attributes
    ----------
    priced : the price for each account.
    mechanism : its name and parameters.
    costs : the prices for the entry.
    about : which data, in public words, if the caller says it; the key is for them alone.
    """

    priced: list[Price]
    mechanism: dict[str, Any]
    costs: list[dict[str, Any]]
    about: str

    @classmethod
    def of(
        cls,
        tables: Tables,
        names: Sequence[str],
        mechanism: Any,
        data: DataUnit,
        about: str = "",
    ) -> "Quote":
        """Return the quote; parameters and errors as for `prices`.

        Parameters
        ----------
        about : which data, in public words, if the caller says it; the key is for them alone.
        """
        priced = prices(tables, names, mechanism, data)
        words = mechanism_in_words(mechanism)
        costs = [price.to_content() for price in priced]
        return cls(priced, words, costs, about)

    @property
    def fingerprint(self) -> str:
        """Hash of what a key is charged for: mechanism, what each account pays, and the data."""
        charged = [self.mechanism, self.costs, self.about]
        return str(digest(canonical(charged if self.about else charged[:2])))

    def as_charged(self, charged: list[dict[str, Any]]) -> "Quote":
        """Return this quote at the costs of an entry, where these are the same, with a larger rho.

        Earlier versions charged some releases a larger rho than they cost. A key of theirs stands
        for the same release, at what it was charged.
        """
        if len(charged) != len(self.costs):
            return self
        for now, was in zip(self.costs, charged, strict=True):
            before, after = Cost.from_content(was["cost"]), Cost.from_content(now["cost"])
            same = (was["account"], was["unit"], before.epsilon, before.delta) == (
                (now["account"], now["unit"], after.epsilon, after.delta)
            )
            if not (same and before.rho >= after.rho):
                return self
        return replace(self, costs=charged)

    @property
    def accounts(self) -> list[Account]:
        """The accounts as they were when it was made."""
        return [price.account for price in self.priced]


def check_budget(
    tables: Tables, priced: Sequence[Price], by: str, mechanism: Any, data: DataUnit
) -> None:
    """Refuse what one of the accounts, or a cap of `by` in it, cannot pay.

    Raises
    ------
    BudgetError
        If it does not fit: the message says what was asked, what is left, what fits, and when the
        budget is renewed.
    LedgerError
        If an account is closed.
    """
    for price in priced:
        name = price.account.name
        if price.account.closed:
            raise LedgerError(f"the account {name!r} is closed: nothing more can be charged to it")
        for holder in (EVERYBODY, by):
            budget = price.account.budget if holder == EVERYBODY else tables.cap(name, holder)
            period = price.account.find_period(tables.now())
            totals = tables.totals(name, holder, period)
            if budget is None or admits(price.account, budget, totals, price.cost):
                continue
            whose = f"the account {name!r}" if holder == EVERYBODY else f"the cap of {by!r}"
            left = describe_left(budget, totals)
            stated = f" {NO_EPSILON}," if ends_epsilons(budget, totals, price.cost) else ""
            fitting = fitting_in_words(
                largest_fitting(price.account, budget, totals, mechanism, data), budget, price.cost
            )
            raise BudgetError(
                f"no more releases like this one fit in {whose}: {fitting}. It costs "
                f"{price.guarantee},{stated} and {left} is left of {budget}"
                f"{_renewal_in_words(price, budget, period)}. Nothing was charged"
            )


def _renewal_in_words(price: Price, budget: Budget, period: str) -> str:
    """Say when a budget is renewed, and whether it will pay then; empty if it never is."""
    if not period:
        return ""
    then = f" in {period}. The budget is renewed on {find_end(period)} (UTC)"
    if admits(price.account, budget, Totals(), price.cost):
        return then
    return f"{then}, and that of a whole month does not pay for this release either"


NO_EPSILON = "which states no epsilon, as with Gaussian noise, so that only its rho counts"


def ends_epsilons(budget: Budget, totals: Totals, cost: Cost) -> bool:
    """Whether an entry is the first of a budget that states no epsilon.

    From then on epsilons are not added up any more: rho and delta count, for pure entries as well.
    """
    both = budget.epsilon is not None and budget.delta > 0
    return both and totals.mixed == 0 and cost.epsilon is None


def describe_left(budget: Budget, totals: Totals) -> str:
    """Return what is left of a budget, in its own terms."""
    none = Fraction(0)
    parts = []
    if budget.epsilon is not None and totals.mixed == 0:
        parts.append(f"epsilon={readable_down(max(budget.epsilon - totals.epsilon, none))}")
    if budget.most_rho:
        parts.append(f"rho={readable_down(max(budget.most_rho - totals.rho, none))}")
    found = " or ".join(parts)
    if budget.delta_of_entries:
        left = max(budget.delta_of_entries - totals.delta, none)
        found += f" (and delta={readable_down(left)} for releases' own deltas)"
    return found


def readable_down(number: Fraction) -> str:
    """Format what is left: at most the number itself."""
    if not number:
        return "0"
    scale = Fraction(10) ** 6
    while number * scale < 10**5:
        scale *= 10
    short = Fraction(int(number * scale)) / scale
    text = readable(number)
    return text if len(text) <= 10 and Fraction(text) <= number else readable(short)


@dataclass(frozen=True, slots=True)
class Largest:
    """The largest budget of one more release of a kind.

    Attributes
    ----------
    name : the parameter that it is: epsilon or rho, of the mechanism or of what it is calibrated
        to; of a pure release, if the mechanism has none.
    number : rounded down.
    exchanged : whether an account of exchanged units pays, which charges more than the parameter
        says: that is of units that are added or removed.
    """

    name: str
    number: Fraction
    exchanged: bool = False

    def __str__(self) -> str:
        return f"{self.name}={readable_down(self.number)}{self.remark}"

    @property
    def remark(self) -> str:
        """What the number is of, if that is not what the account charges."""
        return " (of a unit added or removed)" if self.exchanged else ""


_PURE = "epsilon of a pure release"


def largest_fitting(
    account: Account, budget: Budget, totals: Totals, mechanism: Any, data: DataUnit
) -> Largest | None:
    """Return the largest budget with which this mechanism would fit; None if none does.

    Parameters
    ----------
    budget, totals : of the account, or of a cap in it.
    data : whom the data protect.
    """
    varied = None if isinstance(mechanism, Groups) else _vary(mechanism)
    guarantee, pure = getattr(mechanism, "guarantee", None), budget.largest_epsilon(totals)
    is_pure = isinstance(guarantee, PureDP) and (guarantee.rho is None or varied is None)
    if isinstance(guarantee, PureDP) and is_pure and not isinstance(mechanism, Groups):
        charged, _ = cost_in(account, mechanism, data)
        steps = charged.epsilon / guarantee.epsilon if isinstance(charged, PureDP) else 1
        return Largest("epsilon", pure / steps, account.unit.exchanged) if pure else None
    if varied is None:
        return Largest(_PURE, pure) if pure else None
    name, number, make = varied

    def fits(value: Fraction) -> bool:
        try:
            tried = make(value)
        except (ParameterError, TypeError):
            return False
        _, cost = cost_in(account, tried, data)
        return admits(account, budget, totals, cost)

    found = _find_largest(fits, number)
    return None if found is None else Largest(name, found, account.unit.exchanged)


def _vary(mechanism: Any) -> tuple[str, Fraction, Callable[[Fraction], Any]] | None:
    """Return the parameter that sets a mechanism's budget, its value, and mechanisms of others."""
    if not isinstance(mechanism, MechanismBase):
        return None
    target, parameters = find_target(mechanism), read_parameters(mechanism)
    if target is None:
        name = next((name for name in ("epsilon", "rho") if parameters.get(name)), None)
        if name is None:
            return None
        kind = type(mechanism)
        return name, Fraction(parameters[name]), lambda value: kind(**{**parameters, name: value})
    asked = target.guarantee
    for own in ("epsilon", "delta"):
        parameters.pop(own, None)
    make = partial(
        calibrate,
        type(mechanism),
        delta=getattr(asked, "delta", 0),
        releases=target.releases,
        **parameters,
    )
    return "epsilon", Fraction(asked.epsilon), lambda value: make(epsilon=value)


_MOST, _LEAST = 64, Fraction(1, 1000)
_DIGITS = 100  # a search of more takes seconds


def _find_largest(fits: Callable[[Fraction], bool], start: Fraction) -> Fraction | None:
    """Return the largest number of three digits that fits, to about a percent."""
    low, high = Fraction(0), start
    while high < _MOST and fits(high):
        low, high = high, 2 * high
    while high - low > high / _DIGITS and high > _LEAST:
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    if not low:
        return None
    digits = Fraction(10) ** (2 - math.floor(math.log10(low)))
    short = Fraction(math.floor(low * digits)) / digits
    return short if fits(short) else low


_PURE_ALONE = (
    "it takes only releases that state an epsilon, and this one states none, as with Gaussian "
    "noise or a delta"
)


def fitting_in_words(found: Largest | None, budget: Budget, cost: Cost) -> str:
    """Say which budget would fit, or why none does."""
    if budget.epsilon is not None and not budget.delta and cost.epsilon is None:
        return _PURE_ALONE
    if found is None:
        return "no epsilon fits"
    return f"the largest {found.name} that fits is {readable_down(found.number)}{found.remark}"


def mechanism_in_words(mechanism: Any) -> dict[str, Any]:
    """Return a mechanism's name and parameters for an entry; its guarantee if it has no fields."""
    if isinstance(mechanism, Groups):
        return mechanism.in_words(mechanism_in_words)
    try:
        found: dict[str, Any] = describe(mechanism)
        canonical(found)
    except (TypeError, ValueError):  # somebody else's, which need not be a dataclass
        found = {"name": type(mechanism).__name__, "guarantee": str(mechanism.guarantee)}
    return found


def check_words(text: object, name: str, *, empty: bool = False) -> str:
    """Return words of a user that an entry keeps: one line, a name or a note that may be empty."""
    longest = _LONGEST_NOTE if empty else _LONGEST_NAME
    if not isinstance(text, str) or len(text) > longest or not text.isprintable():
        raise ParameterError(name, f"must be one line of text of at most {longest} characters")
    if not empty and not text.strip():
        raise ParameterError(name, "must not be empty")
    return text
