"""Ranges between edges: dates of a calendar, as arguments and in errors."""

import datetime
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import dphist as dh
from dphist.errors import ParameterError
from dphist.ranges.leaf_counts import BinAnswers
from dphist.release.range_histogram import RangeHistogram

DAYS = pd.DataFrame({"day": pd.date_range("2010-01-01", "2010-12-31"), "x": range(365)})
YEAR: Any = {"start": "2010-01-01", "stop": "2011-01-01", "width": "1mo"}
MONTHS = dh.bin_counts(DAYS, column="day", **YEAR)
H = dh.LeafCounts(epsilon=1000, bins=12).release(MONTHS).value


def test_months_have_their_days() -> None:
    assert MONTHS.counts.tolist() == [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    assert MONTHS.outside == {"below": 0, "above": 0, "null": 0}
    assert dh.Axis.from_content(MONTHS.axes[0].to_content()) == MONTHS.axes[0]


@pytest.mark.parametrize(
    ("lo", "hi"),
    [
        ("2010-02-01", "2010-04-01"),
        (datetime.date(2010, 2, 1), datetime.datetime(2010, 4, 1)),
        (np.datetime64("2010-02-01"), pd.Timestamp("2010-04-01")),
    ],
)
def test_counts_from_one_date_to_another(lo, hi) -> None:
    assert H.count(lo, hi) == 59
    assert H.error(lo, hi) == H.error_bins(1, 3)
    assert H.interval(lo, hi) == H.interval_bins(1, 3)
    assert H.slice(lo, hi).counts.tolist() == [28, 31]


def test_many_dates_at_once() -> None:
    starts = ["2010-01-01", "2010-02-01"]
    stops = np.array(["2010-02-01", "2011-01-01"], "M8[D]")
    assert H.count(starts, stops).tolist() == [31, 334]
    assert H.count(starts, "2011-01-01").tolist() == [365, 334]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("2010-02-15", "2010-02-15 is between 2010-02-01 and 2010-03-01"),
        ("2009-02-15", "2009-02-15 is before the first, 2010-01-01"),
        ("2012-01-01", "2012-01-01 is after the last, 2011-01-01"),
    ],
)
def test_errors_name_dates(value, said) -> None:
    for call in (H.count, H.error, H.interval, H.slice):
        with pytest.raises(ParameterError, match=said):
            call("2010-01-01", value)
    with pytest.raises(ParameterError, match="'day'"):
        H.count(value, "2011-01-01")


def test_errors_name_the_time_of_day() -> None:
    with pytest.raises(ParameterError, match="2010-02-15T12:30:00 is between 2010-02-01 and"):
        H.axes[0].position("2010-02-15T12:30")
    hours = dh.Axis.regular("2010-01-01", "2010-01-02", "1h", "t")
    said = "2010-01-01T00:30:00 is between 2010-01-01 and 2010-01-01T01:00:00"
    with pytest.raises(ParameterError, match=said):
        hours.position("2010-01-01T00:30")
    with pytest.raises(ParameterError, match=r"18\.5 is between 18 and 65"):
        dh.Axis.from_edges([0.0, 18, 65]).position(18.5)


EDGES: Any = {
    "whole numbers": [18, 19, 20, 30],
    "numbers": [18.0, 19.5, 20.25, np.inf],
    "numbers beyond 2**53": [2**53, 2**53 + 1, 2**53 + 2, 2**60],
    "dates": ["2024-01-01", "2024-01-02", "2024-01-05", "2024-02-01"],
    "times": ["2024-01-01T00:00", "2024-01-01T12:30", "2024-01-02", "2024-01-03"],
}


