"""The second step of DAWA: a binary tree over buckets, weighted greedily (Sec. 4)."""

import numpy as np

from dphist.arrays import FloatArray
from dphist.ranges.comparing.published.dawa.workloads import Gram

_STEPS = 100  # of the search for a node's share


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
    gram = gram.padded(2**height)
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
