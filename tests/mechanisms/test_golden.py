"""What each surface says of releases of somebody else's mechanisms, letter by letter."""

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import dphist as dh
from dphist.report import report_html
from dphist.report.kinds import json_of
from dphist.report.summary import summary_text
from dphist.report.table import table_csv
from tests.labels.told import LETTERS, ODD, WORDS, counted, shown
from tests.mechanisms.others import OtherLabels, OtherListed, OtherRanking, OtherStream
from tests.support.golden import check_golden, text_of_axes, text_of_html

GOLDEN = Path(__file__).parent / "golden"


@dataclass(frozen=True, kw_only=True)
class Silent(OtherLabels):
    """States no intervals."""

    def intervals(self, release: Any, /, level: float = 0.95) -> None:
        return None


def made(mechanism: Any, data: Any, **words: Any) -> dh.Release:
    return shown(mechanism.release(data, random.Random(1).randbytes), **words)


EVENTS = [["x"]] * 90 + [["tea"], ["tea", "x"]] * 5
MADE: dict[str, Callable[[], dh.Release]] = {
    "labels": lambda: made(OtherLabels(epsilon=1), counted(LETTERS)),
    "labels in words": lambda: made(
        OtherLabels(epsilon=1), counted(LETTERS), unit="patient", **WORDS
    ),
    "odd labels": lambda: made(OtherLabels(epsilon=1), counted(ODD)),
    "many labels": lambda: made(OtherLabels(epsilon=1), counted([f"l{n}" for n in range(300)])),
    "no labels": lambda: made(OtherLabels(epsilon=1), counted([])),
    "labels without intervals": lambda: made(Silent(epsilon=1), counted(LETTERS)),
    "listed": lambda: made(OtherListed(epsilon=1), counted(["x"], 2, 30)),
    "a ranking": lambda: made(OtherRanking(epsilon=1), counted(LETTERS)),
    "a ranking, too short": lambda: made(OtherRanking(epsilon=1), counted(["a"])),
    "a stream": lambda: made(OtherStream(epsilon=1), EVENTS),
    "a stream in words": lambda: made(OtherStream(epsilon=1), EVENTS, **WORDS),
    "for tests": lambda: replace(made(OtherLabels(epsilon=1), counted(LETTERS)), for_tests=True),
}
QUICK = ("labels in words", "a stream in words")
each = pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in QUICK else pytest.mark.verify) for name in MADE],
)


def path_of(name: str, surface: str) -> Path:
    return GOLDEN / f"{name.replace(',', '').replace(' ', '_')}.{surface}.txt"


@each
def test_a_page(name: str) -> None:
    check_golden(path_of(name, "page"), text_of_html(report_html(MADE[name]())))


@each
def test_a_summary(name: str) -> None:
    check_golden(path_of(name, "summary"), summary_text(MADE[name]()))


@each
def test_a_card(name: str) -> None:
    check_golden(path_of(name, "card"), text_of_html(MADE[name]()._repr_html_()))


@each
def test_json(name: str) -> None:
    found = json_of(MADE[name]())
    check_golden(path_of(name, "json"), json.dumps(found, indent=1, ensure_ascii=False))


@each
def test_a_table(name: str) -> None:
    check_golden(path_of(name, "table"), table_csv(MADE[name]()))


@each
def test_a_plot(name: str) -> None:
    if "ranking" in name:
        with pytest.raises(dh.ParameterError, match="must hold counts"):
            dh.plot(MADE[name]())
        return
    check_golden(path_of(name, "plot"), text_of_axes(dh.plot(MADE[name]())))
