"""What is asked of released histograms by group."""

import random
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dphist as dh
from dphist.groups import GroupEstimates, HistogramsByGroup
from dphist.groups.estimates import TOO_SMALL

GROUPS = {"place": ["full", "empty", "few"]}


def make(**asked: Any) -> dh.GroupedHistogram:
    return dh.GroupedHistogram(**{"groups": GROUPS, "bins": 50, "epsilon": 1, **asked})


def counts() -> np.ndarray:
    draw = np.random.default_rng(5)
    return np.stack([draw.poisson(40, 50), np.zeros(50, int), draw.poisson(0.02, 50)])


@pytest.fixture(scope="module")
def value() -> HistogramsByGroup:
    found: HistogramsByGroup = make(epsilon=2).release(counts(), random.Random(3).randbytes).value
    return found


def test_a_group_is_a_histogram_over_ranges(value: HistogramsByGroup) -> None:
    assert list(value) == ["full", "empty", "few"]
    assert len(value) == 3
    full = value["full"]
    assert abs(full.count(0, 50) - counts()[0].sum()) < 60
    assert full.quantile(0.5) == value.quantile(0.5)["full"].estimate
    assert len(full.cdf()) == 51
    assert 20 < full.mean().value < 30
    for wrong in ("nowhere", 0, True):
        with pytest.raises(dh.ParameterError, match="group must be one of the 3 groups"):
            value[wrong]


@pytest.mark.parametrize("inner", ["AdaptiveTree", "HierarchicalTree", "LeafCounts"])
def test_the_total_of_many_empty_groups_is_within_its_interval(inner: str) -> None:
    """Counts of empty groups are not negative, so their sum would be too large by far."""
    exact = np.zeros((60, 32), np.int64)
    exact[0] = 30
    mechanism = make(groups={"place": range(60)}, bins=32, inner=inner)
    releases = [mechanism.release(exact) for _ in range(12)]
    totals = [each.value.total() for each in releases]
    width = totals[0].high - totals[0].value
    assert sum(low <= exact.sum() <= high for _, low, high in totals) >= 7
    assert abs(np.mean([found.value for found in totals]) - exact.sum()) < 1.2 * width
    assert [each.total for each in releases] == [round(found.value) for found in totals]
    saved = HistogramsByGroup.from_content(releases[0].value.to_content())
    assert mechanism.restore(saved, releases[0].noisy).total() == totals[0]


def test_a_total_is_not_negative() -> None:
    empty = np.zeros((30, 8), np.int64)
    mechanism = make(groups={"place": range(30)}, bins=8, epsilon="1/10")
    for seed in range(6):
        value, low, high = mechanism.release(empty, random.Random(seed).randbytes).value.total()
        assert 0 == low <= value <= high


def test_groups_that_are_too_small_have_no_number(value: HistogramsByGroup) -> None:
    medians = value.median()
    assert isinstance(medians, GroupEstimates)
    assert {"empty"} <= set(medians.too_small) <= {"empty", "few"}
    row = medians["empty"]
    assert (row.value, row.low, row.high, row.is_known) == (None, None, None, False)
    frame = medians.to_pandas()
    assert frame.columns.tolist() == ["place", "q", "value", "low", "high", "note"]
    assert frame.place.tolist() == ["full", "empty", "few"]
    assert pd.isna(frame.value[1])
    assert frame.note.tolist()[:2] == ["", TOO_SMALL]
    assert TOO_SMALL in repr(medians)
    means = value.mean()
    assert means["empty"].value is None
    assert "q" not in means.to_arrow().column_names


def test_counts_are_known_of_every_group(value: HistogramsByGroup) -> None:
    found = value.counts()
    assert found.too_small == ()
    assert found["empty"].low == 0
    assert found["full"].low < counts()[0].sum() + 60
    assert found["full"].high > counts()[0].sum() - 60


def test_several_quantiles_at_once(value: HistogramsByGroup) -> None:
    found = value.quantiles([0.1, 0.5, 0.9])
    assert len(found) == 9
    low, middle, high = found["full"]
    assert low.value < middle.value < high.value
    assert [row.q for row in found["full"]] == [0.1, 0.5, 0.9]
    assert middle == value.quantile(0.5)["full"]
    assert repr(value.quantile([0.1, 0.5, 0.9])) == repr(found)
    with pytest.raises(dh.ParameterError, match="q must be from 0 to 1"):
        value.quantiles([0.5, 2])
    with pytest.raises(dh.ParameterError, match="group must be one of the groups"):
        found["nowhere"]


def test_intervals_of_all_groups_and_quantiles_can_hold_at_once(value: HistogramsByGroup) -> None:
    shares = np.arange(1, 10) / 10
    one, all_of_them = value.quantile(shares), value.quantile(shares, simultaneous=True)
    own, widths = value["full"].quantile(shares, simultaneous=True), []
    for narrow, some, wide in zip(one["full"], own, all_of_them["full"], strict=True):
        assert wide.low <= some.low <= narrow.low <= narrow.high <= some.high <= wide.high
        widths.append((wide.high - wide.low) - (narrow.high - narrow.low))
    assert max(widths) > 0
    assert "all 27 intervals hold at once" in all_of_them.to_pandas()["note"].tolist()
    assert "all 9 intervals" in own[0].note
    assert one.to_pandas()["note"].tolist()[0] == ""
    with pytest.raises(dh.ParameterError, match="simultaneous must be True or False"):
        value.quantile([0.1], simultaneous=1)  # type: ignore[arg-type]
    with pytest.raises(dh.ParameterError, match="q must be from 0 to 1"):
        value.quantile("half")


