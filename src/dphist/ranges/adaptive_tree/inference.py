"""Inference of all nodes of a binary tree from noisy counts of some: post-processing.

Up: least squares by inverse variance. Down: the posterior mean of each split under a fixed prior on
the first half's share, given the estimate of the parent's split. The prior's contribution at each
split is then carried up, so that low splits inform their ancestors (expectation propagation, in its
simplest form).
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dphist.arrays import FloatArray, IntArray
from dphist.ranges.adaptive_tree.share_prior import ANY_KIND, SHARE_VARIANCES, share_posterior

SWEEPS = 3


class Sites(NamedTuple):
    """The prior's effect at each split of a level: first half ~ N(share * node, 1 / weight)."""

    share: FloatArray
    weight: FloatArray


class Fit(NamedTuple):
    """Estimates of all nodes down to some level.

    Attributes
    ----------
    counts : list of (2**level,) float64, records, none negative, each the sum of its halves.
    spreads : list of (2**level,) float64, records squared, one for each level but the last
        The remaining variance of each node's split, under the prior.
    roughness : list of (2**level,) float64, for every level
        Expected variance of the first half's share of each node, given its parent's split.
    """

    counts: list[FloatArray]
    spreads: list[FloatArray]
    roughness: list[FloatArray]


class Measured:
    """Noisy counts so far: their average for each node, and its precision (0: none).

    Parameters
    ----------
    sizes : list of (2**level,) int, as `DyadicShape.sizes` makes them.
    """

    __slots__ = ("deepest", "precisions", "sizes", "values")

    def __init__(self, sizes: list[npt.NDArray[np.int32]]) -> None:
        self.sizes = sizes
        self.values: dict[int, FloatArray] = {}
        self.precisions: dict[int, FloatArray] = {}
        self.deepest = 0

    def take(self, level: int, nodes: IntArray, counts: IntArray, variance: float) -> None:
        """Average noisy counts of distinct nodes with earlier ones, weighted by precision."""
        if level not in self.values:
            self.values[level] = np.zeros(2**level)
            self.precisions[level] = np.zeros(2**level)
        value, precision = self.values[level], self.precisions[level]
        before, more = precision[nodes], 1 / variance
        value[nodes] = (before * value[nodes] + more * counts) / (before + more)
        precision[nodes] = before + more
        self.deepest = max(self.deepest, level)


def infer(measured: Measured, sweeps: int = SWEEPS) -> Fit:
    """Estimate all nodes down to the deepest measured level."""
    sites: list[Sites] | None = None
    for _ in range(sweeps):
        values, variances = _sweep_up(measured, sites)
        fit, sites = _sweep_down(measured, values, variances)
    return fit


def spread_evenly(counts: FloatArray, sizes: list[npt.NDArray[np.int32]]) -> FloatArray:
    """Split nodes below the deepest count evenly by bins, down to the bins.

    `counts` are those of the deepest level of a fit. Returns those of the bins, in the tree's
    order.
    """
    while len(counts) < len(sizes[-1]):
        level = len(counts).bit_length()
        first = counts * _even(sizes[level])
        counts = halves(first, counts - first)
    return counts


def _even(sizes: npt.NDArray[np.int32]) -> FloatArray:
    """Return the first half's share of the bins, given the sizes of all halves."""
    first, second = sizes[::2], sizes[1::2]
    share: FloatArray = first / np.maximum(first + second, 1)
    return share


