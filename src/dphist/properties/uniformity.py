"""Distance of the population behind a profile from uniform: half the L1 distance.

This is the total variation distance, the largest difference between the probabilities of any
event. The plug-in estimate is too large, since even a uniform population gives uneven counts. For
counts near n/k, the terms abs(p - 1/k) are therefore replaced by unbiased estimates of their best
polynomial approximation (Jiao, Han and Weissman 2018, "Minimax estimation of the L1 distance").
Elsewhere the sign of p - 1/k is known and the plug-in is unbiased.
"""

import math
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np

from dphist.arrays import FloatArray, IntArray
from dphist.data.diagram import Diagram
from dphist.data.profile import Profile
from dphist.errors import ParameterError
from dphist.parameters import whole_number
from dphist.properties.estimate import (
    Estimate,
    Source,
    estimate_nothing,
    get_histogram,
    name_source,
)
from dphist.properties.polynomials import Distance, best_approximation
from dphist.properties.resampling import RESAMPLES, include_noise
from dphist.properties.sampling import Population, Sampling, sampling

METHODS = ("polynomial", "plug-in")
# Degree and width in units of log n; share of the width in which the polynomial is used.
_DEGREE, _WIDTH, _USED = 1.2, 1.75, 0.4
_STEPS = 32  # steps of the width per factor of 2
# If 1/labels is closer to 0, in units of the window, counts do not show whether p is below it.
_LEAST_CORNER = 1e-6
# Beyond this degree, coefficients times Krawtchouk polynomials lose too much float precision.
_MAX_DEGREE = 17


def distance_to_uniformity(
    source: Source,
    *,
    labels: int,
    method: str = "polynomial",
    resamples: int = RESAMPLES,
) -> Estimate:
    """Estimate half the L1 distance of the population from uniform on `labels` labels.

    Parameters
    ----------
    source : Release or AnonymizedHistogram; or Profile, and the result is then not private.
    labels : k, number of labels of the uniform population, including those without records. A
        release may have more labels because of noise; these also get probability 1/k.
    method : "polynomial", or "plug-in" for the distance of the profile itself.
    resamples : int, from 10 to 10,000
        Runs of a release's mechanism that measure how its noise changes error and interval.

    Returns
    -------
    The distance, from 0 to 1 - 1/k; 0 without records.

    Raises
    ------
    ParameterError
        If `labels` is below 1, the method unknown or `resamples` out of range, or if the mechanism
        of a release cannot run again.

    >>> from dphist import Profile
    >>> profile = Profile.from_counts([30, 10])
    >>> distance_to_uniformity(profile, labels=2, method="plug-in").value
    0.25
    """
    profile = get_histogram(source)
    k = whole_number(labels, "labels", 1)
    if method not in METHODS:
        raise ParameterError("method", f"must be one of {', '.join(METHODS)}")

    def estimate(histogram: Diagram) -> float:
        return min(max(_sum(histogram, k, method), 0.0), 1 - 1 / k)

    value = estimate(profile)
    if profile.total == 0:
        return estimate_nothing(value, method, "1", name_source(source))
    notes, error = [], None
    if profile.labels > k:
        notes.append("the profile has more labels than were given")
    # More labels than `labels`: data contradict the parameter; what is released may have noise.
    if profile.labels <= k or not isinstance(source, Profile):
        strays = _sampling(profile, k, method)
        error = strays.spread
        notes.append(strays.note())
    if profile.total * math.log(max(profile.total, 2)) < k:
        notes.append("fewer records than labels/log(labels): no method is accurate")
    found = Estimate(value, method, error, None, "1", tuple(notes))
    return include_noise(source, found, estimate, resamples, (0.0, 1 - 1 / k))


def weights(counts: IntArray, n: int, *, labels: int, method: str) -> FloatArray:
    """Return f(r, n) for each count r >= 0; the estimate is the sum over all labels.

    Parameters
    ----------
    counts : (k,) int64, records per label; 0 for a label that does not occur.
    n : number of records, at least 1.
    labels, method : as for `distance_to_uniformity`.
    """
    even = 1 / labels
    found = np.abs(counts / n - even) / 2
    if method == "plug-in" or labels == 1 or n < 2:
        return found
    low, high, limit = _window(n, labels)
    if even < _LEAST_CORNER * high:
        return found
    near = np.abs(counts / n - even) <= limit if low > 0 else counts / n <= limit
    found[near] = _polynomial_part(counts[near], n, labels, low, high) / 2
    return found


