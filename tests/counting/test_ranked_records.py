"""Records dropped in parts are those of plain Python, also where numbers are alike."""

import random
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dphist as dh
from dphist.arrays import WordArray
from dphist.counting.binning import users as binned
from dphist.counting.bounding import kept as counting_kept
from dphist.counting.bounding import ranking, user_parts
from dphist.counting.bounding.kept import make_half
from dphist.counting.bounding.ranking import drop_in_parts, drop_records, hashes_beyond, mix
from dphist.counting.bounding.user_parts import PerhapsAbove, UserRows
from dphist.counting.engine.rows import DuckRows
from tests.support.counting import contribution_engines
from tests.support.counting.binned_users import KEYS, kept, kept_in_python, some_rows, table_of
from tests.support.counting.ranked import unstirred

pytestmark = pytest.mark.usefixtures("many_rows")

Rows = list[tuple[int, int]]  # user, term
LARGEST = 2**64 - 1
# Users who differ in bits that the order of rows sees, and in bits that it does not see.
USERS = {
    "few": list(range(6)),
    "alike in high bits": [unstirred(number) for number in range(6)],
    "alike in low bits": [unstirred(number << 60) for number in range(6)],
    "round": [number << 60 for number in range(6)],
    "large": [LARGEST - number for number in range(6)],
}
# Terms of few bits, of 24, and of more, which some bits of `stir` stand for.
TERMS = {
    "few": list(range(9)),
    "many": [n << 20 for n in range(9)],
    "alike": [unstirred(number) for number in range(9)],
}


def finished(number: int) -> int:
    """Return what `mix` makes of a number."""
    for _ in range(2):
        number = (number ^ number >> 32) * 0xD6E8FEB86659FD93 % 2**64
    return number ^ number >> 32


def in_python(rows: Rows, most: int, key: str) -> Counter[int]:
    """The terms of records with a place beyond `most` (proofs/bounding.md, Lemma 10)."""
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


def records_of(rows: Rows) -> UserRows:
    return UserRows(*(np.array(column, np.uint64) for column in zip(*rows, strict=True)))


def some_records(seed: str, users: list[int], terms: list[int]) -> Rows:
    draw = random.Random(seed)
    return [
        (draw.choice(users[: draw.randrange(1, 7)]), draw.choice(terms))
        for _ in range(draw.randrange(1, 90))
    ]


def halves_of(key: str) -> Any:
    return [make_half(int(half, 16), integers=False) for half in (key[:16], key[16:])]


def dropped(rows: list[Rows], most: int) -> Counter[int]:
    given = [records_of(own) for own in rows]
    perhaps = PerhapsAbove([own.users for own in given], most, 2)
    parts = drop_in_parts(given, perhaps, most, halves_of(KEYS[1]), 2)
    return Counter(term for part in parts for term in part.tolist())


