"""What a ledger says of a budget and what was spent of it: in all, or in each month."""

from typing import Any

from dphist.document.blocks import Block, Fact
from dphist.ledger.amounts import Totals
from dphist.ledger.book import EVERYBODY
from dphist.ledger.budget import Budget
from dphist.ledger.history import AccountHistory
from dphist.ledger.periods import find_end
from dphist.ledger.words import budget_text, format_date, format_left, format_spent
from dphist.parameters import decimal_text
from dphist.privacy.rounding import readable

EACH_MONTH = " in each calendar month (UTC)"
"""Said of a budget that is renewed monthly."""

_IN_A_YEAR, _IN_FIVE_YEARS = 12, 60


def budget_in_all(history: AccountHistory) -> list[Block]:
    """Return a budget for all time, what was spent of it, and what is left."""
    return _describe(history, f" in all, opened on {format_date(history.opened_at)}")


def budget_of_month(history: AccountHistory) -> list[Block]:
    """Return the same for a month, with what all months have cost and what they may cost."""
    months, in_all = history.months, history.find_totals(EVERYBODY)
    paid = f", in {len(months):,} month{'s'[: len(months) != 1]}" if months else ""
    opened = f"{EACH_MONTH}, opened on {format_date(history.opened_at)}"
    until = f", until {find_end(history.period)} (UTC)"
    return [
        *_describe(history, opened, f", in {history.period}", until),
        Fact("All months", f"{_describe_spent(history.account.budget, in_all)}{paid}"),
        Fact("Adds up to", say_renewed(history.account.budget)),
    ]


def _describe(history: AccountHistory, of: str, now: str = "", until: str = "") -> list[Block]:
    """Return a budget, what was spent of it, and what is left.

    Parameters
    ----------
    of : what follows the budget: how long it is for, and since when.
    now, until : the month, if it is one of a month, and its end.
    """
    budget, totals, closed = history.account.budget, history.totals, history.account.closed
    left = "nothing can be charged" if closed else f"{format_left(budget, totals)}{until}"
    return [
        Fact("Budget", f"{budget_text(budget)}{of}"),
        Fact("Spent", f"{_describe_spent(budget, totals)}{now}"),
        Fact("Left", left),
    ]


def _describe_spent(budget: Budget, totals: Totals) -> str:
    releases = f"{totals.entries:,} release{'s'[: totals.entries != 1]}"
    return f"{format_spent(totals, budget)}, by {releases}" if totals.entries else "nothing"


def say_renewed(budget: Budget) -> str:
    """Return what a monthly budget adds up to.

    >>> say_renewed(Budget(epsilon=1, delta="1e-6"))
    'ε = 12, δ = 1.2e-5 after 12 months, and ε = 60, δ = 6e-5 after 5 years'
    >>> say_renewed(Budget(epsilon=1, delta="0.05"))
    'ε = 12, δ = 0.6 after 12 months, and nothing is promised over 5 years'
    """
    year, years = (_times_text(budget, months) for months in (_IN_A_YEAR, _IN_FIVE_YEARS))
    if year is None:
        return "nothing is promised over 12 months: the deltas add up to 1"
    after = "nothing is promised over 5 years" if years is None else f"{years} after 5 years"
    return f"{year} after 12 months, and {after}"


def _times_text(budget: Budget, months: int) -> str | None:
    """Return a number of times a budget, or None if its delta reaches 1."""
    named = (("ε", budget.epsilon), ("ρ", budget.rho), ("δ", budget.delta or None))
    if budget.delta * months >= 1:
        return None
    return ", ".join(f"{n} = {readable(v * months)}" for n, v in named if v is not None)


def sums_json(totals: Totals) -> dict[str, Any]:
    """Return sums for programs, as exact texts."""
    spent = {
        "epsilon": None if totals.mixed else decimal_text(totals.epsilon),
        "rho": decimal_text(totals.rho),
        "delta": decimal_text(totals.delta, digits=150),
    }
    return {"releases": totals.entries, "spent": spent}


def months_json(history: AccountHistory) -> dict[str, Any]:
    """Return the month that pays now, and the sums of each month and of all, for programs."""
    return {
        "month": history.period,
        "renewed_on": find_end(history.period),
        "months": {
            month: sums_json(history.find_totals(EVERYBODY, month)) for month in history.months
        },
        "all_months": sums_json(history.find_totals(EVERYBODY)),
        "adds_up_to": say_renewed(history.account.budget),
    }
