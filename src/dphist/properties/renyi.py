"""Rényi entropy of the population behind a profile.

For order a it is log(sum of p**a)/(1 - a). For whole orders the sum has an unbiased estimate,
which needs few records: only labels that occur a times or more contribute.

Their interval is that of the sum: all true sums that are within 1.96 standard deviations of the
estimate. The sum counts agreeing pairs, triples, and so on. Where these are few, its error is about
that of a Poisson number: the variance is proportional to the true sum, not to the one found. And
the noise of a release is added to the sum, while the entropy is its logarithm.
"""

import math
from fractions import Fraction

import numpy as np
from scipy.special import logsumexp

from dphist.arrays import FloatArray, IntArray
from dphist.data.diagram import Diagram
from dphist.errors import Argument, ParameterError
from dphist.parameters import Exact, exact_number
from dphist.properties.chao import chao1
from dphist.properties.entropy import entropy, logarithm_base, name_unit
from dphist.properties.estimate import (
    NORMAL,
    Estimate,
    Source,
    bound_unseen_share,
    estimate_nothing,
    get_histogram,
    name_source,
)
from dphist.properties.resampling import RESAMPLES, Pairs, include_noise
from dphist.properties.sampling import jackknife, sampling
from dphist.sentence import Sentence

METHODS = ("plug-in", "unbiased")
# The method of `entropy` that answers order 1.
_SHANNON = {None: "wu-yang", "plug-in": "plug-in"}
MAX_ORDER = 1000
# Relative error of the sum up to which there is an interval: that of about one pair.
_MOST_ERROR = 1.0
_MOST_POWER = 20


def renyi_entropy(
    source: Source,
    *,
    order: Exact,
    base: Exact = 2,
    method: str | None = None,
    resamples: int = RESAMPLES,
) -> Estimate:
    """Estimate the Rényi entropy of the population that the records are drawn from.

    Parameters
    ----------
    source : Release or AnonymizedHistogram; or Profile, and the result is then not private.
    order : from 0 to 1000, or math.inf. Order 0 is the logarithm of the number of labels, 1
        Shannon's entropy, 2 that of a collision, infinity that of the first guess.
    base : base of the logarithm, above 1; 2 gives bits.
    method : "unbiased", for whole orders from 2: an unbiased estimate of the sum of p**order, so
        that its logarithm has little bias. "plug-in", for all orders: the entropy of the profile
        itself, without unseen labels. Default: "unbiased" for whole orders from 2, the default of
        `dphist.properties.entropy` for order 1, else "plug-in".
    resamples : int, from 10 to 10,000
        Runs of a release's mechanism that measure how its noise changes error and interval.

    Returns
    -------
    The entropy; 0 without records. Infinity, by "unbiased", if no label has `order` records: the
    records then give only a lower bound.

    Raises
    ------
    ParameterError
        If order, base, method or resamples is out of range, or the mechanism of a release cannot
        run again.

    Notes
    -----
    The unbiased estimate sums r(r - 1)...(r - a + 1)/(n(n - 1)...(n - a + 1)) over labels with
    count r (Acharya, Orlitsky, Suresh and Tyagi 2017, "Estimating Rényi entropy of discrete
    distributions", with denominator n**a for Poisson counts). The standard error is the larger of
    the jackknife's over records, by the delta method, and that for the maximum-likelihood
    population (`dphist.properties.sampling`). Orders 0 and infinity have none: they depend on
    which labels were seen, and on the largest count. For the unbiased sum there is an interval
    (`dphist.properties.renyi`), if the relative error of the sum is at most 1.

    >>> from dphist import Profile
    >>> profile = Profile.from_counts([2, 2])
    >>> [f"{renyi_entropy(profile, order=2, method=m):.4f}" for m in ("plug-in", "unbiased")]
    ['1.0000', '1.5850']
    """
    profile, unit_nats = get_histogram(source), math.log(logarithm_base(base))
    exact = _check_order(order)
    chosen = _method_for(exact, method)
    if exact is not None and float(exact) == 1:
        return entropy(source, method=_SHANNON[method], base=base, resamples=resamples)
    nats, error = _entropy_and_error(profile, exact, chosen == "unbiased")
    value = nats / unit_nats
    unit = name_unit(unit_nats)
    if profile.total == 0:
        return estimate_nothing(value, chosen, unit, name_source(source))
    interval, relative = None, 0.0
    if chosen == "unbiased" and exact is not None and error is not None:
        error = max(error, _likely_error(profile, int(exact), nats))
        relative = error * float(exact - 1)
        if relative <= _MOST_ERROR:
            low, high = entropy_interval(nats, int(exact), profile.total, relative)
            interval = (low / unit_nats, high / unit_nats)
    scaled = None if error is None else error / unit_nats
    notes = _notes(exact, value, error is not None)
    found = Estimate(value, chosen, scaled, interval, unit, notes)

    def estimate_nats(other: Diagram) -> float:
        return _entropy_and_error(other, exact, chosen == "unbiased")[0]

    def again(other: Diagram) -> float:
        return estimate_nats(other) / unit_nats

    def ends(pairs: Pairs) -> tuple[float, float]:
        order = int(exact or 0)
        drawn = np.array([[estimate_nats(each) for each in pair] for pair in pairs])
        noise = np.diff(np.exp((1 - order) * (drawn - nats)), axis=1)[:, 0]
        low, high = entropy_interval(nats, order, profile.total, relative, noise)
        return low / unit_nats, high / unit_nats

    return include_noise(source, found, again, resamples, (0.0, math.inf), ends)


