"""The second decoding: its pieces against dense linear algebra, and what it gains."""

import random

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dphist import AdaptiveScan, Profile
from dphist.anonymized.adaptive_scan import decoding, refining
from dphist.anonymized.adaptive_scan.bands import band_of_inverse, curve_between, model_deviations
from dphist.anonymized.adaptive_scan.decoding import decode_curve, trust_at
from dphist.anonymized.adaptive_scan.refining import (
    Clue,
    Scanned,
    fewest_blocks,
    make_walk,
    refine_curve,
    smooth_drift,
    solve_banded,
)
from dphist.anonymized.adaptive_scan.trend import of_columns, of_rows


def test_a_fall_at_half_of_the_positions_gives_no_warning() -> None:
    """The mean slope at the last position is then nothing, next to one that is large."""
    falls = np.zeros(101)
    falls[49] = 1e6
    smooth = smooth_drift(falls, of_columns)
    assert np.isfinite(smooth).all()
    assert (smooth > 0).all()


@pytest.mark.parametrize("roughness", [of_columns, of_rows])
@pytest.mark.parametrize("power", [-0.5, -1.0, -2.0])
def test_a_power_law_is_a_smooth_drift(power: float, roughness) -> None:
    falls = 1e6 * np.arange(1.0, 400) ** power
    smooth = smooth_drift(falls, roughness)
    np.testing.assert_allclose(smooth[5:150], falls[5:150], rtol=0.03)
    np.testing.assert_allclose(smooth, falls, rtol=0.35)


def test_noise_on_a_drift_is_averaged() -> None:
    falls = 1e4 / np.arange(1.0, 300)
    noisy = falls * np.random.default_rng(1).exponential(1, len(falls))
    off = np.abs(np.log(smooth_drift(noisy, of_columns) / falls))[20:]
    assert off.mean() < 0.15


@given(
    st.lists(st.floats(0, 1e15), min_size=1, max_size=80), st.sampled_from([of_columns, of_rows])
)
def test_any_falls_have_a_drift(falls: list[float], roughness) -> None:
    smooth = smooth_drift(np.array(falls), roughness)
    assert np.all(np.isfinite(smooth))
    assert np.all(smooth > 0)


ENDS = np.array([0, 1, 2, 5, 9, 10, 17])


def law() -> tuple[np.ndarray, np.ndarray]:
    """A drift and its variances."""
    rng = np.random.default_rng(2)
    return np.sort(rng.uniform(1, 9, 17))[::-1], rng.uniform(0.5, 3, 17)


def test_a_walk_between_the_ends_of_blocks_is_as_dense_algebra_says() -> None:
    """Heights at ends and noisy counts given: the mean inside, and the variance of a count."""
    drift, chance = law()
    walk = make_walk(ENDS, drift, chance)
    rng = np.random.default_rng(3)
    heights, noise = np.sort(rng.uniform(0, 90, 7))[::-1], rng.uniform(1, 20, 6)
    counts = rng.uniform(0, 300, 6)
    fall = np.tri(18, 18, -1)[:, :17]  # position i is start minus the first i falls
    covariance = fall @ np.diag(chance) @ fall.T
    mean = heights[0] - fall @ drift
    blocks = np.zeros((6, 18))
    for b in range(6):
        blocks[b, ENDS[b] : ENDS[b + 1]] = 1
    known = np.vstack([np.eye(18)[ENDS[1:]], blocks])
    for noisy, check in ((1e12, "no counts"), (1.0, "counts")):
        errors = np.diag(np.append(np.zeros(6), noise * noisy))
        gain = covariance @ known.T @ np.linalg.inv(known @ covariance @ known.T + errors)
        expected = mean + gain @ (np.append(heights[1:], counts) - known @ mean)
        found = walk.inside(heights, counts, noise * noisy)
        np.testing.assert_allclose(found, expected[:-1], rtol=1e-6, err_msg=check)
    gain = covariance @ known[:6].T @ np.linalg.inv(known[:6] @ covariance @ known[:6].T)
    left = covariance - gain @ known[:6] @ covariance
    np.testing.assert_allclose(walk.bridges, np.diag(blocks @ left @ blocks.T), atol=1e-9)
    start, following, drifted = walk.weights()
    cells = start * heights[:-1] + following * heights[1:] + drifted
    np.testing.assert_allclose(cells, blocks @ (mean + gain @ (heights[1:] - known[:6] @ mean)))


def some_clues() -> list[Clue]:
    rng = np.random.default_rng(4)
    return [
        Clue((slice(0, 7),), (np.ones(7),), rng.normal(size=7), rng.uniform(1, 2, 7)),
        Clue(
            (slice(0, 5), slice(1, 6), slice(2, 7)),
            tuple(rng.normal(size=(3, 5))),
            rng.normal(size=5),
            rng.uniform(1, 2, 5),
        ),
    ]