def _window(n: int, labels: int) -> tuple[float, float, float]:
    """Return the interval of probabilities of the approximation, and the limit of its use.

    The limit is a probability if the interval begins at 0, else a distance from 1/labels.
    """
    log_n = math.log(n)
    if n <= labels * _WIDTH * log_n:
        high = min(2 * _WIDTH * log_n / n, 1.0)
        # The interval must contain 1/labels.
        high = max(high, min(2 / labels, 1.0))
        if 2 / labels < high < 1:
            # In steps of 2 %, so that samples of similar size share a polynomial.
            steps = math.floor(_STEPS * math.log2(high * labels / 2))
            high = 2 / labels * 2 ** (steps / _STEPS)
        return 0.0, high, _USED * high
    half = math.sqrt(_WIDTH * log_n / n / labels)
    return 1 / labels - half, 1 / labels + half, _USED * half


def _polynomial_part(counts: IntArray, n: int, labels: int, low: float, high: float) -> FloatArray:
    """Return unbiased estimates of the best approximation of abs(p - 1/labels) on [low, high]."""
    degree = min(math.floor(_DEGREE * math.log(n)), n, _MAX_DEGREE)
    # For a corner in the middle the best approximation is an even function, so that of an odd
    # degree d equals that of d - 1. Odd degrees have the regular number of extremes: use these.
    if degree % 2 == 0 and degree < n:
        degree += 1 if low == 0 else -1
    # abs(z) needs at least a square; for low > 0 there are more than 3 records.
    degree = max(degree, 3) if low > 0 else degree
    corner = Fraction(1, 2) if low > 0 else Fraction(1, labels) / Fraction(high)
    powers = np.array(_compute_centered(corner, degree), np.float64)
    center, half = (low + high) / 2, (high - low) / 2
    scaled = compute_krawtchouk(counts, n, center, half, len(powers) - 1)
    # abs(p - 1/k) = (high - low) abs(x - corner), with p = low + (high - low) x.
    return np.asarray((high - low) * (powers @ scaled))


@lru_cache(maxsize=256)
def _compute_centered(corner: Fraction, degree: int) -> tuple[Decimal, ...]:
    return best_approximation(Distance(corner), degree).compute_centered_powers()


def compute_krawtchouk(
    counts: IntArray, n: int, center: float, half: float, degree: int
) -> FloatArray:
    """Return unbiased estimates of ((p - center)/half)**m for m = 0..degree.

    Parameters
    ----------
    counts : (k,) int64, records of labels of probability p each, among n.
    n : number of records, at least `degree`.

    Returns
    -------
    (degree + 1, k) float64. Krawtchouk polynomials with parameter `center` have the generating
    function (1 + (1 - center) t)**r (1 - center t)**(n - r), with expectation
    (1 + (p - center) t)**n. So the m-th, divided by n(n - 1)...(n - m + 1), is unbiased. Their
    recurrence is stable for r near n times the center.
    """
    values = np.ones((degree + 1, len(counts)))
    offset = counts - n * center
    if degree >= 1:
        values[1] = offset / (n * half)
    for m in range(1, degree):
        rest = (n - m) * half
        first = (offset - m * (1 - 2 * center)) * values[m] / rest
        second = m * center * (1 - center) / (rest * half) * values[m - 1]
        values[m + 1] = first - second
    return values


def _sum(profile: Diagram, labels: int, method: str) -> float:
    """Return the sum of the weights of all labels, seen and unseen."""
    n = profile.total
    if n == 0:
        return 0.0
    seen = weights(profile.counts, n, labels=labels, method=method)
    unseen = weights(np.zeros(1, np.int64), n, labels=labels, method=method)[0]
    return float(profile.prevalences @ seen + max(labels - profile.labels, 0) * unseen)


def _sampling(profile: Diagram, labels: int, method: str) -> Sampling:
    def weigh(counts: IntArray) -> FloatArray:
        return weights(counts, profile.total, labels=labels, method=method)

    def distance(population: Population) -> float:
        missing = max(labels - float(np.sum(population.labels)), 0.0)
        apart = np.abs(population.probabilities - 1 / labels)
        return float(population.labels @ apart + missing / labels) / 2

    return sampling(profile, weigh, float(max(labels, profile.labels)), distance)
