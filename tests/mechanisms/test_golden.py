"""What each surface says of releases of somebody else's mechanisms, letter by letter."""

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

import dphist as dh
from dphist.report import table_csv
from tests.support.golden import SURFACES, check_golden, each_of, each_surface, golden_path
from tests.support.labels.told import LETTERS, WORDS, counted
from tests.support.mechanisms.others import OtherLabels, OtherListed, OtherRanking, OtherStream
from tests.support.report.told import ODD, shown


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


@each_surface
@each_of(MADE, QUICK)
def test_a_release(name: str, surface: str) -> None:
    if surface == "plot" and "ranking" in name:
        with pytest.raises(dh.ParameterError, match="must hold counts"):
            dh.plot(MADE[name]())
        return
    check_golden(golden_path(__file__, name, surface), SURFACES[surface](MADE[name]()))


@each_of(MADE, QUICK)
def test_a_table(name: str) -> None:
    check_golden(golden_path(__file__, name, "table"), table_csv(MADE[name]()))
