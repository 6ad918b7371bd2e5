"""DP-SIPS and policy Gaussian, for comparison only: floats, and NumPy's noise.

Both get exact (epsilon, delta) accounting of Gaussian noise, as `DiscoverLabels` does, and policy
Gaussian the split of delta with the lowest threshold; the papers' own accounting finds fewer.
"""

import functools
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

Floats = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]

SHARES = (1 / 13, 3 / 13, 9 / 13)
"""Of the budget of DP-SIPS, by round: three rounds, each with three times the one before."""

SLACK = 3.0
"""Policy Gaussian fills labels to so many standard deviations above the threshold."""


def spread_for(epsilon: float, delta: float) -> float:
    """Return the least standard deviation with this delta (Balle and Wang 2018, Theorem 8)."""

    def excess(mu: float) -> float:
        near, far = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
        return float(ndtr(near) - np.exp(epsilon) * ndtr(far) - delta)

    return float(1 / brentq(excess, 1e-6, 20))


def threshold_for(sigma: float, delta: float, cap: int) -> float:
    """Return the threshold of Gopi et al. 2020, Theorem 5.1: users bring 1 to `cap` new labels."""
    sizes = np.arange(1, cap + 1)
    tails = -np.expm1(np.log1p(-delta) / sizes)
    return float(np.max(1 / np.sqrt(sizes) - sigma * ndtri(tails)))


@functools.lru_cache
def calibrated(epsilon: float, delta: float, cap: int) -> tuple[float, float]:
    """Return noise and threshold with the lowest threshold."""
    tried = []
    for share in np.linspace(0.05, 0.95, 37):
        sigma = spread_for(epsilon, delta * (1 - share))
        tried.append((threshold_for(sigma, delta * share, cap), sigma))
    threshold, sigma = min(tried)
    return sigma, threshold


def dp_sips(sets: Any, epsilon: float, delta: float, cap: int) -> int:
    """Find labels in rounds, without those found before (Swanberg, Desfontaines, Haney 2023)."""
    draw = np.random.default_rng()
    users = np.repeat(np.arange(len(sets.starts) - 1), np.diff(sets.starts))
    members, labels = sets.members, len(sets.labels)
    released = np.zeros(labels, bool)
    sigma = spread_for(epsilon, delta / 2)
    for share in SHARES:
        left = ~released[members]
        who, what = users[left], members[left]
        sizes = np.bincount(who, minlength=len(sets.starts))
        totals = np.bincount(what, 1 / np.sqrt(sizes[who]), labels)
        noise = sigma / np.sqrt(share)
        threshold = threshold_for(noise, delta / 2 * share, cap)
        released |= (totals + draw.normal(0, noise, labels) > threshold) & (totals > 0)
    return int(released.sum())


def policy_gaussian(sets: Any, epsilon: float, delta: float, cap: int) -> int:
    """Let users fill labels one after another (Gopi et al. 2020: l2 descent)."""
    draw = np.random.default_rng()
    sigma, threshold = calibrated(epsilon, delta, cap)
    totals = np.zeros(len(sets.labels))
    for user in draw.permutation(len(sets.starts) - 1):
        own = sets.members[sets.starts[user] : sets.starts[user + 1]]
        gap = np.maximum(threshold + SLACK * sigma - totals[own], 0)
        norm = float(np.sqrt(gap @ gap))
        totals[own] += gap if norm <= 1 else gap / norm
    noisy = totals + draw.normal(0, sigma, len(totals))
    return int(((noisy > threshold) & (totals > 0)).sum())
