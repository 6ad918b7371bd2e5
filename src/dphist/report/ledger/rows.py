"""Rows of the tables about a ledger, of texts that can be shown as they are."""

from dataclasses import dataclass

from dphist.ledger.history import AccountHistory, Payment
from dphist.report.ledger.amounts import budget_parts, cost_parts, largest_text, spent_parts
from dphist.visible import harmless

_LONGEST = 300  # letters of a user's words
_STATES = {
    "finished": "",
    "charged": "charged, not finished",
    "reserved": "reserved",
    "canceled": "canceled, costs nothing",
}


@dataclass(frozen=True, slots=True)
class PaymentRow:
    """What one release cost."""

    entry: int
    date: str
    by: str
    key: str
    note: str
    mechanism: str
    cost: list[str]
    state: str


@dataclass(frozen=True, slots=True)
class PersonRow:
    """What one person or team spent, and their cap."""

    name: str
    releases: int
    spent: list[str]
    cap: list[str]
    left: str


def payment_rows(history: AccountHistory, most: int) -> list[PaymentRow]:
    """Return the last payments of an account, the newest first."""
    return [_payment_row(payment) for payment in reversed(history.payments[-most:])]


def person_rows(history: AccountHistory) -> list[PersonRow]:
    """Return a row for everybody who spent something or has a cap, by name."""
    rows = []
    for name in sorted({*history.people, *history.caps}):
        totals, cap = history.totals_of(name), history.caps.get(name)
        spent = spent_parts(totals, history.account.budget)
        rows.append(
            PersonRow(
                name=words(name),
                releases=totals.entries,
                spent=spent if totals.entries else [],
                cap=[] if cap is None else budget_parts(cap),
                left="" if cap is None else largest_text(cap, totals),
            )
        )
    return rows


def words(text: str) -> str:
    """Return words of a user, which nothing but a ledger's writer has checked."""
    return harmless(text, _LONGEST) if text else ""


def date_of(time: str) -> str:
    """Return the day of an entry's time.

    >>> date_of("2026-11-03T09:12:55.120+00:00")
    '2026-11-03'
    """
    return words(time[:10])


def _payment_row(payment: Payment) -> PaymentRow:
    state = _STATES.get(payment.state, payment.state)
    if payment.is_stream and payment.state == "charged":
        state = "stream"
    return PaymentRow(
        entry=payment.entry,
        date=date_of(payment.time),
        by=words(payment.by),
        key=words(payment.key),
        note=words(payment.note),
        mechanism=words(payment.mechanism),
        cost=cost_parts(payment.cost),
        state=state,
    )
