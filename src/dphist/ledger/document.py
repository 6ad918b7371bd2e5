"""A ledger as a document: what was spent on what, by whom, and what is left."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dphist.document.blocks import (
    BRIEF,
    DRAWN,
    HEADED,
    ON_JSON,
    ON_PAGE,
    Block,
    Column,
    Document,
    Fact,
    Figures,
    NoError,
    Note,
    Section,
    Table,
)
from dphist.document.guarantee_words import guarantee_in_words
from dphist.document.unit_words import Number, plural_of
from dphist.ledger.charts import chart_of
from dphist.ledger.entries import Entry
from dphist.ledger.history import AccountHistory, Payment, histories
from dphist.ledger.ledger import Ledger
from dphist.ledger.words import (
    budget_text,
    cost_text,
    date_of,
    largest_text,
    left_text,
    spent_text,
    state_text,
    words,
)
from dphist.parameters import decimal_text
from dphist.privacy import ApproxDP, PureDP
from dphist.release.release import VERSION
from dphist.sentence import Quoted, Sentence
from dphist.visible import visible

_MOST_ROWS = 200
_LIMITS = {
    "Releases that do not go through the ledger": "They cost privacy as well, and the ledger does "
    "not know of them. Nor does it know of data that are in another ledger.",
    "Names": "A ledger does not know who calls it: names and purposes are the words of its users, "
    "and caps hold for those who give their own name.",
    "Whoever can write the ledger": "A changed entry is noticed by dphist ledger verify. An "
    "older copy of the whole ledger is not, unless its number of entries and last hash are "
    "compared with those below.",
}


def document_of(ledger: Ledger) -> Document:
    """Return what is to be said of a ledger; all of it is computed from the entries."""
    entries = list(ledger.entries())
    found = histories(entries)
    many = f"{len(entries):,} entr{'y' if len(entries) == 1 else 'ies'}"
    return Document(
        kind="ledger",
        title=Sentence("{name}", name=Quoted(words(ledger.name))),
        made=f"a privacy ledger of {many}",
        version=VERSION,
        slots={},
        headline="privacy ledger",
        lead=f"What was spent, on what and by whom, and what is left: {many}{_days(entries)}.",
        glance=[Section("left", "", [_at_a_glance(each) for each in found])],
        sections=[
            Section("place", "", _place(ledger, entries)),
            *(_account(history, number, len(entries)) for number, history in enumerate(found, 1)),
            _people(found),
            _payments(found),
            Section(
                "limits",
                "What is not covered",
                [Fact(*each, on=ON_PAGE) for each in _LIMITS.items()],
            ),
            Section("programs", "", _for_programs(ledger, entries, found), ON_JSON),
        ],
        about="Privacy ledger",
        kicker="Privacy ledger",
        closing=_closing(ledger, entries, many),
    )


def _closing(ledger: Ledger, entries: Sequence[Entry], many: str) -> str:
    last = f", the last of which has the hash {entries[-1].hash}" if entries else ""
    return (
        f"Computed from the {many} of the ledger {words(ledger.id)}{last}. The page holds no data "
        "value. Costs are rounded up, and what is left is rounded down."
    )


def _days(entries: Sequence[Entry]) -> str:
    return f" from {date_of(entries[0].time)} to {date_of(entries[-1].time)}" if entries else ""


def _place(ledger: Ledger, entries: Sequence[Entry]) -> list[Block]:
    last = f", the last of {date_of(entries[-1].time)}" if entries else ""
    return [
        Fact("Place", Quoted(visible(str(ledger.place))), on=BRIEF),
        Fact("Identity", words(ledger.id), on=BRIEF),
        Fact("Entries", f"{len(entries):,}{last}", on=BRIEF),
    ]


def _name(history: AccountHistory) -> Quoted:
    return Quoted(words(history.account.name))


def _at_a_glance(history: AccountHistory) -> Fact:
    """Return what is left of an account."""
    budget = history.account.budget
    largest = largest_text(budget, history.totals)
    left, note = f"ε = {largest}", "left at most, for one more pure release"
    if history.account.closed:
        left, note = "closed", "nothing more can be charged"
    elif largest == "0":
        left, note = "nothing left", "no further pure release fits"
    return Fact(Sentence("Account {name}", name=_name(history)), left, note=note, on=ON_PAGE)


def _account(history: AccountHistory, number: int, last: int) -> Section:
    """Return what happened to an account."""
    account, totals = history.account, history.totals
    budget = account.budget
    closed = " (closed)" if account.closed else ""
    unit = Quoted(words(str(account.unit)))
    opened = f"opened on {date_of(history.opened_at)}"
    releases = f"{totals.entries:,} release{'s'[: totals.entries != 1]}"
    spent = f"{spent_text(totals, budget)}, by {releases}" if totals.entries else "nothing"
    blocks: list[Block] = [
        Fact("Account", Sentence("{name}{closed}", name=_name(history), closed=closed), on=BRIEF),
        Fact("Protects", Sentence("{unit}", unit=unit)),
    ]
    if account.dataset:
        blocks.append(Fact("Data", Sentence("{data}", data=Quoted(words(account.dataset)))))
    blocks += [
        Fact("Budget", f"{budget_text(budget)} in all, {opened}"),
        Fact("Spent", spent),
        Fact("Left", "nothing can be charged" if closed else left_text(budget, totals)),
    ]
    if not account.closed:
        largest = f"{largest_text(budget, totals)}, of one more pure release"
        blocks.append(Fact("Largest ε", largest, on=BRIEF))
    blocks.append(Figures([chart_of(history, last, f"left{number}")], on=ON_PAGE))
    blocks += [Note(said, on=ON_PAGE) for said in _promise(history)]
    title = Sentence("Account {name}{closed}", name=_name(history), closed=closed)
    return Section(f"account{number}", title, blocks, wide=True)


def _promise(history: AccountHistory) -> list[str]:
    """Say what all releases of an account guarantee together."""
    guarantee, unit = history.account.budget.guarantee, history.account.unit
    unit = replace(unit, who=words(unit.who))
    said = [
        f"All releases charged to this account satisfy {guarantee} together, for {unit}, also "
        "where each was chosen after seeing those before it."
    ]
    if isinstance(guarantee, PureDP | ApproxDP):
        number = Number(noun=plural_of(unit))
        said.append(guarantee_in_words(guarantee, unit, number, seen="all releases"))
    return said


def _people(found: list[AccountHistory]) -> Section:
    """Return a row for everybody who spent something from an account or has a cap in it."""
    rows = [
        (history, name) for history in found for name in sorted({*history.people, *history.caps})
    ]
    columns = {
        "By": [words(name) for _, name in rows],
        "Account": [words(history.account.name) for history, _ in rows],
        "Releases": [f"{history.totals_of(name).entries:,}" for history, name in rows],
        "Spent": [
            spent_text(history.totals_of(name), history.account.budget) for history, name in rows
        ],
        "Cap": [
            budget_text(history.caps[name]) if name in history.caps else "none"
            for history, name in rows
        ],
        "Largest ε left of it": [
            largest_text(history.caps[name], history.totals_of(name))
            if name in history.caps
            else "–"
            for history, name in rows
        ],
    }
    table = _table(columns, "By whom", len(found) > 1, HEADED)
    return Section("people", "By whom", [table], wide=True)


def _payments(found: list[AccountHistory]) -> Section:
    """Return the last payments, the newest first."""
    every = [(payment, history) for history in found for payment in history.payments]
    every.sort(key=lambda each: each[0].entry, reverse=True)
    rows = every[:_MOST_ROWS]
    payments: list[Payment] = [payment for payment, _ in rows]
    columns = {
        "Release": [words(each.key) for each in payments],
        "Purpose": [words(each.note) for each in payments],
        "By": [words(each.by) for each in payments],
        "Account": [words(history.account.name) for _, history in rows],
        "Mechanism": [words(each.mechanism) for each in payments],
        "Cost": [cost_text(each.cost) for each in payments],
        "State": [state_text(each) for each in payments],
        "Entry": [f"{each.entry:,}" for each in payments],
        "Date": [date_of(each.time) for each in payments],
    }
    left_out = len(every) - len(rows)
    blocks: list[Block] = [_table(columns, "On what", len(found) > 1, DRAWN)]
    if left_out:
        more = f"The ledger has {left_out:,} older payments: see dphist ledger log."
        blocks.append(Note(more, "aside", on=ON_PAGE))
    return Section("payments", "On what", blocks, wide=True)


_WORDS = ("Release", "Purpose", "By", "Account", "Mechanism")
_DIGITS = ("Releases", "Largest ε left of it", "Entry")


def _table(columns: dict[str, list[str]], caption: str, accounts: bool, on: Any) -> Table:
    """Return a table; of one account it does not name that, nor does it have columns of nothing."""
    shown = [
        Column(name, cells, released=name in _WORDS, digits=name in _DIGITS)
        for name, cells in columns.items()
        if (name != "Account" or accounts) and (name not in ("State", "Purpose") or any(cells))
    ]
    empty = "Nothing was charged."
    return Table(shown, (caption, caption, ""), empty, on=on, whole=True)


def _for_programs(
    ledger: Ledger, entries: Sequence[Entry], found: list[AccountHistory]
) -> list[Block]:
    """Return the same for programs: numbers are exact texts."""
    values = {
        "ledger": ledger.name,
        "id": ledger.id,
        "place": ledger.place,
        "entries": len(entries),
        "hash": entries[-1].hash if entries else None,
        "accounts": [_account_json(history) for history in found],
    }
    exact = NoError("known exactly")
    return [Fact("", "", key, value, exact, on=ON_JSON) for key, value in values.items()]


def _account_json(history: AccountHistory) -> dict[str, Any]:
    account, budget, totals = history.account, history.account.budget, history.totals
    return {
        **account.to_content(),
        "closed": account.closed,
        "releases": totals.entries,
        "spent": {
            "epsilon": None if totals.mixed else decimal_text(totals.epsilon),
            "rho": decimal_text(totals.rho),
            "delta": decimal_text(totals.delta, digits=150),
        },
        "largest_epsilon": "0" if account.closed else largest_text(budget, totals),
        "people": {
            name: {
                "releases": history.totals_of(name).entries,
                "cap": None if name not in history.caps else history.caps[name].to_content(),
            }
            for name in sorted({*history.people, *history.caps})
        },
    }
