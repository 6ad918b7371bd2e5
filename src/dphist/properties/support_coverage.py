"""Support coverage: the number of new labels in further records.

Good and Toulmin's estimator, smoothed or not, is linear in the prevalences: for t n further
records, each label seen r times adds -(-t)^r, which is unbiased for Poisson counts (Good and
Toulmin 1956). For t > 1 these weights grow without bound and are multiplied by the probability that
a random cut is r or more (Efron and Thisted 1976; the default cuts are those of Orlitsky, Suresh
and Wu 2016).
"""

import math
from fractions import Fraction

import numpy as np
from scipy.special import bdtrc, pdtrc
from scipy.stats import nbinom

from dphist.arrays import FloatArray, IntArray
from dphist.data.diagram import Diagram
from dphist.errors import Argument, ParameterError
from dphist.parameters import Exact, positive_number
from dphist.properties import chao, g_modeling
from dphist.properties.chao import chao1
from dphist.properties.estimate import (
    NORMAL,
    Estimate,
    Source,
    bound_unseen_share,
    estimate_nothing,
    get_histogram,
    name_source,
    plain_number,
)
from dphist.properties.resampling import RESAMPLES, include_noise
from dphist.properties.sampling import Population, sampling
from dphist.sentence import Sentence

GOOD_TOULMIN, SMOOTHED, POISSON = "good-toulmin", "smoothed", "smoothed-poisson"
SUMS = (GOOD_TOULMIN, SMOOTHED, POISSON)
G_MODELING, CHAO_JOST = "g-modeling", "chao-jost"
METHODS = (G_MODELING, CHAO_JOST, *SUMS)
_LEAST_EXTRA = Fraction(1, 10**18)  # less than one record for every profile
_MANY = 1e6  # from here on the predictive distribution is taken as normal


def support_coverage(
    source: Source,
    *,
    extra: Exact,
    method: str = G_MODELING,
    resamples: int = RESAMPLES,
) -> Estimate:
    """Estimate the number of new labels in `extra` times as many further records.

    Parameters
    ----------
    source : Release or AnonymizedHistogram, of n records; or Profile, and the result is then not
        private.
    extra : number above 0, t
        Further records, in units of n: 1 doubles the data.
    method : str
        "g-modeling": the expected number under a smooth density of the labels' probabilities,
        fitted to the counts up to 40 (see `dphist.properties.g_modeling`).
        "chao-jost": Chao and Jost's extrapolation from the labels seen once and twice, as in
        iNEXT; a lower bound in expectation.
        "good-toulmin": unbiased, for extra <= 1.
        "smoothed": Good and Toulmin's sum with a binomial(k, 2/(t + 2)) cut, with
        k = log_3(n t^2/(t - 1))/2 rounded to an integer. For extra <= 1, where no damping is
        needed, k is log_3(n)/2 rounded, which trades a little bias for less variance.
        "smoothed-poisson": a Poisson cut of mean ln(n (t + 1)^2/(t - 1))/(2 t), without the
        factor t - 1 for extra <= 1.
    resamples : int, from 10 to 10,000
        Runs of a release's mechanism that measure how its noise changes error and interval.

    Returns
    -------
    Labels, between 0 and the number of further records; 0 for a profile without records.

    Raises
    ------
    ParameterError
        If a parameter is out of range, `extra` is above 1 for "good-toulmin", or it is
        above ln n: no estimator can extrapolate further than a multiple of that (Orlitsky et al.
        2016).

    Notes
    -----
    The interval is for the actual number of new labels, which is a Poisson number around the
    expected one. For "g-modeling" it has the quantiles of a Poisson number with a gamma distributed
    mean that has the estimate and its standard error. For the other methods it is normal, with the
    sum of both variances; the bias of smoothing, computed for the maximum-likelihood population
    (`dphist.properties.sampling`), is added in quadrature.

    Butterflies caught by Corbet (Fisher, Corbet and Williams 1943), in a second sample as large:

    >>> from dphist import Profile
    >>> caught = [118, 74, 44, 24, 29, 22, 20, 19, 20, 15, 12, 14]
    >>> caught += [6, 12, 6, 9, 9, 6, 10, 10, 11, 5, 3, 3]
    >>> butterflies = Profile.from_prevalences(list(range(1, 25)), caught)
    >>> for method in ("g-modeling", "chao-jost", "good-toulmin"):
    ...     print(f"{support_coverage(butterflies, extra=1, method=method):.1f}")
    74.2
    67.2
    75.0
    """
    profile = get_histogram(source)
    more = _check_extra(profile, extra, method)
    raw, error = _estimate_new_labels(profile, more, method)
    value = _possible(raw, more, profile.total)
    if profile.total == 0:
        return estimate_nothing(value, method, "labels", name_source(source))
    bias = 0.0
    if method in SUMS and method != GOOD_TOULMIN:
        bias = smoothing_bias(profile, more, method)
    if method == G_MODELING:
        ends = _predict_interval(
            value, error, float(more) * profile.total * bound_unseen_share(profile.total)
        )
    else:
        half = NORMAL * math.sqrt(error**2 + value + bias**2)
        ends = (raw - half, raw + half)
    low, high = (_possible(end, more, profile.total) for end in ends)
    found = Estimate(
        value=value,
        method=method,
        standard_error=error,
        interval=(low, high),
        unit="labels",
        notes=_notes(method, profile.total, float(more), bias),
    )

    def again(other: Diagram) -> float:
        # With fewer records `extra` may exceed the limit, which is not checked here.
        if method == G_MODELING:
            expected = g_modeling.new_labels_of_sample(other, float(more))
        else:
            expected = _estimate_new_labels(other, more, method)[0]
        return _possible(expected, more, other.total)

    return include_noise(source, found, again, resamples, (0.0, float(more * profile.total)))


