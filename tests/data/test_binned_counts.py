"""Counts of bins: their form, what is refused before anything is read, and what repr shows."""

import copy
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dphist.data.axis.axis import Axis
from dphist.data.binned_counts import BinnedCounts, bin_counts
from dphist.errors import ParameterError, UnsupportedError
from dphist.privacy import PrivacyUnit

AGE = Axis.from_edges([0, 18, 65], "age")
SIZE = Axis.from_edges([0.0, 0.5, 1.0, 2.0], "size")
ONE = {"below": 1, "above": 2, "null": 3}
ROWS = pd.DataFrame({"x": [0, 1, 5], "y": [0.5, 1.5, np.nan]})


def test_counts_of_one_axis() -> None:
    counts = BinnedCounts(np.array([3, 4]), (AGE,), ONE)
    assert (counts.underflow, counts.overflow, counts.nulls, counts.bins) == (1, 2, 3, (2,))
    assert counts.counts.tolist() == [3, 4]
    with pytest.raises(ValueError, match="read-only"):
        counts.counts[0] = 1
    with pytest.raises(TypeError):
        counts.outside["below"] = 5  # type: ignore[index]


def test_counts_of_several_axes() -> None:
    counts = BinnedCounts(np.ones((2, 3), np.int64), (AGE, SIZE), {"outside": 4, "null": 5})
    assert (counts.bins, counts.nulls) == ((2, 3), 5)
    for name in ("underflow", "overflow"):
        with pytest.raises(UnsupportedError, match=name):
            getattr(counts, name)


def test_copies_are_equal_and_independent() -> None:
    array = np.array([3, 4])
    counts = BinnedCounts(array, (AGE,), ONE)
    array[0] = 9
    assert counts.counts[0] == 3
    for other in (copy.deepcopy(counts), pickle.loads(pickle.dumps(counts))):  # noqa: S301
        assert other == counts
    assert counts != BinnedCounts(np.array([3, 5]), (AGE,), ONE)
    assert counts != BinnedCounts(np.array([3, 4]), (AGE,), {**ONE, "null": 0})
    assert counts != 3
    with pytest.raises(TypeError):
        hash(counts)


def test_what_one_unit_can_change_goes_with_the_counts() -> None:
    array = np.array([3, 4])
    counts = BinnedCounts(array, (AGE,), ONE, 5, PrivacyUnit("user"))
    assert (counts.sensitivity, counts.unit) == (5, PrivacyUnit("user"))
    for other in (copy.deepcopy(counts), pickle.loads(pickle.dumps(counts))):  # noqa: S301
        assert other == counts
        assert (other.sensitivity, other.unit) == (5, PrivacyUnit("user"))
    assert "sensitivity=5, unit='one user'; counts not shown" in repr(counts)
    for bound, unit in ((1, None), (5, None), (4, PrivacyUnit("user"))):
        assert counts != BinnedCounts(array, (AGE,), ONE, bound, unit)
    plain = BinnedCounts(array, (AGE,), ONE)
    assert (plain.sensitivity, plain.unit) == (1, None)


@pytest.mark.parametrize(
    "options",
    [{"sensitivity": bad} for bad in (0, -1, True, 1.5, "2", None)]
    + [{"unit": bad} for bad in ("", 3, True)],
    ids=str,
)
def test_bounds_are_checked(options: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=next(iter(options))):
        BinnedCounts(np.array([3, 4]), (AGE,), ONE, **options)


@pytest.mark.parametrize(
    ("counts", "axes", "outside", "named"),
    [
        ([3, 4], (AGE,), ONE, "counts"),
        (np.array([3.0, 4.0]), (AGE,), ONE, "counts"),
        (np.array([3, 4, 5]), (AGE,), ONE, "counts"),
        (np.array([[3, 4]]), (AGE,), ONE, "counts"),
        (np.array([-3, 4]), (AGE,), ONE, "counts"),
        (np.array([3, 4]), (), ONE, "axes"),
        (np.array([3, 4]), ("age",), ONE, "axes"),
        (np.array([3, 4]), (AGE,), {"outside": 1, "null": 2}, "outside"),
        (np.array([3, 4]), (AGE,), {}, "outside"),
        (np.array([3, 4]), (AGE,), {**ONE, "null": -1}, "outside"),
        (np.array([3, 4]), (AGE,), {**ONE, "null": 1.0}, "outside"),
        (np.zeros((2, 3), np.int64), (AGE, SIZE), ONE, "outside"),
        (np.zeros((3, 2), np.int64), (AGE, SIZE), {"outside": 1, "null": 2}, "counts"),
    ],
)
def test_what_does_not_fit_together(counts: Any, axes: Any, outside: Any, named: str) -> None:
    with pytest.raises(ParameterError, match=named):
        BinnedCounts(counts, axes, outside)


