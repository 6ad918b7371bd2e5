"""Corners lie on the curve, thinned or not, and thinning loses nothing one could see."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dphist import AnonymizedHistogram
from dphist.anonymized.charts import Curve, counts_by_rank, labels_by_count, outline, thin
from tests.support.histograms import histogram_of

histograms = st.dictionaries(st.integers(1, 10**6), st.integers(1, 10**6), max_size=60).map(
    lambda pairs: AnonymizedHistogram(list(pairs), list(pairs.values()))
)
small = st.lists(st.integers(1, 30), max_size=40).map(histogram_of)


def value_at(curve: Curve, i: int) -> int:
    """The curve at a whole number, read off its corners."""
    steps = zip(curve.x[:-1], curve.x[1:], curve.y[1:], strict=True)
    return next((int(y) for left, right, y in steps if left < i < right), 0)


@given(small)
def test_curves_are_the_sorted_counts_and_the_cumulative_prevalences(
    histogram: AnonymizedHistogram,
) -> None:
    by_rank, by_count = counts_by_rank(histogram), labels_by_count(histogram)
    for rank, count in enumerate(histogram.sorted_counts(), start=1):
        assert value_at(by_rank, rank) == count
    for r in range(1, 33):
        assert value_at(by_count, r) == histogram.cumulative_prevalences(r)


@given(histograms, st.integers(1, 50))
def test_thinned_corners_are_corners_and_ends_are_kept(
    histogram: AnonymizedHistogram, cells: int
) -> None:
    for full in (counts_by_rank(histogram), labels_by_count(histogram)):
        corners = set(zip(full.x.tolist(), full.y.tolist(), strict=True))
        kept = thin(full, cells)
        assert set(zip(kept.x.tolist(), kept.y.tolist(), strict=True)) <= corners
        assert len(kept.x) <= 4 * cells
        assert np.all(np.diff(kept.x) >= 0)
        assert np.all(np.diff(kept.y) <= 0)
        if corners:
            assert (kept.x[0], kept.y[0]) == (full.x[0], full.y[0])
            assert (kept.x[-1], kept.y[-1]) == (full.x[-1], full.y[-1])


@given(histograms, st.integers(2, 50))
def test_no_corner_is_further_than_a_cell_from_the_thinned_curve(
    histogram: AnonymizedHistogram, cells: int
) -> None:
    full = counts_by_rank(histogram)
    if len(full.x) == 0:
        return
    kept = thin(full, cells)
    across = max(np.ptp(np.log(full.x)), 1e-9) / cells
    down = max(np.ptp(np.log(full.y)), 1e-9) / cells
    for x, y in zip(np.log(full.x), np.log(full.y), strict=True):
        near = (np.abs(np.log(kept.x) - x) <= across * 1.0001) & (
            np.abs(np.log(kept.y) - y) <= down * 1.0001
        )
        assert near.any()


def test_a_list_of_many_millions_of_labels_stays_small() -> None:
    counts = np.arange(1, 5001)
    histogram = AnonymizedHistogram(counts, 30_000_000 // counts**2)
    for curve in (counts_by_rank(histogram), labels_by_count(histogram)):
        assert 100 < len(thin(curve).x) < 1000


def test_outline_opens_to_the_floor_where_the_lower_curve_has_ended() -> None:
    lower = counts_by_rank(histogram_of([4]))
    upper = counts_by_rank(histogram_of([9, 5, 5]))
    x, y = outline(lower, upper, floor=0.5)
    corners = list(zip(x.tolist(), y.tolist(), strict=True))
    assert corners == [
        (0.5, 9), (1.5, 9), (1.5, 5), (3.5, 5),
        (3.5, 0.5), (1.5, 0.5), (1.5, 4), (0.5, 4),
    ]  # fmt: skip


@pytest.mark.parametrize("upper", [[], [7, 2]])
def test_outline_of_an_empty_lower_curve(upper: list[int]) -> None:
    nothing = counts_by_rank(histogram_of([]))
    x, y = outline(nothing, counts_by_rank(histogram_of(upper)), floor=0.8)
    assert y.tolist() == ([7, 7, 2, 2, 0.8, 0.8] if upper else [])
    assert len(x) == len(y)
