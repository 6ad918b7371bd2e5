"""Polynomial estimators of Shannon entropy: Wu and Yang, and Jiao, Venkat, Han and Weissman.

Both estimate the terms -p log p of frequent labels by the plug-in value, with its bias of
-1/(2 n) put right, and those of rare labels by an unbiased estimate of the polynomial that
comes nearest to -p log p on an interval [0, reach / n] with `reach` of the order of log n.
They differ in constants and in how one goes over into the other. Weights are in nats.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dphist.arrays import FloatArray, IntArray
from dphist.properties.polynomials import Entropy, best_approximation, unbiased

# A polynomial of higher degree follows the curve more closely, but between the counts it is used
# for and those it is not, its error grows faster than that falls (docs/benchmarks.md).
_MOST = 11.0


@dataclass(frozen=True, slots=True)
class Design:
    """Where a polynomial estimator uses its polynomial.

    Attributes
    ----------
    degree : of the polynomial.
    reach : records; the polynomial is near the curve for probabilities in [0, reach / n].
    polynomial_until : records; labels with counts up to it get the polynomial alone.
    plug_in_from : records; labels with counts from it on get the plug-in alone. Between the
        two, the shares of both change linearly.
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
    approximation": degree 1.6 log k, reach 3.5 log k, threshold 1.5 log k, k the
    number of labels; n stands for it where it is not known. Here k is not let be above n**2,
    beyond which nothing is known of most labels, and log k not above `_MOST`.
    """
    return wu_yang_at(n, _scale(n, labels))


def wu_yang_at(n: int, scale: float) -> Design:
    """Return their design with `scale` in place of log k."""
    until = math.floor(1.5 * scale)
    return _design(n, math.floor(1.6 * scale), 3.5 * scale, until, until + 1)


def jvhw(n: int, labels: int | None) -> Design:
    """Return a design of Jiao, Venkat, Han and Weissman 2015.

    Notes
    -----
    "Minimax estimation of functionals of discrete distributions": reach 4 c log n. There the
    sample is split to tell rare labels from frequent ones; as the authors do in practice, nothing
    is split here, and the shares change linearly from reach / 2 to reach. c = 1 (theirs depends
    on the data, which would make the estimator no sum over labels) and degree 4 + 1.2 log n, log n
    not above `_MOST`. Independent of `labels`.
    """
    scale = _scale(n, None)
    degree = 4 + math.ceil(1.2 * scale)
    return _design(n, degree, 4 * scale, 2 * scale, 4 * scale)


@lru_cache(maxsize=64)
def small_weights(design: Design, n: int) -> FloatArray:
    """Return the weights of counts 0, 1, ... for which `design` uses its polynomial; nats."""
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
    """Return -p log p + 1/(2 n) with p = count/n: of least bias for frequent labels; nats."""
    share = counts / n
    return np.asarray(Entropy().values(share) + 1 / (2 * n))


def _scale(n: int, labels: int | None) -> float:
    """Return log k, k the labels or else the records; from log 2 to `_MOST`."""
    return min(math.log(max(min(labels or n, n * n), 2)), _MOST)


def _design(n: int, degree: int, reach: float, until: float, plug_in_from: float) -> Design:
    """Keep a design within what n records and probabilities up to 1 allow."""
    return Design(max(1, min(degree, n)), min(reach, n), until, plug_in_from)
