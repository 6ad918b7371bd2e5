"""What each epsilon gives, as charts."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from dphist.document.chart import Axis, Chart, Line
from dphist.planning.cells import groups, meaning, measured, title
from dphist.planning.declared import GUESSED_RIGHT
from dphist.planning.plan import Plan
from dphist.privacy.as_text import short_exact

_MOST_LINES = 6
_MOST_TICKS = 7
_ROOM = 1.6  # around the errors: in so wide an axis at least one place is marked


def error_chart(plan: Plan) -> Chart:
    """Declare the chart of the error by epsilon, a line for each combination of bounds."""
    column, found = measured(plan), groups(plan)
    drawn = dict(list(found.items())[:_MOST_LINES])
    errors = [error for line in drawn.values() for _, error in line]
    said = f"{title(plan, column)}: {meaning(plan, column)}"
    y = Axis("Records", 0, 1.1 * max(errors) or 1)
    if min(errors) > 0:
        said += " Both axes are logarithmic."
        y = Axis("Records", min(errors) / _ROOM, max(errors) * _ROOM, log=True)
    if len(found) > _MOST_LINES:
        more = len(found) - _MOST_LINES
        said += f" The first {_MOST_LINES} combinations; {more:,} more are in the table."
    return Chart(
        "error",
        column.chart,
        said,
        _epsilon_axis([epsilon for line in drawn.values() for epsilon, _ in line]),
        y,
        lines=[
            Line(
                each,
                np.array([float(e) for e, _ in line]),
                np.array([n for _, n in line]),
                "marked",
            )
            for each, line in drawn.items()
        ],
    )


def odds_chart(plan: Plan) -> Chart:
    """Declare the chart of how many of 100 guess right, by epsilon."""
    found = dict(zip(plan.column("epsilon"), plan.column("guessed_right"), strict=True))
    epsilons = sorted(found)
    axis = _epsilon_axis(epsilons)
    first, last = (
        f"{found[each]} at ε = {short_exact(each)}" for each in (epsilons[0], epsilons[-1])
    )
    return Chart(
        "odds",
        f"{GUESSED_RIGHT.title}, of 100",
        f"From {first} to {last}; 50 is what guessing gives without the release.",
        axis,
        Axis("People", 45, 104),
        lines=[
            Line(
                "with the release, at most",
                np.array([float(each) for each in epsilons]),
                np.array([found[each] for each in epsilons]),
                "marked",
            ),
            Line("without it", np.array([axis.low, axis.high]), np.array([50, 50]), "dashed"),
        ],
    )


def _epsilon_axis(epsilons: Sequence[Fraction]) -> Axis:
    """Return a logarithmic axis that marks the epsilons of the plan, as many as have room."""
    held = sorted(set(epsilons))
    ticks = [(float(each), short_exact(each)) for each in held[:: -(-len(held) // _MOST_TICKS)]]
    return Axis("ε", float(held[0]) / 1.25, float(held[-1]) * 1.25, log=True, ticks=ticks)
