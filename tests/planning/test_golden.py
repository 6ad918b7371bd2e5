"""What each surface says of a plan, letter by letter."""

from pathlib import Path

import pytest

from dphist.render.charts import draw_below
from dphist.report.plan.chart import error_chart, odds_chart
from dphist.report.plan.page import plan_html
from dphist.report.plan.text import plan_csv, plan_text
from tests.planning.told import MADE
from tests.support.golden import check_golden, text_of_axes, text_of_html

GOLDEN = Path(__file__).parent / "golden"
QUICK = ("labels of customers",)
each = pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in QUICK else pytest.mark.verify) for name in MADE],
)


def path_of(name: str, surface: str) -> Path:
    return GOLDEN / f"{name.replace(' ', '_')}.{surface}.txt"


@each
def test_a_page(name: str) -> None:
    check_golden(path_of(name, "page"), text_of_html(plan_html(MADE[name]())))


@each
def test_a_text(name: str) -> None:
    check_golden(path_of(name, "text"), plan_text(MADE[name]()))


@each
def test_a_card(name: str) -> None:
    check_golden(path_of(name, "card"), text_of_html(MADE[name]()._repr_html_()))


@each
def test_a_table(name: str) -> None:
    check_golden(path_of(name, "table"), plan_csv(MADE[name]()))


@each
def test_charts(name: str) -> None:
    plan = MADE[name]()
    drawn = draw_below([odds_chart(plan), error_chart(plan)])
    check_golden(path_of(name, "plot"), text_of_axes(drawn))
