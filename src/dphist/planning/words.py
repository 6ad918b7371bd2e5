"""What a plan says: numbers as text, rounded to the side that promises less, sentences, charts."""

import math
from collections.abc import Sequence
from fractions import Fraction
from inspect import signature
from typing import Any

import numpy as np

from dphist.document.blocks import PlusMinus
from dphist.document.chart import Axis, Chart, Line
from dphist.document.planning import DELTA_TIMES_USERS, Column, Row
from dphist.document.unit_words import find_plural
from dphist.planning.declared import EPSILON, GUESSED_RIGHT, find_columns, find_planning
from dphist.planning.plan import Plan
from dphist.privacy.as_text import plain, short_exact, up
from dphist.privacy.delta_worth import MENTIONED, suggest_delta
from dphist.privacy.rounding import readable

_MOST_LINES = 6
_MOST_TICKS = 7
_ROOM = 1.6  # around the errors: in so wide an axis at least one place is marked


def error_chart(plan: Plan) -> Chart:
    """Declare the chart of the error by epsilon, a line for each combination of bounds."""
    column, found = find_error_column(plan), groups(plan)
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


def guesses(plan: Plan) -> list[str]:
    """Say what the plan was computed for.

    >>> from dphist.planning.make import plan
    >>> guesses(plan("labels", epsilon=1, max_labels=3, users=9000, unit="one patient"))
    ['9,000 patients']
    """
    return [
        f"{_number(plan.asked[name])} {text.format(many=many(plan))}"
        for name, text in find_planning(plan.kind).guesses.items()
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
        f"should be at most 0.01, as with {_exact(suggest_delta(users))}. With probability δ a "
        "release may show something that ε does not cover."
        for delta in large
    ]


CONDITION = (
    "Each of the 100 knows all other data and thinks both cases equally likely beforehand, so 50 "
    "of them guess right without the release."
)


def choose_example(plan: Plan) -> Row:
    """Return a setting to show as a command: the middle one of those with an ε nearest to 1."""

    def far(row: Row) -> float:
        epsilon: Fraction = row["epsilon"]
        return abs(math.log(epsilon.numerator) - math.log(epsilon.denominator))

    nearest = min(map(far, plan))
    near = [row for row in plan if far(row) == nearest]
    return near[len(near) // 2]


def format_command(plan: Plan, row: Row) -> str | None:
    """Return the command of a setting, to be completed; None if its kind has none."""
    typed = find_planning(plan.kind).command
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


def cell(column: Column, value: Any) -> str:
    """Write a value of a column.

    >>> from dphist.planning.declared import DELTA
    >>> cell(EPSILON, Fraction(1, 2)), cell(DELTA, Fraction(1, 10**6)), cell(GUESSED_RIGHT, 74)
    ('0.5', '1e-6', '74')
    """
    if value is None:
        return column.not_given
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if isinstance(value, Fraction):
        return short_exact(value) if column is EPSILON else readable(value)
    if column.share:
        return f"{plain(up(100 * Fraction(value), 2))} %"
    if column.half:
        return PlusMinus(value).number
    if isinstance(value, float):
        return plain(up(value, 2))
    return f"{value:,}"


def columns(plan: Plan) -> list[Column]:
    """Return the columns of a plan, as its kind describes them."""
    known = find_columns(plan.kind)
    return [known[name] for name in plan.columns]


def list_fixed(plan: Plan) -> list[tuple[str, str]]:
    """Return what all settings share: heading and value."""
    return [
        (title(plan, column), cell(column, plan.column(column.name)[0]))
        for column in columns(plan)
        if _is_fixed(plan, column)
    ]


def list_shown(plan: Plan) -> list[Column]:
    """Return the columns that a table shows: epsilon first, then what varies, then the worth."""
    varied = [column for column in columns(plan) if not _is_fixed(plan, column)]
    order = [EPSILON, GUESSED_RIGHT]
    return order + [column for column in varied if column not in order]


def list_cells(plan: Plan) -> list[list[str]]:
    """Return the cells of the columns that are shown, row by row."""
    described = list_shown(plan)
    return [[cell(column, row[column.name]) for column in described] for row in plan]


def title(plan: Plan, column: Column) -> str:
    """Return the heading of a column."""
    return column.title.format(many=many(plan))


def meaning(plan: Plan, column: Column) -> str:
    """Say what a column holds."""
    asked = dict.fromkeys(signature(find_planning(plan.kind).settings).parameters) | {**plan.asked}
    return column.meaning.format(**asked | {"one": plan.unit.name, "many": many(plan)})


def many(plan: Plan) -> str:
    """Name several of what is protected."""
    return find_plural(plan.unit)


def find_error_column(plan: Plan) -> Column:
    """Return the column of the error that a chart shows; of listed labels, that of a count."""
    return next(column for column in columns(plan) if column.chart)


def groups(plan: Plan) -> dict[str, list[tuple[Fraction, float]]]:
    """Return the error by epsilon, a line for each combination of the other settings."""
    varied = [column for column in list_shown(plan) if column.role == "bound"]
    error = find_error_column(plan).name
    lines: dict[str, list[tuple[Fraction, float]]] = {}
    for row in plan:
        kept = " kept" if len(varied) == 1 else ""  # a legend has little room
        named = [_name_bound(column, row[column.name], kept) for column in varied]
        line = lines.setdefault(", ".join(named), [])
        line.append((row["epsilon"], float(row[error])))
    return {name: sorted(line) for name, line in lines.items()}


def _name_bound(column: Column, value: Any, kept: str) -> str:
    """Name a bound, for a legend.

    >>> from dphist.document.planning import MAX_LABELS
    >>> from dphist.planning.declared import DELTA
    >>> _name_bound(MAX_LABELS, 1, " kept"), _name_bound(DELTA, Fraction(1, 10**6), " kept")
    ('1 label kept', 'δ = 1e-6')
    """
    if column.counted is None:
        return f"{column.title} = {cell(column, value)}"
    return f"{cell(column, value)} {column.counted[value != 1]}{kept}"


def _is_fixed(plan: Plan, column: Column) -> bool:
    return column.role != "worth" and len(set(plan.column(column.name))) == 1
