"""The adaptive scan's pieces: widths, decoding, steps. Functions of noisy counts alone."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dphist import AdaptiveScan, Profile
from dphist.anonymized.adaptive_scan import decoding as scan_decoding
from dphist.anonymized.adaptive_scan.blocks import (
    average_turned,
    bends,
    block_heights,
    edge_heights,
    smooth_heights,
    steps,
)
from dphist.anonymized.adaptive_scan.decoding import decode_curve, inside_blocks, without_tail
from dphist.anonymized.adaptive_scan.scan import Scan
from dphist.anonymized.adaptive_scan.trend import clumps, of_columns, of_rows


def scanned(curve: list[int], epsilon: float, blocks: int) -> Scan:
    """Scan a curve without noise; it is 0 where the list ends."""
    cells = np.append(0, np.cumsum(curve))
    scan = Scan(epsilon, of_columns)
    while len(scan.counts) < blocks:
        ends = scan.next_ends()
        scan.take(ends, np.diff(cells[np.minimum([scan.position, *ends], len(curve))]).tolist())
    return scan


def test_trend_of_a_line_is_the_line() -> None:
    scan = scanned([1000 - 7 * r for r in range(60)], 1.0, 12)
    trend = scan.trend()
    assert trend.slope == pytest.approx(7, rel=0.02)
    assert trend.height == pytest.approx(1000 - 7 * scan.position, rel=0.02)


@pytest.mark.parametrize("epsilon", [2, 4, 50])
def test_blocks_are_single_where_noise_is_small(epsilon: float) -> None:
    scan = scanned([50] * 400, epsilon, 100)
    assert scan.ends == list(range(len(scan.ends)))


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
def test_any_counts_give_next_blocks(counts: list[int], epsilon: float, roughness) -> None:
    scan = Scan(epsilon, roughness)
    ahead = max(0.0, 0.04 * math.log2(2 / epsilon))
    for count in counts:
        ends, width = scan.next_ends(), scan.next_width()
        assert 1 <= width <= 1 + ahead * scan.position
        assert np.all(np.diff([scan.position, *ends]) == width)
        assert len(ends) == 1 or ends[-1] <= 1.04 * scan.position + width
        scan.take(ends, [count] * len(ends))


@pytest.mark.parametrize(("epsilon", "goes_on"), [(0.01, True), (1.0, False)])
def test_one_low_count_ends_no_columns_where_noise_may_explain_it(
    epsilon: float, goes_on: bool
) -> None:
    scan = Scan(epsilon, of_columns)
    scan.take([1, 2, 3, 4], [400, 410, 390, -5])
    assert scan.is_before_corner() == goes_on
    scan.take([5], [-20])
    assert not scan.is_before_corner()


def test_columns_go_on_while_they_are_the_better_way() -> None:
    """Up to where a column holds fewer than 0.8 ends of rows, and not far below the diagonal."""
    steep = [5000 - 4 * r for r in range(1250)]
    flat = [5000 - r // 4 for r in range(5000)]
    for curve, corner in ((steep, 1250), (flat, 5000 / 2.125)):
        scan = scanned(curve, 1.0, 4)
        while scan.is_before_corner():
            position, ends = scan.position, scan.next_ends()
            have = np.append(curve, np.zeros(2 * len(curve)))
            scan.take(ends, [int(have[a:b].sum()) for a, b in pairwise([position, *ends])])
        assert scan.position == pytest.approx(corner, rel=0.1)


def test_stairs_are_seen_and_a_smooth_curve_has_none() -> None:
    rng = np.random.default_rng(3)
    smooth = np.sort((20_000 / np.arange(1, 2000)).astype(np.int64))[::-1]
    ends = [round(e) for e in np.unique(np.floor(10 * 1.05 ** np.arange(60)))]
    drops = np.zeros(ends[-1])
    drops[rng.integers(0, ends[-1], 15)] = 1000
    stairs = 20_000 - np.cumsum(drops)
    for curve, least, most in ((stairs, 20, 10_000), (smooth, 1, 2)):
        counts = np.add.reduceat(curve[: ends[-1]], ends[:-1]).tolist()
        assert least <= clumps(ends, counts, 0.1, of_columns) <= most
    assert clumps(ends, [5] * (len(ends) - 1), 0.1, of_columns) == 1


def zipf_blocks(epsilon: float, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Blocks of the curve 10,000 / x, their true heights, and noisy counts."""
    ends = np.unique(np.floor(1.2 ** np.arange(40))).astype(np.int64) - 1
    cells = np.cumsum(np.append(0, 10_000 / np.arange(1, ends[-1] + 1)))
    true = np.diff(cells[ends])
    noise = np.random.default_rng(seed).laplace(0, 1 / epsilon, len(true))
    return ends, true / np.diff(ends), np.round(true + noise).astype(np.int64)


def test_smoothing_lessens_noise() -> None:
    gains = []
    for seed in range(40):
        ends, true, counts = zipf_blocks(0.01, seed)
        widths = np.diff(ends)
        errors = [
            np.abs((heights - true) * widths).sum()
            for heights in (
                block_heights(ends, counts),
                smooth_heights(ends, counts, 0.01, of_columns),
            )
        ]
        gains.append(errors[1] / errors[0])
    assert np.mean(gains) < 0.85


@pytest.mark.parametrize("roughness", [of_columns, of_rows])
def test_smoothing_leaves_exact_counts_nearly_alone(roughness) -> None:
    ends, true, _ = zipf_blocks(1.0, 0)
    counts = np.rint(true * np.diff(ends)).astype(np.int64)
    smooth = smooth_heights(ends, counts, 50.0, roughness)
    np.testing.assert_allclose(smooth, true, rtol=0.01, atol=0.6)