def _likely_error(profile: Diagram, order: int, nats: float) -> float:
    """Standard error for the maximum-likelihood population, in nats; 0 if powers overflow.

    For a nearly uniform profile, removing a record has no first-order effect, and the jackknife is
    far too small.
    """
    if order > _MOST_POWER:
        return 0.0
    log_sum = (1 - order) * nats

    def weigh(counts: IntArray) -> FloatArray:
        return np.exp(log_power_weights(counts, profile.total, order) - log_sum)

    return sampling(profile, weigh, chao1(profile), lambda population: 1.0).spread / (order - 1)


def log_power_weights(counts: IntArray, n: int, order: int) -> FloatArray:
    """Return log f(r, n) for each count; the sum of f is an unbiased estimate of sum p**order.

    Parameters
    ----------
    counts : (k,) int64, records per label, 0 or more.
    n : number of records, at least `order`.
    order : at least 1.

    Returns
    -------
    (k,) float64; minus infinity for counts below `order`.
    """
    logs = np.zeros(len(counts))
    enough = counts >= order
    for i in range(order):
        logs[enough] += np.log((counts[enough] - i) / (n - i))
    logs[~enough] = -math.inf
    return logs


def _check_order(order: Exact) -> Fraction | None:
    """Return the order; None stands for infinity."""
    if isinstance(order, float) and order == math.inf:
        return None
    exact = exact_number(order, "order")
    if not 0 <= exact <= MAX_ORDER:
        raise ParameterError("order", f"must be between 0 and {MAX_ORDER}, or math.inf")
    return exact


def _method_for(order: Fraction | None, method: str | None) -> str:
    """Return "plug-in" or "unbiased"."""
    whole = order is not None and order.denominator == 1 and order >= 2
    if method is None:
        return "unbiased" if whole else "plug-in"
    if method not in METHODS:
        raise ParameterError("method", f"must be one of {', '.join(METHODS)}, or None")
    if method == "unbiased" and not whole:
        raise ParameterError(
            "method",
            "'unbiased' needs a whole order from 2",
            "use " + Argument("method", "plug-in"),
        )
    return method


def _notes(order: Fraction | None, value: float, has_error: bool) -> tuple[str, ...]:
    """Return the assumptions and limits of an estimate; for order 1, `entropy` does."""
    notes: list[str] = []
    if math.isinf(value):
        notes.append(Sentence("no {label} has as many {records} as the order: no upper bound"))
    elif order is None:
        notes.append("depends on the largest count alone; no standard error")
    elif order == 0:
        notes.append(Sentence("{labels} not seen are left out; no standard error"))
    elif order < 1:
        notes.append(Sentence("{labels} not seen are left out"))
    if has_error:
        notes.append("the standard error is that of sampling, without bias")
    return tuple(notes)


def _entropy_and_error(
    profile: Diagram, order: Fraction | None, unbiased: bool
) -> tuple[float, float | None]:
    """Return the entropy in nats for an order other than 1, and its standard error if any."""
    n = profile.total
    if n == 0:
        return 0.0, None
    if order is None:
        return math.log(n / profile.counts[-1]), None
    power = float(order)
    if power == 0:
        return math.log(profile.labels), None
    if unbiased:
        if profile.counts[-1] < order:
            return math.inf, None
        now, before = (
            log_power_weights(counts, n, int(order))
            for counts in (profile.counts, profile.counts - 1)
        )
    else:
        with np.errstate(divide="ignore"):
            now, before = (
                power * np.log(counts / n) for counts in (profile.counts, profile.counts - 1)
            )
    log_sum = float(logsumexp(now, b=profile.prevalences))
    # Both relative to the sum, which may be too small for a float.
    change = np.exp(before - log_sum) - np.exp(now - log_sum)
    error = jackknife(profile, change) / abs(1 - power)
    if abs(1 - power) < 0.5:
        # Near order 1 the sum is near 1: compute its difference from 1 to full precision.
        share = profile.counts / n * profile.prevalences
        logs = np.log(profile.counts / n)
        log_sum = math.log1p(float(share @ np.expm1((power - 1) * logs)))
    return max(0.0, log_sum / (1 - power)), error


NO_NOISE = np.zeros(2)


def entropy_interval(
    nats: float, order: int, n: int, error: float, noise: FloatArray = NO_NOISE
) -> tuple[float, float]:
    """Return the 95 % interval of the entropy, in nats; infinity where there is no upper end.

    Parameters
    ----------
    nats : the entropy found, log(sum)/(1 - order).
    order : from 2.
    n : records.
    error : standard error of sampling, as a share of the sum.
    noise : (b,) float64, by how much the noise of a release changes the sum, as shares of it.

    Notes
    -----
    A sum of s times the one found is in the interval if (1 - s)**2 <= 1.96**2 (error**2 s + v**2),
    for the variance v**2 of the noise; for v = 0 this is Wilson's (1927) for a Poisson number. The
    mean of the noise moves the end on the side of the correction. Few records may all miss an
    event of probability m: then the true sum is (1 - m)**order times that of the others.
    """
    square = (NORMAL * error) ** 2
    variance, shift = float(np.var(noise, ddof=1)), float(np.mean(noise))
    half = math.sqrt(square * (1 + square / 4) + NORMAL**2 * variance)
    least = 1 + square / 2 - half - max(shift, 0.0)
    most = 1 + square / 2 + half + max(-shift, 0.0)
    low = nats - math.log(most) / (order - 1)
    if not least > 0:
        return max(low, 0.0), math.inf
    missed = -math.log1p(-bound_unseen_share(n)) * order / (order - 1)
    return max(low, 0.0), nats + math.hypot(math.log(least) / (order - 1), missed)
