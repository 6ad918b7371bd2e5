"""Users bounded in arrays keep the labels that a window keeps, whatever the values and the ties."""

import ctypes
import datetime
import random
import weakref
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dphist import Resources
from dphist.counting.bounding import bounds, held_pairs, stores
from dphist.counting.engine.rows import DuckRows
from dphist.errors import DataError
from tests.support.counting.contribution_engines import bounded, table_of
from tests.support.counting.contributions import (
    KEYS,
    WITH,
    WITHOUT,
    as_dict,
    count,
    falls,
    most_changed,
    some_rows,
)
from tests.support.refusal import refused

WAYS = ["few", "arrays", "window"]
DAY = datetime.date(2026, 1, 1)
VALUES: dict[str, tuple[list[Any], pa.DataType]] = {
    "text": (["u", "U", "ü", "", " u", "1"], pa.string()),
    "bytes": ([b"u", b"U", b"\xff", b"", b"\0", b"1"], pa.binary()),
    "small integers": ([-3, -2, -1, 0, 1, 2], pa.int8()),
    "integers": ([-(2**63), 2**63 - 1, 0, -1, 10**12, 1], pa.int64()),
    "large integers": ([2**64 - 1, 2**63, 2**63 - 1, 0, 1, 2**40], pa.uint64()),
    "truth": ([True, False], pa.bool_()),
    "days": ([DAY + datetime.timedelta(n) for n in range(6)], pa.date32()),
    "moments": ([10**15 + n for n in range(6)], pa.timestamp("us", "UTC")),
    "decimals": ([Decimal(n) / 100 for n in range(-3, 3)], pa.decimal128(9, 2)),
}


