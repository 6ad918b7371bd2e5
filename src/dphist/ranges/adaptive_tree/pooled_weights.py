"""Weights of first counts that do not depend on their own noise.

Whether a node is opened depends on its first count. If it is, least squares gives this count a
large weight, because counts below have much noise; if it stops, it is counted again, and the first
count gets a small weight. So positive noise has more weight than negative noise: sums of many nodes
are biased upwards, in two axes by up to 1.6 standard errors. With one weight for all first counts
of a level, their noise has mean 0, whatever it decided.

A correction applies this to the sum of a query: it adds the gaps between first counts and later or
lower ones, each times the difference between the query's mean weight and its own weight.
"""

from dataclasses import dataclass

import numpy as np

from dphist.arrays import FloatArray, IntArray
from dphist.ranges.adaptive_tree.least_squares import DyadicCounts, LeastSquares, Met

SQUARES, GAPS = 3, 2
"""Number of sums: three of gap variances times powers of weights, and two of gaps."""


@dataclass(frozen=True, slots=True)
class Pools:
    """Sums over gaps, by the level of their first counts: the pool.

    Each has the slopes of gaps within it, in case that of the node is 1: gaps times slopes, with
    their weights to the power 0 and 1; and variances of gaps times squared slopes, with their
    weights to the power 0, 1 and 2.

    Attributes
    ----------
    own : list of (5, pools, 2**level) float64, of a node's own gaps: variances, then gaps.
    whole : the same of all gaps in its subtree.
    slopes : list of (2**level,) float64, by which a node's value follows the sum of its halves.
    """

    own: list[FloatArray]
    whole: list[FloatArray]
    slopes: list[FloatArray]

    @property
    def number(self) -> int:
        """The number of pools."""
        return len(self.own[0][0])


def compute_pools(fit: LeastSquares, noisy: DyadicCounts) -> Pools:
    """Return the sums down to the deepest level with a gap; no levels if there is none."""
    levels = sorted(noisy.first)
    reach = [level for level, said in enumerate(fit.said) if _has_gaps(said.own, said.merged)]
    pool = np.full(2**fit.deepest, -1)
    own, slopes = [], []
    for level in range(fit.deepest, -1, -1):
        said = fit.said[level]
        if level < fit.deepest:
            pool = np.where(pool[::2] >= 0, pool[::2], pool[1::2])
        here = levels.index(level) if level in noisy.first else -1
        if level <= max(reach, default=-1):
            sums = np.zeros((SQUARES + GAPS, len(levels), 2**level))
            rest = 1 - said.own.weight
            _add(sums, said.own, np.full(2**level, here), np.ones(2**level))
            if said.merged is not None:
                _add(sums, said.merged, np.where(said.alone, here, pool), rest)
                rest = rest * said.merged.weight
            own.append(sums)
            slopes.append(rest)
        if here >= 0:
            pool = np.where(noisy.first[level][1] > 0, here, pool)
    own, slopes = own[::-1], slopes[::-1]
    whole: list[FloatArray] = []
    for sums, slope in zip(own[::-1], slopes[::-1], strict=True):
        if whole:
            below = whole[-1][..., ::2] + whole[-1][..., 1::2]
            sums = sums + np.concatenate([slope**2 * below[:SQUARES], slope * below[SQUARES:]])
        whole.append(sums)
    return Pools(own, whole[::-1], slopes)


def _has_gaps(own: Met, merged: Met | None) -> bool:
    return bool(own.spread.any() or (merged is not None and merged.spread.any()))


def _add(sums: FloatArray, met: Met, pool: IntArray, slope: FloatArray) -> None:
    """Add the gaps of a level to their pools, times slopes."""
    place = np.flatnonzero(met.spread > 0)
    weight, gap = met.weight[place], slope[place] * met.gap[place]
    spread = slope[place] ** 2 * met.spread[place]
    parts = np.stack([spread, weight * spread, weight**2 * spread, gap, weight * gap])
    sums[:, pool[place], place] += parts


def correction(sums: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the terms that pooling adds to the sums of queries, and to their variances.

    Parameters
    ----------
    sums : (5, pools, ...) float64, over a query's gaps.

    Notes
    -----
    The mean weight minimizes the variance. Gaps are uncorrelated with each other and with the
    least-squares fit, so their variances add to that of the sum.
    """
    spread, first, second, gap, weighted = sums
    some = spread > 0
    mean = np.zeros(spread.shape)
    np.divide(first, spread, out=mean, where=some)
    added = (mean * gap - weighted).sum(axis=0)
    return added, np.maximum(second - mean * first, 0).sum(axis=0)
