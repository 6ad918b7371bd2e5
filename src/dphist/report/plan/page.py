"""The page of a plan: one HTML file that opens anywhere, without a network and without scripts."""

from dphist.planning.plan import Plan
from dphist.report.html import template_of
from dphist.report.page import Figure
from dphist.report.plan import words
from dphist.report.plan.cells import cell, fixed, groups, meaning, measured, shown, table_of, title
from dphist.report.plan.chart import MOST_LINES, error_chart, odds_chart
from dphist.report.svg import figure

_MOST_ROWS = 200


def plan_html(plan: Plan) -> str:
    """Return the page as the text of an HTML file."""
    table = table_of(plan)
    return template_of("dphist.report.plan").render(
        title=words.TITLES[plan.kind],
        unit=str(plan.unit),
        guesses=words.guesses(plan),
        settings=len(plan),
        fixed=fixed(plan),
        odds=words.odds(plan),
        warnings=words.warnings(plan),
        condition=words.CONDITION,
        figures=_figures(plan),
        headings=[title(plan, name) for name in shown(plan)],
        rows=table[:_MOST_ROWS],
        left_out=max(len(table) - _MOST_ROWS, 0),
        meanings=[(title(plan, name), meaning(plan, name)) for name in shown(plan)],
        limit=words.limit_of(plan).partition(". "),
        criteria=[each.text for each in plan.criteria],
        command=words.command_of(plan, words.example_of(plan)),
        version=plan.version,
        digest=plan.digest,
    )


def _figures(plan: Plan) -> list[Figure]:
    name = measured(plan)
    said = f"{title(plan, name)}: {meaning(plan, name)} Both axes are logarithmic."
    more = len(groups(plan)) - MOST_LINES
    if more > 0:
        said += f" The first {MOST_LINES} combinations; {more:,} more are in the table."
    smallest, largest = min(plan.column("guessed_right")), max(plan.column("guessed_right"))
    guess = (
        f"From {smallest} at ε = {cell('epsilon', min(plan.column('epsilon')))} to {largest} at "
        f"ε = {cell('epsilon', max(plan.column('epsilon')))}; 50 is what guessing gives without "
        "the release."
    )
    return [figure(odds_chart(plan), "odds", guess), figure(error_chart(plan), "error", said)]
