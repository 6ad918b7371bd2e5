"""A ledger in lines of plain text, for a terminal, and for programs."""

import textwrap
from typing import Any

from dphist.ledger import Ledger
from dphist.ledger.charging import left_in_words
from dphist.ledger.history import AccountHistory, histories
from dphist.parameters import decimal_text
from dphist.render.text_table import WIDTH, beside, left, right
from dphist.report.ledger.amounts import largest_text, plain_text, spent_parts
from dphist.report.ledger.rows import date_of, person_rows, words
from dphist.visible import visible

_NAME_COLUMNS = 20


def ledger_text(ledger: Ledger) -> str:
    """Return what was spent from each account, by whom, and what is left."""
    entries = list(ledger.entries())
    many = f"{len(entries):,} {'entry' if len(entries) == 1 else 'entries'}"
    last = f", the last of {date_of(entries[-1].time)}" if entries else ""
    where = visible(f"({ledger.id}) at {ledger.place}")
    lines = _wrapped(f"Ledger {words(ledger.name)} {where}: {many}{last}.")
    for history in histories(entries):
        lines += ["", *_account(history)]
    return "\n".join(lines) + "\n"


def ledger_json(ledger: Ledger) -> dict[str, Any]:
    """Return the same for programs: numbers are exact texts."""
    entries = list(ledger.entries())
    return {
        "ledger": ledger.name,
        "id": ledger.id,
        "place": ledger.place,
        "entries": len(entries),
        "hash": entries[-1].hash if entries else None,
        "accounts": [_account_json(history) for history in histories(entries)],
    }


def _account(history: AccountHistory) -> list[str]:
    account, budget, totals = history.account, history.account.budget, history.totals
    closed = " It is closed." if account.closed else ""
    facts = [("Budget", f"{budget}, for {words(str(account.unit))}.{closed}")]
    if account.dataset:
        facts.append(("Data", words(account.dataset)))
    spent = plain_text(spent_parts(totals, budget)) or "nothing"
    releases = "1 release" if totals.entries == 1 else f"{totals.entries:,} releases"
    facts += [
        ("Spent", f"{releases}: {spent}" if totals.entries else "nothing"),
        ("Left", left_in_words(budget, totals)),
    ]
    if not account.closed:
        facts.append(("Largest epsilon", f"{largest_text(budget, totals)}, of a pure release"))
    lines = [f"Account {words(account.name)}"]
    for name, text in facts:
        lines += textwrap.wrap(
            text, WIDTH, initial_indent=f"  {name:<16}", subsequent_indent=" " * 18
        )
    return [*lines, *_people(history)]


def _people(history: AccountHistory) -> list[str]:
    rows = person_rows(history)
    if not rows:
        return []
    return [
        "",
        # The largest epsilon of one more pure release that the cap has left.
        *beside(
            left(["by", *(row.name for row in rows)], _NAME_COLUMNS),
            right(["releases", *(f"{row.releases:,}" for row in rows)]),
            left(["cap", *(plain_text(row.cap) or "none" for row in rows)]),
            left(["epsilon left", *(row.left for row in rows)]),
        ),
    ]


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


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, break_on_hyphens=False, break_long_words=False)
