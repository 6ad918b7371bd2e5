"""DAWA (Li, Hay, Miklau, Wang 2014): partition, then count. For comparison only.

A quarter of epsilon chooses a partition into buckets of nearly equal bins (Sec. 3); the rest counts
a binary tree over the buckets, with weights that suit all ranges (Sec. 4). Records are spread
evenly over a bucket. A grid is taken along a Hilbert curve.
"""

from typing import NamedTuple

import numpy as np

from dphist.arrays import FloatArray, IntArray

PARTITION_SHARE = 0.25  # of epsilon, as in the paper's experiments
_STEPS = 100  # of the search for a node's share


def dawa(counts: IntArray, epsilon: float, generator: np.random.Generator) -> FloatArray:
    """Return estimates of the bins of a line, or of a square whose side is a power of two."""
    if counts.ndim == 2:
        order = hilbert_curve(len(counts))
        found = np.empty(counts.size)
        found[order] = dawa(counts.ravel()[order], epsilon, generator)
        return found.reshape(counts.shape)
    first = PARTITION_SHARE * epsilon
    second = epsilon - first
    edges = cheapest(bucket_costs(counts, first, second, generator))
    sums = np.add.reduceat(counts, edges[:-1]).astype(np.float64)
    weights = weights_for(compute_gram(edges), len(sums))
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


class Deviations:
    """Deviations of windows of a line of counts: O(log bins) each, vectorized.

    Parameters
    ----------
    counts : (bins,) int64

    Notes
    -----
    A window's deviation is twice what its bins below the mean lack. Their number and sum are found
    with a wavelet matrix: bins partitioned by one bit of their rank after the other.
    """

    def __init__(self, counts: IntArray) -> None:
        self._sums = np.append(0, np.cumsum(counts))
        self._values, ranks = np.unique(counts, return_inverse=True)
        values = counts
        self._levels = []
        for bit in range(len(self._values).bit_length() - 1, -1, -1):
            low = (ranks >> bit & 1) == 0
            number = np.append(0, np.cumsum(low))
            below = np.append(0, np.cumsum(np.where(low, values, 0)))
            self._levels.append((bit, number, below))
            order = np.argsort(~low, kind="stable")
            ranks, values = ranks[order], values[order]

    def of(self, lo: IntArray, hi: IntArray) -> FloatArray:
        """Return the deviations of the windows of bins lo, ..., hi - 1."""
        mean = (self._sums[hi] - self._sums[lo]) / (hi - lo)
        number, total = self._below(lo, hi, np.searchsorted(self._values, mean))
        found: FloatArray = 2 * (number * mean - total)
        return np.maximum(found, 0)

    def _below(self, lo: IntArray, hi: IntArray, rank: IntArray) -> tuple[IntArray, IntArray]:
        """Return how many bins of each window have a lower rank, and their sum."""
        found, total = np.zeros_like(lo), np.zeros_like(lo)
        for bit, number, below in self._levels:
            low_lo, low_hi = number[lo], number[hi]
            up = (rank >> bit & 1) == 1
            found += np.where(up, low_hi - low_lo, 0)
            total += np.where(up, below[hi] - below[lo], 0)
            lo = np.where(up, number[-1] + lo - low_lo, low_lo)
            hi = np.where(up, number[-1] + hi - low_hi, low_hi)
        return found, total


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


class Gram(NamedTuple):
    """Products of the columns of a workload, where all queries weigh the same.

    Attributes
    ----------
    left, right : (buckets,) float64; for a < b, the product of columns a and b is
        left[a] * right[b].
    own : (buckets,) float64, the squares of columns.
    """

    left: FloatArray
    right: FloatArray
    own: FloatArray

    def pad(self, size: int) -> "Gram":
        """Return the products with further buckets that no query takes, `size` in all."""
        more = (0, size - len(self.own))
        return Gram(*(np.pad(part, more) for part in self))

    def squares(self, weights: FloatArray) -> FloatArray:
        """Return, by row of (nodes, size) weights, the sum over queries of (what it takes)².

        A row has the weights of as many consecutive buckets.
        """
        left, right, own = (part.reshape(weights.shape) * weights for part in self)
        before = np.cumsum(left, axis=1) - left
        found: FloatArray = (own * weights).sum(axis=1) + 2 * (before * right).sum(axis=1)
        return found


