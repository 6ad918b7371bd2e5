"""Sums of clamped values in cells of keys: in every container what plain Python adds up."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dphist as dh
from dphist.counting.checks import LARGEST
from dphist.data.partial import Partial
from tests.support.counting.cell_sums import KEYS, SUMS, make_rows, numbers_of
from tests.support.refusal import refused


def add_up(rows: dict[str, list[Any]]) -> dict[int, list[int]]:
    """Return the rows and both sums of each cell, in steps about the centers."""
    found: dict[int, list[int]] = {}
    for sex, age, *values in zip(*(rows[name] for name in ("sex", "age", *SUMS)), strict=True):
        held = found.setdefault("fm".index(sex) * 3 + age // 30, [0, 0, 0])
        held[0] += 1
        for place, (value, clamp) in enumerate(zip(values, SUMS.values(), strict=True)):
            steps = round(Fraction(value) / clamp.step)
            center = (clamp.least + clamp.most) // 2
            held[place + 1] += min(max(steps, clamp.least), clamp.most) - center
    return found


CONTAINERS = {
    "pandas": lambda table: table.to_pandas(),
    "polars": pl.from_arrow,
    "arrow": lambda table: table,
    "duckdb": duckdb.from_arrow,
}


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("number", [0, 1, 3000])
def test_every_container_has_the_same_sums(container: str, number: int) -> None:
    rows = make_rows(number)
    kinds = {"sex": pa.string(), "age": pa.int64(), "spent": pa.float64(), "hours": pa.int64()}
    table = pa.table({name: pa.array(rows[name], kinds[name]) for name in kinds})
    counts = dh.KeyedCounts.from_table(CONTAINERS[container](table), keys=KEYS, sums=SUMS)
    assert numbers_of(counts) == add_up(rows)
    assert counts.sums == SUMS


def test_files_have_the_same_sums(tmp_path: Path) -> None:
    rows = make_rows(500)
    pd.DataFrame(rows).to_csv(tmp_path / "rows.csv", index=False)
    pq.write_table(pa.table(rows), tmp_path / "rows.parquet")
    found = [
        numbers_of(dh.KeyedCounts.from_table(tmp_path / name, keys=KEYS, sums=SUMS))
        for name in ("rows.csv", "rows.parquet")
    ]
    assert found == [add_up(rows)] * 2


@pytest.mark.parametrize("most", [1, 2, 5])
def test_a_user_adds_the_values_of_the_rows_that_are_kept(most: int) -> None:
    rows = make_rows(2000)
    given: dict[str, Any] = {"keys": KEYS, "user": "who", "max_rows": most, "sums": SUMS}
    counts = dh.KeyedCounts.from_table(pd.DataFrame(rows), **given)
    kept = sum(min(rows["who"].count(user), most) for user in {*rows["who"]})
    assert counts.counts.sum() == kept
    for total, clamp in zip(counts.totals, SUMS.values(), strict=True):
        assert np.abs(total).sum() <= kept * clamp.reach(counts_users=True)
    many = {name: [column[0]] * 9 for name, column in rows.items()}
    alone = dh.KeyedCounts.from_table(pd.DataFrame(many), **given)
    own = add_up({name: column[:most] for name, column in many.items()})
    assert numbers_of(alone) == own


def test_which_rows_are_kept_depends_on_the_own_rows_of_a_user() -> None:
    """Another user's values change nothing: the sums of both together are those of each."""
    rows = {"sex": ["f"] * 6, "age": [1] * 6, "spent": [1, 1, 1, 9, 9, 9], "hours": [3] * 6}
    frame = pd.DataFrame({**rows, "who": [1, 1, 1, 2, 2, 2]})
    given: dict[str, Any] = {"keys": KEYS, "user": "who", "max_rows": 2, "sums": SUMS}
    counts = dh.KeyedCounts.from_table(frame, **given)
    center = (SUMS["spent"].least + SUMS["spent"].most) // 2
    assert counts.totals[0].tolist() == [2 * (4 - center) + 2 * (36 - center)]


def test_rows_that_are_left_out_add_nothing() -> None:
    rows: dict[str, list[Any]]
    rows = {"sex": ["f", "x", "m"], "age": [1, 2, 99], "spent": [1.0, 2, 3], "hours": [1, 2, 3]}
    counts = dh.KeyedCounts.from_table(rows, keys=KEYS, sums=SUMS, unlisted="drop")
    assert numbers_of(counts) == add_up({name: column[:1] for name, column in rows.items()})
    other = dh.KeyedCounts.from_table(rows, keys=KEYS, sums=SUMS, other=["sex", "age"])
    assert other.counts.tolist() == [1, 1, 1]


