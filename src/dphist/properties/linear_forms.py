"""Estimators as sums over labels, and how far one record can move them.

A linear estimator is f = sum over r >= 1 of f(r, n) phi_r, phi_r being how many labels have
count r (Suresh 2019, section 3.2). What counts for a release is its Lipschitz constant

    L = max over r >= 0 of |f(r + 1, n) - f(r, n)|, with f(0, n) = 0,

because one cell more or less of the diagram, n being held, moves the estimate by L at most:
|f(h) - f(H)| <= L |h - H| for profiles h and H at sorted L1 distance |h - H|. Over all counts,
those that the data have and those they do not: which ones they have is secret.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dphist.arrays import FloatArray, IntArray
from dphist.errors import ParameterError
from dphist.parameters import Exact, optional_whole, positive_number, whole_number
from dphist.properties.chebyshev_support import weights as support_weights
from dphist.properties.entropy import LINEAR
from dphist.properties.entropy import weights as entropy_weights
from dphist.properties.renyi import log_power_weights
from dphist.properties.support_coverage import GOOD_TOULMIN, SMOOTHED
from dphist.properties.support_coverage import METHODS as COVERAGE_METHODS
from dphist.properties.support_coverage import weights as coverage_weights
from dphist.properties.uniformity import METHODS as DISTANCE_METHODS
from dphist.properties.uniformity import weights as distance_weights

Weights = Callable[[IntArray, int], FloatArray]

_MOST_RECORDS = 10**7  # every count is looked at, in pieces
_PIECE = 1 << 16


@dataclass(frozen=True, slots=True)
class LinearForm:
    """The weights f(r, n) of one estimator, for properties of the order of 1.

    Attributes
    ----------
    name : property, method, and what the property is divided by.
    weights : f(r, n) of counts (k,) int64, r >= 1, and n; (k,) float64. A weight that unseen
        labels have is taken off all: it adds a constant, for a known number of labels.
    """

    name: str
    weights: Weights

    def lipschitz(self, n: int) -> float:
        """Return L for n records, over all counts r <= n; time O(n).

        Raises
        ------
        ParameterError
            If n is below 1 or above 10**7.
        """
        whole_number(n, "n", 1, _MOST_RECORDS)
        largest = 0.0
        for start in range(0, n, _PIECE):
            counts = np.arange(max(start, 1), min(start + _PIECE, n) + 1, dtype=np.int64)
            values = self.weights(counts, n)
            if start == 0:
                values = np.append(0.0, values)
            largest = max(largest, float(np.max(np.abs(np.diff(values)), initial=0.0)))
        return largest

    def exponent(self, n: int) -> float:
        """Return beta with L = n**(beta - 1); Corollary 1 of Suresh 2019 asks for beta <= 0.5.

        Raises
        ------
        ParameterError
            If n is below 2 or above 10**7.
        """
        whole_number(n, "n", 2, _MOST_RECORDS)
        constant = self.lipschitz(n)
        return 1 + math.log(constant) / math.log(n) if constant > 0 else -math.inf


def entropy_form(method: str = "wu-yang", labels: int | None = None) -> LinearForm:
    """Return the entropy's form, in nats; `method` is not "apml", which is no sum."""
    _among(method, LINEAR)
    known = optional_whole(labels, "labels", 1)

    def weights(counts: IntArray, n: int) -> FloatArray:
        unseen = entropy_weights(np.zeros(1, np.int64), n, method=method, labels=known)
        return entropy_weights(counts, n, method=method, labels=known) - unseen

    return LinearForm(f"entropy, {method}", weights)


def support_size_form(p_min: Exact, method: str = "wu-yang") -> LinearForm:
    """Return the form of the support size over the most there can be, 1/p_min labels."""
    _among(method, ("wu-yang", "plug-in"))
    least = positive_number(p_min, "p_min", 1)

    def weights(counts: IntArray, n: int) -> FloatArray:
        each = np.ones(len(counts)) if method == "plug-in" else support_weights(counts, n, least)
        return each * float(least)

    return LinearForm(f"support size times p_min, {method}", weights)


def support_coverage_form(extra: Exact, method: str | None = None) -> LinearForm:
    """Return the form of the new labels over the further records, `extra` * n."""
    more = positive_number(extra, "extra")
    chosen = method or (GOOD_TOULMIN if more <= 1 else SMOOTHED)
    _among(chosen, COVERAGE_METHODS)

    def weights(counts: IntArray, n: int) -> FloatArray:
        return coverage_weights(counts, n, more, chosen) / float(more * n)

    return LinearForm(f"new labels over further records, {chosen}", weights)


def power_sum_form(order: int) -> LinearForm:
    """Return the unbiased form of the sum of p**order, whose logarithm Rényi's entropy takes."""
    power = whole_number(order, "order", 2)

    def weights(counts: IntArray, n: int) -> FloatArray:
        if n < power:
            raise ParameterError("n must be at least the order")
        return np.exp(log_power_weights(counts, n, power))

    return LinearForm(f"sum of p**{power}, unbiased", weights)


def distance_form(labels: int, method: str = "polynomial") -> LinearForm:
    """Return the form of the distance to the uniform law on `labels` labels."""
    _among(method, DISTANCE_METHODS)
    k = whole_number(labels, "labels", 1)

    def weights(counts: IntArray, n: int) -> FloatArray:
        unseen = distance_weights(np.zeros(1, np.int64), n, labels=k, method=method)
        return distance_weights(counts, n, labels=k, method=method) - unseen

    return LinearForm(f"distance to uniformity, {method}", weights)


def _among(method: str, methods: tuple[str, ...]) -> None:
    if method not in methods:
        raise ParameterError(f"method must be one of {', '.join(methods)}: others are no sums")
