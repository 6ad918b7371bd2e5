"""The first step of DAWA: a partition into buckets of least cost, under noise (Sec. 3)."""

import numpy as np

from dphist.arrays import FloatArray, IntArray
from dphist.ranges.comparing.published.dawa.deviations import Deviations


def bucket_costs(
    counts: IntArray, first: float, second: float, generator: np.random.Generator
) -> list[FloatArray]:
    """Return the noisy costs of all buckets of 2**k bins, by k; each is (bins + 1 - 2**k,).

    A bucket costs its deviation and the error 1 / `second` of its own count. Noise has the scale of
    the authors' code: (2 - 1 / length - 1 / bins) / `first`; and none for buckets of one bin, which
    cost the same on all data.
    """
    bins = len(counts)
    deviations = Deviations(counts)
    costs = []
    for k in range(bins.bit_length()):
        length = 2**k
        lo = np.arange(bins + 1 - length)
        cost = deviations.of(lo, lo + length)
        if k:
            scale = (2 - 1 / length - 1 / bins) / first
            cost = np.maximum(cost + generator.laplace(scale=scale, size=len(lo)), 0)
        costs.append(cost + 1 / second)
    return costs


def cheapest(costs: list[FloatArray]) -> IntArray:
    """Return the edges of the partition with the least total cost, 0 and the last included."""
    bins = len(costs[0])
    lists = [cost.tolist() for cost in costs]
    best, start = [0.0] * (bins + 1), [0] * (bins + 1)
    for end in range(1, bins + 1):
        least, from_ = best[end - 1] + lists[0][end - 1], end - 1
        for k in range(1, end.bit_length()):
            lo = end - (1 << k)
            cost = best[lo] + lists[k][lo]
            if cost < least:
                least, from_ = cost, lo
        best[end], start[end] = least, from_
    edges = [bins]
    while edges[-1]:
        edges.append(start[edges[-1]])
    return np.array(edges[::-1])