@pytest.mark.parametrize("value", [None, float("nan")])
@pytest.mark.parametrize("unlisted", ["error", "drop"])
def test_a_row_without_a_value_is_refused_by_its_column(value: Any, unlisted: str) -> None:
    rows = {"sex": ["f", "f"], "age": [1, 2], "spent": [1.0, value], "hours": [1, 2]}
    with pytest.raises(dh.DataError, match="'spent' must have a number in each row") as error:
        dh.KeyedCounts.from_table(pa.table(rows), keys=KEYS, sums=SUMS, unlisted=unlisted)
    assert "1" not in str(error.value)


def test_text_that_is_no_number_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("sex,age,spent,hours\nf,1,secret,3\n")
    with pytest.raises(dh.DataError, match="'spent' must hold numbers") as error:
        dh.KeyedCounts.from_table(tmp_path / "rows.csv", keys=KEYS, sums=SUMS)
    assert "secret" not in str(error.value)
    rows = {"sex": ["f"], "age": [1], "spent": [True], "hours": [1]}
    with pytest.raises(dh.ColumnError, match="'spent' must hold numbers to be summed"):
        dh.KeyedCounts.from_table(pa.table(rows), keys=KEYS, sums=SUMS)


def test_bad_parameters_are_refused_before_data_are_read() -> None:
    one, frame = {"x": dh.Clamp(0, 2**40, 1)}, {"a": [1]}
    found = {"a": dh.DiscoverKeys(share="0.3")}
    for more, said in (
        ({"sums": {"x": 3}}, "must name columns with their clamps"),
        ({"sums": one, "count": "n"}, "must not both be given"),
        (
            {"sums": one, "user": "u", "max_rows": 2, "one_row_per": "a"},
            "must not both be given: values",
        ),
        ({"sums": {**one, "y": one["x"]}}, "2**62 values or more"),
        ({"sums": one, "keys": found}, "must be left out where values are found"),
        ({"sums": one, "keys": {"x_sum": [1, 2]}}, "must not make a column 'x_sum' twice"),
    ):
        given: dict[str, Any] = {"keys": {"a": [1, 2]}, **more}
        with refused(dh.ParameterError, said):
            dh.KeyedCounts.from_table(frame, **given)


@pytest.mark.parametrize("parts", [1, 3])
def test_parts_add_up_to_what_one_process_sums(parts: int, tmp_path: Path) -> None:
    rows = pd.DataFrame(make_rows(1500))
    given: dict[str, Any] = {"keys": KEYS, "user": "who", "max_rows": 100, "sums": SUMS}
    whole = dh.KeyedCounts.from_table(rows, **given)
    files = []
    for part in range(parts):
        files.append(tmp_path / f"{part}.parquet")
        dh.KeyedCounts.partial(rows, **given, part=part, parts=parts).save(files[-1])
    merged = dh.KeyedCounts.merge(files)
    assert merged == whole
    assert numbers_of(merged) == add_up(make_rows(1500))
    other = dh.KeyedCounts.partial(rows, **{**given, "sums": None}, part=0, parts=parts + 1)
    first = dh.KeyedCounts.partial(rows, **given, part=1, parts=parts + 1)
    with pytest.raises(dh.ParameterError, match="counted with the same arguments"):
        dh.KeyedCounts.merge([other, first, *[first] * (parts - 1)])


def test_what_is_no_part_with_sums_is_refused() -> None:
    rows = pd.DataFrame(make_rows(50))
    given: dict[str, Any] = {"keys": KEYS, "user": "who", "max_rows": 2, "sums": SUMS}
    part = dh.KeyedCounts.partial(rows, **given, part=0, parts=1)
    head, narrow = dict(part.head), [["spent", "0", "1", "1"], ["hours", "0", "1", "1"]]
    far = [[name, "0", str(2**30), "1"] for name in "abc"]
    for sums in (narrow, far, []):
        with pytest.raises(dh.DataError):
            dh.KeyedCounts.merge([Partial({**head, "sums": sums}, part.table)])


def test_a_count_and_sums_that_are_huge_are_clamped() -> None:
    given: dict[str, Any] = {"keys": {"a": [1, 2]}, "sums": {"x": dh.Clamp(0, 2**40, 1)}}
    frame = pd.DataFrame({"a": [1], "x": [5], "who": [1]})
    part = dh.KeyedCounts.partial(frame, **given, user="who", max_rows=1, part=0, parts=1)
    cells, most = pa.array([0, 1, 2**40]), pa.array([LARGEST] * 3)
    merged = dh.KeyedCounts.merge([Partial(part.head, pa.table({"cell": cells, "count": most}))])
    assert merged.counts.tolist() == [LARGEST]
    assert merged.totals[0].tolist() == [-LARGEST]