def halves(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the values of a level's nodes, given those of all first and of all second halves."""
    both = np.empty(2 * len(first))
    both[::2], both[1::2] = first, second
    return both


def _sweep_up(
    measured: Measured, sites: list[Sites] | None
) -> tuple[list[FloatArray], list[FloatArray]]:
    """Return the estimate of each node from its subtree only, and its variance (inf: none)."""
    depth = measured.deepest
    # A node that does not exist is empty.
    value = np.zeros(2**depth)
    variance = np.where(measured.sizes[depth] > 0, np.inf, 0.0)
    values, variances = [], []
    for level in range(depth, -1, -1):
        if level < depth:
            value, variance = _of_halves(value, variance, None if sites is None else sites[level])
        if level in measured.values:
            value, variance = _combined(
                value, variance, measured.values[level], measured.precisions[level]
            )
        values.append(value)
        variances.append(variance)
    return values[::-1], variances[::-1]


def _of_halves(
    value: FloatArray, variance: FloatArray, sites: Sites | None
) -> tuple[FloatArray, FloatArray]:
    first, second, v_first, v_second = value[::2], value[1::2], variance[::2], variance[1::2]
    summed, total = first + second, v_first + v_second
    if sites is None:
        return summed, total
    # The prior at a split: first - share * (first + second) is 0, with variance 1 / weight.
    share, weight = sites
    use = np.flatnonzero((weight > 0) & np.isfinite(total) & (total > 0))
    share, weight, v_first, v_second = share[use], weight[use], v_first[use], v_second[use]
    shared = (1 - share) * v_first - share * v_second
    off = (1 - share) * first[use] - share * second[use]
    gain = weight * shared / (1 + weight * ((1 - share) ** 2 * v_first + share**2 * v_second))
    summed[use] -= gain * off
    total[use] = np.maximum(total[use] - gain * shared, 1e-9)
    return summed, total


def _combined(
    value: FloatArray, variance: FloatArray, own: FloatArray, precision: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Average the estimate from the halves with the node's own noisy count."""
    counted = precision > 0
    alone = counted & np.isinf(variance)
    both = counted & ~alone
    ratio = np.where(both, variance, 0.0) * precision
    gain = np.where(alone, 1.0, ratio / (1 + ratio))
    left = np.where(both, variance / (1 + ratio), variance)
    left[alone] = 1 / precision[alone]
    return value + gain * (own - value), left


def _sweep_down(
    measured: Measured, values: list[FloatArray], variances: list[FloatArray]
) -> tuple[Fit, list[Sites]]:
    counts = [np.maximum(values[0], 0)]
    spreads, sites = [], []
    # Few nodes have measured splits; the others refer to the kinds of an ancestor.
    kinds, row = ANY_KIND, np.zeros(1, np.int64)
    roughness = [kinds @ SHARE_VARIANCES]
    for level in range(1, len(values)):
        first, spread, site, use, found = _split(
            counts[-1],
            values[level],
            variances[level],
            measured.sizes[level],
            roughness[-1],
            row,
            kinds,
        )
        row[use] = np.arange(len(kinds), len(kinds) + len(use))
        kinds = np.concatenate([kinds, found])
        row = np.repeat(row, 2)
        roughness.append((kinds @ SHARE_VARIANCES)[row])
        counts.append(halves(first, counts[-1] - first))
        spreads.append(spread)
        sites.append(site)
    return Fit(counts, spreads, roughness), sites


def _split(
    total: FloatArray,
    value: FloatArray,
    variance: FloatArray,
    sizes: npt.NDArray[np.int32],
    roughness: FloatArray,
    row: IntArray,
    kinds: FloatArray,
) -> tuple[FloatArray, FloatArray, Sites, IntArray, FloatArray]:
    """Return the first half of each node, its posterior variance, and the prior's contribution.

    Also returns which nodes have a measured split, and the probabilities of its kinds.
    `kinds[row]` are those of the parents' splits.
    """
    even = _even(sizes)
    spread = np.where(sizes[1::2] > 0, roughness * total**2, 0.0)
    found = kinds[:0]
    first = total * even
    site_share, site_weight = np.full(len(total), 0.5), np.zeros(len(total))
    v_first, v_second = variance[::2], variance[1::2]
    informed = np.isfinite(v_first) | np.isfinite(v_second)
    use = np.flatnonzero(informed & (sizes[1::2] > 0) & (total > 0))
    if len(use):
        whole = total[use]
        precision_first, precision_second = 1 / v_first[use], 1 / v_second[use]
        precision = precision_first + precision_second
        estimate = precision_first * value[::2][use]
        estimate += precision_second * (whole - value[1::2][use])
        estimate /= precision
        mean, between, posterior, found = share_posterior(
            estimate, 1 / precision, whole, even[use], kinds[row[use]]
        )
        first[use] = mean
        spread[use] = posterior
        # Carry up only the component of the prior, not the position within it: measured errors
        # are 10 to 20 % smaller than with the whole variance.
        kept = np.maximum(between, 1e-4 / precision)
        weight = np.maximum(1 / kept - precision, 0)
        some = weight > 0
        center = (mean / kept - estimate * precision) / np.where(some, weight, 1) / whole
        site_share[use] = np.clip(np.where(some, center, 0.5), 0, 1)
        site_weight[use] = weight
    return first, spread, Sites(site_share, site_weight), use, found
