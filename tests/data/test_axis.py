"""Axes: what makes edges, what is refused, and saving them without changing a bit."""

import copy
import datetime
import json
import math
import pickle
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dphist.data.axis.axis import Axis
from dphist.errors import ParameterError

INFINITY = math.inf
DATE, TIME = datetime.date, datetime.datetime
UTC = datetime.UTC


def again(axis: Axis) -> Axis:
    return Axis.from_content(json.loads(json.dumps(axis.to_content(), allow_nan=False)))


@pytest.mark.parametrize(
    ("edges", "dtype", "first"),
    [
        ([0, 18, 65], "i8", 0),
        (range(3), "i8", 0),
        ((np.int8(1), 2), "i8", 1),
        (np.array([1, 2], np.uint8), "i8", 1),
        ([0, 0.5], "f8", 0.0),
        ([Decimal("0.1"), Fraction(1, 3)], "f8", 0.1),
        (np.array([0.5, 1], np.float32), "f8", 0.5),
        ([-INFINITY, 0, INFINITY], "f8", -INFINITY),
        ([DATE(2024, 1, 1), "2024-01-02"], "M8[D]", DATE(2024, 1, 1)),
        (["2024-01-01", "2024-01-01T12:00"], "M8[us]", TIME(2024, 1, 1)),
        ([TIME(2024, 1, 1), DATE(2024, 1, 2)], "M8[us]", TIME(2024, 1, 1)),
        ([pd.Timestamp("2024-01-01"), np.datetime64("2024-01-02", "ns")], "M8[us]", None),
        ([TIME(2024, 1, 1, tzinfo=UTC), "2024-01-01T02:00+01:00"], "M8[us]", TIME(2024, 1, 1)),
        (np.array(["2024-01", "2024-02"], "M8[M]"), "M8[D]", DATE(2024, 1, 1)),
        (np.array(["2024-01-01T00", "2024-02-01T00"], "M8[ns]"), "M8[us]", TIME(2024, 1, 1)),
        (np.array(["2024-01-01", "2024-02-01"]), "M8[D]", DATE(2024, 1, 1)),
        (np.array([1, 2.5], object), "f8", 1.0),
    ],
    ids=str,
)
def test_edges_that_are_taken(edges: Any, dtype: str, first: Any) -> None:
    axis = Axis.from_edges(edges, "x")
    assert axis.edges.dtype == np.dtype(dtype)
    assert axis.bins == len(edges) - 1
    assert first is None or axis.edges[0].tolist() == first
    assert not axis.edges.flags.writeable


@pytest.mark.parametrize(
    "edges",
    [
        *(10, "auto", "fd", np.histogram, 1.5, None, {0, 1}, {0: 1}, iter([0, 1])),
        *(pd.Series([0, 1]), pl.Series([0, 1]), pd.DataFrame({"x": [0, 1]})["x"]),
        *(pd.Series([1, 2]).quantile([0, 1]), pd.interval_range(0, 2), pd.Index([0, 1])),
    ],
    ids=lambda edges: type(edges).__name__,
)
def test_edges_that_may_have_come_from_the_data(edges: Any) -> None:
    with pytest.raises(ParameterError, match=r"edges.*without looking at the data.*width"):
        Axis.from_edges(edges)


@pytest.mark.parametrize(
    "edges",
    [
        *([], [1], [1, 1], [2, 1], [0, math.nan], [math.nan, 1], [0, INFINITY, INFINITY]),
        *([INFINITY, 1], [True, False], [0, True], np.array([True, False]), [0, "a"], [0, None]),
        *([0, "2024-01-01"], [0, DATE(2024, 1, 1)], [0, 1j], np.array([0, 1j]), [[0, 1], [2, 3]]),
        *(np.zeros((2, 2)), np.array([0, 2**63], np.uint64), [0, 2**63], range(0, 2**64, 2**60)),
        *([0.5, 2**53 + 1], [0, Decimal("NaN")], [b"0", b"1"], np.ma.array([0, 1], mask=[0, 1])),  # type: ignore[arg-type]
        *(["2024-01-01", "2024-13-01"], ["20240101", "20240102"], ["2024-01-01", "now"]),
        *([TIME(2024, 1, 1), TIME(2024, 1, 2, tzinfo=UTC)], [pd.NaT, TIME(2024, 1, 1)]),
        *(np.array(["NaT", "2024"], "M8[D]"), np.array(["2024", "20240"], "M8[Y]")),
        *([pd.Timestamp(1), pd.Timestamp(2)], np.array([1, 2], "M8[ns]"), [pd.Timedelta(1)] * 2),
        *(["0001-01-01T00:00+23:00", "2024-01-01T00:00Z"], np.array([1, 2], "m8[s]")),
        *(
            [np.datetime64("NaT", "D"), DATE(2024, 1, 1)],
            range(2**26 + 2),
            [0, pd.NA],
            range(3, 0, -1),
        ),
    ],
    ids=lambda edges: repr(edges)[:40],
)
def test_edges_that_are_none(edges: Any) -> None:
    with pytest.raises(ParameterError, match="edges"):
        Axis.from_edges(edges)


