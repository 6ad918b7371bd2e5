"""A ledger as a document: what was spent on what, by whom, and what is left."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dphist.document.blocks import (
    BRIEF,
    DRAWN,
    HEADED,
    ON_JSON,
    ON_PAGE,
    ON_TERMINAL,
    Block,
    Column,
    Document,
    Fact,
    Figures,
    NoError,
    Note,
    Section,
    Surfaces,
    Table,
)
from dphist.document.guarantee_words import guarantee_in_words
from dphist.document.unit_words import Number, find_plural
from dphist.ledger.amounts import Cost
from dphist.ledger.balance import Balance, Plan
from dphist.ledger.book import Account, count_releases
from dphist.ledger.budget import Budget
from dphist.ledger.charging import readable_down
from dphist.ledger.charts import draw_chart
from dphist.ledger.entries import CANCELED, Entry
from dphist.ledger.history import AccountHistory, Payment, histories
from dphist.ledger.ledger import Ledger
from dphist.ledger.like_last import find_largest_like
from dphist.ledger.spending import (
    EACH_MONTH,
    budget_in_all,
    budget_of_month,
    months_json,
    say_renewed,
    sums_json,
)
from dphist.ledger.table import list_rows
from dphist.ledger.words import (
    ONLY_RHO,
    budget_text,
    cost_text,
    format_date,
    format_left,
    format_left_json,
    format_spent,
    how_many_entries,
    largest_text,
    state_text,
    words,
)
from dphist.privacy import ApproxDP, Guarantee, PureDP
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


def make_document(ledger: Ledger) -> Document:
    """Return what is to be said of a ledger; all of it is computed from the entries."""
    entries = list(ledger.entries())
    found = histories(entries)
    many, days, last = how_many_entries(len(entries)), "", ""
    if entries:
        days = f" from {format_date(entries[0].time)} to {format_date(entries[-1].time)}"
        last = f", the last of which has the hash {entries[-1].hash}"
    sections = [
        Section("place", "", _place(ledger, entries)),
        *(_account(ledger, each, at, len(entries)) for at, each in enumerate(found, 1)),
        _people(found),
        _payments(found),
        Section(
            "limits", "What is not covered", [Fact(*each, on=ON_PAGE) for each in _LIMITS.items()]
        ),
        Section("programs", "", _for_programs(ledger, entries, found), ON_JSON),
    ]
    return _document(
        ledger.name,
        f"a privacy ledger of {many}",
        sections,
        lead=f"What was spent, on what and by whom, and what is left: {many}{days}.",
        glance=[Section("left", "", [_at_a_glance(each) for each in found])],
        about="Privacy ledger",
        kicker="Privacy ledger",
        closing=f"Computed from the {many} of the ledger {words(ledger.id)}{last}. The page holds "
        "no data value. Costs are rounded up, and what is left is rounded down.",
    )


def _place(ledger: Ledger, entries: Sequence[Entry]) -> list[Block]:
    return [
        Fact("Place", Quoted(visible(str(ledger.place))), on=BRIEF),
        Fact("Identity", words(ledger.id), on=BRIEF),
        _count(entries),
    ]


def _count(entries: Sequence[Entry]) -> Fact:
    last = f", the last of {format_date(entries[-1].time)}" if entries else ""
    return Fact("Entries", f"{len(entries):,}{last}", on=BRIEF)


def _name(history: AccountHistory) -> Quoted:
    return Quoted(words(history.account.name))


def _at_a_glance(history: AccountHistory) -> Fact:
    """Return what is left of an account."""
    budget = history.account.budget
    largest = largest_text(budget, history.totals)
    now = f" in {history.period}" if history.period else ""
    left, note = f"ε = {largest}", f"left at most{now}, for one more pure release"
    if history.account.closed:
        left, note = "closed", "nothing more can be charged"
    elif largest == "0":
        left, note = "nothing left", f"no further pure release fits{now}"
    return Fact(Sentence("Account {name}", name=_name(history)), left, note=note, on=ON_PAGE)


def _account(ledger: Ledger, history: AccountHistory, number: int, last: int) -> Section:
    """Return what happened to an account."""
    account, totals = history.account, history.totals
    budget = account.budget
    closed = " (closed)" if account.closed else ""
    unit = Quoted(words(str(account.unit)))
    blocks: list[Block] = [
        Fact("Account", Sentence("{name}{closed}", name=_name(history), closed=closed), on=BRIEF),
        Fact("Protects", Sentence("{unit}", unit=unit)),
    ]
    if account.dataset:
        blocks.append(Fact("Data", Sentence("{data}", data=Quoted(words(account.dataset)))))
    blocks += budget_of_month(history) if account.renew else budget_in_all(history)
    if not account.closed:
        largest = f"{largest_text(budget, totals)}, of one more pure release"
        blocks.append(Fact("Largest ε", largest, on=BRIEF))
    paid = [each for each in history.payments if each.state != CANCELED]
    if paid and not closed:
        more = count_releases(account, budget, totals, paid[-1].cost)
        now = f", in {history.period}" if history.period else ""
        last_key = Quoted(words(paid[-1].key))
        like = "1 more release" if more == 1 else f"{more or 'no'} more releases"
        blocks.append(
            Fact(
                "Fits",
                Sentence(
                    "{like} like the last one, {key}{now}{largest}",
                    like=like,
                    key=last_key,
                    now=now,
                    largest=_largest_like(ledger, history, paid[-1]),
                ),
                on=BRIEF,
            )
        )
    blocks.append(Figures([draw_chart(history, last, f"left{number}")], on=ON_PAGE))
    blocks += [Note(said, on=ON_PAGE) for said in _promise(history)]
    title = Sentence("Account {name}{closed}", name=_name(history), closed=closed)
    return Section(f"account{number}", title, blocks, wide=True)


def _largest_like(ledger: Ledger, history: AccountHistory, payment: Payment) -> str:
    """Say how large a release of the kind of a payment may be; empty if that is not known."""
    largest = find_largest_like(ledger, history, payment)
    if largest is None:
        return ""
    number = f"{_SYMBOLS.get(largest.name, largest.name)} = {readable_down(largest.number)}"
    number += largest.remark
    return f"; the largest of this kind that fits has {number}"


_SYMBOLS = {"epsilon": "ε", "rho": "ρ"}


def _promise(history: AccountHistory) -> list[str]:
    """Say what all releases of an account guarantee together."""
    account = history.account
    guarantee, unit = account.budget.guarantee, account.unit
    unit, each = replace(unit, who=words(unit.who)), EACH_MONTH if account.renew else ""
    said = [
        f"All releases charged to this account{each} satisfy {guarantee} together, for {unit}, "
        f"also where each was chosen after seeing those before it{_alone(account)}."
    ]
    if isinstance(guarantee, PureDP | ApproxDP):
        number, seen = Number(noun=find_plural(unit)), "all releases"
        seen = f"{seen} of one month" if account.renew else seen
        said.append(guarantee_in_words(guarantee, unit, number, seen=seen))
    if account.renew:
        said.append(
            "What months promise adds up: all releases of 12 months together satisfy 12 times as "
            f"much, and those of 5 years 60 times: {say_renewed(account.budget)}. A stream counts "
            "in the month in which it was charged."
        )
    return said


def _alone(account: Account) -> str:
    """Say for whom the promise of a month holds by itself; nothing of a budget for all time."""
    if not account.renew:
        return ""
    return (
        " in that month, for whoever has not seen results of other months, nor had releases chosen "
        "by them; for others, the sum of the months holds"
    )


def _people(found: list[AccountHistory]) -> Section:
    """Return a row for everybody who spent something from an account or has a cap in it."""
    rows = []
    for history in found:
        for name in sorted({*history.people, *history.caps}):
            cap, totals = history.caps.get(name), history.find_totals(name)
            now, budget = history.find_totals(name, history.period), history.account.budget
            each = " a month" if history.period else ""
            row = {
                "By": words(name),
                "Account": words(history.account.name) if len(found) > 1 else "",
                "Releases": f"{totals.entries:,}",
                "Spent": format_spent(totals, budget),
                "This month": format_spent(now, budget) if history.period else "",
                "Cap": "none" if cap is None else f"{budget_text(cap)}{each}",
                "Largest ε left of it": "–" if cap is None else largest_text(cap, now),
            }
            rows.append(row)
    table = _table(rows, _NOTHING, HEADED, "By whom")
    return Section("people", "By whom", [table], wide=True)


def _payments(found: list[AccountHistory]) -> Section:
    """Return the last payments, the newest first."""
    every = [(payment, history) for history in found for payment in history.payments]
    every.sort(key=lambda each: each[0].entry, reverse=True)
    rows = [
        {
            "Release": words(payment.key),
            "Purpose": words(payment.note),
            "By": words(payment.by),
            "Account": words(history.account.name) if len(found) > 1 else "",
            "Mechanism": words(payment.mechanism),
            "Cost": cost_text(payment.cost),
            "State": state_text(payment),
            "Entry": f"{payment.entry:,}",
            "Date": format_date(payment.time),
        }
        for payment, history in every[:_MOST_ROWS]
    ]
    blocks: list[Block] = [_table(rows, _NOTHING, DRAWN, "On what")]
    if len(every) > len(rows):
        left_out = len(every) - len(rows)
        more = f"The ledger has {left_out:,} older payments: see dphist ledger log."
        blocks.append(Note(more, "aside", on=ON_PAGE))
    return Section("payments", "On what", blocks, wide=True)


_NOTHING = "Nothing was charged."
_WORDS = ("Release", "Purpose", "By", "Account", "Mechanism", "Key", "Note")
_DIGITS = ("Releases", "Largest ε left of it", "Entry", "Number")


def _table(rows: list[dict[str, str]], empty: str, on: Surfaces, caption: str = "") -> Table:
    """Return a table of rows; columns of nothing are left out."""
    columns = {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}
    shown = [
        Column(name, cells, released=name in _WORDS and all(cells), digits=name in _DIGITS)
        for name, cells in columns.items()
        if any(cells)
    ]
    return Table(shown or [Column("", [])], (caption, caption, ""), empty, on=on, whole=True)


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
    return [*_facts_for_programs(values)]


def _account_json(history: AccountHistory) -> dict[str, Any]:
    account, budget, totals = history.account, history.account.budget, history.totals
    return {
        **account.to_content(),
        "closed": account.closed,
        **sums_json(totals),
        **(months_json(history) if account.renew else {}),
        "largest_epsilon": "0" if account.closed else largest_text(budget, totals),
        "people": {
            name: _person_json(history, name) for name in sorted({*history.people, *history.caps})
        },
    }


def _person_json(history: AccountHistory, name: str) -> dict[str, Any]:
    now, cap = history.find_totals(name, history.period), history.caps.get(name)
    all_time = {"releases_of_all_time": history.find_totals(name).entries}
    return {
        "releases": now.entries,
        **(all_time if history.account.renew else {}),
        "cap": None if cap is None else cap.to_content(),
    }


def document_of_entries(ledger: Ledger, entries: Sequence[Entry]) -> Document:
    """Return some entries of a ledger, a row for each account that one charges."""
    rows = [row for entry in entries for row in _log_rows(entry)]
    table = _table(rows, "There are no such entries.", ON_TERMINAL)
    made = f"{how_many_entries(len(entries))} of a privacy ledger"
    count = _count(list(ledger.entries()))
    return _document(ledger.name, made, [Section("entries", "Entries", [count, table])])


def _log_rows(entry: Entry) -> list[dict[str, str]]:
    allowed = entry.content.get("budget", entry.content.get("cap"))
    limit = "none" if "cap" in entry.content else ""
    if allowed is not None:
        each = " a month" if entry.content.get("renew") else ""
        limit = f"{budget_text(Budget.from_content(allowed))}{each}"
    parts = entry.content.get("costs") or [None]
    return [
        {
            "Entry": f"{entry.number:,}",
            "Time (UTC)": words(entry.time[:16].replace("T", " ")),
            "Action": words(entry.action),
            "Account": words(row["account"] or ""),
            "By": words(row["by"] or ""),
            "Key": words(row["key"] or ""),
            "Cost": "" if part is None else cost_text(Cost.from_content(part["cost"])),
            "Budget or cap": limit,
            "Mechanism": words(row["mechanism"] or ""),
            "Note": words(row["note"] or ""),
        }
        for row, part in zip(list_rows(entry), parts, strict=True)
    ]


_BARE = (
    "--epsilon, --rho and --delta price that guarantee alone, of no particular mechanism: a "
    "command given with --release costs what it would be charged, which may be less in rho."
)
_GAUSSIAN = (
    "A release of an epsilon with a delta is taken to state that epsilon. One with Gaussian noise, "
    "which labels, top and stream may choose, states a rho instead, and from then on epsilons are "
    "not added up any more."
)


def document_of_plan(
    ledger: str, balance: Balance, guarantees: Sequence[Guarantee], found: Plan, *, bare: bool
) -> Document:
    """Return cost and rest of each release of a plan, as if all before it were paid.

    Parameters
    ----------
    ledger : its name.
    balance : of the account that pays.
    guarantees : of the releases.
    bare : whether one of them is a guarantee alone, of no mechanism.
    """
    budget, sums, shown = balance.budget, balance.totals, []
    for at, (guarantee, (price,)) in enumerate(zip(guarantees, found.prices, strict=True)):
        sums = sums.plus(price.cost)
        left = {"left_after": format_left_json(budget, sums), "words": format_left(budget, sums)}
        shown.append({"fits": at < found.paid, "cost": str(guarantee), **left})
    rows = [
        {
            "Number": f"{at:,}",
            "Cost": str(each["cost"]),
            "Fits": "yes" if each["fits"] else "no",
            "Left": str(each["words"]) if each["fits"] else "",
        }
        for at, each in enumerate(shown, 1)
    ]
    blocks: list[Block] = [
        Fact("Account", Sentence("{name}", name=Quoted(words(balance.account)))),
        Fact("Left", format_left(budget, balance.totals)),
        _table(rows, _NOTHING, ON_TERMINAL),
    ]
    if found.ends_epsilons is not None:
        blocks.append(Note(f"Release {found.ends_epsilons + 1:,}: {ONLY_RHO}"))
    elif bare and any(isinstance(each, ApproxDP) for each in guarantees):
        blocks.append(Note(_GAUSSIAN))
    if bare:
        blocks.append(Note(_BARE))
    values = {"account": balance.account, "affordable": found.affordable}
    values |= {"ends_epsilons": found.ends_epsilons, "releases": shown}
    made = "a privacy ledger, and what would be charged to it"
    return _document(ledger, made, [Section("plan", "", [*blocks, *_facts_for_programs(values)])])


def _document(name: str, made: str, sections: Sequence[Section], **more: Any) -> Document:
    return Document(
        kind="ledger",
        title=Sentence("{name}", name=Quoted(words(name))),
        made=made,
        version=VERSION,
        slots={},
        headline="privacy ledger",
        sections=sections,
        **more,
    )


def _facts_for_programs(values: Mapping[str, Any]) -> list[Fact]:
    exact = NoError("known exactly")
    return [Fact("", "", key, value, exact, on=ON_JSON) for key, value in values.items()]