def dense(clues: list[Clue], size: int) -> tuple[np.ndarray, np.ndarray]:
    """The equations, each divided by the standard deviation of its error."""
    rows, right = [], []
    for clue in clues:
        for k, variance in enumerate(clue.variance):
            row = np.zeros(size)
            for at, by in zip(clue.at, clue.by, strict=True):
                row[np.arange(size)[at][k]] = by[k]
            rows.append(row / np.sqrt(variance))
            right.append(clue.equals[k] / np.sqrt(variance))
    return np.array(rows), np.array(right)


def test_banded_equations_are_solved_as_dense_ones() -> None:
    clues = some_clues()
    matrix, right = dense(clues, 7)
    found = solve_banded(clues, 7, 2)
    assert found is not None
    np.testing.assert_allclose(found.unknowns, np.linalg.lstsq(matrix, right)[0])
    inverse = np.linalg.inv(matrix.T @ matrix)
    for below, diagonal in enumerate(band_of_inverse(found.factor)):
        np.testing.assert_allclose(diagonal[: 7 - below], np.diag(inverse, -below))
    off = right - matrix @ found.unknowns
    variances = np.log(np.concatenate([clue.variance for clue in clues])).sum()
    expected = -(off @ off + variances - np.linalg.slogdet(inverse)[1]) / 2
    assert found.likelihood == pytest.approx(expected)


def test_equations_without_a_factor_have_no_solution() -> None:
    at = slice(0, 3)
    clue = Clue((at,), (np.array([1.0, 0.0, 1.0]),), np.ones(3), np.ones(3))
    assert solve_banded([clue], 3, 1) is None
    assert solve_banded([clue._replace(by=(np.full(3, np.inf),))], 3, 1) is None


def blocks_of(curve: np.ndarray, growth: float) -> np.ndarray:
    ends = np.unique(np.floor(growth ** np.arange(80)).astype(np.int64)) - 1
    return ends[ends <= len(curve)]


def test_deviations_are_those_of_the_dense_model(monkeypatch) -> None:
    """Every position an unknown, instead of the ends of blocks alone."""
    curve = 10_000 / np.arange(1.0, 301)
    ends = blocks_of(curve, 1.5)
    n, k = int(ends[-1]), len(ends) - 1
    counts = np.rint(np.add.reduceat(curve, ends[:-1])).astype(np.int64)
    monkeypatch.setattr(refining, "_BENDINGS", (1.0,))
    found = refine_curve(Scanned(ends, counts, 0.02, of_columns, curve[: n + 1]))
    assert found is not None
    block, walk = found.walk.block, found.walk
    unknowns = np.zeros((n + 2 * k, n + 1 + k))
    chance = np.diff(walk.parts, append=1.0)
    last = np.flatnonzero(np.diff(block, append=k))
    chance[last] = 1 - walk.parts[last]
    drift = np.diff(walk.fallen, append=0.0)
    drift[last] = (walk.falls - walk.fallen[last])[block[last]]
    deviation = np.sqrt(chance * walk.variances[block])
    for x in range(n):
        unknowns[x, [x, x + 1]] = 1, -1
        unknowns[x, n + 1 + block[x]] = -drift[x]
        unknowns[x] /= deviation[x]
    for b in range(k):
        unknowns[n + b, ends[b] : ends[b + 1]] = 1 / np.sqrt(found.noise[b])
        unknowns[n + k + b, n + 1 + b] = 1 / refining._LOOSE
    clues = refining._clues(
        Scanned(ends, counts, 0.02, of_columns, curve),
        walk,
        found.noise,
        (np.log(ends[:-1] + 0.5) + np.log(ends[1:] + 0.5)) / 2,
        1.0,
    )
    bending, _ = dense(clues[3:], 2 * k + 1)
    more = np.zeros((k - 2, n + 1 + k))
    more[:, n + 1 :] = bending[:, 1::2]
    every = np.vstack([unknowns, more])
    covariance = np.linalg.inv(every.T @ every)
    np.testing.assert_allclose(model_deviations(found), np.sqrt(np.diag(covariance))[:n], rtol=1e-5)


