"""DAWA: partition, then count (Sec. 2 and 5; grids along a Hilbert curve)."""

from collections.abc import Callable

import numpy as np

from dphist.arrays import FloatArray, IntArray
from dphist.ranges.comparing.published.dawa.partition import bucket_costs, cheapest
from dphist.ranges.comparing.published.dawa.tree import estimate, weights_for
from dphist.ranges.comparing.published.dawa.workloads import Gram, ranges

PARTITION_SHARE = 0.25  # of epsilon, as in the paper's experiments


def dawa(
    counts: IntArray,
    epsilon: float,
    generator: np.random.Generator,
    workload: Callable[[IntArray], Gram] = ranges,
) -> FloatArray:
    """Return estimates of the bins of a line, or of a square whose side is a power of two."""
    if counts.ndim == 2:
        order = hilbert_curve(len(counts))
        found = np.empty(counts.size)
        found[order] = dawa(counts.ravel()[order], epsilon, generator, workload)
        return found.reshape(counts.shape)
    first = PARTITION_SHARE * epsilon
    second = epsilon - first
    edges = cheapest(bucket_costs(counts, first, second, generator))
    sums = np.add.reduceat(counts, edges[:-1]).astype(np.float64)
    weights = weights_for(workload(edges), len(sums))
    size = np.diff(edges)
    return np.repeat(estimate(sums, weights, second, generator) / size, size)


def hilbert_curve(side: int) -> IntArray:
    """Return the cells of a square, row * side + column, in the order of a Hilbert curve."""
    place = np.arange(side * side)
    row, column = np.zeros_like(place), np.zeros_like(place)
    width = 1
    while width < side:
        far = place >> 1 & 1
        turned = (place ^ far) & 1
        flip = (turned == 0) & (far == 1)
        row, column = (
            np.where(flip, width - 1 - row, row),
            np.where(flip, width - 1 - column, column),
        )
        swap = turned == 0
        row, column = np.where(swap, column, row), np.where(swap, row, column)
        row, column = row + width * far, column + width * turned
        place = place >> 2
        width *= 2
    return row * side + column
