"""What each surface says of a comparison, letter by letter."""

import json
from pathlib import Path

import pytest

from dphist.lab.comparing.document import make_document
from dphist.render.html import page
from dphist.render.text import content
from tests.support.golden import check_golden, text_of_axes, text_of_html
from tests.support.lab.comparing.told import TOLD

GOLDEN = Path(__file__).parent / "golden"
each = pytest.mark.parametrize("name", TOLD)


def path_of(name: str, surface: str) -> Path:
    return GOLDEN / f"{name.replace(' ', '_')}.{surface}.txt"


@each
def test_a_page(name: str) -> None:
    check_golden(path_of(name, "page"), text_of_html(page(make_document(TOLD[name]()))))


@each
def test_a_terminal(name: str) -> None:
    check_golden(path_of(name, "terminal"), str(TOLD[name]()))


@each
def test_a_card(name: str) -> None:
    check_golden(path_of(name, "card"), text_of_html(TOLD[name]()._repr_html_()))


@each
def test_json(name: str) -> None:
    found = content(make_document(TOLD[name]()))
    check_golden(path_of(name, "json"), json.dumps(found, indent=1, ensure_ascii=False))


@each
def test_a_plot(name: str) -> None:
    for measure in TOLD[name]().measures:
        axes = TOLD[name]().plot(measure.name)
        check_golden(path_of(f"{name} {measure.name}", "plot"), text_of_axes(axes))
