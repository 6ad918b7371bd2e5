"""Estimates made private one at a time: Laplace noise on a sum over labels.

What a release of the whole profile competes with (Acharya, Kamath, Sun and Zhang 2018, "INSPECTRE:
Privately estimating the unseen"). For comparison only: the noise is drawn in floating point, whose
outcomes can tell neighbors apart (Mironov 2012).

An estimate is constant + sum of f(r, n) phi_r, with f(0, n) = 0. Two neighboring relations:

- one record more or less, the relation of `dphist.anonymize`. The number of records is secret,
  so a share of epsilon buys a noisy one, N. With N fixed, whatever it came out as, and counts
  above it taken for N, one record moves the estimate by at most
  max over r < N of abs(f(r + 1, N) - f(r, N));
- one record replaced by another, n being public. It leaves a label with s others and joins one
  with r, s + r < n, and moves the estimate by D(r) - D(s), where D(r) = f(r + 1, n) - f(r, n).

Both over all counts that there can be: which of them the data have is secret.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from benchmarks.properties.linear_forms import (
    LinearForm,
    distance_form,
    entropy_form,
    support_coverage_form,
    support_size_form,
)
from dphist import Profile
from dphist.properties.entropy import weights as entropy_weights
from dphist.properties.uniformity import weights as distance_weights

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

_NONE = np.zeros(1, np.int64)


@dataclass(frozen=True, eq=False)
class Property:
    """A sum over labels, in the unit of the property.

    Attributes
    ----------
    name : what is estimated.
    form : weights f(r, n), normalized.
    unit : n -> what the form is multiplied by.
    constant : n -> what all labels would add if none had a record.
    most : n -> the largest value there can be; the least is 0.
    """

    name: str
    form: LinearForm
    unit: Callable[[int], float]
    constant: Callable[[int], float]
    most: Callable[[int], float]

    def weights(self, counts: IntArray, n: int) -> FloatArray:
        """Return f(r, n) of counts (k,) int64 of 0 or more; counts above n are taken for n."""
        found = np.zeros(len(counts))
        some = counts > 0
        found[some] = self.form.weights(np.minimum(counts[some], n), n) * self.unit(n)
        return found

    def estimate(self, profile: Profile, n: int) -> float:
        """Return the sum, as if the number of records were n; not cut to what is possible."""
        seen = profile.prevalences @ self.weights(profile.counts, n)
        return float(self.constant(n) + seen)

    def steps(self, n: int) -> FloatArray:
        """Return D(r), r = 0..n - 1: what one record more does to a label with r records."""
        return np.diff(self.weights(np.arange(n + 1, dtype=np.int64), n))

    def possible(self, value: float, n: int) -> float:
        """Cut to what there can be."""
        return min(max(value, 0.0), self.most(n))


def entropy_bits(labels: int) -> Property:
    """Entropy by Wu and Yang, of a known number of labels; bits."""

    def unseen(n: int) -> float:
        weight = entropy_weights(_NONE, n, method="wu-yang", labels=labels)[0]
        return float(labels * weight / math.log(2))

    form, most = entropy_form("wu-yang", labels), math.log2(labels)
    return Property("entropy, bits", form, lambda n: 1 / math.log(2), unseen, lambda n: most)


def support_size(p_min: Fraction) -> Property:
    """Labels of probability p_min or more, by Wu and Yang."""
    most = float(1 / p_min)
    form = support_size_form(p_min, "wu-yang")
    return Property("support size, labels", form, lambda n: most, lambda n: 0.0, lambda n: most)


def support_coverage(extra: int) -> Property:
    """New labels in `extra` times as many further records."""

    def further(n: int) -> float:
        return float(extra * n)

    name, form = f"new labels, extra={extra}", support_coverage_form(extra)
    return Property(name, form, further, lambda n: 0.0, further)


def distance_to_uniformity(labels: int) -> Property:
    """Half the L1 distance to the uniform law on `labels` labels."""

    def unseen(n: int) -> float:
        return float(labels * distance_weights(_NONE, n, labels=labels, method="polynomial")[0])

    form = distance_form(labels)
    return Property("distance", form, lambda n: 1.0, unseen, lambda n: 1 - 1 / labels)


@lru_cache(maxsize=1 << 14)
def one_record_more_or_less(asked: Property, n: int) -> float:
    """Sensitivity with n fixed, of any data: n need not be their number of records."""
    return asked.form.lipschitz(n) * asked.unit(n)


@lru_cache(maxsize=1 << 10)
def one_record_replaced(asked: Property, n: int) -> float:
    """Sensitivity for data of n records."""
    steps = asked.steps(n)
    # For each s, the largest D(r) with r < n - s.
    largest = np.maximum.accumulate(steps)[::-1]
    return float(np.max(largest - steps))


def over_observed_counts(asked: Property, profile: Profile) -> float:
    """Largest step from the counts that the data have. It depends on the data: not private.

    INSPECTRE's published code for the entropy takes twice the largest step from those of them
    that are small.
    """
    n, counts = profile.total, profile.counts
    return float(np.max(np.abs(asked.weights(counts + 1, n) - asked.weights(counts, n))))


def laplace(sensitivity: float, epsilon: float, random: np.random.Generator) -> float:
    """Draw noise of scale sensitivity/epsilon."""
    return float(random.laplace(scale=sensitivity / epsilon))


def noisy_total(total: int, epsilon: float, random: np.random.Generator) -> int:
    """Release the number of records, which one record more or less changes by 1."""
    return max(1, round(total + laplace(1.0, epsilon, random)))


def private_estimate(
    asked: Property, profile: Profile, n: int, epsilon: float, random: np.random.Generator
) -> float:
    """Release an estimate for neighbors by one record more or less; n was released before."""
    noise = laplace(one_record_more_or_less(asked, n), epsilon, random)
    return asked.possible(asked.estimate(profile, n) + noise, n)


def private_estimate_of_public_size(
    asked: Property, profile: Profile, epsilon: float, random: np.random.Generator
) -> float:
    """Release an estimate for neighbors by one record replaced; n is public."""
    n = profile.total
    noise = laplace(one_record_replaced(asked, n), epsilon, random)
    return asked.possible(asked.estimate(profile, n) + noise, n)