@pytest.mark.parametrize("edge", [10**400, Fraction(10**400, 3), Decimal("1e400")])
def test_an_edge_beyond_all_floats_is_named(edge: Any) -> None:
    with pytest.raises(ParameterError, match="edges must be within the range of float64"):
        Axis.from_edges([0.5, edge])


@pytest.mark.parametrize(
    "edges",
    [
        [0, 1],
        np.array(["a"]),
        np.array([0, 1], np.int32),
        np.array([1, 0]),
        np.array([[0, 1]]),
        np.array([0.0, math.nan]),
    ],
    ids=str,
)
def test_the_constructor_takes_finished_edges_only(edges: Any) -> None:
    with pytest.raises(ParameterError, match="edges"):
        Axis("x", edges)
    with pytest.raises(ParameterError, match="name"):
        Axis(3, np.array([0, 1]))  # type: ignore[arg-type]


def test_regular_decimals_are_the_nearest_floats() -> None:
    assert Axis.regular(0, 1, 0.1).edges.tolist() == [k / 10 for k in range(11)]
    assert Axis.regular("2024-01-01", "2024-01-02", "1h").bins == 24
    assert Axis.regular(0.1, 0.7, 0.2).edges.tolist() == [0.1, 0.3, 0.5, 0.7]
    assert Axis.regular(0, 1, Fraction(1, 3)).edges.tolist() == [0, 1 / 3, 2 / 3, 1]
    assert Axis.regular(Decimal("1e30"), 1e30 + 1e15, 1e15).bins == 1
    assert Axis.regular(0, 10, 5).edges.dtype == np.int64
    assert Axis.regular(0.0, 10, 5).edges.dtype == np.float64
    assert Axis.regular(-(2**63), 2**63 - 1, 2**64 - 1).edges.tolist() == [-(2**63), 2**63 - 1]


@settings(max_examples=100, deadline=None)
@given(
    start=st.decimals(-(10**9), 10**9, places=4),
    width=st.decimals("0.0001", 10**6, places=4),
    bins=st.integers(1, 40),
    far=st.sampled_from([1, 10**12]),
)
def test_regular_edges_are_exact(start: Decimal, width: Decimal, bins: int, far: int) -> None:
    first, step = Fraction(start) * far, Fraction(width) * far
    axis = Axis.regular(first, first + bins * step, step)
    expected = [(first + i * step) for i in range(bins + 1)]
    assert axis.edges.tolist() == [e.numerator / e.denominator for e in expected]
    assert again(axis) == axis


@pytest.mark.parametrize(
    ("start", "stop", "bins", "width"),
    [
        (0, 100, 20, 5),
        (0, 1, 3, Fraction(1, 3)),
        (Decimal("0.1"), 0.7, 3, 0.2),
        (-(2**63), 2**63 - 1, 1, 2**64 - 1),
        ("2024-01-01", "2024-12-31", 5, "73d"),
        ("2024-01-01", DATE(2024, 1, 2), 24, "1h"),
        ("2024-01-01T00:00+01:00", "2024-01-02T00:00+02:00", 23, "1h"),
    ],
)
def test_a_number_of_bins_stands_for_their_width(
    start: Any, stop: Any, bins: int, width: Any
) -> None:
    assert Axis.regular(start, stop, bins=bins) == Axis.regular(start, stop, width)


