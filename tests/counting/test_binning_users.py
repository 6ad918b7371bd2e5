"""Bins of users with a bound of rows: the same on every engine, and no word of the data."""

import datetime
import random
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dphist.data.binned_counts import bin_counts
from dphist.errors import ColumnError, DataError, InputFileError, ParameterError
from dphist.privacy import PrivacyUnit
from tests.support.counting.backends import written
from tests.support.counting.binned_users import (
    EDGES,
    KEYS,
    UserRows,
    kept,
    kept_in_python,
    some_rows,
    table_of,
)
from tests.support.counting.contribution_engines import ENGINES, TYPED, Engine, spark
from tests.support.refusal import NUMBER, SENTINEL, refused

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")

every_engine = pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
typed_engine = pytest.mark.parametrize("engine", TYPED, ids=lambda engine: engine.name)


def binned(frame: Any, most: int = 2, **options: Any) -> Any:
    given = {"column": "x", "edges": EDGES, "user": "who", "max_records": most, **options}
    return bin_counts(frame, **given)


# --- The same counts on every engine, for the same key


@pytest.mark.long(every=4)
@every_engine
@pytest.mark.parametrize("most", [1, 4])
@pytest.mark.quick(every=4)
def test_the_counts_are_those_of_plain_python(engine: Engine, most: int, tmp_path: Path) -> None:
    rows = some_rows(most)
    frame = engine.make(table_of(rows), tmp_path)
    for key in KEYS:
        assert kept(frame, most, key) == kept_in_python(rows, most, key, engine.name)


@typed_engine
def test_users_of_an_integer_type(engine: Engine, tmp_path: Path) -> None:
    rows: UserRows = [(draw % 5 - 2, draw % 14 - 2) for draw in range(80)]
    frame = engine.make(table_of(rows, pa.int64()), tmp_path)
    assert kept(frame, 3, KEYS[1]) == kept_in_python(rows, 3, KEYS[1], engine.name)


@pytest.mark.long(every=2)
@every_engine
@pytest.mark.quick(every=4)
def test_users_keep_so_many_rows_and_no_fewer(engine: Engine, tmp_path: Path) -> None:
    """Users of 1 to 6 rows, whose rows are in bins, or in none at all."""
    cases: list[list[int | None]] = [[1, 3], [-1, 12, None], [None], [1, -1, 3, 12, None]]
    for number, values in enumerate(cases):
        (tmp_path / str(number)).mkdir()
        sizes = list(range(1, 7))
        rows = [(f"u{n}", values[row % len(values)]) for n in sizes for row in range(n)]
        frame = engine.make(table_of(rows), tmp_path / str(number))
        assert sum(kept(frame, 4)) == sum(min(n, 4) for n in sizes)


@pytest.mark.quick(every=3)
@every_engine
def test_several_axes(engine: Engine, tmp_path: Path) -> None:
    table = pa.table({"y": [0.5, 0.5, 9.0, None], "w": ["a", "a", "b", "c"], "x": [0, 0, 0, 1]})
    found = binned(
        engine.make(table, tmp_path),
        most=1,
        column=["x", "y"],
        edges=[[0, 1, 2], [0, 1]],
        user="w",
    )
    assert found.counts.tolist() == [[1], [0]]
    assert dict(found.outside) == {"outside": 1, "null": 1}


@pytest.mark.quick(every=3)
@every_engine
def test_without_rows(engine: Engine, tmp_path: Path) -> None:
    table = pa.table({"who": pa.array([], pa.string()), "x": pa.array([], pa.int64())})
    found = binned(engine.make(table, tmp_path), most=3)
    assert found.counts.tolist() == [0, 0, 0]
    assert (found.sensitivity, found.unit, found.nulls) == (3, PrivacyUnit("user"), 0)


