"""The chart of running counts: where lines begin and end, their bands and their names."""

import re

import numpy as np
import pytest

import dphist as dh
from dphist import Release
from dphist.release.running_counts import RunningCounts
from dphist.render.series import LIGHT, stand_alone
from dphist.report import report_html
from dphist.streams.charts import MOST_LINES, make_lines
from tests.support.streams.releases import ALL, KNOWN, UNKNOWN


def release_of(value: RunningCounts) -> Release:
    return Release(value, UNKNOWN.guarantee, UNKNOWN)


def test_a_line_begins_where_its_label_was_first_released_and_has_gaps() -> None:
    value = RunningCounts(
        [10, 20, 30, 40], [{"a": 900}, {"a": 950, "b": 1}, {"b": 800}, {"a": 990, "b": 810}]
    )
    a, b = make_lines(release_of(value))
    assert (a.name, b.name) == ("a", "b")
    np.testing.assert_array_equal(a.y, [900, 950, np.nan, 990])
    np.testing.assert_array_equal(b.y, [np.nan, 1, 800, 810])
    np.testing.assert_array_equal(stand_alone(a.y), [False, False, False, True])
    assert not stand_alone(b.y).any()
    width = UNKNOWN.half_width()
    np.testing.assert_array_equal(a.high - a.y, [width, width, np.nan, width])
    assert b.low[1] == 1


def test_of_many_readings_some_are_drawn_with_every_first_release_and_the_last() -> None:
    times = list(range(1, 5001))
    held = [{"a": t, **({"b": 5000 + t} if t >= 1234 else {})} for t in times]
    a, b = make_lines(release_of(RunningCounts(times, held)))[::-1]
    assert len(a.x) <= 210
    assert a.x[-1] == 5000
    first = np.flatnonzero(np.isfinite(b.y))[0]
    assert b.x[first] == 1234
    assert b.y[first] == 6234


def test_the_labels_with_the_largest_last_counts_are_drawn() -> None:
    release = ALL["unknown"]()
    lines = make_lines(release)
    assert [line.name for line in lines] == release.value.latest.labels[:MOST_LINES]


@pytest.mark.filterwarnings("ignore:Glyph:UserWarning")  # the font has no letter for them
@pytest.mark.parametrize("name", ALL)
@pytest.mark.quick(every=9)
def test_the_plot_shows_lines_threshold_and_names(name: str) -> None:
    release = ALL[name]()
    axes = dh.plot(release)
    assert axes.shape == (1,)
    ax, lines = axes[0], make_lines(release)
    drawn = [line for line in ax.lines if line.get_color() in LIGHT and line.get_linewidth() > 1]
    for line, shown in zip(lines, drawn[::2], strict=True):
        np.testing.assert_array_equal(shown.get_ydata(), line.y)
    _, legend = ax.get_legend_handles_labels()
    assert ("Threshold" in legend) == (release.mechanism.threshold is not None)
    low, high = ax.get_ylim()
    for line in lines:
        assert low <= np.nanmin(line.low)
        assert np.nanmax(line.high) <= high
    figure = ax.figure
    figure.draw_without_rendering()
    # The names are within the figure, and none is over another.
    boxes = [text.get_window_extent() for text in ax.texts if lines]
    assert len(boxes) == len(lines)
    for box in boxes:
        assert box.x1 <= figure.bbox.x1
        assert not any(box is not other and box.overlaps(other) for other in boxes)


def test_names_do_not_overlap_in_the_page() -> None:
    """Many lines that end in nearly one place; letters are 13 units high at most."""
    held = {"": 900, "a" * 30: 900, "界" * 20: 901, **{f"label {i}": 902 + i for i in range(5)}}
    source = report_html(release_of(RunningCounts([500, 1000], [held, held])))
    figure = re.findall(r"<svg.*?</svg>", source, flags=re.DOTALL)[0]
    names = re.findall(r"<text[^>]*fill: var\(--line-\d\)[^>]*>", figure)
    assert len(names) == 8
    found = [re.search(r'translate\(([\d.]+) ([\d.]+)\)|x="([\d.]+)" y="([\d.]+)"', each)
             for each in names]  # fmt: skip
    places = sorted(float(each[2] or each[4]) for each in found)
    assert min(np.diff(places)) >= 14
    rights = [float(each[1] or each[3]) for each in found]
    assert max(rights) + 14 * 7.7 <= 400


def test_negative_counts_of_listed_labels_are_in_the_picture() -> None:
    value = RunningCounts([5, 10], [{"tea": -30, "milk": 2, "<b>rum": 1}] * 2)
    low, _ = dh.plot(Release(value, KNOWN.guarantee, KNOWN))[0].get_ylim()
    assert low < -30 - KNOWN.half_width()
