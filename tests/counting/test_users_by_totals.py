"""How many users have which farthest total: each user in one cell of each column."""

import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import dphist as dh
from dphist.data.partial import Partial
from tests.support.counting.contribution_engines import ENGINES, Engine
from tests.support.labels.totals import count_by_totals, sum_totals
from tests.support.refusal import refused

SPENT, HOURS = dh.Clamp(0, 20, "0.25"), dh.Clamp(-3, -1, 1)
SUMS = {"spent": SPENT, "hours": HOURS}
GIVEN: dict[str, Any] = {
    "label": "word",
    "user": "who",
    "sums": SUMS,
    "users_by_totals": True,
    "max_labels": 6,
}


def make_rows(number: int, users: int) -> pd.DataFrame:
    """Totals within, at, near and far beyond both bounds of both columns."""
    draw = random.Random(number)
    some = [-500.0, -7.25, -0.25, 0.0, 0.125, 3.5, 19.75, 20.0, 24.9, 300.0]
    rows = [
        (
            f"u{draw.randrange(users)}",
            draw.choice("abcdef"),
            draw.choice(some),
            draw.choice([-9, -2, -1, 0, 40]),
        )
        for _ in range(number)
    ]
    return pd.DataFrame(rows, columns=["who", "word", "spent", "hours"])


def expect(rows: pd.DataFrame) -> tuple[int, ...]:
    counted: tuple[int, ...] = ()
    for name, clamp in SUMS.items():
        held = rows[["who", "word", name]].itertuples(index=False)
        counted += count_by_totals(sum_totals(held, clamp), clamp)
    return counted


@pytest.mark.long(every=4)
@pytest.mark.quick("pyarrow", "parquet")
@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
def test_users_are_counted_as_python_counts_them(engine: Engine, tmp_path: Path) -> None:
    rows = make_rows(400, 300)
    frame = engine.make(pa.Table.from_pandas(rows, preserve_index=False), tmp_path)
    for also in (None, 10):
        counts = dh.LabelCounts.from_table(frame, **GIVEN, users_by_labels=also)
        assert counts.numbers_by_totals == expect(rows)
        assert (counts.users is None) == (also is None)


@pytest.mark.parametrize("max_labels", [6, None])
def test_many_rows(max_labels: int | None) -> None:
    rows = make_rows(80_000, 20_000)
    counts = dh.LabelCounts.from_table(rows, **{**GIVEN, "max_labels": max_labels})
    assert counts.numbers_by_totals == expect(rows)


