"""The adaptive scan's pieces: widths, decoding, steps. Functions of noisy counts alone."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dphist import AdaptiveScan, Profile
from dphist.anonymized.scan import Scan, of_columns, of_rows
from dphist.anonymized.scan_decoding import decode_curve, edge_heights, inside_blocks, without_tail
from dphist.anonymized.scan_steps import steps


def scanned(curve: list[int], epsilon: float, blocks: int) -> Scan:
    """Scan a curve without noise; it is 0 where the list ends."""
    cells = np.append(0, np.cumsum(curve))
    scan = Scan(epsilon, of_columns)
    for _ in range(blocks):
        end = scan.position + scan.next_width()
        ends = min(end, len(curve)), min(scan.position, len(curve))
        scan.take(end, int(cells[ends[0]] - cells[ends[1]]))
    return scan


def test_trend_of_a_line_is_the_line() -> None:
    scan = scanned([1000 - 7 * r for r in range(60)], 1.0, 12)
    trend = scan.trend()
    assert trend.slope == pytest.approx(7, rel=0.02)
    assert trend.height == pytest.approx(1000 - 7 * scan.position, rel=0.02)


@pytest.mark.parametrize("epsilon", [2, 4, 50])
def test_blocks_are_single_where_noise_is_small(epsilon: float) -> None:
    scan = scanned([50] * 400, epsilon, 100)
    assert scan.ends == list(range(101))


def test_blocks_widen_with_noise_and_narrow_with_slope() -> None:
    flat, noisy = (scanned([10**6] * 400, e, 30).ends[-1] for e in (0.5, 0.01))
    assert noisy > 1.5 * flat
    steep = [10**6 - 2000 * r for r in range(400)]
    assert scanned(steep, 0.01, 30).ends[-1] < noisy / 1.3


@given(
    st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=60),
    st.sampled_from([0.001, 0.1, 1.0, 3.0]),
    st.sampled_from([of_columns, of_rows]),
)
def test_any_counts_give_a_next_width(counts: list[int], epsilon: float, wiggle) -> None:
    scan = Scan(epsilon, wiggle)
    for count in counts:
        width = scan.next_width()
        assert 1 <= width <= max(1, 0.3 * scan.position + 1)
        scan.take(scan.position + width, count)


counts_of_blocks = st.lists(
    st.tuples(st.integers(1, 9), st.integers(-20, 400)), min_size=1, max_size=25
)


@given(counts_of_blocks, st.sampled_from([0.05, 1.0, 4.0]), st.integers(0, 120))
def test_decoded_curves_are_whole_non_negative_and_fall(blocks, epsilon, length) -> None:
    ends = np.append(0, np.cumsum([width for width, _ in blocks]))
    curve = decode_curve(ends, np.array([c for _, c in blocks]), epsilon, length)
    assert len(curve) == length
    assert curve.dtype == np.int64
    assert np.all(np.diff(curve) <= 0)
    assert np.all(curve >= 0)


@given(st.lists(st.integers(1, 9), min_size=2, max_size=20), st.booleans(), st.data())
def test_each_block_keeps_its_number_of_cells(widths, to_zero, data) -> None:
    heights = np.array(
        sorted(data.draw(st.lists(st.floats(0, 500), min_size=len(widths), max_size=len(widths))))
    )[::-1]
    ends = np.append(0, np.cumsum([1, *widths[1:]]))
    values = inside_blocks(ends, heights, int(ends[-1]), 1.0, to_zero)
    sums = np.add.reduceat(values, ends[:-1])
    np.testing.assert_allclose(sums, heights * np.diff(ends), atol=1e-6)
    edges = edge_heights(ends, heights)
    assert np.all(np.diff(edges[:-1]) <= 1e-9)


def test_a_step_is_placed_by_the_cells() -> None:
    """30 columns of 100 and then none, the fall inside a block of 16."""
    ends = np.array([0, 1, 2, 4, 8, 16, 24, 40, 48, 56])
    curve = np.append(np.full(30, 100), np.zeros(26))
    counts = np.add.reduceat(curve, ends[:-1]).astype(np.int64)
    assert np.array_equal(decode_curve(ends, counts, 1.0, 56), curve)
    found = steps(ends, counts / np.diff(ends), 1.0, falls_to_zero=True)
    assert np.flatnonzero(~np.isnan(found[:, 0])).tolist() == [6]


def test_a_smooth_curve_has_no_steps() -> None:
    ends = np.unique(np.floor(1.3 ** np.arange(25)).astype(np.int64)) - 1
    heights = 10_000 / (ends[:-1] + ends[1:] + 1)
    assert np.isnan(steps(ends, heights, 1.0, falls_to_zero=False)).all()


def test_a_tail_of_noise_is_cut() -> None:
    rng = np.random.default_rng(1)
    counts = np.append([90, 50, 20, 9], np.round(rng.laplace(0, 1, 40))).astype(np.int64)
    assert 3 <= without_tail(counts, 1.0) <= 9
    assert without_tail(np.full(20, -3), 1.0) == 0


@pytest.mark.parametrize("counts", [[], [1], [2**40], [5] * 1000, list(range(1, 300))])
def test_small_noise_gives_nearly_the_input(counts, seeded) -> None:
    profile = Profile.from_counts(counts)
    release = AdaptiveScan(epsilon=12).release(profile, seeded(1))
    assert profile.distance(release.value) <= 2
    assert math.isfinite(AdaptiveScan(epsilon=1).expected_error(1000))
