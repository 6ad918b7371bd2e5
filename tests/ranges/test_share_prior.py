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
    found = share_posterior(*(np.array([x]) for x in (estimate, deviation**2, total, even, kinds)))
    mean, between, whole = brute_force(estimate, deviation**2, total, even, np.array(kinds))
    assert found[0][0] == pytest.approx(mean, rel=1e-3, abs=1e-5 * total)
    assert found[1][0] == pytest.approx(between, rel=2e-2, abs=1e-6 * total**2)
    assert found[2][0] == pytest.approx(whole, rel=2e-2, abs=1e-6 * total**2)


def test_estimates_far_out_give_an_empty_half():
    kinds = np.repeat(ANY_KIND, 3, axis=0)
    mean, _, spread, found = share_posterior(
        np.array([-1e12, 1e12, 1e300]), np.full(3, 1e-6), np.full(3, 10.0), np.full(3, 0.5), kinds
    )
    assert found.sum(axis=1) == pytest.approx([1, 1, 1])
    assert mean.tolist() == pytest.approx([0, 10, 10], abs=1e-3)
    assert (spread >= 0).all()
    assert np.isfinite(spread).all()


def test_blocks_of_nodes_make_no_difference(monkeypatch):
    rng = np.random.default_rng(0)
    kinds = rng.dirichlet(np.ones(4), 50)
    arguments = rng.normal(5, 9, 50), rng.uniform(1, 9, 50), rng.uniform(1, 90, 50), rng.random(50)
    arguments = *arguments, kinds  # type: ignore[assignment]
    whole = share_posterior(*arguments)  # type: ignore[call-arg]
    monkeypatch.setattr(share_prior, "_AT_ONCE", 7)
    parts = share_posterior(*arguments)  # type: ignore[call-arg]
    for one, other in zip(whole, parts, strict=True):  # sums of other lengths round otherwise
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_the_prior_is_symmetric_and_its_variance_that_of_its_components_middles():
    assert np.allclose(EDGES, 1 - EDGES[::-1])
    assert np.allclose(MASSES[:, :-3], MASSES[:, -4::-1])
    assert np.allclose(MASSES[:, -3], MASSES[:, -1])
    assert MASSES.sum(axis=1) == pytest.approx([1] * 4)
    # The rougher the parent's split, the rougher is this one.
    assert (np.diff(SHARE_VARIANCES) > 0).all()
