"""Whole numbers that add up in all tables, made of released ones."""

import math
import random
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import dphist as dh
from dphist.tables import nearest, whole_numbers
from dphist.tables.keyed_tables import KeyedTables

SHAPE = (4, 3, 5, 2)
KEYS: dict[str, Any] = {
    "a": ["w", "x", "y", "z"],
    "b": [1, 2, 3],
    "c": dh.Axis.regular(0, 50, 10),
    "d": [False, True],
    "one": ["only"],
}
ASKED = {
    "pairs": ["+".join(pair) for pair in combinations("abcd", 2)],
    "one in all": ["a+b+c", "c", "one+a"],
    "three and one": ["a+b+c", "c+d"],
    "apart": ["a", "d+one"],
    "total": ["one"],
}


def counts(seed: int = 1) -> np.ndarray:
    draw = np.random.default_rng(seed)
    margins = [draw.dirichlet(np.ones(size)) for size in SHAPE]
    cells = np.einsum("i,j,k,l->ijkl", *margins) * draw.gamma(2.0, 0.5, SHAPE)
    return draw.multinomial(3000, (cells / cells.sum()).ravel()).reshape((*SHAPE, 1))


def release_tables(
    asked: list[str], rho: Any = "0.02", seed: int = 1, source: Any = None
) -> KeyedTables:
    tables = dh.Tables(rho=rho, keys=KEYS, tables=asked)
    value: KeyedTables = tables.release(counts(seed), source).value
    return value


@pytest.mark.parametrize("name", ASKED)
def test_they_are_whole_and_add_up_in_all_tables(name: str) -> None:
    tables = release_tables(ASKED[name])
    whole = tables.to_whole_numbers()
    assert whole.total == max(round(tables.total), 0)
    for table in ASKED[name]:
        names = table.split("+")
        cells = whole.table(*names).counts
        assert (cells >= 0).all()
        assert (cells == np.rint(cells)).all()
        assert cells.sum() == whole.total == whole.count()
        for axis, key in enumerate(names):
            others = [other for other in names if other != key]
            assert (cells.sum(axis=axis) == whole.table(*others).counts).all()
        found = whole.table(*names).to_arrow()
        assert str(found.schema.field("count").type) == "int64"
        assert found.column_names[-1] == "count"
    assert whole.to_arrow().num_rows == tables.to_arrow().num_rows
    assert "error" not in whole.to_arrow().column_names


def test_what_is_whole_says_so() -> None:
    whole = release_tables(ASKED["three and one"]).to_whole_numbers()
    table = whole.table("b", "c")
    with pytest.raises(dh.UnsupportedError, match="no errors"):
        table.errors  # noqa: B018
    assert repr(table) == "WholeTable(b+c, 15 cells, whole numbers without errors)"
    assert table.counts.dtype == np.int64
    for shown in (table.to_arrow(), whole.to_arrow()):
        assert b"made_whole" in shown.schema.metadata


def test_they_are_the_same_each_time() -> None:
    tables = release_tables(ASKED["pairs"])
    first, again = tables.to_whole_numbers(), tables.to_whole_numbers()
    assert first == again != release_tables(ASKED["pairs"]).to_whole_numbers()
    for names in combinations("abcd", 2):
        assert (first.table(*names).counts == again.table(*names).counts).all()
    assert first.to_records().to_arrow() == again.to_records().to_arrow()


def test_they_are_closer_to_the_truth_than_unbiased_and_cut_off_numbers() -> None:
    errors, draw = np.zeros(3), random.Random(1).randbytes
    for seed in range(6):
        tables, true = release_tables(ASKED["pairs"], "0.005", seed, draw), counts(seed)[..., 0]
        whole = tables.to_whole_numbers()
        for pair in combinations(range(4), 2):
            names = ["abcd"[i] for i in pair]
            exact = true.sum(axis=tuple(i for i in range(4) if i not in pair))
            plain = tables.table(*names).counts
            tried = plain, np.maximum(plain, 0), whole.table(*names).counts
            errors += [np.abs(each - exact).sum() for each in tried]
    assert errors[2] < 0.9 * errors[1] < 0.9 * errors[0]


def test_much_budget_gives_about_the_counts_themselves() -> None:
    tables, true = release_tables(ASKED["pairs"], 500), counts()[..., 0]
    whole = tables.to_whole_numbers()
    for pair in combinations(range(4), 2):
        exact = true.sum(axis=tuple(i for i in range(4) if i not in pair))
        found = whole.table(*["abcd"[i] for i in pair]).counts
        assert np.abs(found - exact).sum() < 0.02 * true.sum()


def test_records_are_made_up_and_have_these_counts() -> None:
    whole = release_tables(ASKED["three and one"]).to_whole_numbers()
    records = whole.to_records()
    table = records.to_arrow()
    assert len(records) == table.num_rows == whole.total
    assert table.column_names == ["a", "b", "c_start", "c_stop", "d", "one"]
    assert table["one"].unique().to_pylist() == ["only"]
    alone = release_tables(ASKED["total"]).to_whole_numbers().to_records()
    assert alone.to_arrow()["one"].to_pylist() == ["only"] * len(alone) != []
    assert b"made_up" in table.schema.metadata
    assert "made up" in repr(records)
    grouped = table.group_by(["c_start", "d"]).aggregate([([], "count_all")]).to_pylist()
    for row in grouped:
        where = {"c": (row["c_start"], row["c_start"] + 10), "d": row["d"]}
        assert whole.count(**where) == row["count_all"]


def test_no_records_no_intervals_and_too_many_records(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = {"a": ["x", "y"], "b": [1, 2], "c": [1, 2]}
    mechanism = dh.Tables(rho=9, keys=keys, tables=["a+b", "b+c"])
    empty = mechanism.decode({name: 0 * part for name, part in _zeros(mechanism).items()})
    whole = empty.to_whole_numbers()
    assert whole.total == 0
    assert not whole.table("a", "b").counts.any()
    assert len(whole.to_records()) == 0
    for refused in (whole.interval, whole.error):
        with pytest.raises(dh.UnsupportedError, match="unbiased"):
            refused(a="x")
    with pytest.raises(dh.ParameterError, match="none of"):
        whole.table("a", "c")
    monkeypatch.setattr(whole_numbers, "MOST_RECORDS", 10)
    with pytest.raises(dh.UnsupportedError, match="at most 10 records"):
        mechanism.release(np.full((2, 2, 2), 9)).value.to_whole_numbers()
    one = dh.Tables(rho=9, keys=keys, tables=["a+b+c"]).release(np.full((2, 2, 2), 10**12)).value
    assert abs(one.to_whole_numbers().count(a="x") - 4 * 10**12) < 100  # no records are needed


def _zeros(mechanism: dh.Tables) -> dict[str, np.ndarray]:
    return dict(mechanism.release(np.zeros(mechanism.keys.shape, np.int64)).noisy)


def test_projection_is_the_nearest() -> None:
    draw = np.random.default_rng(3)
    for _ in range(20):
        cells = draw.normal(5, 9, (4, 3))
        found = nearest.project(cells, 40.0)
        assert math.isclose(found.sum(), 40.0)
        assert (found >= 0).all()
        for _ in range(20):  # no other one is nearer
            other = draw.dirichlet(np.ones(12)).reshape(4, 3) * 40
            assert ((found - cells) * (other - found)).sum() >= -1e-9
    rounded = nearest.round_in_order(np.array([0.4, 0.4, 0.4, 1.8]), 3)
    assert rounded.tolist() == [0, 1, 0, 2]
