"""Expected error without data: the mechanism runs on a public profile of the same size.

The public profile is a sample from Zipf's law: its i-th largest count is about A / i, or A / i^s
for a public guess of s. It may also be an older release. A sample, because real counts vary by
chance: mechanisms that infer smooth curves are too good at the smooth curve floor(A / i), and
`AdaptiveScan` had up to 1.6 times the error predicted with it. `docs/understand/lab-notes`
compares errors on thirteen real profiles with the predicted ones.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from dphist.anonymized.band import from_rows_and_columns
from dphist.data.diagram import Diagram
from dphist.data.profile import Profile
from dphist.errors import Argument, ParameterError
from dphist.noise.inversion import Source
from dphist.noise.repeatable import repeatable_source
from dphist.parameters import Exact, positive_number, whole_number
from dphist.release.anonymized_histogram import AnonymizedHistogram
from dphist.release.release import Release

Shape: TypeAlias = Exact | Release
Guess: TypeAlias = tuple[int, Fraction] | Release

_MOST_RUNS = 32
_DRAWS = 400_000  # approximate number of noise draws for an estimate
_LEAST_EXPONENT, _MOST_EXPONENT = 0.2, 3.0
_HALVINGS = 16  # finds the largest count to within 0.1 %
# Larger public guesses would need a profile too long to run on.
_MOST_RECORDS = 10**15


def zipf_profile(labels: int) -> Profile:
    """Return the profile with counts floor(labels / i) for i = 1..labels.

    It equals its conjugate, so its pairs are computed in O(sqrt(labels)).
    """
    root = math.isqrt(labels)
    small = np.arange(1, labels // (root + 1) + 1)
    large = labels // np.arange(1, root + 1)
    return Profile.from_prevalences(
        np.append(small, large),
        np.append(labels // small - labels // (small + 1), np.ones(root, np.int64)),
    )


def fit_zipf_profile(total: int) -> Profile:
    """Return a Zipf profile with about `total` records.

    The sum of floor(A / i) over i is near A (ln A + 2 gamma - 1) (Dirichlet).
    """
    low, high = 0.0, float(total)
    for _ in range(100):
        middle = (low + high) / 2
        if middle * (math.log(max(middle, 1.0)) + 2 * np.euler_gamma - 1) < total:
            low = middle
        else:
            high = middle
    return zipf_profile(round(high))


def public_profile(total: int | None, shape: Shape, otherwise: Profile | None = None) -> Profile:
    """Return the public profile that a mechanism runs on.

    Parameters
    ----------
    total, shape : see `check_guess`.
    otherwise : the profile if neither is given.
    """
    if (
        otherwise is not None
        and total is None
        and not isinstance(shape, Release)
        and positive_number(shape, "shape") == 1
    ):
        return otherwise
    return make_profile(check_guess(total, shape))


def check_guess(total: int | None, shape: Shape) -> Guess:
    """Return a public guess of a profile: its total and exponent, or a release.

    Parameters
    ----------
    total : public guess of the number of records; omitted if `shape` is a release.
    shape : public guess of the curve: an exponent s, for counts proportional to 1 / i^s, or an
        older release. A profile is refused: the error on the data's own would itself leak.
    """
    if isinstance(shape, Release):
        if total is not None:
            raise ParameterError(
                "total",
                "must be omitted where " + Argument("shape") + " is a release, which has one",
            )
        if not isinstance(shape.value, AnonymizedHistogram):
            raise ParameterError("shape", "must be a release of an anonymized histogram")
        return shape
    exponent = positive_number(shape, "shape")
    if not _LEAST_EXPONENT <= exponent <= _MOST_EXPONENT:
        raise ParameterError(
            "shape", f"must be a release or an exponent from {_LEAST_EXPONENT} to {_MOST_EXPONENT}"
        )
    if total is None:
        raise ParameterError("total", "must be given: a public guess of the number of records")
    return whole_number(total, "total", 0, _MOST_RECORDS), exponent


def make_profile(guess: Guess) -> Profile:
    """Return the public profile of a guess."""
    if isinstance(guess, Release):
        return as_data(guess.value)
    total, exponent = guess
    return sample_profile(
        fit_zipf_profile(total) if exponent == 1 else fit_power_profile(total, float(exponent))
    )


def as_data(public: Diagram) -> Profile:
    """Return a public histogram as data, for a mechanism to be tried on."""
    return Profile(public.counts, public.prevalences)


def sample_profile(curve: Profile) -> Profile:
    """Return a profile that has such a curve up to chance, always the same one, in O(sqrt(total)).

    Small counts that many labels have: the number of labels of each count is a draw from a Poisson
    law. Larger counts: each count is one. The means are those of the curve.
    """
    rng = np.random.default_rng(0)  # public: it protects nobody
    counts, prevalences = curve.counts, curve.prevalences
    with_more = np.cumsum(prevalences[::-1])[::-1]
    small = counts <= with_more
    large = rng.poisson(np.repeat(counts[~small], prevalences[~small]))
    every = np.append(counts[small], large)
    of_each = np.append(rng.poisson(prevalences[small]), np.ones(len(large), np.int64))
    kept = (every > 0) & (of_each > 0)
    found, place = np.unique(every[kept], return_inverse=True)
    numbers = np.zeros(len(found), np.int64)
    np.add.at(numbers, place, of_each[kept])
    return Profile.from_prevalences(found, numbers)


def power_profile(largest: float, exponent: float) -> Profile:
    """Return the profile with counts floor(largest / i^exponent), in O(sqrt(total))."""
    root = int(largest ** (1 / (1 + exponent)))
    large = np.floor(largest / np.arange(1, root + 1) ** exponent).astype(np.int64)
    below = int(large[-1]) if root else 0
    reach = np.floor((largest / np.arange(1, below + 1)) ** (1 / exponent)).astype(np.int64)
    columns = np.maximum(reach - root, 0)  # labels after the first, by count
    return as_data(from_rows_and_columns(large, columns))


def fit_power_profile(total: int, exponent: float) -> Profile:
    """Return such a profile with about `total` records."""
    # There are largest^(1 / exponent) labels, and at least as many records.
    low, high = 0.0, min(1.0, exponent) * math.log(max(total, 1)) + 1
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if power_profile(math.exp(middle), exponent).total < total:
            low = middle
        else:
            high = middle
    return power_profile(math.exp(high), exponent)


def error_on(public: Profile, publish: Callable[[Source], Diagram], draws: int | None) -> float:
    """Return the mean distance between a public profile and `publish(source)`.

    Few runs are enough if each averages over many noise draws; where `draws` is None, a run may
    take seconds, and one must do. The random bytes are a fixed stream, so an expected error is
    always the same number.
    """
    runs = 1 if draws is None else max(1, min(_MOST_RUNS, _DRAWS // max(draws, 1)))
    source = repeatable_source()
    return sum(public.distance(publish(source)) for _ in range(runs)) / runs