def _check_extra(profile: Diagram, extra: Exact, method: str) -> Fraction:
    """Return how far to look ahead."""
    more = positive_number(extra, "extra")
    if more < _LEAST_EXTRA:
        raise ParameterError("extra", "must be at least 1e-18")
    if method not in METHODS:
        raise ParameterError("method", f"must be one of {', '.join(METHODS)}")
    if method == GOOD_TOULMIN and more > 1:
        raise ParameterError(
            "extra", "must be at most 1 for 'good-toulmin'", "use another " + Argument("method")
        )
    if more > farthest(profile):
        raise ParameterError(
            "extra",
            "must be at most the logarithm of the number of records, where predictions end",
        )
    return more


def farthest(profile: Diagram) -> float:
    """Return the maximum of `extra`: ln n, but at least 1; no limit without records."""
    return max(1.0, math.log(profile.total)) if profile.total else math.inf


def _estimate_new_labels(profile: Diagram, more: Fraction, method: str) -> tuple[float, float]:
    """Return the estimate, not clipped, and its standard error."""
    if method == G_MODELING:
        return g_modeling.new_labels(profile, float(more))
    if method == CHAO_JOST:
        return chao.new_labels(profile, float(more))
    return add_weights(profile, more, method)


def _predict_interval(mean: float, error: float, least: float) -> tuple[float, float]:
    """Return the 2.5 % and 97.5 % quantiles of a Poisson number with a gamma distributed mean.

    Parameters
    ----------
    mean, error : of the gamma distribution.
    least : the upper end is at least this; it matters if the counts say nothing of rare labels.
    """
    variance = error**2
    if not mean > 0:
        return 0.0, least
    if mean > _MANY or variance * _MANY < mean:
        half = NORMAL * math.sqrt(mean + variance)
        return mean - half, max(mean + half, least)
    low, high = nbinom.ppf([0.025, 0.975], mean**2 / variance, mean / (mean + variance))
    return float(low), max(float(high), least)


def _possible(labels: float, extra: Fraction, total: int) -> float:
    """Clip to the possible range: from 0 to one new label per record."""
    return min(max(labels, 0.0), float(extra * total))


def _notes(method: str, total: int, t: float, bias: float) -> tuple[str, ...]:
    notes: list[str] = ["the interval is for the number that will be seen"]
    if method == G_MODELING:
        alike = "{labels} of nearly equal probability are assumed to be about equally many"
        notes.append(Sentence(alike))
    if method == CHAO_JOST:
        notes.append("a lower bound in expectation; the interval does not allow for its bias")
    if method in SUMS and method != GOOD_TOULMIN:
        size, side = plain_number(abs(bias)), "few" if bias < 0 else "many"
        notes.append(
            Sentence(
                "smoothing counts about {size} {labels} too {side}; the interval allows for them",
                size=size,
                side=side,
            )
        )
        if t > 1 and total > 1:
            power = math.log1p(2 / t) / math.log(3) if method == SMOOTHED else 1 / t
            share = 100 * total ** (-power / 2)
            notes.append(
                Sentence(
                    "in the worst case, the error is about {share} % of the further {records} "
                    "(Orlitsky et al. 2016)",
                    share=plain_number(share),
                )
            )
    return tuple(notes)


def add_weights(profile: Diagram, extra: Fraction, method: str) -> tuple[float, float]:
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
