"""Pictures of universal releases: few steps of many bins, readable axes, the release's own band."""

import re

import numpy as np
import pytest
from matplotlib.figure import Figure

from dphist import AdaptiveTree, Axis, BinnedCounts, LeafCounts, ParameterError, plot
from dphist.document.chart import NARROW, Chart
from dphist.document.chart import Axis as Declared
from dphist.document.shades import list_shades
from dphist.ranges.charts import (
    MOST,
    choose_edges,
    draw_charts,
    group_bins,
    group_cells,
    least_seen,
    scale_axis,
)
from dphist.ranges.overview import usual_error
from dphist.release.range_histogram.answers import ERRORS
from dphist.render.charts import draw_chart
from dphist.render.series import date_ticks
from dphist.report import report_html, table_csv
from tests.support.report.html import Page
from tests.support.report.ranges_releases import ALL, HOURS, release_bins


@pytest.mark.quick("[one]", "[many]", "[hours]", "[hostile]", every=4)
@pytest.mark.parametrize("name", ALL)
def test_the_plot_is_of_the_release(name: str) -> None:
    release = ALL[name]()
    value = release.value
    if value.counts.ndim > 2:
        with pytest.raises(ParameterError, match="one axis or two"):
            plot(release)
        return
    axes = plot(release)
    assert axes.shape == ((2,) if value.counts.ndim == 1 else (1,))
    axes[0].figure.draw_without_rendering()
    if value.counts.ndim == 2:
        return
    by_bin, below = axes
    steps = by_bin.lines[0].get_ydata()
    together = int(np.diff(choose_edges(value))[0])
    assert len(steps) <= 2 * MOST
    assert steps[0] == steps[1] == pytest.approx(value.count_bins(0, together) / together)
    assert below.lines[0].get_ydata()[-1] == pytest.approx(value.count_bins(0, len(value.counts)))
    named = [text.get_text() for text in by_bin.get_legend().get_texts()]
    chart = draw_charts(release)[0]  # a band that cannot be seen is in the caption instead
    assert named == (["Released"] if NARROW in chart.note else ["Released", "95 % band"])
    band = by_bin.patches[0].get_xy()[:, 1]
    top = steps[0] + ERRORS * value.error_bins(0, together) / together
    assert np.isclose(band, top).any()
    assert by_bin.get_ylim()[0] <= min(steps.min(), 0)
    assert by_bin.get_ylim()[1] >= band.max()


@pytest.mark.verify
def test_a_million_bins_are_few_steps() -> None:
    release = release_bins(LeafCounts, np.full(2**20, 3))
    source = report_html(release)
    assert len(source) < 100_000
    assert "averaged over groups of 5,243 neighboring bins" in source
    assert len(plot(release)[0].lines[0].get_ydata()) == 2 * MOST
    assert table_csv(release).count("\n") == 2**20 + 1


@pytest.mark.parametrize(
    ("edges", "together"),
    [
        (np.arange(201), 1),
        (np.arange(1001), 5),
        (HOURS.edges, 8),
        (Axis.regular("2024-01-01", "2025-01-01", "1h").edges, 48),
        (Axis.regular("2010-01-01", "2020-01-01", "1d").edges, 21),
        (Axis.regular("2024-01-01", "2024-01-05", "1m").edges, 29),
        (Axis.regular("2024-01-01T00:00", "2024-03-01T00:00", "5h").edges, 2),
    ],
)
def test_steps_of_time_are_whole_days_or_weeks(edges: np.ndarray, together: int) -> None:
    places = group_bins(edges, 200)
    assert places[0] == 0
    assert places[-1] == len(edges) - 1
    assert (np.diff(places)[:-1] == together).all()


def ticks_of(axis: Declared) -> tuple[list[float], list[str]]:
    """Draw an empty chart with this axis below; return what is marked, and the texts."""
    ax = Figure().subplots()
    chart = Chart("c", "C", "An axis.", axis, Declared("y", 0, 1))
    draw_chart(ax, chart, {})
    return list(ax.get_xticks()), [text.get_text() for text in ax.get_xticklabels()]


@pytest.mark.quick(every=3)
@pytest.mark.parametrize(
    "edges",
    [
        np.arange(11),
        np.array([0, 18, 65, 120]),
        np.array([-(2**62), 0, 2**62]),
        np.array([-np.inf, 0, np.inf]),
        np.array([0.0, 1e-300, 1e300]),
        np.array([-1.7e308, 0, 1.7e308]),
        10.0 ** np.arange(8),
        np.array(["0001-01-01", "9999-12-31"], "M8[D]"),
        np.array(["2024-01-01T00:00", "2024-01-01T00:00:01"], "M8[us]"),
        HOURS.edges,
    ],
    ids=str,
)
def test_every_axis_has_ticks_inside(edges: np.ndarray) -> None:
    x, axis = scale_axis("x", edges, np.arange(len(edges)))
    assert (np.diff(x) > 0).all()
    assert np.isfinite(x).all()
    ticks, texts = ticks_of(axis)
    assert 2 <= len(ticks) <= 12
    assert len(texts) == len(ticks)
    assert all(x[0] <= tick <= x[-1] for tick in ticks)
    assert sum(map(len, texts)) <= 60