def test_dates_and_zones_are_values_of_their_columns() -> None:
    draw = np.random.default_rng(2)
    start = np.datetime64("2024-03-01T00:00", "us")
    times = start + draw.integers(0, 40 * 24, 3000) * np.timedelta64(3_600_000_000, "us")
    table = pa.table(
        {"place": draw.choice(["a", "b"], 3000), "at": pa.array(times, pa.timestamp("us", "UTC"))}
    )
    axis = dh.Axis.regular("2024-03-01", "2024-04-10", "1d", tz="Europe/Zurich")
    data = dh.GroupedCounts.from_table(
        table, groups={"place": ["a", "b", "c"]}, column="at", bins=axis
    )
    release = make(groups=data.groups, bins=data.bins).release(data)
    found = release.value.median()["a"]
    assert found.low <= found.value <= found.high
    assert str(found.value.tzinfo) == "Europe/Zurich"
    assert release.value.median().to_pandas().value.notna().tolist() == [True, True, False]
    again = dh.Release.from_json(release.to_json())
    assert again == release
    assert again.value.median() == release.value.median()
    assert "Europe/Zurich" in release._repr_html_()


@pytest.mark.parametrize("inner", ["AdaptiveTree", "HierarchicalTree", "LeafCounts"])
@pytest.mark.parametrize("given", [{"epsilon": 1}, {"epsilon": None, "rho": "0.1"}], ids=str)
def test_intervals_hold(inner: str, given: dict[str, Any]) -> None:
    """Medians, .9 quantiles and counts of many groups of one release, each by itself."""
    draw = np.random.default_rng(8)
    size = 150
    true = np.stack([draw.poisson(10 * np.exp(-np.abs(np.arange(50) - c) / 9)) for c in
                     draw.integers(5, 45, size)])  # fmt: skip
    mechanism = make(groups={"g": range(size)}, inner=inner, **given)
    value = mechanism.release(true).value
    held = known = 0
    for q in (0.5, 0.9):
        for row, exact in zip(value.quantile(q), true, strict=True):
            if row.is_known:
                known += 1
                share = np.cumsum(exact) / exact.sum()
                place = np.searchsorted(share, q) + 1e-9
                held += row.low <= place + 1 and place <= row.high
    assert known > 1.5 * size
    assert held / known > 0.93
    inside = [row.low <= exact.sum() <= row.high
              for row, exact in zip(value.counts(), true, strict=True)]  # fmt: skip
    assert np.mean(inside) > 0.88


def test_a_release_is_refused_with_other_groups_or_noisy_numbers() -> None:
    release = make().release(counts())
    noisy = dict(release.noisy)
    for wrong in ({**noisy, "3 counts": noisy["0 counts"]}, {**noisy, "x": noisy["0 counts"]}):
        with pytest.raises(dh.ParameterError, match="noisy must hold"):
            make().decode(wrong)
    other = make(groups={"place": ["full", "empty", "more"]})
    with pytest.raises(ValueError, match="groups are not those"):
        other.restore(release.value, release.noisy)
    with pytest.raises(ValueError, match="one histogram for each group"):
        HistogramsByGroup.from_content({**release.value.to_content(), "bins": [[1]]})


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "neither": ({"epsilon": None}, "epsilon must be given"),
    "both": ({"rho": 1}, "epsilon must be given"),
    "rho with a delta": ({"epsilon": None, "rho": 1, "delta": "1e-6"}, "delta must be given with"),
    "found without": ({"groups": {"a": dh.DiscoverKeys(share=".1")}}, "delta must be given"),
    "another mechanism": ({"inner": "Tables"}, "inner must be one of"),
    "a guess for others": ({"inner": "LeafCounts", "expected_total": 3}, "expected_total must be"),
    "no bins": ({"bins": 0}, "bins must be"),
    "too many": ({"groups": {"a": range(1000)}, "bins": 2**20}, "at most 67108864"),
    "too small": ({"epsilon": "1e-9"}, "epsilon"),
}


@pytest.mark.parametrize(("given", "said"), REFUSED.values(), ids=REFUSED)
def test_bad_parameters_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(dh.ParameterError, match=said):
        make(**given)


def test_data_of_other_groups_are_refused() -> None:
    data = dh.GroupedCounts.from_counts(counts(), groups={"place": ["a", "b", "c"]})
    with pytest.raises(dh.ParameterError, match="groups must be those that the data"):
        make().release(data)
    with pytest.raises(dh.ParameterError, match="bins must be the number of bins"):
        make(bins=49).release(counts())
    with pytest.raises(dh.ParameterError, match="counts must be GroupedCounts"):
        make().release({"place": ["a"]})
    with pytest.raises(dh.ParameterError, match="a row for each group"):
        make().release(counts()[:2])
    with pytest.raises(dh.ParameterError, match="counts must be an array"):
        make().release([1, 2, 3])
