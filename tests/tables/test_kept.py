"""Where only users above the bound are ranked, the records kept are those of plain Python."""

import random
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dphist.arrays import IntArray, WordArray
from dphist.errors import DataError
from dphist.tables.counting import kept, smallest
from dphist.tables.counting.contributions import count_bounded_records
from dphist.tables.counting.smallest import UsersAbove, hashes_beyond, removed_records, word_type
from tests.tables.binned_users import KEYS
from tests.tables.contribution_engines import ENGINES, table_of
from tests.tables.refusal import refused
from tests.tables.test_binning_held import USERS
from tests.tables.test_contributions import kept_records, some_rows

ENGINE = ENGINES[0]
LABELS: dict[str, tuple[list[Any], pa.DataType]] = {
    **USERS,
    "large text": (["a", "A", "ä", "", "a ", "1"], pa.large_string()),
    "viewed text": (
        ["a", "A", "a text of many letters", "a text of many Letters"],
        pa.string_view(),
    ),
}


def beyond_in_python(hashes: list[int], most: int) -> int:
    return sorted(hashes)[most]


@pytest.mark.parametrize("values", [2, 2**40], ids=["ties", "no ties"])
def test_the_hash_beyond_the_bound_is_found_for_users_of_any_size(values: int) -> None:
    draw = random.Random(values)
    for most in (1, 3, 20):
        sizes = [draw.choice([most + 1, most + 2, 37, 38, 100, 101]) + most for _ in range(40)]
        own = [[2**64 - 1 - draw.randrange(values) for _ in range(size)] for size in sizes]
        found = hashes_beyond(
            np.concatenate([np.array(hashes, np.uint64) for hashes in own]), np.array(sizes), most
        )
        assert found.tolist() == [beyond_in_python(hashes, most) for hashes in own]


def few_hashes(halves: WordArray, turns: IntArray) -> WordArray:
    """Make hashes of which many are equal, by a rule that Python can repeat."""
    return (halves * np.uint64(5) + turns.astype(np.uint64) * np.uint64(3)) % np.uint64(7)


def removed_in_python(pairs: list[tuple[int, int]], most: int) -> Counter[int]:
    turns: Counter[tuple[int, int]] = Counter()
    own: dict[int, list[tuple[int, int]]] = {}
    for user, term in pairs:
        turns[user, term] += 1
        hashed = (((10 + user) ^ (30 + term)) * 5 + turns[user, term] * 3) % 7
        own.setdefault(user, []).append((hashed, term))
    return Counter(
        term
        for records in own.values()
        for hashed, term in records
        if sum(other <= hashed for other, _ in records) > most
    )


@pytest.mark.parametrize("kind", [np.uint32, np.uint64])
@pytest.mark.parametrize("block", [1, 7, 2**19])
def test_of_equal_hashes_all_or_none_are_kept_in_any_order_of_rows(
    kind: Any, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(smallest, "_ROWS_AT_ONCE", block)
    draw = random.Random(block)
    for most in (1, 2, 5):
        sizes = [most + draw.randrange(1, 9) for _ in range(8)]
        pairs = [(user, draw.randrange(5)) for user, size in enumerate(sizes) for _ in range(size)]
        expected = removed_in_python(pairs, most)
        for _ in range(2):
            draw.shuffle(pairs)
            words = np.array([user << 3 | term for user, term in pairs], kind)
            users = UsersAbove(np.array(sizes), np.arange(10, 18, dtype=np.uint64))
            terms = np.arange(30, 35, dtype=np.uint64)
            found = removed_records(words, 3, users, terms, most, few_hashes)
            assert found.tolist() == [expected[term] for term in range(5)]


def test_words_are_as_short_as_they_can_be() -> None:
    assert word_type(2**20, 2**12) == (np.uint32, 12)
    assert word_type(2**20 + 1, 2**12) == (np.uint64, 12)
    assert word_type(1, 1) == (np.uint32, 1)
    assert word_type(2**32, 2**33) is None


def test_users_whose_rows_are_mixed_up_are_noticed() -> None:
    users = UsersAbove(np.array([3, 2]), np.zeros(2, np.uint64))
    for words in ([0, 0, 2, 2], [0, 0, 2, 2, 2], [0, 0, 0, 2, 4]):
        with pytest.raises(RuntimeError):
            removed_records(
                np.array(words, np.uint32), 1, users, np.zeros(2, np.uint64), 1, few_hashes
            )


def profile(table: Any, most: int, key: str = KEYS[1]) -> tuple[list[int], list[int]]:
    counts, prevalences = count_bounded_records(
        table, label="term", user="who", max_records=most, key=key
    )
    return counts.tolist(), prevalences.tolist()


def by_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let DuckDB alone bound users."""
    monkeypatch.setattr(kept, "MOST_RECORDS", -1)


@pytest.mark.parametrize("most", [1, 4, 11, 200])
def test_records_kept_by_windows_are_those_of_plain_python(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = some_rows(most, 120)
    expected = kept_records(rows, most, KEYS[1], ENGINE)
    assert profile(table_of(rows), most) == expected
    by_windows(monkeypatch)
    assert profile(table_of(rows), most) == expected


@pytest.mark.long(every=4)
@pytest.mark.quick("[text]", "[decimals]", "[viewed text]")
@pytest.mark.parametrize("kind", LABELS)
def test_users_and_labels_of_any_type_are_kept_like_by_windows(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    values, stored = LABELS[kind]
    draw = random.Random(kind)
    drawn = [(draw.choice(values), str(draw.randrange(9))) for _ in range(150)]
    found = []
    for _ in range(2):
        column, text = zip(*drawn, strict=True)
        own, others = pa.array(column, stored), pa.array(text)
        tables = [pa.table({"who": own, "term": others}), pa.table({"who": others, "term": own})]
        found.append([[profile(table, most) for most in (1, 9, 30)] for table in tables])
        draw.shuffle(drawn)
    assert found[0] == found[1]
    by_windows(monkeypatch)
    assert found[0] == [[profile(table, most) for most in (1, 9, 30)] for table in tables]


def test_records_are_ranked_within_the_limit_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    ranked: list[int] = []
    correct = kept.removed_records

    def noted(words: Any, *given: Any) -> IntArray:
        ranked.append(len(words))
        return correct(words, *given)

    monkeypatch.setattr(kept, "removed_records", noted)
    monkeypatch.setattr(kept, "_FEW_RECORDS", 0)
    rows = pa.table({"who": np.zeros(600, np.int64), "term": np.arange(600) % 7})
    found = []
    for memory in (600 * 116 - 1, 600 * 116):
        monkeypatch.setattr(kept, "memory_limit", lambda memory=memory: memory)
        found.append(profile(rows, 500))
    assert found[0] == found[1]
    assert ranked == [600]


def test_rows_with_a_problem_are_refused_before_anything_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kept, "_number_users", None)
    for users, labels, column in (
        (["u", None], ["a", "b"], "'who'"),
        (["u", "u"], ["a", None], "'term'"),
        ([None, "u"], [None, "a"], "'who'"),
    ):
        table = pa.table({"who": users, "term": labels})
        with refused(DataError, column):
            profile(table, 1)


def test_an_engine_that_loses_rows_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    correct = kept._number_users

    def wrong(*given: Any) -> UsersAbove:
        users = correct(*given)
        return UsersAbove(users.sizes + 1, users.halves)

    monkeypatch.setattr(kept, "_number_users", wrong)
    table = pa.table({"who": ["u"] * 3, "term": ["a"] * 3})
    with refused(DataError, "could not evaluate"):
        profile(table, 1)
