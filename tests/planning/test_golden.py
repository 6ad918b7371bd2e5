"""What each surface says of a plan, letter by letter."""

from pathlib import Path

import pytest

from dphist.planning.document import document_of, table_csv
from dphist.planning.words import error_chart, odds_chart
from dphist.render.charts import draw_below, drawing_of
from dphist.render.html import page
from dphist.render.text import text
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
    check_golden(path_of(name, "page"), text_of_html(page(document_of(MADE[name]()))))


@each
def test_a_text(name: str) -> None:
    check_golden(path_of(name, "text"), text(document_of(MADE[name]())))


@each
def test_a_card(name: str) -> None:
    check_golden(path_of(name, "card"), text_of_html(MADE[name]()._repr_html_()))


@each
def test_a_table(name: str) -> None:
    check_golden(path_of(name, "table"), table_csv(MADE[name]()))


@each
def test_charts(name: str) -> None:
    plan = MADE[name]()
    drawn = draw_below([drawing_of(each(plan), {}) for each in (odds_chart, error_chart)])
    check_golden(path_of(name, "plot"), text_of_axes(drawn))