@pytest.mark.filterwarnings("error")
def test_every_length_of_dates_has_ticks() -> None:
    """The library's own steps were too short for some lengths: it warned, and drew what it had."""
    for seconds in np.unique((1.06 ** np.arange(12, 420)).astype(np.int64)):
        edges = np.datetime64("2023-01-01T05:07:09", "us") + np.array([0, seconds], "m8[s]")
        _, axis = scale_axis("x", edges, np.arange(2))
        assert 2 <= len(date_ticks(axis.low, axis.high, 5)[0]) <= 12, seconds


def test_the_map_adds_up() -> None:
    value = ALL["map"]().value
    cells, places = group_cells(value)
    assert [len(ends) - 1 for ends in places] == [*cells.shape]
    (a, *_, b), (c, *_, d) = places
    assert cells.sum() == value.counts[a:b, c:d].sum() >= 0.99 * value.counts.sum()


@pytest.mark.verify
def test_an_axis_is_drawn_where_the_records_are() -> None:
    """Nine tenths of the axis would be empty; what lies beyond is said, and is in the table."""
    release = release_bins(AdaptiveTree, np.concatenate([np.full(20, 5000), np.zeros(4076, int)]))
    by_bin, below = plot(release)
    for ax in (by_bin, below):
        assert 20 <= ax.get_xlim()[1] < 100
    text = Page(report_html(release)).text
    assert re.search(r"Drawn is bin 0 to \d\d of 0 to 4096: by the estimates, at most 0.5 %", text)
    assert re.search(r"\d\d to 4096 -?[\d,.]+ 0 to \d+", text)
    even = release_bins(AdaptiveTree, np.full(4096, 50))
    assert plot(even)[0].get_xlim()[1] == 4096
    assert "Drawn is" not in report_html(even)


def test_a_map_shows_all_that_is_above_the_noise() -> None:
    cells = np.zeros((128, 128), np.int64)
    cells[50:60, 50:60] = 500
    cells[55, 55] = 10**6
    release = release_bins(AdaptiveTree, cells)
    drawn, places = group_cells(release.value)
    assert [len(ends) < 64 for ends in places] == [True, True]
    least = list_shades(float(drawn.max()), least_seen(release.value))[0]
    assert least <= 300  # the million next to it hides nothing
    assert f"fewer than {least:,} are blank" in Page(report_html(release)).text
    (ax,) = plot(release)
    assert ax.get_title(loc="left") == "Records by axis 1 and axis 2"


def test_the_headline_error_is_of_bins_with_records() -> None:
    value = release_bins(LeafCounts, np.array([0] * 1000 + [10**6])).value
    assert usual_error(value) == pytest.approx(value.error_bins(1000, 1001))
    assert usual_error(release_bins(LeafCounts, np.zeros(5, int), epsilon=50).value) is None


def points(names: tuple[str, str]) -> Chart:
    """A map of records in the middle of each axis, most of them in one bin."""
    bins = np.zeros((20, 20), np.int64)
    bins[6:14, 5:14] = 1000
    bins[7, 12] = 9000
    axes = tuple(Axis.regular(0, 20, 1, name) for name in names)
    (chart,) = draw_charts(
        LeafCounts(epsilon=100, bins=(20, 20)).release(
            BinnedCounts(bins, axes, {"null": 0, "outside": 0})
        )
    )
    return chart


@pytest.mark.parametrize(
    ("names", "across", "up"),
    [
        (("pickup_lat", "pickup_lon"), "pickup_lon", "pickup_lat"),
        (("lon", "Latitude"), "lon", "Latitude"),
        (("y", "x"), "x", "y"),
        (("later", "long"), "later", "long"),
    ],
)
def test_a_map_has_north_above_and_opens_where_the_records_are(
    names: tuple[str, str], across: str, up: str
) -> None:
    chart = points(names)
    assert (chart.x.label, chart.y.label) == (across, up)
    assert (chart.x.low, chart.x.high) != (0, 20)
    assert (chart.y.low, chart.y.high) != (0, 20)
    fullest = chart.areas[-1]
    middle = fullest.x.mean(), fullest.y.mean()
    assert middle == ((12.5, 7.5) if across != names[0] else (7.5, 12.5))
