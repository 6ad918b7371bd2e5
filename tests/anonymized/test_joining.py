"""Where columns and rows meet, and how rows are rounded."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dphist import AdaptiveScan, AnonymizedHistogram, Profile
from dphist.anonymized.adaptive_scan.decoding import (
    decode_curve,
    halfway,
    join_curves,
    level_start,
    make_agree,
    whole_or_even,
)
from dphist.anonymized.adaptive_scan.trend import of_rows

falling = st.lists(st.integers(0, 8), min_size=1, max_size=7).map(
    lambda values: np.array(sorted(values, reverse=True))
)


def cells_changed(before: tuple[np.ndarray, ...], after: tuple[np.ndarray, ...]) -> int:
    return sum(int(np.abs(a - b).sum()) for a, b in zip(before, after, strict=True))


@given(falling, falling)
def test_columns_and_rows_agree_with_fewest_changes(columns, rows) -> None:
    found = make_agree(columns, rows)
    assert np.count_nonzero(found[1]) <= found[0][-1] or np.array_equal(found[1], rows)
    assert np.count_nonzero(found[1]) <= found[0][-1]
    for height in range(int(columns[-1]), len(rows) + 1):
        other = np.maximum(columns, height), np.where(np.arange(len(rows)) < height, rows, 0)
        assert cells_changed((columns, rows), found) <= cells_changed((columns, rows), other)


@given(falling, falling)
def test_curves_that_agree_are_left_alone(columns, rows) -> None:
    rows = rows[: columns[-1]]
    assert all(map(np.array_equal, make_agree(columns, rows), (columns, rows)))
    profile = join_curves(columns, rows)
    assert profile.total == columns.sum() + rows.sum()
    heights = profile.cumulative_prevalences(np.arange(1, len(columns) + 1))
    assert np.array_equal(heights, columns)


def test_a_column_too_low_by_noise_is_raised() -> None:
    """A square: 500 columns of 1,000, the last one short by noise, and 1,000 rows."""
    columns, rows = np.append(np.full(499, 1000), 999), np.full(1000, 500)
    assert join_curves(*make_agree(columns, rows)) == AnonymizedHistogram([1000], [1000])
    assert join_curves(columns, rows) != AnonymizedHistogram([1000], [1000])


def test_a_row_of_noise_is_cut() -> None:
    columns, rows = np.array([1, 1, 1]), np.array([10**6 - 3, 1])
    assert join_curves(*make_agree(columns, rows)) == AnonymizedHistogram([10**6], [1])


@pytest.mark.parametrize("base", [3, 4])
def test_halves_become_even_counts(base: int) -> None:
    values = np.array([8.5, 7.55, 7.45, 6.9, 2.05, 0.5])
    rounded = whole_or_even(values, base, 0.1) + base
    assert np.all(rounded[[0, 1, 2, 5]] % 2 == 0)
    assert rounded[3:5].tolist() == [7 + base, 2 + base]
    assert np.all(np.abs(rounded - base - values) <= 0.6)
    assert np.array_equal(whole_or_even(values, base, 0.0), np.rint(values))


def test_even_counts_are_noticed_and_others_are_not() -> None:
    rng = np.random.default_rng(1)
    ends = np.arange(201)
    counts = np.sort(rng.integers(20, 5000, 200))[::-1]
    assert halfway(ends, counts // 2 * 2) == 0.25
    assert halfway(2 * ends, counts // 2 * 2) == 0  # blocks of two rows say nothing
    assert halfway(ends, counts // 2 * 2 + 1) == 0
    by_chance = [halfway(ends, rng.integers(20, 5000, 200)) for _ in range(500)]
    assert np.mean(by_chance) < 0.015


def test_equal_even_counts_are_kept() -> None:
    """Two rows of 30, one noisy: 30.5 on average, and even; nearly all others are."""
    counts = np.repeat(np.arange(1000, 10, -10), 2)
    noisy = counts.copy()
    noisy[51::10] += 1  # the second of two
    ends = np.arange(len(counts) + 1)
    for base in (0, 5):
        plain = decode_curve(ends, noisy - base, 4.0, of_rows, len(counts)).curve
        even = decode_curve(ends, noisy - base, 4.0, of_rows, len(counts), base).curve
        off = [np.abs(curve + base - counts).sum() for curve in (even, plain)]
        assert off[0] <= off[1]
        assert off[0] <= 4


def test_a_first_column_too_high_by_noise_is_lowered() -> None:
    """One label of a million, and one more in the first column; or a real one, of many."""
    columns, rows = np.array([2, 1, 1]), np.array([10**6 - 3])
    assert level_start(columns, rows, 4.0).tolist() == [1, 1, 1]
    assert level_start(columns, rows, 20.0).tolist() == [2, 1, 1]  # too unlikely
    assert level_start(columns, rows[:0], 4.0).tolist() == [2, 1, 1]  # the level is short
    for other in ([1, 0, 0], [3, 3, 3], [9, 5, 4], [0, 0, 0], [7]):
        assert level_start(np.array(other), np.array([0]), 1.0).tolist() == other


@given(falling, falling, st.sampled_from([0.01, 1.0, 4.0]))
def test_a_level_start_changes_the_first_level_alone(columns, rows, epsilon) -> None:
    columns, rows = make_agree(columns, rows)
    found = level_start(columns, rows, epsilon)
    assert np.all(found <= columns)
    assert np.all((found == columns) | (columns == columns[0]))
    assert np.all(np.diff(found) <= 0)


def test_released_columns_and_rows_agree(seeded) -> None:
    for epsilon, labels in itertools.product(["0.1", "1", "4"], [1, 30]):
        truth = Profile.from_prevalences([1000, 30], [labels, 2 * labels])
        release = AdaptiveScan(epsilon=epsilon).release(truth, seeded(1))
        width = release.noisy["column_ends"][-1]
        heights = release.value.cumulative_prevalences([width, width + 1])
        assert heights[1] <= heights[0]
