"""Bounding what a user contributes: the same on every engine, and stable for every key."""

import datetime
import itertools
import os
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from pyspark.sql.functions import udf

from dphist import Profile
from dphist.counting.bounding.contributions import count_bounded_records
from dphist.data.label_counts import LabelCounts
from dphist.errors import ColumnError, DataError, InputFileError, ParameterError
from dphist.privacy import PrivacyUnit
from tests.support.counting.contribution_engines import (
    ENGINES,
    TYPED,
    Engine,
    Rows,
    bounded,
    hash_texts,
    spark,
    table_of,
)
from tests.support.counting.contributions import (
    BOUNDS,
    FOUR,
    KEYS,
    USERS,
    WITH,
    WITHOUT,
    WORLDS,
    as_dict,
    choices_of,
    count,
    falls,
    kept_records,
    laws,
    most_changed,
    some_rows,
)
from tests.support.goodness import LEVEL
from tests.support.refusal import SENTINEL, refused

# PySpark advises against pandas 3; nothing here hands it a pandas frame.
pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")


every_engine = pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
typed_engine = pytest.mark.parametrize("engine", TYPED, ids=lambda engine: engine.name)


# --- The same counts on every engine, for the same key


@pytest.mark.quick("arrow", "pandas", "polars", "duckdb", "csv", "parquet", "1-1-1-spark")
@every_engine
@pytest.mark.parametrize(("seed", "max_labels", "max_count"), [(0, 2, 3), (1, 1, 1), (2, None, 5)])
def test_the_counts_are_those_of_plain_python(
    engine: Engine, seed: int, max_labels: int | None, max_count: int, tmp_path: Path
) -> None:
    rows = some_rows(seed)
    frame = engine.make(table_of(rows), tmp_path)
    key = KEYS[seed % 2]
    counts = count(frame, key, count="n", max_labels=max_labels, max_count=max_count)
    assert (counts.max_labels, counts.max_count) == (max_labels, max_count)
    assert as_dict(counts) == bounded(rows, max_labels, max_count, key, engine.name)


@pytest.mark.quick(every=3)
@typed_engine
def test_users_of_an_integer_type_and_rows_that_count_one(engine: Engine, tmp_path: Path) -> None:
    rows = [(draw % 5 - 2, f"t{draw % 7}", 1) for draw in range(80)]
    frame = engine.make(table_of(rows, pa.int64()).drop_columns("n"), tmp_path)
    counts = count(frame, KEYS[1], max_labels=3, max_count=2)
    assert as_dict(counts) == bounded(rows, 3, 2, KEYS[1], engine.name)


@every_engine
@pytest.mark.quick(every=4)
def test_without_a_user_each_row_is_one(engine: Engine, tmp_path: Path) -> None:
    frame = engine.make(table_of([("u", "a", 5), ("u", "a", 1), ("v", "b", 0)]), tmp_path)
    counts = count(frame, user=None)
    assert (counts.max_labels, counts.max_count, counts.unit) == (1, 1, PrivacyUnit("row"))
    assert as_dict(counts) == {"a": 2, "b": 1}
    assert as_dict(count(frame, user=None, count="n", max_count=3)) == {"a": 4}


@pytest.mark.quick(every=3)
@every_engine
def test_without_rows(engine: Engine, tmp_path: Path) -> None:
    counts = count(engine.make(table_of([]), tmp_path), max_labels=2)
    assert as_dict(counts) == {}
    assert counts.largest(3).num_rows == 0
    assert counts.counts_of([]) == []


@every_engine
def test_counts_that_would_wrap_stop_at_the_largest(engine: Engine, tmp_path: Path) -> None:
    largest = 2**62 - 1
    rows = [(f"u{i // 2}", "a", largest) for i in range(10)] + [("u", "b", largest), ("u", "b", 1)]
    counts = count(engine.make(table_of(rows), tmp_path), count="n", max_count=largest)
    assert as_dict(counts) == {"a": largest, "b": largest}


