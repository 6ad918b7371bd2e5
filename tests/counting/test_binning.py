"""The same table gives the same counts of bins, whatever holds it: those plain Python finds."""

import datetime
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dphist.counting.binning import slots as binning
from dphist.data.binned_counts import bin_counts
from dphist.errors import ColumnError, DataError, ParameterError
from tests.support.counting.backends import written
from tests.support.counting.contribution_engines import ENGINES, Engine, spark
from tests.support.counting.plain_bins import INFINITY, assert_bins, python_bins
from tests.support.refusal import NUMBER, SENTINEL, refused

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")

every_engine = pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
BERLIN = datetime.timezone(datetime.timedelta(hours=1))


def day(text: str) -> datetime.date:
    return datetime.date.fromisoformat(text)


def time(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text)


def check(engine: Engine, folder: Path, values: pa.Array, edges: list[Any]) -> None:
    frame = engine.make(pa.table({"x": values, "other": pa.array(range(len(values)))}), folder)
    found = bin_counts(frame, column="x", edges=edges)
    comparable = [Fraction(e) if isinstance(e, int) else e for e in edges]
    assert_bins(found, python_bins(values.to_pylist(), comparable))


NUMBERS = [
    ("int64", pa.array([3, 17, 18, 64, 65, 120, -1, 2**53 + 1, -(2**63), 2**63 - 1]), [0, 18, 65]),
    (
        "above 2**53",
        pa.array([2**53, 2**53 + 1, 2**53 + 2, 2**62 + 1, 2**62]),
        [2**53 + 1, 2**53 + 2, 2**62 + 1],
    ),
    ("int64, float edges", pa.array([0, 1, 2, 3, -1]), [0.5, 1.0, 2.5]),
    ("int8", pa.array([-128, 127, 0, 5], pa.int8()), [-1000, 0, 5, 1000]),
    ("int32, infinite edges", pa.array([-5, 0, 7], pa.int32()), [-INFINITY, 0.0, INFINITY]),
    (
        "float64",
        pa.array([0.1, 0.3, 0.1 + 0.2, -0.0, 1.0, 1e300, INFINITY, -INFINITY]),
        [0.0, 0.1, 0.3, 1.0],
    ),
    ("float64, whole edges", pa.array([-0.5, 0.0, 17.99, 18.0, 2.0**53]), [0, 18, 2**53 + 1]),
    (
        "float64, infinite edges",
        pa.array([-INFINITY, -1.0, 0.0, INFINITY]),
        [-INFINITY, 0.0, INFINITY],
    ),
    ("float32", pa.array([0.5, 0.25, 3.0], pa.float32()), [0.25, 0.5, 1.0]),
    ("regular", pa.array(list(range(-10, 60))), list(range(0, 49, 7))),
]


@pytest.mark.long(every=4)
@every_engine
@pytest.mark.parametrize(
    ("values", "edges"), [case[1:] for case in NUMBERS], ids=[case[0] for case in NUMBERS]
)
@pytest.mark.quick(every=4)
def test_numbers(engine: Engine, values: pa.Array, edges: list[Any], tmp_path: Path) -> None:
    check(engine, tmp_path, values, edges)


@every_engine
def test_missing_values_are_counted_apart(engine: Engine, tmp_path: Path) -> None:
    check(engine, tmp_path, pa.array([1, None, 2, None, 9]), [1, 2, 3])
    check(engine, tmp_path, pa.array([1.5, None, 9.0], pa.float64()), [1, 2, 3])


@pytest.mark.parametrize(
    "engine", [e for e in ENGINES if e.name not in ("pandas-arrow",)], ids=lambda e: e.name
)
def test_nan_is_a_missing_value(engine: Engine, tmp_path: Path) -> None:
    check(engine, tmp_path, pa.array([1.5, math.nan, -1.0]), [1, 2, 3])


@every_engine
def test_no_rows(engine: Engine, tmp_path: Path) -> None:
    kinds = {"n": (pa.int64(), [0, 1]), "x": (pa.float64(), [0.5, 1])}
    for kind, edges in kinds.values():
        check(engine, tmp_path, pa.array([], kind), edges)  # type: ignore[arg-type]


DAYS = pa.array([day("2024-01-01"), day("2024-01-31"), day("2024-02-01"), day("1900-01-01"), None])
TIMES = [time("2023-12-31T23:59:59.999999"), time("2024-01-01"), time("2024-01-01T12:30"), None]


