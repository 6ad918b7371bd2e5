"""Plots in axes of the caller's: one, two side by side, or one below the other."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import dphist as dh
from dphist.errors import ParameterError
from tests.support.release.tables import RELEASES

PLOTS = {"anonymized": 2, "labels": 2, "ranges": 2, "grid": 1}
each = pytest.mark.parametrize("name", PLOTS)


@pytest.mark.verify
@each
def test_a_release_draws_into_axes(name) -> None:
    release, _ = RELEASES[name]
    ax = Figure().subplots()
    assert release.plot(ax) is ax
    assert dh.plot(release, ax) is ax
    assert ax.has_data()
    assert ax.get_title(loc="left") == dh.plot(release)[0].get_title(loc="left")
    assert ax.get_xlabel() == dh.plot(release)[0].get_xlabel()


@pytest.mark.long(every=2)
@pytest.mark.verify
@each
def test_a_release_draws_in_one_column_or_two(name) -> None:
    release, _ = RELEASES[name]
    for columns in (1, 2):
        panels = release.plot(columns=columns)
        assert panels.shape == (PLOTS[name],)
        assert all(isinstance(ax, Axes) for ax in panels)
        assert panels._repr_png_().startswith(b"\x89PNG")
        panels[0].figure.draw_without_rendering()
        boxes = [ax.get_position() for ax in panels]
        if len(boxes) == 2 and columns == 1:
            assert boxes[1].y1 < boxes[0].y0
        elif len(boxes) == 2:
            assert boxes[0].x1 < boxes[1].x0


@each
def test_a_release_draws_each_plot_into_its_axes(name) -> None:
    release, _ = RELEASES[name]
    axes = Figure().subplots(1, PLOTS[name], squeeze=False)[0]
    found = dh.plot(release, list(axes))
    assert found.tolist() == list(axes)
    assert all(ax.has_data() for ax in axes)


def test_what_is_no_axes_is_refused() -> None:
    release, _ = RELEASES["ranges"]
    for wrong in ("ax", [1, 2], Figure().subplots(3)):
        with pytest.raises(ParameterError, match="ax must be"):
            dh.plot(release, wrong)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="columns"):
        dh.plot(release, columns=3)
    with pytest.raises(ParameterError, match="release"):
        dh.plot(dh.Profile.from_counts([3]), Figure().subplots())  # type: ignore[call-overload]


def test_two_histograms_in_one_axes_with_their_bands() -> None:
    rows = pd.DataFrame({"x": np.arange(1000) % 10})
    counts = dh.bin_counts(rows, column="x", start=0, stop=10, width=1)
    ax = Figure().subplots()
    for epsilon, color in ((1, "#aa3300"), (0.1, "#003366")):
        value = dh.LeafCounts(epsilon=epsilon, bins=10).release(counts).value
        assert value.plot(ax, color=color, label=f"epsilon {epsilon}") is ax
    names = [name for name in ax.get_legend_handles_labels()[1] if name.startswith("eps")]
    assert names == ["epsilon 1", "epsilon 0.1"]
    bands = [np.ptp(band.get_xy()[:, 1]) for band in ax.patches]
    assert len(bands) == 2
    assert bands[1] > bands[0]  # less budget, a wider band
    low, high = ax.get_ylim()
    assert all(
        ((low <= band.get_xy()[:, 1]) & (band.get_xy()[:, 1] <= high)).all() for band in ax.patches
    )


@pytest.mark.parametrize("name", ["anonymized", "labels"])
def test_a_plot_from_zero_on_gets_a_logarithmic_axis_with_all_that_is_shown(name) -> None:
    release, _ = RELEASES[name]
    alone, ax = Figure().subplots(), Figure().subplots()
    ax.plot([0, 100], [0, 50])
    release.plot(alone)
    release.plot(ax)  # a warning would be an error
    for kept, added in ((alone.get_xlim(), ax.get_xlim()), (alone.get_ylim(), ax.get_ylim())):
        assert added[0] <= kept[0]
        assert added[1] >= kept[1]