@pytest.mark.parametrize("max_labels", [1, 3, None])
@pytest.mark.parametrize("named", [{}, {"count": "n"}], ids=["rows", "counts"])
@pytest.mark.quick("[counts-1]")
def test_pairs_without_sums_are_those_with_sums(
    max_labels: int | None, named: dict[str, str]
) -> None:
    """With max_count 1 pairs are counted; with null_users "separate" amounts are added up."""
    table = table_of(some_rows(5, 200))
    bounds = {"max_labels": max_labels, **named}
    expected = as_dict(count(table, KEYS[1], null_users="separate", **bounds))
    assert as_dict(count(table, KEYS[1], **bounds)) == expected
    dropped = as_dict(count(table, KEYS[1], null_users="drop", null_labels="drop", **bounds))
    assert dropped == expected


def test_a_problem_is_reported_however_many_rows_have_one() -> None:
    """Rows with problems share no places: the worst of them is reported, and not the first."""
    kinds: Rows = [(None, "a", 1), ("u", None, 1), ("u", "a", -1), ("u", "a", 2**62)]
    table = table_of(kinds * 3 + [("u", "a", 1), ("u", "b", 1)])
    for order in (table, table.take(list(reversed(range(len(table)))))):
        for key in [f"{n:032x}" for n in range(8)]:
            with refused(DataError, "'who'"):
                count(order, key, count="n", max_labels=1)


# --- The law of the choice


@every_engine
@pytest.mark.quick(every=4)
def test_labels_are_kept_evenly_and_independently(engine: Engine, tmp_path: Path) -> None:
    counts = count(engine.make(table_of(FOUR), tmp_path), KEYS[1], max_labels=2)
    choices = choices_of(as_dict(counts))
    assert {len(choice) for choice in choices} == {2}
    assert min(laws(choices)) > LEVEL


