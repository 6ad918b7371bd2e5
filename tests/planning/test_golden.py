"""What each surface says of a plan, letter by letter."""

import pytest

from dphist.planning.document import make_document, table_csv
from dphist.planning.words import error_chart, odds_chart
from dphist.render.charts import draw_figure
from dphist.render.html import page
from dphist.render.text import text
from tests.support.golden import check_golden, each_of, golden_path, text_of_axes, text_of_html
from tests.support.planning.told import MADE

each = each_of(MADE, ("labels of customers",))


@each
@pytest.mark.parametrize("surface", ["page", "text", "card", "table", "plot"])
def test_a_plan(name: str, surface: str) -> None:
    plan = MADE[name]()
    said = {
        "page": lambda: text_of_html(page(make_document(plan))),
        "text": lambda: text(make_document(plan)),
        "card": lambda: text_of_html(plan._repr_html_()),
        "table": lambda: table_csv(plan),
        "plot": lambda: text_of_axes(
            draw_figure([each(plan) for each in (odds_chart, error_chart)], {})
        ),
    }[surface]
    check_golden(golden_path(__file__, name, surface), said())
