"""Who has which label, on every engine against plain Python: `LabelCounts.sets`."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dphist.counting.bounding import held_pairs, ranked_sets
from dphist.counting.bounding.ranked_sets import Places
from dphist.counting.bounding.stores import Sets
from dphist.counting.engine.rows import DuckRows
from dphist.data.label_counts import LabelCounts
from dphist.errors import DataError
from dphist.labels.auto.measuring import count_cut
from tests.support.counting.contribution_engines import ENGINES, Engine, hashed, table_of
from tests.support.counting.contributions import KEYS, count, some_rows
from tests.support.refusal import refused

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")
every_engine = pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)


def kept(frame: Any, key: str, **options: Any) -> Sets:
    def source(n: int) -> bytes:
        return bytes.fromhex(key)[:n]

    named = {"label": "term", "user": "who", "source": source, **options}
    found = LabelCounts.from_table(frame, keep_sets=True, **named).sets
    assert found is not None
    return found


def rank_in_arrays(monkeypatch: pytest.MonkeyPatch, many: bool = True) -> None:
    """Take all rows for many, or for few."""
    monkeypatch.setattr("dphist.counting.engine.rows.FEW_ROWS", -1 if many else 2**16)


def ways_taken(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Note whether many rows are ranked in arrays from now on."""
    real, ways = ranked_sets.rank_sets, []

    def noted(*arguments: Any) -> Any:
        found = real(*arguments)
        ways.append(found[0] is not None)
        return found

    monkeypatch.setattr(ranked_sets, "rank_sets", noted)
    return ways


def as_lists(held: Sets) -> list[list[Any]]:
    """The labels of each user, users in an order of their own."""
    labels = held.labels.to_pylist()
    assert labels == sorted(set(labels), key=lambda label: str(label).encode())
    users = zip(held.starts, held.starts[1:], strict=False)
    sets = [[labels[i] for i in held.members[first:last]] for first, last in users]
    return sorted(sorted(own, key=str.encode) for own in sets)


