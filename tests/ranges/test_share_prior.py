"""The posterior of a split, against sums over a fine grid of shares."""

import numpy as np
import pytest

from dphist.ranges.adaptive_tree import share_prior
from dphist.ranges.adaptive_tree.share_prior import (
    ANY_KIND,
    EDGES,
    MASSES,
    SHARE_VARIANCES,
    share_posterior,
)


def brute_force(estimate, variance, total, even, kinds, steps=4000):
    """Mean over the spikes and, in each piece, many equally likely shares; two variances."""
    spikes = np.array([0, even, 1])
    prior = kinds @ MASSES
    pieces, masses = prior[:-3], prior[-3:]
    weights, means, squares = [], [], []
    for low, high, mass in zip(EDGES[:-1], EDGES[1:], pieces, strict=True):
        place = total * (low + (high - low) * (np.arange(steps) + 0.5) / steps)
        likely = np.exp(-0.5 * (place - estimate) ** 2 / variance)
        weights.append(mass * likely.mean())
        means.append((likely * place).sum() / likely.sum() if likely.sum() > 0 else total * low)
        squares.append((likely * (place - means[-1]) ** 2).sum() / max(likely.sum(), 1e-300))
    weights += (masses * np.exp(-0.5 * (total * spikes - estimate) ** 2 / variance)).tolist()
    means += (total * spikes).tolist()
    weights, means = np.array(weights) / np.sum(weights), np.array(means)  # type: ignore[assignment]
    mean = (weights * means).sum()
    between = (weights * (means - mean) ** 2).sum()
    return mean, between, between + (weights[: len(pieces)] * squares).sum()


@pytest.mark.parametrize("total", [1.0, 40.0, 1e5])
@pytest.mark.parametrize("noise", [0.02, 0.3, 5])
@pytest.mark.parametrize("place", [-0.5, 0.0, 0.004, 0.31, 0.5, 0.93, 1.2])
@pytest.mark.parametrize(("even", "kinds"), [(0.5, [1, 0, 0, 0]), (0.75, [0.1, 0.2, 0.3, 0.4])])
@pytest.mark.quick(every=3)
def test_the_posterior_is_that_of_the_prior_and_a_normal_estimate(total, noise, place, even, kinds):
    deviation = noise * total
    estimate = np.clip(place * total, -4 * deviation, total + 4 * deviation)
    numbers = [np.array([x]) for x in (estimate, deviation**2, total, even)]
    found = share_posterior(*numbers, np.array([kinds]).T)  # type: ignore[call-arg]
    mean, between, whole = brute_force(estimate, deviation**2, total, even, np.array(kinds))
    assert found[0][0] == pytest.approx(mean, rel=1e-3, abs=1e-5 * total)
    assert found[1][0] == pytest.approx(between, rel=2e-2, abs=1e-6 * total**2)
    assert found[2][0] == pytest.approx(whole, rel=2e-2, abs=1e-6 * total**2)


def test_estimates_far_out_give_an_empty_half():
    kinds = np.repeat(ANY_KIND, 3, axis=1)
    mean, _, spread, found = share_posterior(
        np.array([-1e12, 1e12, 1e300]), np.full(3, 1e-6), np.full(3, 10.0), np.full(3, 0.5), kinds
    )
    assert found.sum(axis=0) == pytest.approx([1, 1, 1])
    assert mean.tolist() == pytest.approx([0, 10, 10], abs=1e-3)
    assert (spread >= 0).all()
    assert np.isfinite(spread).all()


@pytest.mark.parametrize(("limit", "value"), [("_AT_ONCE", 50), ("_FAR", 60)])
def test_neither_blocks_of_nodes_nor_pieces_far_away_matter(monkeypatch, limit, value):
    rng = np.random.default_rng(0)
    kinds = rng.dirichlet(np.ones(4), 50).T
    total = 10 ** rng.uniform(0, 4, 50)
    estimate = total * rng.uniform(-0.2, 1.2, 50)
    arguments = estimate, rng.uniform(1, 9, 50), total, rng.random(50), kinds
    whole = share_posterior(*arguments)
    monkeypatch.setattr(share_prior, limit, value)
    parts = share_posterior(*arguments)
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


def test_weights_that_round_to_zero_leave_the_estimate():
    arguments = [np.array([x]) for x in (3e17, 1e-6, 1e18, 0.9)]
    with np.errstate(all="ignore"):
        mean, _, variance, found = share_posterior(*arguments, ANY_KIND)  # type: ignore[call-arg]
    assert (mean[0], variance[0]) == pytest.approx((3e17, 1e-6), rel=1e-3)
    assert found.sum() == pytest.approx(1)


def test_the_prior_is_symmetric_and_its_variance_that_of_its_components_middles():
    assert np.allclose(EDGES, 1 - EDGES[::-1])
    assert np.allclose(MASSES[:, :-3], MASSES[:, -4::-1])
    assert np.allclose(MASSES[:, -3], MASSES[:, -1])
    assert MASSES.sum(axis=1) == pytest.approx([1] * 4)
    # The rougher the parent's split, the rougher is this one.
    assert (np.diff(SHARE_VARIANCES) > 0).all()