@pytest.mark.parametrize("few", [2**16, -1], ids=["few", "many"])
def test_only_totals_of_labels_that_are_kept_count(
    few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of three labels a user keeps one, and is counted by its total: whichever it is."""
    monkeypatch.setattr("dphist.counting.engine.rows.FEW_ROWS", few)
    values, own = {"a": -50.0, "b": 5.0, "c": 500.0}, set()
    for seed in range(12):
        rows = pd.DataFrame(
            [("me", word, value, -2) for word, value in values.items()],
            columns=["who", "word", "spent", "hours"],
        )
        given = {**GIVEN, "max_labels": 1, "source": random.Random(seed).randbytes}
        counts = dh.LabelCounts.from_table(rows, **given)
        (kept,) = (word for word, n in zip("abc", counts.counts_of([*"abc"]), strict=True) if n)
        own.add(kept)
        assert counts.numbers_by_totals == expect(rows[rows["word"] == kept])
    assert len(own) > 1


@pytest.mark.parametrize("max_labels", [1, 2])
@pytest.mark.parametrize("max_count", [1, 2])
def test_a_user_changes_one_number_of_each_column(max_labels: int, max_count: int) -> None:
    """docs/understand/proofs/sums.md, Lemma 10, under one key of the choice."""
    rows = make_rows(300, 12)
    given = {**GIVEN, "max_labels": max_labels, "max_count": max_count, "users_by_labels": 10}
    cells = len(SPENT.starts) + 1
    for who in sorted(rows["who"].unique()):
        tables = rows, rows[rows["who"] != who]
        (one, other) = (
            dh.LabelCounts.from_table(each, **given, source=random.Random(5).randbytes)
            for each in tables
        )
        assert one.numbers_by_totals
        assert other.numbers_by_totals
        moved = [a - b for a, b in zip(one.numbers_by_totals, other.numbers_by_totals, strict=True)]
        for part in (moved[:cells], moved[cells:]):
            assert sorted(part) == [0] * (len(part) - 1) + [1]


def test_a_user_with_counts_of_0_alone_is_not_counted() -> None:
    rows = pd.DataFrame({"who": ["a", "b"], "word": ["x", "x"], "spent": [99, 1], "n": [0, 1]})
    given = {**GIVEN, "sums": {"spent": SPENT}, "count": "n"}
    counts = dh.LabelCounts.from_table(rows, **given)
    assert counts.numbers_by_totals == count_by_totals({"b": {"x": 4}}, SPENT)


def test_rows_without_a_user_are_dropped_or_refused() -> None:
    rows = pd.DataFrame({"who": ["a", None], "word": ["x", "x"], "spent": [1, 999]})
    given = {**GIVEN, "sums": {"spent": SPENT}}
    counts = dh.LabelCounts.from_table(rows, **given, null_users="drop")
    assert counts.numbers_by_totals == count_by_totals({"a": {"x": 4}}, SPENT)
    with refused(dh.ParameterError, "users_by_totals", "null_users"):
        dh.LabelCounts.from_table(rows, **given, null_users="separate")


def test_without_rows_there_are_no_users() -> None:
    rows = make_rows(10, 3).iloc[:0].astype({"who": str, "word": str})
    counts = dh.LabelCounts.from_table(rows, **GIVEN)
    assert counts.numbers_by_totals == expect(rows)
    assert set(counts.numbers_by_totals) == {0}


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"sums": None}, "sums"),
        ({"user": None, "max_labels": 1}, "user"),
        ({"keep_sets": True}, "keep_sets"),
        ({"users_by_totals": 1}, "True or False"),
    ],
    ids=str,
)
def test_what_it_needs(more: dict[str, Any], said: str) -> None:
    with refused(dh.ParameterError, "users_by_totals", said):
        dh.LabelCounts.from_table(make_rows(10, 3), **{**GIVEN, **more})


@pytest.mark.parametrize("also", [{}, {"users_by_labels": 10}], ids=str)
def test_parts_add_up(also: dict[str, Any], tmp_path: Path) -> None:
    rows = make_rows(500, 100)
    given = {**GIVEN, **also, "parts": 3}
    parts = [dh.LabelCounts.partial(rows, **given, part=k) for k in range(3)]
    parts[1].save(tmp_path / "p.parquet")
    merged = dh.LabelCounts.merge([parts[0], tmp_path / "p.parquet", parts[2].to_arrow()])
    assert merged.numbers_by_totals == expect(rows)
    assert merged.users_by_totals
    assert merged.users == dh.LabelCounts.from_table(rows, **GIVEN, **also).users
    without = dh.LabelCounts.partial(rows, **{**given, "users_by_totals": False}, part=1)
    with refused(dh.ParameterError, "parts", "same arguments"):
        dh.LabelCounts.merge([parts[0], without, parts[2]])


def test_what_is_no_part_is_refused() -> None:
    part = dh.LabelCounts.partial(make_rows(50, 9), **GIVEN, part=0, parts=1)
    head = dict(part.head)
    alone = {name: held for name, held in head.items() if name != "users_by_totals"}
    for broken in (
        {**head, "users": head["users"][1:]},
        {**head, "users": [*head["users"], 0]},
        {**head, "users": None},
        {**head, "users": [*head["users"][1:], -1]},
        {**head, "users_by_totals": 1},
        {**head, "users_by_totals": False},
        alone,
    ):
        with refused(dh.DataError, "the part was not made by"):
            Partial.from_arrow(Partial(broken, part.table).to_arrow())


@pytest.mark.parametrize(
    "clamp",
    [SPENT, HOURS, dh.Clamp(0, 1, 1), dh.Clamp(-(2**40), 2**40, 1), dh.Clamp(5, 8, "0.5")],
    ids=repr,
)
def test_cells_are_all_totals_once_and_one_is_the_clamp(clamp: dh.Clamp) -> None:
    starts = clamp.starts
    assert all(one < other for one, other in pairwise(starts))
    place = starts.index(clamp.least)
    assert starts[place + 1] == clamp.most + 1
    width = clamp.most - clamp.least
    assert starts[0] == clamp.least - 9 * width
    assert starts[-1] == clamp.most + 9 * width + 1
