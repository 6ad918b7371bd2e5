"""Costs and what is left, as pages and tables show them: costs rounded up, the rest down."""

from fractions import Fraction

from dphist.ledger.amounts import Cost, Totals
from dphist.ledger.budget import Budget
from dphist.ledger.charging import readable_down
from dphist.privacy.rounding import readable


def cost_parts(cost: Cost) -> list[str]:
    """Return a cost by its numbers: epsilon if the entry states one, else rho; then delta.

    >>> cost_parts(Cost(None, Fraction(1, 10), Fraction(1, 10**7)))
    ['ρ = 0.1', 'δ = 1e-7']
    """
    first = f"ρ = {readable(cost.rho)}"
    if cost.epsilon is not None:
        first = f"ε = {readable(cost.epsilon)}"
    return [first, *([f"δ = {readable(cost.delta)}"] if cost.delta else [])]


def spent_parts(totals: Totals, budget: Budget) -> list[str]:
    """Return sums in the terms of a budget."""
    parts = []
    if budget.epsilon is not None and not totals.mixed:
        parts.append(f"ε = {readable(totals.epsilon)}")
    if budget.most_rho:
        parts.append(f"ρ = {readable(totals.rho)}")
    if totals.delta:
        parts.append(f"δ = {readable(totals.delta)}")
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
