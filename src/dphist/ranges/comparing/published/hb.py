"""HB: a tree of equal branching with least squares (Qardaji, Yang, Li 2013). For comparison only.

Every level below the root is counted, with an equal share of epsilon. The number of children is the
one with the smallest mean variance that the paper derives.
"""

import numpy as np

from dphist.arrays import FloatArray, IntArray
from dphist.ranges.consistency import consistent
from dphist.ranges.shape import TreeShape


def hb(counts: IntArray, epsilon: float, generator: np.random.Generator) -> FloatArray:
    """Return estimates of the bins, in the shape of `counts`; unbiased."""
    shape = TreeShape(counts.shape, choose_branching(counts.shape))
    exact = shape.sums(counts)
    height = len(exact) - 1
    noisy = [
        level + generator.laplace(scale=height / epsilon, size=level.shape) for level in exact[1:]
    ]
    weights = [0.0, *[1.0] * height]
    return consistent(shape, [np.zeros(exact[0].shape), *noisy], weights)[-1]


def choose_branching(bins: tuple[int, ...]) -> int:
    """Return the number of children along each axis with the smallest mean variance."""
    side = max(bins)

    def variance(branching: int) -> float:
        height = count_levels(side, branching)
        if len(bins) == 1:
            return mean_variance(branching, height)
        return branching * (side - 1) * height**2  # of a rectangle, up to a factor (Sec. 5.1)

    return min(range(2, side + 1), key=variance)


def mean_variance(branching: int, height: int) -> float:
    """Return the mean variance of a range before least squares, times epsilon²/2 (Eq. 3)."""
    b, h = branching, height
    return (b - 1) * h**3 - 2 * (b + 1) * h**2 / 3


def count_levels(bins: int, branching: int) -> int:
    """Return the number of levels below the root."""
    height = 0
    while branching**height < bins:
        height += 1
    return height
