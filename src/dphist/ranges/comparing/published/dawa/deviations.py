"""Sums of absolute deviations from the mean, over all windows of a line."""

import numpy as np

from dphist.arrays import FloatArray, IntArray


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
