"""Costs and what is left, as pages and tables show them: costs rounded up, the rest down."""

from collections.abc import Sequence
from fractions import Fraction

from dphist.ledger.amounts import Cost, Totals
from dphist.ledger.budget import Budget
from dphist.ledger.charging import readable_down
from dphist.privacy.as_text import plain, up
from dphist.privacy.rounding import readable

_LONGEST = 10


def short(number: Fraction) -> str:
    """Format what was spent: exactly if that is short, else six digits, rounded up.

    >>> short(Fraction(1, 3)), short(Fraction(1, 10**7)), short(Fraction(2**40, 3**26))
    ('1/3', '1e-7', '0.432561')
    """
    text = readable(number)
    return text if len(text) <= _LONGEST else plain(up(number))


def cost_parts(cost: Cost) -> list[str]:
    """Return a cost by its numbers: epsilon if the entry states one, else rho; then delta.

    >>> cost_parts(Cost(None, Fraction(1, 10), Fraction(1, 10**7)))
    ['ρ = 0.1', 'δ = 1e-7']
    """
    first = f"ρ = {short(cost.rho)}"
    if cost.epsilon is not None:
        first = f"ε = {short(cost.epsilon)}"
    return [first, *([f"δ = {short(cost.delta)}"] if cost.delta else [])]


def plain_text(parts: Sequence[str]) -> str:
    """Return numbers as a terminal shows them.

    >>> plain_text(["ε = 1", "δ = 1e-6"])
    'epsilon=1, delta=1e-6'
    """
    names = {"ε": "epsilon", "ρ": "rho", "δ": "delta"}
    pairs = (part.split(" = ") for part in parts)
    return ", ".join(f"{names[name]}={number}" for name, number in pairs)


def spent_parts(totals: Totals, budget: Budget) -> list[str]:
    """Return sums in the terms of a budget."""
    parts = []
    if budget.epsilon is not None and not totals.mixed:
        parts.append(f"ε = {short(totals.epsilon)}")
    if budget.most_rho:
        parts.append(f"ρ = {short(totals.rho)}")
    if totals.delta:
        parts.append(f"δ = {short(totals.delta)}")
    return parts


def budget_parts(budget: Budget) -> list[str]:
    """Return a budget by its numbers."""
    named = (("ε", budget.epsilon), ("ρ", budget.rho), ("δ", budget.delta or None))
    return [f"{name} = {readable(number)}" for name, number in named if number is not None]


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


def _share(spent: Fraction, total: Fraction) -> float:
    return float(max(1 - spent / total, Fraction(0)))
