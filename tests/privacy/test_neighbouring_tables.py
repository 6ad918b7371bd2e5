"""Whether two values are one label is decided by the two alone, in every engine and type.

A table has thousands of random rows, of values that some library calls equal and another does not,
or that hash alike. Its counts are compared with those of plain Python, which tells values apart by
their type and bytes, and with those of a neighbouring table.
"""

import datetime
import random
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

import dphist as dh
from dphist.counting.bounding.bounds import Bounds
from dphist.counting.bounding.contributions import count_labels
from tests.support.counting.backends import csv_text
from tests.support.counting.contribution_engines import spark
from tests.support.privacy.column_kinds import DAY, KINDS, column

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")

NOON = datetime.datetime(2020, 1, 1, 12)
ROWS = 3000


@dataclass(frozen=True)
class Engine:
    """One way to pass a table, and the kinds of `KINDS` that arrive as such."""

    name: str
    make: Callable[[pa.Table, Path], Any]
    kinds: frozenset[str]


def _parquet(table: pa.Table, folder: Path) -> Path:
    path = folder / "t.parquet"
    pyarrow.parquet.write_table(table, path)
    return path


def _csv(table: pa.Table, folder: Path) -> Path:
    path = folder / "t.csv"
    path.write_bytes(csv_text(table))
    return path


def _spark(table: pa.Table, _: Path) -> Any:
    return spark().createDataFrame(table)


EVERY, PLAIN = frozenset(KINDS), frozenset({"text", "int64"})
CONNECTION = duckdb.connect()
ENGINES = [
    Engine("arrow", lambda table, _: table, EVERY),
    Engine(
        "pandas", lambda table, _: table.to_pandas(), frozenset({"text", "categories", "int64"})
    ),
    Engine("pandas-arrow", lambda table, _: table.to_pandas(types_mapper=pd.ArrowDtype), EVERY),
    Engine("polars", lambda table, _: pl.from_arrow(table), EVERY),
    Engine(
        "polars-lazy", lambda table, _: pl.from_arrow(table).lazy(), frozenset({"text", "int64"})
    ),
    Engine("duckdb", lambda table, _: CONNECTION.from_arrow(table), EVERY),
    Engine("parquet", _parquet, EVERY - {"nanoseconds", "text view"}),
    Engine("csv", _csv, frozenset({"text"})),
    Engine("spark", _spark, frozenset({"text", "bytes", "int64", "decimals", "date"})),
]
CASES = [(engine, kind) for engine in ENGINES for kind in sorted(engine.kinds)]
each_case = pytest.mark.parametrize(
    ("engine", "kind"), CASES, ids=[f"{engine.name}-{kind}" for engine, kind in CASES]
)


def some_rows(kind: str, seed: int, rows: int = ROWS) -> list[tuple[Any, int]]:
    """Labels, of which some are frequent and some rare, and users, of which some have many."""
    draw = random.Random(seed)
    pool = KINDS[kind][1]
    weights = [2.0**-place for place in range(len(pool))]
    labels = draw.choices(pool, [max(weight, 0.001) for weight in weights], k=rows)
    return [(label, int(draw.paretovariate(0.6)) % 500) for label in labels]


def table_of(rows: list[tuple[Any, int]], kind: str) -> pa.Table:
    labels, users = [label for label, _ in rows], [user for _, user in rows]
    return pa.table({"label": column(labels, kind), "user": pa.array(users, pa.int64())})


def tells(value: Any) -> Any:
    """What tells a value from others, in Python."""
    return type(value).__name__, value.encode() if isinstance(value, str) else repr(value)


def counted_in_python(labels: list[Any]) -> list[int]:
    return sorted(Counter(map(tells, labels)).values(), reverse=True)


@pytest.mark.long(every=4)
@pytest.mark.quick("[arrow-", "-text]", every=8)
@each_case
def test_a_profile_is_that_of_plain_python_and_a_row_changes_one_cell(
    engine: Engine, kind: str, tmp_path: Path
) -> None:
    rows = some_rows(kind, seed=1)
    pool = KINDS[kind][1]
    profiles = []
    # The table, and it with one row more: a frequent value, a rare one, one that was not there.
    for more in ([], [pool[0]], [pool[-1]]):
        table = table_of([*rows, *((value, 10**6) for value in more)], kind)
        found = dh.Profile.from_table(engine.make(table, tmp_path), label="label")
        assert found.sorted_counts().tolist() == counted_in_python(
            [*(label for label, _ in rows), *more]
        )
        profiles.append(found)
    assert [profiles[0].distance(other) for other in profiles[1:]] == [1, 1]


@pytest.mark.long(every=4)
@pytest.mark.quick("[arrow-", "-text]", every=6)
@each_case
def test_a_user_changes_no_more_than_the_bounds(engine: Engine, kind: str, tmp_path: Path) -> None:
    rows = some_rows(kind, seed=2)
    pool = KINDS[kind][1]
    key, found, profiles = "5eed" * 8, [], []
    own = [(value, 10**6) for value in pool for _ in range(3)]
    for table in (table_of(rows, kind), table_of([*rows, *own], kind)):
        frame = engine.make(table, tmp_path)
        store, _ = count_labels(frame, {"label": "label", "user": "user"}, Bounds(2, 2), key=key)
        counts = store.largest(10**6)
        labels = map(tells, counts["label"].to_pylist())
        found.append(dict(zip(labels, counts["count"].to_pylist(), strict=True)))
        assert len(found[-1]) == len(counts)
        frame = engine.make(table, tmp_path)
        profiles.append(dh.Profile.from_table(frame, label="label", user="user", max_records=2))
    changes = {
        label: found[1].get(label, 0) - found[0].get(label, 0) for label in found[0] | found[1]
    }
    assert sorted(change for change in changes.values() if change) == [2, 2][: len(pool)]
    # Keys are drawn afresh for each: what others keep differs, but not how much they keep.
    assert profiles[1].total - profiles[0].total == 2


