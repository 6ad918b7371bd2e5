"""DESIGN, 'What must not leak', for the counting of bins: tables that differ are told apart by
nothing but the counts, and no text that people see has a value of the data."""

import math
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dphist.data.binned_counts import bin_counts
from dphist.errors import ColumnError, DataError, DphistError, ParameterError
from tests.support.counting.contribution_engines import ENGINES, Engine
from tests.support.refusal import NUMBER, SENTINEL, everything_reachable, refused

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")

every_engine = pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)

# Each a whole table of one column: none, all in bins, all outside, one at the last edge, a lot.
TABLES = [[], [1], [1, 2, 3], [-NUMBER] * 3, [NUMBER] * 3, [10], [9, 10], list(range(-50, 50))]


def outcome(frame: Any, **bins: Any) -> str:
    """What a caller sees of a call but the counts: the repr of the result, or the error."""
    try:
        return repr(bin_counts(frame, **bins))
    except DphistError as error:
        return "\n".join(everything_reachable(error))


@pytest.mark.long(every=4)
@pytest.mark.quick("-pyarrow]", "-duckdb]")
@every_engine
@pytest.mark.parametrize(
    "bins",
    [
        {"edges": [0, 5, 10]},
        {"edges": [-math.inf, 0.5, math.inf]},
        {"start": 0, "stop": 10, "width": 1},
        {"edges": ["2024-01-01", "2024-01-02"]},
        {"edges": "auto"},
        {"width": 1},
        {"edges": [0]},
    ],
    ids=str,
)
def test_errors_and_reprs_do_not_depend_on_the_data(
    engine: Engine, bins: dict[str, Any], tmp_path: Path
) -> None:
    seen = set()
    typed = engine.name != "csv" or bins.get("edges") != ["2024-01-01", "2024-01-02"]
    # In text there are no types: a number among dates is a record invalid in itself.
    for values in TABLES if typed else TABLES[:1]:
        frame = engine.make(pa.table({"x": pa.array(values, pa.int64())}), tmp_path)
        seen.add(outcome(frame, column="x", **bins))
    assert len(seen) == 1
    assert str(NUMBER) not in seen.pop()


@every_engine
def test_a_wrong_column_or_type_is_refused_with_and_without_rows(
    engine: Engine, tmp_path: Path
) -> None:
    for column, kinds in (("y", {"x"}), ("x", {"x"})):
        seen = set()
        for values in ([], [f"{SENTINEL}{k}" for k in range(3)]):
            if column == "x" and engine.name in ("csv", "pandas"):
                continue  # where text has a type, of which other tests tell
            frame = engine.make(
                pa.table({name: pa.array(values, pa.string()) for name in kinds}), tmp_path
            )
            seen.add(outcome(frame, column=column, edges=[0, 1]))
        assert len(seen) <= 1
        assert not any(SENTINEL in text for text in seen)


@every_engine
def test_row_order_tells_nothing(engine: Engine, tmp_path: Path) -> None:
    values = np.random.default_rng(1).permutation(np.repeat(np.arange(-3, 12), 7))
    found = [
        bin_counts(engine.make(pa.table({"x": order}), tmp_path), column="x", edges=[0, 5, 10])
        for order in (values, np.sort(values), values[::-1].copy())
    ]
    assert found[0] == found[1] == found[2]


@every_engine
def test_one_row_more_is_one_more_in_one_place(engine: Engine, tmp_path: Path) -> None:
    """What a guarantee rests on: neighbours differ in one count, wherever the row falls."""
    rows: list[int | None] = [0, 4, 5, 9, -1, 10]
    if engine.name == "pandas":  # whose integers become floats with a missing value: also well
        rows.append(None)

    def slots(values: list[int | None]) -> np.ndarray:
        frame = engine.make(pa.table({"x": pa.array(values, pa.int64())}), tmp_path)
        found = bin_counts(frame, column="x", edges=[0, 5, 10])
        return np.array([*found.counts, found.underflow, found.overflow, found.nulls])

    before = slots(rows)
    assert before.sum() == len(rows)
    for extra in (0, 5, 10, -NUMBER, NUMBER, None):
        assert sorted(np.abs(slots([*rows, extra]) - before)) == [0, 0, 0, 0, 1]


def test_one_row_more_in_two_dimensions() -> None:
    rng = np.random.default_rng(5)
    points = rng.integers(-2, 6, (60, 2))

    def slots(values: np.ndarray) -> np.ndarray:
        table = pa.table({"x": values[:, 0], "y": values[:, 1]})
        found = bin_counts(table, column=["x", "y"], edges=[[0, 2, 4], [0, 1, 4]])
        return np.array([*found.counts.ravel(), *found.outside.values()])

    whole = slots(points)
    assert whole.sum() == len(points)
    for left_out in range(len(points)):
        assert np.abs(whole - slots(np.delete(points, left_out, 0))).sum() == 1


def test_no_value_of_an_invalid_record_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    for text in (SENTINEL, f"{NUMBER}x", f'"{NUMBER},5"', f"2024-01-{NUMBER}"):
        path.write_text(f"x\n{text}\n")
        for bins in ({"edges": [0, 1]}, {"edges": ["2024-01-01", "2024-01-02"]}):
            with refused(DataError, "'x'"):
                bin_counts(path, column="x", **bins)
    path.write_text(f"x\n1\n{NUMBER}\n")
    assert NUMBER not in bin_counts(path, column="x", edges=[0, 1]).counts


def test_no_value_of_a_failing_engine_is_shown() -> None:
    text = f"{SENTINEL}{NUMBER}"
    frames = [
        duckdb.connect().sql(f"SELECT error('{text}')::INTEGER AS x"),
        pl.LazyFrame({"x": [text]}).with_columns(pl.col("x").cast(pl.Int64)),
    ]
    for frame in frames:
        with refused(DataError, "'x'"):
            bin_counts(frame, column="x", edges=[0, 1])


def test_edges_read_from_the_data_are_refused_before_they_are_read() -> None:
    rows = pd.DataFrame({"x": [NUMBER, 1]})
    for edges in (rows["x"], rows["x"].quantile([0, 1]), pd.cut(rows["x"], 2), rows["x"].min()):
        with refused(ParameterError, "without looking at the data"):
            bin_counts(rows, column="x", edges=edges)
    with refused(ColumnError, "'x'"):
        bin_counts(rows, column="x", edges=["2024-01-01", "2024-01-02"])


def test_a_repr_of_the_counts_would_be_noticed() -> None:
    """Power: the comparison above tells tables apart by anything that is shown of them."""
    shown = {
        str(bin_counts(pa.table({"x": v}), column="x", edges=[0, 5]).counts)
        for v in (pa.array([1]), pa.array([1, 2]))
    }
    assert len(shown) == 2
