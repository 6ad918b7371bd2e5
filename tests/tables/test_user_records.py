"""Records removed in parts are those of plain Python, also where numbers are alike."""

import random
from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dphist as dh
from dphist.arrays import IntArray, WordArray
from dphist.tables.binning import held
from dphist.tables.counting.users import parts as user_parts
from dphist.tables.counting.users import records as records_in_parts
from dphist.tables.counting.users import sizes as user_sizes
from dphist.tables.counting.users.records import (
    Records,
    Removed,
    halves_of_hashes,
    remove_beyond,
    remove_in_parts,
)
from dphist.tables.counting.users.same import are_single_users
from dphist.tables.counting.users.sizes import PerhapsAbove
from dphist.tables.engine.rows import DuckRows
from tests.tables.binned_users import KEYS, kept, kept_in_python, some_rows, table_of
from tests.tables.test_user_places import unstirred

Rows = list[tuple[int, int]]  # user, term
LARGEST = 2**64 - 1
# Users who differ in bits that the order of rows sees, and in bits that it does not see.
USERS = {
    "few": [unstirred(number) for number in range(6)],
    "alike in high bits": list(range(6)),
    "alike in middle bits": [number << 60 for number in range(6)],
    "large": [LARGEST - number for number in range(6)],
}
# Terms of 8 bits, of 24, and of more, which some bits of `stir` stand for.
TERMS = {
    "few": list(range(9)),
    "many": [n << 20 for n in range(9)],
    "alike": [unstirred(number) for number in range(9)],
}


def finished(number: int) -> int:
    """Return DuckDB's hash of a whole number."""
    for _ in range(2):
        number = (number ^ number >> 32) * 0xD6E8FEB86659FD93 % 2**64
    return number ^ number >> 32


def in_python(rows: Rows, most: int, key: str) -> Counter[int]:
    """The terms of records with a place beyond `most` by the hashes of `DuckRows.hashed`."""
    first, second = int(key[:16], 16), int(key[16:], 16)
    turns: Counter[tuple[int, int]] = Counter()
    own: dict[int, list[tuple[int, int]]] = {}
    for user, term in rows:
        turns[user, term] += 1
        halves = finished(user ^ first) ^ finished(term ^ second)
        own.setdefault(user, []).append((finished(finished(halves) ^ turns[user, term]), term))
    return Counter(
        term
        for records in own.values()
        for hashed, term in records
        if sum(other <= hashed for other, _ in records) > most
    )


def records_of(rows: Rows) -> Records:
    users, terms = (np.array(column, np.uint64) for column in zip(*rows, strict=True))
    return Records(users, terms, np.arange(len(rows), dtype=np.int32))


def some_records(seed: str, users: list[int], terms: list[int]) -> Rows:
    draw = random.Random(seed)
    return [
        (draw.choice(users[: draw.randrange(1, 7)]), draw.choice(terms))
        for _ in range(draw.randrange(1, 90))
    ]


def removed(rows: list[Rows], most: int) -> tuple[Counter[int], list[Removed]]:
    halves = halves_of_hashes(KEYS[1])
    parts = remove_in_parts([records_of(own) for own in rows], None, most, halves, 2)
    return Counter(term for part in parts for term in part.terms.tolist()), parts