def test_a_step_is_not_smoothed() -> None:
    ends = np.arange(0, 1010, 10)
    counts = np.repeat([5000, 1000], 50)
    smooth = smooth_heights(ends, counts, 0.1, of_columns)
    assert smooth[:49] == pytest.approx(500, rel=0.02)
    assert smooth[51:] == pytest.approx(100, rel=0.05)


@pytest.mark.verify
@given(
    st.lists(
        st.tuples(st.integers(1, 10**6), st.integers(-(10**9), 10**15)), min_size=1, max_size=40
    ),
    st.sampled_from([1e-6, 0.01, 1.0, 50.0]),
    st.sampled_from([of_columns, of_rows]),
)
def test_smoothed_heights_fall_whatever_the_counts(blocks, epsilon, roughness) -> None:
    ends = np.append(0, np.cumsum([width for width, _ in blocks]))
    heights = smooth_heights(ends, np.array([c for _, c in blocks]), epsilon, roughness)
    assert np.all(np.isfinite(heights))
    assert np.all(heights >= 0)
    assert np.all(np.diff(heights) <= 1e-9 * heights[0])


counts_of_blocks = st.lists(
    st.tuples(st.integers(1, 9), st.integers(-20, 400)), min_size=1, max_size=25
)


@pytest.mark.verify
@given(counts_of_blocks, st.sampled_from([0.05, 1.0, 4.0]), st.integers(0, 120))
def test_decoded_curves_are_whole_non_negative_and_fall(blocks, epsilon, length) -> None:
    ends = np.append(0, np.cumsum([width for width, _ in blocks]))
    curve = decode_curve(ends, np.array([c for _, c in blocks]), epsilon, of_rows, length).curve
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
    values = inside_blocks(ends, heights, int(ends[-1]), 1.0, to_zero)[0]
    sums = np.add.reduceat(values, ends[:-1])
    np.testing.assert_allclose(sums, heights * np.diff(ends), atol=1e-6)
    edges = edge_heights(ends, heights)
    assert np.all(np.diff(edges[:-1]) <= 1e-9)


def test_a_step_is_placed_by_the_cells() -> None:
    """30 columns of 100 and then none, the fall inside a block of 16."""
    ends = np.array([0, 1, 2, 4, 8, 16, 24, 40, 48, 56])
    curve = np.append(np.full(30, 100), np.zeros(26))
    counts = np.add.reduceat(curve, ends[:-1]).astype(np.int64)
    assert np.array_equal(decode_curve(ends, counts, 1.0, of_columns, 56).curve, curve)
    found = steps(ends, counts / np.diff(ends), 1.0, falls_to_zero=True)
    assert np.flatnonzero(~np.isnan(found[:, 0])).tolist() == [6]


FLAT_THEN_FALLING = np.append(np.full(21, 1000), 1000 - 20 * np.arange(1, 44))


def test_a_bend_is_placed_by_the_cells() -> None:
    """The curve turns at 21, inside the block of 16 to 32; so does it seen from behind."""
    ends, widths = np.append(0, np.arange(8, 65, 8)), np.full(8, 8.0)
    heights = FLAT_THEN_FALLING.reshape(8, 8).mean(axis=1)
    edges = np.append(1000, FLAT_THEN_FALLING[7::8] - np.array([0, 0, *[10] * 6]))
    late, early, edges = bends(ends, heights, edges)
    assert late[2] == pytest.approx(3.5, abs=0.1)
    cells = np.arange(8.0)
    block = average_turned(cells, widths[2], edges[2], edges[3], late[2])
    np.testing.assert_allclose(block, FLAT_THEN_FALLING[16:24], atol=3)
    assert block.sum() == pytest.approx(FLAT_THEN_FALLING[16:24].sum())
    assert np.isnan(early).all()
    # Turned by half a circle the curve falls first and is level then.
    late, early, _ = bends(ends, -heights[::-1], -edges[::-1])
    assert early[5] == pytest.approx(3.5, abs=0.1)
    assert np.isnan(late).all()


def test_bends_lessen_the_error_and_keep_the_cells(monkeypatch) -> None:
    ends = np.append(np.arange(0, 16, 4), np.arange(16, 65, 16))
    heights = np.add.reduceat(FLAT_THEN_FALLING, ends[:-1]) / np.diff(ends)

    def error() -> float:
        values = inside_blocks(ends, heights, 64, 1.0, falls_to_zero=False)[0]
        np.testing.assert_allclose(
            np.add.reduceat(values, ends[:-1]), heights * np.diff(ends), atol=1e-6
        )
        return float(np.abs(values - FLAT_THEN_FALLING).sum())

    with_bends = error()
    nowhere = np.full(len(heights), np.nan)
    monkeypatch.setattr(
        scan_decoding, "bends", lambda ends, heights, edges: (nowhere, nowhere, edges)
    )
    assert with_bends < 0.8 * error()


def test_a_curve_that_falls_on_both_sides_has_no_bend() -> None:
    ends = np.unique(np.floor(1.3 ** np.arange(25)).astype(np.int64)) - 1
    heights = 10_000 / (ends[:-1] + ends[1:] + 1)
    edges = edge_heights(ends, heights)
    late, early, same = bends(ends, heights, edges)
    assert np.isnan(late[:-1]).all()
    assert np.isnan(early[:-1]).all()
    assert np.array_equal(same, edges)


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
@pytest.mark.quick(every=5)
def test_small_noise_gives_nearly_the_input(counts, seeded) -> None:
    profile = Profile.from_counts(counts)
    release = AdaptiveScan(epsilon=12).release(profile, seeded(1))
    assert profile.distance(release.value) <= 2
    assert math.isfinite(AdaptiveScan(epsilon=1).expected_error(1000))