@pytest.mark.parametrize(
    "engine", [e for e in ENGINES if e.name != "pandas"], ids=lambda engine: engine.name
)
def test_dates(engine: Engine, tmp_path: Path) -> None:
    check(engine, tmp_path, DAYS, [day("2024-01-01"), day("2024-01-15"), day("2024-02-01")])


def local_times(engine: Engine, folder: Path, times: pa.Array) -> Any:
    """A table of times without a zone, which Spark has under a type of its own."""
    table = pa.table({"x": times})
    if engine.name != "spark":
        return engine.make(table, folder)
    text = table.set_column(0, "x", table["x"].cast(pa.string()))
    return engine.make(text, folder).selectExpr("CAST(x AS TIMESTAMP_NTZ) AS x")


@every_engine
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_times(engine: Engine, unit: str, tmp_path: Path) -> None:
    values = [t and t.replace(microsecond=t.microsecond * (unit in ("us", "ns"))) for t in TIMES]
    frame = local_times(engine, tmp_path, pa.array(values, pa.timestamp(unit)))
    edges = [time("2024-01-01"), time("2024-01-01T12:30:00.000001")]
    assert_bins(bin_counts(frame, column="x", edges=edges), python_bins(values, edges))


@every_engine
def test_times_between_dates(engine: Engine, tmp_path: Path) -> None:
    frame = local_times(engine, tmp_path, pa.array(TIMES, pa.timestamp("us")))
    found = bin_counts(frame, column="x", start="2023-12-31", stop="2024-01-03", width="1d")
    assert_bins(found, ([1, 2, 0], {"below": 0, "above": 0, "null": 1}))
    assert found.axes[0].edges.dtype == np.dtype("M8[D]")


@every_engine
def test_times_with_a_zone_are_instants(engine: Engine, tmp_path: Path) -> None:
    noon = datetime.datetime(2024, 1, 1, 12, tzinfo=datetime.UTC)
    values = pa.array(
        [noon, noon + datetime.timedelta(minutes=59), noon], pa.timestamp("us", "UTC")
    )
    frame = engine.make(pa.table({"x": values}), tmp_path)
    utc = ["2024-01-01T12:00", "2024-01-01T12:30", "2024-01-01T13:00"]
    berlin = [time(text).replace(tzinfo=BERLIN) + datetime.timedelta(hours=1) for text in utc]
    for edges, tz in ((utc, "UTC"), (berlin, None), ([f"{text}Z" for text in utc], None)):
        found = bin_counts(frame, column="x", edges=edges, tz=tz)
        assert_bins(found, ([2, 1], {"below": 0, "above": 0, "null": 0}))
    with refused(DataError if engine.name == "csv" else ColumnError, "'x'", "give tz"):
        bin_counts(frame, column="x", edges=utc)


@every_engine
def test_days_of_a_zone_have_23_to_25_hours(engine: Engine, tmp_path: Path) -> None:
    """An instant every hour for weeks around both changes of the clocks."""
    first = [datetime.datetime(2024, month, 20, tzinfo=datetime.UTC) for month in (3, 10)]
    hours = [start + datetime.timedelta(hours=hour) for start in first for hour in range(400)]
    frame = engine.make(pa.table({"x": pa.array(hours, pa.timestamp("us", "UTC"))}), tmp_path)
    for start, stop, zone, expected in (
        ("2024-03-30", "2024-04-02", "Europe/Zurich", [24, 23, 24]),
        ("2024-10-26", "2024-10-29", "Europe/Zurich", [24, 25, 24]),
        ("2024-10-26", "2024-10-29", "America/New_York", [24, 24, 24]),
    ):
        counted: Any = {"column": "x", "start": start, "stop": stop, "tz": zone}
        assert bin_counts(frame, width="1d", **counted).counts.tolist() == expected
        assert bin_counts(frame, width="1h", **counted).counts.tolist() == [1] * sum(expected)


@every_engine
def test_edges_with_a_zone_need_times_with_one(engine: Engine, tmp_path: Path) -> None:
    frame = local_times(engine, tmp_path, pa.array(TIMES, pa.timestamp("us")))
    kind = DataError if engine.name == "csv" else ColumnError
    with refused(kind, "'x'", "zone"):
        bin_counts(frame, column="x", edges=["2024-01-01T12:00Z", "2024-01-01T12:30Z"])
    with refused(kind, "'x'", "leave out tz"):
        bin_counts(frame, column="x", edges=["2024-01-01", "2024-01-02"], tz="Europe/Zurich")


