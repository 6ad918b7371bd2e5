"""Counting rows by group and bin, in every engine."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dphist as dh
from tests.support.counting.contribution_engines import ENGINES, Engine

ROWS = 400
PLACES = ["BE", "UR", "zürich", "empty"]
AXIS = dh.Axis.regular(0, 90, 10)


def rows(seed: int = 1) -> pa.Table:
    draw = np.random.default_rng(seed)
    return pa.table(
        {
            "place": draw.choice([*PLACES[:3], "elsewhere"], ROWS),
            "fare": pa.array(
                [None if fare > 95 else fare for fare in draw.integers(-5, 100, ROWS).tolist()]
            ),
            "who": [f"p{who}" for who in draw.integers(0, 90, ROWS)],
            "n": draw.integers(0, 9, ROWS),
        }
    )


def plain(table: pa.Table, *, other: bool, weights: str | None = None) -> np.ndarray:
    labels = [*PLACES, "other"] if other else PLACES
    found = np.zeros((len(labels), 9), np.int64)
    for row in table.to_pylist():
        place = row["place"] if row["place"] in PLACES else "other"
        fare = row["fare"]
        if fare is not None and 0 <= fare < 90 and place in labels:
            found[labels.index(place), fare // 10] += 1 if weights is None else row[weights]
    return found


def count(frame: Any, **more: Any) -> dh.GroupedCounts:
    given = {"groups": {"place": PLACES}, "column": "fare", "bins": AXIS, **more}
    return dh.GroupedCounts.from_table(frame, **given)


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
@pytest.mark.quick("pandas", "csv", "polars", "parquet")
def test_every_engine_counts_what_plain_python_counts(engine: Engine, tmp_path: Path) -> None:
    for other in (False, True):
        found = count(engine.make(rows(), tmp_path), other=other)
        assert np.array_equal(found.counts_by_group(), plain(rows(), other=other))
        assert (found.bins, found.max_rows, found.unit) == (9, 1, None)
    weighted = count(engine.make(rows(), tmp_path), count="n")
    assert np.array_equal(weighted.counts_by_group(), plain(rows(), other=False, weights="n"))
    bounded = count(engine.make(rows(), tmp_path), user="who", max_rows=2)
    assert (bounded.sensitivity, str(bounded.unit)) == (2, "one user")
    assert (bounded.counts_by_group() <= plain(rows(), other=False)).all()


def test_rows_of_no_group_or_bin_are_left_out_before_users_are_bounded() -> None:
    """A user with many such rows keeps the others."""
    table = pa.table(
        {
            "place": ["elsewhere"] * 50 + ["BE", "UR"] + ["BE"] * 50,
            "fare": [5] * 52 + [1000] * 50,
            "who": ["p"] * 102,
        }
    )
    found = count(table, user="who", max_rows=2)
    assert found.counts_by_group()[:2, 0].tolist() == [1, 1]


def test_bins_may_be_edges_and_groups_whole_numbers() -> None:
    table = pa.table({"place": [3, 1, 1, 7], "day": [1.5, 2.5, 0.5, 9.0]})
    found = dh.GroupedCounts.from_table(
        table, groups={"place": [1, 3]}, column="day", bins=[0, 1, float("inf")], other=True
    )
    assert found.groups.keys[0].labels == (1, 3, "other")
    assert found.counts_by_group().tolist() == [[1, 1], [0, 1], [0, 1]]
    assert found == found.__reduce__()[0](*found.__reduce__()[1])


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no groups": ({"groups": {}}, "groups must name"),
    "two columns": ({"groups": {"a": [1], "b": [2]}}, "groups must name one column"),
    "bins as groups": ({"groups": {"a": AXIS}}, "groups must list values"),
    "a value twice": ({"groups": {"a": ["x", "x"]}}, "groups must list each value of 'a' once"),
    "the number of bins": ({"bins": 9}, "bins must be a dphist.Axis"),
    "edges that fall": ({"bins": [3, 2]}, "edges"),
    "the column of the groups": ({"column": "place"}, "column must be text, and another"),
    "too many bins": (
        {"bins": dh.Axis.regular(0, 2**25, 1)},
        "groups and bins must be at most 67108864",
    ),
    "users without a bound": ({"user": "who"}, "user and max_rows must be given together"),
    "other that is no truth value": ({"other": "place"}, "other must be True or False"),
}


@pytest.mark.parametrize(("given", "said"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_before_data_are_read(given: dict[str, Any], said: str) -> None:
    with pytest.raises(dh.ParameterError, match=said):
        count("no such file.csv", **given)


def test_cells_that_no_mechanism_could_measure_are_refused_ahead_of_any_charge() -> None:
    table = pa.table({"n": [1, 2], "b": ["l", "m"]})
    found = {"n": [1, 2], "b": dh.DiscoverKeys(share="0.2", max_found=8)}
    for keys in (found, {"n": dh.Axis.regular(0, 4, 1), "b": ["l", "m"]}):
        with pytest.raises(dh.ParameterError, match="cells must have groups with values"):
            dh.GroupedCounts(dh.KeyedCounts.from_table(table, keys=keys))


def test_nothing_secret_is_shown() -> None:
    found = count(rows(), user="who", max_rows=2)
    assert repr(found) == (
        "GroupedCounts(groups={'place': ['BE', 'UR', 'zürich', 'empty']}, bins=9, max_rows=2, "
        "unit='one user'; counts not shown)"
    )
    with pytest.raises(dh.UnsupportedError, match="GroupedCounts must be passed"):
        np.asarray(found)
    assert "<td" not in found._repr_html_()
