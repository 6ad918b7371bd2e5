"""The choice of a cap: what is expected of each, against trials, and laws that are guessed."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from scipy.stats import norm

from dphist.arrays import FloatArray
from dphist.labels.auto.choice import (
    Look,
    TriedCap,
    choose_cap,
    compute_expected_squares,
    expect_errors,
    fit_counts,
    threshold_at,
)
from dphist.labels.auto.law import TOPS, list_caps, list_cells
from dphist.release.fitted_users import Share, fit_users, spread_users

MOST = 1000
STARTS, CAPS = (*list_cells(MOST), MOST + 1), list_caps(MOST)
DRAW = np.random.default_rng(7)
USERS = {
    "lognormal": DRAW.lognormal(math.log(14), 1.1, 4000),
    "a tail that ends": np.minimum(DRAW.geometric(0.09, 4000), 60),
    "Pareto": DRAW.pareto(1.2, 9000) + 1,
    "one each": np.ones(3000),
    "nobody": np.zeros(0),
}


def look_at(sizes: FloatArray, means: Sequence[float], scale: float, seed: int) -> Look:
    draw = np.random.default_rng(seed)
    held = np.clip(np.floor(sizes), 1, MOST)
    users = np.histogram(held, STARTS)[0] + draw.normal(0, scale, len(STARTS) - 1)
    spread = np.full(3, 2 * scale)
    return Look(STARTS, users, np.array(means) + draw.normal(0, spread), scale, spread)


def expect(look: Look, epsilon: float) -> list[TriedCap]:
    scales = [math.sqrt(cap) / epsilon for cap in CAPS]
    thresholds = [threshold_at(scale, 5e-7, cap) for scale, cap in zip(scales, CAPS, strict=True)]
    return expect_errors(look, CAPS, scales, thresholds)


@pytest.mark.parametrize("name", ["lognormal", "a tail that ends", "Pareto"])
@pytest.mark.parametrize("scale", [5.0, 40.0])
def test_the_share_cut_is_near_the_true_one(name: str, scale: float) -> None:
    held = np.clip(np.floor(USERS[name]), 1, MOST)
    inside = []
    for seed in range(6):
        for each in expect(look_at(USERS[name], (900, 300, 150), scale, seed), 0.2):
            true, share = 1 - np.minimum(held, each.max_labels).sum() / held.sum(), each.share_cut
            assert 0 <= share.low <= share.value <= share.high <= 1
            assert abs(share.value - true) < (0.12 if scale < 10 else 0.35)
            inside.append(share.low - 0.01 <= true <= share.high + 0.01)
    assert np.mean(inside) > 0.8


@pytest.mark.parametrize("name", USERS)
@pytest.mark.parametrize("means", [(0, 0, 0), (1200, 440, 110), (1e6, 1e5, 1e4)])
def test_any_noisy_numbers_have_a_cap(name: str, means: tuple[float, ...]) -> None:
    for scale in (0.01, 200.0, 1e6):
        tried = expect(look_at(USERS[name], means, scale, 1), 0.05)
        assert [each.max_labels for each in tried] == [*CAPS]
        assert all(math.isfinite(each.error) and each.error >= 0 for each in tried)
        assert choose_cap(tried).max_labels in CAPS


def test_where_users_have_one_label_one_is_taken() -> None:
    assert choose_cap(expect(look_at(USERS["one each"], (200, 30, 7), 3, 1), 0.3)).max_labels == 1


def test_of_equal_errors_the_smallest_cap_is_taken() -> None:
    share = Share(0.0, 0.0, 0.0)
    tried = [TriedCap(cap, error, share) for cap, error in [(9, 2.0), (5, 1.0), (3, 1.0)]]
    assert choose_cap(tried).max_labels == 3


def test_expected_squares_are_those_of_trials() -> None:
    counts, kept = np.array([5.0, 60, 80, 300]), np.array([4.0, 50, 75, 180])
    scale, threshold = 12.0, 61.0
    noisy = kept + np.random.default_rng(2).normal(0, scale, (200_000, 4))
    off = (np.where(noisy > threshold, noisy, 0) - counts) ** 2
    found = compute_expected_squares(counts, kept, scale, threshold)
    assert np.abs(found - off.mean(axis=0)) == pytest.approx(0, abs=6 * off.std() / 200_000**0.5)


def test_a_threshold_keeps_its_delta() -> None:
    for cap in (1, 10, 1000):
        shown = norm.sf((threshold_at(7.0, 1e-6, cap) - 1) / 7)
        assert -math.expm1(cap * math.log1p(-shown)) == pytest.approx(1e-6, rel=1e-6)


def test_users_are_spread_over_their_interval() -> None:
    users = np.linspace(50, 3, len(STARTS) - 1)
    weights = spread_users(STARTS, users)
    found = np.histogram(np.arange(1, MOST + 1), STARTS, weights=weights)[0]
    assert found == pytest.approx(users)
    assert spread_users((1, 2), np.array([9.0])).tolist() == [9.0]


@pytest.mark.parametrize("power", [0.3, 1, 3])
def test_counts_have_the_means_that_were_seen(power: float) -> None:
    counts = 2000 * (1 + np.arange(400) / 10) ** -power
    means = np.array([counts[:top].mean() for top in TOPS])
    laws, chances = fit_counts(means, np.full(3, 5.0), 5000, 1e7)
    assert chances.sum() == pytest.approx(1)
    assert (np.diff(laws, axis=1) <= 0).all()
    assert chances @ laws[:, :100].mean(axis=1) == pytest.approx(means[1], rel=0.1)
    assert fit_counts(means, np.full(3, 5.0), 100, 1e7)[0].max() == 100  # no more than users


def test_fitted_users_follow_exact_numbers_and_smooth_noise() -> None:
    users = np.histogram(np.clip(np.floor(USERS["lognormal"]), 1, MOST), STARTS)[0].astype(float)
    fitted = fit_users(STARTS, users, 0.01)
    assert fitted.chances @ fitted.laws == pytest.approx(users, abs=2)
    noisy = users.copy()
    noisy[-1] = 70  # noise of one standard deviation: 70 users with 700 labels
    fitted = fit_users(STARTS, noisy, 70.0)
    assert (fitted.chances @ fitted.laws)[-1] < 20
