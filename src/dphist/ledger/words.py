"""Costs and what is left as people read them: costs rounded up, the rest down; words of users."""

from fractions import Fraction

from dphist.ledger.amounts import Cost, Totals
from dphist.ledger.budget import Budget
from dphist.ledger.charging import readable_down
from dphist.ledger.history import Payment
from dphist.parameters import decimal_text
from dphist.privacy.as_text import plain, up
from dphist.privacy.rounding import readable
from dphist.visible import harmless

ONLY_RHO = (
    "It states no epsilon, as with Gaussian noise. Once it is charged, epsilons are not added up "
    "any more: only rho and delta count, also for pure releases."
)
"""Said of a release after which an account adds up no epsilons."""

_NAMES = {"ε": "epsilon", "ρ": "rho", "δ": "delta"}
_LONGEST_NUMBER = 10
_LONGEST = 300  # letters of a user's words
_STATES = {
    "finished": "",
    "charged": "not finished",
    "reserved": "reserved",
    "canceled": "canceled, costs nothing",
}


def short(number: Fraction) -> str:
    """Format what was spent: exactly if that is short, else six digits, rounded up.

    >>> short(Fraction(1, 3)), short(Fraction(1, 10**7)), short(Fraction(2**40, 3**26))
    ('1/3', '1e-7', '0.432561')
    """
    text = readable(number)
    return text if len(text) <= _LONGEST_NUMBER else plain(up(number))


def cost_text(cost: Cost) -> str:
    """Return a cost by its numbers: epsilon if the entry states one, else rho; then delta.

    >>> cost_text(Cost(None, Fraction(1, 10), Fraction(1, 10**7)))
    'ρ = 0.1, δ = 1e-7'
    """
    epsilon = [] if cost.epsilon is None else [f"ε = {short(cost.epsilon)}"]
    delta = [f"δ = {short(cost.delta)}"] if cost.delta else []
    return ", ".join([*(epsilon or [f"ρ = {short(cost.rho)}"]), *delta])


def list_sums(budget: Budget, totals: Totals) -> dict[str, tuple[Fraction, Fraction]]:
    """Return the sums of a budget by their symbols: how much each may be, and is.

    That of epsilons is left out where an entry states none: it decides nothing then.
    """
    sums = {}
    if budget.epsilon is not None and not totals.mixed:
        sums["ε"] = budget.epsilon, totals.epsilon
    if budget.most_rho:
        sums["ρ"] = budget.most_rho, totals.rho
    if budget.delta_of_entries:
        sums["δ"] = budget.delta_of_entries, totals.delta
    return sums


def format_spent(totals: Totals, budget: Budget) -> str:
    """Return sums in the terms of a budget; "nothing" if there are no entries."""
    sums = list_sums(budget, totals).items()
    parts = [f"{name} = {short(spent)}" for name, (_, spent) in sums if spent or name != "δ"]
    return ", ".join(parts) if totals.entries else "nothing"


def budget_text(budget: Budget) -> str:
    """Return a budget by its numbers."""
    named = (("ε", budget.epsilon), ("ρ", budget.rho), ("δ", budget.delta or None))
    return ", ".join(f"{name} = {readable(number)}" for name, number in named if number is not None)


def format_left(budget: Budget, totals: Totals) -> str:
    """Return what is left of each sum of a budget.

    >>> format_left(Budget(epsilon=2, delta="1e-6"), Totals())
    "ε = 2 or ρ = 0.0834417, and δ = 5e-7 for the releases' own δ"
    """
    left = {
        name: f"{name} = {readable_down(max(most - spent, Fraction(0)))}"
        for name, (most, spent) in list_sums(budget, totals).items()
    }
    own = left.pop("δ", None)
    return " or ".join(left.values()) + (f", and {own} for the releases' own δ" if own else "")


def format_left_json(budget: Budget, totals: Totals) -> dict[str, str]:
    """Return what is left, each number by itself, as exact text."""
    return {
        _NAMES[symbol]: decimal_text(max(most - spent, Fraction(0)), digits=150)
        for symbol, (most, spent) in list_sums(budget, totals).items()
    }


def largest_text(budget: Budget, totals: Totals) -> str:
    """Return the largest epsilon of one more pure release, rounded down; "0" for none."""
    return readable_down(budget.largest_epsilon(totals))


def state_text(payment: Payment) -> str:
    """Say what became of a payment; empty if the release was made."""
    if payment.is_stream and payment.state == "charged":
        return "stream"
    return _STATES.get(payment.state, payment.state)


def how_many_entries(number: int) -> str:
    """Return a number of entries in words."""
    return f"{number:,} {'entry' if number == 1 else 'entries'}"


def words(text: str) -> str:
    """Return words of a user, which nothing but a ledger's writer has checked."""
    return harmless(text, _LONGEST) if text else ""


def format_date(time: str) -> str:
    """Return the day of an entry's time.

    >>> format_date("2026-11-03T09:12:55.120+00:00")
    '2026-11-03'
    """
    return words(time[:10])