def test_the_law_notices_a_favourite_and_a_neighbour() -> None:
    draw = random.Random(0)
    pairs = list(itertools.combinations("abcd", 2))
    weights = [1.4, 1, 1, 1, 1, 1]
    assert min(laws(draw.choices(pairs, weights, k=USERS))) < LEVEL
    chosen = draw.choices(pairs, k=USERS // 2)
    twice = [pair if draw.random() < 0.3 else draw.choice(pairs) for pair in chosen]
    dependent = list(itertools.chain.from_iterable(zip(chosen, twice, strict=True)))
    assert laws(dependent)[1] < LEVEL  # type: ignore[arg-type]


def test_each_half_of_the_key_matters() -> None:
    table = pa.table({"who": ["u"] * 40, "term": [f"t{i}" for i in range(40)]})
    halves = ["00" * 8, "01" * 8]
    keys = ["".join(pair) for pair in itertools.product(halves, repeat=2)]
    choices = {tuple(sorted(as_dict(count(table, key, max_labels=20)))) for key in keys}
    assert len(choices) == len(keys)


@pytest.mark.parametrize("name", ["duckdb", "spark"])
def test_each_call_draws_a_fresh_key(name: str, tmp_path: Path) -> None:
    engine = next(engine for engine in ENGINES if engine.name == name)
    frame = engine.make(table_of(FOUR[:400]), tmp_path)
    one, two = (as_dict(count(frame, max_labels=2)) for _ in range(2))
    assert one != two  # the same with probability 6 ** -100


# --- Stability: for every key, a user changes at most so much


@pytest.mark.long(every=4)
@pytest.mark.quick("-pyarrow]", "-duckdb]", "-csv]", "-polars]")
@every_engine
@pytest.mark.parametrize(("max_labels", "max_count"), BOUNDS)
def test_a_user_changes_no_more_than_the_bounds(
    engine: Engine, max_labels: int, max_count: int, tmp_path: Path
) -> None:
    (tmp_path / "with").mkdir()
    options = {"count": "n", "max_labels": max_labels, "max_count": max_count}
    without = as_dict(count(engine.make(table_of(WITHOUT), tmp_path), KEYS[0], **options))
    with_user = as_dict(count(engine.make(table_of(WITH), tmp_path / "with"), KEYS[0], **options))
    # Equal, as some world has a user who uses up either bound.
    assert most_changed(without, with_user) == (max_labels, max_count)
    assert not falls(without, with_user)


Bounding = Callable[[Rows, int, int, int], dict[str, int]]


def after_counting(rows: Rows, max_labels: int, max_count: int, run: int) -> dict[str, int]:
    """The bounds are applied to all users together."""
    return bounded(
        [(label.split(":")[0], label, n) for _, label, n in rows], max_labels, max_count, KEYS[0]
    )


def by_a_stream(rows: Rows, max_labels: int, max_count: int, run: int) -> dict[str, int]:
    """One seeded generator for all users, one after another."""
    draw = random.Random(0)
    counts: Counter[str] = Counter()
    for user in sorted({user for user, _, _ in rows}):
        own: Counter[str] = Counter()
        for row in rows:
            own[row[1]] += row[2] * (row[0] == user)
        there = sorted(label for label in own if own[label])
        for label in draw.sample(there, min(max_labels, len(there))):
            counts[label] += min(own[label], max_count)
    return dict(counts)


def count_by_row(rows: Rows, max_labels: int, max_count: int, run: int) -> dict[str, int]:
    """Each row is cut to the bound, and not what they add up to."""
    cut = [(user, label, min(n, max_count)) for user, label, n in rows]
    return bounded(cut, max_labels, 10**9, KEYS[0])


def another_key(rows: Rows, max_labels: int, max_count: int, run: int) -> dict[str, int]:
    """The choice is made again for each evaluation."""
    return bounded(rows, max_labels, max_count, KEYS[run])


def sound(rows: Rows, max_labels: int, max_count: int, run: int) -> dict[str, int]:
    return bounded(rows, max_labels, max_count, KEYS[0])


@pytest.mark.parametrize("wrong", [after_counting, by_a_stream, count_by_row, another_key])
@pytest.mark.quick(every=2)
def test_a_planted_bug_is_noticed(wrong: Bounding) -> None:
    # A few worlds are enough, and the stream is slow on many users.
    few = WORLDS[::8]
    without = [row for theirs, _ in few for row in theirs]
    with_user = [row for theirs, own in few for row in own + theirs]
    changes = [
        most_changed(bound(without, 2, 1, 0), bound(with_user, 2, 1, 1)) for bound in (wrong, sound)
    ]
    assert changes[0][0] > 2 or changes[0][1] > 1
    assert changes[1] == (2, 1)
    fallen = [falls(bound(without, 2, 1, 0), bound(with_user, 2, 1, 1)) for bound in (wrong, sound)]
    assert fallen == [wrong is not count_by_row, False]


def test_of_equal_hashes_no_more_are_kept_than_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    from dphist.counting.engine.rows import DuckRows

    monkeypatch.setattr(DuckRows, "hash_columns", lambda *_: "0")
    table = table_of([("u", "b", 1), ("u", "a", 1), ("v", "c", 1)])
    assert as_dict(count(table, max_labels=1)) == {"c": 1}
    assert as_dict(count(table, max_labels=2)) == {"a": 1, "b": 1, "c": 1}


# --- Evaluated once


def test_a_lazy_frame_is_evaluated_once() -> None:
    calls = []

    def seen(frame: pl.DataFrame) -> pl.DataFrame:
        calls.append(1)
        return frame

    lazy = pl.from_arrow(table_of(FOUR[:40])).lazy()
    counts = count(
        lazy.map_batches(seen, schema={"who": pl.String, "term": pl.String, "n": pl.Int64}),
        max_labels=2,
    )
    _three_answers_agree(counts)
    assert len(calls) == 1


@pytest.mark.parametrize(
    "bounds", [{"max_count": 1}, {"max_count": 2}, {"max_count": 2, "users_by_labels": 9}]
)
def test_a_random_relation_is_evaluated_once(bounds: dict[str, Any]) -> None:
    import duckdb

    connection = duckdb.connect()
    relation = connection.sql(
        "SELECT i % 20 AS who, random()::VARCHAR AS term FROM range(100) t(i)"
    )
    _three_answers_agree(count(relation, max_labels=2, **bounds))
    # Nothing is left behind on the caller's connection.
    assert connection.sql("SHOW ALL TABLES").fetchall() == []


@pytest.mark.verify
def test_random_rows_of_spark_are_evaluated_once() -> None:
    frame = spark().range(100).selectExpr("id % 20 AS who", "uuid() AS term")
    _three_answers_agree(count(frame, max_labels=2))


@pytest.mark.verify
def test_what_spark_forgets_is_not_drawn_again() -> None:
    """A cache may be dropped, and would be filled again from the source; a checkpoint is not."""
    source = spark().range(100).selectExpr("id % 20 AS who", "uuid() AS term")
    # One that Spark does not take for a function of a seed in the plan, as it does uuid().
    draw = udf(lambda _: str(random.SystemRandom().randrange(10**9))).asNondeterministic()
    source = source.select("who", draw("term").alias("term"))
    counts = count(source, max_labels=2)
    first = as_dict(counts)
    spark().catalog.clearCache()
    assert as_dict(counts) == first


@pytest.mark.verify
def test_a_task_lost_while_bounding_chooses_the_same_again(tmp_path: Path) -> None:
    """The first attempt at each partition of the source ends its worker."""
    folder = str(tmp_path)

    def dying(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            name = os.path.join(folder, str(batch["id"][0].as_py()))  # noqa: PTH118
            if not os.path.exists(name):  # noqa: PTH110
                with open(name, "w"):  # noqa: PTH123
                    os._exit(1)
            yield batch

    source = spark().range(0, 400, 1, 2)
    rows = "id % 40 AS who", "CAST(id AS STRING) AS term"
    lost = count(source.mapInArrow(dying, "id bigint").selectExpr(*rows), KEYS[1], max_labels=3)
    assert len(list(tmp_path.iterdir())) == 2
    sound = count(source.selectExpr(*rows), KEYS[1], max_labels=3)
    assert as_dict(lost) == as_dict(sound)
    assert sum(as_dict(lost).values()) == 40 * 3


def _three_answers_agree(counts: LabelCounts) -> None:
    first = as_dict(counts)
    assert as_dict(counts) == first
    largest = counts.largest(len(first) + 1)
    assert dict(zip(*largest.to_pydict().values(), strict=True)) == first
    assert counts.counts_of(list(first)) == list(first.values())


# --- Missing users and labels

GAPS: Rows = [("u", "a", 1), (None, "a", 1), (None, "a", 1), ("u", None, 1), (None, None, 1)]


@pytest.mark.long(every=2)
@every_engine
@pytest.mark.quick("[pyarrow]")
def test_missing_users_and_labels_are_refused(engine: Engine, tmp_path: Path) -> None:
    rows: Rows = [(SENTINEL, SENTINEL, 1), (None, SENTINEL, 1)]
    (tmp_path / "label").mkdir()
    with refused(DataError, "'who'", "null_users"):
        count(engine.make(table_of(rows), tmp_path), max_labels=1)
    rows = [(SENTINEL, SENTINEL, 1), (SENTINEL, None, 1)]
    with refused(DataError, "'term'", "null_labels"):
        count(engine.make(table_of(rows), tmp_path / "label"), max_labels=1)


@every_engine
@pytest.mark.parametrize(("null_users", "expected"), [("drop", 1), ("separate", 3)])
@pytest.mark.quick(every=4)
def test_missing_users_and_labels_as_chosen(
    engine: Engine, null_users: str, expected: int, tmp_path: Path
) -> None:
    frame = engine.make(table_of(GAPS), tmp_path)
    counts = count(frame, max_labels=1, null_users=null_users, null_labels="drop")
    assert as_dict(counts) == {"a": expected}
    assert (counts.null_users, counts.null_labels) == (null_users, "drop")
    assert counts.unit == PrivacyUnit("user", or_rows=null_users == "separate")


def test_separate_rows_are_bounded_each() -> None:
    table = table_of([(None, "a", 9), (None, "a", 1), (None, "b", 9), ("u", "b", 9)])
    counts = count(table, count="n", max_labels=1, max_count=2, null_users="separate")
    assert as_dict(counts) == {"a": 3, "b": 4}


# --- What cannot be counted


@every_engine
def test_columns_that_cannot_serve(engine: Engine, tmp_path: Path) -> None:
    frame = engine.make(table_of([(SENTINEL, SENTINEL, 1)]), tmp_path)
    with refused(ColumnError, "'gone'"):
        count(frame, user="gone", max_labels=1)
    with refused(ColumnError, "'gone'"):
        count(frame, label="gone", max_labels=1)
    with refused(ParameterError, "label", "user", "different"):
        count(frame, user="term", max_labels=1)
    kind = DataError if engine.name == "csv" else ColumnError
    with refused(kind, "'term'"):
        count(frame, label="n", count="term", max_labels=1)


@typed_engine
@pytest.mark.parametrize("role", ["who", "term"])
@pytest.mark.parametrize("values", [[1.5, 2.5], [["a"], ["b"]]], ids=["float", "nested"])
def test_types_without_equality(
    engine: Engine, role: str, values: list[Any], tmp_path: Path
) -> None:
    other = {"who": "term", "term": "who"}[role]
    frame = engine.make(pa.table({role: values, other: ["x", "y"]}), tmp_path)
    with refused(ColumnError, f"'{role}'"):
        count(frame, max_labels=1)


@pytest.mark.quick(every=3)
@every_engine
def test_a_negative_count(engine: Engine, tmp_path: Path) -> None:
    frame = engine.make(table_of([("u", SENTINEL, -918273645), ("u", "a", 1)]), tmp_path)
    with refused(DataError, "'n'"):
        count(frame, count="n", max_labels=1)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"max_labels": 0}, "max_labels"),
        ({"max_labels": True}, "max_labels"),
        ({"max_labels": 1.0}, "max_labels"),
        ({"max_labels": 1, "max_count": 0}, "max_count"),
        ({"max_labels": 2, "user": None}, "max_labels"),
        ({"max_count": 2, "user": None}, "max_count"),
        ({"null_users": "each"}, "null_users"),
        ({"null_labels": "keep"}, "null_labels"),
        ({"null_users": "drop", "user": None}, "null_users"),
        ({"user": 3}, "user"),
        ({"progress": 3}, "progress"),
    ],
    ids=str,
)
def test_parameters_are_checked(options: dict[str, Any], named: str) -> None:
    with refused(ParameterError, named):
        count(table_of([("u", "a", 1)]), **options)