def test_a_number_of_days_in_a_zone_is_one_of_its_calendar() -> None:
    week: Any = {"start": "2024-03-28", "stop": "2024-04-04", "tz": "Europe/Zurich"}
    assert Axis.regular(**week, bins=7) == Axis.regular(**week, width="1d")
    short = Axis.regular("2024-03-31", "2024-04-01", bins=23, tz="Europe/Zurich")
    assert set(np.diff(short.edges).tolist()) == {datetime.timedelta(hours=1)}


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({}, "width and bins must be given, one of the two"),
        ({"width": 1, "bins": 2}, "width and bins must be given, one of the two"),
        ({"bins": 0}, "bins must be at least 1"),
        ({"bins": 2**26 + 1}, "bins must be at most"),
        ({"bins": 2.5}, "bins must be"),
        ({"start": 9, "bins": 2}, "stop must be greater than start"),
        ({"start": "2024-01-01", "stop": "2024-01-02", "bins": 7}, "bins must divide the time"),
        ({"start": "2024-01-01", "bins": 7}, "start and stop must both be numbers"),
    ],
    ids=str,
)
def test_numbers_of_bins_that_cannot_be_are_refused(given: dict[str, Any], named: str) -> None:
    with pytest.raises(ParameterError, match=named):
        Axis.regular(**{"start": 0, "stop": 8, **given})


@pytest.mark.parametrize(
    ("start", "stop", "width", "named"),
    [
        (0, 1, 0.3, "stop"),
        (0, 10, 3, "stop"),
        (1, 0, 1, "stop"),
        (0, 0, 1, "stop"),
        (0, 1, 0, "width"),
        (0, 1, -1, "width"),
        (0, 1, math.nan, "width"),
        (0, INFINITY, 1, "stop"),
        (0, 2**27, 1, "width"),
        (1e300, 1e300 + 1e290, Fraction(1), "width"),
        (1e16, 1e16 + 4, 1, "width"),
        (0, 1, "1", "width"),
        (0, 1, "1h", "width"),
        (0, "2024-01-01", 1, "start"),
        (True, 2, 1, "start"),
        (0, 2**63, 2**60, "int64"),
        (0, 10**400, 10**400, "float64|int64|stop"),
        (Fraction(0), 10**399, 10**399, "float64"),
        ("2024-01-01", "2024-01-02", 1, "width"),
        ("2024-01-01", "2024-01-02", "7h", "stop"),
        ("2024-01-01", "2024-01-02", "1x", "width"),
        ("2024-01-01", "2024-01-02", "0h", "width"),
        ("2024-01-01", "2024-03-01", "1M", "width"),
        ("2024-01-01", "2024-03-01", np.timedelta64(1, "M"), "width"),
        ("2024-01-01", "2024-03-01", np.timedelta64("NaT", "D"), "width"),
        ("2024-01-01", "2024-03-01", pd.Timedelta(1), "width"),
        ("2024-01-01", "2024-03-01", datetime.timedelta(0), "width"),
        ("2024-01-01", "yesterday", "1d", "stop"),
        ("2024-01-01T00:00Z", "2024-01-02", "1d", "zone"),
        (None, 1, 1, "start.*without looking"),
        (0, None, 1, "stop.*without looking"),
        (0, 1, None, "width and bins must be given"),
    ],
)
def test_widths_that_make_no_bins(start: Any, stop: Any, width: Any, named: str) -> None:
    with pytest.raises(ParameterError, match=named):
        Axis.regular(start, stop, width)


@pytest.mark.parametrize(
    ("width", "bins", "dtype"),
    [
        ("1w", 2, "M8[D]"),
        ("1d", 14, "M8[D]"),
        ("24h", 14, "M8[D]"),
        ("12 h", 28, "M8[us]"),
        ("15m", 14 * 96, "M8[us]"),
        ("15min", 14 * 96, "M8[us]"),
        (datetime.timedelta(days=7), 2, "M8[D]"),
        (np.timedelta64(1, "D"), 14, "M8[D]"),
        (np.timedelta64(3600 * 10**9, "ns"), 336, "M8[us]"),
        (pd.Timedelta("1h"), 336, "M8[us]"),
    ],
)
def test_widths_of_time(width: Any, bins: int, dtype: str) -> None:
    axis = Axis.regular("2024-01-01", DATE(2024, 1, 15), width)
    assert (axis.bins, axis.edges.dtype) == (bins, np.dtype(dtype))
    assert again(axis) == axis


