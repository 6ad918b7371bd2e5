"""Good and Toulmin's estimator of the number of new labels in further records, and its smoothing.

A linear estimator in the prevalences: for t n further records, each label seen r times adds
-(-t)^r, which is unbiased for Poisson counts (Good and Toulmin 1956). For t > 1 these weights grow
without bound and are multiplied by the probability that a random cut is r or more (Efron and
Thisted 1976; the default cuts are those of Orlitsky, Suresh and Wu 2016).
"""

import math
from fractions import Fraction

import numpy as np
from scipy.special import bdtrc, pdtrc

from dphist.arrays import FloatArray, IntArray
from dphist.data.diagram import Diagram
from dphist.properties.chao import chao1
from dphist.properties.profile_likelihood import Population
from dphist.properties.sampling import sampling

GOOD_TOULMIN, SMOOTHED, POISSON = "good-toulmin", "smoothed", "smoothed-poisson"
SUMS = (GOOD_TOULMIN, SMOOTHED, POISSON)


def new_labels(profile: Diagram, extra: Fraction, method: str) -> tuple[float, float]:
    """Return the sum of weights over the labels of `profile`, and its standard error.

    The error, sqrt(sum f(r)^2 phi_r), is an upper bound for that of the expected number (Efron and
    Thisted 1976).
    """
    each = weights(profile.counts, profile.total, extra, method)
    variance = math.fsum(each**2 * profile.prevalences)
    return math.fsum(each * profile.prevalences), math.sqrt(variance)


def smoothing_bias(profile: Diagram, extra: Fraction, method: str) -> float:
    """Return the bias of the sum, in labels, for the maximum-likelihood population."""
    n, t = profile.total, float(extra)

    def weigh(counts: IntArray) -> FloatArray:
        return np.where(counts > 0, weights(np.maximum(counts, 1), n, extra, method), 0.0)

    def new(population: Population) -> float:
        means = n * population.probabilities
        return float(population.labels @ (np.exp(-means) * -np.expm1(-t * means)))

    return sampling(profile, weigh, chao1(profile), new).bias


def weights(counts: IntArray, total: int, extra: Fraction, method: str) -> FloatArray:
    """Return f(r, n) of each count r; the number of new labels is sum f(r, n) phi_r.

    Parameters
    ----------
    counts : (c,) int64, records per label, positive.
    total : records, n.
    extra : further records in units of n, t.
    method : "good-toulmin", "smoothed" or "smoothed-poisson".

    Returns
    -------
    (c,) float64, dimensionless: -(-t)^r times the probability that the cut is r or more.
    """
    t = float(extra)
    if len(counts) == 0:
        return np.zeros(0)
    if method == GOOD_TOULMIN:
        kept = np.ones(len(counts))
    elif method == SMOOTHED:
        tries, chance = binomial_cut(total, t)
        # bdtrc accepts no count above the number of trials.
        kept = np.where(counts > tries, 0.0, bdtrc(np.minimum(counts, tries) - 1, tries, chance))
    else:
        kept = pdtrc(counts - 1.0, poisson_cut(total, t))
    sign = np.where(counts % 2 == 1, 1.0, -1.0)
    # Powers too large for a float have probability 0; multiply in the logarithm.
    some = kept > 0
    size = np.zeros(len(counts))
    size[some] = np.exp(counts[some] * math.log(t) + np.log(kept[some])) if t != 1 else kept[some]
    return sign * size


def binomial_cut(total: int, t: float) -> tuple[int, float]:
    """Return trials, at least 1, and probability of the binomial cut (Orlitsky et al. 2016)."""
    within = math.log(total) + (2 * math.log(t) - math.log(t - 1) if t > 1 else 0.0)
    return max(1, round(within / (2 * math.log(3)))), 2 / (t + 2)


def poisson_cut(total: int, t: float) -> float:
    """Return the mean of the Poisson cut (Orlitsky et al. 2016)."""
    within = math.log(total) + 2 * math.log1p(t) - (math.log(t - 1) if t > 1 else 0.0)
    return within / (2 * t)