@pytest.mark.parametrize(
    "engine",
    [e for e in ENGINES if e.name not in ("pandas", "csv")],
    ids=lambda engine: engine.name,
)
@pytest.mark.parametrize("precision", [18, 38])
def test_decimals(engine: Engine, precision: int, tmp_path: Path) -> None:
    texts = ["0.10", "0.09", "0.11", "-5.00", "123456789012345.67", "0.30", None]
    values = [None if text is None else Decimal(text) for text in texts]
    column = pa.array(values, pa.decimal128(precision, 2))
    frame = engine.make(pa.table({"x": column}), tmp_path)
    found = bin_counts(frame, column="x", edges=[-5, 0.1, 0.3, 1.0])
    exact = [Fraction(-5), Fraction(1, 10), Fraction(3, 10), Fraction(1)]
    assert_bins(found, python_bins(values, exact))


@pytest.mark.parametrize("negative", [False, True])
def test_decimals_of_many_digits(negative: bool) -> None:
    values = [Decimal(n * (-1) ** negative) for n in (10**37, 2**64, 2**64 + 1, 2**64 - 1, 0, 7)]
    table = pa.table({"x": pa.array(values, pa.decimal128(38, 0))})
    limits = [-(2.0**100), -(2.0**64), 0.0, 2.0**64, 2.0**100, 1e300]
    found = bin_counts(table, column="x", edges=limits)
    assert_bins(found, python_bins(values, limits))


@pytest.mark.verify
@pytest.mark.parametrize("engine", [e for e in ENGINES if e.name != "spark"], ids=lambda e: e.name)
def test_unsigned_integers_beyond_int64(engine: Engine, tmp_path: Path) -> None:
    values = pa.array([0, 1, 2**63 - 1, 2**63, 2**64 - 1], pa.uint64())
    check(engine, tmp_path, values, [-1, 1, 2**63 - 1])
    check(engine, tmp_path, values, [0.0, 2.0**63, 2.0**64])
    check(engine, tmp_path, values, [0, 1, 2])


def test_integers_of_duckdb_beyond_64_bits() -> None:
    connection = duckdb.connect()
    rows = connection.sql(
        "SELECT unnest([1, 9223372036854775807, 9223372036854775808, -170141183460469231731687303"
        "715884105727, 170141183460469231731687303715884105727])::HUGEINT AS x"
    )
    found = bin_counts(rows, column="x", edges=[0, 2**63 - 1])
    assert_bins(found, ([1], {"below": 1, "above": 3, "null": 0}))
    assert bin_counts(rows, column="x", edges=[2.0**63, 2.0**64]).counts.tolist() == [1]
    with refused(ColumnError, "'x'", "cast"):
        bin_counts(connection.sql("SELECT 1::UHUGEINT AS x"), column="x", edges=[0, 1])


@every_engine
def test_several_axes(engine: Engine, tmp_path: Path) -> None:
    x, y = [0, 1, 2, 2, None, 9, 1], [0.5, 1.5, 0.5, None, 0.5, 0.5, -1.0]
    table = pa.table({"y": pa.array(y), "x": pa.array(x)})
    found = bin_counts(
        engine.make(table, tmp_path), column=["x", "y"], edges=[[0, 1, 2, 3], [0, 1, 2]]
    )
    assert found.counts.tolist() == [[1, 0], [0, 1], [1, 0]]
    assert dict(found.outside) == {"outside": 2, "null": 2}
    assert found.bins == (3, 2)
    assert [axis.name for axis in found.axes] == ["x", "y"]


