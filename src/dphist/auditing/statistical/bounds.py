"""Bounds on a privacy loss from counted runs, and what an audit of that size could have seen."""

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import bdtr, betaincinv

from dphist.arrays import FloatArray, IntArray


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


def curve(
    hits: int, other_hits: int, runs: int, deltas: Sequence[float], error: float
) -> list[tuple[float, float]]:
    """Return (delta, epsilon) of one event: all hold together, for they use the same two bounds."""
    counted = np.array([hits]), np.array([other_hits])
    found = [(d, float(least_epsilons(*counted, runs, d, error)[0])) for d in deltas]
    return [(d, epsilon) for d, epsilon in found if epsilon > 0]


def caught_from(
    other_hits: int, runs: int, epsilon: float, delta: float, error: float
) -> float | None:
    """Return the least true epsilon that such runs refute with a probability of .9 or more.

    The event is as likely under the one neighbor as it was seen, and under the other as much
    likelier as the true epsilon and `delta` allow.

    Parameters
    ----------
    other_hits, runs : in which the event happened under the neighbor where it is less likely.
    epsilon, delta : the claim.
    error : of the two bounds together.

    Returns
    -------
    None where no epsilon would have been caught, since the event is too likely, or too rare.
    """
    rare = (other_hits + 0.5) / (runs + 1)
    most = _quantile(rare, runs, 0.95)
    lowest, highest = epsilon, math.log((1 - delta) / rare) if rare < 1 - delta else epsilon
    if highest <= lowest or not _refuted(highest, rare, most, runs, epsilon, delta, error):
        return None
    for _ in range(40):
        middle = (lowest + highest) / 2
        if _refuted(middle, rare, most, runs, epsilon, delta, error):
            highest = middle
        else:
            lowest = middle
    return highest


def _refuted(
    true: float, rare: float, most: int, runs: int, epsilon: float, delta: float, error: float
) -> bool:
    """Whether the claim is refuted with the 5 % quantile of hits here, and the 95 % one there."""
    likely = min(1.0, math.exp(true) * rare + delta)
    hits = _quantile(likely, runs, 0.05)
    shown = least_epsilons(np.array([hits]), np.array([most]), runs, delta, error)[0]
    return bool(shown > epsilon)


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
