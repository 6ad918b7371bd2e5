"""MAD and MAD2R (Chen, Cohen-Addad, Epasto, Zadimoghaddam 2025), for comparison only.

Written anew, from the published abstract and what is known of the paper, whose text was not at
hand: users with few labels take back what they add above the threshold and share it among their
labels. Floats, and NumPy's noise. The share that is given on, `SHARE`, is one that `rerouted` can
justify.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from benchmarks.discover.others import spread_for

Floats = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]

MOST = 50
"""A user with more labels gives nothing on."""

SHARE = 1 / (MOST * 2 * MOST**0.5 / (2 * MOST**0.5 - 1))

SLACK = 2.0
"""What is this many standard deviations above the threshold is given on."""

FIRST = 0.1
"""Of the budget, for the first of two rounds."""

BIAS = (0.5, 2.0)
"""The least and the largest factor on a weight in the second round."""

BOUNDS = (1.0, 3.0)
"""Standard deviations from which a label is taken to be above, or below, the threshold."""


def _totals(at: Whole, added: Floats, size: int) -> Floats:
    found: Floats = np.bincount(at, added, size).astype(np.float64)
    return found


def rerouted(who: Whole, what: Whole, weights: Floats, full: float, users: int, k: int) -> Floats:
    """Return totals, of which one user changes at most 1 in l2 norm.

    A user adds v - v**2 to each label as it is, and v**2 that may be given on: what is above `full`
    comes back to its users in proportion, and each adds SHARE of what came back to all labels of
    the user. Let a user add t <= v**2 to a label below `full`; E = sum(v**2 - t) comes back. Others
    give on at most E in all and SHARE E to one label, since SHARE times the number of labels is at
    most 1. The square of the l2 norm of the change is then at most 1 if SHARE <= min(2 v - v**2) /
    (2 sum(v)): users for whom that, or SHARE times their labels, is larger give nothing on, and add
    v.
    """
    sizes = np.bincount(who, minlength=users)
    least = np.full(users, np.inf)
    np.minimum.at(least, who, 2 * weights - weights**2)
    norms = _totals(who, weights, users)
    gives = (sizes <= MOST) & (2 * SHARE * norms <= least)
    own = np.where(gives[who], weights**2, 0.0)
    first = _totals(what, own, k)
    above = np.maximum(first - full, 0) / np.maximum(first, 1e-12)
    back = SHARE * _totals(who, own * above[what], users)
    return np.minimum(first, full) + _totals(what, back[who] + weights - own, k)


def _threshold(sigma: float, delta: float, cap: int, most: Floats) -> float:
    """Return a threshold for users of 1 to `cap` labels, whose weights are at most `most`."""
    sizes = np.arange(1, cap + 1)
    given = np.where((sizes > 1) & (sizes <= MOST), SHARE, 0.0)
    # With b new labels of t, at most 1 - b / t of what may be given on has come back.
    highest = []
    for new in range(1, cap + 1):
        of = slice(new - 1, None)
        added = most[of] + given[of] * (1 - new / sizes[of])
        highest.append(float(added.max()))
    tails = -np.expm1(np.log1p(-delta) / sizes)
    return float(np.max(np.array(highest) - sigma * ndtri(tails)))


def mad(sets: Any, epsilon: float, delta: float, cap: int, rounds: int = 1) -> int:
    """Find labels by weights that are given on, in one round or two.

    In the second, labels that the first released are left out, those that seem sure or out of
    reach get less, and the other labels of the user more.
    """
    draw = np.random.default_rng()
    users, k = len(sets.starts) - 1, len(sets.labels)
    who = np.repeat(np.arange(users), np.diff(sets.starts))
    what, sizes = sets.members, np.arange(1, cap + 1)
    sigma = spread_for(epsilon, delta / 2)
    shares = (1.0,) if rounds == 1 else (FIRST, 1 - FIRST)
    released = np.zeros(k, bool)
    bias = np.ones(k)
    for turn, share in enumerate(shares):
        noise = sigma / np.sqrt(share)
        left = ~released[what]
        at, item = who[left], what[left]
        degrees = np.bincount(at, minlength=users)
        weights = _biased(at, bias[item], degrees, users)
        most = np.minimum(1.0, (BIAS[1] if turn else 1.0) / np.sqrt(sizes))
        threshold = _threshold(noise, delta / 2 * share, cap, most)
        totals = rerouted(at, item, weights, threshold + SLACK * noise, users, k)
        noisy = totals + draw.normal(0, noise, k)
        released |= (noisy > threshold) & (totals > 0)
        if turn + 1 < len(shares):
            later = sigma / np.sqrt(shares[turn + 1])
            most = np.minimum(1.0, BIAS[1] / np.sqrt(sizes))
            bound = _threshold(later, delta / 2 * shares[turn + 1], cap, most)
            sure, hopeless = noisy - BOUNDS[0] * noise, noisy + BOUNDS[1] * noise < bound
            bias = np.clip(bound / np.maximum(sure, 1e-12), BIAS[0], 1)
            bias[hopeless] = BIAS[0]
    return int(released.sum())


def _biased(at: Whole, bias: Floats, degrees: Whole, users: int) -> Floats:
    """Return weights with an l2 norm of at most 1: what some labels are denied, others get."""
    even = 1 / np.sqrt(degrees[at])
    low = bias < 1
    spent = _totals(at, np.where(low, (bias * even) ** 2, 0.0), users)
    others = np.bincount(at, ~low, users)
    rest = np.sqrt((1 - spent[at]) / np.maximum(others[at], 1))
    return np.where(low, bias * even, np.minimum(np.minimum(rest, BIAS[1] * even), 1.0))
