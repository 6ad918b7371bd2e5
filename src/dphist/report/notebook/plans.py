"""The card of a plan: what each setting would cost and be worth."""

from dphist.planning.plan import Plan
from dphist.render.card import HEAD, Card, Prose, Table, drawn
from dphist.report.plan.cells import fixed, meaning, measured, shown, table_of, title
from dphist.report.plan.chart import error_chart
from dphist.report.plan.words import CONDITION, TITLES, guesses, limit_of, warnings


def card_of_plan(plan: Plan) -> Card:
    """Return the card of a plan: its settings, the head of its table, and the error by epsilon."""
    names = shown(plan)
    rows = [[Prose(cell) for cell in row] for row in table_of(plan)[:HEAD]]
    facts = [("Protects", str(plan.unit)), *fixed(plan), ("Settings", f"{len(plan):,}")]
    facts += [("Guess", guess) for guess in guesses(plan)]
    notes = [f"{title(plan, name)}: {meaning(plan, name)}" for name in names[1:]]
    notes += [*warnings(plan), CONDITION, limit_of(plan), "No data were read."]
    table = Table([title(plan, name) for name in names], rows, len(plan))
    error = drawn(error_chart(plan), f"{title(plan, measured(plan))} by epsilon.")
    return Card(f"Plan: {TITLES[plan.kind]}", facts, notes, tables=[table], figure=error)
