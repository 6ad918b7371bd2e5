"""Exact two-sided geometric noise, for the pure-epsilon mechanisms."""

import functools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dphist.arrays import IntArray
from dphist.errors import ParameterError
from dphist.noise.enclosures import Enclosure, ceil_shift, exp_negative
from dphist.noise.inversion import Source, sample_shape
from dphist.noise.table import ThresholdTable
from dphist.parameters import Exact, positive_number

SMALLEST_EPSILON = Fraction(1, 10**9)
"""Below this epsilon the tables of thresholds exceed a processor's cache."""

_WORD = 32  # bits drawn at first; each threshold causes one refinement in 2**31 samples
_ONE_TABLE = 2048  # with more thresholds, splitting the law into two tables is faster


def two_sided_geometric(
    epsilon: Exact, size: int | tuple[int, ...], source: Source | None = None
) -> IntArray:
    """Draw independent two-sided geometric noise, exactly.

    Pr[Z = z] = (1 - a) / (1 + a) * a**abs(z) with a = exp(-epsilon), for every integer z.
    Added to integer counts of L1 sensitivity 1 it gives epsilon-differential privacy
    (Ghosh, Roughgarden, Sundararajan 2012).

    Parameters
    ----------
    epsilon : number, 1/10**9 or more; a float means its shortest decimal.
        The parameter of one count: the epsilon of the release divided by its sensitivity.
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
    No floating-point number decides an outcome: `docs/proofs/noise.md`.
    """
    return sample_shape(size, geometric_law(epsilon).sample, source)


def geometric_law(epsilon: Exact) -> "GeometricLaw":
    """Return the tables for `epsilon`, cached."""
    exact = positive_number(epsilon, "epsilon")
    if exact < SMALLEST_EPSILON:
        raise ParameterError("epsilon of a single count must be at least 1e-9")
    return _law(exact)


@dataclass(frozen=True, slots=True)
class GeometricLaw:
    """Tables for sampling |Z|, which is 0 or 1 + block * (N - 1) + B.

    N >= 1 is the number of blocks reached and B in 0..block-1 the position in the last block.
    Given N >= 1 they are independent (`docs/proofs/noise.md`, Lemma 3). With block 1, B is 0.
    """

    block: int
    coarse: ThresholdTable
    fine: ThresholdTable

    def sample(self, size: int, source: Source) -> IntArray:
        """Draw (size,) int64 samples."""
        words = np.frombuffer(source(4 * size), "<u4").astype(np.uint32, copy=False)
        # One bit for the sign, the others for the magnitude.
        magnitude = self.coarse.invert(words >> np.uint32(1), source)
        if self.block > 1:
            reached = magnitude > 0
            words_fine = np.frombuffer(source(4 * size), "<u4").astype(np.uint32, copy=False)
            magnitude = (magnitude - 1) * self.block + 1 + self.fine.invert(words_fine, source)
            magnitude *= reached
        negative = (words & np.uint32(1)).astype(bool)
        np.negative(magnitude, out=magnitude, where=negative)
        return magnitude


@functools.lru_cache(maxsize=64)
def _law(epsilon: Fraction) -> GeometricLaw:
    reach = math.ceil((_WORD - 1) * math.log(2) / epsilon) + 1  # from this index on 2**31 t < 1
    block = 1 if reach <= _ONE_TABLE else math.isqrt(reach)
    coarse = ThresholdTable.build(
        functools.partial(_coarse_powers, epsilon, block),
        functools.partial(_coarse_tail, epsilon, block),
        _WORD - 1,
    )
    fine = ThresholdTable.build(
        functools.partial(_fine_powers, epsilon, block),
        functools.partial(_fine_tail, epsilon, block),
        _WORD,
    )
    return GeometricLaw(block, coarse, fine)


def _coarse_tail(epsilon: Fraction, block: int, index: int, bits: int) -> Enclosure:
    """Enclose t_i = Pr[|Z| >= 1 + block i] = 2 a**(1 + block i) / (1 + a)."""
    work = bits + 16
    low, high = exp_negative(epsilon * (1 + block * index), work)
    return _twice_over_one_plus(low, high, exp_negative(epsilon, work), work, 16)


def _twice_over_one_plus(low: int, high: int, alpha: Enclosure, work: int, guard: int) -> Enclosure:
    """Enclose 2 x / (1 + alpha) for x in [low, high], dropping `guard` bits."""
    one = 1 << work
    return (
        (2 * low << work) // (one + alpha[1]) >> guard,
        ceil_shift(-(-(2 * high << work) // (one + alpha[0])), guard),
    )


def _fine_tail(epsilon: Fraction, block: int, index: int, bits: int) -> Enclosure:
    """Enclose t_i = Pr[B >= i + 1] = (a**(i+1) - a**block) / (1 - a**block)."""
    if index + 1 >= block:
        return 0, 0
    guard = _fine_guard(epsilon, block)
    work = bits + guard
    power = exp_negative(epsilon * (index + 1), work)
    return _truncated(power, exp_negative(epsilon * block, work), work, guard)


def _truncated(power: Enclosure, last: Enclosure, work: int, guard: int) -> Enclosure:
    one = 1 << work
    return (
        max(0, (power[0] - last[1] << work) // (one - last[0])) >> guard,
        ceil_shift(-(-(power[1] - last[0] << work) // (one - last[1])), guard),
    )


def _fine_guard(epsilon: Fraction, block: int) -> int:
    """Return the bits lost by dividing by 1 - a**block, about epsilon * block if that is small."""
    return 16 + max(0, math.ceil(1 / (epsilon * block))).bit_length()


def _coarse_powers(epsilon: Fraction, block: int, work: int) -> list[Enclosure]:
    """Enclose t_0, t_1, ... until they fall below 2**-31, by repeated multiplication."""
    alpha = exp_negative(epsilon, work)
    low, high = alpha
    factor = exp_negative(epsilon * block, work)
    thresholds = []
    while True:
        thresholds.append(_twice_over_one_plus(low, high, alpha, work, 0))
        if thresholds[-1][1] >> (work - _WORD + 1) == 0:
            return thresholds
        low, high = low * factor[0] >> work, ceil_shift(high * factor[1], work)


def _fine_powers(epsilon: Fraction, block: int, work: int) -> list[Enclosure]:
    """Enclose t_0 .. t_(block-2) by repeated multiplication."""
    factor = exp_negative(epsilon, work)
    last = exp_negative(epsilon * block, work)
    low, high = factor
    thresholds = []
    for _ in range(block - 1):
        thresholds.append(_truncated((low, high), last, work, 0))
        low, high = low * factor[0] >> work, ceil_shift(high * factor[1], work)
    return thresholds
