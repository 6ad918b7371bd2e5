"""How many users were cut: counted with the labels, in one evaluation, a user once at most."""

import random
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

import dphist as dh
from dphist.errors import ParameterError

from .contribution_engines import ENGINES, Engine, Rows, table_of
from .refusal import refused

BOUNDS = [(1, 1), (2, 1), (1, 3), (3, 2), (None, 2), (100, 2**62 - 1)]


def some_rows(seed: int) -> Rows:
    draw = random.Random(seed)
    return [
        (f"u{int(draw.paretovariate(0.7)) % 40}", draw.choice("abcdefg"), draw.randrange(4))
        for _ in range(300)
    ]


def in_python(rows: Rows, max_labels: int | None, max_count: int) -> tuple[int, int]:
    """Users within the bounds, and users who had more; of those who have anything.

    Repeated records are no surplus where a count is a number of users.
    """
    sums: dict[Any, Counter[str]] = defaultdict(Counter)
    for user, label, count in rows:
        sums[user][label] += count
    found = [0, 0]
    for counts in sums.values():
        own = {label: count for label, count in counts.items() if count}
        if own:
            many = max_labels is not None and len(own) > max_labels
            found[many or max(own.values()) > max_count > 1] += 1
    return found[0], found[1]


def counted(frame: Any, max_labels: int | None, max_count: int) -> dh.LabelCounts:
    return dh.LabelCounts.from_table(
        frame,
        label="term",
        user="who",
        count="n",
        max_labels=max_labels,
        max_count=max_count,
        count_users=True,
    )


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
def test_users_are_counted_as_python_counts_them(
    engine: Engine, bounds: tuple[int | None, int], tmp_path: Path
) -> None:
    rows = some_rows(seed=1)
    found = counted(engine.make(table_of(rows), tmp_path), *bounds)
    assert found.users == in_python(rows, *bounds)


@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
def test_a_user_changes_one_of_the_two_by_one(bounds: tuple[int | None, int]) -> None:
    for seed in range(12):
        rows = some_rows(seed)
        one = random.Random(seed).choice(rows)[0]
        before = counted(table_of([row for row in rows if row[0] != one]), *bounds).users
        after = counted(table_of(rows), *bounds).users
        assert before is not None
        assert after is not None
        changes = [now - then for now, then in zip(after, before, strict=True)]
        assert sorted(changes) in ([0, 0], [0, 1])


def test_what_one_user_has_too_much_of_cuts_no_other() -> None:
    others: Rows = [(f"u{n}", "a", 1) for n in range(5)]
    assert counted(table_of(others), 2, 2).users == (5, 0)
    for own in ([("v", "a", 3)], [("v", label, 1) for label in "abc"]):
        assert counted(table_of([*others, *own]), 2, 2).users == (5, 1)


def test_the_counts_are_the_same_with_and_without() -> None:
    rows = table_of(some_rows(3))
    options = {"label": "term", "user": "who", "count": "n", "max_labels": 100, "max_count": 3}
    tables = [
        dh.LabelCounts.from_table(rows, **options, count_users=also).largest(99)
        for also in (False, True)
    ]
    assert tables[0].equals(tables[1])


def test_without_rows_there_are_no_users() -> None:
    assert counted(table_of([]), 2, 1).users == (0, 0)
    assert dh.LabelCounts.from_table(table_of([]), label="term").users is None


def test_users_must_be_users() -> None:
    rows = table_of(some_rows(4))
    with refused(ParameterError, "count_users", "user"):
        dh.LabelCounts.from_table(rows, label="term", count_users=True)
    with refused(ParameterError, "count_users", "separate"):
        dh.LabelCounts.from_table(
            rows, label="term", user="who", max_labels=1, null_users="separate", count_users=True
        )


def test_users_are_secret() -> None:
    data = counted(table_of([("SENTINEL", "a", 1)] * 918), 1, 1)
    assert data.users == (1, 0)
    assert "918" not in repr(data)
    assert "(1, 0)" not in repr(data)
