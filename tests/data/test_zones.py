"""Edges of a time zone: days of a calendar, changes of clocks, and what is shown and typed."""

import datetime
import re
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dphist as dh
from dphist.data.axis.zones import exact_texts, local_texts
from dphist.errors import ColumnError, ParameterError

ZURICH = "Europe/Zurich"
# Clocks that change at midnight, by half an hour, around Ramadan, twice a year, or never.
YEARS = [
    *((ZURICH, 2024), ("America/New_York", 2024), ("Australia/Lord_Howe", 2023)),
    *(("America/Sao_Paulo", 2018), ("Asia/Beirut", 2022), ("America/Havana", 2023)),
    *(("Africa/Cairo", 2023), ("Africa/Casablanca", 2024), ("Asia/Kathmandu", 2024), ("UTC", 2024)),
]


def first_instants(zone: str, year: int) -> dict[str, datetime.datetime]:
    """The first quarter of an hour of each date, by looking at the clock at all of them."""
    start = datetime.datetime(year - 1, 12, 31, tzinfo=datetime.UTC)
    found: dict[str, datetime.datetime] = {}
    for quarter in range(368 * 96):
        instant = start + quarter * datetime.timedelta(minutes=15)
        found.setdefault(instant.astimezone(ZoneInfo(zone)).date().isoformat(), instant)
    return found


@pytest.mark.parametrize(("zone", "year"), YEARS)
def test_a_day_begins_with_its_first_instant(zone: str, year: int) -> None:
    axis = dh.Axis.regular(f"{year}-01-01", f"{year + 1}-01-01", "1d", tz=zone)
    first = first_instants(zone, year)
    expected = [first[str(day)] for day in np.arange(f"{year}", f"{year + 1}-01-02", dtype="M8[D]")]
    assert axis.edges.tolist() == [each.replace(tzinfo=None) for each in expected]
    dates = list(map(str, np.arange(f"{year}", f"{year + 1}-01-02", dtype="M8[D]")))
    assert dh.Axis.from_edges(dates, tz=ZoneInfo(zone)) == axis
    assert axis.positions(dates[::40]).tolist() == list(range(0, len(dates), 40))
    months = dh.Axis.regular(f"{year}-01-01", f"{year + 1}-01-01", "1mo", tz=zone)
    assert set(months.edges) <= set(axis.edges)
    assert months.bins == 12


@pytest.mark.parametrize(("zone", "year"), YEARS)
def test_what_is_shown_of_an_edge_is_that_edge(zone: str, year: int) -> None:
    """Also in hours that clocks show twice."""
    axis = dh.Axis.regular(f"{year}-01-01", f"{year + 1}-01-01", "30m", tz=zone)
    for texts in (local_texts(axis.edges, zone), exact_texts(axis.edges, zone)):
        assert len(set(texts)) == len(texts)
        assert dh.Axis.from_edges(texts, tz=zone) == axis
    local = [each.astimezone(ZoneInfo(zone)) for each in pd.to_datetime(axis.edges, utc=True)]
    assert axis.local_edges.tolist() == [each.replace(tzinfo=None) for each in local]


@pytest.mark.parametrize(
    ("start", "stop", "width", "hours"),
    [
        ("2024-03-30", "2024-04-01", "1d", [24, 23]),
        ("2024-10-26", "2024-10-28", datetime.timedelta(days=1), [24, 25]),
        ("2024-03-25", "2024-04-08", "1w", [167, 168]),
        ("2024-03-01", "2024-04-01", "1mo", [743]),
        ("2024-03-30T12:00", "2024-04-01T12:00", "1d", [23, 24]),
        ("2024-03-31", "2024-04-01", "1h", [1] * 23),
        ("2024-10-27T02:00+02:00", "2024-10-27T02:00+01:00", "30m", [0.5, 0.5]),
        ("2024-10-27T02:00+01:00", "2024-10-28T02:00", "1d", [24]),
        ("2024-10-27T02:00+02:00", "2024-10-28T02:00", "1d", [25]),
    ],
)
def test_days_are_of_the_calendar_and_hours_are_elapsed(start, stop, width, hours) -> None:
    axis = dh.Axis.regular(start, stop, width, tz=ZURICH)
    assert (np.diff(axis.edges) / np.timedelta64(1, "h")).tolist() == hours
    assert axis.zone == ZURICH