@pytest.mark.parametrize("users", USERS)
@pytest.mark.parametrize("terms", TERMS)
@pytest.mark.quick("[alike-few]", "[few-alike in low bits]", "[few-few]")
def test_records_dropped_are_those_of_plain_python(
    users: str, terms: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(user_parts, "_PART_ROWS", 16)
    for seed in range(40):
        rows, most = some_records(f"{users} {seed}", USERS[users], TERMS[terms]), seed % 7 + 1
        expected = in_python(rows, most, KEYS[1])
        assert dropped([rows], most) == expected
        random.Random(seed).shuffle(rows)
        pieces = [rows[start : start + 25] for start in range(0, len(rows), 25)]
        assert dropped(pieces, most) == expected


def test_records_are_numbered_by_their_turns() -> None:
    """The records of one user and term stand together, in any order of rows."""
    rows = [(user, term) for user in (1, 2) for term in (5, 3, 5, 5)]
    for order in (rows, rows[::-1], rows[::2] + rows[1::2]):
        assert ranking._turns(ranking._order_rows(records_of(order))).tolist() == [1, 1, 2, 3] * 2


def test_turns_start_over_with_each_user() -> None:
    """Also where the last term of one is the first of the next: all rows may be in one bin."""
    rows = records_of([(1, 5), (1, 5), (2, 5), (2, 5)])
    assert ranking._turns(ranking._order_rows(rows)).tolist() == [1, 2, 1, 2]


def undone(mixed: int) -> int:
    """Return the number of which `mix` makes another."""
    inverse = pow(0xD6E8FEB86659FD93, -1, 2**64)
    for _ in range(2):
        mixed = (mixed ^ mixed >> 32) * inverse % 2**64
    return mixed ^ mixed >> 32


def test_different_numbers_have_different_hashes() -> None:
    numbers = np.random.default_rng(8).integers(0, LARGEST, 500, np.uint64, endpoint=True)
    numbers[:2] = 0, LARGEST
    mixed = mix(numbers.copy()).tolist()
    assert mixed == [finished(number) for number in numbers.tolist()]
    assert [undone(hashed) for hashed in mixed] == numbers.tolist()


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


def few_hashes(words: WordArray) -> WordArray:
    return words % np.uint64(7)


def test_of_equal_hashes_all_or_none_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking, "mix", few_hashes)
    monkeypatch.setattr("tests.counting.test_ranked_records.finished", lambda word: word % 7)
    halves = (lambda users: users % np.uint64(7), lambda terms: terms % np.uint64(7))
    draw = random.Random(3)
    for most in (1, 2, 5):
        rows = [(draw.randrange(5), draw.randrange(9)) for _ in range(80)]
        expected = in_python(rows, most, "0" * 32)
        for _ in range(2):
            draw.shuffle(rows)
            gone = drop_records(records_of(rows), most, *halves)
            assert Counter(gone.tolist()) == expected


def test_what_is_dropped_of_a_user_does_not_depend_on_others() -> None:
    """Also if another is alike where rows are ordered."""
    mine = [(1, term % 11) for term in range(40)]
    alone = dropped([mine], 5)
    for users in USERS.values():
        others = [(user, 100 + term) for user in users if user != 1 for term in range(9)]
        together = dropped([others + mine], 5)
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
    monkeypatch.setattr(user_parts, "_BLOCK", block)
    rows = some_records("blocks", USERS["few"], TERMS["few"])
    assert dropped([rows], 3) == in_python(rows, 3, KEYS[1])


# --- Two users with one hash


def one_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give all values but integers one hash, in the library and in plain Python."""
    real, in_python = DuckRows.format_number, contribution_engines._hash

    def number_of(self: DuckRows, name: str) -> tuple[str, bool]:
        number, exact = real(self, name)
        return (number, exact) if exact else ("42::UBIGINT", False)

    monkeypatch.setattr(DuckRows, "format_number", number_of)
    monkeypatch.setattr(
        contribution_engines,
        "_hash",
        lambda value: 42 if isinstance(value, str) else in_python(value),
    )


@pytest.mark.parametrize("largest", [2**24, 0], ids=["held", "streamed"])
@pytest.mark.parametrize("most", [1, 4])
def test_users_of_one_hash_are_not_one(
    most: int, largest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = some_rows(most)
    one_hash(monkeypatch)
    monkeypatch.setattr(binned, "MOST_ROWS", largest)
    monkeypatch.setattr("dphist.counting.reading.frames.ROWS_AT_ONCE", 20)
    assert kept(table_of(rows), most, KEYS[1]) == kept_in_python(rows, most, KEYS[1])


def test_many_threads_have_few_arrays_of_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has up to 32 MB."""
    pieces: list[int] = []
    correct = user_parts.in_threads

    def noted(work: Any, items: Any, threads: int) -> list[Any]:
        pieces.append(threads)
        return correct(work, items, threads)

    monkeypatch.setattr(user_parts, "in_threads", noted)
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
    correct = counting_kept._number_one_by_one

    def noted(*given: Any) -> Any:
        ways.append("one by one")
        return correct(*given)

    monkeypatch.setattr(counting_kept, "_number_one_by_one", noted)
    for rows in ([("u", 1), ("v", 1)], [("u", 1), ("u", 1), ("v", 1)]):
        kept(table_of(rows), 1)
        assert not ways
    one_hash(monkeypatch)
    kept(table_of([("u", 1), ("u", 1), ("v", 1)]), 1)
    assert ways == ["one by one"]
