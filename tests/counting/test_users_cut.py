"""How many users were cut: counted with the labels, in one evaluation, a user once at most."""

import random
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

import dphist as dh
from dphist.errors import DataError, ParameterError
from tests.counting.contribution_engines import ENGINES, Engine, Rows, spark, table_of
from tests.counting.refusal import refused

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


@pytest.mark.long(every=4)
@pytest.mark.quick("(2, 1)", "(None, 2)-pyarrow")
@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
def test_users_are_counted_as_python_counts_them(
    engine: Engine, bounds: tuple[int | None, int], tmp_path: Path
) -> None:
    rows = some_rows(seed=1)
    found = counted(engine.make(table_of(rows), tmp_path), *bounds)
    assert found.users == in_python(rows, *bounds)


@pytest.mark.long(every=2)
@pytest.mark.quick("(2, 1)")
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
    options: dict[str, Any] = {
        "label": "term",
        "user": "who",
        "count": "n",
        "max_labels": 100,
        "max_count": 3,
    }
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
                frame, label="term", user="who", max_labels=bound, count_users=True
            )
            assert len(found.largest(5)) == bound
            assert found.users == ((0, 1) if bound == 1 else (1, 0))
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
