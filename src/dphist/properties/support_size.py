"""Support size: the number of labels of the population, seen or not.

Wu and Yang's estimator is a Chebyshev polynomial. Labels have probability 0 or at least p_min. A
label seen r times counts as 1 + b_r r! if r is at most the degree L, and as 1 otherwise.
P(x) = sum b_r x^r is the polynomial of degree L with P(0) = -1 and the smallest maximum of |P|
between x = n p_min and x = M. If counts are Poisson, a label of expected count x adds
1 + exp(-x) P(x) in the mean: 0 if the label does not exist, nearly 1 if it does (Y. Wu and P. Yang,
"Chebyshev polynomials, moment matching, and optimal estimation of the unseen", Annals of Statistics
47, 2019; degree 0.45 ln(1/p_min) and M = 0.5 ln(1/p_min) as in its experiments).
"""

import math
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
from scipy.special import pdtrc

from dphist.arrays import FloatArray, IntArray
from dphist.data.diagram import Diagram
from dphist.data.profile import Profile
from dphist.errors import Argument, ParameterError
from dphist.parameters import Exact, exact_number
from dphist.properties import linear_program
from dphist.properties.chao import chao1, seen_times
from dphist.properties.estimate import (
    NORMAL,
    Estimate,
    Source,
    estimate_nothing,
    get_histogram,
    plain_number,
)
from dphist.properties.resampling import RESAMPLES, include_noise
from dphist.sentence import Sentence

METHODS = ("wu-yang", "valiant-valiant", "chao1", "plug-in")
_LEAST_P_MIN = Fraction(1, 10**18)  # no data are large enough to distinguish it from 0


def support_size(
    source: Source,
    *,
    p_min: Exact | None = None,
    method: str = "wu-yang",
    resamples: int = RESAMPLES,
) -> Estimate:
    """Estimate the number of labels with positive probability.

    Parameters
    ----------
    source : Release or AnonymizedHistogram; or Profile, and the result is then not private.
    p_min : number in (0, 1]
        Minimum probability of any label, for example 1/k for uniform labels out of at most k. You
        assert it. Without such a bound the support size is undetermined: any number of rarer
        labels may exist. Required except for "chao1" and "plug-in".
    method : str
        "wu-yang": the Chebyshev estimator, minimax rate-optimal (`dphist.properties.support_size`).
        "valiant-valiant": a linear program (see `linear_program`).
        "chao1": a lower bound from the labels seen once and twice (Chao 1984, bias-corrected).
        "plug-in": the number of labels seen.
    resamples : int, from 10 to 10,000
        Runs of a release's mechanism that measure how its noise changes error and interval.

    Returns
    -------
    Labels, at least the number in `source`, and at most the larger of that and 1/p_min; 0 for a
    profile without records.

    Raises
    ------
    ParameterError
        If a parameter is invalid, the linear program cannot be solved, or the mechanism of a
        release cannot run again.

    >>> from dphist import Profile
    >>> profile = Profile.from_prevalences([1, 2, 3], [20, 10, 5])
    >>> print(f"{support_size(profile, p_min='1/80'):.1f}")
    48.9
    """
    profile, least = get_histogram(source), _check_p_min(p_min)
    found = _find_estimate(profile, least, method, ranged=True)
    promise = None if method in ("chao1", "plug-in") else least
    # More labels than 1/p_min: data contradict p_min; to what is released, noise may have added.
    if promise and profile.labels * promise > 1 and isinstance(source, Profile):
        found = replace(found, standard_error=None, interval=None)

    def again(other: Diagram) -> float:
        return _find_estimate(other, least, method, ranged=False).value

    # For a released histogram with more labels than 1/p_min, the estimate is above 1/p_min as well.
    most = max(float(1 / promise), found.value) if promise else math.inf
    return include_noise(source, found, again, resamples, (0.0, most))


def _check_p_min(p_min: Exact | None) -> Fraction | None:
    least = None if p_min is None else exact_number(p_min, "p_min")
    if least is not None and not _LEAST_P_MIN <= least <= 1:
        raise ParameterError("p_min", "must be at most 1, and at least 1e-18")
    return least


def _find_estimate(profile: Diagram, p_min: Fraction | None, method: str, ranged: bool) -> Estimate:
    """Return the estimate before the noise of a release; an interval may need `ranged`."""
    if method not in METHODS:
        raise ParameterError("method", f"must be one of {', '.join(METHODS)}")
    if method == "plug-in":
        note = Sentence("{labels} not seen are left out")
        return _labels(float(profile.labels), method, None, None, note)
    if method == "chao1":
        return _chao1(profile) if profile.total else estimate_nothing(0.0, method, "labels")
    if p_min is None:
        raise ParameterError(
            "method",
            f"{method!r} needs "
            + Argument("p_min")
            + ", the least probability of a label; "
            + Argument("method", "chao1")
            + " needs none",
        )
    if method == "wu-yang":
        return _wu_yang(profile, p_min)
    return _valiant_valiant(profile, p_min, ranged)


