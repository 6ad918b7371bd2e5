"""A plan as a document: what each setting would cost and be worth, before any data are read."""

import csv
import io
from fractions import Fraction
from typing import Any

from dphist.document.blocks import (
    BRIEF,
    HEADED,
    ON_CARD,
    ON_PAGE,
    Block,
    Column,
    Document,
    Fact,
    Figures,
    Note,
    Section,
    Surfaces,
    Table,
)
from dphist.parameters import decimal_text
from dphist.planning.declared import find_planning
from dphist.planning.plan import Plan
from dphist.planning.words import (
    CONDITION,
    choose_example,
    error_chart,
    format_command,
    guesses,
    list_cells,
    list_fixed,
    list_shown,
    meaning,
    odds,
    odds_chart,
    title,
    warnings,
)
from dphist.sentence import Quoted, Sentence
from dphist.visible import harmless

_MOST_ROWS = 200
_LEAD = (
    "What each ε would give, before any data are read. Every number is computed from public ones "
    "alone."
)
_COMMAND = Note(
    "One setting of the table as a command; put in your own file and columns:", on=HEADED
)
_CRITERIA = (
    "The acceptance criteria are written down before data are read. The command dphist check "
    "RELEASE --plan PLAN says which hold, from known noise and released values alone."
)


def make_document(plan: Plan) -> Document:
    """Return what is to be said of a plan."""
    return Document(
        kind="plan",
        title=find_planning(plan.kind).title,
        made="planned before any data are read",
        version=harmless(plan.version, 40),
        slots={},
        headline="privacy plan",
        lead=_LEAD,
        warnings=warnings(plan),
        glance=[Section("planned", "", _at_a_glance(plan))],
        sections=[
            Section("charts", "Privacy against error", _weigh_error(plan), wide=True),
            Section("settings", "All settings", _settings(plan), wide=True),
            Section("criteria", "Acceptance criteria", _criteria(plan)),
            Section("limits", "What a plan does not say", _limits(plan)),
        ],
        about="Plan",
        kicker="Privacy plan",
        closing="No data were read. Errors and odds are rounded up. The plan's checksum is "
        f"{plan.digest}.",
    )


def table_csv(plan: Plan) -> str:
    """Return all columns as CSV, epsilon and delta exactly."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(plan.columns)
    writer.writerows([_exact(value) for value in row] for row in plan.rows)
    return text.getvalue()


def _at_a_glance(plan: Plan) -> list[Fact]:
    """Return what is planned, for whom and for how many."""
    same = ", ".join(f"{name}: {value}" for name, value in list_fixed(plan))
    settings = f"{len(plan):,} setting{'s'[: len(plan) != 1]}"
    facts = [
        Fact(
            "Protected",
            Sentence("{unit}", unit=Quoted(str(plan.unit))),
            note="with all that is counted of it, up to the bounds below",
        ),
        Fact(
            "Compared",
            settings,
            note=f"{'all ' * (len(plan) != 1)}with {same}" if same else "in the table below",
        ),
    ]
    planned_for = guesses(plan)
    if planned_for:
        note = "public numbers, guessed or listed, not taken from the data"
        facts.insert(1, Fact("Planned for", ", ".join(planned_for), note=note))
    if plan.description is not None:
        shown = harmless(plan.description, 100)
        facts.append(Fact("Data set", f"described in a file with the digest {shown}", on=HEADED))
    return facts


def _weigh_error(plan: Plan) -> list[Block]:
    error = error_chart(plan)
    return [
        Figures([odds_chart(plan), error], on=ON_PAGE),
        Figures([error], on=ON_CARD),
        Note(odds(plan), on=ON_PAGE),
        Note(CONDITION, "aside"),
        Note("No data were read.", on=ON_CARD),
    ]


def _settings(plan: Plan) -> list[Block]:
    """Return the table, and what its columns mean."""
    blocks: list[Block] = [
        _table(plan, len(plan), BRIEF),
        _table(plan, _MOST_ROWS, ON_PAGE),
    ]
    left_out = len(plan) - _MOST_ROWS
    if left_out > 0:
        more = f"{left_out:,} more settings are in the table that --table writes."
        blocks.append(Note(more, "aside", on=ON_PAGE))
    return [*blocks, *(Fact(title(plan, each), meaning(plan, each)) for each in list_shown(plan))]


def _table(plan: Plan, most: int, on: Surfaces) -> Table:
    cells = zip(*list_cells(plan)[:most], strict=True)
    columns = [
        Column(title(plan, column), texts, digits=column.holds not in (str, bool))
        for column, texts in zip(list_shown(plan), cells, strict=True)
    ]
    return Table(columns, ("All settings", "All settings", ""), on=on, whole=True)


def _criteria(plan: Plan) -> list[Block]:
    if not plan.criteria:
        return []
    return [
        Note(_CRITERIA, on=HEADED),
        *(Fact("Criterion", Sentence("{text}", text=Quoted(each.text))) for each in plan.criteria),
    ]


def _limits(plan: Plan) -> list[Block]:
    limit = find_planning(plan.kind).limit
    command = format_command(plan, choose_example(plan))
    return [
        *([] if limit is None else [Fact(*limit(plan.asked))]),
        Fact(
            "Other releases",
            "Releases of the same data add up: each further one costs ε again.",
            on=ON_PAGE,
        ),
        Fact(
            "Guesses",
            "Numbers that were taken from the data make the plan, and whatever is chosen by it, "
            "reveal something about them. Take them from public sources.",
            on=ON_PAGE,
        ),
        *([] if command is None else [_COMMAND, Note(command, "code", on=HEADED)]),
    ]


def _exact(value: Any) -> Any:
    if value is None:
        return ""
    return decimal_text(value, 150) if isinstance(value, Fraction) else value
