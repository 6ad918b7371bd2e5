"""Ranges between edges: dates of a calendar, as arguments and in errors."""

import datetime
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import dphist as dh
from dphist.errors import ParameterError, UnsupportedError

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
        (1, "2010-04-01"),
        (1, 3),
    ],
)
def test_counts_from_one_date_to_another(lo, hi) -> None:
    assert H.count(lo, hi) == 59
    assert H.error(lo, hi) == H.error(1, 3)
    assert H.interval(lo, hi) == H.interval(1, 3)
    assert H.slice(lo, hi).bins.tolist() == [28, 31]


def test_many_dates_at_once() -> None:
    starts = ["2010-01-01", "2010-02-01"]
    stops = np.array(["2010-02-01", "2011-01-01"], "M8[D]")
    assert H.count(starts, stops).tolist() == [31, 334]
    assert H.count(starts, "2011-01-01").tolist() == [365, 334]
    assert H.between(starts, "2010-03-01")[0].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("2010-02-15", "2010-02-15 is between 2010-02-01 and 2010-03-01"),
        ("2009-02-15", "2009-02-15 is before the first, 2010-01-01"),
        ("2012-01-01", "2012-01-01 is after the last, 2011-01-01"),
    ],
)
def test_errors_name_dates(value, said) -> None:
    for call in (H.count, H.error, H.slice, H.between):
        with pytest.raises(ParameterError, match=said):
            call("2010-01-01", value)
    with pytest.raises(ParameterError, match="'day'"):
        H.count(value, 12)


def test_errors_name_the_time_of_day() -> None:
    with pytest.raises(ParameterError, match="2010-02-15T12:30:00 is between 2010-02-01 and"):
        H.axes[0].position("2010-02-15T12:30")
    hours = dh.Axis.regular("2010-01-01", "2010-01-02", "1h", "t")
    said = "2010-01-01T00:30:00 is between 2010-01-01 and 2010-01-01T01:00:00"
    with pytest.raises(ParameterError, match=said):
        hours.position("2010-01-01T00:30")
    with pytest.raises(ParameterError, match=r"18\.5 is between 18 and 65"):
        dh.Axis.from_edges([0.0, 18, 65]).position(18.5)


def test_numbers_are_places_and_values_by_between() -> None:
    rows = pd.DataFrame({"age": [3, 30, 40], "day": DAYS["day"][:3]})
    counts = dh.bin_counts(rows, column="age", edges=[0, 18, 65])
    ages = dh.LeafCounts(epsilon=1000, bins=2).release(counts).value
    assert ages.count(*ages.between(18, 65)) == 2
    for wrong in ("2010-01-01", "18", datetime.date(2010, 1, 1)):
        with pytest.raises(ParameterError, match="see between"):
            ages.count(0, wrong)
    with pytest.raises(UnsupportedError, match="no edges"):
        dh.LeafCounts(epsilon=1, bins=2).release([1, 2]).value.between(0, 1)


def test_several_axes_take_dates_for_some() -> None:
    counts = dh.bin_counts(
        DAYS,
        column=["day", "x"],
        edges=[pd.date_range("2010-01-01", periods=13, freq="MS"), [0, 40, 365]],
    )
    grid = dh.LeafCounts(epsilon=1000, bins=(12, 2)).release(counts).value
    assert grid.count(("2010-01-01", 0), ("2010-02-01", 2)) == 31
    assert grid.count(*grid.between(("2010-02-01", 0), ("2010-03-01", 40))) == 9
    assert grid.slice("2010-02-01", "2010-03-01", axis="day").marginal("x").bins.tolist() == [9, 19]
    for lo in (("2010-01-01",), "2010-01-01", ("2010-01-01", 0, 0)):
        with pytest.raises(ParameterError, match="each of 2 axes"):
            grid.count(lo, (12, 2))
        with pytest.raises(ParameterError, match="each of 2 axes"):
            grid.between(lo, lo)


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
