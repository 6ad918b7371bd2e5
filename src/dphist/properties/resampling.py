"""The effect of a release's noise on an estimate, measured by running the mechanism on samples.

This is a parametric bootstrap (Efron and Tibshirani 1993, "An introduction to the bootstrap").
Samples are drawn from the maximum-likelihood population of the released profile, each in place of
the secret profile, and released with fresh noise. The estimate from such a release differs from
that of its sample about as much as the actual release differs from the secret profile. Only the
release is used, so this is post-processing and costs no privacy.

The released profile itself cannot replace the samples: it is smoother than data, and a mechanism
that looks for smooth parts has a smaller error on it. In trials, the spread was then three
quarters of the true one.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256
from random import Random
from typing import Any, TypeAlias

import numpy as np
from scipy.special import gammaln

from dphist.arrays import FloatArray, IntArray
from dphist.data.diagram import Diagram, merge_pairs
from dphist.data.profile import Profile
from dphist.errors import ParameterError
from dphist.noise import Source as Randomness
from dphist.parameters import whole_number
from dphist.properties.chao import chao1
from dphist.properties.estimate import (
    NORMAL,
    Estimate,
    Source,
    get_histogram,
    name_source,
    plain_number,
)
from dphist.properties.sampling import Population, likeliest_population
from dphist.release.anonymized_histogram import AnonymizedHistogram
from dphist.release.release import Release

RESAMPLES = 100
# Samples, each with a release of it.
Pairs: TypeAlias = tuple[tuple[Profile, AnonymizedHistogram], ...]
# Ten values give a standard deviation to a quarter; thousands add nothing, and all are kept.
FEWEST, MOST = 10, 10_000
_MOST_LABELS = 1e15  # no release says anything about so rare labels


def include_noise(
    source: Source,
    found: Estimate,
    estimate: Callable[[Diagram], float],
    resamples: int,
    within: tuple[float, float] = (-math.inf, math.inf),
    ends: Callable[[Pairs], tuple[float, float]] | None = None,
) -> Estimate:
    """Return `found` as that of `source`: of a release, with its noise in error and interval.

    Parameters
    ----------
    source : what `found` was estimated from.
    found : the estimate, with standard error and interval of sampling alone.
    estimate : the same estimator, for any histogram.
    resamples : int, from 10 to 10,000
        Number of runs of the mechanism.
    within : minimum and maximum of the property.
    ends : the interval of `found`, if it has one, widened by what the samples and their releases
        show; default: by the strays of the estimate, the same on both sides.

    Raises
    ------
    ParameterError
        If `resamples` is out of range, or the mechanism of the release cannot be run.
    """
    runs = whole_number(resamples, "resamples", FEWEST, MOST)
    found = replace(found, source=name_source(source))
    if not isinstance(source, Release):
        return found
    pairs = further_releases(source, runs)
    strays = np.array([estimate(other) - estimate(sample) for sample, other in pairs], np.float64)
    if ends is None or found.interval is None:
        return combine(found, strays, within)
    low, high = ends(pairs)
    return combine(found, strays, within, (max(low, within[0]), min(high, within[1])))


def can_be_run_again(release: Release) -> bool:
    """Whether the mechanism can release data, and is not only a record of another."""
    return callable(getattr(release.mechanism, "release", None))


# The cache holds the samples of the last release, so that all its properties use the same noise:
# about 20 MB for 69 million passwords. Releases are immutable and equal if their content is, so a
# hit is never another release's. Two threads may both run the mechanism; both answers are valid.
@lru_cache(maxsize=1)
def further_releases(
    release: Release, resamples: int, randomness: Randomness | None = None
) -> Pairs:
    """Return samples that stand for the secret profile, each with a release of it.

    Parameters
    ----------
    randomness : for tests only. The default is a fixed seed, so that a release has one answer;
        these samples are not secret and protect nobody.

    Notes
    -----
    Each takes about as long as a release of the data. Samples are drawn from the
    maximum-likelihood population of the released profile, with at most Chao's bound of labels.
    """
    drawn = Random(0).randbytes if randomness is None else randomness  # noqa: S311 - no secret
    return _release_again(release, find_likeliest(release), resamples, drawn)


@lru_cache(maxsize=1)
def even_releases(release: Release, resamples: int) -> Pairs:
    """Return the same for the even population: what noise makes of labels without peaks.

    The seed follows from the released profile. With one seed for all releases, a tail that these
    runs happen to miss would be missed for all of them.
    """
    released = get_histogram(release)
    content = released.counts.tobytes() + released.prevalences.tobytes()
    seed = int.from_bytes(sha256(content).digest(), "big")
    return _release_again(release, make_even_population(release), resamples, Random(seed).randbytes)  # noqa: S311 - no secret


def _release_again(
    release: Release, population: Population, resamples: int, drawn: Randomness
) -> Pairs:
    mechanism: Any = release.mechanism
    if not can_be_run_again(release):
        raise ParameterError(
            "source",
            "must be a release whose mechanism can be run again",
            "for an estimate without its noise, pass release.value",
        )
    generator = np.random.default_rng(int.from_bytes(drawn(16), "big"))
    records = get_histogram(release).total
    samples = [draw_sample(population, records, generator) for _ in range(resamples)]
    return tuple((each, mechanism.release(each, drawn).value) for each in samples)


@lru_cache(maxsize=1)
def find_likeliest(release: Release) -> Population:
    """Return the maximum-likelihood population of the released profile, labels by Chao's bound."""
    released = get_histogram(release)
    return likeliest_population(released, min(chao1(released), _MOST_LABELS))


