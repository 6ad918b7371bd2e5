"""Rényi entropy of the population behind a profile.

Of order a it is log(sum of p**a)/(1 - a). For whole orders the sum has an unbiased estimate,
and few records tell it: those of labels that occur a times or more.
"""

import math
from fractions import Fraction
from typing import Literal, overload

import numpy as np
from scipy.special import logsumexp

from dphist.arrays import FloatArray, IntArray
from dphist.data.profile import Profile
from dphist.errors import ParameterError
from dphist.parameters import Exact, exact_number
from dphist.properties.chao import chao1
from dphist.properties.entropy import entropy, logarithm_base, unit_of
from dphist.properties.estimate import NORMAL, Estimate, may_be_unseen, nothing_known
from dphist.properties.resampling import RESAMPLES, including_noise
from dphist.properties.sampling import jackknife, sampling
from dphist.properties.source import Source, profile_of

METHODS = ("plug-in", "unbiased")
MAX_ORDER = 1000
# Measured: where the sum is known to a quarter, 91 % to 100 % of intervals hold the truth.
_NEARLY_STRAIGHT = 0.25
_MOST_POWER = 20


@overload
def renyi_entropy(
    source: Source,
    *,
    order: Exact,
    base: Exact = ...,
    method: str | None = ...,
    full: Literal[False] = ...,
    resamples: int = ...,
) -> float: ...


@overload
def renyi_entropy(
    source: Source,
    *,
    order: Exact,
    base: Exact = ...,
    method: str | None = ...,
    full: Literal[True],
    resamples: int = ...,
) -> Estimate: ...


def renyi_entropy(
    source: Source,
    *,
    order: Exact,
    base: Exact = 2,
    method: str | None = None,
    full: bool = False,
    resamples: int = RESAMPLES,
) -> float | Estimate:
    """Estimate the Rényi entropy of the population that the records were drawn from.

    Parameters
    ----------
    source : Profile or Release of one.
    order : from 0 to 1000, or math.inf. Order 0 is the logarithm of the number of labels, 1
        Shannon's entropy, 2 that of a collision, infinity that of the first guess.
    base : of the logarithm, above 1; 2 gives bits.
    method : "unbiased", for whole orders from 2: the sum of p**order is estimated without
        bias, so that its logarithm has little. "plug-in", for all orders: the entropy of the
        profile itself, which leaves out labels that were not seen. By default the former where
        there is one, for order 1 what `dphist.properties.entropy` does by default, else the latter.
    full : return an `Estimate`, with its standard error, rather than a float.
    resamples : of a release, how often its mechanism is run to learn what its noise does to
        standard error and interval (`dphist.properties.resampling`); with `full`.

    Returns
    -------
    The entropy; 0 of nothing. Infinity, by "unbiased", if no label has `order` records: the
    records then bound the entropy from below only.

    Raises
    ------
    ParameterError
        If order, base, method or resamples is not among these.

    Notes
    -----
    The unbiased sum is that of r(r - 1)...(r - a + 1)/(n(n - 1)...(n - a + 1)) over labels with
    count r (Acharya, Orlitsky, Suresh and Tyagi 2017, "Estimating Rényi entropy of discrete
    distributions", who have n**a for the denominator, as for Poisson counts). The standard error
    is the jackknife's over records, by the derivative of the logarithm, or that for the likeliest
    population (`dphist.properties.sampling`), if that is larger. Orders 0 and infinity
    have none: they rest on which labels were seen, and on the largest count. There is an interval
    for an unbiased sum that has a relative error of a quarter or less.

    >>> profile = Profile.from_counts([2, 2])
    >>> [round(renyi_entropy(profile, order=2, method=m), 6) for m in ("plug-in", "unbiased")]
    [1.0, 1.584963]
    """
    profile = profile_of(source)
    unit_nats = math.log(logarithm_base(base))
    exact = _checked_order(order)
    chosen = _method_for(exact, method)  # of order 1: checked here, answered by entropy
    if exact is not None and float(exact) == 1:
        shannon = "wu-yang" if method is None else "plug-in"
        if full:
            return entropy(source, method=shannon, base=base, full=True, resamples=resamples)
        return entropy(source, method=shannon, base=base)
    nats, error = _entropy_and_error(profile, exact, chosen == "unbiased")
    value = nats / unit_nats
    if not full:
        return value
    unit = unit_of(unit_nats)
    if profile.total == 0:
        return nothing_known(value, chosen, unit)
    interval = None
    if chosen == "unbiased" and exact is not None and error is not None:
        error = max(error, _likely_error(profile, int(exact), nats))
        above = _above(profile.total, float(exact), error) / unit_nats
        # The error of the sum, relative to it: within it the logarithm is a straight line.
        if error * (exact - 1) <= _NEARLY_STRAIGHT:
            interval = (max(value - NORMAL * error / unit_nats, 0.0), value + above)
    scaled = None if error is None else error / unit_nats
    notes = _notes(exact, value, error is not None)
    found = Estimate(value, chosen, scaled, interval, unit, notes)

    def again(other: Profile) -> float:
        return _entropy_and_error(other, exact, chosen == "unbiased")[0] / unit_nats

    return including_noise(source, found, again, resamples, (0.0, math.inf))


