"""What was spent on what and by whom, and what was left after each entry."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from dphist.errors import DphistError, LedgerError
from dphist.ledger import entries as actions
from dphist.ledger.amounts import Cost, Totals
from dphist.ledger.book import EVERYBODY, Account, MemoryTables, apply
from dphist.ledger.budget import Budget
from dphist.ledger.entries import Entry


@dataclass(frozen=True, slots=True)
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
    noted : number of the last entry that notes the state of a stream.
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
    noted: int | None = None

    @property
    def is_stream(self) -> bool:
        """Whether it paid for a stream."""
        return self.noted is not None


@dataclass(frozen=True, slots=True)
class Step:
    """The sums of an account after an entry that changed them."""

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
    totals : sums over all live entries.
    payments : the oldest first, canceled reservations included.
    people : sums for each name that paid.
    caps : by name.
    steps : the sums after each entry that changed them.
    """

    account: Account
    opened: int
    opened_at: str
    totals: Totals = field(default_factory=Totals)
    payments: list[Payment] = field(default_factory=list)
    people: dict[str, Totals] = field(default_factory=dict)
    caps: dict[str, Budget] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)

    def totals_of(self, name: str) -> Totals:
        """Return the sums over what one person or team paid for."""
        return self.people.get(name, Totals())


def histories(entries: Iterable[Entry]) -> list[AccountHistory]:
    """Return the history of each account, in the order in which they were opened.

    Raises
    ------
    LedgerError
        If the entries cannot follow each other; `Ledger.verify` says which.
    """
    tables = MemoryTables()
    found: dict[str, AccountHistory] = {}
    places: dict[str, list[tuple[AccountHistory, int]]] = {}
    for entry in entries:
        try:
            apply(entry, tables)
            tables.entries.append(entry)
            _add(entry, found, places, tables)
        except (DphistError, KeyError, TypeError, ValueError):
            raise LedgerError(
                f"entry {entry.number} cannot follow those before it; run `dphist ledger verify`"
            ) from None
    for name, history in found.items():
        history.account = tables.accounts[name]
        history.totals = tables.totals(name, EVERYBODY)
        sums = tables.sums.items()
        history.people = {who: each for (of, who), each in sums if of == name and who != EVERYBODY}
        history.caps = {who: cap for (of, who), cap in tables.caps.items() if of == name}
    return list(found.values())


Places = dict[str, list[tuple[AccountHistory, int]]]
"""For each key its payments: the history of an account, and the place in its list."""


def _add(
    entry: Entry, found: dict[str, AccountHistory], places: Places, tables: MemoryTables
) -> None:
    content = entry.content
    if entry.action == actions.ACCOUNT:
        name = content["name"]
        found[name] = AccountHistory(tables.accounts[name], entry.number, entry.time)
    if "key" not in content:
        return
    key = content["key"]
    if entry.action == actions.NOTED:
        _change(places[key], noted=entry.number)
    elif entry.action == actions.FINISHED or (
        entry.action == actions.CHARGED and _is_reserved(places.get(key, []))
    ):
        _change(places[key], state=entry.action)
    elif entry.action == actions.CANCELED:
        _change(places[key], state=entry.action)
        _step(entry, places[key], tables)
    else:
        places[key] = [_paid(entry, part, found[part["account"]]) for part in content["costs"]]
        _step(entry, places[key], tables)


def _is_reserved(held: list[tuple[AccountHistory, int]]) -> bool:
    """Whether a charge uses a reservation, which is counted already."""
    return any(history.payments[at].state == actions.RESERVED for history, at in held)


def _paid(
    entry: Entry, part: dict[str, object], history: AccountHistory
) -> tuple[AccountHistory, int]:
    content = entry.content
    history.payments.append(
        Payment(
            entry=entry.number,
            time=entry.time,
            by=content["by"],
            key=content["key"],
            note=content["note"],
            mechanism=content["mechanism"]["name"],
            guarantee=str(part["guarantee"]),
            cost=Cost.from_content(part["cost"]),  # type: ignore[arg-type]
            state=entry.action,
        )
    )
    return history, len(history.payments) - 1


def _step(entry: Entry, changed: list[tuple[AccountHistory, int]], tables: MemoryTables) -> None:
    for history, _ in changed:
        totals = tables.totals(history.account.name, EVERYBODY)
        history.steps.append(Step(entry.number, entry.time, totals))


def _change(changed: list[tuple[AccountHistory, int]], **values: object) -> None:
    for history, at in changed:
        history.payments[at] = replace(history.payments[at], **values)  # type: ignore[arg-type]