def _wu_yang(profile: Diagram, p_min: Fraction) -> Estimate:
    """Return Wu and Yang's estimate, with bounds on its error and bias.

    The error is the sum over labels of f(N) - 1, with N Poisson and f(0) = 0. Its variance is at
    most the sum of E (f(N) - 1)^2, estimated by sum (f(r) - 1)^2 phi_r plus 1 for each unseen
    label, whose number is taken from the estimate. The bias is at most a share of the support
    size, attained by some distributions (uniform ones of probability p_min), so the interval
    includes both.
    """
    if all_are_seen(profile.total, p_min):
        return _nearly_all_seen(profile, p_min)
    each = weights(profile.counts, profile.total, p_min)
    raw = math.fsum(each * profile.prevalences)
    lost = math.fsum((each - 1) ** 2 * profile.prevalences)
    spread = math.sqrt(lost + max(raw - profile.labels, 0.0))
    share = bias_share(profile.total, p_min)
    note = (
        f"the interval allows for a bias of {plain_number(100 * share)} % of the support size, the"
        " most that any law has"
    )
    most = (raw + NORMAL * spread) / (1 - share) if share < 1 else math.inf
    interval = (
        _possible((raw - NORMAL * spread) / (1 + share), profile, p_min),
        _possible(most, profile, p_min),
    )
    value = _possible(raw, profile, p_min)
    return _labels(value, "wu-yang", spread, interval, _promise(profile, p_min), note)


def _nearly_all_seen(profile: Diagram, p_min: Fraction) -> Estimate:
    """Return the number of labels seen, if the estimator weights each of them by 1.

    Of S labels u are missed, about Poisson with mean at most S exp(-n p_min). The interval ends at
    the largest S for which seeing so few labels has a probability of at least 2.5 %.
    """
    seen, share = profile.labels, bias_share(profile.total, p_min)
    note = f"labels not seen are left out: each is missed with a chance of {plain_number(share)} or"
    fewest, most = 0, max(math.floor(1 / p_min) - seen, 0)
    while fewest < most:
        missed = (fewest + most + 1) // 2
        likely = pdtrc(missed - 1, (seen + missed) * share) >= 0.025
        fewest, most = (missed, most) if likely else (fewest, missed - 1)
    spread = math.sqrt(seen * share / (1 - share)) if share < 1 else 0.0
    interval = (float(seen), float(seen + most))
    return _labels(
        float(seen), "wu-yang", spread, interval, _promise(profile, p_min), f"{note} less"
    )


def _valiant_valiant(profile: Diagram, p_min: Fraction, ranged: bool) -> Estimate:
    missing = linear_program.unseen(profile, float(p_min), ranged)
    value, least, most = (_possible(profile.labels + m, profile, p_min) for m in missing)
    return _labels(
        value,
        "valiant-valiant",
        None,
        (least, most),
        _promise(profile, p_min),
        "the interval holds what all populations say that fit little worse than the best; "
        "its level was measured, not proved",
    )


def _chao1(profile: Diagram) -> Estimate:
    """Return Chao's lower bound with its log-normal interval (Chao 1987).

    The variances are those of the bias-corrected form with the factor (n - 1)/n, as in Chao and
    Chiu's SpadeR and in EstimateS.
    """
    once, twice = seen_times(profile, 1), seen_times(profile, 2)
    value = chao1(profile)
    missing = value - profile.labels
    if missing == 0:
        spread, interval = _all_twice(profile)
    else:
        shrink = (profile.total - 1) / profile.total
        variance = missing + shrink**2 * once * (2 * once - 1) ** 2 / (4 * (twice + 1) ** 2)
        if twice:
            variance += shrink**2 * once**2 * twice * (once - 1) ** 2 / (4 * (twice + 1) ** 4)
        else:
            variance -= shrink**2 * once**4 / (4 * value)
        spread = math.sqrt(variance)
        factor = math.exp(NORMAL * math.sqrt(math.log1p(variance / missing**2)))
        interval = (profile.labels + missing / factor, profile.labels + missing * factor)
    note = Sentence("a lower bound: there may be any number of rarer {labels}")
    return _labels(value, "chao1", spread, interval, note)


def _all_twice(profile: Diagram) -> tuple[float, tuple[float, float]]:
    """Return error and interval if Chao's bound equals the number of labels seen.

    Chao's interval may begin above that number, the estimate; here it never does.
    """
    seen = profile.labels
    counts, prevalences = profile.counts.astype(np.float64), profile.prevalences
    missed = np.exp(-counts)
    variance = float(np.sum(prevalences * missed * (1 - missed)))
    variance -= float(np.sum(counts * missed * prevalences)) ** 2 / profile.total
    spread = math.sqrt(max(variance, 0.0))
    kept = 1 - float(np.sum(missed * prevalences)) / seen
    around, half = seen / kept, NORMAL * spread / kept
    return spread, (float(seen), around + half)


