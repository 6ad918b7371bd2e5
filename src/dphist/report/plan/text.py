"""A plan as text for a terminal, and as a CSV table."""

import csv
import io
from fractions import Fraction
from typing import Any

from dphist.parameters import decimal_text
from dphist.planning.plan import Plan
from dphist.render.text_table import beside, left, right
from dphist.report.plan.cells import shown, table_of, title
from dphist.report.plan.words import (
    CONDITION,
    command_of,
    example_of,
    head,
    limit_of,
    notes,
    warnings,
)


def plan_text(plan: Plan) -> str:
    """Return the plan for a terminal."""
    columns = zip(*table_of(plan), strict=True)
    padded = [
        (left if name == "noise" else right)([title(plan, name), *cells])
        for name, cells in zip(shown(plan), columns, strict=True)
    ]
    lines = [*head(plan), *warnings(plan), "", *beside(*padded, gap="  ", width=None), ""]
    lines += [f"{title(plan, name)}: {meaning}" for name, meaning in notes(plan)]
    lines += [CONDITION, limit_of(plan)]
    lines += ["", "One setting as a command; put in your own file and columns:"]
    lines += [f"  {command_of(plan, example_of(plan))}"]
    if plan.criteria:
        lines += ["", "Acceptance criteria, to be checked with 'dphist check RELEASE --plan PLAN':"]
        lines += [f"  {each.text}" for each in plan.criteria]
    return "\n".join(lines)


def plan_csv(plan: Plan) -> str:
    """Return all columns as CSV, epsilon and delta exactly."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(plan.columns)
    writer.writerows([_exact(value) for value in row] for row in plan.rows)
    return text.getvalue()


def _exact(value: Any) -> Any:
    if value is None:
        return ""
    return decimal_text(value, 150) if isinstance(value, Fraction) else value
