"""What queries ask of buckets: the Gram matrix of a workload, in a form with O(buckets) sums.

Records are spread evenly in a bucket, so a query that cuts a bucket takes a part of it.
"""

from typing import NamedTuple

import numpy as np

from dphist.arrays import FloatArray, IntArray


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

    def padded(self, size: int) -> "Gram":
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


def prefixes(edges: IntArray) -> Gram:
    """Return the products for all prefixes of buckets with these edges.

    Bins i <= j are both in the prefixes that end after j: bins - j.
    """
    bins = int(edges[-1])
    middle, gap = _two_bins(edges)
    return Gram(np.ones(len(middle)), bins - middle, bins - (middle + gap / 2))


def ranges(edges: IntArray) -> Gram:
    """Return the products for all ranges: bins i <= j are both in (i + 1) (bins - j) of them."""
    bins = int(edges[-1])
    middle, gap = _two_bins(edges)
    smaller, larger = middle - gap / 2, middle + gap / 2
    # The product of the smaller and the larger is that of two independent bins.
    own = bins * (smaller + 1) - larger - middle**2
    return Gram(middle + 1, bins - middle, own)


def _two_bins(edges: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the mean place of a bin of each bucket, and the mean distance of two of its bins."""
    size = np.diff(edges).astype(np.float64)
    return (edges[:-1] + edges[1:] - 1) / 2, (size**2 - 1) / (3 * size)
