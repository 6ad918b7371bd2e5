"""Polynomial estimators of Shannon entropy: Wu and Yang, and Jiao, Venkat, Han and Weissman.

For frequent labels both estimate -p log p by the plug-in value, corrected for its bias of
-1/(2 n). For rare labels they use an unbiased estimate of the best polynomial approximation of
-p log p on an interval [0, reach / n], with `reach` of the order of log n. They differ in
constants and in the transition between the two. Weights are in nats.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dphist.arrays import FloatArray, IntArray
from dphist.properties.polynomials import Entropy, best_approximation, unbiased

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
    weights = unbiased(powers, design.reach / n, n, most)
    weights = weights - counts / n * math.log(design.reach / n)
    width = design.plug_in_from - design.polynomial_until
    share = np.clip((counts - design.polynomial_until) / width, 0, 1)
    share[0] = 0
    mixed = np.asarray((1 - share) * weights + share * corrected(counts, n))
    mixed.setflags(write=False)
    return mixed


def polynomial_weights(design: Design, counts: IntArray, n: int) -> FloatArray:
    """Return f(r, n) for each count r >= 0 of `counts`; (k,) float64, nats."""
    small = small_weights(design, n)
    place = np.minimum(counts, len(small) - 1)
    return np.asarray(np.where(counts < len(small), small[place], corrected(counts, n)))


def corrected(counts: IntArray, n: int) -> FloatArray:
    """Return -p log p + 1/(2 n) with p = count/n, the bias-corrected plug-in, in nats."""
    share = counts / n
    return np.asarray(Entropy().values(share) + 1 / (2 * n))


def _scale(n: int, labels: int | None) -> float:
    """Return log k, where k is labels, or n if unknown; between log 2 and `_MOST`."""
    return min(math.log(max(min(labels or n, n * n), 2)), _MOST)


def _design(n: int, degree: int, reach: float, until: float, plug_in_from: float) -> Design:
    """Return a design limited to n records and probabilities up to 1."""
    return Design(max(1, min(degree, n)), min(reach, n), until, plug_in_from)