def noisy_scan(epsilon: float, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A random curve about 30,000 / x, in blocks, with noise."""
    rng = np.random.default_rng(seed)
    falls = rng.poisson(30_000 / np.arange(1, 500) ** 2)
    curve = np.append(np.cumsum(falls[::-1])[::-1], 0) + 60
    ends = blocks_of(curve, 1.25)
    noise = np.rint(rng.laplace(0, 1 / epsilon, len(ends) - 1))
    counts = np.add.reduceat(curve[: ends[-1]], ends[:-1]) + noise
    return curve[: ends[-1]], ends, counts.astype(np.int64)


def gains(monkeypatch, epsilon: float) -> float:
    """Mean error of the result over that of the first decoding alone."""
    errors = []
    for seed in range(60):
        curve, ends, counts = noisy_scan(epsilon, seed)
        row = []
        for second in (decoding._SECOND, 0.0):
            with monkeypatch.context() as patch:
                patch.setattr(decoding, "_SECOND", second)
                found = decode_curve(ends, counts, epsilon, of_columns, len(curve)).curve
            row.append(np.abs(found - curve).sum())
        errors.append(row)
    second, first = np.mean(errors, axis=0)
    return float(second / first)


@pytest.mark.parametrize(("epsilon", "most"), [(0.02, 0.95), (0.01, 0.92)])
@pytest.mark.long(every=2)
def test_decoding_again_lessens_the_error(epsilon: float, most: float, monkeypatch) -> None:
    assert gains(monkeypatch, epsilon) < most


@pytest.mark.verify
def test_slopes_that_may_bend_at_will_gain_less(monkeypatch) -> None:
    """What is gained comes from the slope's being smooth."""
    smooth = gains(monkeypatch, 0.01)
    monkeypatch.setattr(refining, "_BENDINGS", (100.0,))
    assert gains(monkeypatch, 0.01) > smooth + 0.03


def test_what_explains_the_counts_best_is_chosen() -> None:
    """Labels in clumps of four: falls that vary four times as much as by chance."""
    chosen: dict[int, list[float]] = {1: [], 8: []}
    for clump, found in chosen.items():
        for seed in range(8):
            rng = np.random.default_rng(seed)
            falls = clump * rng.poisson(30_000 / clump / np.arange(1, 500) ** 1.5)
            curve = np.append(np.cumsum(falls[::-1])[::-1], 0.0)
            ends = blocks_of(curve, 1.1)
            counts = np.rint(np.add.reduceat(curve[: ends[-1]], ends[:-1])).astype(np.int64)
            first = decode_curve(ends, counts, 0.1, of_columns, int(ends[-1])).curve.astype(float)
            curve_and_after = np.append(first, curve[ends[-1]])
            model = refine_curve(Scanned(ends, counts, 0.1, of_columns, curve_and_after))
            assert model is not None
            found.append(float(np.median(model.walk.variances / model.walk.falls)))
    assert np.mean(chosen[1]) < 1.3 < 2 < np.mean(chosen[8])


def test_small_noise_is_decoded_once(monkeypatch) -> None:
    curve, ends, counts = noisy_scan(2.0, 1)
    with monkeypatch.context() as patch:
        patch.setattr(decoding, "refine_curve", lambda *_: pytest.fail("decoded again"))
        assert decode_curve(ends, counts, 2.0, of_columns, len(curve)).model is None
    assert len(counts) < 40  # enough for noise that is larger
    assert decode_curve(ends, counts, 1.0, of_columns, len(curve)).model is None
    assert decode_curve(ends, counts, 0.5, of_columns, len(curve)).model is not None


def test_the_second_decoding_fades_out_as_noise_gets_small() -> None:
    """No epsilon at which the error would jump: at each, next ones have about the same rules."""
    epsilons = np.geomspace(1e-9, 1e3, 20_001)
    trusts = np.array([trust_at(epsilon) for epsilon in epsilons])
    blocks = np.array([fewest_blocks(epsilon) for epsilon in epsilons])
    assert trusts[epsilons <= 1].min() == 1
    assert trusts[epsilons >= 2].max() == 0
    assert -0.01 < np.diff(trusts).min() <= np.diff(trusts).max() <= 0
    assert set(np.diff(blocks).tolist()) == {0, 1}
    assert (blocks[0], blocks[-1]) == (6, 40)


@pytest.mark.quick(every=3)
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("roughness", [of_columns, of_rows])
def test_decoding_is_continuous_in_epsilon(epsilon: float, roughness) -> None:
    """The same noisy counts, on either side of where rules change; also for error bars."""
    curve = 60 + 3e6 / np.arange(1.0, 400) ** 2
    ends = np.append(np.arange(40), np.arange(40, 400, 9))
    rng = np.random.default_rng(6)
    counts = np.add.reduceat(curve[: ends[-1]], ends[:-1])
    counts = np.rint(counts + rng.laplace(0, 1 / epsilon, len(counts))).astype(np.int64)
    assert len(counts) > 40
    below, above = (
        [
            decode_curve(ends, counts, epsilon * by, roughness, int(ends[-1])).curve,
            *curve_between(ends, counts, epsilon * by, roughness, 1.96),
        ]
        for by in (1 - 1e-9, 1 + 1e-9)
    )
    for one, other in zip(below, above, strict=True):
        assert np.abs(one - other).sum() <= 1  # where a half is rounded


@pytest.mark.verify
@given(
    st.lists(
        st.tuples(st.integers(1, 200), st.integers(-(10**9), 10**15)), min_size=1, max_size=30
    ),
    st.sampled_from([1e-6, 0.01, 1.0]),
    st.sampled_from([of_columns, of_rows]),
)
@example(
    [(1, 0), (1, 5354396027878), *[(1, 0)] * 3, (110, -240), (70, 650287172948065)], 1, of_rows
)
def test_any_counts_are_decoded_again(blocks, epsilon, roughness) -> None:
    ends = np.append(0, np.cumsum([width for width, _ in blocks]))
    length = int(ends[-1])
    counts = np.array([count for _, count in blocks])
    curve, model = decode_curve(ends, counts, epsilon, roughness, length)[:2]
    assert np.all(np.diff(curve) <= 0)
    assert np.all(curve >= 0)
    if model is not None:
        assert np.all(np.isfinite(model.values))
        assert np.all(np.isfinite(model_deviations(model)))


@pytest.mark.verify
def test_time_and_memory_are_linear() -> None:
    """300,000 positions in 45,000 blocks: a matrix of positions, or of blocks, would not fit."""
    ends = np.append(0, np.cumsum(np.repeat([1, 4, 16], 15_000)))
    curve = 1e9 / np.arange(10.0, 10 + int(ends[-1]))
    counts = np.rint(np.add.reduceat(curve, ends[:-1])).astype(np.int64)
    decoded, model, _ = decode_curve(ends, counts, 0.5, of_columns, len(curve))
    assert model is not None
    assert np.abs(decoded - curve).max() < 0.01 * curve[0]


def test_a_release_is_decoded_again(seeded, monkeypatch) -> None:
    """By `release` and `redecode` alike, and by neither in part only."""
    profile = Profile.from_counts((2000 / np.arange(1, 400)).astype(np.int64))
    release = AdaptiveScan(epsilon="0.05").release(profile, seeded(1))
    assert release.redecode() == release
    monkeypatch.setattr(decoding, "_SECOND", 0.0)
    assert release.redecode().value != release.value


@pytest.mark.verify
def test_bars_of_large_counts_hold_the_truth_as_often_as_stated() -> None:
    """Seeded, log-normal counts, of which nothing was chosen. With columns' scale 93.8 % hold."""
    held, mechanism = [], AdaptiveScan(epsilon="0.1")
    ranks = np.unique(np.geomspace(1, 400, 300).astype(np.int64))
    for seed in (1, 2, 3):
        counts = np.rint(np.exp(np.random.default_rng(seed).normal(7, 2, 400))).astype(int) + 1
        profile = Profile.from_counts(counts)
        for run in range(12):
            release = mechanism.release(profile, random.Random(run).randbytes)
            bars = mechanism.pointwise_band(release)
            low, true, high = (
                each.conjugate().cumulative_prevalences(ranks)
                for each in (bars.lower, profile, bars.upper)
            )
            held.append(np.mean((low <= true) & (true <= high)))
    assert 0.945 < np.mean(held) < 0.97


@pytest.mark.parametrize("epsilon", ["0.1", "1"])
@pytest.mark.quick(every=2)
def test_a_corner_is_not_smoothed_away(epsilon: str, monkeypatch) -> None:
    """All labels have 200 records or more. Without the rule, errors are 1.4 and 1.2 times it."""
    profile = Profile.from_counts((20_000 / np.sqrt(np.arange(1, 10_001))).astype(np.int64))
    mechanism = AdaptiveScan(epsilon=epsilon)
    once, again = [], []
    for run in range(4):
        release = mechanism.release(profile, random.Random(run).randbytes)
        again.append(profile.distance(release.value))
        with monkeypatch.context() as patch:
            patch.setattr(decoding, "_SECOND", 0.0)
            once.append(profile.distance(release.redecode().value))
    assert np.mean(again) < 1.02 * np.mean(once)


def test_only_blocks_that_turn_and_are_moved_far_keep_the_first_decoding() -> None:
    ends, change = np.array([0, 2, 5, 9]), np.array([5.0, -5, 3, 3, 3, 50, 50, 50, 50])
    turns = np.array([True, True, False])
    found = decoding.find_smoothed_away(ends, change, turns, 0.42)  # 4 / 0.42 is 9.5
    assert found.tolist() == [True] * 2 + [False] * 7
    assert decoding.find_smoothed_away(ends, change[:5], turns, 0.5).tolist() == [True] * 5
