"""Marginals and slices: of the same records, with the errors that the mechanism has for them."""

import numpy as np
import pandas as pd
import pytest

import dphist as dh
from dphist.errors import ParameterError, UnsupportedError
from dphist.release.range_histogram import RangeHistogram

RNG = np.random.default_rng(7)
ROWS = pd.DataFrame({"x": RNG.integers(0, 8, 4000), "y": RNG.integers(0, 16, 4000) ** 2 // 16})
ROWS["z"] = (ROWS["x"] + ROWS["y"]) % 4
EDGES = {"x": range(9), "y": [0, 1, 4, 9, 15], "z": range(5)}


def release_axes(axes: str, mechanism: type, **options) -> RangeHistogram:
    columns = list(axes)
    counts = dh.bin_counts(ROWS, column=columns, edges=[EDGES[name] for name in columns])
    return mechanism(epsilon=1, bins=counts.bins, **options).release(counts).value


HISTOGRAMS = [
    release_axes("xy", dh.HierarchicalTree),
    release_axes("xy", dh.HierarchicalTree, nonnegative=False),
    release_axes("xy", dh.HierarchicalTree, consistent=False, nonnegative=False),
    release_axes("xy", dh.LeafCounts),
    release_axes("xy", dh.AdaptiveTree),
    release_axes("xyz", dh.AdaptiveTree),
    release_axes("xyz", dh.LeafCounts),
]


@pytest.mark.parametrize("whole", HISTOGRAMS)
@pytest.mark.quick(every=3)
def test_a_marginal_answers_as_the_whole_does(whole) -> None:
    rest = whole.counts.shape[2:]
    zeros = (0,) * len(rest)
    for name, size, other in (("x", 8, 4), ("y", 4, 8)):
        part = whole.marginal(name)
        assert part.axes == (whole.axes["xyz".index(name)],)
        assert part.counts.shape == (size,)
        for lo in range(size):
            for hi in range(lo, size + 1):
                ends = [(lo, hi), (0, other)] if name == "x" else [(0, other), (lo, hi)]
                box = [(ends[0][end], ends[1][end], *(zeros, rest)[end]) for end in (0, 1)]
                assert part.count_bins(lo, hi) == whole.count_bins(*box)
                assert part.error_bins(lo, hi) == whole.error_bins(*box)
                assert part.interval_bins(lo, hi) == whole.interval_bins(*box)
        assert part.counts.tolist() == [part.count_bins(place, place + 1) for place in range(size)]
        assert not part.outside


@pytest.mark.parametrize("whole", HISTOGRAMS)
def test_a_slice_is_of_some_bins_and_all_of_the_others(whole) -> None:
    part = whole.slice(1, 9, axis="y").marginal("x")
    rest = whole.counts.shape[2:]
    zeros = (0,) * len(rest)
    assert part.count_bins(2, 5) == whole.count_bins((2, 1, *zeros), (5, 3, *rest))
    assert part.error_bins(2, 5) == whole.error_bins((2, 1, *zeros), (5, 3, *rest))
    kept = whole.slice(1, 9, axis=1)
    assert kept.axes[1].edges.tolist() == [1, 4, 9]
    assert kept.counts.shape == (8, 2, *rest)
    of_all = kept.slice(2, 5).marginal("y", "x")
    assert of_all.counts.shape == (2, 3)
    assert of_all.count_bins((1, 0), (2, 2)) == whole.count_bins((2, 2, *zeros), (4, 3, *rest))
    median = part.median()
    assert 0 <= median.low <= median.value <= median.high <= 8


@pytest.mark.verify
@pytest.mark.usefixtures("repeatable")
def test_errors_of_a_marginal_are_those_that_are_seen() -> None:
    """Errors of bins do not add up, as their estimates depend on each other: measured."""
    counts = dh.bin_counts(ROWS, column=["x", "y"], edges=[EDGES["x"], EDGES["y"]])
    truth = counts.counts.sum(axis=1)
    for mechanism in (
        dh.HierarchicalTree(epsilon=1, bins=counts.bins, nonnegative=False, root=False),
        dh.HierarchicalTree(epsilon=1, bins=counts.bins, nonnegative=False),
    ):
        parts = [mechanism.release(counts).value.marginal("x") for _ in range(300)]
        seen = np.sqrt(np.mean([(part.counts - truth) ** 2 for part in parts], axis=0))
        # 300 releases of 8 bins: the ratio is within 12 % of 1, five deviations and more
        ratio = np.sqrt(np.mean(seen**2) / np.mean(parts[0].answers.bin_errors() ** 2))
        assert 0.88 < ratio < 1.12


def test_a_histogram_made_by_hand_has_parts_too() -> None:
    bins = np.arange(24).reshape(2, 3, 4)
    whole = RangeHistogram(bins.copy())
    assert whole.marginal(2, 0).counts.tolist() == bins.sum(axis=1).T.tolist()
    assert whole.slice(1, 3, axis=1).counts.tolist() == bins[:, 1:3].tolist()
    with pytest.raises(UnsupportedError, match="made by hand"):
        whole.marginal(0).count(0, 1)


@pytest.mark.parametrize("axes", [(), ("w",), (2,), (-1,), ("x", 0), (True,), (None,), (0.5,)])
def test_axes_that_there_are_not_are_refused(axes) -> None:
    with pytest.raises(ParameterError, match=r"ax[ie]s"):
        HISTOGRAMS[0].marginal(*axes)


@pytest.mark.parametrize(
    "ends", [(2, 2), (3, 1), (0, 9), (-1, 2), (0.5, 2), ("2024-01-01", 2), ([0], 2)]
)
def test_slices_of_no_bins_are_refused(ends) -> None:
    with pytest.raises(ParameterError, match=r"start|stop"):
        HISTOGRAMS[0].slice(*ends)