@pytest.mark.long(every=4)
@pytest.mark.quick("[arrow-", "-text]", every=7)
@each_case
def test_an_edge_changes_two_degrees(engine: Engine, kind: str, tmp_path: Path) -> None:
    rows, pool = [label for label, _ in some_rows(kind, seed=3)], KINDS[kind][1]
    half = len(rows) // 2
    sources, targets = rows[:half], rows[half:]
    profiles = []
    for more in ([], [(pool[0], pool[-1])], [(pool[-1], pool[-1])]):
        ends = [*sources, *(u for u, _ in more)], [*targets, *(v for _, v in more)]
        table = pa.table({"u": column(ends[0], kind), "v": column(ends[1], kind)})
        found = dh.Profile.from_edges(engine.make(table, tmp_path), source="u", target="v")
        assert found.sorted_counts().tolist() == counted_in_python([*ends[0], *ends[1]])
        profiles.append(found)
    assert all(profiles[0].distance(other) == 2 for other in profiles[1:])


# --- Python objects, of which some are equal and hash apart, or hash alike

SAME_DAY = [np.datetime64("2020-01-01"), DAY, datetime.datetime(2020, 1, 1), "2020-01-01"]
SAME_DAY += [pd.Timestamp("2020-01-01"), np.datetime64("2020-01-01T00", "ns")]
SAME_NUMBER = [
    5,
    5.0,
    np.int8(5),
    np.uint64(5),
    Decimal(5),
    np.timedelta64(5, "s"),
    True,
    1,
    "5",
    b"5",
]
SAME_NUMBER += [np.timedelta64(5000, "ms"), np.float32(5), complex(5), np.True_, np.str_("5")]
OBJECTS: list[list[Any]] = [
    ["a", "A", "\u00e4", "a\u0308", ""],
    [b"", b"\0", b"a"],
    [-1, 0, 1, 2**61 - 1, 2**61, 2**64, 10**37],  # hash(2**61 - 1) is hash(0)
    [True, False],
    [Decimal("1.5"), Decimal("1.50"), Decimal("-0"), Decimal(0), Decimal("1E+3"), Decimal(1000)],
    [DAY, DAY.replace(day=2)],
    [NOON, NOON.replace(fold=1), NOON.replace(microsecond=1)],
    [uuid.UUID(int=1), uuid.UUID(int=2**128 - 1)],
]


def objects(values: list[Any]) -> pd.DataFrame:
    return pd.DataFrame({"label": pd.Series(values, dtype=object)})


@pytest.mark.parametrize("pool", OBJECTS, ids=lambda pool: type(pool[0]).__name__)
@pytest.mark.quick(every=8)
def test_objects_of_one_type_are_told_apart_by_their_values(pool: list[Any]) -> None:
    draw = random.Random(4)
    rows = draw.choices(pool, k=ROWS)

    def equal_ones(values: list[Any]) -> list[int]:
        found: Counter[int] = Counter()
        for value in values:
            found[next(place for place, other in enumerate(pool) if other == value)] += 1
        return sorted(found.values(), reverse=True)

    without = dh.Profile.from_table(objects(rows), label="label")
    assert without.sorted_counts().tolist() == equal_ones(rows)
    for value in pool:
        with_row = dh.Profile.from_table(objects([*rows, value]), label="label")
        assert with_row.sorted_counts().tolist() == equal_ones([*rows, value])
        assert without.distance(with_row) == 1


@pytest.mark.verify
@pytest.mark.parametrize("pool", [SAME_DAY, SAME_NUMBER], ids=["one day", "one number"])
def test_whether_two_objects_are_one_label_never_hangs_on_a_third(pool: list[Any]) -> None:
    """Counted, or refused for one of them: never merged and split again by other rows."""
    draw = random.Random(5)
    refused = [value for value in pool if profile_of([value]) is None]
    accepted = 0
    for _ in range(500):
        rows = [*draw.choices(pool, k=draw.randrange(1, 4))] * draw.randrange(1, 20)
        third = draw.choice([*pool, "x", 7, DAY.replace(day=3)])
        found = [profile_of(values) for values in (rows, [*rows, third])]
        for values, profile in zip((rows, [*rows, third]), found, strict=True):
            assert (profile is None) == any(value is bad for value in values for bad in refused)
        if found[0] is not None and found[1] is not None:
            accepted += 1
            assert found[0].distance(found[1]) == 1
    assert accepted > 20
    assert refused


def profile_of(values: list[Any]) -> dh.Profile | None:
    try:
        return dh.Profile.from_table(objects(values), label="label")
    except dh.ColumnError:
        return None


def test_the_reproduction_of_the_review() -> None:
    rows = [np.datetime64("2020-01-01")] * 10 + [DAY] * 20
    for values in (rows, [*rows, "another"]):
        with pytest.raises(dh.ColumnError, match=r"'label' holds Python objects other than"):
            dh.Profile.from_table(objects(values), label="label")
        edges = pd.DataFrame({"u": pd.Series(values, dtype=object), "v": 1})
        with pytest.raises(dh.ColumnError, match=r"'u' holds Python objects other than"):
            dh.Profile.from_edges(edges, source="u", target="v")


def test_a_group_by_of_objects_would_be_noticed() -> None:
    """Power: pandas' own group-by makes one label of values that are equal and hash alike."""
    rows = [5, 5.0, Decimal(5)] * 5
    assert pd.Series(rows, dtype=object).value_counts().tolist() == [15]
    with pytest.raises(dh.ColumnError):
        dh.Profile.from_table(objects(rows), label="label")
