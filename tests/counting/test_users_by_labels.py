"""How many users have how many labels: counted in one evaluation, each user in one cell."""

import random
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dphist as dh
from dphist.counting.bounding import bounds, held_pairs
from dphist.data.cells import make_cells
from dphist.errors import DataError, ParameterError
from dphist.noise import Source
from tests.support.counting.contribution_engines import ENGINES, Engine, Rows, spark, table_of
from tests.support.counting.users_by_labels import MOST, in_python
from tests.support.refusal import refused

BOUNDS = [(1, 1), (2, 1), (1, 3), (3, 2), (None, 2), (5, 2**62 - 1)]


def some_rows(seed: int) -> Rows:
    draw = random.Random(seed)
    return [
        (f"u{int(draw.paretovariate(0.7)) % 40}", draw.choice("abcdefg"), draw.randrange(4))
        for _ in range(300)
    ]


def counted(frame: Any, max_labels: int | None, max_count: int, **more: Any) -> dh.LabelCounts:
    names: dict[str, Any] = {"label": "term", "user": "who", "count": "n"}
    own = {"max_labels": max_labels, "max_count": max_count, "users_by_labels": MOST}
    return dh.LabelCounts.from_table(frame, **names | own | more)


@pytest.mark.long(every=4)
@pytest.mark.quick("(2, 1)", "(None, 2)-pyarrow", "(3, 2)-pyarrow")
@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
@pytest.mark.parametrize("own", BOUNDS, ids=str)
def test_users_are_counted_as_python_counts_them(
    engine: Engine, own: tuple[int | None, int], tmp_path: Path
) -> None:
    rows = some_rows(seed=1)
    found = counted(engine.make(table_of(rows), tmp_path), *own)
    assert found.users == in_python(rows, own[0])


@pytest.mark.long(every=2)
@pytest.mark.quick("(2, 1)", "(3, 2)")
@pytest.mark.parametrize("own", BOUNDS, ids=str)
def test_a_user_changes_one_cell_by_one(own: tuple[int | None, int]) -> None:
    for seed in range(12):
        rows = some_rows(seed)
        one = random.Random(seed).choice(rows)[0]
        before = counted(table_of([row for row in rows if row[0] != one]), *own).users
        after = counted(table_of(rows), *own).users
        assert before is not None
        assert after is not None
        changes = [now - then for now, then in zip(after, before, strict=True)]
        has_any = any(user == one and count for user, _, count in rows)
        assert sorted(changes) == [0] * (len(changes) - 1) + [int(has_any)]


@pytest.mark.parametrize("integers", [True, False])
def test_many_users_in_parts_and_turns(integers: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays, in turns, give the numbers that windows give, beside the same counts."""
    draw = np.random.default_rng(5)
    users = np.minimum(draw.geometric(0.0002, 120_000), 30_000)
    table = pa.table({"who": users, "term": draw.geometric(0.05, len(users))})
    if not integers:
        table = pa.table({name: table[name].cast(pa.string()) for name in table.column_names})
    monkeypatch.setattr(held_pairs, "_turns", lambda total: 3)
    names: dict[str, Any] = {"label": "term", "user": "who", "max_labels": 3}
    names["users_by_labels"] = MOST
    arrays = dh.LabelCounts.from_table(table, **names)
    monkeypatch.setattr(bounds, "bound_in_arrays", lambda *_: None)
    windows = dh.LabelCounts.from_table(table, **names)
    pairs = {*zip(*(table[name].to_pylist() for name in ("who", "term")), strict=True)}
    rows = [(user, label, 1) for user, label in pairs]
    assert arrays.users == windows.users == in_python(rows, 3)


def test_what_one_user_has_too_much_of_moves_no_other() -> None:
    others: Rows = [(f"u{n}", "a", 1) for n in range(5)]
    assert counted(table_of(others), 2, 2).users == (5, 0, 0, 0, 0)
    for own, cell in ([("v", "a", 3)], 0), ([("v", label, 1) for label in "abc"], 2):
        found = counted(table_of([*others, *own]), 2, 2).users
        assert found == tuple(5 * (place == 0) + (place == cell) for place in range(5))


def test_the_counts_are_the_same_with_and_without(seeded: Callable[[int], Source]) -> None:
    rows = table_of(some_rows(3))
    for most in (1, 3):
        tables = [
            counted(rows, 4, most, users_by_labels=also, source=seeded(1)).largest(99)
            for also in (None, MOST)
        ]
        assert tables[0].equals(tables[1])


def test_without_rows_there_are_no_users() -> None:
    assert counted(table_of([]), 2, 1).users == (0, 0, 0, 0, 0)
    assert dh.LabelCounts.from_table(table_of([]), label="term").users is None


def test_users_must_be_users() -> None:
    rows = table_of(some_rows(4))
    with refused(ParameterError, "users_by_labels", "user"):
        dh.LabelCounts.from_table(rows, label="term", users_by_labels=MOST)
    with refused(ParameterError, "users_by_labels", "separate"):
        counted(rows, 1, 1, null_users="separate")
    with refused(ParameterError, "users_by_labels", "max_labels"):
        counted(rows, MOST, 1)
    for wrong in (True, 1, 2.5, 2**20 + 1):
        with refused(ParameterError, "users_by_labels"):
            counted(rows, None, 1, users_by_labels=wrong)


@pytest.mark.parametrize("most", [2, 3, 5, 16, 1000, 2**20])
def test_cells_are_each_number_once_and_finer_than_a_half(most: int) -> None:
    for cap in (None, 1, 7, most - 1, most):
        cells = make_cells(most, cap)
        assert cells[0] == 1
        assert cells[-1] == most
        assert all(start < end <= 1.5 * start + 1 for start, end in pairwise(cells))
        assert cap is None or cap >= most or cap + 1 in cells


def test_users_are_secret() -> None:
    data = counted(table_of([("SENTINEL", "a", 1)] * 918), 1, 1)
    assert data.users == (1, 0, 0, 0, 0)
    assert "918" not in repr(data)
    assert "(1, 0" not in repr(data)


@pytest.mark.verify
def test_labels_of_one_hour_that_comes_twice() -> None:
    """Spark writes two instants alike where clocks are put back, and hashed them alike."""
    zone = "spark.sql.session.timeZone"
    before = spark().conf.get(zone)
    spark().conf.set(zone, "Europe/Berlin")
    try:
        twice = "explode(array(timestamp'2020-10-25 00:30:00Z', timestamp'2020-10-25 01:30:00Z'))"
        frame = spark().sql(f"SELECT 'u' AS who, {twice} AS term")
        for bound in (1, 2):
            found = dh.LabelCounts.from_table(
                frame, label="term", user="who", max_labels=bound, users_by_labels=MOST
            )
            assert len(found.largest(5)) == bound
            assert found.users == (0, 1, 0, 0, 0)
        kept = dh.Profile.from_table(frame, label="term", user="who", max_records=1)
        assert kept.total == 1
    finally:
        spark().conf.set(zone, before)


@pytest.mark.verify
def test_spark_s_text_is_utf_8() -> None:
    """Two texts that are none would be released as two labels of one name."""
    broken = spark().sql("SELECT explode(array(x'ff', x'fe')) AS term, 1 AS who")
    frame = broken.selectExpr("CAST(term AS STRING) AS term", "who")
    for call in (
        lambda: dh.LabelCounts.from_table(frame, label="term"),
        lambda: dh.Profile.from_table(frame, label="term"),
        lambda: dh.Profile.from_table(frame, label="who", user="term", max_records=1),
    ):
        with refused(DataError, "'term'"):
            call()
