"""What was left of an account after each entry, as a chart."""

from dataclasses import replace
from fractions import Fraction

import numpy as np

from dphist.document.chart import Axis, Chart, Line, LineStyle
from dphist.ledger.amounts import Totals
from dphist.ledger.history import AccountHistory, Step
from dphist.ledger.words import list_sums

_MOST = 300  # points of a line; of more, each stands for several
_SUMS: dict[str, tuple[str, LineStyle]] = {
    "ε": ("Sum of ε", "solid"),
    "ρ": ("Sum of ρ", "dashed"),
    "δ": ("Own δ", "dotted"),
}
_SHOWS = "How much of the account is left after each entry, in percent."
_EITHER = "A new release must fit by the sum of ε, or by the sum of ρ; either is enough."

Points = list[tuple[int, float]]


def draw_chart(history: AccountHistory, last: int, name: str) -> Chart:
    """Declare the chart of an account: each sum of its budget falls from 100 % to 0.

    Parameters
    ----------
    last : number of the last entry of the ledger.
    name : one word, different for each account.
    """
    found, start = make_lines(history), _find_start(history).entry
    end = max(points[-1][0] for points in found.values())
    lines = []
    for symbol, points in found.items():
        # A line that goes on reaches the end of the chart; a void one stops at its last entry.
        points = [*points, (last, points[-1][1])] if points[-1][0] == end else points
        corners = np.repeat(np.array(points, np.float64), 2, axis=0)
        x, y = corners[1:, 0], corners[:-1, 1]  # a step at each entry
        lines.append(Line(_SUMS[symbol][0], x, y, _SUMS[symbol][1]))
    return Chart(
        name,
        "What is left",
        " ".join([_SHOWS, *_rules(history)]),
        Axis("Entry", start, max(last, start + 1) + 0.02 * (last - start), whole=True),
        Axis("Left (%)", 0, 104),
        lines=lines,
    )


def make_lines(history: AccountHistory) -> dict[str, Points]:
    """Return for each sum what is left after each entry, in percent; it ends where it is void."""
    lines: dict[str, Points] = {}
    steps = [each for each in history.steps if history.is_current(each.time)]
    for step in [_find_start(history), *_thin(steps)]:
        for name, (most, spent) in list_sums(history.account.budget, step.totals).items():
            left = float(max(1 - spent / most, Fraction(0)))
            lines.setdefault(name, []).append((step.entry, 100 * left))
    return lines


def _find_start(history: AccountHistory) -> Step:
    """Return what a chart begins with: the whole budget, when it was opened or renewed."""
    before = [each for each in history.steps if not history.is_current(each.time)]
    last = before[-1] if before else Step(history.opened, history.opened_at, Totals())
    return replace(last, totals=Totals())


def _thin(steps: list[Step]) -> list[Step]:
    """Return some steps, the last among them."""
    every = -(-len(steps) // _MOST) or 1
    return steps[(len(steps) - 1) % every :: every]


def _rules(history: AccountHistory) -> list[str]:
    """Say by which sums a release must fit."""
    budget, said = history.account.budget, []
    if budget.epsilon is not None and budget.most_rho:
        said.append(_EITHER)
        if history.totals.mixed:
            said.append("The line of ε ends where a release states no ε.")
    if history.period:
        said.append(f"Shown is the budget of {history.period}; it is renewed each month (UTC).")
    if budget.delta_of_entries:
        said.append("The releases' own δ must fit as well.")
    return said