def test_edges_in_all_forms() -> None:
    written = bin_counts(ROWS, column="x", edges=[0, 2, 4])
    regular = bin_counts(ROWS, column="x", start=0, stop=4, width=2)
    assert written == regular
    assert written.axes == (Axis.from_edges([0, 2, 4], "x"),)
    assert written.counts.tolist() == [2, 0]
    both = bin_counts(ROWS, column=["x", "y"], start=[0, 0], stop=4, width=[2, 0.5])
    assert both.counts.shape == (2, 8)
    assert dict(both.outside) == {"outside": 0, "null": 1}
    listed = bin_counts(ROWS, column=["x"], edges=[[0, 2, 4]])
    assert listed == written
    mixed = bin_counts(
        ROWS,
        column=("x", "y"),
        edges=[[0, 2, 4], None],
        start=[None, 0],
        stop=[None, 4],
        width=[None, 0.5],
    )
    assert mixed.bins == (2, 8)


@pytest.mark.parametrize(
    "bins",
    [
        {},
        {"edges": 10},
        {"edges": "auto"},
        {"edges": np.histogram_bin_edges},
        {"edges": ROWS["x"]},
        {"edges": ROWS["x"].quantile([0, 1])},
        {"edges": pd.interval_range(0, 5)},
        {"edges": pd.cut(ROWS["x"], 2)},
        {"width": 1},
        {"width": 1, "start": 0},
        {"width": 1, "stop": 5},
    ],
)
def test_bins_are_fixed_without_the_data(bins: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=r"without looking at the data.*width or bins"):
        bin_counts(ROWS, column="x", **bins)
    if not isinstance(bins.get("edges"), str):
        with pytest.raises(ParameterError, match=r"without looking at the data|one for each"):
            bin_counts(ROWS, column=["x", "y"], **bins)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"column": "x", "start": 0, "stop": 5}, "width and bins must be given"),
        ({"column": None, "edges": [0, 1]}, "column"),
        ({"column": 3, "edges": [0, 1]}, "column"),
        ({"column": [], "edges": []}, "column"),
        ({"column": ["x", 3], "edges": [[0, 1], [0, 1]]}, "column"),
        ({"column": ["x", "x"], "edges": [[0, 1], [0, 1]]}, "different"),
        ({"column": ["x", "y"], "edges": [0, 1, 2]}, "edges"),
        ({"column": ["x", "y"], "edges": [[0, 1]]}, "edges"),
        ({"column": ["x", "y"], "edges": [0, 1]}, "edges"),
        ({"column": ["x", "y"], "edges": np.zeros((2, 2))}, "edges"),
        ({"column": ["x", "y"], "width": [1], "start": 0, "stop": 5}, "width"),
        ({"column": "x", "edges": [0, 1], "width": 1}, "alone"),
        ({"column": "x", "edges": [0, 1], "start": 0}, "alone"),
        ({"column": "x", "edges": [0, 1], "progress": 3}, "progress"),
        ({"column": "x", "edges": [1, 0]}, "edges"),
        ({"column": ["x", "y"], "width": 1, "start": 0, "stop": 2**14}, "2?|bins"),
    ],
)
def test_arguments_that_are_refused(arguments: dict[str, Any], named: str) -> None:
    with pytest.raises(ParameterError, match=named):
        bin_counts(ROWS, **arguments)


def test_repr_shows_names_and_shape_only() -> None:
    rows = pd.DataFrame({"x": [918273645] * 9})
    counts = bin_counts(rows, column="x", edges=[0, 918273645, 918273650])
    assert repr(counts) == "BinnedCounts(axes=['x'], bins=(2,), sensitivity=1; counts not shown)"
    assert str(counts) == f"{counts}" == repr(counts)