def make_even_population(release: Release) -> Population:
    """Return a population of as many labels, by Chao's bound, which are all equally probable."""
    labels = min(chao1(get_histogram(release)), _MOST_LABELS)
    return Population(np.array([1 / labels]), np.array([labels]))


def draw_sample(population: Population, records: int, random: np.random.Generator) -> Profile:
    """Draw a profile: the count of a label is Poisson with mean `records` times its probability.

    So the total has standard deviation sqrt(`records`). Time is O(distinct counts), not O(labels).
    """
    counts, prevalences = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for share, labels in zip(population.probabilities, population.labels, strict=True):
        mean, many = float(share) * records, round(float(labels))
        # All but 1e-12 of the Poisson law. Loop over counts or over labels, whichever are fewer.
        reach = 8 * math.sqrt(mean) + 20
        if many <= 2 * reach:
            counts.append(random.poisson(mean, many))
            prevalences.append(np.ones(many, np.int64))
        else:
            counts.append(np.arange(max(0, math.floor(mean - reach)), math.ceil(mean + reach) + 1))
            prevalences.append(random.multinomial(many, _poisson(counts[-1], mean)))
    return Profile(*merge_pairs(np.concatenate(counts), np.concatenate(prevalences)))


def _poisson(support: IntArray, mean: float) -> FloatArray:
    """Return the Poisson probabilities of `support`, normalized."""
    chances = np.exp(support * math.log(mean) - mean - gammaln(support + 1.0))
    return np.asarray(chances / chances.sum())


def combine(
    found: Estimate,
    strays: FloatArray,
    within: tuple[float, float],
    interval: tuple[float, float] | None = None,
) -> Estimate:
    """Return `found` with spread and mean of `strays` added to its error and interval.

    Parameters
    ----------
    strays : (b,) float64, estimates from further releases minus those from their samples.
    within : minimum and maximum of the property.
    interval : the interval with the noise, where the strays of the estimate are not all it needs.

    Notes
    -----
    The error of an estimate is the sum of two parts, one from the sampling of records and one from
    the noise, which is independent of the records:

    - standard errors are added in quadrature, and so are the distances of the interval's ends from
      the value: those of sampling and 1.96 standard deviations of `strays`;
    - the mean of `strays` estimates the bias of noise and decoding. The value is not corrected by
      it: that would add noise, and the estimate is too large for smooth distributions, because the
      maximum-likelihood population is a step function. Only the interval's end on the side of the
      correction is moved.

    The limits of the released profile no longer clip the ends: noise may have added labels.
    """
    if not (math.isfinite(found.value) and np.all(np.isfinite(strays))):
        note = "the noise of the release is not told: without bound in some of its further releases"
        if interval is not None:
            note = "in some further releases the estimate has no bound; the interval includes this"
        return replace(found, standard_error=None, interval=interval, notes=(*found.notes, note))
    noise, shift = float(np.std(strays, ddof=1)), float(np.mean(strays))
    error = found.standard_error
    if interval is None and found.interval is not None:
        interval = found.interval
        below = math.hypot(max(found.value - interval[0], 0.0), NORMAL * noise)
        above = math.hypot(max(interval[1] - found.value, 0.0), NORMAL * noise)
        low = found.value - below - max(shift, 0.0)
        high = found.value + above + max(-shift, 0.0)
        interval = (max(low, within[0]), min(high, within[1]))
    held = "the standard error includes it" if error is not None else "no error includes it"
    if interval is not None:
        held = "the interval includes it"
        if error is not None:
            held = "the standard error and the interval include it"
    note = (
        f"the noise of the release has standard deviation {_in_unit(noise, found.unit)} and mean"
        f" {_in_unit(shift, found.unit)}, by {len(strays)} further releases; {held}"
    )
    return replace(
        found,
        standard_error=None if error is None else math.hypot(error, noise),
        interval=interval,
        notes=(*found.notes, note),
    )


def _in_unit(number: float, unit: str) -> str:
    """Format a number without its unit; shares in percent, as in reports."""
    return f"{plain_number(100 * number)} %" if unit == "share of records" else plain_number(number)
