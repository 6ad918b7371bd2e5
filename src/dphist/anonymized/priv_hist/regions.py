"""The regions that PrivHist measures: functions of its private total and of noisy counts.

They see no data, so floating point is safe. (A band computes M again; on a machine with another
rounding of the logarithm, M and the band may differ by one.)
"""

import math

import numpy as np

from dphist.arrays import IntArray

_FARTHEST = 2**62  # no count of data is larger


def threshold(total: int, epsilon: float) -> int:
    """Return T = ceil(sqrt(N min(epsilon, 1))): columns up to it, rows beyond (step 2)."""
    return max(1, math.ceil(math.sqrt(total * min(epsilon, 1.0))))


def fake_counts(total: int, epsilon: float) -> int:
    """Return M, the number of fake counts at T and at T + 1 (step 2).

    The noise that moves labels across T exceeds M with probability below N**-2.
    """
    return math.ceil(max(2 * (math.log(total) + epsilon), 1.0) / epsilon)


def last_boundary(total: int) -> int:
    """Return 2 N, the end of the smoothed part; larger counts are clamped to 2 N (step H1)."""
    return min(2 * total, _FARTHEST)


def first_own_boundary(total: int, epsilon: float) -> float:
    """Return T' = 10 sqrt(N / epsilon**3); noisy counts from T' on are boundaries (step H2)."""
    return 10 * math.sqrt(total / epsilon**3)


def boundaries(total: int, start: int, epsilon: float, noisy_counts: IntArray) -> IntArray:
    """Return the ends of the blocks of columns counted together (step H2).

    Parameters
    ----------
    total : N, positive.
    start : T; columns 1..T are blocks of their own.
    epsilon : parameter of the blocks' noise.
    noisy_counts : (l,) int64; each count of T' or more ends a block.

    Returns
    -------
    (k,) int64, ascending, distinct; the last is `last_boundary(total)`.

    Notes
    -----
    Between T and T' ends grow by the factor 1 + q, q = sqrt(ln(1 / epsilon) / (N epsilon)). The
    published q is 0 at epsilon = 1; here the logarithm is replaced by at least 1/2.
    """
    last, own = last_boundary(total), first_own_boundary(total, epsilon)
    growth = math.sqrt(max(-math.log(epsilon), 0.5) / (total * epsilon))
    steps = math.floor(math.log(max(min(own, last) / start, 1.0)) / math.log1p(growth))
    grown = start * np.exp(np.arange(steps + 1) * math.log1p(growth))
    ends = np.concatenate(
        [
            np.arange(1, start),  # T itself is the first of the grown ones
            np.floor(np.minimum(grown, last)).astype(np.int64),
            noisy_counts[noisy_counts >= own],
            [last],
        ]
    )
    return np.unique(ends[ends <= last])