TWICE = "2024-10-27T02:30"
NEVER = "2024-03-31T02:30"


@pytest.mark.parametrize(
    ("edges", "tz", "said"),
    [
        ([TWICE, "2024-11-01"], ZURICH, r"02:30:00\+02:00 or 2024-10-27T02:30:00\+01:00"),
        ([NEVER, "2024-11-01"], ZURICH, r"does not exist in Europe/Zurich.*03:00:00\+02:00"),
        (["2011-12-30", "2012-01-05"], "Pacific/Apia", "2011-12-30, which does not exist"),
        (["2024-01-01", "2024-01-02"], "Mars/Olympus", "name of a time zone"),
        (["2024-01-01", "2024-01-02"], "../UTC", "name of a time zone"),
        (["2024-01-01", "2024-01-02"], "Europe", "name of a time zone"),
        (["2024-01-01", "2024-01-02"], "localtime", "name of a time zone"),
        (["2024-01-01", "2024-01-02"], 1, "name of a time zone"),
        ([0, 1], ZURICH, "tz needs edges that are dates or times"),
        (["2024-01-01T00:00Z", "2024-01-02"], None, "give tz, the zone of those without one"),
    ],
)
def test_edges_that_a_zone_does_not_have(edges: list[Any], tz: Any, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        dh.Axis.from_edges(edges, tz=tz)


@pytest.mark.parametrize(
    ("start", "stop", "width", "said"),
    [
        ("2024-03-30T02:30", "2024-04-02T02:30", "1d", "give edges instead, this one with its"),
        (NEVER, "2024-04-02T02:30", "1d", "start has 2024-03-31T02:30:00, which does not exist"),
        ("2024-10-01T00:30", TWICE, "1h", "stop has 2024-10-27T02:30:00, which is there twice"),
        ("2024-03-31", "2024-04-01T12:00", "1d", "2024-04-01 or 2024-04-02"),
        ("2024-03-31", "2024-04-01", "24m", "2024-03-31 23:48 or 2024-04-01 00:12"),
        (0, 10, 1, "tz needs start and stop that are dates or times"),
    ],
)
def test_regular_edges_that_a_zone_does_not_have(start, stop, width, said) -> None:
    with pytest.raises(ParameterError, match=said):
        dh.Axis.regular(start, stop, width, tz=ZURICH)


def test_edges_keep_the_zone_that_they_have() -> None:
    zoned = [datetime.datetime(2024, 7, day, tzinfo=ZoneInfo(ZURICH)) for day in (1, 2)]
    for edges, zone in (
        (zoned, ZURICH),
        ([pd.Timestamp("2024-07-01", tz=ZURICH), pd.Timestamp("2024-07-02", tz=ZURICH)], ZURICH),
        (["2024-07-01T00:00+02:00", "2024-07-02T00:00+02:00"], "UTC"),
        ([zoned[0], "2024-07-02T00:00+02:00"], "UTC"),
        (pd.date_range("2024-07-01", periods=2, tz=ZURICH), ZURICH),
        (pd.date_range("2024-07-01", periods=2, tz="+02:00"), "UTC"),
    ):
        axis = dh.Axis.from_edges(edges)
        assert axis.zone == zone
        assert axis.local_edges.astype("M8[h]").tolist() == [
            datetime.datetime(2024, 7, 1) - datetime.timedelta(hours=2 * (zone == "UTC")),
            datetime.datetime(2024, 7, 2) - datetime.timedelta(hours=2 * (zone == "UTC")),
        ]
        assert dh.Axis.from_edges(edges, tz="Asia/Tokyo").edges.tolist() == axis.edges.tolist()
    axis = dh.Axis.from_edges(pd.date_range("2024-07-01", periods=2), tz=ZURICH)
    assert axis == dh.Axis.from_edges(zoned)
    with pytest.raises(ParameterError, match="zone"):
        dh.Axis("t", np.array([0, 1]), ZURICH)
    with pytest.raises(ParameterError, match="Europe/Zurich"):
        axis.position("2024-07-01T12:00")
    assert axis.position("2024-06-30T22:00Z") == 0


def hours_of_zurich() -> tuple[Any, Any]:
    hours = pd.DataFrame({"t": pd.date_range("2024-10-20", "2024-11-05", freq="h", tz=ZURICH)})
    days: Any = {"start": "2024-10-26", "stop": "2024-10-29", "width": "1d", "tz": ZURICH}
    counts = dh.bin_counts(hours, column="t", **days)
    return dh.LeafCounts(epsilon=10_000, bins=3).release(counts), counts


def test_a_release_answers_and_shows_local_time(tmp_path: Any) -> None:
    release, counts = hours_of_zurich()
    release.save(tmp_path / "r.json")
    for h in (release.value, dh.Release.load(tmp_path / "r.json").value):
        assert h.axes == counts.axes
        assert h.count("2024-10-27", "2024-10-28") == 25
        frame, table = h.to_pandas(), h.to_arrow()
        assert str(frame["start"].dtype) == f"datetime64[us, {ZURICH}]"
        assert table["stop"].type.tz == ZURICH
        assert frame["start"].tolist() == list(pd.date_range("2024-10-26", periods=3, tz=ZURICH))
        assert table["start"].to_pylist() == frame["start"].tolist()
        assert h.to_polars()["start"].dtype.time_zone == ZURICH
        half = h.median().value
        assert half.tzinfo == ZoneInfo(ZURICH)
        assert half.replace(tzinfo=None) == datetime.datetime(2024, 10, 27, 11, 30)
        ends = [each.value for each in h.quantile([0, 1])]
        assert ends == [frame["start"][0], frame["stop"][2]]
        assert all(each.tzinfo == ZoneInfo(ZURICH) for each in h.mean())
        assert h.slice("2024-10-27", "2024-10-29").axes[0].zone == ZURICH
        assert h.to_uhi()["axes"][0]["metadata"]["time_zone"] == ZURICH
        assert "2024-10-26T00:00:00.000000Z" in str(h.to_vega())  # local time, drawn as if of UTC


def test_columns_with_a_zone_and_edges_without_are_refused() -> None:
    zoned = pd.DataFrame({"t": pd.date_range("2024-07-01", periods=3, freq="h", tz=ZURICH)})
    local = pd.DataFrame({"t": zoned["t"].dt.tz_localize(None), "day": zoned["t"].dt.date})
    days: Any = {"edges": ["2024-07-01", "2024-07-02"]}
    with pytest.raises(ColumnError, match=r"give tz, .* or cast the column to local time"):
        dh.bin_counts(zoned, column="t", **days)
    with pytest.raises(ColumnError, match=r"has no time zone.*leave out tz"):
        dh.bin_counts(local, column="t", **days, tz=ZURICH)
    with pytest.raises(ColumnError, match="holds dates, which have no time zone"):
        dh.bin_counts(pa.table({"t": local["day"].tolist()}), column="t", **days, tz=ZURICH)
    both = zoned.assign(n=1)
    for tz in ([ZURICH, None], [ZoneInfo(ZURICH), None]):
        found = dh.bin_counts(both, column=["t", "n"], edges=[days["edges"], [0, 2]], tz=tz)
        assert found.counts.tolist() == [[3]]
        assert [axis.zone for axis in found.axes] == [ZURICH, None]


def test_parts_of_the_users_have_one_zone() -> None:
    rows = pd.DataFrame(
        {"who": range(48), "t": pd.date_range("2024-07-01", periods=48, freq="h", tz=ZURICH)}
    )
    given: Any = {"column": "t", "user": "who", "max_records": 1, "width": "1d"}
    given |= {"start": "2024-07-01", "stop": "2024-07-03", "parts": 2}
    cut = [dh.BinnedCounts.partial(rows, **given, part=part, tz=ZURICH) for part in (0, 1)]
    merged = dh.BinnedCounts.merge(cut)
    assert merged.counts.tolist() == [24, 24]
    assert merged.axes[0].zone == ZURICH
    cut[1] = dh.BinnedCounts.partial(rows, **given, part=1, tz="Asia/Tokyo")
    with pytest.raises(ParameterError, match="same arguments"):
        dh.BinnedCounts.merge(cut)


def test_values_near_a_wrong_stop_name_their_zone() -> None:
    """Clocks that change make days of an offset end at another hour: those shown are of UTC."""
    begin, end = "2024-10-26T00:00+02:00", "2024-10-29T00:00+01:00"
    near = "move stop to 2024-10-28T22:00:00 or 2024-10-29T22:00:00 in UTC"
    with pytest.raises(ParameterError, match=re.escape(near)):
        dh.Axis.regular(begin, end, "1d", "t")
