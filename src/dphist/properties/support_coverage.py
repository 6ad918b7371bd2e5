"""Support coverage: the number of new labels in further records.

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
from dphist.data.profile import Profile
from dphist.errors import ParameterError
from dphist.parameters import Exact, positive_number
from dphist.properties.chao import chao1
from dphist.properties.estimate import NORMAL, Estimate, nothing_known, plain_number
from dphist.properties.profile_likelihood import Population
from dphist.properties.resampling import RESAMPLES, including_noise
from dphist.properties.sampling import sampling
from dphist.properties.source import Source, profile_of

GOOD_TOULMIN, SMOOTHED, POISSON = "good-toulmin", "smoothed", "smoothed-poisson"
METHODS = (GOOD_TOULMIN, SMOOTHED, POISSON)
_LEAST_EXTRA = Fraction(1, 10**18)  # less than one record for every profile


def support_coverage(
    source: Source,
    *,
    extra: Exact,
    method: str | None = None,
) -> float:
    """Estimate the number of new labels in `extra` times as many further records.

    Parameters
    ----------
    source : Profile or Release of one, of n records.
    extra : number above 0, t
        Further records, in units of n: 1 doubles the data.
    method : str, optional
        "good-toulmin": unbiased, for extra <= 1; the default there.
        "smoothed": a binomial(k, 2/(t + 2)) cut, with k = log_3(n t^2/(t - 1))/2 rounded to an
        integer; the default for extra > 1. For extra <= 1, where no damping is needed, k is
        log_3(n)/2 rounded, which trades a little bias for less variance.
        "smoothed-poisson": a Poisson cut of mean ln(n (t + 1)^2/(t - 1))/(2 t), without the
        factor t - 1 for extra <= 1.

    Returns
    -------
    float, labels; between 0 and the number of further records. 0 for a profile without records.

    Raises
    ------
    ParameterError
        If `extra` or `method` is out of range, `extra` is above 1 for "good-toulmin", or it is
        above ln n: no estimator can extrapolate further than a multiple of that (Orlitsky et al.
        2016).

    Notes
    -----
    The standard error, sqrt(sum f(r)^2 phi_r), is an upper bound for that of the expected number
    (Efron and Thisted 1976). The interval is for the actual number of new labels, so its variance
    includes the estimate as a Poisson variance. The bias of smoothing, computed for the
    maximum-likelihood population (`dphist.properties.sampling`), is added in quadrature.

    Butterflies caught by Corbet (Fisher, Corbet and Williams 1943), in a second sample as large:

    >>> from dphist import Profile
    >>> caught = [118, 74, 44, 24, 29, 22, 20, 19, 20, 15, 12, 14]
    >>> caught += [6, 12, 6, 9, 9, 6, 10, 10, 11, 5, 3, 3]
    >>> butterflies = Profile.from_prevalences(list(range(1, 25)), caught)
    >>> support_coverage(butterflies, extra=1)
    75.0
    """
    profile = profile_of(source)
    more, chosen = _checked(profile, extra, method)
    return _new_labels(profile, more, chosen)


def estimate_support_coverage(
    source: Source,
    *,
    extra: Exact,
    method: str | None = None,
    resamples: int = RESAMPLES,
) -> Estimate:
    """Return what `support_coverage` estimates, with its standard error, interval and notes.

    Parameters
    ----------
    source, extra, method : as for `support_coverage`; so are the errors.
    resamples : int, from 10 to 10,000
        Runs of a release's mechanism that measure how its noise changes error and interval.
    """
    profile = profile_of(source)
    more, method = _checked(profile, extra, method)
    factors = weights(profile.counts, profile.total, more, method)
    raw = math.fsum(factors * profile.prevalences)
    value = _possible(raw, more, profile.total)
    if profile.total == 0:
        return nothing_known(value, method, "labels")
    variance = math.fsum(factors**2 * profile.prevalences)
    bias = 0.0 if method == GOOD_TOULMIN else smoothing_bias(profile, more, method)
    half = NORMAL * math.sqrt(variance + value + bias**2)
    interval = tuple(_possible(end, more, profile.total) for end in (raw - half, raw + half))
    found = Estimate(
        value=value,
        method=method,
        standard_error=math.sqrt(variance),
        interval=(interval[0], interval[1]),
        unit="labels",
        notes=_notes(method, profile.total, float(more), bias),
    )

    def again(other: Profile) -> float:
        # With fewer records `extra` may exceed the limit, which is not checked here.
        return _new_labels(other, more, method)

    return including_noise(source, found, again, resamples, (0.0, float(more * profile.total)))


def _checked(profile: Profile, extra: Exact, method: str | None) -> tuple[Fraction, str]:
    """Return how far to look ahead, and the method to do so."""
    more = positive_number(extra, "extra")
    if more < _LEAST_EXTRA:
        raise ParameterError("extra must be at least 1e-18")
    if method is None:
        method = GOOD_TOULMIN if more <= 1 else SMOOTHED
    if method not in METHODS:
        raise ParameterError(f"method must be one of {', '.join(METHODS)}")
    if method == GOOD_TOULMIN and more > 1:
        raise ParameterError("extra must be at most 1 for 'good-toulmin'; use method='smoothed'")
    if more > farthest(profile):
        raise ParameterError(
            "extra must be at most the logarithm of the number of records: further on nothing "
            "can be foreseen"
        )
    return more, method


def _new_labels(profile: Profile, more: Fraction, method: str) -> float:
    each = weights(profile.counts, profile.total, more, method)
    return _possible(math.fsum(each * profile.prevalences), more, profile.total)


def farthest(profile: Profile) -> float:
    """Return the maximum of `extra`: ln n, but at least 1; no limit without records."""
    return max(1.0, math.log(profile.total)) if profile.total else math.inf


def smoothing_bias(profile: Profile, extra: Fraction, method: str) -> float:
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


def _possible(labels: float, extra: Fraction, total: int) -> float:
    """Clip to the possible range: from 0 to one new label per record."""
    return min(max(labels, 0.0), float(extra * total))


def _notes(method: str, total: int, t: float, bias: float) -> tuple[str, ...]:
    notes = ["the interval is for the number that will be seen"]
    if method != GOOD_TOULMIN:
        size, side = plain_number(abs(bias)), "few" if bias < 0 else "many"
        notes.append(
            f"smoothing counts about {size} labels too {side}; the interval allows for them"
        )
    if t > 1 and total > 1:
        power = math.log1p(2 / t) / math.log(3) if method == SMOOTHED else 1 / t
        share = 100 * total ** (-power / 2)
        notes.append(
            f"in the worst case, the error is about {plain_number(share)} % of the further records "
            "(Orlitsky et al. 2016)"
        )
    return tuple(notes)