CONTENTS = [
    Axis.from_edges([0, 18, 65], "age"),
    Axis.from_edges([-(2**63), 0, 2**63 - 1]),
    Axis.from_edges([0, 5, 10, 15]),
    Axis.from_edges([0.1, 0.2, 0.4]),
    Axis.from_edges(np.linspace(0, 1, 8)),
    Axis.from_edges([-INFINITY, 0.1, 1e22, INFINITY]),
    Axis.from_edges([5e-324, 1.7976931348623157e308]),
    Axis.from_edges([-1.7976931348623157e308, 1.7976931348623157e308]),
    Axis.from_edges(["0001-01-01", "9999-12-31"]),
    Axis.from_edges(["2024-01-01", "2024-01-02", "2024-02-01"]),
    Axis.from_edges(["2024-01-01T00:00", "2024-01-01T00:00:00.000001", "2024-02-01"]),
    Axis.regular("2013-01-01", "2014-01-01", "1h", "größe"),
    Axis.regular(0, 1, Fraction(1, 3)),
    Axis.regular(0, 2**20, 1),
    Axis.regular("2024-01-01", "2025-01-01", "1d", "t", tz="Europe/Zurich"),
    Axis.regular("2024-10-27", "2024-10-28", "1h", tz="Europe/Zurich"),
    Axis.from_edges(["1800-01-01", "1850-06-01T12:00:00.5", "9999-12-30"], tz="Europe/Zurich"),
]


@pytest.mark.parametrize("axis", CONTENTS, ids=repr)
def test_a_saved_axis_is_the_same_bit_by_bit(axis: Axis) -> None:
    for other in (again(axis), copy.deepcopy(axis), pickle.loads(pickle.dumps(axis))):  # noqa: S301
        assert other == axis
        assert hash(other) == hash(axis)
        assert other.edges.tobytes() == axis.edges.tobytes()
        assert not other.edges.flags.writeable


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(allow_nan=False), min_size=2, max_size=6, unique=True))
def test_any_floats_are_saved_exactly(edges: list[float]) -> None:
    axis = Axis.from_edges(sorted(edges))
    assert again(axis) == axis


def test_bins_of_one_width_are_saved_in_few_words() -> None:
    for axis in (
        Axis.regular(0, 2**20, 1),
        Axis.regular(0, 104857.6, 0.1),
        Axis.regular("2000-01-01", "2400-01-01", "1d"),
    ):
        assert len(json.dumps(axis.to_content())) < 120


@pytest.mark.parametrize(
    "content",
    [
        *(None, [], 3, "axis", {}, {"name": "x"}, {"name": "x", "kind": "whole"}),
        {"name": "x", "kind": "other", "edges": [0, 1]},
        {"name": "x", "kind": ["whole"], "edges": [0, 1]},
        {"name": "x", "kind": "whole", "edges": [0, 1], "more": 1},
        {"name": 3, "kind": "whole", "edges": [0, 1]},
        {"name": "x", "kind": "whole", "edges": 3},
        {"name": "x", "kind": "whole", "edges": [0, 1.0]},
        {"name": "x", "kind": "whole", "edges": [0, True]},
        {"name": "x", "kind": "whole", "edges": [1, 0]},
        {"name": "x", "kind": "whole", "edges": [0, 2**63]},
        {"name": "x", "kind": "real", "edges": [0, 1]},
        {"name": "x", "kind": "real", "edges": [0.0, "nan"]},
        {"name": "x", "kind": "real", "edges": [0.0, math.nan]},
        {"name": "x", "kind": "real", "edges": [[0.0], [1.0]]},
        {"name": "x", "kind": "dates", "edges": [0, 1]},
        {"name": "x", "kind": "dates", "edges": ["2024-01-01", "2024-01-02T00:00"]},
        {"name": "x", "kind": "datetimes", "edges": ["2024-01-01", "2024-01-02"]},
        {"name": "x", "kind": "datetimes", "edges": ["2024-01-01T00:00", "2024-01-02T00:00Z"]},
        {"name": "x", "kind": "whole", "start": 0, "width": 1, "bins": 2**26 + 1},
        {"name": "x", "kind": "whole", "start": 0, "width": 0, "bins": 2},
        {"name": "x", "kind": "whole", "start": 0, "width": 2**62, "bins": 4},
        {"name": "x", "kind": "whole", "start": 0.0, "width": 1, "bins": 4},
        {"name": "x", "kind": "real", "start": 0.0, "width": -0.1, "bins": 4},
        {"name": "x", "kind": "real", "start": "inf", "width": 0.1, "bins": 4},
        {"name": "x", "kind": "real", "start": 0.0, "width": [1], "bins": 4},
        {"name": "x", "kind": "dates", "start": "2024-01-01", "width": "1h", "bins": 4},
        {"name": "x", "kind": "dates", "start": "2024-01-01", "width": "1d", "bins": 2**22},
        {"name": "x", "kind": "dates", "start": "2024-01-01", "width": 1, "bins": 4},
    ],
    ids=str,
)
def test_contents_that_are_no_axis(content: Any) -> None:
    with pytest.raises((ValueError, TypeError, KeyError)):
        Axis.from_content(content)


