"""Released histograms in hist, boost-histogram, mplhep, UHI and Vega-Lite; theirs as our data."""

import json
from pathlib import Path
from typing import Any

import altair
import boost_histogram as bh
import hist
import jsonschema
import matplotlib.pyplot as plt
import mplhep
import numpy as np
import pandas as pd
import pytest
import uhi.io.json
import uhi.schema
from matplotlib.figure import Figure
from uhi.numpy_plottable import ensure_plottable_histogram
from uhi.typing.plottable import PlottableAxisGeneric, PlottableHistogram

import dphist as dh
from dphist.errors import DataError, ParameterError, UnsupportedError
from dphist.release.range_histogram import RangeHistogram
from dphist.report import report_html

VEGA = jsonschema.Draft7Validator(
    json.loads(
        (Path(altair.__file__).parent / "vegalite/v6/schema/vega-lite-schema.json").read_text()
    )
)
ROWS = pd.DataFrame({"x": np.arange(400) % 9 - 1, "day": pd.date_range("2024-01-01", periods=400)})
LINE = dh.bin_counts(ROWS, column="x", edges=[0, 1, 4, 7])
OPEN = dh.bin_counts(ROWS, column="x", edges=[-np.inf, 1, 4, np.inf])
DAYS = dh.bin_counts(ROWS, column="day", start="2024-01-01", stop="2025-01-01", width="1mo")
GRID = dh.bin_counts(ROWS, column=["day", "x"], start=["2024-01-01", 0], stop=["2025-01-01", 6],
                     width=["1mo", 3])  # fmt: skip


def release_counts(counts: dh.BinnedCounts, epsilon: float = 1) -> Any:
    return dh.LeafCounts(epsilon=epsilon, bins=counts.bins).release(counts).value


HISTOGRAMS = {
    "line": release_counts(LINE),
    "open": release_counts(OPEN),
    "days": release_counts(DAYS),
    "grid": release_counts(GRID),
    "tree": dh.AdaptiveTree(epsilon=1, bins=(12, 2)).release(GRID).value,
}
each = pytest.mark.parametrize("name", HISTOGRAMS)


@each
def test_they_satisfy_the_protocol(name) -> None:
    h = HISTOGRAMS[name]
    assert isinstance(h, PlottableHistogram)
    assert all(isinstance(axis, PlottableAxisGeneric) for axis in h.axes)
    assert (h.kind, h.values().dtype) == ("COUNT", np.float64)
    assert h.values().tolist() == h.counts.tolist()
    assert np.sqrt(h.variances()) == pytest.approx(h.answers.bin_errors())
    for axis in h.axes:
        assert list(axis) == [axis[place] for place in range(len(axis))]
        assert axis[-1] == axis[len(axis) - 1]
        with pytest.raises(IndexError):
            axis[len(axis)]


def test_dates_are_days_as_matplotlib_counts_them() -> None:
    axis = HISTOGRAMS["days"].axes[0]
    assert axis[0] == (19723.0, 19754.0)
    hours = dh.Axis.regular("1970-01-01", "1970-01-02", "6h")
    assert list(hours)[1] == (0.25, 0.5)


@each
def test_only_variances_that_add_up_are_exported_as_independent(name) -> None:
    h = HISTOGRAMS[name]
    storage = h.to_uhi(independent=True)["storage"]
    total = (
        h.error_bins((0,) * h.counts.ndim, h.counts.shape)
        if h.counts.ndim > 1
        else (h.error_bins(0, len(h.counts)))
    )
    adds_up = h.variances().sum() == pytest.approx(total**2)
    assert adds_up == (name != "tree") == ("variances" in storage)
    assert hist.Hist(h.to_uhi(independent=True)).values(flow=name == "open").tolist() == (
        h.counts.tolist()
    )
    part = h.slice(h.edges[0][0], h.edges[0][-1]).to_uhi(independent=True)["storage"]
    assert ("variances" in part) == ("variances" in storage)


@each
def test_they_are_histograms_by_the_schema(name) -> None:
    h = HISTOGRAMS[name]
    content = h.to_uhi()
    text = json.dumps(content)
    uhi.schema.validate({"one": json.loads(text, object_hook=None)})
    for made in (bh.Histogram(content), hist.Hist(content)):
        flow = name == "open"
        assert made.values(flow=flow).tolist() == h.counts.tolist()
        assert made.variances(flow=flow) == pytest.approx(h.variances())
        names = [axis.__dict__["name"] for axis in made.axes]
        assert names == [axis.name for axis in h.axes]
        if not flow:
            edges = [axis.edges.tolist() for axis in made.axes]
            assert edges == [axis.as_floats().tolist() for axis in h.axes]
    assert content["metadata"] == {f"records_{k}": v for k, v in h.outside.items()}
    assert json.loads(json.dumps(h, default=uhi.io.json.default)) == json.loads(text)


