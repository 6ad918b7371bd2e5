"""Pictures of universal releases: few steps of many bins, readable axes, the release's own band."""

import numpy as np
import pytest

from dphist import Axis, LeafCounts, ParameterError, plot
from dphist.release.range_histogram.picture import ERRORS
from dphist.report import report_html
from dphist.report.plots import NARROW
from dphist.report.ranges.map import cells_of
from dphist.report.ranges.plots import MOST, bins_a_step, charts_of
from dphist.report.ranges.scale import scale_of, steps_of
from dphist.report.table import table_csv
from tests.report.ranges_releases import ALL, HOURS, released


@pytest.mark.quick("[one]", "[many]", "[hours]", "[hostile]")
@pytest.mark.parametrize("name", ALL)
def test_the_plot_is_of_the_release(name: str) -> None:
    release = ALL[name]()
    value = release.value
    if value.bins.ndim > 2:
        with pytest.raises(ParameterError, match="one axis or two"):
            plot(release)
        return
    axes = plot(release)
    assert axes.shape == ((2,) if value.bins.ndim == 1 else (1,))
    axes[0].figure.draw_without_rendering()
    if value.bins.ndim == 2:
        return
    by_bin, below = axes
    steps = by_bin.patches[0].get_data()
    together = bins_a_step(value)
    assert len(steps.values) <= MOST
    assert steps.values[0] == pytest.approx(value.count(0, together) / together)
    assert below.lines[0].get_ydata()[-1] == pytest.approx(value.count(0, len(value.bins)))
    named = [text.get_text() for text in by_bin.get_legend().get_texts()]
    chart = charts_of(release)[0]  # a band that cannot be seen is in the caption instead
    assert named == (["Released"] if NARROW in chart.note else ["Released", "95 % band"])
    band = by_bin.collections[0].get_paths()[0].vertices[:, 1]
    top = steps.values[0] + ERRORS * value.error(0, together) / together
    assert np.isclose(band, top).any()
    assert by_bin.get_ylim()[0] <= min(steps.values.min(), 0)
    assert by_bin.get_ylim()[1] >= band.max()


def test_a_million_bins_are_few_steps() -> None:
    release = released(LeafCounts, np.full(2**20, 3))
    source = report_html(release)
    assert len(source) < 100_000
    assert "averaged over groups of 5,243 neighboring bins" in source
    assert len(plot(release)[0].patches[0].get_data().values) == MOST
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
    places = steps_of(edges, 200)
    assert places[0] == 0
    assert places[-1] == len(edges) - 1
    assert (np.diff(places)[:-1] == together).all()


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
    scale = scale_of(edges, np.arange(len(edges)))
    assert (np.diff(scale.x) > 0).all()
    assert np.isfinite(scale.x).all()
    assert 2 <= len(scale.ticks) <= 12
    assert len(scale.texts) == len(scale.ticks)
    assert all(scale.x[0] <= tick <= scale.x[-1] for tick in scale.ticks)
    assert sum(map(len, scale.texts)) <= 60


def test_the_map_adds_up() -> None:
    value = ALL["map"]().value
    cells, places = cells_of(value)
    assert cells.shape == (50, 60)
    assert cells.sum() == value.bins.sum()
    assert [len(ends) for ends in places] == [51, 61]