@pytest.mark.parametrize("users", USERS)
@pytest.mark.parametrize("terms", TERMS)
@pytest.mark.quick("[alike-few]", "[few-alike in high bits]", "[few-few]")
def test_records_removed_are_those_of_plain_python(
    users: str, terms: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(user_parts, "_PART_ROWS", 16)
    for seed in range(40):
        rows, most = some_records(f"{users} {seed}", USERS[users], TERMS[terms]), seed % 7 + 1
        expected = in_python(rows, most, KEYS[1])
        assert removed([rows], most)[0] == expected
        random.Random(seed).shuffle(rows)
        pieces = [rows[start : start + 25] for start in range(0, len(rows), 25)]
        found, parts = removed(pieces, most)
        assert found == expected
        counts = Counter(user for user, _ in rows)
        sizes = sorted(size for part in parts for size in part.sizes.tolist())
        assert sizes == sorted(n for n in counts.values() if n > most)


def test_records_of_each_user_above_the_bound_stand_together() -> None:
    rows = some_records("places", USERS["alike in middle bits"], TERMS["few"])
    found = remove_beyond(records_of(rows), 3, *halves_of_hashes(KEYS[0]))
    assert found.places is not None
    users = [rows[place][0] for place in found.places.tolist()]
    ends = np.cumsum(found.sizes).tolist()
    counts = Counter(user for user, _ in rows)
    own = [users[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    assert all(len(set(group)) == 1 for group in own)
    assert {group[0]: len(group) for group in own} == {u: n for u, n in counts.items() if n > 3}


def few_hashes(words: WordArray) -> WordArray:
    return words % np.uint64(7)


def test_of_equal_hashes_all_or_none_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records_in_parts, "mix", few_hashes)
    monkeypatch.setattr("tests.tables.test_user_records.finished", lambda word: word % 7)
    halves = (lambda users: users % np.uint64(7), lambda terms: terms % np.uint64(7))
    draw = random.Random(3)
    for most in (1, 2, 5):
        rows = [(draw.randrange(5), draw.randrange(9)) for _ in range(80)]
        expected = in_python(rows, most, "0" * 32)
        for _ in range(2):
            draw.shuffle(rows)
            gone = remove_beyond(records_of(rows), most, *halves).terms
            assert Counter(gone.tolist()) == expected


def test_what_is_removed_of_a_user_does_not_depend_on_others() -> None:
    """Also if another is alike where rows are ordered."""
    mine = [(1, term % 11) for term in range(40)]
    alone, _ = removed([mine], 5)
    for users in USERS.values():
        others = [(user, 100 + term) for user in users if user != 1 for term in range(9)]
        together, _ = removed([others + mine], 5)
        assert Counter({term: n for term, n in together.items() if term < 100}) == alone


@pytest.mark.parametrize("most", [1, 5, 10**6])
def test_no_record_of_a_user_above_the_bound_is_overlooked(most: int) -> None:
    draw, shift = np.random.default_rng(most), np.uint64(40)
    users = [draw.integers(0, 900, n).astype(np.uint64) << shift for n in (0, 3000, 1, 2000)]
    perhaps = PerhapsAbove(users, most, 2)
    together = np.concatenate(users)
    numbers = (together >> shift).astype(np.int64)
    above = np.bincount(numbers)[numbers] > most
    places = [perhaps.find(own) for own in users]
    ends = np.cumsum([0, *map(len, users)])[:-1]
    chosen = np.zeros(len(together), np.bool_)
    chosen[np.concatenate([own + end for own, end in zip(places, ends, strict=True)])] = True
    assert chosen[above].all()
    assert chosen.sum() == perhaps.records
    assert most < 10**6 or not chosen.any()


@pytest.mark.parametrize("block", [7, 2**16])
def test_records_are_found_in_blocks(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_sizes, "_BLOCK", block)
    rows = some_records("blocks", USERS["few"], TERMS["few"])
    assert removed([rows], 3)[0] == in_python(rows, 3, KEYS[1])


# --- Two users with one hash


def one_number(_: Any, __: str) -> tuple[str, bool]:
    """Give all values one hash."""
    return "42::UBIGINT", False


@pytest.mark.parametrize("most", [1, 4])
def test_users_of_one_hash_are_not_one(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = some_rows(most)
    monkeypatch.setattr(DuckRows, "number_of", one_number)
    monkeypatch.setattr("dphist.tables.reading.frames.ROWS_AT_ONCE", 20)
    assert kept(table_of(rows), most, KEYS[1]) == kept_in_python(rows, most, KEYS[1])


def chunked(users: list[str], ends: list[int]) -> pa.ChunkedArray:
    parts = [users[start:end] for start, end in pairwise([0, *ends, len(users)])]
    return pa.chunked_array(parts, pa.string())


@pytest.mark.parametrize("ends", [[], [0, 2, 3]])
@pytest.mark.parametrize("pair", [("a", "b"), ("a", "A"), ("a", "a\0"), ("", "\0"), ("ab", "a")])
def test_rows_with_another_user_are_noticed(pair: tuple[str, str], ends: list[int]) -> None:
    mine, other = pair
    # The groups are rows 4 and 5, and rows 3, 1 and 2; row 0 is in none.
    found = [
        Removed(np.zeros(0), np.array([2]), np.array([4, 5])),
        Removed(np.zeros(0), np.array([3]), np.array([3, 1, 2])),
    ]
    assert are_single_users(chunked([mine] * 6, ends), found, 2)
    assert are_single_users(chunked([other] + [mine] * 5, ends), found, 2)
    for place in range(1, 6):
        users = [mine] * 6
        users[place] = other
        assert not are_single_users(chunked(users, ends), found, 2)


def test_a_long_text_is_not_copied_for_each_row_of_its_group() -> None:
    """Somebody who makes a user with the hash of another's could else use up the memory."""
    rows = 3000
    users = chunked(["x" * 10**6] + ["y"] * (rows - 1), [])
    found = [Removed(np.zeros(0), np.array([rows]), np.arange(rows))]
    before = pa.default_memory_pool().max_memory()
    assert not are_single_users(users, found, 2)
    assert pa.default_memory_pool().max_memory() < max(before, 100 * 10**6)


def test_many_threads_have_few_arrays_of_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has up to 32 MB."""
    pieces: list[int] = []
    correct = user_sizes.in_threads

    def noted(work: Any, items: Any, threads: int) -> list[Any]:
        pieces.append(threads)
        return correct(work, items, threads)

    monkeypatch.setattr(user_sizes, "in_threads", noted)
    users = [np.arange(5, dtype=np.uint64)] * 600
    assert PerhapsAbove(users, 599, 512).records == 3000
    assert pieces[0] <= 4


@pytest.mark.parametrize("kind", ["pandas", "pyarrow"])
def test_users_are_read_once(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that writes into its own table meanwhile leaves no user above the bound."""
    users = np.array([7] * 10 + list(range(100, 110)))
    table = {"who": users, "x": np.zeros(20, np.int64)}
    frame = pd.DataFrame(table, copy=False) if kind == "pandas" else pa.table(table)
    correct = PerhapsAbove.find

    def then_written(self: PerhapsAbove, own: Any) -> Any:
        places = correct(self, own)
        users[:] = users[::-1].copy()
        return places

    monkeypatch.setattr(PerhapsAbove, "find", then_written)
    counts = dh.bin_counts(frame, column="x", edges=[0, 1], user="who", max_records=1)
    assert users[0] == 109
    assert counts.counts.sum() == 11


def test_both_ways_run_where_they_should(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests above would say nothing if one way were taken always."""
    ways: list[str] = []
    correct = held.count_kept

    def noted(*given: Any) -> IntArray:
        ways.append("DuckDB")
        return correct(*given)

    monkeypatch.setattr(held, "count_kept", noted)
    for rows in ([("u", 1), ("v", 1)], [("u", 1), ("u", 1), ("v", 1)]):
        kept(table_of(rows), 1)
        assert not ways
    monkeypatch.setattr(DuckRows, "number_of", one_number)
    kept(table_of([("u", 1), ("u", 1), ("v", 1)]), 1)
    assert ways == ["DuckDB"]