@pytest.mark.parametrize("edges", EDGES.values(), ids=EDGES)
def test_questions_go_by_value_and_those_of_bins_by_position(edges) -> None:
    """Of each type of edges: a position is not taken for a value, nor a value for a position."""
    axis = dh.Axis.from_edges(edges, "a")
    counts = np.array([3, 5, 9])
    h = RangeHistogram(counts, (axis,), answers=BinAnswers(counts, 1.0))
    sums = np.append(0, np.cumsum(counts))
    first_is_number = not isinstance(edges[0], str)
    for lo in range(4):
        for hi in range(lo, 4):
            for start, stop in ((edges[lo], edges[hi]), (axis.edges[lo], axis.edges[hi])):
                assert h.count(start, stop) == h.count_bins(lo, hi) == sums[hi] - sums[lo]
                assert h.error(start, stop) == h.error_bins(lo, hi)
                assert h.interval(start, stop) == h.interval_bins(lo, hi)
    assert h.count(axis.edges[:-1], axis.edges[1:]).tolist() == [3, 5, 9]
    assert h.count(list(edges[:-1]), edges[3]).tolist() == [17, 14, 9]
    for question in (h.count, h.error, h.interval, h.slice):
        with pytest.raises(ParameterError, match=r"^start must be an edge of the axis 'a'"):
            question(1 if first_is_number else "1999-01-01", edges[3])
        with pytest.raises(ParameterError, match=r"^stop must be"):
            question(edges[0], True)
    with pytest.raises(ParameterError, match="in order: start first"):
        h.count(edges[2], edges[1])
    for ask in (h.count_bins, h.error_bins, h.interval_bins):
        for wrong in (edges[0], 4, -1, 0.5):
            with pytest.raises(ParameterError, match=r"^(lo|hi)"):
                ask(0, wrong)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (25, "stop must be an edge .* 25 is between 20 and 30"),
        (20.5, r"20\.5 is between 20 and 30"),
        (np.array([20, 25]), "25 is between 20 and 30"),
        (2, "2 is before the first, 18"),
        (10**30, "after the last, 30"),
        (float("nan"), "stop must be a finite number"),
        ("20", "type of its edges$"),
    ],
)
def test_a_number_that_is_no_edge_is_refused_with_the_nearest(value, said) -> None:
    counts = np.array([1, 2, 3])
    axis = dh.Axis.from_edges([18, 19, 20, 30])
    ages = RangeHistogram(counts, (axis,), answers=BinAnswers(counts, 1.0))
    with pytest.raises(ParameterError, match=said):
        ages.count(18, value)


def test_bins_without_edges_have_their_numbers() -> None:
    h = dh.LeafCounts(epsilon=1000, bins=3).release([1, 2, 3]).value
    assert h.count(1, 3) == h.count_bins(1, 3) == 5
    assert h.slice(1, 3).counts.tolist() == [2, 3]
    with pytest.raises(ParameterError, match="4 is after the last, 3"):
        h.count(1, 4)


def test_several_axes_have_values_of_each() -> None:
    counts = dh.bin_counts(
        DAYS,
        column=["day", "x"],
        edges=[pd.date_range("2010-01-01", periods=13, freq="MS"), [0, 40, 365]],
    )
    grid = dh.LeafCounts(epsilon=1000, bins=(12, 2)).release(counts).value
    assert grid.count(("2010-01-01", 0), ("2010-02-01", 365)) == 31
    assert grid.count(("2010-02-01", 0), ("2010-03-01", 40)) == grid.count_bins((1, 0), (2, 1)) == 9
    part = grid.slice("2010-02-01", "2010-03-01", axis="day").marginal("x")
    assert part.counts.tolist() == [9, 19]
    with pytest.raises(ParameterError, match=r"axis 'x'.* 2 is between 0 and 40"):
        grid.count(("2010-01-01", 0), ("2010-02-01", 2))
    for lo in (("2010-01-01",), "2010-01-01", ("2010-01-01", 0, 0)):
        with pytest.raises(ParameterError, match="each of 2 axes"):
            grid.count(lo, ("2011-01-01", 365))


# --- Edges of a calendar


@pytest.mark.parametrize(
    ("start", "stop", "width", "edges"),
    [
        ("2024-01-01", "2024-03-01", "1mo", ["2024-01-01", "2024-02-01", "2024-03-01"]),
        ("2024-01-28", "2024-07-28", "1q", ["2024-01-28", "2024-04-28", "2024-07-28"]),
        ("1999-07-04", "2001-07-04", "1y", ["1999-07-04", "2000-07-04", "2001-07-04"]),
        (
            "2024-01-01T06:00",
            "2024-03-01T06:00",
            "1mo",
            ["2024-01-01T06", "2024-02-01T06", "2024-03-01T06"],
        ),
    ],
)
def test_calendar_widths(start, stop, width, edges) -> None:
    found = dh.Axis.regular(start, stop, width).edges
    assert found.tolist() == np.array(edges, found.dtype).tolist()
    assert found.dtype == ("M8[us]" if "T" in start else "M8[D]")