def test_what_is_no_table_is_refused(tmp_path: Path) -> None:
    with refused(ParameterError, "frame"):
        count([("u", "a")], max_labels=1)
    with refused(InputFileError, "exist"):
        count(tmp_path / "gone.parquet", max_labels=1)
    (tmp_path / "bad.parquet").write_text(SENTINEL)
    with refused(InputFileError, "bad.parquet"):
        count(tmp_path / "bad.parquet", max_labels=1)
    (tmp_path / "bad.csv").write_text(f"who,term\nu,{SENTINEL},x\n")
    with refused(InputFileError, "bad.csv"):
        count(tmp_path / "bad.csv", max_labels=1)


def test_objects_of_pandas_that_have_no_text_are_refused() -> None:
    import pandas as pd

    frame = pd.DataFrame({"who": [1, 2], "term": pd.Series([SENTINEL, 1.5], dtype=object)})
    with refused(ColumnError, "'term'", "text"):
        count(frame, max_labels=1)


def test_an_engine_that_fails_says_nothing_of_the_data() -> None:
    lazy = pl.LazyFrame({"who": ["u"], "term": [SENTINEL]}).with_columns(
        pl.col("who").cast(pl.Int64)
    )
    with refused(DataError, "'term'", "'who'"):
        count(lazy, max_labels=1)


