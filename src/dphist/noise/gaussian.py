"""Exact Gaussian noise rounded to integers, for the zCDP mechanisms."""

import functools
from fractions import Fraction

import numpy as np
from scipy.special import ndtri

from dphist.arrays import BoolArray, IntArray, WordArray
from dphist.noise.enclosures import Enclosure, normal_two_sided_tail
from dphist.noise.inversion import Source, count_thresholds_above, sample_shape
from dphist.parameters import Exact, positive_number

LARGEST_SIGMA = 2**40
"""Above this scale, rounded samples could exceed the integers that float64 represents exactly."""

_WORD = 64
# Assumed bound on the error of floating point, relative to 1 + |x|: 130 times the largest error
# found in SciPy's inverse normal distribution function, and 50 times the error that the test suite
# accepts. The share of samples that are refined is about 5 sigma times this bound; refining one
# sample costs as much as drawing a thousand.
_MARGIN = 2.0**-44
# Below this value (of 2**63), the interval of U is wide relative to U: refine at once.
_FAR_TAIL = 1 << 45


def rounded_gaussian(
    sigma: Exact, size: int | tuple[int, ...], source: Source | None = None
) -> IntArray:
    """Draw independent N(0, sigma**2) real numbers exactly and round each to an integer.

    An integer count plus this noise equals the rounded sum of the count and real Gaussian noise,
    and rounding is post-processing. So an L2 sensitivity D gives D**2 / (2 sigma**2)-zCDP
    (Bun and Steinke 2016, Proposition 1.6) without the discrete Gaussian.

    Parameters
    ----------
    sigma : number above 0, at most 2**40, records; a float means its shortest decimal.
    size : int or tuple of int
        Shape of the result.
    source : callable, optional
        `source(n)` returns n random bytes. For tests only (default: the operating system's
        randomness).

    Returns
    -------
    (size,) int64

    Notes
    -----
    Floating point proposes an integer and marks uncertain samples; integer arithmetic on further
    bits decides these: `docs/proofs/noise.md`, Lemma 5.
    """
    exact = positive_number(sigma, "sigma", LARGEST_SIGMA)
    return sample_shape(size, functools.partial(_sample, exact), source)


def _sample(sigma: Fraction, size: int, source: Source) -> IntArray:
    """Draw (size,) int64 samples; |X| >= k - 1/2 iff U < t_(k-1) for the magnitude k."""
    words = np.frombuffer(source(8 * size), "<u8").astype(np.uint64, copy=False)
    upper = words >> np.uint64(1)  # U = Pr[|N| > x] begins with these 63 bits
    magnitude, sure = _propose(float(sigma), upper)
    tail = functools.partial(_tail, sigma)
    for i in np.nonzero(~sure)[0]:
        word, guess = int(upper[i]), int(magnitude[i])
        magnitude[i] = count_thresholds_above(tail, word, _WORD - 1, source, guess)
    np.negative(magnitude, out=magnitude, where=(words & np.uint64(1)).astype(bool))
    return magnitude


def _propose(sigma: float, upper: WordArray) -> tuple[IntArray, BoolArray]:
    """Return the rounded magnitudes in floating point, and which of them are certain."""
    # Pr[N > x] = U / 2, and the middle of U's interval is (upper + 1/2) / 2**63.
    x = -ndtri(np.minimum((upper + 0.5) * 2.0**-64, 0.5))
    value = sigma * x
    nearest = np.floor(value + 0.5)
    doubt = _MARGIN * (sigma * (1.0 + x) + value)
    sure = (np.abs(value - nearest) + doubt < 0.5) & (upper >= _FAR_TAIL)
    return nearest.astype(np.int64), sure


def _tail(sigma: Fraction, index: int, bits: int) -> Enclosure:
    """Enclose t_i = Pr[|N(0, sigma**2)| >= i + 1/2]."""
    return normal_two_sided_tail((index + Fraction(1, 2)) / sigma, bits)
