"""The page about a ledger: one HTML file that opens anywhere, without a network."""

from dataclasses import dataclass, replace

from dphist.document.delta_words import Number
from dphist.document.guarantee_words import guarantee_in_words, plural_of
from dphist.ledger import Ledger
from dphist.ledger.history import AccountHistory, histories
from dphist.privacy import PureDP
from dphist.release.release import VERSION
from dphist.report.html import template_of
from dphist.report.ledger.amounts import budget_parts, largest_text, spent_parts
from dphist.report.ledger.chart import chart_of
from dphist.report.ledger.rows import (
    PaymentRow,
    PersonRow,
    date_of,
    payment_rows,
    person_rows,
    words,
)
from dphist.report.page import Figure
from dphist.report.svg import figure

_MOST_ROWS = 200
_CAPTION = (
    "How much of the account is left after each entry, in percent. A new release must fit by the "
    "sum of ε, or by the sum of ρ; either is enough."
)
_CAPTION_OF_ONE = "How much of the account is left after each entry, in percent."
_DELTA = " The releases' own δ must fit as well."


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountPage:
    """What the page says about one account.

    Attributes
    ----------
    name, dataset, unit : words of whoever opened it, and whom it protects.
    opened, closed : the day, and whether nothing more can be charged.
    budget, spent : by their numbers.
    largest : the largest epsilon of one more pure release; "0" if none fits.
    releases : how many it pays for.
    promise : what all releases together guarantee, and what that means.
    people, payments, left_out : rows of the tables, and how many older payments there are.
    chart : what was left after each entry.
    """

    name: str
    dataset: str
    unit: str
    opened: str
    closed: bool
    budget: list[str]
    spent: list[str]
    largest: str
    releases: int
    promise: list[str]
    people: list[PersonRow]
    payments: list[PaymentRow]
    left_out: int
    chart: Figure


def ledger_html(ledger: Ledger) -> str:
    """Return the page about a ledger; what it says is computed from the entries anew."""
    entries = list(ledger.entries())
    accounts = [_account(at, each, len(entries)) for at, each in enumerate(histories(entries))]
    return template_of("dphist.report.ledger").render(
        title=f"Ledger {words(ledger.name)}",
        identity=ledger.id,
        entries=len(entries),
        first=date_of(entries[0].time) if entries else "",
        last=date_of(entries[-1].time) if entries else "",
        head=entries[-1].hash if entries else "",
        accounts=accounts,
        version=VERSION,
    )


def _account(at: int, history: AccountHistory, last: int) -> AccountPage:
    account, budget = history.account, history.account.budget
    rules = bool(budget.epsilon is not None and budget.most_rho)
    caption = _CAPTION if rules else _CAPTION_OF_ONE
    if rules and history.totals.mixed:
        caption += " The line of ε ends where a release states no ε."
    if budget.delta_of_entries:
        caption += _DELTA
    return AccountPage(
        name=words(account.name),
        dataset=words(account.dataset),
        unit=words(str(account.unit)),
        opened=date_of(history.opened_at),
        closed=account.closed,
        budget=budget_parts(budget),
        spent=spent_parts(history.totals, budget),
        largest="0" if account.closed else largest_text(budget, history.totals),
        releases=history.totals.entries,
        promise=_promise(history),
        people=person_rows(history),
        payments=payment_rows(history, _MOST_ROWS),
        left_out=max(len(history.payments) - _MOST_ROWS, 0),
        chart=figure(chart_of(history, last), f"left{at}", caption),
    )


def _promise(history: AccountHistory) -> list[str]:
    """Say what all releases of an account guarantee together."""
    account = history.account
    guarantee, unit = account.budget.guarantee, account.unit
    unit = replace(unit, who=words(unit.who))
    meaning: str = guarantee_in_words(guarantee, unit, Number(noun=plural_of(unit)))
    if isinstance(guarantee, PureDP):
        meaning = meaning.replace("the release, they", "all releases, they")
    return [
        f"All releases charged to this account satisfy {guarantee} together, for {unit}, also "
        "where each was chosen after seeing those before it.",
        meaning.replace("The release satisfies", "Together they satisfy"),
    ]
