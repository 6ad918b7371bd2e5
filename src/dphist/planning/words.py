"""What a plan says, in sentences."""

import math
from fractions import Fraction
from typing import Any

from dphist.document.plan_parts import DELTA_TIMES_USERS
from dphist.document.planning import Row
from dphist.planning.cells import many
from dphist.planning.declared import planning_of
from dphist.planning.plan import Plan
from dphist.privacy.as_text import short_exact
from dphist.privacy.delta_worth import MENTIONED, advised_delta
from dphist.privacy.rounding import readable


def guesses(plan: Plan) -> list[str]:
    """Say what the plan was computed for.

    >>> from dphist.planning.make import plan
    >>> guesses(plan("labels", epsilon=1, max_labels=3, users=9000, unit="one patient"))
    ['9,000 patients']
    """
    return [
        f"{_number(plan.asked[name])} {text.format(many=many(plan))}"
        for name, text in planning_of(plan.kind).guesses.items()
        if plan.asked.get(name) is not None
    ]


def odds(plan: Plan) -> str:
    """Say in words what each epsilon means.

    >>> from dphist.planning.make import plan
    >>> odds(plan("anonymized", epsilon=["0.1", 1], total=100))
    ... # doctest: +NORMALIZE_WHITESPACE
    'Of 100 people who look at the release, at most this many guess right, on average, whether one
    record is in it: 53 at ε = 0.1, 74 at ε = 1.'
    """
    found = dict(zip(plan.column("epsilon"), plan.column("guessed_right"), strict=True))
    each = [f"{right} at ε = {short_exact(epsilon)}" for epsilon, right in sorted(found.items())]
    return (
        "Of 100 people who look at the release, at most this many guess right, on average, "
        f"whether {plan.unit} is in it: {', '.join(each)}."
    )


def warnings(plan: Plan) -> list[str]:
    """Name the deltas that are too large for the guessed number of users.

    >>> from dphist.planning.make import plan
    >>> warnings(plan("labels", epsilon=1, max_labels=3, users=50_000, delta=["1e-4", "1e-7"]))
    ... # doctest: +NORMALIZE_WHITESPACE
    ['δ = 1e-4 is too large for 50,000 users: times their number it should be at most 0.01, as with
    2e-7. With probability δ a release may show something that ε does not cover.']
    """
    users = plan.asked.get("users")
    if users is None or DELTA_TIMES_USERS.name not in plan.columns:
        return []
    large = sorted({row["delta"] for row in plan if row[DELTA_TIMES_USERS.name] > MENTIONED})
    return [
        f"δ = {_exact(delta)} is too large for {users:,} {many(plan)}: times their number it "
        f"should be at most 0.01, as with {_exact(advised_delta(users))}. With probability δ a "
        "release may show something that ε does not cover."
        for delta in large
    ]


CONDITION = (
    "Each of the 100 knows all other data and thinks both cases equally likely beforehand, so 50 "
    "of them guess right without the release."
)


def example_of(plan: Plan) -> Row:
    """Return a setting to show as a command: the middle one of those with an ε nearest to 1."""

    def far(row: Row) -> float:
        epsilon: Fraction = row["epsilon"]
        return abs(math.log(epsilon.numerator) - math.log(epsilon.denominator))

    nearest = min(map(far, plan))
    near = [row for row in plan if far(row) == nearest]
    return near[len(near) // 2]


def command_of(plan: Plan, row: Row) -> str | None:
    """Return the command of a setting, to be completed; None if its kind has none."""
    typed = planning_of(plan.kind).command
    if typed is None:
        return None
    command, *options = typed(plan.asked, row, plan.unit)
    cost = [f"--epsilon {short_exact(row['epsilon'])}"]
    if row.get("delta"):
        cost.append(f"--delta {_exact(row['delta'])}")
    written = "--output release.json --report page.html"
    return " ".join([command, *cost, *options, written])


def _exact(number: Fraction) -> str:
    """Write a delta as a table does where that is exact: 2e-6."""
    short = readable(number)
    return short if Fraction(short) == number else short_exact(number)


def _number(value: Any) -> str:
    if isinstance(value, list):
        return " by ".join(_number(each) for each in value)
    return f"{value:,}" if isinstance(value, int) else str(value)
