"""Costs and what is left as people read them: costs rounded up, the rest down; words of users."""

from fractions import Fraction

from dphist.ledger.amounts import Cost, Totals
from dphist.ledger.budget import Budget
from dphist.ledger.charging import readable_down
from dphist.ledger.history import Payment
from dphist.privacy.as_text import plain, up
from dphist.privacy.rounding import readable
from dphist.visible import harmless

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


def spent_text(totals: Totals, budget: Budget) -> str:
    """Return sums in the terms of a budget; "nothing" if there are no entries."""
    parts = []
    if budget.epsilon is not None and not totals.mixed:
        parts.append(f"ε = {short(totals.epsilon)}")
    if budget.most_rho:
        parts.append(f"ρ = {short(totals.rho)}")
    if totals.delta:
        parts.append(f"δ = {short(totals.delta)}")
    return ", ".join(parts) if totals.entries else "nothing"


def budget_text(budget: Budget) -> str:
    """Return a budget by its numbers."""
    named = (("ε", budget.epsilon), ("ρ", budget.rho), ("δ", budget.delta or None))
    return ", ".join(f"{name} = {readable(number)}" for name, number in named if number is not None)


def left_text(budget: Budget, totals: Totals) -> str:
    """Return what is left of each sum of a budget.

    >>> left_text(Budget(epsilon=2, delta="1e-6"), Totals())
    "ε = 2 or ρ = 0.0834417, and δ = 5e-7 for the releases' own δ"
    """
    sums = []
    if budget.epsilon is not None and not totals.mixed:
        sums.append(f"ε = {_rest(budget.epsilon, totals.epsilon)}")
    if budget.most_rho:
        sums.append(f"ρ = {_rest(budget.most_rho, totals.rho)}")
    said = " or ".join(sums)
    if budget.delta_of_entries:
        said += f", and δ = {_rest(budget.delta_of_entries, totals.delta)} for the releases' own δ"
    return said


def left_shares(budget: Budget, totals: Totals) -> dict[str, float]:
    """Return what is left of each sum of a budget, from 0 to 1; by the symbol of the sum.

    The sum of epsilons is left out where an entry states none: it decides nothing then.
    """
    shares = {}
    if budget.epsilon is not None and not totals.mixed:
        shares["ε"] = _share(totals.epsilon, budget.epsilon)
    if budget.most_rho:
        shares["ρ"] = _share(totals.rho, budget.most_rho)
    if budget.delta_of_entries:
        shares["δ"] = _share(totals.delta, budget.delta_of_entries)
    return shares


def largest_text(budget: Budget, totals: Totals) -> str:
    """Return the largest epsilon of one more pure release, rounded down; "0" for none."""
    return readable_down(budget.largest_epsilon(totals))


def state_text(payment: Payment) -> str:
    """Say what became of a payment; empty if the release was made."""
    if payment.is_stream and payment.state == "charged":
        return "stream"
    return _STATES.get(payment.state, payment.state)


def words(text: str) -> str:
    """Return words of a user, which nothing but a ledger's writer has checked."""
    return harmless(text, _LONGEST) if text else ""


def date_of(time: str) -> str:
    """Return the day of an entry's time.

    >>> date_of("2026-11-03T09:12:55.120+00:00")
    '2026-11-03'
    """
    return words(time[:10])


def _rest(total: Fraction, spent: Fraction) -> str:
    return readable_down(max(total - spent, Fraction(0)))


def _share(spent: Fraction, total: Fraction) -> float:
    return float(max(1 - spent / total, Fraction(0)))