def test_bins_to_infinity_alone_are_no_histogram_of_theirs() -> None:
    counts = dh.bin_counts(ROWS, column="x", edges=[-np.inf, 1, np.inf])
    with pytest.raises(UnsupportedError, match="two finite edges"):
        release_counts(counts).to_uhi()
    by_hand = dh.LeafCounts(epsilon=1, bins=3).release([1, 2, 3]).value.to_uhi()
    assert by_hand["axes"][0]["edges"] == [0, 1, 2, 3]


@pytest.mark.parametrize("name", ["line", "days"])
def test_mplhep_draws_values_and_errors(name) -> None:
    h = HISTOGRAMS[name]
    ax = Figure().subplots()
    mplhep.histplot(h, ax=ax, yerr=np.sqrt(h.variances()))
    stairs = [patch for patch in ax.patches if hasattr(patch, "get_data")]
    drawn = stairs[0].get_data()
    assert drawn.values.tolist() == h.values().tolist()
    assert drawn.edges.tolist() == h.axes[0].as_floats().tolist()


def test_mplhep_draws_a_map() -> None:
    h = HISTOGRAMS["grid"]
    plt.switch_backend("agg")
    figure, ax = plt.subplots()  # mplhep before 1.0 draws into figures of pyplot alone
    drawn = mplhep.hist2dplot(h, ax=ax, cbar=False)
    plt.close(figure)
    assert np.asarray(drawn.pcolormesh.get_array()).ravel() == pytest.approx(h.values().T.ravel())


def test_hist_plots_what_it_is_given() -> None:
    h = HISTOGRAMS["line"]
    made = hist.Hist(h.to_uhi())
    ax = Figure().subplots()
    made.plot(ax=ax)
    assert ax.has_data()
    assert made.sum().value == pytest.approx(h.counts.sum())
    assert ensure_plottable_histogram(h).values().tolist() == h.values().tolist()


# --- Theirs as our data


def filled() -> hist.Hist:
    made = hist.Hist(
        hist.axis.Regular(4, 0, 2, name="x"),
        hist.axis.Integer(0, 3, name="n"),
        storage=hist.storage.Int64(),
    )
    made.fill(x=[0.1, 0.1, 0.6, 5, -1, 1.9], n=[0, 1, 2, 2, 0, 7])
    return made


def test_a_histogram_of_hist_is_data() -> None:
    counts = dh.BinnedCounts.from_uhi(filled(), edges_are_public=True, sensitivity=2)
    assert counts.counts.tolist() == [[1, 1, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0]]
    assert dict(counts.outside) == {"outside": 3, "null": 0}
    assert [axis.name for axis in counts.axes] == ["x", "n"]
    assert counts.axes[0].edges.tolist() == [0, 0.5, 1, 1.5, 2]
    assert counts.axes[1].edges.tolist() == [0, 1, 2, 3]
    assert (counts.sensitivity, counts.unit) == (2, None)
    tree = dh.AdaptiveTree(epsilon=1, bins=counts.bins, sensitivity=2)
    assert tree.release(counts).value.axes == counts.axes
    with pytest.raises(dh.BoundsError):
        dh.AdaptiveTree(epsilon=1, bins=counts.bins).release(counts)


@pytest.mark.parametrize(
    "storage", [bh.storage.Int64(), bh.storage.Double(), bh.storage.AtomicInt64()], ids=range(3)
)
@pytest.mark.quick(every=3)
def test_flow_bins_are_below_and_above(storage) -> None:
    made = bh.Histogram(bh.axis.Variable([0, 1, 5, 9]), storage=storage)
    made.fill([-1, 0, 0, 4, 9, 100])
    for given in (made, bh.serialization.to_uhi(made)):
        counts = dh.BinnedCounts.from_uhi(
            given, edges_are_public=True, sensitivity=1, unit="one patient"
        )
        assert counts.counts.tolist() == [2, 1, 0]
        assert dict(counts.outside) == {"below": 1, "above": 2, "null": 0}
        assert counts.unit == dh.PrivacyUnit("patient")
        assert counts.unit.asserted
        release = dh.LeafCounts(epsilon=1, bins=3).release(counts)
        assert "Whoever made the data asserts" in report_html(release)
    without = bh.Histogram(bh.axis.Regular(3, 0, 9, underflow=False, overflow=False))
    without.fill([-1, 0, 4, 10])
    counts = dh.BinnedCounts.from_uhi(without, edges_are_public=True, sensitivity=1)
    assert (counts.counts.tolist(), counts.underflow, counts.overflow) == ([1, 1, 0], 0, 0)


