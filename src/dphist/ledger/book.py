"""What an entry changes: accounts, sums and keys are a function of the entries.

A store applies each new entry to its tables in the transaction that appends it; verifying applies
all of them to empty tables and compares.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from dphist.errors import Argument, LedgerError, ParameterError
from dphist.ledger import entries
from dphist.ledger.amounts import Cost, Totals
from dphist.ledger.budget import Budget
from dphist.ledger.entries import Entry
from dphist.ledger.periods import ALL_TIME, NEVER, find_month, over_months, read_renewal
from dphist.parameters import Exact
from dphist.privacy import Guarantee, PrivacyUnit

STREAM = "ContinualMechanism"
"""Name of the mechanism of streams, as entries have it."""

EVERYBODY = ""
"""Holder of the totals of a whole account."""


@dataclass(frozen=True, slots=True)
class Account:
    """An account: whom it protects, in which data, and how much they may lose.

    Attributes
    ----------
    name : of the account.
    unit : the privacy unit.
    budget : fixed when the account was opened.
    dataset : what the data are, in the words of whoever opened the account.
    closed : whether nothing more can be charged.
    renew : "monthly" if the budget is renewed in each calendar month (UTC); "" if it never is.
    """

    name: str
    unit: PrivacyUnit
    budget: Budget
    dataset: str = ""
    closed: bool = False
    renew: str = NEVER

    def find_period(self, time: str) -> str:
        """Return the period whose budget pays for an entry of this time.

        It is a function of the entry alone. The transaction that appends an entry gives it the
        later of its clock's time and the time of the last entry, so periods never go back.
        """
        return find_month(time) if self.renew else ALL_TIME

    def over_months(self, months: int) -> Guarantee | None:
        """Return what all releases of some months satisfy together, for one unit of the account.

        Parameters
        ----------
        months : calendar months in which something is charged.

        Returns
        -------
        The budget, if it is never renewed; else that many times as much, or None if its delta
        reaches 1.
        """
        promised = replace(self.budget.guarantee, unit=self.unit)
        return over_months(promised, months) if self.renew else promised

    def to_content(self) -> dict[str, Any]:
        """Return the account for its entry."""
        renewed = {"renew": self.renew} if self.renew else {}
        unit = {"who": self.unit.in_or_out.name, "at_most": self.unit.at_most}
        exchanged = {"exchanged": True} if self.unit.exchanged else {}
        return {
            **renewed,
            "name": self.name,
            "unit": {**unit, **exchanged},
            "budget": self.budget.to_content(),
            "dataset": self.dataset,
        }

    def cap(self, epsilon: Exact | None, rho: Exact | None, delta: Exact | None) -> Budget | None:
        """Return a cap for a person, in the account's terms and at most its budget; None lifts it.

        Raises
        ------
        ParameterError
            If it is given in other terms, or allows more than the account has in all.
        """
        if epsilon is None and rho is None:
            return None
        if (self.budget.epsilon is None) != (epsilon is None):
            term = "rho" if self.budget.epsilon is None else "epsilon"
            raise ParameterError(
                "epsilon" if epsilon is not None else "rho",
                f"must be left out: a cap of the account {self.name!r} is given as "
                + Argument(term),
            )
        cap = Budget(epsilon=epsilon, rho=rho, delta=self.budget.delta if delta is None else delta)
        for term in ("epsilon", "rho", "delta"):
            asked, most = getattr(cap, term), getattr(self.budget, term)
            if asked is not None and asked > most:
                raise ParameterError(term, f"must be at most that of the account {self.name!r}")
        return cap

    @classmethod
    def from_content(cls, content: Any, closed: bool = False) -> "Account":
        """Return the account that `to_content` wrote."""
        unit = PrivacyUnit.from_content(content["unit"])
        budget = Budget.from_content(content["budget"])
        renew = read_renewal(content.get("renew"))
        return cls(content["name"], unit, budget, content["dataset"], closed, renew)


@dataclass(frozen=True, slots=True)
class Charge:
    """What is known of a key.

    Attributes
    ----------
    key : chosen by the caller, once for each release.
    entry : number of the entry that charged or reserved it.
    state : `reserved`, `charged`, `finished` or `canceled`.
    fingerprint : hash of what the key was charged for: mechanism and accounts.
    sha256 : hash of the finished release as JSON text; None of a stream or session.
    noted : number of the last entry that notes the state of a stream.
    release : that text. A store keeps it beside the entries, which hold its hash.
    """

    key: str
    entry: int
    state: str
    fingerprint: str
    sha256: str | None = None
    noted: int | None = None
    release: str | None = field(default=None, compare=False, repr=False)


class Tables(Protocol):
    """The tables that entries change."""

    def account(self, name: str) -> Account | None: ...
    def put_account(self, account: Account) -> None: ...
    def cap(self, account: str, holder: str) -> Budget | None: ...
    def put_cap(self, account: str, holder: str, cap: Budget | None) -> None: ...
    def totals(self, account: str, holder: str, period: str) -> Totals: ...
    def put_totals(self, account: str, holder: str, period: str, totals: Totals) -> None: ...
    def charge(self, key: str) -> Charge | None: ...
    def put_charge(self, charge: Charge) -> None: ...
    def entry(self, number: int) -> Entry: ...
    def key_of_state(self, state: str) -> str | None: ...
    def now(self) -> str: ...


class MemoryTables:
    """The tables in memory, for verifying."""

    def __init__(self) -> None:
        self.accounts: dict[str, Account] = {}
        self.caps: dict[tuple[str, str], Budget] = {}
        self.sums: dict[tuple[str, str, str], Totals] = {}
        self.charges: dict[str, Charge] = {}
        self.entries: list[Entry] = []
        self._noted: dict[str, int] = {}

    def account(self, name: str) -> Account | None:
        return self.accounts.get(name)

    def put_account(self, account: Account) -> None:
        self.accounts[account.name] = account

    def cap(self, account: str, holder: str) -> Budget | None:
        return self.caps.get((account, holder))

    def put_cap(self, account: str, holder: str, cap: Budget | None) -> None:
        if cap is None:
            self.caps.pop((account, holder), None)
        else:
            self.caps[account, holder] = cap

    def totals(self, account: str, holder: str, period: str) -> Totals:
        return self.sums.get((account, holder, period), Totals())

    def put_totals(self, account: str, holder: str, period: str, totals: Totals) -> None:
        self.sums[account, holder, period] = totals

    def charge(self, key: str) -> Charge | None:
        return self.charges.get(key)

    def put_charge(self, charge: Charge) -> None:
        self.charges[charge.key] = charge
        if charge.noted is not None:
            self._noted[charge.key] = charge.noted

    def entry(self, number: int) -> Entry:
        return self.entries[number - 1]

    def key_of_state(self, state: str) -> str | None:
        for key, number in self._noted.items():
            if self.entry(number).content["state"] == state:
                return key
        return None

    def now(self) -> str:
        return entries.now(self.entries[-1].time if self.entries else None)


def apply(entry: Entry, tables: Tables) -> None:
    """Change the tables as the entry says.

    Raises
    ------
    LedgerError
        If the entry cannot follow those before it: it would overspend, or name what is not there.
    """
    content = entry.content
    if entry.action == entries.ACCOUNT:
        if tables.account(content["name"]) is not None:
            raise LedgerError(f"the account {content['name']!r} exists; choose another name")
        tables.put_account(Account.from_content(content))
    elif entry.action == entries.ALLOWED:
        cap = content["cap"]
        find_account(tables, content["account"])
        allowed = None if cap is None else Budget.from_content(cap)
        tables.put_cap(content["account"], content["by"], allowed)
    elif entry.action == entries.CLOSED:
        account = find_account(tables, content["account"])
        tables.put_account(replace(account, closed=True))
    elif entry.action in (entries.RESERVED, entries.CHARGED):
        _spend(entry, tables)
    elif entry.action == entries.CANCELED:
        _cancel(entry, tables)
    elif entry.action == entries.FINISHED:
        charge = find_charge(tables, content["key"])
        if charge.state != entries.CHARGED:
            raise LedgerError(f"the key {charge.key!r} is {charge.state}, so it cannot be finished")
        tables.put_charge(replace(charge, state=entries.FINISHED, sha256=content["sha256"]))
    elif entry.action == entries.NOTED:
        charge = find_charge(tables, content["key"])
        if charge.state != entries.CHARGED:
            raise LedgerError(f"the key {charge.key!r} is {charge.state}: it pays for no stream")
        if tables.entry(charge.entry).content["mechanism"]["name"] != STREAM:
            raise LedgerError(f"the key {charge.key!r} did not pay for a stream")
        if charge.noted is not None:
            _check_continued(content, tables.entry(charge.noted))
        elif (owner := tables.key_of_state(content["state"])) is not None:
            raise LedgerError(
                f"the state file is that of the key {owner!r}: continue its stream with that key, "
                f"or begin one with the key {charge.key!r} at a path without a file"
            )
        tables.put_charge(replace(charge, noted=entry.number))
    elif entry.action != entries.OPENED or entry.number != 1:
        raise LedgerError("an entry has an action that is not possible there")


def admits(account: Account, budget: Budget, totals: Totals, cost: Cost) -> bool:
    """Whether one more entry fits a budget: that of the account, or a cap in it.

    What an entry costs by itself is stated at the account's delta, so it says nothing about a cap
    whose delta is smaller.
    """
    return budget.admits(totals, _as_counted(account, budget, cost))


def count_releases(account: Account, budget: Budget, totals: Totals, cost: Cost) -> int:
    """Return how many more entries of one cost fit a budget: that of the account, or a cap."""
    more = budget.count_releases(totals, _as_counted(account, budget, cost))
    return 0 if account.closed else more


def _as_counted(account: Account, budget: Budget, cost: Cost) -> Cost:
    return replace(cost, alone=None) if budget.delta < account.budget.delta else cost


def list_costs(entry: Entry) -> Iterable[tuple[str, Cost]]:
    """Yield the accounts that an entry charges, with the cost to each."""
    for part in entry.content["costs"]:
        yield part["account"], Cost.from_content(part["cost"])


def find_account(tables: Tables, name: str) -> Account:
    """Return an account; LedgerError if there is none of this name."""
    account = tables.account(name)
    if account is None:
        raise LedgerError(
            f"there is no account {name!r} in the ledger; `dphist ledger show` lists them"
        )
    return account


def find_charge(tables: Tables, key: str) -> Charge:
    """Return what is known of a key; LedgerError if nothing is."""
    charge = tables.charge(key)
    if charge is None:
        raise LedgerError(f"there is no entry with the key {key!r} in the ledger")
    return charge


def _open_account(tables: Tables, name: str) -> Account:
    account = find_account(tables, name)
    if account.closed:
        raise LedgerError(f"the account {name!r} is closed: nothing more can be charged to it")
    return account


def _spend(entry: Entry, tables: Tables) -> None:
    """Add the costs, or turn a reservation of the same costs into a charge."""
    content = entry.content
    key = content["key"]
    known = tables.charge(key)
    if known is not None and known.state == entries.RESERVED and entry.action == entries.CHARGED:
        if known.fingerprint != content["fingerprint"]:
            raise LedgerError(f"the key {key!r} was reserved for something else")
        reserved = tables.entry(known.entry).content
        if (reserved["by"], reserved["costs"]) != (content["by"], content["costs"]):
            raise LedgerError(
                f"the key {key!r} was reserved by {reserved['by']!r}, whose cap it counts against; "
                "release it in that name, or cancel it"
            )
        for name, _ in list_costs(entry):
            _open_account(tables, name)
        check_not_renewed(tables, known, entry.time)
        tables.put_charge(replace(known, entry=entry.number, state=entries.CHARGED))
        return
    if known is not None and known.state != entries.CANCELED:
        raise LedgerError(f"the key {key!r} is in use; choose another one")
    for name, cost in list_costs(entry):
        account = _open_account(tables, name)
        period = account.find_period(entry.time)
        for holder in dict.fromkeys((EVERYBODY, content["by"])):
            budget = account.budget if holder == EVERYBODY else tables.cap(name, holder)
            totals = tables.totals(name, holder, period)
            if budget is not None and not admits(account, budget, totals, cost):
                raise LedgerError(f"the entry costs more than {name!r} has left")
            for each in dict.fromkeys((period, ALL_TIME)):
                totals = tables.totals(name, holder, each)
                tables.put_totals(name, holder, each, totals.plus(cost))
    tables.put_charge(Charge(key, entry.number, entry.action, content["fingerprint"]))


def check_not_renewed(tables: Tables, charge: Charge, time: str) -> None:
    """Refuse a reservation of a month that is over: the month of the release has to pay for it."""
    reserved = tables.entry(charge.entry)
    for name, _ in list_costs(reserved):
        account = find_account(tables, name)
        period = account.find_period(reserved.time)
        if period != account.find_period(time):
            raise LedgerError(
                f"the key {charge.key!r} was reserved in {period}, and the budget of {name!r} was "
                "renewed since: the month in which data are read has to pay. Cancel the "
                "reservation, and charge again; nothing was charged"
            )


def _check_continued(content: Mapping[str, Any], before: Entry) -> None:
    """Refuse a second stream for one charge, and an older content of the first."""
    if content["state"] != before.content["state"]:
        raise LedgerError(
            f"the key {content['key']!r} pays for another state file, which entry "
            f"{before.number} notes; begin this stream with another key, which costs again"
        )
    if content["commits"] < before.content["commits"]:
        raise LedgerError(f"the state file is older than entry {before.number} notes")


def _cancel(entry: Entry, tables: Tables) -> None:
    """Give back what was reserved and never looked at data."""
    charge = find_charge(tables, entry.content["key"])
    if charge.state != entries.RESERVED:
        raise LedgerError(
            f"the key {charge.key!r} is {charge.state}: only a reservation can be canceled, "
            "because a charge may have looked at data"
        )
    reserved = tables.entry(charge.entry)
    for name, cost in list_costs(reserved):
        period = find_account(tables, name).find_period(reserved.time)
        for holder in dict.fromkeys((EVERYBODY, reserved.content["by"])):
            for each in dict.fromkeys((period, ALL_TIME)):
                totals = tables.totals(name, holder, each)
                tables.put_totals(name, holder, each, totals.minus(cost))
    tables.put_charge(replace(charge, state=entries.CANCELED))