def test_five_axes(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    points = rng.integers(-1, 4, (5, 500))
    table = pa.table({f"c{k}": points[k] for k in range(5)})
    path = written(tmp_path, "t.csv", table.to_pandas().to_csv(index=False).encode())
    expected, _ = np.histogramdd(points.T, [np.arange(4) - 0.5] * 5)
    for frame in (table, path):
        found = bin_counts(frame, column=[f"c{k}" for k in range(5)], start=0, stop=3, width=1)
        assert np.array_equal(found.counts, expected)
        assert found.outside["outside"] == 500 - expected.sum()


@pytest.mark.long(every=2)
@every_engine
@pytest.mark.parametrize("name", ["a.b", 'a"b', "größe", "*", "^.*$", "c1", "slot"])
@pytest.mark.quick(every=3)
def test_names_of_columns(engine: Engine, name: str, tmp_path: Path) -> None:
    frame = engine.make(pa.table({"c0": [9, 9, 9], name: [0, 1, 1]}), tmp_path)
    assert bin_counts(frame, column=name, edges=[0, 1, 2]).counts.tolist() == [1, 2]


@every_engine
def test_a_missing_column(engine: Engine, tmp_path: Path) -> None:
    frame = engine.make(pa.table({"x": [NUMBER]}), tmp_path)
    with refused(ColumnError, "'age'"):
        bin_counts(frame, column="age", edges=[0, 1])


def test_a_column_that_is_there_twice(tmp_path: Path) -> None:
    twice = pd.DataFrame([[1, 2]], columns=["x", "x"])
    with refused(ColumnError, "rename"):
        bin_counts(twice, column="x", edges=[0, 1])
    duck = duckdb.connect().sql('SELECT 1 AS x, 2 AS "X"')
    with refused(ColumnError):
        bin_counts(duck, column="x", edges=[0, 1])
    path = written(tmp_path, "t.csv", b"x,x\n1,2\n")
    with refused(ColumnError, "rename"):
        bin_counts(path, column="x", edges=[0, 1])


TYPED = [engine for engine in ENGINES if engine.name != "csv"]


@pytest.mark.parametrize("engine", TYPED, ids=lambda engine: engine.name)
@pytest.mark.parametrize(
    "values",
    [
        pa.array([SENTINEL]),
        pa.array([True]),
        pa.array([b"x"]),
        pa.array([[1]]),
        pa.array([], pa.string()),
    ],
    ids=["text", "booleans", "bytes", "lists", "no text"],
)
def test_other_types_are_refused(engine: Engine, values: pa.Array, tmp_path: Path) -> None:
    frame = engine.make(pa.table({"x": values}), tmp_path)
    if isinstance(frame, pd.DataFrame) and frame["x"].dtype == object and not len(frame):
        pytest.skip("pandas gives columns without rows this type, whatever they were to hold")
    with refused(ColumnError, "'x'", "cast"):
        bin_counts(frame, column="x", edges=[0, 1])


@pytest.mark.parametrize("engine", TYPED, ids=lambda engine: engine.name)
def test_edges_of_another_kind_are_refused(engine: Engine, tmp_path: Path) -> None:
    table = pa.table({"n": [NUMBER], "t": pa.array([time("2024-01-01")], pa.timestamp("us"))})
    frame = engine.make(table, tmp_path)
    with refused(ColumnError, "'n'", "numbers"):
        bin_counts(frame, column="n", edges=["2024-01-01", "2024-01-02"])
    with refused(ColumnError, "'t'", "dates"):
        bin_counts(frame, column="t", edges=[0, 1])


@pytest.mark.parametrize("table", [pa.table({"d": DAYS}), pl.DataFrame({"d": DAYS})])
def test_dates_between_times_are_refused(table: Any) -> None:
    with refused(ColumnError, "'d'", "times"):
        bin_counts(table, column="d", start="2024-01-01", stop="2024-01-02", width="1h")


OTHERS: list[tuple[str, Callable[[], Any]]] = [
    ("objects", lambda: pd.DataFrame({"x": pd.Series([NUMBER, "2"], dtype=object)})),
    ("lengths of time", lambda: pd.DataFrame({"x": [pd.Timedelta("1h")]})),
    ("periods", lambda: pd.DataFrame({"x": pd.period_range("2020", periods=2, freq="M")})),
    ("sparse", lambda: pd.DataFrame({"x": pd.Series([1], dtype=pd.SparseDtype("int64"))})),
    ("cut", lambda: pd.DataFrame({"x": pd.cut(pd.Series([1, 2]), 2)})),
    ("int128", lambda: pl.DataFrame({"x": [1]}, schema={"x": pl.Int128})),
    ("int128, lazy", lambda: pl.LazyFrame({"x": [1]}, schema={"x": pl.Int128})),
    ("categories", lambda: pl.DataFrame({"x": ["a"]}, schema={"x": pl.Categorical})),
    ("256 bits", lambda: pa.table({"x": pa.array([1], pa.decimal256(50, 2))})),
    ("time of day", lambda: pa.table({"x": pa.array([1], pa.time64("us"))})),
    ("interval", lambda: duckdb.connect().sql("SELECT INTERVAL 1 month AS x")),
]


@pytest.mark.parametrize("make", [make for _, make in OTHERS], ids=[name for name, _ in OTHERS])
def test_types_of_one_engine_that_are_refused(make: Callable[[], Any]) -> None:
    with refused(ColumnError, "'x'", "cast"):
        bin_counts(make(), column="x", edges=[0, 1])


def test_types_of_one_engine_that_serve() -> None:
    def counts(frame: Any) -> list[int]:
        return bin_counts(frame, column="x", edges=[0, 1, 2]).counts.tolist()

    assert counts(pd.DataFrame({"x": pd.Series([0, 1, 1]).astype("category")})) == [1, 2]
    assert counts(pa.table({"x": pa.array([0, 1, 1]).dictionary_encode()})) == [1, 2]
    assert counts(pa.table({"x": pa.array([0, 1, None, 1])[1:]})) == [0, 2]
    assert counts(pa.table({"x": pa.array(np.array([0.5, 1], np.float16))})) == [1, 1]
    for kind in (pa.decimal32(5, 2), pa.decimal64(5, 2)):
        assert counts(pa.table({"x": pa.array([Decimal("1.50")] * 2, kind)[1:]})) == [0, 1]
    assert counts(pl.DataFrame({"x": [None, None]})) == [0, 0]
    assert counts(duckdb.connect().sql("SELECT NULL AS x")) == [0, 0]
    assert counts(pd.DataFrame({"x": []}, dtype=object)) == [0, 0]
    assert counts(pd.DataFrame({"x": pd.Series([0, 1, Decimal(1)], dtype=object)})) == [1, 2]
    days = pa.table({"x": pa.array([day("2024-01-01")], pa.date64())})
    assert bin_counts(days, column="x", edges=["2024-01-01", "2024-01-02"]).counts.tolist() == [1]
    far = duckdb.connect().sql("SELECT unnest(['infinity', '-infinity', NULL]::TIMESTAMP[]) AS x")
    found = bin_counts(far, column="x", edges=["2024-01-01", "2024-01-02"])
    assert dict(found.outside) == {"below": 1, "above": 1, "null": 1}


# --- Engines


FAILING = {
    "duckdb": lambda: duckdb.connect().sql(
        f"SELECT CAST('{SENTINEL}' || x AS INTEGER) AS x FROM range(3) t(x)"  # noqa: S608
    ),
    "polars": lambda: pl.LazyFrame({"x": [SENTINEL]}).select(pl.col("x").cast(pl.Int64)),
    "spark": lambda: spark().sql(f"SELECT CAST('{SENTINEL}' AS INT) AS x"),
}


@pytest.mark.parametrize("engine", FAILING)
def test_a_failing_engine_is_quoted_nowhere(engine: str) -> None:
    frame = FAILING[engine]()
    with refused(DataError, "'x'"):
        bin_counts(frame, column="x", edges=[0, 1])


@pytest.mark.parametrize("frame", [3, None, [1, 2], {"x": 1}], ids=str)
def test_what_is_no_table(frame: Any) -> None:
    with refused(ParameterError, "frame"):
        bin_counts(frame, column="x", edges=[0, 1])


@pytest.mark.verify
def test_a_caller_s_macros_and_partitions_change_nothing() -> None:
    rows = pa.table({"x": np.arange(1000) % 10})
    many = spark().createDataFrame(rows).repartition(7)
    found = bin_counts(many, column="x", edges=list(range(11)))
    assert found.counts.tolist() == [100] * 10


def test_many_bins_and_many_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(3).integers(-100, 5100, 20_000)
    expected = np.bincount(values[(values >= 0) & (values < 5000)], minlength=5000)
    for rows in (1 << 18, 100):  # of fewer rows than bins, one after another are counted
        monkeypatch.setattr("dphist.counting.reading.frames.ROWS_AT_ONCE", rows)
        for frame in (pd.DataFrame({"x": values}), pa.table({"x": values})):
            found = bin_counts(frame, column="x", start=0, stop=5000, width=1)
            assert np.array_equal(found.counts, expected)
            assert found.underflow + found.overflow == 20_000 - expected.sum()


def test_slots_add_up_to_the_rows() -> None:
    grid = binning.Grid(("x",), (np.array([0, 5, 10]),), (None,))
    table = pa.table({"x": pa.array([None, *range(-3, 20)])})
    assert binning.bin_rows(table, grid).tolist() == [3, 5, 5, 10, 1]


@pytest.mark.parametrize("slot", [-1, 5, None])
def test_slots_that_are_none_of_the_grid_are_shown_nowhere(slot: int | None) -> None:
    """Of Spark 4.0, say, which calls a function of the caller's under the name of its own."""
    grid = binning.Grid(("x",), (np.array([0, 1, 2]),), (None,))
    wanted = grid.list_wanted()
    places = pa.array([0, slot]).to_numpy(zero_copy_only=False)
    with pytest.raises(DataError, match="could not evaluate 'x'"):
        binning.counts_of_slots(places, np.array([3, 4]), grid, wanted)
    found = binning.counts_of_slots(np.array([4, 1]), np.array([3, 4]), grid, wanted)
    assert found.tolist() == [0, 4, 0, 0, 3]
