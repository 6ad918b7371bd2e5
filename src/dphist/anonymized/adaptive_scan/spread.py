"""Standard deviations of a curve that was decoded twice, at each position.

They follow from the model of `refining.py`: the inverse of the banded matrix, near its diagonal,
and the law of a Brownian bridge inside blocks.
"""

import numpy as np

from dphist.anonymized.adaptive_scan.refining import Refined
from dphist.arrays import FloatArray


def deviations(found: Refined) -> FloatArray:
    """Return the standard deviation of the curve at each position; (n,) float64."""
    walk, block = found.walk, found.walk.block
    inverse = band_of_inverse(found.solved.factor)
    start, following, drift = walk.weights()
    total = walk.bridges + found.noise
    pulls = walk.pulls / total[block]
    # How the value at a position depends on its block's three unknowns.
    by = (
        1 - walk.parts - pulls * start[block],
        walk.parts * walk.falls[block] - walk.fallen - pulls * drift[block],
        walk.parts - pulls * following[block],
    )
    variance = walk.variances[block] * walk.parts * (1 - walk.parts) - pulls * walk.pulls
    for p in range(3):
        for q in range(p + 1):
            here = inverse[p - q, q : q + 2 * len(walk.widths) : 2][: len(walk.widths)]
            variance = variance + (1 + (p != q)) * by[p] * by[q] * here[block]
    return np.sqrt(np.maximum(variance, 0))


def band_of_inverse(factor: FloatArray) -> FloatArray:
    """Return the inverse of L L' within the band of L, as lower diagonals; O(size).

    Row by row from the last (Takahashi, Fagan and Chen 1973).

    Parameters
    ----------
    factor : (band + 1, size) float64; the lower diagonals of L.
    """
    band, size = len(factor) - 1, factor.shape[1]
    inverse = np.zeros((band + 1, size))
    after = np.zeros((band, band))  # the inverse at the `band` unknowns that follow
    for j in range(size - 1, -1, -1):
        below = factor[1:, j] / factor[0, j]
        column = -after @ below
        inverse[0, j] = 1 / factor[0, j] ** 2 - below @ column
        inverse[1:, j] = column
        after[1:, 1:] = after[:-1, :-1].copy()
        after[0, 0] = inverse[0, j]
        after[0, 1:] = after[1:, 0] = column[:-1]
    return inverse
