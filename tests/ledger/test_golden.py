"""What each surface says of a ledger, letter by letter."""

import json
import re
from pathlib import Path

import pytest

import dphist as dh
from dphist.ledger.charts import draw_chart
from dphist.ledger.document import document_of_entries, make_document
from dphist.ledger.history import histories
from dphist.render.charts import draw_figure
from dphist.render.html import page
from dphist.render.text import content, text
from tests.support.golden import check_golden, text_of_axes, text_of_html
from tests.support.ledger.told import MADE

GOLDEN = Path(__file__).parent / "golden"
QUICK = ("mixed", "accounts")


@pytest.fixture(
    params=[pytest.param(n, marks=() if n in QUICK else pytest.mark.verify) for n in MADE]
)
def name(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture
def ledger(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dh.Ledger:
    """A ledger that has the same name, number and time each time."""
    monkeypatch.setattr("dphist.ledger.entries.now", lambda _: "2026-11-24T09:12:55.120+00:00")
    monkeypatch.setattr(
        "dphist.ledger.stores.schema.secrets.token_hex", lambda _: "0123456789abcdef"
    )
    return MADE[name](tmp_path / "clinic.ledger")


def check(name: str, surface: str, ledger: dh.Ledger, text: str) -> None:
    """Compare a text with that of a file, without the folder and the last hash."""
    for own, same in ((ledger.place, "clinic.ledger"), (list(ledger.entries())[-1].hash, "HASH")):
        text = text.replace(own, same)
    check_golden(GOLDEN / f"{name.replace(' ', '_')}.{surface}.txt", text)


def test_a_page(name: str, ledger: dh.Ledger) -> None:
    check(name, "page", ledger, text_of_html(page(make_document(ledger))))


def test_a_summary(name: str, ledger: dh.Ledger) -> None:
    said = re.sub(
        r"(?<=  Place {11}).*?(?=\n  Identity)",
        ledger.place,
        text(make_document(ledger)),
        flags=re.S,
    )
    check(name, "summary", ledger, said)  # a long path goes on in the next line


def test_a_log(name: str, ledger: dh.Ledger) -> None:
    check(name, "log", ledger, text(document_of_entries(ledger, list(ledger.entries()))))


def test_a_card(name: str, ledger: dh.Ledger) -> None:
    check(name, "card", ledger, text_of_html(ledger._repr_html_()))


def test_json(name: str, ledger: dh.Ledger) -> None:
    said = json.dumps(content(make_document(ledger)), indent=1, ensure_ascii=False)
    check(name, "json", ledger, said)


def test_a_chart(name: str, ledger: dh.Ledger) -> None:
    entries = list(ledger.entries())
    charts = [draw_chart(each, len(entries), "left") for each in histories(entries)]
    check(name, "plot", ledger, text_of_axes(draw_figure(charts, {})))
