"""The page of a plan: complete without scripts and network, every number the library's own."""

import re
import shlex
from fractions import Fraction
from html import unescape
from html.parser import HTMLParser
from typing import Any

import pytest

import dphist as dh
from dphist.commands.registry import parse_command_line
from dphist.planning.declared import EPSILON, find_columns
from dphist.planning.document import make_document, table_csv
from dphist.planning.words import cell, choose_example, list_shown
from dphist.render import html
from dphist.render import text as terminal

PLANS = {
    "labels": ("labels", {"max_labels": [1, 10], "epsilon": ["0.5", 1], "users": 20_000}),
    "ranges": ("ranges", {"bins": 64, "total": 10_000, "epsilon": [1, 2], "sensitivity": [1, 5]}),
    "anonymized": ("anonymized", {"total": 5000, "epsilon": ["0.1", 1]}),
    "streams": ("streams", {"horizon": 900, "epsilon": [1], "max_labels": [1, 2], "delta": "1e-6"}),
}


@pytest.fixture(scope="module", params=PLANS)
def plan(request: pytest.FixtureRequest) -> dh.Plan:
    kind, asked = PLANS[request.param]
    return dh.plan(kind, **asked, unit="one <patient>", criteria=["epsilon <= 1", "data: a < b"])


def plan_html(plan: dh.Plan) -> str:
    return html.page(make_document(plan))


def plan_text(plan: dh.Plan) -> str:
    return terminal.text(make_document(plan))


class Cells(HTMLParser):
    """Collects the cells of the table of settings."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.open = False
        self.feed(page)

    def handle_starttag(self, tag: str, _: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self.rows.append([])
        self.open = tag in ("td", "th")
        if self.open:
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        self.open = self.open and tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        if self.open:
            self.rows[-1][-1] += data


@pytest.mark.quick(every=4)
def test_the_table_of_the_page_is_the_plan(plan: dh.Plan) -> None:
    head, *rows = Cells(plan_html(plan)).rows
    assert len(head) == len(list_shown(plan))
    expected = [[cell(each, row[each.name]) for each in list_shown(plan)] for row in plan]
    assert [[text.replace("\u00a0", " ") for text in row] for row in rows] == expected


@pytest.mark.long(every=2)
def test_the_charts_show_the_plan(plan: dh.Plan) -> None:
    page = plan_html(plan)
    assert page.count("<svg") == 2
    odds = page[page.index("<svg") : page.index("</svg>")]
    texts = set(re.findall(r">([^<>]+)</text>", odds))
    assert {cell(EPSILON, epsilon) for epsilon in plan.column("epsilon")} <= texts


def test_rounded_numbers_never_promise_more() -> None:
    known = find_columns("ranges")
    for value in (0.0123456, 1234.5, 0.5, 99.01):
        assert float(cell(known["range_error"], value).replace(",", "")) >= value
        share = cell(known["relative_error"], value).removesuffix(" %")
        assert float(share.replace(",", "")) >= 100 * value


@pytest.mark.quick(every=2)
def test_the_page_loads_nothing_and_needs_no_script(plan: dh.Plan) -> None:
    page = plan_html(plan)
    assert "<script" not in page
    assert "default-src 'none'" in page
    assert not re.findall(r"""(?:src|href)=["'](?!#)""", page)
    assert "http" not in re.sub(r'http-equiv|"http://www\.w3\.org/[^"]*"', "", page)


@pytest.mark.quick(every=2)
def test_words_are_escaped(plan: dh.Plan) -> None:
    page = plan_html(plan)
    assert "<patient>" not in page
    assert "one <patient>" in unescape(page)
    assert "data: a &lt; b" in page


@pytest.mark.quick(every=2)
def test_the_page_states_condition_limits_and_checksum(plan: dh.Plan) -> None:
    page = unescape(plan_html(plan)).replace("\u00a0", " ")
    assert plan.digest in page
    assert "50 of them guess right without the release" in " ".join(page.split())
    assert "What a plan does not say" in page
    command = {"anonymized": "anonymize", "streams": "stream"}.get(plan.kind, plan.kind)
    assert f"dphist {command} " in page


def test_text_and_table_hold_every_setting(plan: dh.Plan) -> None:
    text = plan_text(plan)
    for row in plan:
        cells = [cell(each, row[each.name]) for each in list_shown(plan)]
        assert any(line.split() == " ".join(cells).split() for line in text.splitlines())
    head, *lines = table_csv(plan).splitlines()
    assert head.split(",") == list(plan.columns)
    assert len(lines) == len(plan)
    assert "data: a < b" in text


@pytest.mark.verify
def test_a_delta_too_large_for_the_users_is_said() -> None:
    asked: dict[str, Any] = {"epsilon": 1, "max_labels": 3, "users": 50_000}
    for plan, said in (
        (dh.plan("labels", **asked, delta=["1e-4", "1e-7"]), True),
        (dh.plan("labels", **asked), False),
        (dh.plan("streams", horizon=10**5, users=50_000, delta="1e-4", epsilon=1), True),
    ):
        for text in (
            plan_text(plan),
            unescape(plan_html(plan)).replace("\u00a0", " "),
        ):
            assert ("1e-4 is too large for 50,000" in text) is said
            assert "1e-7 is too large" not in text


@pytest.mark.long(every=2)
@pytest.mark.verify
@pytest.mark.parametrize(
    ("kind", "asked", "options"),
    [
        (
            "labels",
            {"epsilon": ["0.5", 1, 2], "max_labels": [3, 10, 30], "delta": "2e-6", "labels": 40},
            "--epsilon 1 --delta 2e-6 --known-labels LIST --max-labels 10",
        ),
        ("labels", {"epsilon": 1, "delta": 0, "labels": 4}, "--epsilon 1 --known-labels LIST"),
        (
            "labels",
            {"delta": "1e-6", "labels": 9, "correlated": True, "sums_of": 2},
            "--known-labels LIST --correlated --sums-of 2",
        ),
        ("ranges", {"bins": 8, "total": 90, "sensitivity": 5}, "--user COLUMN --max-records 5"),
        (
            "ranges",
            {"bins": 64, "total": 900, "workload": "prefix"},
            "--epsilon 1 --workload prefix --expected-total 900",
        ),
        (
            "anonymized",
            {"total": 900},
            "--label COLUMN --epsilon 1 --each-row-is-one-person",
        ),
        (
            "streams",
            {"horizon": 90, "max_events": 3},
            "--horizon 90 --format csv --user COLUMN --max-events-per-user 3 --unit patient",
        ),
        ("streams", {"horizon": 90, "readings": 4}, "--horizon 90 --readings 4"),
    ],
)
def test_a_setting_is_shown_as_a_command_that_is_valid(kind, asked, options) -> None:
    """It is parsed by the command it names, and names the same cost."""
    plan = dh.plan(kind, **asked, unit="one patient")
    shown = plan_text(plan).partition("your own file and columns:\n\n  ")[2].partition("\n")[0]
    assert options in shown
    assert shown in unescape(plan_html(plan))
    command = shlex.split(shown)[1:]
    read = parse_command_line([each if each != "EDGES" else "0,1" for each in command])
    example = choose_example(plan)
    assert Fraction(read.epsilon) == example["epsilon"] == 1
    assert Fraction(getattr(read, "delta", None) or 0) == example.get("delta", 0)
    for name in ("max_labels", "sensitivity"):
        if name in example:
            held = read.max_records if name == "sensitivity" else read.max_labels
            assert (held or 1) == example[name]