def compute_gram(edges: IntArray) -> Gram:
    """Return the products for all ranges of bins, of buckets with these edges.

    Records are spread evenly in a bucket, so a range that cuts a bucket takes a part of it. Bins
    i <= j are both in (i + 1) (bins - j) of the ranges.
    """
    bins, size = int(edges[-1]), np.diff(edges).astype(np.float64)
    # The mean place of a bin of each bucket, and the mean distance of two of its bins.
    middle, gap = (edges[:-1] + edges[1:] - 1) / 2, (size**2 - 1) / (3 * size)
    smaller, larger = middle - gap / 2, middle + gap / 2
    # The product of the smaller and the larger is that of two independent bins.
    own = bins * (smaller + 1) - larger - middle**2
    return Gram(middle + 1, bins - middle, own)


def weights_for(gram: Gram, buckets: int) -> list[FloatArray]:
    """Return the weights of all nodes by level, each (2**level,); on each path they add up to 1.

    From the bottom up, each node divides the weight of its path between itself and its subtree, so
    that the squared error of the queries' parts in its subtree is smallest. As in the authors'
    code, what a node gains counts less the deeper it is, because later choices above it also help.

    Parameters
    ----------
    gram : what is asked of the buckets.
    buckets : there are as many; more, up to a power of two, do not exist.
    """
    height = (buckets - 1).bit_length()
    gram = gram.pad(2**height)
    exists = (np.arange(2**height) < buckets).astype(np.float64)
    spread = exists  # (2**height,): rows of the covariance of a node's buckets, summed
    variance = exists  # (nodes,), of the sum of a node, in units of a count of weight 1
    error = squares = gram.own
    shares = []
    portion = np.arange(_STEPS, 0, -1)[:, None] / _STEPS  # that a node leaves to its subtree
    for level in range(height - 1, -1, -1):
        whole = gram.squares(spread.reshape(2**level, -1))
        parts, errors, variance = (_pairs(of) for of in (squares, error, variance))
        decay = 2 ** (-level / 2)
        gained = (1 - portion) ** 2 * decay
        saved = ((whole - parts) * decay + parts) * gained / (portion**2 + gained * variance)
        tried = (errors - saved) / portion**2
        best = tried.argmin(axis=0)
        error = tried[best, np.arange(2**level)]
        kept = portion[best, 0]
        shares.append(kept)
        shrunk = 1 / (kept**2 + (1 - kept) ** 2 * variance)
        spread = spread * np.repeat(shrunk, 2 ** (height - level))
        variance, squares = variance * shrunk, whole * shrunk**2
    left = np.ones(1)
    found = []
    for kept in shares[::-1]:
        found.append(left * (1 - kept))
        left = np.repeat(left * kept, 2)
    return [*found, left]


def estimate(
    sums: FloatArray, weights: list[FloatArray], epsilon: float, generator: np.random.Generator
) -> FloatArray:
    """Return least-squares estimates of the buckets from noisy counts of all weighted nodes."""
    height, buckets = len(weights) - 1, len(sums)
    exact = [np.pad(sums, (0, 2**height - buckets))]
    for _ in range(height):
        exact.append(_pairs(exact[-1]))
    value = np.zeros(2**height)
    variance = np.where(np.arange(2**height) < buckets, np.inf, 0.0)
    values, variances = [], []
    for level in range(height, -1, -1):
        if level < height:
            value, variance = _pairs(value), _pairs(variance)
        scale = np.divide(1, epsilon * weights[level], where=weights[level] > 0,
                          out=np.full(2**level, np.inf))  # fmt: skip
        noise = generator.laplace(size=2**level)
        counted = np.isfinite(scale) & (variance > 0)
        own = exact[height - level] + noise * np.where(counted, scale, 0)
        gain = np.where(counted, 1.0, 0.0)
        finite = counted & np.isfinite(variance)
        gain[finite] = variance[finite] / (variance[finite] + scale[finite] ** 2)
        left = np.where(finite, (1 - gain) * np.where(finite, variance, 0), variance)
        left[counted & ~finite] = scale[counted & ~finite] ** 2
        value, variance = value + gain * (own - value), left
        values.append(value)
        variances.append(variance)
    values, variances = values[::-1], variances[::-1]
    found: FloatArray = values[0]
    for level in range(1, height + 1):
        rest = found - _pairs(values[level])
        total = _pairs(variances[level])
        each = np.divide(rest, total, where=total > 0, out=np.zeros(len(rest)))
        found = values[level] + np.repeat(each, 2) * variances[level]
    return found[:buckets]


def _pairs(values: FloatArray) -> FloatArray:
    found: FloatArray = values.reshape(-1, 2).sum(axis=1)
    return found