@pytest.mark.verify
def test_spark_that_fails_says_nothing_of_the_data() -> None:
    frame = (
        spark()
        .createDataFrame(table_of([("u", SENTINEL, 1)]))
        .selectExpr("who", "raise_error(term) AS term")
    )
    frame = frame.selectExpr("who", "CAST(term AS STRING) AS term")
    with refused(DataError, "'term'", "'who'"):
        count(frame, max_labels=1)


# --- Types of labels

NOON = datetime.datetime(2020, 1, 1, 12, tzinfo=datetime.UTC)


@pytest.mark.long(every=4)
@pytest.mark.quick("-pyarrow]", "-duckdb]")
@pytest.mark.parametrize(
    "name", ["pyarrow", "polars", "pandas-arrow", "duckdb", "parquet", "spark"]
)
@pytest.mark.parametrize(
    "values",
    [
        pa.array([3, -1, 3]),
        pa.array([True, False, True]),
        pa.array([NOON.date(), NOON.date().replace(year=1900), NOON.date()]),
        pa.array(
            [NOON, NOON + datetime.timedelta(microseconds=1), NOON], pa.timestamp("us", "UTC")
        ),
        pa.array([b"\xff\x00", b"", b"\xff\x00"]),
        pa.array([Decimal("1.50"), Decimal("-2.00"), Decimal("1.50")]),
        pa.array(["x", "y", "x"]),
    ],
    ids=["integers", "booleans", "dates", "moments", "bytes", "decimals", "text"],
)
def test_labels_keep_their_type(name: str, values: pa.Array, tmp_path: Path) -> None:
    engine = next(engine for engine in ENGINES if engine.name == name)
    table = pa.table({"who": [1, 2, 3], "term": values})
    counts = count(engine.make(table, tmp_path), max_labels=1)
    assert as_dict(counts) == dict(Counter(values.to_pylist()))
    first, second = values.to_pylist()[:2]
    assert counts.counts_of([second, first]) == [1, 2]
    largest = counts.largest(1)
    assert largest["label"].to_pylist() == [first]
    if name in ("pyarrow", "duckdb", "parquet") and not pa.types.is_timestamp(values.type):
        assert largest.schema.field("label").type == values.type


