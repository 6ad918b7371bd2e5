"""Variances of known counters, in units of what one count of the same zCDP would have.

A count that one event changes by 1 costs rho in zCDP with Gaussian noise of variance
sigma_1**2 = 1 / (2 rho). Here a counter's whole course costs rho, and sigma_1**2 is the unit.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Variance:
    """Of a running count over the times 1 to the horizon: the mean, and the largest."""

    mean: float
    largest: float

    @classmethod
    def of(cls, variances: FloatArray) -> "Variance":
        """Return those of all times."""
        return cls(float(variances.mean()), float(variances.max()))


def binary(horizon: int) -> Variance:
    """Chan, Shi and Song 2011: each count is a sum of the dyadic blocks of its digits."""
    return _by_digits(np.ones(horizon.bit_length()), horizon)


def honaker(horizon: int) -> Variance:
    """Honaker 2015, estimated from below: each block from its own noisy sum and its two halves.

    A block of level i, of variance s_i, is the best mean of its own sum (variance 1) and of two
    blocks one level below (2 s_(i-1)). Only what is known at the time is used.
    """
    levels = horizon.bit_length()
    blocks = np.ones(levels)
    for level in range(1, levels):
        blocks[level] = 1 / (1 + 1 / (2 * blocks[level - 1]))
    return _by_digits(blocks, horizon)


def _by_digits(blocks: FloatArray, horizon: int) -> Variance:
    """Return the variances of sums over the blocks of each time's binary digits.

    An event is in a block of each level, so that their noise is `levels` times sigma_1**2.
    """
    times = np.arange(1, horizon + 1)
    variances = np.zeros(horizon)
    for level, variance in enumerate(blocks.tolist()):
        variances += np.where(times >> level & 1, variance, 0.0)
    return Variance.of(len(blocks) * variances)


def square_root(horizon: int) -> Variance:
    """The square root of the counting matrix (Fichtenberger, Henzinger and Upadhyay 2023).

    Its first column is c_k = (2k choose k) / 4**k; of the two factors, which are the same, one is
    the strategy, of sensitivity |c|, and the other makes a variance c_0**2 + ... + c_t**2 of it.
    """
    k = np.arange(1, horizon)
    column = np.cumprod(np.append(1.0, (2 * k - 1) / (2 * k)))
    sums = np.cumsum(column**2)
    return Variance.of(float(sums[-1]) * sums)


def lower_bound(horizon: int) -> float:
    """The mean variance that no factorization goes below: the square of the nuclear norm / L.

    With A = B C and columns of C of norm at most 1, |A|_* <= |B|_F |C|_F <= |B|_F sqrt(L), and the
    mean variance is |B|_F**2 / L. The singular values of the counting matrix are
    1 / (2 sin((2k - 1) pi / (4L + 2))).
    """
    k = np.arange(1, horizon + 1)
    nuclear = (0.5 / np.sin((2 * k - 1) * (math.pi / (4 * horizon + 2)))).sum()
    return float(nuclear / horizon) ** 2