def _promise(profile: Diagram, p_min: Fraction) -> str:
    """Return a note on `p_min`, and on whether the profile has more labels than 1/p_min."""
    promise = f"every label has probability {float(p_min):.3g} or more"
    if profile.labels * p_min > 1:
        promise += ", which cannot be: there are more labels than 1/p_min"
    return promise


def _labels(
    value: float,
    method: str,
    standard_error: float | None,
    interval: tuple[float, float] | None,
    *notes: str,
) -> Estimate:
    return Estimate(
        value=value,
        method=method,
        standard_error=standard_error,
        interval=interval,
        unit="labels",
        notes=notes,
    )


def _possible(labels: float, profile: Diagram, p_min: Fraction) -> float:
    """Clip to the possible range: from the number of labels seen to 1/p_min."""
    return max(float(profile.labels), min(labels, float(1 / p_min)))


_DEGREE = Fraction(45, 100)  # of ln(1/p_min); c0 of the paper
_RIGHT_END = 0.5  # of ln(1/p_min), in expected records of a label; c1 of the paper


def weights(counts: IntArray, total: int, p_min: Fraction) -> FloatArray:
    """Return f(r, n) of each count r, so that the support size is sum f(r, n) phi_r.

    Parameters
    ----------
    counts : (c,) int64, records per label, positive.
    total : records, n.
    p_min : minimum probability of a label, 0 < p_min <= 1.

    Returns
    -------
    (c,) float64, dimensionless; 1 for every count above the degree, and for all counts if n p_min
    is so large that all labels are seen.
    """
    corrections = np.array([0.0, *_corrections(total, p_min)])
    found: FloatArray = 1 + corrections[np.where(counts < len(corrections), counts, 0)]
    return found


def bias_share(total: int, p_min: Fraction) -> float:
    """Bound |E estimate - support size| as a share of the support size, for Poisson counts.

    It is the maximum of exp(-x) |P(x)| over expected counts x >= n p_min, found on a grid.
    """
    if all_are_seen(total, p_min):
        # The estimate is wrong only if a label is missed, which has this probability.
        return math.exp(-min(float(total * p_min), 700.0))
    degree, left, right = _degree(p_min), float(total * p_min), _right_end(p_min)
    # Past the right end |P| grows like x^degree; soon after x = degree, exp(-x) dominates.
    x = np.union1d(np.linspace(left, right, 513), np.linspace(right, right + 8 * degree + 40, 1025))
    logs = _log_chebyshev(degree, (2 * x - right - left) / (right - left))
    at_zero = _log_chebyshev(degree, np.array([(right + left) / (right - left)]))[0]
    return min(float(np.exp(np.max(logs - x) - at_zero)), 1.0)


def all_are_seen(total: int, p_min: Fraction) -> bool:
    """Whether a label of probability p_min is expected so often that none is missed."""
    return float(total * p_min) >= _right_end(p_min)


def _degree(p_min: Fraction) -> int:
    return max(1, math.floor(_DEGREE * Fraction(_log_of_inverse(p_min))))


def _right_end(p_min: Fraction) -> float:
    return _RIGHT_END * _log_of_inverse(p_min)


def _log_of_inverse(p_min: Fraction) -> float:
    """Return ln(1/p_min); the terms of the fraction may exceed the range of floats."""
    return math.log(p_min.denominator) - math.log(p_min.numerator)


@lru_cache(maxsize=256)
def _corrections(total: int, p_min: Fraction) -> tuple[float, ...]:
    """Return b_r r! for r = 1..L, computed exactly and rounded to floats.

    Terms of a Chebyshev polynomial alternate and grow like 2^L, so they are added as fractions.
    """
    if all_are_seen(total, p_min):
        return ()
    left, right = total * p_min, Fraction(_right_end(p_min))
    slope, shift = 2 / (right - left), -(right + left) / (right - left)
    before, now = [Fraction(1)], [shift, slope]
    for _ in range(_degree(p_min) - 1):  # T_{m+1}(y) = 2 y T_m(y) - T_{m-1}(y), y = shift + slope x
        after = [2 * shift * b for b in now] + [Fraction(0)]
        for power, b in enumerate(now):
            after[power + 1] += 2 * slope * b
        for power, b in enumerate(before):
            after[power] -= b
        before, now = now, after
    at_zero = now[0]
    return tuple(
        float(-b / at_zero * math.factorial(power)) for power, b in enumerate(now) if power > 0
    )


def _log_chebyshev(degree: int, y: FloatArray) -> FloatArray:
    """Return ln |T_degree(y)|, also where T itself is too large for a float."""
    outside = degree * np.arccosh(np.maximum(np.abs(y), 1))
    inside = np.abs(np.cos(degree * np.arccos(np.clip(y, -1, 1))))
    logs = np.where(
        np.abs(y) > 1,
        outside + np.log1p(np.exp(-2 * outside)) - math.log(2),
        np.log(np.maximum(inside, 1e-300)),
    )
    return np.asarray(logs)
