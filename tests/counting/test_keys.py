"""Counting by several keys: what plain Python counts, whatever holds the rows."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dphist as dh
from dphist.counting.binning import keys as counting
from dphist.errors import ColumnError, DataError, ParameterError
from dphist.tables import KeyedCounts
from tests.support.counting.cells import cells
from tests.support.counting.contribution_engines import ENGINES, Engine, spark
from tests.support.refusal import SENTINEL, refused

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")

every_engine = pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)

ROWS = 400
REGIONS = ["BE", "UR", "zürich", ""]


def rows(seed: int = 1) -> pa.Table:
    draw = np.random.default_rng(seed)
    return pa.table(
        {
            "region": draw.choice([*REGIONS[:3], "elsewhere"], ROWS),
            "year": pa.array(draw.integers(2019, 2022, ROWS), pa.int16()),
            "smokes": draw.choice([True, False], ROWS),
            "age": pa.array(
                [None if age > 95 else age for age in draw.integers(0, 100, ROWS).tolist()]
            ),
            "who": [f"p{who}" for who in draw.integers(0, 90, ROWS)],
            "n": draw.integers(0, 9, ROWS),
        }
    )


KEYS: dict[str, Any] = {
    "region": REGIONS[:3],
    "year": [2021, 2019, 2020, 99999],
    "smokes": [False, True],
    "age": dh.Axis.from_edges([0, 18, 65]),
}
OTHER = ["region", "age"]


def plain(table: pa.Table, weights: str | None = None) -> Counter[tuple[int, ...]]:
    found: Counter[tuple[int, ...]] = Counter()
    for row in table.to_pylist():
        age = row["age"]
        cell = (
            REGIONS.index(row["region"]) if row["region"] in REGIONS[:3] else 3,
            KEYS["year"].index(row["year"]),
            int(row["smokes"]),
            2 if age is None or age >= 65 else int(age >= 18),
        )
        found[cell] += 1 if weights is None else row[weights]
    return found


@every_engine
@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.quick("True-pandas", "False-pandas", "True-csv", "False-polars", "True-parquet")
def test_every_engine_counts_what_plain_python_counts(
    engine: Engine, dense: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "_DENSE", 2**22 if dense else 0)
    frame = engine.make(rows(), tmp_path)
    found = KeyedCounts.from_table(frame, keys=KEYS, other=OTHER)
    assert cells(found) == plain(rows())
    assert (found.max_rows, found.unit) == (1, None)
    frame = engine.make(rows(), tmp_path)
    weighted = KeyedCounts.from_table(frame, keys=KEYS, other=OTHER, count="n")
    assert cells(weighted) == {cell: n for cell, n in plain(rows(), "n").items() if n}
    for table in ((), (0,), (1, 3), (0, 1, 2, 3)):
        summed = Counter[tuple[int, ...]]()
        for cell, n in plain(rows()).items():
            summed[tuple(cell[i] for i in table)] += n
        exact = found.sum_over(table)
        assert {c: n for c, n in np.ndenumerate(exact) if n} == summed


@every_engine
@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.quick("True-pandas", "False-pandas", "True-csv", "False-duckdb")
def test_users_are_bounded_and_others_are_not_touched(
    engine: Engine, dense: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "_DENSE", 2**22 if dense else 0)
    people = [f"p{i}" for i in range(90)]
    keys = {"who": people, "year": [2019, 2020, 2021]}
    table = rows().append_column("user", rows()["who"])
    frame = engine.make(table, tmp_path)
    found = KeyedCounts.from_table(frame, keys=keys, user="user", max_rows=3)
    exact, per_user = found.sum_over((0, 1)), Counter(rows()["who"].to_pylist())
    pairs = Counter(zip(rows()["who"].to_pylist(), rows()["year"].to_pylist(), strict=True))
    for place, who in enumerate(people):
        assert exact[place].sum() == min(3, per_user[who])
        for year in range(3):
            assert exact[place, year] <= pairs[who, 2019 + year]
    assert (found.max_rows, str(found.unit)) == (3, "one user")


@pytest.mark.parametrize("key", ["region", "year", "smokes", "age"])
@every_engine
@pytest.mark.quick("pandas-region", "pandas-age", "csv-year", "polars-smokes")
def test_a_row_without_a_cell_is_refused_by_its_column(
    engine: Engine, key: str, tmp_path: Path
) -> None:
    asked = {**KEYS, "age": dh.Axis.from_edges([0, 200])}
    table = rows().set_column(0, "region", pa.array([*REGIONS[:3]] * 133 + [REGIONS[0]]))
    table = table.set_column(3, "age", pa.array([5] * ROWS))
    bad = {"region": SENTINEL, "year": 31000, "smokes": None, "age": 918273645}[key]
    place = table.column_names.index(key)
    values = table[key].to_pylist()
    values[77] = bad
    table = table.set_column(place, key, pa.array(values, table.schema.field(key).type))
    with refused(DataError, f"column '{key}'", "other"):
        KeyedCounts.from_table(engine.make(table, tmp_path), keys=asked)
    if key != "region":  # users are bounded afterwards: no row is spared
        with refused(DataError, f"column '{key}'"):
            KeyedCounts.from_table(engine.make(table, tmp_path), keys=asked, user="who", max_rows=1)
    found = KeyedCounts.from_table(engine.make(table, tmp_path), keys=asked, other=[key])
    assert found.sum_over((["region", "year", "smokes", "age"].index(key),))[-1] == 1


@every_engine
@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.quick("True-pandas", "False-csv", "True-duckdb", "False-polars", "True-parquet")
def test_rows_outside_the_keys_are_as_if_they_were_not_there(
    engine: Engine, dense: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of them is looked at, and of a user's rows those inside alone are ranked."""
    monkeypatch.setattr(counting, "_DENSE", 2**22 if dense else 0)
    keys = {**KEYS, "region": KEYS["region"], "year": [2021, 2019]}
    rest, held = Counter[tuple[int, ...]](), Counter[tuple[int, ...]]()
    per_user, marked = Counter[str](), rows().to_pylist()
    for row in marked:
        age = row["age"]
        if row["region"] == "elsewhere" or row["year"] == 2020 or age is None or age >= 65:
            row["who"], row["n"] = None, -5
            continue
        cell = REGIONS.index(row["region"]), keys["year"].index(row["year"]), int(row["smokes"])
        rest[*cell, int(age >= 18)] += 1
        held[*cell, int(age >= 18)] += row["n"]
        per_user[row["who"]] += 1
    table = pa.Table.from_pylist(marked, rows().schema)

    def count(**given: Any) -> KeyedCounts:
        frame = engine.make(table, tmp_path)
        return KeyedCounts.from_table(frame, keys=keys, unlisted="drop", **given)

    found = count()
    assert cells(found) == rest
    assert found.unlisted == "drop"
    assert "unlisted='drop'" in repr(found)
    assert cells(count(count="n")) == +held
    users = count(user="who", max_rows=2)
    assert users.counts.sum() == sum(min(2, each) for each in per_user.values())
    assert all(each <= rest[cell] for cell, each in cells(users).items())
    with refused(DataError, "column 'region'", "unlisted"):
        KeyedCounts.from_table(engine.make(table, tmp_path), keys=keys)


