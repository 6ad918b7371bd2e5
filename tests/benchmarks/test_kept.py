"""`make bench` says what moved, and does not cry about chance."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from benchmarks.kept import measuring
from benchmarks.kept.measuring import Ratio

BEFORE = Ratio("noise", 0.5, 0.01, 15, "numpy", 1.0, "docs/understand/benchmarks.md")


@pytest.mark.parametrize(
    ("ratio", "word"),
    [(0.5, "as before"), (0.55, "as before"), (0.7, "SLOWER"), (1.0, "SLOWER"), (0.35, "faster")],
)
def test_a_ratio_that_moved_is_named(ratio, word) -> None:
    assert word in measuring.said(replace(BEFORE, ratio=ratio), BEFORE)


def test_what_is_uncertain_has_not_moved() -> None:
    assert measuring.said(replace(BEFORE, ratio=0.7, error=0.2), BEFORE) == "as before"
    assert measuring.said(BEFORE, None) == "new"
    assert measuring.said(replace(BEFORE, ratio=9, other="something else"), BEFORE) == "new"


def test_a_claim_is_missed_only_beyond_chance() -> None:
    assert not replace(BEFORE, ratio=1.02).missed
    assert replace(BEFORE, ratio=1.04).missed
    assert not replace(BEFORE, ratio=9, limit=None).missed


def test_the_ratio_is_that_of_medians_in_turn() -> None:
    """Ours takes 2 s for 4 pieces of work, the other 1 s for one; one turn is disturbed."""
    spent = {"ours": [2, 2, 90, 2, 2, 2], "other": [1, 1, 1, 1, 1, 1]}
    now = [0.0]
    turns = {name: iter(values) for name, values in spent.items()}

    def work(name: str) -> None:
        now[0] += next(turns[name])

    case: Any = SimpleNamespace(
        **{"name": "n", "other_name": "o", "limit": None, "page": "p", "turns": 5},
        times_ours=4,
        clock=lambda: now[0],
        ours=lambda: work("ours"),
        other=lambda: work("other"),
    )
    assert measuring.measured(case).ratio == 0.5


def test_the_table_is_read_as_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    measuring.write(path, [BEFORE, replace(BEFORE, name="other", limit=None)])
    assert measuring.read(path) == {
        "noise": BEFORE,
        "other": replace(BEFORE, name="other", limit=None),
    }


def test_the_committed_table_keeps_its_claims() -> None:
    table = measuring.read(Path(measuring.__file__).with_name("table.csv"))
    groups = {name.partition(":")[0] for name in table}
    assert groups == {"noise", "release", "counting", "tree", "start", "ledger"}
    assert not [each.name for each in table.values() if each.missed]
