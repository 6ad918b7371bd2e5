"""Numbers of a plan as text: rounded to the side that promises less."""

from fractions import Fraction
from typing import Any

from dphist.document.guarantee_words import plural_of
from dphist.planning.columns import COLUMNS
from dphist.planning.plan import Plan
from dphist.privacy.as_text import plain, short_exact, up
from dphist.privacy.rounding import readable

_SHARES = ("share_of_users", "relative_error")
_BOUNDS = ("max_labels", "max_count", "sensitivity", "max_events", "delta")
_SETTINGS = (*_BOUNDS, "noise", "correlated", "total_given")
MEASURED = ("appears_from", "prefix_error", "range_error", "profile_error", "half_width")
"""The error that a chart shows, of each kind."""


def cell(name: str, value: Any) -> str:
    """Write a value of a column.

    >>> cell("epsilon", Fraction(1, 2)), cell("range_error", 1234.5), cell("share_of_users", 0.0123)
    ('0.5', '1,300', '1.3 %')
    """
    if value is None:
        return "any"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if isinstance(value, Fraction):
        return short_exact(value) if name == "epsilon" else readable(value)
    if name in _SHARES:
        return f"{plain(up(100 * Fraction(value), 2))} %"
    if isinstance(value, float):
        return plain(up(value, 2))
    return f"{value:,}"


def fixed(plan: Plan) -> list[tuple[str, str]]:
    """Return what all settings share: heading and value."""
    return [
        (title(plan, name), cell(name, plan.column(name)[0]))
        for name in plan.columns
        if _is_fixed(plan, name)
    ]


def shown(plan: Plan) -> list[str]:
    """Return the columns that a table shows: epsilon first, then what varies, then the worth."""
    varied = [name for name in plan.columns if not _is_fixed(plan, name)]
    order = ["epsilon", "guessed_right"]
    return order + [name for name in varied if name not in order]


def table_of(plan: Plan) -> list[list[str]]:
    """Return the cells of the columns that are shown, row by row."""
    return [[cell(name, row[name]) for name in shown(plan)] for row in plan]


def title(plan: Plan, name: str) -> str:
    """Return the heading of a column."""
    return COLUMNS[name].title.format(many=many(plan))


def meaning(plan: Plan, name: str) -> str:
    """Say what a column holds."""
    return COLUMNS[name].meaning.format(
        one=plan.unit.name, many=many(plan), sums=plan.asked.get("sums_of")
    )


def many(plan: Plan) -> str:
    """Name several of what is protected."""
    return plural_of(plan.unit)


def measured(plan: Plan) -> str:
    """Return the column of the error that a chart shows; of listed labels, that of a count."""
    return next(name for name in MEASURED if name in plan.columns)


def groups(plan: Plan) -> dict[str, list[tuple[Fraction, float]]]:
    """Return the error by epsilon, a line for each combination of the other settings."""
    varied = [name for name in _BOUNDS if name in shown(plan)]
    lines: dict[str, list[tuple[Fraction, float]]] = {}
    for row in plan:
        kept = " kept" if len(varied) == 1 else ""  # a legend has little room
        named = [_named(name, row[name], kept) for name in varied]
        line = lines.setdefault(", ".join(named), [])
        line.append((row["epsilon"], float(row[measured(plan)])))
    return {name: sorted(line) for name, line in lines.items()}


_KEPT = {"max_labels": "label", "max_count": "of a label", "sensitivity": "record",
         "max_events": "event"}  # fmt: skip


def _named(name: str, value: Any, kept: str) -> str:
    """Name a bound, for a legend.

    >>> _named("max_labels", 1, " kept"), _named("delta", Fraction(1, 10**6), " kept")
    ('1 label kept', 'δ = 1e-6')
    """
    if name == "delta":
        return f"δ = {cell(name, value)}"
    one = _KEPT[name]
    many = one if value == 1 or name == "max_count" else f"{one}s"
    return f"{cell(name, value)} {many}{kept}"


def _is_fixed(plan: Plan, name: str) -> bool:
    return name in _SETTINGS and len(set(plan.column(name))) == 1