def test_milliseconds_of_a_date_are_whole_days() -> None:
    """Arrow's dates of 64 bits are; others break its rules, and would be one label or two."""
    day = 86_400_000
    values = pa.array([0, day, 0]).view(pa.date64())
    table = count(pa.table({"who": [1, 2, 3], "term": values}), max_labels=1).largest(3)
    assert table["count"].to_pylist() == [2, 1]
    with refused(DataError, "'term'", "valid Arrow data"):
        count(pa.table({"who": [1], "term": pa.array([1]).view(pa.date64())}), max_labels=1)


def test_nanoseconds_are_told_apart() -> None:
    values = pa.array([10**18, 10**18 + 1, 10**18], pa.timestamp("ns", "Europe/Zurich"))
    counts = count(pa.table({"who": [1, 2, 3], "term": values}), max_labels=1)
    table = counts.largest(3)
    assert table["count"].to_pylist() == [2, 1]
    assert table["label"].combine_chunks() == values[:2].cast(pa.timestamp("ns", "UTC"))


def test_encoded_labels_are_decoded() -> None:
    values = pa.array(["x", "y", "x"]).dictionary_encode()
    assert as_dict(count(pa.table({"who": [1, 2, 3], "term": values}), max_labels=1)) == {
        "x": 2,
        "y": 1,
    }
    frame = pl.DataFrame(
        {"who": [1, 2, 3], "term": pl.Series(["x", "y", "x"], dtype=pl.Categorical)}
    )
    assert as_dict(count(frame, max_labels=1)) == {"x": 2, "y": 1}


def test_encodings_that_arrow_cannot_decode_by_itself() -> None:
    views = pa.array(["x", "y"], pa.string_view())
    labels = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0], pa.int8()), views)
    assert as_dict(count(pa.table({"who": [1, 2, 3], "term": labels}), max_labels=1)) == {
        "x": 2,
        "y": 1,
    }


def test_columns_whose_values_cannot_be_written_are_refused() -> None:
    import pandas as pd

    months = pd.DataFrame({"who": [1, 2], "term": pd.period_range("2020", periods=2, freq="M")})
    zone = pa.table({"who": [1], "term": pa.array([0], pa.timestamp("us", "Mars/Phobos"))})
    for frame in (months, zone):
        for rows in (frame, frame[:0]):
            with refused(ColumnError, "'term'"):
                count(rows, max_labels=1)


