"""Where only users above the bound are ranked, the records kept are those of plain Python."""

import random
import string
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dphist as dh
from dphist.counting.bounding import kept
from dphist.counting.bounding.bounds import Cut
from dphist.counting.bounding.contributions import count_bounded_records, label_bounded_records
from dphist.counting.engine.rows import DuckRows
from dphist.errors import DataError
from tests.support.counting.binned_users import KEYS, USERS
from tests.support.counting.binned_users import kept as kept_bins
from tests.support.counting.contribution_engines import ENGINES, table_of
from tests.support.counting.contributions import kept_records, some_rows
from tests.support.refusal import refused

pytestmark = pytest.mark.usefixtures("many_rows")

ENGINE = ENGINES[0]
LABELS: dict[str, tuple[list[Any], pa.DataType]] = {
    **USERS,
    "large text": (["a", "A", "ä", "", "a ", "1"], pa.large_string()),
    "viewed text": (
        ["a", "A", "a text of many letters", "a text of many Letters"],
        pa.string_view(),
    ),
}


def profile(table: Any, most: int, key: str = KEYS[1]) -> tuple[list[int], list[int]]:
    counts, prevalences = count_bounded_records(
        table, label="term", user="who", max_records=most, key=key
    )
    return counts.tolist(), prevalences.tolist()


@pytest.mark.parametrize("most", [1, 4, 11, 200])
def test_records_kept_are_those_of_plain_python(most: int) -> None:
    rows = some_rows(most, 120)
    assert profile(table_of(rows), most) == kept_records(rows, most, KEYS[1], ENGINE)


@pytest.mark.parametrize("most", [1, 4, 11, 200])
def test_records_kept_by_windows_are_those_of_plain_python(most: int) -> None:
    """Those of a part; Spark keeps all records so."""
    rows = some_rows(most, 120)
    store = label_bounded_records(
        table_of(rows), label="term", user="who", max_records=most, cut=Cut(0, 1), key=KEYS[1]
    )
    counts = Counter(store.filter_batches(lambda batch: batch)["count"].to_pylist())
    assert tuple(map(list, zip(*sorted(counts.items()), strict=True))) == kept_records(
        rows, most, KEYS[1], ENGINE
    )


