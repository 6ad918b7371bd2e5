"""The plot: two labelled log-log axes, the released curve, and the mechanism's own band."""

import matplotlib
import numpy as np
import pytest

from dphist import ParameterError, Profile, Release, plot
from dphist.anonymized.charts import counts_by_rank, labels_by_count, outline, thin
from dphist.render.charts import log_ticks
from tests.support.report import releases


@pytest.mark.parametrize("make", releases.ALL.values(), ids=releases.ALL)
@pytest.mark.quick(every=10)
def test_axes_say_what_they_show(make: object) -> None:
    release = make()  # type: ignore[operator]
    axes = plot(release)
    bars = release.mechanism.pointwise_band(release)
    assert axes.shape == (2,)
    for ax in axes:
        assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
        named = [text.get_text() for text in ax.get_legend().get_texts()]
        bands = ["95 % band", "pointwise"] if bars else ["95 % error band"]
        assert named[0] == "Released"
        assert named[1:] == [name for name in bands if name in named]
        assert ax.get_title(loc="left")
    by_rank, by_count = axes
    assert "Rank (labels)" in by_rank.get_xlabel()
    assert "records" in by_rank.get_ylabel()
    assert "records" in by_count.get_xlabel()
    assert "Labels" in by_count.get_ylabel()
    by_rank.figure.draw_without_rendering()


def test_curves_and_bands_are_the_release_and_the_mechanisms_band() -> None:
    release = releases.usual_release()
    band = release.mechanism.band(release)
    for ax, curve in zip(plot(release), (counts_by_rank, labels_by_count), strict=True):
        line = ax.lines[0].get_xydata()
        released = thin(curve(release.value))
        np.testing.assert_array_equal(line, np.column_stack([released.x, released.y]))
        floor = ax.get_ylim()[0]
        polygon = ax.patches[0].get_xy()
        expected = np.column_stack(outline(thin(curve(band.lower)), thin(curve(band.upper)), floor))
        np.testing.assert_allclose(polygon[: len(expected)], expected)
        # All of the band is inside the axes, and so is 1, the least count there is.
        assert 0 < floor < 1 < polygon[:, 1].max() <= ax.get_ylim()[1]
        assert ax.get_xlim()[0] <= 0.5
        assert polygon[:, 0].max() <= ax.get_xlim()[1]


def test_a_wider_band_is_drawn_wider() -> None:
    """The band is not a decoration: another mechanism's band gives another polygon."""
    release = releases.usual_release()
    weaker = type(release.mechanism)(epsilon="0.1")  # type: ignore[call-arg]
    wide = Release(release.value, weaker.guarantee, weaker, release.total, release.noisy)
    tops = [plot(r)[0].patches[0].get_xy()[:, 1].max() for r in (release, wide)]
    assert tops[1] > tops[0] + 20


def test_nothing_is_registered_globally() -> None:
    before = dict(matplotlib.rcParams)
    plot(releases.tiny_release())
    assert dict(matplotlib.rcParams) == before


def test_a_notebook_shows_the_picture() -> None:
    axes = plot(releases.tiny_release())
    assert axes._repr_png_().startswith(b"\x89PNG")
    assert axes[:0]._repr_png_() is None


def test_a_profile_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"must be a dphist\.Release"):
        plot(Profile.from_counts([3]))  # type: ignore[call-overload]


@pytest.mark.parametrize("high", [0.9, 1, 3, 10, 99, 101, 1e6, 1e9, 4e18])
def test_ticks_are_few_and_inside(high: float) -> None:
    ticks = log_ticks(0.5, high)
    assert all(0.5 <= tick <= high for tick in ticks)
    assert len(ticks) <= 10
    assert len(ticks) >= (2 if high >= 2 else high >= 1)
