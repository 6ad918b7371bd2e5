"""Bounds on a privacy loss from counted runs, and what an audit of that size could have seen."""

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import bdtr, betaincinv, gammaln

from dphist.arrays import FloatArray, IntArray

_OTHER_SHARE = 1 / 40  # of the error: of either bound on the probability on the other neighbor
_FAR = 50  # standard deviations, and logs of ratios


def lowest_probability(hits: IntArray, runs: int, error: float) -> FloatArray:
    """Return Clopper and Pearson's lower bounds; each is too high with probability `error` at most.

    Parameters
    ----------
    hits : (k,) int64, runs in which an event happened.
    runs : all runs.
    """
    found = betaincinv(np.maximum(hits, 1), runs - hits + 1, error)
    return np.asarray(np.where(hits > 0, found, 0.0), np.float64)


def highest_probability(hits: IntArray, runs: int, error: float) -> FloatArray:
    """Return Clopper and Pearson's upper bounds; each is too low with `error` at most."""
    found = betaincinv(hits + 1, np.maximum(runs - hits, 1), 1 - error)
    return np.asarray(np.where(hits < runs, found, 1.0), np.float64)


def least_epsilons(
    hits: IntArray, other_hits: IntArray, runs: int, delta: float, error: float
) -> FloatArray:
    """Return the epsilons that events show at `delta`; each is too high with `error` at most.

    Parameters
    ----------
    hits, other_hits : (k,) int64, runs on each of two neighbors in which an event happened.
    runs : on each of the two.
    error : probability, halved between the two bounds.

    Returns
    -------
    (k,) float64; minus infinity where nothing is shown.
    """
    low = lowest_probability(hits, runs, error / 2) - delta
    high = highest_probability(other_hits, runs, error / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.log(low) - np.log(high)
    return np.where(low > 0, found, -np.inf)


def bound_epsilons(
    hits: int, other_hits: int, runs: int, deltas: Sequence[float], error: float, *, joint: bool
) -> list[float]:
    """Return the epsilon that an event shows at each delta: all of them hold together.

    Parameters
    ----------
    hits, other_hits : runs on each of two neighbors in which the event happened.
    runs : on each of the two.
    error : probability with which any of them is too high.
    joint : whether the two probabilities are bounded together, by their odds ratio, or each by
        itself. It must be decided before the runs are made. Together is narrower for an event that
        is rare on the other neighbor (`docs/understand/proofs/audits.md`, Lemma 5).

    Returns
    -------
    One number for each delta; minus infinity where nothing is shown.
    """
    others = np.array([other_hits])
    if not joint:
        counted = np.array([hits]), others
        return [float(least_epsilons(*counted, runs, delta, error)[0]) for delta in deltas]
    own = _OTHER_SHARE * error
    ratio = least_odds_ratio(hits, other_hits, runs, error - 2 * own)
    rare = lowest_probability(others, runs, own)[0], highest_probability(others, runs, own)[0]
    return [min(_epsilon_at(ratio, float(each), delta) for each in rare) for delta in deltas]


def _epsilon_at(ratio: float, rare: float, delta: float) -> float:
    """Return the epsilon of an event that has this odds ratio, and this probability elsewhere."""
    if not ratio or (delta and not rare):
        return -math.inf
    shown = ratio / (1 + (ratio - 1) * rare) - (delta / rare if delta else 0)
    return math.log(shown) if shown > 0 else -math.inf


def least_odds_ratio(hits: int, other_hits: int, runs: int, error: float) -> float:
    """Return Fisher's exact lower bound on an odds ratio; it is too high with `error` at most.

    Given how many of all runs were hits, the number on the first neighbor has a law that depends on
    the odds ratio alone. The bound is the ratio at which as many hits as seen, or more, have a
    probability of `error`.
    """
    both = hits + other_hits
    reach = _FAR * math.sqrt(both) / 2 + _FAR  # beyond it lies nothing that a float could hold
    first, last = max(0, both - runs, math.ceil(hits - reach)), min(both, runs, int(hits + reach))
    if hits == first:
        return 0.0
    k = np.arange(first, last + 1)
    weights = -(gammaln(k + 1) + gammaln(runs - k + 1))
    weights -= gammaln(both - k + 1) + gammaln(runs - both + k + 1)
    low, high = float(-_FAR), float(_FAR)
    for _ in range(60):
        middle = (low + high) / 2
        terms = weights + middle * (k - hits)
        chances = np.exp(terms - terms.max())
        if chances[hits - first :].sum() <= error * chances.sum():
            low = middle
        else:
            high = middle
    return math.exp(low)


def joint_is_narrower(hits: int, other_hits: int, runs: int, delta: float, error: float) -> bool:
    """Whether both probabilities together show more than each by itself, by such counts."""
    together, apart = (
        bound_epsilons(hits, other_hits, runs, [delta], error, joint=joint)[0]
        for joint in (True, False)
    )
    return together > apart


def curve(
    hits: int,
    other_hits: int,
    runs: int,
    deltas: Sequence[float],
    error: float,
    *,
    joint: bool = False,
) -> list[tuple[float, float]]:
    """Return (delta, epsilon) of one event, where epsilon is above 0: all hold together."""
    found = bound_epsilons(hits, other_hits, runs, deltas, error, joint=joint)
    return [(d, epsilon) for d, epsilon in zip(deltas, found, strict=True) if epsilon > 0]


def find_power(
    other_hits: int, runs: int, epsilon: float, delta: float, error: float, *, joint: bool = False
) -> float | None:
    """Return the least true epsilon that such runs refute with a probability of .9 or more.

    The event is as likely under the one neighbor as it was seen, and under the other as much
    likelier as the true epsilon and `delta` allow.

    Parameters
    ----------
    other_hits, runs : in which the event happened under the neighbor where it is less likely.
    epsilon, delta : the claim.
    error, joint : of the bounds, as of `bound_epsilons`.

    Returns
    -------
    None if no epsilon would have been caught, since the event is too likely, or too rare.
    """
    rare = (other_hits + 0.5) / (runs + 1)
    most = _quantile(rare, runs, 0.95)

    def is_refuted(true: float) -> bool:
        """Whether the claim is refuted with the 5 % quantile of hits, and the 95 % one there."""
        hits = _quantile(min(1.0, math.exp(true) * rare + delta), runs, 0.05)
        return bound_epsilons(hits, most, runs, [delta], error, joint=joint)[0] > epsilon

    lowest, highest = epsilon, math.log((1 - delta) / rare) if rare < 1 - delta else epsilon
    if highest <= lowest or not is_refuted(highest):
        return None
    for _ in range(30):
        middle = (lowest + highest) / 2
        if is_refuted(middle):
            highest = middle
        else:
            lowest = middle
    return highest


def _quantile(probability: float, runs: int, level: float) -> int:
    """Return the least number of hits that is exceeded with probability 1 - level at most."""
    low, high = 0, runs
    while low < high:
        middle = (low + high) // 2
        if bdtr(middle, runs, probability) >= level:
            high = middle
        else:
            low = middle + 1
    return low