def test_unreadable_text_is_refused_although_rows_outside_are_dropped(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(f"x,y\n3,a\n,a\n12,a\n{SENTINEL},b\n")
    keys = {"x": dh.Axis.regular(0, 10, 5), "y": ["a"]}
    with refused(DataError, "column 'x'"):
        KeyedCounts.from_table(path, keys=keys, unlisted="drop")
    path.write_text("x,y\n3,a\n,a\n12,a\n3,b\n")
    found = KeyedCounts.from_table(path, keys=keys, unlisted="drop")
    assert found.sum_over((0,)).tolist() == [1, 0]


ENDS: dict[str, tuple[list[float], list[int]]] = {
    "finite": ([0, 5, 10], [3, 2, 7]),
    "endless": ([-np.inf, 0, 5, np.inf], [2, 3, 5, 2]),
}


@every_engine
@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.quick("finite-pandas", "endless-pandas", "finite-csv", "endless-polars")
def test_values_at_the_ends_of_bins(engine: Engine, ends: str, tmp_path: Path) -> None:
    """NaN and null are in no bin, -0.0 is 0, and an infinite edge includes infinity."""
    edges, expected = ENDS[ends]
    smallest, below_ten = -5e-324, float(np.nextafter(10, 0))
    values = [0.0, -0.0, 4.75, np.nan, None, np.inf, -np.inf, 5.0, 10.0, below_ten, 1e308, smallest]
    table = pa.table({"x": pa.array(values, pa.float64()), "y": ["a"] * 12})
    keys = {"x": dh.Axis.from_edges(edges), "y": ["a", "b"]}
    found = KeyedCounts.from_table(engine.make(table, tmp_path), keys=keys, other=["x"])
    assert found.sum_over((0,)).tolist() == expected
    with refused(DataError, "column 'x'", "other"):
        KeyedCounts.from_table(engine.make(table, tmp_path), keys=keys)


@every_engine
@pytest.mark.quick("pandas", "csv")
def test_rows_without_a_user_are_refused(engine: Engine, tmp_path: Path) -> None:
    table = pa.table({"x": ["a", "b", "b"], "who": ["p", None, SENTINEL]})
    for dense in ({}, {f"y{i}": range(99) for i in range(4)}):
        more = {name: pa.array([1] * 3) for name in dense}
        frame = engine.make(
            pa.table({**dict(zip(table.column_names, table, strict=True)), **more}), tmp_path
        )
        with pytest.raises(DataError) as caught:
            KeyedCounts.from_table(frame, keys={"x": ["a", "b"], **dense}, user="who", max_rows=1)
        assert str(caught.value).startswith("column 'who' has rows without a user: drop them")
        assert "null_users='drop'" in str(caught.value)


@pytest.mark.parametrize("users", [{}, {"user": "who", "max_rows": 1}])
def test_rows_of_spark_are_evaluated_once(users: Any, tmp_path: Path) -> None:
    """Rows without a cell are found beside the counts: looked for before, they may be others."""
    from pyspark.sql.functions import udf

    session, path = spark(), str(tmp_path / "evaluated")

    def note(row: int) -> str:
        with Path(path).open("ab") as file:
            file.write(b".")
        return "b" if row < 4 else SENTINEL

    noted = udf(note, "string", useArrow=False).asNondeterministic()
    for most, wrong in ((4, False), (9, True)):
        Path(path).write_bytes(b"")
        rows = session.range(most).select(noted("id").alias("x"), "id")
        rows = rows.selectExpr("x", "id AS who")
        if wrong:
            with refused(DataError, "column 'x'", "other"):
                KeyedCounts.from_table(rows, keys={"x": ["a", "b"]}, **users)
            Path(path).write_bytes(b"")
            held = KeyedCounts.from_table(rows, keys={"x": ["a", "b"]}, unlisted="drop", **users)
            assert held.sum_over((0,)).tolist() == [0, 4]
        else:
            found = KeyedCounts.from_table(rows, keys={"x": ["a", "b"]}, **users)
            assert found.sum_over((0,)).tolist() == [0, 4]
        assert len(Path(path).read_bytes()) == most


@pytest.mark.parametrize(
    ("values", "kind", "keys", "counts"),
    [
        ([1, 2**64 - 1, 7], pa.uint64(), [-1, 7, 1], [0, 1, 1, 1]),
        ([-128, 0, 5], pa.int8(), [5, -128, 128], [1, 1, 0, 1]),
        (["a", "A", "a ", "á"], pa.large_string(), ["a", "á"], [1, 1, 2]),
        (["a", "b", None], pa.dictionary(pa.int8(), pa.string()), ["b"], [1, 2]),
        ([None, None], pa.null(), ["b", "c"], [0, 0, 2]),
        ([True, None], pa.bool_(), [True], [1, 1]),
    ],
)
def test_values_are_compared_exactly(
    values: list[Any], kind: pa.DataType, keys: list[Any], counts: list[int]
) -> None:
    found = KeyedCounts.from_table(
        pa.table({"x": pa.array(values, kind)}), keys={"x": keys}, other=["x"]
    )
    assert found.sum_over((0,)).tolist() == counts


def test_python_objects_are_compared_as_text() -> None:
    frame = pd.DataFrame({"x": ["a", 3, True, None, "3"]}, dtype=object)
    found = KeyedCounts.from_table(frame, keys={"x": ["3", "true", "a"]}, other=["x"])
    assert found.sum_over((0,)).tolist() == [2, 1, 1, 1]


def test_truth_values_of_text_are_written_in_either_way(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("x\nTrue\nfalse\ntrue\nFalse\nTRUE\n")
    found = KeyedCounts.from_table(path, keys={"x": [True, False]}, other=["x"])
    assert found.sum_over((0,)).tolist() == [2, 2, 1]
    frame = pd.DataFrame({"x": [True, "True", None, "0"]}, dtype=object)
    found = KeyedCounts.from_table(frame, keys={"x": [False, True]}, other=["x"])
    assert found.sum_over((0,)).tolist() == [0, 2, 2]


BAD: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "no keys": ({"keys": {}}, ParameterError, "keys must name"),
    "empty": ({"keys": {"x": []}}, ParameterError, "at least one value of 'x'"),
    "twice": ({"keys": {"x": ["a", "a"]}}, ParameterError, "each value of 'x' once"),
    "mixed": ({"keys": {"x": ["a", 1]}}, ParameterError, "all text"),
    "floats": ({"keys": {"x": [0.5]}}, ParameterError, "dphist.Axis"),
    "null": ({"keys": {"x": ["a", None]}}, ParameterError, "all text"),
    "text": ({"keys": {"x": "abc"}}, ParameterError, "must list the values of 'x'"),
    "set": ({"keys": {"x": {"a", "b"}}}, ParameterError, "in their order"),
    "plus": ({"keys": {"x+y": ["a"]}}, ParameterError, "rename the column"),
    "taken": ({"keys": {"count": ["a"]}}, ParameterError, "column 'count'"),
    "taken end": (
        {"keys": {"x": dh.Axis.regular(0, 9, 3), "x_stop": [1]}},
        ParameterError,
        "column 'x_stop'",
    ),
    "other": ({"keys": {"x": ["a"]}, "other": ["y"]}, ParameterError, "'y' is none"),
    "own other": ({"keys": {"x": ["other"]}, "other": ["x"]}, ParameterError, "of its own"),
    "large": ({"keys": {f"x{i}": range(100) for i in range(10)}}, ParameterError, "2**62"),
    "user": ({"keys": {"x": ["a"]}, "user": "x"}, ParameterError, "together"),
    "rows": ({"keys": {"x": ["a"]}, "max_rows": 2}, ParameterError, "needs user"),
    "unlisted": ({"keys": {"x": ["a"]}, "unlisted": "keep"}, ParameterError, '"error" or "drop"'),
    "type": ({"keys": {"x": [1, 2]}}, ColumnError, "whole numbers"),
    "no column": ({"keys": {"y": [1, 2]}}, ColumnError, "no column 'y'"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong_is_said(name: str) -> None:
    given, kind, said = BAD[name]
    with pytest.raises(kind, match=said.replace("(", r"\(").replace("*", r"\*")):
        KeyedCounts.from_table(pa.table({"x": [SENTINEL]}), **given)


def test_counts_that_are_given() -> None:
    keys = {"x": ["a", "b"], "y": [1, 2, 3]}
    held = KeyedCounts.from_counts([[0, 1, 2], [3, 4, 0]], keys=keys, max_rows=2, unit="one dog")
    assert (held.max_rows, held.sensitivity, str(held.unit)) == (
        2,
        2,
        "one dog, as promised by the caller",
    )
    assert "4" not in repr(held)
    assert held == KeyedCounts.from_counts(
        np.array([[0, 1, 2], [3, 4, 0]]), keys=keys, max_rows=2, unit="one dog"
    )
    for wrong in ([[1, 2, 3]], [[1, 2], [3, 4]], [[1, 2, -3], [1, 2, 3]], [[1.5] * 3] * 2):
        with pytest.raises((ParameterError, DataError)):
            KeyedCounts.from_counts(wrong, keys=keys)
    with pytest.raises(DataError, match="at most"):
        KeyedCounts.from_counts([2**62, 1], keys={"x": ["a", "b"]})


@pytest.mark.parametrize("most", [2**52, 2**53 + 1, 2**61 - 1])
def test_sums_of_large_counts_are_exact(most: int) -> None:
    held = KeyedCounts.from_counts([[most, 1], [1, most - 1]], keys={"x": ["a", "b"], "y": [1, 2]})
    assert held.sum_over((0,)).tolist() == [most + 1, most]
    assert held.sum_over(()).tolist() == 2 * most + 1


@every_engine
@pytest.mark.quick("pandas", "csv")
def test_whether_all_records_are_many_is_not_revealed(engine: Engine, tmp_path: Path) -> None:
    """Sums beyond 2**62 - 1 stop there: an error would show that all records together are many."""
    for counts in ([2**62 - 2, 1, 0], [2**62 - 2, 2, 0], [2**62 - 1] * 3):
        table = pa.table({"x": ["a", "b", "a"], "n": counts})
        frame = engine.make(table, tmp_path)
        held = KeyedCounts.from_table(frame, keys={"x": ["a", "b"]}, count="n")
        assert held.sum_over(()) == 2**62 - 1
        assert held.sum_over((0,)).tolist() == [counts[0], counts[1]]
