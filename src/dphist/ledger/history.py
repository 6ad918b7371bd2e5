"""What was spent on what and by whom, and what was left after each entry."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dphist.errors import DphistError, LedgerError
from dphist.ledger import entries as actions
from dphist.ledger.amounts import Cost, Totals
from dphist.ledger.book import EVERYBODY, Account, MemoryTables, apply
from dphist.ledger.budget import Budget
from dphist.ledger.entries import Entry
from dphist.ledger.periods import ALL_TIME


@dataclass(slots=True)
class Payment:
    """What one release costs one account.

    Attributes
    ----------
    entry, time : of the charge, or of the reservation before it.
    by, key, note : who paid, the key of the release, and its purpose: words of users.
    mechanism : its name.
    guarantee : of the release, for one unit of the account.
    cost : as the account counts it.
    state : `reserved`, `charged`, `finished` or `canceled`.
    is_stream : whether an entry notes the state of a stream that it paid for.
    """

    entry: int
    time: str
    by: str
    key: str
    note: str
    mechanism: str
    guarantee: str
    cost: Cost
    state: str
    is_stream: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """The sums of an account, or of the month, after an entry that changed them."""

    entry: int
    time: str
    totals: Totals


@dataclass(slots=True)
class AccountHistory:
    """What happened to one account.

    Attributes
    ----------
    account : with its unit, budget and data set.
    opened : number of the entry that opened it.
    opened_at : its time.
    period : the month that pays now; "" if the budget is never renewed.
    totals : sums over all live entries, or over those of that month.
    payments : the oldest first, canceled reservations included.
    sums : by name and period, of everybody and of each name that paid.
    caps : by name.
    steps : the sums after each entry that changed them.
    """

    account: Account
    opened: int
    opened_at: str
    period: str = ALL_TIME
    totals: Totals = field(default_factory=Totals)
    payments: list[Payment] = field(default_factory=list)
    sums: dict[str, dict[str, Totals]] = field(default_factory=dict)
    caps: dict[str, Budget] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)

    @property
    def people(self) -> list[str]:
        """The names that paid."""
        return [name for name in self.sums if name != EVERYBODY]

    @property
    def months(self) -> list[str]:
        """The months in which something was charged, if the budget is renewed."""
        sums = self.sums.get(EVERYBODY, {}).items()
        return sorted(period for period, totals in sums if period != ALL_TIME and totals.entries)

    def is_current(self, time: str) -> bool:
        """Whether the budget that pays now paid for entries of this time."""
        return self.account.find_period(time) == self.period

    def find_totals(self, name: str, period: str = ALL_TIME) -> Totals:
        """Return the sums over what one person or team, or everybody, paid for in a period."""
        return self.sums.get(name, {}).get(period, Totals())


def histories(entries: Iterable[Entry]) -> list[AccountHistory]:
    """Return the history of each account, in the order in which they were opened.

    Raises
    ------
    LedgerError
        If the entries cannot follow each other; `Ledger.verify` says which.
    """
    tables = MemoryTables()
    found: dict[str, AccountHistory] = {}
    paid: Paid = {}
    for entry in entries:
        try:
            apply(entry, tables)
            tables.entries.append(entry)
            _add(entry, found, paid, tables)
        except (DphistError, KeyError, TypeError, ValueError):
            raise LedgerError(
                f"entry {entry.number} cannot follow those before it; run `dphist ledger verify`"
            ) from None
    for name, history in found.items():
        history.account = tables.accounts[name]
        history.period = history.account.find_period(tables.now())
        history.totals = tables.totals(name, EVERYBODY, history.period)
        for (of, who, period), totals in tables.sums.items():
            if of == name:
                history.sums.setdefault(who, {})[period] = totals
        history.caps = {who: cap for (of, who), cap in tables.caps.items() if of == name}
    return list(found.values())


Paid = dict[str, list[tuple[AccountHistory, Payment]]]
"""The payments of each key, each with the account that paid."""


def _add(entry: Entry, found: dict[str, AccountHistory], paid: Paid, tables: MemoryTables) -> None:
    content = entry.content
    if entry.action == actions.ACCOUNT:
        name = content["name"]
        found[name] = AccountHistory(tables.accounts[name], entry.number, entry.time)
    if "key" not in content:
        return
    held = paid.setdefault(content["key"], [])
    if entry.action == actions.NOTED:
        for _, payment in held:
            payment.is_stream = True
        return
    # A charge may use a reservation, which is counted already.
    used = any(payment.state == actions.RESERVED for _, payment in held)
    if entry.action in (actions.FINISHED, actions.CANCELED) or used:
        for _, payment in held:
            payment.state = entry.action
    else:
        costs = content["costs"]
        held[:] = [(found[each["account"]], _read_payment(entry, each)) for each in costs]
        for history, payment in held:
            history.payments.append(payment)
    if entry.action == actions.FINISHED or (used and entry.action == actions.CHARGED):
        return
    for history, _ in held:
        account = history.account
        totals = tables.totals(account.name, EVERYBODY, account.find_period(entry.time))
        history.steps.append(Step(entry.number, entry.time, totals))


def _read_payment(entry: Entry, part: Mapping[str, Any]) -> Payment:
    content = entry.content
    return Payment(
        entry=entry.number,
        time=entry.time,
        by=content["by"],
        key=content["key"],
        note=content["note"],
        mechanism=content["mechanism"]["name"],
        guarantee=str(part["guarantee"]),
        cost=Cost.from_content(part["cost"]),
        state=entry.action,
    )