@pytest.mark.long(every=4)
@every_engine
@pytest.mark.parametrize(("seed", "max_labels"), [(0, 2), (1, 1), (2, 5), (3, None)])
@pytest.mark.parametrize("many", [False, True], ids=["few", "many"])
@pytest.mark.quick(every=6)
def test_the_sets_are_those_of_plain_python(
    engine: Engine,
    seed: int,
    max_labels: int | None,
    many: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rank_in_arrays(monkeypatch, many)
    rows, key = some_rows(seed), KEYS[seed % 2]
    held = kept(engine.make(table_of(rows), tmp_path), key, count="n", max_labels=max_labels)
    users: dict[Any, set[str]] = {}
    for user, label, times in rows:
        if times:
            users.setdefault(user, set()).add(label)
    pairs = [(user, label, "") for user, own in users.items() for label in own]
    places = hashed(key, engine.name, pairs)
    expected = []
    for user, own in users.items():
        by_hash = sorted((places[user, label, ""], label) for label in own)
        expected.append(sorted((label for _, label in by_hash[:max_labels]), key=str.encode))
    assert as_lists(held) == sorted(expected)
    assert held.singles.tolist() == [0] * len(held.labels)
    counts = held.counts().to_pydict()
    assert counts["count"] == [sum(label in own for own in expected) for label in counts["label"]]


@pytest.mark.long(every=2)
@every_engine
@pytest.mark.parametrize("many", [False, True], ids=["few", "many"])
@pytest.mark.quick(every=4)
def test_rows_without_a_user(
    engine: Engine, many: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rank_in_arrays(monkeypatch, many)
    table = pa.table(
        {
            "who": pa.array([None, None, None, "u", "u", "v"]),
            "term": ["a", "a", "b", "a", "c", "a"],
        }
    )
    frame = engine.make(table, tmp_path)
    held = kept(frame, KEYS[0], max_labels=1, null_users="separate")
    singles = dict(zip(held.labels.to_pylist(), held.singles.tolist(), strict=True))
    assert [singles[label] for label in ("a", "b")] == [2, 1]
    assert len(held.members) == 2
    frame = engine.make(table, tmp_path)
    dropped = kept(frame, KEYS[0], max_labels=2, null_users="drop")
    assert as_lists(dropped) == [["a"], ["a", "c"]]
    with refused(DataError, "who"):
        kept(engine.make(table, tmp_path), KEYS[0], max_labels=2)


@every_engine
def test_without_a_column_of_users(engine: Engine, tmp_path: Path) -> None:
    frame = engine.make(table_of([("u", "a", 1), ("u", "a", 1), ("v", "b", 1)]), tmp_path)
    held = kept(frame, KEYS[0], user=None)
    assert held.labels.to_pylist() == ["a", "b"]
    assert held.singles.tolist() == [2, 1]
    assert len(held.members) == 0


def test_a_user_is_cut_like_counts_are() -> None:
    """The same labels of the same users are kept as by `LabelCounts` without sets."""
    rows = some_rows(7, 400)
    for key in KEYS:
        plain = count(table_of(rows), key, max_labels=3)
        held = kept(table_of(rows), key, max_labels=3)
        assert plain.largest(100).sort_by("label").equals(held.counts().sort_by("label"))


@pytest.mark.parametrize("many", [False, True], ids=["few", "many"])
@pytest.mark.parametrize("ties", [False, True], ids=["", "ties"])
def test_places_up_to_a_smaller_bound_are_what_it_keeps(
    many: bool, ties: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under one key: so a cap that is chosen later has the law of a bound that was fixed."""
    rank_in_arrays(monkeypatch, many)
    if ties:
        monkeypatch.setattr(DuckRows, "hash_columns", lambda *_: "hash(term) % 8")
    for seed, cap in itertools.product(range(6), (1, 2, 4)):
        rows = some_rows(seed, 90)
        held = kept(table_of(rows), KEYS[seed % 2], max_labels=5)
        cut = pa.Table.from_batches([count_cut(held, cap)])
        plain = count(table_of(rows), KEYS[seed % 2], max_labels=cap)
        assert plain.largest(100).sort_by("label").equals(cut)


def test_a_label_that_nobody_keeps_is_not_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    rank_in_arrays(monkeypatch)
    rows = [("u", label, 1) for label in "abcdef"]
    held = kept(table_of(rows), KEYS[0], max_labels=2)
    assert len(held.labels) == len(held.members) == 2
    assert held.counts()["count"].to_pylist() == [1, 1]


@pytest.mark.parametrize("part", [1 << 16, 8])
@pytest.mark.parametrize("turns", [1, 3])
def test_users_in_turns(turns: int, part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each part of a turn is written at a place of its own, and what users drop is closed up."""
    rows = some_rows(12, 200)
    few = kept(table_of(rows), KEYS[0], max_labels=2)
    rank_in_arrays(monkeypatch)
    ways = ways_taken(monkeypatch)
    monkeypatch.setattr(held_pairs, "_turns", lambda _: turns)
    monkeypatch.setattr("dphist.counting.bounding.user_parts._PART_ROWS", part)
    many = kept(table_of(rows), KEYS[0], max_labels=2)
    assert ways == [True]
    assert as_lists(few) == as_lists(many)


@pytest.mark.parametrize("column", ["who", "term"])
def test_equal_hashes_make_no_two_values_one(column: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = some_rows(13, 120)
    expected = as_lists(kept(table_of(rows), KEYS[0], max_labels=2))
    rank_in_arrays(monkeypatch)
    real = DuckRows.format_number

    def colliding(self: DuckRows, name: str) -> tuple[str, bool]:
        number, exact = real(self, name)
        return (f"{number} % 2", False) if name == column else (number, exact)

    monkeypatch.setattr(DuckRows, "format_number", colliding)
    ways = ways_taken(monkeypatch)
    found = kept(table_of(rows), KEYS[0], max_labels=2)
    assert ways == [False]
    assert as_lists(found) == expected


def test_a_label_that_changes_its_number_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    rank_in_arrays(monkeypatch)
    real, asked = DuckRows.format_number, []

    def changing(self: DuckRows, name: str) -> tuple[str, bool]:
        number, _ = real(self, name)
        asked.append(name)
        return f"xor({number}, {asked.count(name)}::UBIGINT)", False

    monkeypatch.setattr(DuckRows, "format_number", changing)
    with refused(DataError):
        kept(table_of(some_rows(3)), KEYS[0], max_labels=1)


def test_a_problem_is_reported_where_rows_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    rank_in_arrays(monkeypatch)
    table = pa.table({"who": ["u", "v"], "term": ["a", None]})
    with refused(DataError, "term"):
        kept(table, KEYS[0], max_labels=1)


@pytest.mark.parametrize("dropped", ["who", "term", "n"])
@pytest.mark.parametrize("left", [0, 1])
def test_many_rows_that_are_all_dropped_are_no_error(
    dropped: str, left: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error without the one user who is left would say that there is none."""
    rank_in_arrays(monkeypatch)
    columns: dict[str, list[Any]] = {"who": ["u"] * 9, "term": ["a"] * 9, "n": [1] * 9}
    columns[dropped][left:] = [0 if dropped == "n" else None] * (9 - left)
    types = pa.schema([("who", pa.string()), ("term", pa.string()), ("n", pa.int64())])
    table = pa.table(columns, types)
    held = kept(table, KEYS[0], count="n", max_labels=1, null_users="drop", null_labels="drop")
    assert as_lists(held) == [["a"]] * left
    assert len(held.labels) == len(held.members) == left


@pytest.mark.parametrize("number", [0, 1, 2, 1000])
def test_places_of_numbers(number: int) -> None:
    """Also of numbers whose stirred high bits agree."""
    draw = np.random.default_rng(number)
    numbers = draw.permutation(np.concatenate([np.arange(number), (np.arange(number) + 1) << 40]))
    words = numbers.astype(np.uint64)
    places = Places(words)
    order = draw.integers(0, max(len(words), 1), 3 * len(words))
    assert places.differ
    assert places.find(words[order]).tolist() == order.tolist()
    for missing in (2**63, 2**64 - 1, 5 << 50):
        with pytest.raises(RuntimeError, match="numbers"):
            places.find(np.array([missing], np.uint64))
    if number:
        assert not Places(np.append(words, words[:1])).differ
