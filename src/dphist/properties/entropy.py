"""Shannon entropy of the population behind a profile.

The polynomial estimators are those of Wu and Yang, and of Jiao, Venkat, Han and Weissman. For
frequent labels both estimate -p log p by the plug-in value, corrected for its bias of -1/(2 n). For
rare labels they use an unbiased estimate of the best polynomial approximation of -p log p on an
interval [0, reach / n], with `reach` of the order of log n. They differ in constants and in the
transition between the two. Weights are in nats.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import xlog1py, xlogy

from dphist.arrays import FloatArray, IntArray
from dphist.data.diagram import Diagram
from dphist.data.profile import Profile
from dphist.errors import ParameterError
from dphist.parameters import Exact, optional_whole, positive_number
from dphist.properties.chao import chao1, seen_once
from dphist.properties.estimate import (
    NORMAL,
    Estimate,
    Source,
    bound_unseen_share,
    estimate_nothing,
    get_histogram,
    name_source,
)
from dphist.properties.polynomials import Entropy, best_approximation, unbiased
from dphist.properties.resampling import RESAMPLES, include_noise
from dphist.properties.sampling import (
    Population,
    Sampling,
    jackknife,
    likeliest_population,
    sampling,
)
from dphist.sentence import Sentence

LINEAR = ("plug-in", "miller-madow", "wu-yang", "jvhw")
METHODS = (*LINEAR, "apml")
# Without the number of labels, no interval if a larger share of the records has a unique label.
_MOST_ALONE = 0.25
_RARER = 2.0  # nats


def entropy(
    source: Source,
    *,
    method: str = "wu-yang",
    labels: int | None = None,
    base: Exact = 2,
    resamples: int = RESAMPLES,
) -> Estimate:
    """Estimate the Shannon entropy of the population that the records are drawn from.

    Parameters
    ----------
    source : Release or AnonymizedHistogram; or Profile, and the result is then not private.
    method : one of

        - "plug-in": the entropy of the profile itself, too low by about K/(2 n) nats for K
          labels and n records, and by far more if most labels are rare;
        - "miller-madow": the plug-in estimate plus (K - 1)/(2 n), with K labels that occur
          (Miller 1955);
        - "wu-yang", "jvhw": for rare labels, an unbiased estimate of a polynomial that
          approximates -p log p (`dphist.properties.entropy`); minimax rate-optimal;
        - "apml": entropy of the approximate maximum-likelihood population of the profile
          (`dphist.properties.sampling`): best if many labels share few probabilities.
    labels : number of labels of the population, including unseen ones, if known (default: Chao's
        lower bound). "wu-yang", "jvhw" and "apml" use it: unseen labels contribute, and no
        estimate exceeds log(labels).
    base : base of the logarithm, above 1; 2 gives bits.
    resamples : int, from 10 to 10,000
        Runs of a release's mechanism that measure how its noise changes error and interval.

    Raises
    ------
    ParameterError
        If the method is unknown, `labels` below 1, `base` not above 1, or `resamples` out of
        range, or if the mechanism of a release cannot run again.

    Notes
    -----
    Without records, the entropy is 0. All methods except "apml" sum a weight f(r, n) over labels
    with count r (`weights`). Their standard error and bias are computed for the
    maximum-likelihood population of the profile (`dphist.properties.sampling`); the intervals of
    "wu-yang" and "jvhw" include both. The noise of a release is added.

    >>> from dphist import Profile
    >>> profile = Profile.from_counts([4] * 8)
    >>> print(f"{entropy(profile, method='plug-in'):.3f}, {entropy(profile, labels=8):.3f}")
    3.000, 3.000
    """
    profile = get_histogram(source)
    if method not in METHODS:
        raise ParameterError("method", f"must be one of {', '.join(METHODS)}")
    labels = optional_whole(labels, "labels", 1)
    unit_nats = math.log(logarithm_base(base))

    def estimate(histogram: Diagram) -> float:
        return _entropy_in_nats(histogram, method, labels) / unit_nats

    value = estimate(profile)
    if profile.total == 0:
        return estimate_nothing(value, method, name_unit(unit_nats), name_source(source))
    notes = _notes(profile, method, labels)
    error, interval, highest = None, None, math.inf if labels is None else math.log(labels)
    # More labels than `labels`: data contradict the parameter; what is released may have noise.
    if method in LINEAR and (_may_be(profile, labels) or not isinstance(source, Profile)):
        strays = _sampling(profile, method, labels)
        error = strays.spread / unit_nats
        held = _interval_holds(profile, method, labels)
        notes += (strays.note(unit_nats, held),)
        if held:
            below, above = _distances(profile, method, labels, strays)
            ends = value - below / unit_nats, value + above / unit_nats
            interval = max(0.0, ends[0]), min(ends[1], highest / unit_nats)
    found = Estimate(value, method, error, interval, name_unit(unit_nats), notes)
    return include_noise(source, found, estimate, resamples, (0.0, highest / unit_nats))


def _entropy_in_nats(profile: Diagram, method: str, labels: int | None) -> float:
    if method == "apml":
        nats = likeliest_population(profile, _labels_there_are(profile, labels)).entropy()
    else:
        nats = _linear(profile, method, labels)
    return max(0.0, min(nats, _most(profile, method, labels)))


def weights(counts: IntArray, n: int, *, method: str, labels: int | None = None) -> FloatArray:
    """Return f(r, n) for each count r >= 0; the estimate is the sum over all labels.

    Parameters
    ----------
    counts : (k,) int64, records per label; 0 for a label that does not occur.
    n : number of records.
    method : one of `LINEAR`.
    labels : as for `entropy`.

    Returns
    -------
    (k,) float64, nats. Each is of the form of Suresh 2019, section 3.2.
    """
    if method == "wu-yang":
        return polynomial_weights(wu_yang(n, labels), counts, n)
    if method == "jvhw":
        return polynomial_weights(jvhw(n, labels), counts, n)
    if method == "miller-madow":
        # The 1 in (K - 1)/(2 n) is the sum of count/n over all labels.
        found = correct_bias(counts, n) - counts / n / (2 * n)
        return np.where(counts > 0, found, 0.0)
    return Entropy().values(counts / n)


def logarithm_base(base: Exact) -> float:
    """Return the base as a float, checked to be above 1."""
    number = float(positive_number(base, "base"))
    if not number > 1:
        raise ParameterError("base", "must be a number above 1, such as 2 for bits")
    return number


def name_unit(unit_nats: float) -> str:
    """Return the name of the unit of `unit_nats` nats."""
    named = {math.log(2): "bits", 1.0: "nats", math.log(10): "hartleys"}
    return named.get(unit_nats, f"units of {unit_nats:.6g} nats")


def _uses_labels(method: str) -> bool:
    return method in ("wu-yang", "jvhw", "apml")


def _labels_there_are(profile: Diagram, labels: int | None) -> float:
    return chao1(profile) if labels is None else float(max(labels, profile.labels))


def _most(profile: Diagram, method: str, labels: int | None) -> float:
    """Return the maximum of an estimate, in nats."""
    if not _uses_labels(method):
        return math.inf
    return math.log(max(chao1(profile) if labels is None else labels, 1))


def _may_be(profile: Diagram, labels: int | None) -> bool:
    return labels is None or profile.labels <= labels


def _interval_holds(profile: Diagram, method: str, labels: int | None) -> bool:
    """Whether enough is known about unseen labels for an interval."""
    if method not in ("wu-yang", "jvhw"):
        return False
    if labels is None:
        return seen_once(profile) <= _MOST_ALONE * profile.total
    return _may_be(profile, labels)


def _distances(
    profile: Diagram, method: str, labels: int | None, strays: Sampling
) -> tuple[float, float]:
    """Return the distances of the interval's ends below and above the estimate, in nats.

    The standard error for the maximum-likelihood population can be too small by a quarter, since
    that population has few probabilities. The jackknife's can be twice too large if labels are
    rare. The geometric mean is between the two. Without the number of labels, labels may be far
    rarer than Chao's bound implies and the entropy larger: the upper end adds 2 nats times the
    share of records with such labels. These choices were made by measured coverage
    (docs/understand/lab-notes).

    Few records may all miss an event: it would add the entropy of its indicator.
    """
    variance = strays.spread * _jackknife_error(profile, method, labels)
    below = NORMAL * math.sqrt(variance + strays.bias**2)
    missed = bound_unseen_share(profile.total)
    above = math.hypot(below, -xlogy(missed, missed) - xlog1py(1 - missed, -missed))
    if labels is None:
        # The share is about that of records with a unique label (Good 1953).
        above += _RARER * seen_once(profile) / profile.total
    return below, above


def _linear(profile: Diagram, method: str, labels: int | None) -> float:
    """Return the sum of the weights of all labels, seen and unseen, in nats."""
    n = profile.total
    if n == 0:
        return 0.0
    each = weights(profile.counts, n, method=method, labels=labels)
    weight = float(weights(np.zeros(1, np.int64), n, method=method, labels=labels)[0])
    unseen = (_labels_there_are(profile, labels) - profile.labels) * weight
    if labels is None:
        # Chao's bound can be arbitrarily large if hardly any label occurs twice. Cap the sum at
        # its value if all unseen labels had probability 1/n.
        unseen = min(unseen, seen_once(profile) / n * math.log(n))
    return float(profile.prevalences @ each + unseen)


def _sampling(profile: Diagram, method: str, labels: int | None) -> Sampling:
    def weigh(counts: IntArray) -> FloatArray:
        return weights(counts, profile.total, method=method, labels=labels)

    return sampling(profile, weigh, _labels_there_are(profile, labels), Population.entropy)


def _jackknife_error(profile: Diagram, method: str, labels: int | None) -> float:
    """Jackknife standard error of the sum, in nats: a record less changes f(r) to f(r - 1)."""
    now, before = (
        weights(at, profile.total, method=method, labels=labels)
        for at in (profile.counts, profile.counts - 1)
    )
    return jackknife(profile, before - now)


def _notes(profile: Diagram, method: str, labels: int | None) -> tuple[str, ...]:
    """Return the assumptions and limits of an estimate."""
    notes: list[str] = []
    if _uses_labels(method):
        notes.append(
            Sentence(
                "number of {labels}: Chao's lower bound, from the profile; if most unseen {labels} "
                "are far rarer, the entropy is larger"
            )
            if labels is None
            else Sentence("number of {labels}: as given")
        )
    if labels is not None and labels < profile.labels:
        notes.append(Sentence("the profile has more {labels} than were given"))
    n = profile.total
    if labels is not None and n * math.log(max(n, 2)) < labels:
        notes.append("fewer records than labels/log(labels): no method is accurate")
    return tuple(notes)


# Cap on log k. A higher degree fits the curve better, but near the transition the variance grows
# faster than the bias falls (docs/understand/lab-notes).
_MOST = 11.0


@dataclass(frozen=True, slots=True)
class Design:
    """The range of counts for which an estimator uses its polynomial.

    Attributes
    ----------
    degree : degree of the polynomial.
    reach : records; the polynomial approximates the curve for probabilities in [0, reach / n].
    polynomial_until : records; counts up to this use the polynomial only.
    plug_in_from : records; counts from this on use the plug-in only. Between the two, the weight
        shifts linearly.
    """

    degree: int
    reach: float
    polynomial_until: float
    plug_in_from: float


def wu_yang(n: int, labels: int | None) -> Design:
    """Return the design of Wu and Yang 2016, for n records of a population of `labels`.

    Notes
    -----
    "Minimax rates of entropy estimation on large alphabets via best polynomial
    approximation": degree 1.6 log k, reach 3.5 log k, threshold 1.5 log k, where k is the number
    of labels, or n if unknown. Here k is capped at n**2, beyond which the records say nothing
    about most labels, and log k at `_MOST`.
    """
    return wu_yang_at(n, _scale(n, labels))


def wu_yang_at(n: int, scale: float) -> Design:
    """Return the design of Wu and Yang with `scale` for log k."""
    until = math.floor(1.5 * scale)
    return _design(n, math.floor(1.6 * scale), 3.5 * scale, until, until + 1)


def jvhw(n: int, labels: int | None) -> Design:
    """Return a design of Jiao, Venkat, Han and Weissman 2015.

    Notes
    -----
    "Minimax estimation of functionals of discrete distributions": reach 4 c log n. The paper
    splits the sample to distinguish rare from frequent labels. Here, as in the authors' code, the
    sample is not split, and the weight shifts linearly from reach / 2 to reach. c = 1, because
    the authors' c depends on the data and the estimator would not be a sum over labels. Degree
    4 + 1.2 log n, with log n capped at `_MOST`. Independent of `labels`.
    """
    scale = _scale(n, None)
    degree = 4 + math.ceil(1.2 * scale)
    return _design(n, degree, 4 * scale, 2 * scale, 4 * scale)


@lru_cache(maxsize=64)
def small_weights(design: Design, n: int) -> FloatArray:
    """Return the weights of the counts 0, 1, ... that use the polynomial, in nats."""
    most = math.ceil(design.plug_in_from) - 1
    counts = np.arange(most + 1, dtype=np.int64)
    powers = best_approximation(Entropy(), design.degree).powers()
    # With p = x reach / n: -p log p = (reach / n) (-x log x) - p log(reach / n), and p is linear.
    estimates = unbiased(powers, design.reach / n, n, most)
    estimates = estimates - counts / n * math.log(design.reach / n)
    width = design.plug_in_from - design.polynomial_until
    share = np.clip((counts - design.polynomial_until) / width, 0, 1)
    share[0] = 0
    mixed = np.asarray((1 - share) * estimates + share * correct_bias(counts, n))
    mixed.setflags(write=False)
    return mixed


def polynomial_weights(design: Design, counts: IntArray, n: int) -> FloatArray:
    """Return f(r, n) for each count r >= 0 of `counts`; (k,) float64, nats."""
    small = small_weights(design, n)
    place = np.minimum(counts, len(small) - 1)
    return np.asarray(np.where(counts < len(small), small[place], correct_bias(counts, n)))


def correct_bias(counts: IntArray, n: int) -> FloatArray:
    """Return -p log p + 1/(2 n) with p = count/n, the bias-corrected plug-in, in nats."""
    share = counts / n
    return np.asarray(Entropy().values(share) + 1 / (2 * n))


def _scale(n: int, labels: int | None) -> float:
    """Return log k, where k is labels, or n if unknown; between log 2 and `_MOST`."""
    return min(math.log(max(min(labels or n, n * n), 2)), _MOST)


def _design(n: int, degree: int, reach: float, until: float, plug_in_from: float) -> Design:
    """Return a design limited to n records and probabilities up to 1."""
    return Design(max(1, min(degree, n)), min(reach, n), until, plug_in_from)