def colliding(column: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let many values of a column have the number of another."""
    real = DuckRows.format_number

    def number_of(self: DuckRows, name: str) -> tuple[str, bool]:
        number, exact = real(self, name)
        found = f"(hash({name}) % 2)::UBIGINT" if name == column and not exact else number
        return found, exact

    monkeypatch.setattr(DuckRows, "format_number", number_of)


@pytest.mark.parametrize("most", [1, 4, 11, 200])
@pytest.mark.parametrize("column", ["who", "term"])
def test_equal_hashes_make_no_two_values_one(
    column: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each user keeps as many records as without; which ones, the hashes decide."""
    rows = some_rows(most, 120)
    users = Counter(user for user, *_ in rows)
    colliding(column, monkeypatch)
    numbers, ways = kept._number_one_by_one, []

    def noted(*given: Any) -> Any:
        ways.append(1)
        return numbers(*given)

    monkeypatch.setattr(kept, "_number_one_by_one", noted)
    counts, prevalences = profile(table_of(rows), most)
    total = np.dot(counts, prevalences)
    assert ways == [1] * (column == "term" or most < 200)
    assert total <= sum(min(most, records) for records in users.values())
    if column == "who" or most == 200:  # otherwise hashes of two labels are equal, and none is kept
        assert total == sum(min(most, records) for records in users.values())


def marked_alike(column: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the value 'x*' of a column have the number of 'x'."""
    real = DuckRows.format_number

    def number_of(self: DuckRows, name: str) -> tuple[str, bool]:
        number, exact = real(self, name)
        alike = f"hash(rtrim(CAST({name} AS VARCHAR), '*'))"
        return alike if name == column and not exact else number, exact

    monkeypatch.setattr(DuckRows, "format_number", number_of)


def test_users_of_one_hash_are_found_in_any_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two users have one number, and are alone in having more records than the bound."""
    marked_alike("who", monkeypatch)
    monkeypatch.setattr(kept, "_number_of_turns", lambda _: 2)
    for name in string.ascii_letters[:20]:  # of some of them, both users are in the first turn
        rows = [(who, f"label {n}", 1) for who in (name, f"{name}*") for n in range(4)]
        rows += [(f"other {n}", "label 0", 1) for n in range(40)]
        counts, prevalences = profile(table_of(rows), 3)
        assert np.dot(counts, prevalences) == 3 + 3 + 40


@pytest.mark.parametrize("turns", [1, 3])
def test_a_label_with_the_hash_of_another_moves_no_record(
    turns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user who brings it has all values numbered one by one, and is alone in seeing a change."""
    marked_alike("term", monkeypatch)
    monkeypatch.setattr(kept, "_number_of_turns", lambda _: turns)
    draw = random.Random(turns)
    rows = [(f"user {draw.randrange(6)}", f"label {draw.randrange(12)}", 1) for _ in range(150)]
    made = rows[0][1] + "*"
    for most in (1, 5, 20):
        counts, prevalences = profile(table_of(rows), most)
        others = Counter(dict(zip(counts, prevalences, strict=True)))
        found = profile(table_of([*rows, ("another", made, 1)]), most)
        assert Counter(dict(zip(*found, strict=True))) == others + Counter([1])


@pytest.mark.long(every=4)
@pytest.mark.quick("[text]", "[decimals]", "[viewed text]")
@pytest.mark.parametrize("kind", LABELS)
def test_users_and_labels_of_any_type_are_kept_in_any_order_of_rows(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    values, stored = LABELS[kind]
    draw = random.Random(kind)
    drawn = [(draw.choice(values), str(draw.randrange(9))) for _ in range(150)]
    found = []
    for turns in (1, 1, 3):
        monkeypatch.setattr(kept, "_number_of_turns", lambda _, turns=turns: turns)
        column, text = zip(*drawn, strict=True)
        own, others = pa.array(column, stored), pa.array(text)
        tables = [pa.table({"who": own, "term": others}), pa.table({"who": others, "term": own})]
        found.append([[profile(table, most) for most in (1, 9, 30)] for table in tables])
        draw.shuffle(drawn)
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("turns", [1, 3])
@pytest.mark.parametrize("column", ["who", "term"])
def test_rows_without_a_user_are_kept_whatever_numbers_values_have(
    column: str, turns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each user has one label, so it decides nothing which rows are kept."""
    marked_alike(column, monkeypatch)
    monkeypatch.setattr(kept, "_number_of_turns", lambda _: turns)
    rows: list[Any] = [("u", "a", 1)] * 5 + [("u*", "a*", 1)] * 7 + [("v", "b", 1)] * 4
    alone = [(None, label, 1) for label in ("a", "a", "b*", "b*", "b*", "b*", "b*", "b*")]
    table = table_of([*alone, *rows])
    told: dict[str, Any] = {"label": "term", "user": "who", "max_records": 3, "key": KEYS[1]}
    counts, prevalences = count_bounded_records(table, null_users="separate", **told)
    assert (counts.tolist(), prevalences.tolist()) == ([3, 5, 6], [2, 1, 1])


FEW_ROWS = "dphist.counting.engine.rows.FEW_ROWS"


@pytest.mark.quick("[text]", "[decimals]", "[large integers]")
@pytest.mark.parametrize("kind", LABELS)
def test_few_rows_are_kept_like_many(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    values, stored = LABELS[kind]
    draw = random.Random(kind)
    own = pa.array([draw.choice(values) for _ in range(150)], stored)
    others = pa.array([str(draw.randrange(9)) for _ in range(150)])
    numbers = pa.array([draw.randrange(-2, 12) for _ in range(150)])
    for most in (1, 9, 30, 200):
        found = []
        for few in (-1, 2**16):
            monkeypatch.setattr(FEW_ROWS, few)
            found.append((
                profile(pa.table({"who": own, "term": others}), most),
                profile(pa.table({"who": others, "term": own}), most),
                kept_bins(pa.table({"who": own, "x": numbers}), most, KEYS[1]),
            ))  # fmt: skip
        assert found[0] == found[1]


@pytest.mark.parametrize("column", ["who", "term"])
def test_few_rows_of_equal_hashes_are_kept_like_many(
    column: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    colliding(column, monkeypatch)
    rows = some_rows(3, 120)
    for most in (1, 4, 11, 200):
        found = []
        for few in (-1, 2**16):
            monkeypatch.setattr(FEW_ROWS, few)
            found.append(profile(table_of(rows), most))
        assert found[0] == found[1]


def test_few_rows_with_a_problem_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FEW_ROWS, 2**16)
    for users, labels, column in ((["u", None], ["a", "b"], "'who'"), (["u"], [None], "'term'")):
        table = pa.table({"who": pa.array(users, "str"), "term": pa.array(labels, "str")})
        with refused(DataError, column):
            profile(table, 1)


def test_more_records_than_fit_take_turns() -> None:
    with dh.Resources(memory="64MB"):
        fits = 64 * 10**6 // kept.ROW_BYTES
        assert kept._number_of_turns(fits) == 1
        assert kept._number_of_turns(10 * fits) == 10


def test_rows_with_a_problem_are_refused_before_anything_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kept, "count_kept", None)
    for users, labels, column in (
        (["u", None], ["a", "b"], "'who'"),
        (["u", "u"], ["a", None], "'term'"),
        ([None, "u"], [None, "a"], "'who'"),
    ):
        table = pa.table({"who": users, "term": labels})
        with refused(DataError, column):
            profile(table, 1)


@pytest.mark.parametrize("lost", ["kept", "grouped"])
def test_an_engine_that_loses_rows_is_noticed(lost: str, monkeypatch: pytest.MonkeyPatch) -> None:
    turns, grouped = kept._in_turns, kept._count_terms
    if lost == "kept":
        monkeypatch.setattr(kept, "_in_turns", lambda rows: turns(rows.where("term <> 'a'")))
    else:
        monkeypatch.setattr(kept, "_count_terms", lambda rows: grouped(rows.where("term <> 'a'")))
    table = pa.table({"who": ["u"] * 4, "term": ["a"] * 3 + ["b"]})
    with refused(DataError, "could not evaluate"):
        profile(table, 1)


def test_a_label_that_changes_its_number_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise its records would count without a bound."""
    real, asked = DuckRows.format_number, []

    def changing(self: DuckRows, name: str) -> tuple[str, bool]:
        number, _ = real(self, name)
        asked.append(name)
        return f"xor({number}, {asked.count(name)}::UBIGINT)", False

    monkeypatch.setattr(DuckRows, "format_number", changing)
    with refused(DataError, "could not evaluate"):
        profile(table_of(some_rows(3, 120)), 1)