def test_equality_is_of_content() -> None:
    assert Axis.from_edges([0, 1]) == Axis.regular(0, 1, 1)
    assert Axis.from_edges([0, 1]) != Axis.from_edges([0, 1], "x")
    assert Axis.from_edges([0, 1]) != Axis.from_edges([0.0, 1])
    assert Axis.from_edges([0, 1]) != Axis.from_edges([0, 2])
    assert Axis.from_edges([0, 1]) != [0, 1]
    assert len({Axis.from_edges([-0.0, 1.0]), Axis.from_edges([0.0, 1.0])}) == 1


def test_a_caller_s_array_is_copied() -> None:
    edges = np.array([0, 1, 2])
    axis = Axis("x", edges)
    edges[0] = -5
    assert axis.edges[0] == 0


def test_positions_of_edges() -> None:
    ages = Axis.from_edges([0, 18, 65], "age")
    assert [ages.position(value) for value in (0, 18.0, Decimal(65), np.int8(18))] == [
        0,
        1,
        1 + 1,
        1,
    ]
    real = Axis.from_edges([0.0, 0.1, 1e30, INFINITY])
    assert [real.position(v) for v in (0, 0.1, Decimal("0.1"), 1e30, INFINITY)] == [0, 1, 1, 2, 3]
    assert real.position(int(1e30)) == 2
    days = Axis.regular("2024-01-01", "2024-01-05", "1d")
    for value in ("2024-01-03", DATE(2024, 1, 3), TIME(2024, 1, 3), np.datetime64("2024-01-03")):
        assert days.position(value) == 2
    hours = Axis.regular("2024-01-01", "2024-01-02", "1h")
    assert hours.position("2024-01-01T02:00") == 2
    with pytest.raises(ParameterError, match="no time zone"):
        hours.position("2024-01-01T02:00+02:00")
    assert hours.position(DATE(2024, 1, 2)) == 24


@pytest.mark.parametrize(
    ("axis", "value"),
    [
        (Axis.from_edges([0, 18], "age"), 1),
        (Axis.from_edges([0, 18], "age"), 17.999),
        (Axis.from_edges([0, 18], "age"), True),
        (Axis.from_edges([0, 18], "age"), "18"),
        (Axis.from_edges([0, 18], "age"), None),
        (Axis.from_edges([0, 18], "age"), 2**70),
        (Axis.from_edges([0, 18], "age"), math.nan),
        (Axis.from_edges([0, 18], "age"), DATE(2024, 1, 1)),
        (Axis.from_edges([0.0, 2.0**60]), 2**60 + 1),
        (Axis.from_edges([0.0, 2.0**60]), math.nan),
        (Axis.from_edges([0.0, 2.0**60]), 10**400),
        (Axis.from_edges([0.0, 2.0**60]), Decimal("1e999")),
        (Axis.from_edges([0.0, 2.0**60]), [0.0]),
        (Axis.regular("2024-01-01", "2024-01-05", "1d"), "2024-01-06"),
        (Axis.regular("2024-01-01", "2024-01-05", "1d"), "2024-01-02T01:00"),
        (Axis.regular("2024-01-01", "2024-01-05", "1d"), 3),
        (Axis.regular("2024-01-01", "2024-01-05", "1d"), "soon"),
        (Axis.regular("2024-01-01", "2024-01-05", "1d"), []),
    ],
)
def test_what_is_no_edge_has_no_position(axis: Axis, value: Any) -> None:
    with pytest.raises(ParameterError, match="value"):
        axis.position(value)