def _above(n: int, order: float, error: float) -> float:
    """How far above the estimate the interval goes, in nats.

    Few records may all miss something of probability m: then the sum is (1 - m)**order of what
    the records say.
    """
    missed = -math.log1p(-may_be_unseen(n)) * order / (order - 1)
    return math.hypot(NORMAL * error, missed)


def _likely_error(profile: Profile, order: int, nats: float) -> float:
    """Standard error for the likeliest population, in nats; 0 of orders with too large powers.

    Of a nearly even profile a record less changes nothing in first order, and the jackknife
    would be far too small.
    """
    if order > _MOST_POWER:
        return 0.0
    log_sum = (1 - order) * nats

    def weigh(counts: IntArray) -> FloatArray:
        return np.exp(log_power_weights(counts, profile.total, order) - log_sum)

    return sampling(profile, weigh, chao1(profile), lambda population: 1.0).spread / (order - 1)


def log_power_weights(counts: IntArray, n: int, order: int) -> FloatArray:
    """Return log f(r, n) for each count: their sum estimates the sum of p**order, unbiased.

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


def _checked_order(order: Exact) -> Fraction | None:
    """Return the order; None stands for infinity."""
    if isinstance(order, float) and order == math.inf:
        return None
    exact = exact_number(order, "order")
    if not 0 <= exact <= MAX_ORDER:
        raise ParameterError(f"order must be between 0 and {MAX_ORDER}, or math.inf")
    return exact


def _method_for(order: Fraction | None, method: str | None) -> str:
    """Return "plug-in" or "unbiased"."""
    whole = order is not None and order.denominator == 1 and order >= 2
    if method is None:
        return "unbiased" if whole else "plug-in"
    if method not in METHODS:
        raise ParameterError(f"method must be one of {', '.join(METHODS)}, or None")
    if method == "unbiased" and not whole:
        raise ParameterError("method 'unbiased' needs a whole order from 2; use 'plug-in'")
    return method


def _notes(order: Fraction | None, value: float, has_error: bool) -> tuple[str, ...]:
    """What an estimate rests on; of order 1 `entropy` says it."""
    notes = []
    if math.isinf(value):
        notes.append("no label has as many records as the order: no upper bound")
    elif order is None:
        notes.append("rests on the largest count alone; no standard error")
    elif order == 0:
        notes.append("labels not seen are left out; no standard error")
    elif order < 1:
        notes.append("labels not seen are left out")
    if has_error:
        notes.append("the standard error, of sampling, leaves out bias")
    return tuple(notes)


def _entropy_and_error(
    profile: Profile, order: Fraction | None, unbiased: bool
) -> tuple[float, float | None]:
    """Entropy in nats of an order that is not 1, and its standard error where there is one."""
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
        # Near order 1 the sum is near 1: what it is off is kept to all digits.
        share = profile.counts / n * profile.prevalences
        logs = np.log(profile.counts / n)
        log_sum = math.log1p(float(share @ np.expm1((power - 1) * logs)))
    return max(0.0, log_sum / (1 - power)), error