def go(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bound in this way from now on."""
    few = 2**16 if way == "few" else -1
    monkeypatch.setattr("dphist.counting.engine.rows.FEW_ROWS", few)
    if way == "window":
        monkeypatch.setattr(bounds, "bound_in_arrays", lambda *_: None)


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    go(request.param, monkeypatch)
    return str(request.param)


@pytest.mark.long(every=4)
@pytest.mark.quick("[table-", "-text]", every=10)
@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("source", ["table", "file"])
def test_all_ways_keep_the_same(kind: str, source: str, tmp_path: Path) -> None:
    """Users of each type, and labels of the same."""
    values, stored = VALUES[kind]
    draw = random.Random(kind)
    columns = {
        "who": pa.array(draw.choices(values, k=90), stored),
        "term": pa.array(draw.choices(values, k=90), stored),
    }
    frame: Any = pa.table(columns)
    if source == "file":
        pq.write_table(frame, tmp_path / "rows.parquet")
        frame = tmp_path / "rows.parquet"
    for most in (1, 2, 9):
        found = []
        for way in WAYS:
            with pytest.MonkeyPatch.context() as patched:
                go(way, patched)
                found.append(as_dict(count(frame, KEYS[1], max_labels=most)))
        assert found[0] == found[1] == found[2]
        assert sum(found[0].values()) <= most * len(values)
        if most == 9:
            assert sum(found[0].values()) == len(
                set(zip(*map(pa.Array.to_pylist, columns.values()), strict=True))
            )


def test_counts_are_those_of_plain_python(way: str) -> None:
    rows = some_rows(4, 200)
    for most in (1, 3):
        counts = as_dict(count(table_of(rows), KEYS[0], count="n", max_labels=most))
        assert counts == bounded(rows, most, 1, KEYS[0])


def test_the_order_of_rows_does_not_matter(way: str) -> None:
    rows = some_rows(6, 80)
    found = []
    for seed in range(3):
        random.Random(seed).shuffle(rows)
        found.append(as_dict(count(table_of(rows), KEYS[0], max_labels=2)))
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.quick("[arrays-2]", "[window-1]")
def test_a_user_changes_no_more_than_the_bounds(way: str, most: int) -> None:
    """The pairs of tables of `test_contributions`."""
    tables = [
        as_dict(count(table_of(rows), KEYS[0], count="n", max_labels=most))
        for rows in (WITHOUT, WITH)
    ]
    assert most_changed(*tables) == (most, 1)
    assert not falls(*tables)


def test_neighbors_that_are_bounded_in_two_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    """A collision, or one row more, may change the way, and must change nothing else."""
    found = []
    for way, rows in zip(["arrays", "window", "few"], [WITHOUT, WITH, WITHOUT], strict=True):
        with pytest.MonkeyPatch.context() as patched:
            go(way, patched)
            found.append(as_dict(count(table_of(rows), KEYS[0], count="n", max_labels=2)))
    assert most_changed(found[0], found[1]) == most_changed(found[2], found[1]) == (2, 1)


@pytest.mark.long(every=2)
@pytest.mark.parametrize("numbers", ["0", "hash(term) % 3"])
@pytest.mark.quick("[arrays-0]", "[window-0]")
def test_of_equal_ranks_no_more_are_kept_than_the_bound(
    way: str, numbers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DuckRows, "hash_columns", lambda *_: numbers)
    rank = (lambda _: 0) if numbers == "0" else _thirds
    labels = {"u": "abcdef", "v": "c", "w": "abab"}
    rows = [(user, label, 1) for user, own in labels.items() for label in own]
    for most in (1, 2, 3, 6):
        expected = [
            label
            for own in map(set, labels.values())
            for label in own
            if sum(rank(other) <= rank(label) for other in own) <= most
        ]
        found = as_dict(count(table_of(rows), max_labels=most))
        assert found == {label: expected.count(label) for label in set(expected)}


def _thirds(label: str) -> int:
    return int(duckdb.execute("SELECT hash(?::VARCHAR) % 3", [label]).fetchall()[0][0])


@pytest.mark.parametrize("column", ["who", "term"])
def test_equal_hashes_make_no_two_values_one(column: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then a window bounds the same rows; so a made-up collision changes no count."""
    go("arrays", monkeypatch)
    rows = some_rows(7, 120)
    expected = as_dict(count(table_of(rows), KEYS[0], max_labels=2))
    real, windows = DuckRows.format_number, []

    def colliding(self: DuckRows, name: str) -> tuple[str, bool]:
        number, exact = real(self, name)
        return (f"{number} % 2", False) if name == column else (number, exact)

    def ranked(*arguments: Any) -> Any:
        windows.append(1)
        return rank(*arguments)

    rank = bounds._rank
    monkeypatch.setattr(DuckRows, "format_number", colliding)
    monkeypatch.setattr(bounds, "_rank", ranked)
    assert as_dict(count(table_of(rows), KEYS[0], max_labels=2)) == expected
    assert windows == [1]
    assert expected == bounded(rows_once(rows), 2, 1, KEYS[0])


def test_numbers_that_do_not_fit_into_memory_are_compared_by_the_engine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(held_pairs, "_ROWS_AT_ONCE", 2)
    monkeypatch.setattr(held_pairs, "_turns", lambda _: 1)
    monkeypatch.setattr(held_pairs, "memory_limit", lambda: 0)
    test_equal_hashes_make_no_two_values_one("term", monkeypatch)
    rows, windows = some_rows(7, 120), []
    monkeypatch.undo()
    go("arrays", monkeypatch)
    monkeypatch.setattr(held_pairs, "_ROWS_AT_ONCE", 2)
    monkeypatch.setattr(held_pairs, "_turns", lambda _: 1)
    monkeypatch.setattr(held_pairs, "memory_limit", lambda: 0)
    monkeypatch.setattr(bounds, "_rank", lambda *_: windows.append(1))
    counts = as_dict(count(table_of(rows_once(rows)), KEYS[0], max_labels=2))
    assert counts == bounded(rows_once(rows), 2, 1, KEYS[0])
    assert windows == []


def test_numbers_of_labels_take_no_more_memory_than_they_are_told_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Views of batches held all columns of these, besides a copy of the numbers."""
    monkeypatch.setattr(held_pairs, "_ROWS_AT_ONCE", 2048)
    real, seen = held_pairs._compute_sums, []

    def noted(labels: Any, records: Any) -> Any:
        assert not [each for each in seen if each() is not None]
        seen.append(weakref.ref(labels))
        return real(labels, records)

    monkeypatch.setattr(held_pairs, "_compute_sums", noted)
    connection = duckdb.connect()
    numbers = connection.sql(
        "SELECT i % 9999 AS label, 1::BIGINT AS records FROM range(10000) t(i)"
    )
    assert not held_pairs._read_numbers(DuckRows(connection, numbers), 10_000)[1]
    assert len(seen) > 1


def rows_once(rows: list[tuple[Any, str, int]]) -> list[tuple[Any, str, int]]:
    return [(user, label, 1) for user, label, _ in rows]


def test_a_label_that_changes_its_number_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise its rows would count without a bound."""
    go("arrays", monkeypatch)
    real, asked = DuckRows.format_number, []

    def changing(self: DuckRows, name: str) -> tuple[str, bool]:
        number, _ = real(self, name)
        asked.append(name)
        return f"xor({number}, {asked.count(name)}::UBIGINT)", False

    monkeypatch.setattr(DuckRows, "format_number", changing)
    with refused(DataError):
        count(table_of(some_rows(3)), max_labels=1)


@pytest.mark.parametrize("turns", [2, 5])
def test_users_in_turns(turns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    go("arrays", monkeypatch)
    monkeypatch.setattr(held_pairs, "_turns", lambda _: turns)
    rows = some_rows(8, 200)
    counts = as_dict(count(table_of(rows), KEYS[0], count="n", max_labels=2))
    assert counts == bounded(rows, 2, 1, KEYS[0])


def test_more_rows_than_fit_take_turns() -> None:
    with Resources(memory="64MB"):
        fits = 64 * 10**6 // held_pairs.ROW_BYTES // held_pairs.SHARE
        assert held_pairs._turns(max(fits, held_pairs._ROWS_AT_ONCE)) == 1
        assert held_pairs._turns(10 * fits) == 10


@pytest.mark.parametrize("stored", [pa.string(), pa.binary()])
@pytest.mark.parametrize("source", ["table", "lazy"])
@pytest.mark.parametrize("column", ["who", "term"])
@pytest.mark.quick(every=3)
def test_a_few_rows_of_long_text_are_not_converted(
    column: str, source: str, stored: pa.DataType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A column of 2 GB of text cannot leave DuckDB in one piece, nor be limited in memory there."""
    monkeypatch.setattr("dphist.counting.engine.rows.FEW_BYTES", 10_000)
    real, few = held_pairs.bound_few, []

    def seen(*arguments: Any) -> Any:
        few.append(1)
        return real(*arguments)

    monkeypatch.setattr(held_pairs, "bound_few", seen)
    monkeypatch.setattr(bounds, "bound_few", seen)
    for length, expected in ((10, [1]), (1000, [])):
        few.clear()
        long = pa.array(["x" * length] * 20).cast(stored)
        table = pa.table({"who": pa.array(range(20)), "term": pa.array(range(20))})
        table = table.set_column(table.schema.get_field_index(column), column, long)
        frame = table if source == "table" else pl.from_arrow(table).lazy()
        assert sum(as_dict(count(frame, max_labels=20)).values()) == 20
        assert few == expected


# --- One evaluation of the source


def test_a_file_that_changes_is_read_once(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rows.parquet"
    before, after = table_of(some_rows(9)), table_of([("z", "z", 1)])
    expected = as_dict(count(before, KEYS[0], max_labels=2))
    pq.write_table(before, path)
    real = held_pairs.hold_pairs

    def changed(rows: DuckRows) -> DuckRows:
        held = real(rows)
        pq.write_table(after, path)
        return held

    monkeypatch.setattr(bounds, "hold_pairs", changed)
    assert as_dict(count(path, KEYS[0], max_labels=2)) == expected


@pytest.mark.parametrize("kind", [pa.int64(), pa.uint64(), pa.string()], ids=str)
def test_memory_that_changes_between_two_steps_is_noticed(
    kind: pa.DataType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise rows would be counted for one label and taken off another: without a bound."""
    go("arrays", monkeypatch)
    terms = np.arange(200) // 10
    users = pa.array(["u"] * 200)
    column = pa.array(terms).cast(kind)  # of numbers: the memory of `terms`
    held = column.buffers()[-1]
    written = np.frombuffer(held, np.uint8).copy()
    written[: len(written) // 2] = written[len(written) // 2 :][: len(written) // 2]
    real = held_pairs.users_differ

    def changed(rows: DuckRows) -> bool:
        ctypes.memmove(held.address, written.ctypes.data, held.size)
        return real(rows)

    table = pa.table({"who": users, "term": column})
    assert sum(as_dict(count(table, max_labels=3)).values()) == 3
    monkeypatch.setattr(held_pairs, "users_differ", changed)
    with refused(DataError):
        count(table, max_labels=3)


def test_random_rows_are_evaluated_once(way: str) -> None:
    relation = duckdb.sql("SELECT i % 20 AS who, random()::VARCHAR AS term FROM range(200) t(i)")
    counts = as_dict(count(relation, max_labels=3))
    assert sum(counts.values()) == 60
    calls = []

    def seen(frame: pl.DataFrame) -> pl.DataFrame:
        calls.append(1)
        return frame

    schema = {"who": pl.String, "term": pl.String, "n": pl.Int64}
    lazy = pl.from_arrow(table_of(some_rows(1))).lazy().map_batches(seen, schema=schema)
    count(lazy, max_labels=2)
    assert len(calls) == 1


def test_missing_users_and_labels(way: str) -> None:
    rows = [(None, "a", 1), ("u", None, 1), ("u", "a", 1), ("u", "b", 1)]
    table = table_of(rows)
    with refused(DataError, "'who'"):
        count(table, max_labels=1)
    with refused(DataError, "'term'"):
        count(table, max_labels=1, null_users="drop")
    kept = as_dict(count(table, max_labels=2, null_users="drop", null_labels="drop"))
    assert kept == {"a": 1, "b": 1}


@pytest.mark.parametrize("way", WAYS[1:])
def test_no_rows_stay_behind(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where many labels stay in DuckDB, the rows of users do not."""
    go(way, monkeypatch)
    monkeypatch.setattr(stores, "_FEW", 0)
    made = []
    real = stores.DuckStore.settle

    def settled(self: stores.DuckStore, stack: Any) -> stores.Store:
        made.append(self._connection)
        return real(self, stack)

    monkeypatch.setattr(stores.DuckStore, "settle", settled)
    for frame in (table_of(some_rows(2)), pl.from_arrow(table_of(some_rows(2))).lazy()):
        held = count(frame, max_labels=2)
        tables = made[-1].cursor().sql("SELECT table_name FROM duckdb_tables()").fetchall()
        assert tables == [("counted",)]
        assert as_dict(held)
