"""Numbers of a plan as text: rounded to the side that promises less."""

from fractions import Fraction
from inspect import signature
from typing import Any

from dphist.document.guarantee_words import plural_of
from dphist.document.planning import Column
from dphist.planning.declared import EPSILON, GUESSED_RIGHT, columns_of, planning_of
from dphist.planning.plan import Plan
from dphist.privacy.as_text import plain, short_exact, up
from dphist.privacy.rounding import readable


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
    if isinstance(value, float):
        return plain(up(value, 2))
    return f"{value:,}"


def columns(plan: Plan) -> list[Column]:
    """Return the columns of a plan, as its kind describes them."""
    known = columns_of(plan.kind)
    return [known[name] for name in plan.columns]


def fixed(plan: Plan) -> list[tuple[str, str]]:
    """Return what all settings share: heading and value."""
    return [
        (title(plan, column), cell(column, plan.column(column.name)[0]))
        for column in columns(plan)
        if _is_fixed(plan, column)
    ]


def shown(plan: Plan) -> list[Column]:
    """Return the columns that a table shows: epsilon first, then what varies, then the worth."""
    varied = [column for column in columns(plan) if not _is_fixed(plan, column)]
    order = [EPSILON, GUESSED_RIGHT]
    return order + [column for column in varied if column not in order]


def table_of(plan: Plan) -> list[list[str]]:
    """Return the cells of the columns that are shown, row by row."""
    described = shown(plan)
    return [[cell(column, row[column.name]) for column in described] for row in plan]


def title(plan: Plan, column: Column) -> str:
    """Return the heading of a column."""
    return column.title.format(many=many(plan))


def meaning(plan: Plan, column: Column) -> str:
    """Say what a column holds."""
    asked = dict.fromkeys(signature(planning_of(plan.kind).settings).parameters) | {**plan.asked}
    return column.meaning.format(**asked | {"one": plan.unit.name, "many": many(plan)})


def many(plan: Plan) -> str:
    """Name several of what is protected."""
    return plural_of(plan.unit)


def measured(plan: Plan) -> Column:
    """Return the column of the error that a chart shows; of listed labels, that of a count."""
    return next(column for column in columns(plan) if column.chart)


def groups(plan: Plan) -> dict[str, list[tuple[Fraction, float]]]:
    """Return the error by epsilon, a line for each combination of the other settings."""
    varied = [column for column in shown(plan) if column.role == "bound"]
    error = measured(plan).name
    lines: dict[str, list[tuple[Fraction, float]]] = {}
    for row in plan:
        kept = " kept" if len(varied) == 1 else ""  # a legend has little room
        named = [_named(column, row[column.name], kept) for column in varied]
        line = lines.setdefault(", ".join(named), [])
        line.append((row["epsilon"], float(row[error])))
    return {name: sorted(line) for name, line in lines.items()}


def _named(column: Column, value: Any, kept: str) -> str:
    """Name a bound, for a legend.

    >>> from dphist.document.plan_parts import MAX_LABELS
    >>> from dphist.planning.declared import DELTA
    >>> _named(MAX_LABELS, 1, " kept"), _named(DELTA, Fraction(1, 10**6), " kept")
    ('1 label kept', 'δ = 1e-6')
    """
    if column.counted is None:
        return f"{column.title} = {cell(column, value)}"
    return f"{cell(column, value)} {column.counted[value != 1]}{kept}"


def _is_fixed(plan: Plan, column: Column) -> bool:
    return column.role != "worth" and len(set(plan.column(column.name))) == 1