@pytest.mark.long(every=4)
@pytest.mark.quick("-pyarrow]", "-duckdb]")
@every_engine
@pytest.mark.parametrize("name", ["a.b", 'a"b', "größe", "*", "^.*$", "c0", "term", "mixed"])
def test_names_of_columns(engine: Engine, name: str, tmp_path: Path) -> None:
    column = "who" if name == "c0" else "slot"
    table = pa.table({column: [0, 2, 3], name: ["u", "u", "v"]})
    found = binned(engine.make(table, tmp_path), column=column, user=name)
    assert found.counts.tolist() == [1, 2, 0]


def test_the_order_of_rows_does_not_matter_nor_how_they_come(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = some_rows(7, 200)
    expected = kept_in_python(rows, 3, KEYS[1])
    random.Random(0).shuffle(rows)
    table = table_of(rows)
    chunks = pa.chunked_array([table["x"].combine_chunks()[:11], table["x"].combine_chunks()[11:]])
    uneven = pa.table({"x": chunks, "who": table["who"]})
    monkeypatch.setattr("dphist.counting.reading.frames.ROWS_AT_ONCE", 7)
    for frame in (table, uneven, table.to_pandas(), pl.from_arrow(table), pl.from_arrow(uneven)):
        assert kept(frame, 3, KEYS[1]) == expected


def test_what_is_kept_states_its_bound_and_its_unit() -> None:
    found = binned(table_of([("u", 1)] * 5 + [("v", 3), ("v", None)]), most=3)
    assert found.counts.tolist() == [3, 1, 0]
    assert dict(found.outside) == {"below": 0, "above": 0, "null": 1}
    assert (found.sensitivity, found.unit) == (3, PrivacyUnit("user"))


@pytest.mark.parametrize("name", ["pyarrow", "spark"])
def test_each_call_draws_a_fresh_key(name: str, tmp_path: Path) -> None:
    engine = next(engine for engine in ENGINES if engine.name == name)
    frame = engine.make(table_of([(f"u{u}", x) for u in range(300) for x in (0, 2, 5)]), tmp_path)
    one, two = (kept(frame, 1, key=None) for _ in range(2))
    if one == two:  # of probability 1/300; both again, 10 ** -5
        one, two = (kept(frame, 1, key=None) for _ in range(2))
    assert one != two


# --- Evaluated once, so that a row and its user belong together


def test_a_lazy_frame_is_evaluated_once() -> None:
    calls = []

    def seen(frame: pl.DataFrame) -> pl.DataFrame:
        calls.append(1)
        return frame

    rows = some_rows(3)
    lazy = pl.from_arrow(table_of(rows)).lazy()
    frame = lazy.map_batches(seen, schema={"who": pl.String, "x": pl.Int64})
    assert kept(frame, 2) == kept_in_python(rows, 2, KEYS[0])
    assert len(calls) == 1


def random_rows_of_spark() -> Any:
    # Not by uuid() or rand(), which Spark takes for functions of a seed in the plan.
    from pyspark.sql.functions import udf

    numbers = spark().range(200)
    draw = udf(lambda _: random.SystemRandom().randrange(10), "int").asNondeterministic()
    return numbers.select(draw("id").alias("x")).selectExpr("x", "x AS who")


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_random_rows_are_evaluated_once(engine: str) -> None:
    """The user is the bin: of one evaluation, each bin keeps what its user does."""
    connection = duckdb.connect()
    rows = "SELECT x, x AS who FROM (SELECT (random() * 9)::INTEGER AS x FROM range(200))"
    frame = connection.sql(rows) if engine == "duckdb" else random_rows_of_spark()
    found = binned(frame, 1, start=0, stop=10, width=1, edges=None)
    assert found.counts.max() == 1
    assert connection.sql("SHOW ALL TABLES").fetchall() == []


# --- Users


NOON = datetime.datetime(2020, 1, 1, 12, tzinfo=datetime.UTC)
KINDS: list[pa.Array] = [
    pa.array([3, -1, 3]),
    pa.array([True, False, True]),
    pa.array([NOON.date(), NOON.date().replace(year=1900), NOON.date()]),
    pa.array([NOON, NOON + datetime.timedelta(microseconds=1), NOON], pa.timestamp("us", "UTC")),
    pa.array([b"\xff\x00", b"", b"\xff\x00"]),
    pa.array([Decimal("1.50"), Decimal("-2.00"), Decimal("1.50")]),
    pa.array(["x", "X", "x"]),
]


@pytest.mark.long(every=4)
@pytest.mark.quick("-pyarrow]", "-duckdb]")
@typed_engine
@pytest.mark.parametrize("users", KINDS, ids=lambda users: str(users.type))
def test_types_of_users(engine: Engine, users: pa.Array, tmp_path: Path) -> None:
    frame = engine.make(pa.table({"who": users, "x": [0, 2, 1]}), tmp_path)
    assert binned(frame, 1).counts.tolist() == [1, 1, 0]
    assert binned(frame, 2).counts.tolist() == [2, 1, 0]


def test_users_in_other_encodings() -> None:
    text = ["a", "b", "a"]
    for users in (
        pd.Series(text, dtype="category"),
        pd.Series(text, dtype=object),
        pd.Series([7, 8, 7], dtype="category"),
    ):
        assert binned(pd.DataFrame({"who": users, "x": [0, 2, 1]}), 1).counts.tolist() == [1, 1, 0]
    for kind in (pl.Categorical, pl.Enum(["b", "a"])):
        frame = pl.DataFrame({"who": pl.Series(text, dtype=kind), "x": [0, 2, 1]})
        for form in (frame, frame.lazy()):
            assert binned(form, 1).counts.tolist() == [1, 1, 0]
    moments = pa.array([10**18, 10**18 + 1, 10**18], pa.timestamp("ns", "Europe/Zurich"))
    for column in (pa.array(text).dictionary_encode(), moments):
        assert binned(pa.table({"who": column, "x": [0, 2, 1]}), 1).counts.tolist() == [1, 1, 0]


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_users_that_a_collation_calls_one_are_two(engine: str) -> None:
    rows = "VALUES ('a', 0), ('A', 2)"
    named = f"SELECT who COLLATE UTF8_LCASE AS who, x FROM {rows} t(who, x)"  # noqa: S608
    connection = duckdb.connect()
    connection.execute("CREATE TABLE pairs (who VARCHAR COLLATE NOCASE, x INTEGER)")
    connection.execute(f"INSERT INTO pairs {rows}")
    frame = connection.table("pairs") if engine == "duckdb" else spark().sql(named)
    assert binned(frame, 1).counts.tolist() == [1, 1, 0]


@every_engine
def test_rows_without_a_user_are_refused(engine: Engine, tmp_path: Path) -> None:
    rows: UserRows = [(SENTINEL, NUMBER), (None, NUMBER)]
    with refused(DataError, "'who'", "without a user"):
        binned(engine.make(table_of(rows), tmp_path))


# --- What cannot be counted


@every_engine
def test_columns_that_cannot_serve(engine: Engine, tmp_path: Path) -> None:
    frame = engine.make(table_of([(SENTINEL, NUMBER)]), tmp_path)
    with refused(ColumnError, "'gone'"):
        binned(frame, user="gone")
    with refused(ColumnError, "'gone'"):
        binned(frame, column="gone")
    with refused(ParameterError, "different"):
        binned(frame, user="x")


@typed_engine
@pytest.mark.parametrize("users", [[1.5, 2.5], [["a"], ["b"]]], ids=["float", "nested"])
def test_types_of_users_that_are_refused(engine: Engine, users: list[Any], tmp_path: Path) -> None:
    frame = engine.make(pa.table({"who": users, "x": [NUMBER, 1]}), tmp_path)
    with refused(ColumnError, "'who'"):
        binned(frame)


OTHERS: list[Callable[[], Any]] = [
    lambda: pd.DataFrame({"who": pd.Series([SENTINEL, 1.5], dtype=object), "x": [1, 2]}),
    lambda: pd.DataFrame({"who": pd.period_range("2020", periods=2, freq="M"), "x": [1, 2]}),
    lambda: duckdb.connect().sql("SELECT INTERVAL 1 month AS who, 1 AS x"),
    lambda: duckdb.connect().sql("SELECT 1::HUGEINT AS who, 1 AS x"),
    lambda: pa.table({"who": pa.array([1], pa.time64("us")), "x": [1]}),
]


@pytest.mark.parametrize("make", OTHERS)
def test_users_of_one_engine_that_are_refused(make: Callable[[], Any]) -> None:
    with refused(ColumnError, "'who'"):
        binned(make())


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"user": None}, "max_records"),
        ({"max_records": None}, "max_records"),
        ({"max_records": 0}, "max_records"),
        ({"max_records": True}, "max_records"),
        ({"max_records": 1.5}, "max_records"),
        ({"user": 3}, "user"),
        ({"user": ["who"]}, "user"),
        ({"progress": 3}, "progress"),
    ],
    ids=str,
)
def test_parameters_are_checked(options: dict[str, Any], named: str) -> None:
    with refused(ParameterError, named):
        binned(table_of([(SENTINEL, NUMBER)]), **options)


