"""What each surface says of an audit, letter by letter."""

import json
from pathlib import Path

import pytest

from dphist.lab.auditing.document import document_of_all, in_one_line
from dphist.render.html import page
from tests.support.golden import check_golden, text_of_html
from tests.support.lab.auditing.told import TOLD

GOLDEN = Path(__file__).parent / "golden"
each = pytest.mark.parametrize("name", TOLD)


def path_of(name: str, surface: str) -> Path:
    return GOLDEN / f"{name.replace(' ', '_')}.{surface}.txt"


@each
def test_a_page(name: str) -> None:
    check_golden(path_of(name, "page"), text_of_html(page(document_of_all(TOLD[name]()))))


@each
def test_a_terminal(name: str) -> None:
    check_golden(path_of(name, "terminal"), "\n\n".join(map(str, TOLD[name]())))


def test_a_list() -> None:
    found = [result for results in TOLD.values() for result in results()]
    check_golden(GOLDEN / "list.terminal.txt", "\n".join(map(in_one_line, found)))


@each
def test_json(name: str) -> None:
    found = [json.loads(result.to_json()) for result in TOLD[name]()]
    check_golden(path_of(name, "json"), json.dumps(found, indent=1, ensure_ascii=False))
