"""Pictures of comparisons: errors with bars, names that are inside, and pages in both schemes."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

import dphist as dh
from tests.support.histograms import without_noise

PROFILE = dh.Profile.from_counts([40, 12, 9, 7, 4, 2, 2, 1])


@pytest.mark.verify
def test_a_comparison_of_everything_draws_error_and_time_with_bars() -> None:
    found = dh.compare([], PROFILE, [1, 0.1], published=True, seconds=20, most=4, target=0)
    axes = found.plot()
    assert axes.shape == (2,)
    assert [len(ax.containers) for ax in axes] == [9, 9]
    assert [ax.get_xlabel() for ax in axes] == ["ε", "Seconds of a release (median)"]
    (bars,) = axes[0].containers[0].lines[2]
    row = min((r for r in found if r.mechanism == "SortedCounts"), key=lambda r: r.epsilon)
    (x, low), (_, high) = bars.get_segments()[0]
    assert x == pytest.approx(0.1)
    assert high == pytest.approx(row.error + 2 * row.standard_error)
    assert low < row.error
    FigureCanvasAgg(axes[0].figure).draw()
    for ax in axes:
        box = ax.get_legend().get_window_extent()
        assert box.x0 >= 0
        assert box.x1 <= ax.figure.bbox.x1
        assert box.y1 <= ax.figure.bbox.y1


def test_a_comparison_without_rows_can_be_drawn() -> None:
    def broken(epsilon):
        raise ValueError

    found = dh.compare({"broken": broken}, PROFILE, [1], seconds=5)
    assert found.rows == ()
    assert len(found.plot()) == 2
    assert "broken" in found._repr_html_()


def test_an_error_of_zero_has_no_place_on_a_logarithmic_axis() -> None:
    class Truth:
        def release(self, data):
            return without_noise(data)

    found = dh.compare({"truth": lambda epsilon: Truth()}, PROFILE, [1], seconds=5, most=2)
    assert found.rows[0].error == 0
    assert len(found.plot()) == 2


@pytest.mark.verify
def test_the_page_has_tables_and_pictures_without_a_network(tmp_path) -> None:
    counts = np.array([5, 0, 0, 900, 30, 30, 2, 0])
    mechanisms = {"<b>mine</b>": dh.LeafCounts, "tree": dh.HierarchicalTree}
    found = dh.compare(mechanisms, counts, [1, 0.1], seconds=10, most=3)
    found.write_report(tmp_path / "found.html")
    page = (tmp_path / "found.html").read_text()
    assert "&lt;b&gt;mine&lt;/b&gt;" in page
    assert "<b>mine" not in page
    assert page.count("<svg") == 3
    assert page.count("<table") == 2
    assert "Not private" in page
    assert not re.search(r"(src|href)=[\"']http", page)
    for drawing_ in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        ElementTree.fromstring(drawing_)  # noqa: S314 - written by us


def test_what_is_put_beside_published_mechanisms_stands_out() -> None:
    found = dh.compare({"mine": dh.RankSplit}, PROFILE, [1], published=True, seconds=20, most=2)
    out = {style.name for style in found.styles if style.stands_out}
    assert out == {"mine"}
    assert len({(style.color, style.dashed) for style in found.styles}) == len(found.styles)
    alone = dh.compare({"mine": dh.RankSplit, "b": dh.RankSplit}, PROFILE, [1], most=2)
    assert not any(style.stands_out for style in alone.styles)