def test_any_bound_serves() -> None:
    rows = some_rows(5)
    for most in (2**62, 10**40):
        assert kept(table_of(rows), most) == kept_in_python(rows, len(rows), KEYS[0])


def test_text_that_is_no_number_is_the_error_it_is_without_users(tmp_path: Path) -> None:
    path = written(tmp_path, "t.csv", f"who,x,y\na,1,{SENTINEL}\nb,{SENTINEL},2\n".encode())
    cases: list[tuple[Any, Any]] = [("x", EDGES), (["y", "x"], [EDGES, EDGES])]
    for column, edges in cases:
        said = []
        for user, most in ((None, None), ("who", 1)):
            with pytest.raises(DataError) as caught:
                bin_counts(path, column=column, edges=edges, user=user, max_records=most)
            said.append(str(caught.value))
        assert said[0] == said[1]
        with refused(DataError, "must hold numbers"):
            binned(path, column=column, edges=edges)


def test_damaged_files_and_progress(tmp_path: Path) -> None:
    path = written(tmp_path, "t.csv", f"who,x\na,2\nb,{NUMBER},3\n".encode())
    with refused(InputFileError, "t.csv"):
        binned(path)
    for name in ("bad.parquet", "bad.csv.gz"):
        with refused(InputFileError, name):
            binned(written(tmp_path, name, SENTINEL.encode()))
    seen: list[float] = []
    binned(written(tmp_path, "t.csv", b"who,x\na,2\n"), progress=seen.append)
    assert seen[-1] == 1


FAILING = {
    "duckdb": lambda: duckdb.connect().sql(
        f"SELECT CAST('{SENTINEL}' || x AS INTEGER) AS who, x FROM range(3) t(x)"  # noqa: S608
    ),
    "polars": lambda: pl.LazyFrame({"x": [1], "who": [SENTINEL]}).with_columns(
        pl.col("who").cast(pl.Int64)
    ),
    "spark": lambda: spark().sql(f"SELECT CAST('{SENTINEL}' AS INT) AS who, 1 AS x"),
}


@pytest.mark.parametrize("engine", FAILING)
def test_a_failing_engine_is_quoted_nowhere(engine: str) -> None:
    frame = FAILING[engine]()
    with refused(DataError, "'x'", "'who'"):
        binned(frame)


def test_what_people_see_does_not_depend_on_the_rows() -> None:
    """One user with as many rows as the bound, with more, with none; all outside; no user."""
    tables: list[UserRows] = [[], [("u", 1)] * 2, [("u", 1)] * 3, [("u", -NUMBER)] * 9]
    assert len({repr(binned(table_of(rows))) for rows in tables}) == 1
    assert not np.any(binned(table_of([])).counts)