@pytest.mark.parametrize(
    ("start", "stop", "width", "said"),
    [
        ("2024-01-01", "2024-03-15", "1mo", "move stop to 2024-03-01 or 2024-04-01"),
        ("2024-01-01", "2024-06-01", "1q", "move stop to 2024-04-01 or 2024-07-01"),
        ("2024-01-31", "2024-03-31", "1mo", "28th"),
        ("2024-01-01", "2024-01-01", "1mo", "greater than start"),
        ("2024-03-01", "2024-01-01", "1mo", "greater than start"),
        ("2024-01-01T00:00Z", "2024-03-01T00:00Z", "1mo", "tz must be given"),
        ("2024-01-01", "2024-03-01", "0mo", "at least one month"),
        ("2024-01-01", "2024-03-01", "1month", "width must be"),
        ("2024-01-01", "2024-01-05", "3d", "move stop to 2024-01-04 or 2024-01-07"),
        ("2024-01-01", "2024-01-01T01:30", "1h", "2024-01-01T01:00:00 or 2024-01-01T02:00:00"),
        (0, 10, "1mo", "width must be a number"),
        ("9999-12-01", "9999-12-02", "999999y", "years 1 to 9999|whole number"),
    ],
)
def test_calendar_widths_that_do_not_fit_are_refused(start, stop, width, said) -> None:
    with pytest.raises(ParameterError, match=said):
        dh.Axis.regular(start, stop, width)


DATE = datetime.date
RANGES = {
    "pandas": lambda: pd.date_range("2024-01-01", periods=4, freq="MS"),
    "pandas in nanoseconds": lambda: pd.date_range("2024-01-01", periods=4, freq="MS", unit="ns"),
    "polars, eager": lambda: pl.date_range(DATE(2024, 1, 1), DATE(2024, 4, 1), "1mo", eager=True),
    "polars": lambda: pl.date_range(DATE(2024, 1, 1), DATE(2024, 4, 1), "1mo"),
    "polars, datetimes": lambda: pl.datetime_range(DATE(2024, 1, 1), DATE(2024, 4, 1), "1mo"),
}


@pytest.mark.parametrize("name", RANGES)
def test_ranges_of_dates_of_other_libraries_are_edges(name) -> None:
    expected = dh.Axis.regular("2024-01-01", "2024-04-01", "1mo").edges
    assert (dh.Axis.from_edges(RANGES[name]()).edges == expected).all()
    rows = pd.DataFrame({"t": pd.to_datetime(["2024-01-31", "2024-02-29", "2024-03-01"])})
    assert dh.bin_counts(rows, column="t", edges=RANGES[name]()).counts.tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    "edges",
    [
        pd.date_range("2024-03-01", periods=3, freq="MS", tz="Europe/Zurich"),
        pl.datetime_range(
            DATE(2024, 3, 1), DATE(2024, 5, 1), "1mo", time_zone="Europe/Zurich", eager=True
        ),
    ],
    ids=["pandas", "polars"],
)
def test_months_of_a_time_zone_begin_there(edges) -> None:
    """Winter time until the 31st of March."""
    axis = dh.Axis.from_edges(edges)
    assert axis == dh.Axis.regular("2024-03-01", "2024-05-01", "1mo", tz="Europe/Zurich")
    found = axis.edges.astype("M8[h]")
    assert found.astype(str).tolist() == ["2024-02-29T23", "2024-03-31T22", "2024-04-30T22"]
    zoned = pd.DataFrame({"t": pd.to_datetime(["2024-02-29T23:30Z", "2024-03-31T22:30Z"])})
    assert dh.bin_counts(zoned, column="t", edges=edges).counts.tolist() == [1, 1]
    with pytest.raises(dh.ColumnError, match="zone"):
        dh.bin_counts(DAYS, column="day", edges=edges)


@pytest.mark.parametrize(
    "edges",
    [
        pd.DatetimeIndex(DAYS["day"]),
        DAYS.set_index("day").index,
        DAYS.set_index("day").resample("MS").sum().index,
        DAYS["day"],
        pl.Series("day", DAYS["day"]),
        pl.col("day"),
        pl.col("day").unique(),
        pl.lit("2024-01-01"),
        pl.int_range(0, 3),
        pd.period_range("2024", periods=3, freq="M"),
    ],
    ids=range(10),
)
def test_columns_of_a_table_are_no_ranges(edges) -> None:
    with pytest.raises(ParameterError, match="columns"):
        dh.bin_counts(DAYS, column="day", edges=edges)