@pytest.mark.long(every=4)
@pytest.mark.quick("-pyarrow]", "-duckdb]")
@every_engine
@pytest.mark.parametrize("name", ["a.b", 'a"b', "größe", "who", "mixed", "^.*$"])
def test_names_of_columns_do_not_matter(engine: Engine, name: str, tmp_path: Path) -> None:
    user = "amount" if name == "who" else "place"
    table = pa.table({user: ["u", "u", "v"], name: ["a", "b", "a"]})
    counts = LabelCounts.from_table(
        engine.make(table, tmp_path), label=name, user=user, max_labels=2
    )
    assert as_dict(counts) == {"a": 2, "b": 1}


# --- Whole records, for profiles


@pytest.mark.long(every=2)
@every_engine
@pytest.mark.parametrize("most", [1, 4])
@pytest.mark.quick(every=6)
def test_records_kept_are_those_of_plain_python(engine: Engine, most: int, tmp_path: Path) -> None:
    rows = some_rows(3, 120)
    frame = engine.make(table_of(rows), tmp_path)
    counts, prevalences = count_bounded_records(
        frame, label="term", user="who", max_records=most, key=KEYS[1]
    )
    assert (counts.tolist(), prevalences.tolist()) == kept_records(rows, most, KEYS[1], engine)


@every_engine
@pytest.mark.quick(every=4)
def test_records_are_kept_evenly(engine: Engine, tmp_path: Path) -> None:
    # Two of five rows, three of one label and two of another: one of each in 6 of 10 cases.
    rows: Rows = [(f"u{i}", f"{i}-{letter}", 1) for i in range(2000) for letter in "aaabb"]
    frame = engine.make(table_of(rows), tmp_path)
    counts, prevalences = count_bounded_records(
        frame, label="term", user="who", max_records=2, key=KEYS[1]
    )
    assert counts.tolist() == [1, 2]
    assert prevalences[0] + 2 * prevalences[1] == 4000
    assert abs(prevalences[0] / 2 - 1200) < 5 * np.sqrt(2000 * 0.6 * 0.4)


@pytest.mark.long(every=4)
@pytest.mark.quick("[1-pyarrow]", "[1-duckdb]", "[1-csv]", every=3)
@every_engine
@pytest.mark.parametrize("most", [1, 2])
def test_a_user_changes_no_more_records_than_the_bound(
    engine: Engine, most: int, tmp_path: Path
) -> None:
    """Each small table apart: a profile does not tell the worlds from each other."""
    worlds = WORLDS[:: 400 if engine.name == "spark" else 160]
    farthest = 0
    for number, (theirs, own) in enumerate(worlds):
        profiles = []
        for which, rows in enumerate((theirs, own + theirs)):
            folder = tmp_path / f"{number}-{which}"
            folder.mkdir()
            pairs = count_bounded_records(
                engine.make(table_of(rows), folder),
                label="term",
                user="who",
                max_records=most,
                key=KEYS[0],
            )
            profiles.append(Profile.from_prevalences(*pairs))
        farthest = max(farthest, profiles[0].distance(profiles[1]))
    assert farthest <= most


@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.quick(every=2)
def test_that_bound_in_plain_python_over_all_small_tables(most: int) -> None:
    hash_texts(text for user, label, _ in WITH for text in (user, label))
    farthest = 0
    for theirs, own in WORLDS:
        profiles = [
            Profile.from_prevalences(*kept_records(rows, most, KEYS[0], ENGINES[0]))
            for rows in (theirs, own + theirs)
        ]
        farthest = max(farthest, profiles[0].distance(profiles[1]))
    assert farthest == most


def test_a_profile_of_users(tmp_path: Path) -> None:
    table = table_of([("u", "a", 1)] * 5 + [("v", "a", 1), ("v", "b", 1)])
    profile = Profile.from_table(table, label="term", user="who", max_records=3)
    assert profile.sorted_counts().tolist() == [4, 1]
    assert profile.sensitivity == 3
    for options in (
        {"user": "who"},
        {"max_records": 3},
        {"user": "who", "max_records": 0},
        {"user": "who", "max_records": 3, "count": "n"},
        {"user": "who", "max_records": 3, "sensitivity": 2},
        {"user": "term", "max_records": 3},
    ):
        with refused(ParameterError):
            Profile.from_table(table, label="term", **options)
    with refused(DataError, "'who'"):
        Profile.from_table(table_of(GAPS[:2]), label="term", user="who", max_records=3)
