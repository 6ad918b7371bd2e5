"""Users bounded in memory keep the rows that a private DuckDB keeps, and those of plain Python."""

import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dphist as dh
from dphist.counting.binning import users as binned
from dphist.counting.binning.users import bin_rows_bounded
from dphist.counting.bounding import kept as counting_kept
from dphist.counting.engine.private_duckdb import memory_limit
from dphist.errors import DataError
from tests.support.counting.backends import written
from tests.support.counting.binned_users import (
    GRID,
    KEYS,
    USERS,
    kept,
    kept_in_python,
    some_rows,
    table_of,
)
from tests.support.refusal import refused

pytestmark = pytest.mark.usefixtures("many_rows")


@pytest.mark.long(every=2)
@pytest.mark.quick("[text]", "[close integers]", "[large integers]", "[decimals]", every=4)
@pytest.mark.parametrize("kind", USERS)
def test_rows_that_are_held_are_kept_like_rows_that_are_streamed(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    users, stored = USERS[kind]
    draw = random.Random(kind)
    who = pa.array([draw.choice(users) for _ in range(200)], stored)
    table = pa.table({"who": who, "x": [draw.randrange(-2, 12) for _ in range(200)]})
    for most in (1, 25, 60):
        found = []
        for largest, turns in ((2**24, 1), (0, 1), (150, 1), (0, 3)):
            monkeypatch.setattr(binned, "MOST_ROWS", largest)
            monkeypatch.setattr(counting_kept, "_number_of_turns", lambda _, turns=turns: turns)
            monkeypatch.setattr("dphist.counting.reading.frames.ROWS_AT_ONCE", 40)
            found.append(kept(table, most, KEYS[1]))
        assert all(slots == found[0] for slots in found)
        assert sum(found[0]) <= most * len(users)


def test_rows_are_held_within_the_limit_of_memory() -> None:
    batch = pa.record_batch({"who": np.zeros(2**18, np.int8), "term": np.zeros(2**18, np.int64)})
    fits = 64 * 10**6 // binned.ROW_BYTES // len(batch)
    with dh.Resources(memory="64MB"):
        assert len(binned.hold_rows(iter([batch] * fits), AssertionError()))
        with pytest.raises(binned.TooManyRows):
            binned.hold_rows(iter([batch] * (fits + 1)), AssertionError())


@pytest.mark.parametrize("source", ["table", "file"])
def test_the_limit_of_memory_reaches_the_thread_that_reads(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []

    def noted() -> int:
        seen.append(memory_limit())
        return seen[0]

    monkeypatch.setattr(binned, "_FEW_ROWS", 1)
    monkeypatch.setattr(binned, "memory_limit", noted)
    table = pa.table({"who": ["a", "b", "c"], "x": [1, 2, 3]})
    if source == "file":
        pq.write_table(table, tmp_path / "rows.parquet")
    with dh.Resources(memory="100MB"):
        dh.bin_counts(
            tmp_path / "rows.parquet" if source == "file" else table,
            column="x", edges=[0, 9], user="who", max_records=1,
        )  # fmt: skip
    assert seen == [10**8]


@pytest.mark.parametrize("most", [1, 4])
def test_rows_that_are_streamed_are_those_of_plain_python(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = some_rows(most)
    monkeypatch.setattr(binned, "MOST_BYTES", 0)
    for key in KEYS:
        assert kept(table_of(rows), most, key) == kept_in_python(rows, most, key)


def test_progress_does_not_fall_where_rows_are_too_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, "t.csv", b"who,x\n" + b"a,2\nb,3\n" * 1000)
    for largest in (0, 2**24):
        monkeypatch.setattr(binned, "MOST_ROWS", largest)
        seen: list[float] = []
        slots = bin_rows_bounded(path, GRID, user="who", max_records=5, progress=seen.append)
        assert slots.sum() == 10
        assert seen == sorted(seen)
        assert seen.count(1.0) == 1


@pytest.mark.parametrize("largest", [0, 1, 2**24])
def test_rows_without_a_user_are_refused_alike(
    largest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binned, "MOST_ROWS", largest)
    for users in (["a", None], [None, None]):
        table = pa.table({"who": pa.array(users, pa.string()), "x": [1, 2]})
        with refused(DataError, "'who'", "without a user"):
            kept(table, 1)


def test_batches_of_two_types_are_no_stream() -> None:
    batches = [
        pa.record_batch({"term": pa.array([1]), "who": users})
        for users in (pa.array([1]), pa.array(["a"]))
    ]
    with pytest.raises(DataError, match="unfit"):
        binned.hold_rows(iter(batches), DataError("unfit"))
