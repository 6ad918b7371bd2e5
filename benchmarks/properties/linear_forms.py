"""Estimators as sums over labels, and their sensitivity to one record.

A linear estimator is f = sum over r >= 1 of f(r, n) phi_r, where phi_r is the number of labels
with count r (Suresh 2019, section 3.2). Its error on a release depends on the Lipschitz constant

    L = max over r >= 0 of |f(r + 1, n) - f(r, n)|, with f(0, n) = 0,

because one cell of the diagram, for fixed n, changes the estimate by at most L:
|f(h) - f(H)| <= L |h - H| for profiles h and H at sorted L1 distance |h - H|. The maximum is over
all counts, because which counts the data have is secret.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dphist.arrays import FloatArray, IntArray
from dphist.errors import ParameterError
from dphist.parameters import Exact, optional_whole, positive_number, whole_number
from dphist.properties.entropy import LINEAR
from dphist.properties.entropy import weights as entropy_weights
from dphist.properties.renyi import log_power_weights
from dphist.properties.support_coverage import GOOD_TOULMIN, SMOOTHED
from dphist.properties.support_coverage import SUMS as COVERAGE_METHODS
from dphist.properties.support_coverage import weights as coverage_weights
from dphist.properties.support_size import weights as support_weights
from dphist.properties.uniformity import METHODS as DISTANCE_METHODS
from dphist.properties.uniformity import weights as distance_weights

Weights = Callable[[IntArray, int], FloatArray]

_MOST_RECORDS = 10**7  # every count is evaluated, in chunks
_PIECE = 1 << 16


@dataclass(frozen=True, slots=True)
class LinearForm:
    """The weights f(r, n) of an estimator, scaled so that the property is of order 1.

    Attributes
    ----------
    name : property, method and divisor of the property.
    weights : f(r, n) of counts (k,) int64, r >= 1, and n; (k,) float64. The weight of unseen
        labels is subtracted from all, which only shifts the estimate if `labels` is known.
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
    """Return the form of the entropy, in nats; not for "apml", which is not linear."""
    _among(method, LINEAR)
    known = optional_whole(labels, "labels", 1)

    def weights(counts: IntArray, n: int) -> FloatArray:
        unseen = entropy_weights(np.zeros(1, np.int64), n, method=method, labels=known)
        return entropy_weights(counts, n, method=method, labels=known) - unseen

    return LinearForm(f"entropy, {method}", weights)


def support_size_form(p_min: Exact, method: str = "wu-yang") -> LinearForm:
    """Return the form of the support size divided by its maximum, 1/p_min."""
    _among(method, ("wu-yang", "plug-in"))
    least = positive_number(p_min, "p_min", 1)

    def weights(counts: IntArray, n: int) -> FloatArray:
        each = np.ones(len(counts)) if method == "plug-in" else support_weights(counts, n, least)
        return each * float(least)

    return LinearForm(f"support size times p_min, {method}", weights)


def support_coverage_form(extra: Exact, method: str | None = None) -> LinearForm:
    """Return the form of the new labels divided by the further records, `extra` * n.

    Default: "good-toulmin" for `extra` up to 1, then "smoothed". The estimators "g-modeling" and
    "chao-jost" are no sums.
    """
    more = positive_number(extra, "extra")
    chosen = method or (GOOD_TOULMIN if more <= 1 else SMOOTHED)
    _among(chosen, COVERAGE_METHODS)

    def weights(counts: IntArray, n: int) -> FloatArray:
        return coverage_weights(counts, n, more, chosen) / float(more * n)

    return LinearForm(f"new labels over further records, {chosen}", weights)


def power_sum_form(order: int) -> LinearForm:
    """Return the unbiased form of the sum of p**order, used for the Rényi entropy."""
    power = whole_number(order, "order", 2)

    def weights(counts: IntArray, n: int) -> FloatArray:
        if n < power:
            raise ParameterError("n", "must be at least the order")
        return np.exp(log_power_weights(counts, n, power))

    return LinearForm(f"sum of p**{power}, unbiased", weights)


def distance_form(labels: int, method: str = "polynomial") -> LinearForm:
    """Return the form of the distance to the uniform distribution on `labels` labels."""
    _among(method, DISTANCE_METHODS)
    k = whole_number(labels, "labels", 1)

    def weights(counts: IntArray, n: int) -> FloatArray:
        unseen = distance_weights(np.zeros(1, np.int64), n, labels=k, method=method)
        return distance_weights(counts, n, labels=k, method=method) - unseen

    return LinearForm(f"distance to uniformity, {method}", weights)


def _among(method: str, methods: tuple[str, ...]) -> None:
    if method not in methods:
        raise ParameterError("method", f"must be one of {', '.join(methods)}: others are no sums")