def test_edges_and_bounds_are_asked_for() -> None:
    for public in (False, None, 1, "yes"):
        with pytest.raises(ParameterError, match="edges_are_public"):
            dh.BinnedCounts.from_uhi(filled(), edges_are_public=public, sensitivity=1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="sensitivity"):
        dh.BinnedCounts.from_uhi(filled(), edges_are_public=True)  # type: ignore[call-arg]
    with pytest.raises(ParameterError, match="sensitivity"):
        dh.BinnedCounts.from_uhi(filled(), edges_are_public=True, sensitivity=0)


SECRET = 918273


def histogram(axis: Any, storage: Any = None, **fill: Any) -> Any:
    made = bh.Histogram(axis, storage=storage or bh.storage.Double())
    return made.fill([SECRET % 3], **fill)


WRONG = {
    "text": lambda: "histogram",
    "array": lambda: np.array([SECRET]),
    "categories": lambda: bh.Histogram(bh.axis.StrCategory(["a", "b"])),
    "circular": lambda: histogram(bh.axis.Regular(4, 0, 4, circular=True)),
    "growing": lambda: histogram(bh.axis.Regular(4, 0, 4, growth=True)),
    "growing categories": lambda: histogram(bh.axis.IntCategory([0], growth=True)),
    "growing schema": lambda: histogram(bh.axis.Regular(4, 0, 4, growth=True))._to_uhi_(),
    "means": lambda: histogram(bh.axis.Regular(4, 0, 4), bh.storage.Mean(), sample=[SECRET]),
    "weights": lambda: histogram(bh.axis.Regular(4, 0, 4), bh.storage.Weight(), weight=0.5),
    "gaps": lambda: bh.Histogram(bh.axis.IntCategory([1, 5])),
    "schema": lambda: {"uhi_schema": 2, "axes": [], "storage": {}},
    "released counts": lambda: RangeHistogram(np.array([SECRET + 0.5] * 3)),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_histogram_of_counts_is_refused(name) -> None:
    with pytest.raises(ParameterError, match=r"(h|values) must") as caught:
        dh.BinnedCounts.from_uhi(WRONG[name](), edges_are_public=True, sensitivity=1)
    assert str(SECRET) not in str(caught.value)
    assert caught.value.__cause__ is caught.value.__context__ is None


def test_negative_counts_are_refused() -> None:
    made = histogram(bh.axis.Regular(4, 0, 4), weight=-SECRET)
    with pytest.raises(DataError, match="values must not be negative") as caught:
        dh.BinnedCounts.from_uhi(made, edges_are_public=True, sensitivity=1)
    assert str(SECRET) not in str(caught.value)


# --- Vega-Lite


@each
def test_vega_is_by_its_schema(name) -> None:
    h = HISTOGRAMS[name]
    specification = h.to_vega()
    assert specification["$schema"] == "https://vega.github.io/schema/vega-lite/v6.json"
    VEGA.validate(specification)
    json.dumps(specification)
    for layer in specification["layer"]:
        assert layer["data"]["values"]
    altair.Chart.from_dict(specification).to_dict()
    with pytest.raises(jsonschema.ValidationError):
        VEGA.validate({**specification, "layer": 3})


def test_vega_draws_what_matplotlib_does() -> None:
    h = HISTOGRAMS["line"]
    rows = h.to_vega()["layer"][-1]["data"]["values"]
    drawn = h.plot(Figure().subplots()).lines[0]
    assert [row["x"] for row in rows] == drawn.get_xdata().tolist()
    assert [row["y"] for row in rows] == drawn.get_ydata().tolist()
    assert [row["y"] for row in rows[::2]] == h.counts.tolist()
    with pytest.raises(UnsupportedError, match="two axes"):
        dh.LeafCounts(epsilon=1, bins=(2, 2, 2)).release(np.ones((2, 2, 2), int)).value.to_vega()


def test_vega_has_dates_in_utc() -> None:
    layer = HISTOGRAMS["days"].to_vega()["layer"][-1]
    assert layer["data"]["values"][0]["x"] == "2024-01-01T00:00:00.000000Z"
    assert layer["encoding"]["x"]["scale"]["type"] == "utc"
