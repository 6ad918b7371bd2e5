"""Least squares on the noisy counts of a binary tree, without a prior, and its variances.

The error bars of an adaptive tree use only this. First counts are separate from later ones. Nodes
below the counted ones are not estimated here: without a prior, only their ancestor's count is
known.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from dphist.arrays import BoolArray, FloatArray, IntArray
from dphist.ranges.adaptive_tree.inference import halves
from dphist.ranges.bars import Part, prefix

# Level, its nodes in ascending order, their noisy counts, and the variance of the noise.
Batch: TypeAlias = tuple[int, IntArray, IntArray, float]
# By level: averages of a node's counts, and their precision (0: none).
Averages: TypeAlias = dict[int, tuple[FloatArray, FloatArray]]


class DyadicCounts:
    """First counts of nodes, made when nothing was known of them, and later counts.

    Parameters
    ----------
    sizes : list of (2**level,) int32, as `DyadicShape.sizes` makes them.
    batches : noisy counts in the order of counting.

    Attributes
    ----------
    sizes : as given.
    first, later : by level, the average of a node's counts and its precision. A count is later if
        the node, or one below it, was counted before, so that earlier noise decided to take it.
    deepest : the deepest level with a counted node.
    """

    __slots__ = ("deepest", "first", "later", "sizes")

    def __init__(self, sizes: list[npt.NDArray[np.int32]], batches: Iterable[Batch]) -> None:
        self.sizes, self.deepest = sizes, 0
        self.first: Averages = {}
        self.later: Averages = {}
        known = [np.zeros(len(level), np.bool_) for level in sizes]
        for level, nodes, counts, variance in batches:
            before = known[level][nodes]
            _add_counts(self.first, level, nodes[~before], counts[~before], variance)
            _add_counts(self.later, level, nodes[before], counts[before], variance)
            self.deepest = max(self.deepest, level)
            for above in range(level, -1, -1):
                known[above][nodes] = True
                nodes = np.unique(nodes >> 1)


def _add_counts(
    kept: Averages, level: int, nodes: IntArray, counts: IntArray, variance: float
) -> None:
    if len(nodes) == 0:
        return
    value, precision = kept.setdefault(level, (np.zeros(2**level), np.zeros(2**level)))
    before, more = precision[nodes], 1 / variance
    value[nodes] = (before * value[nodes] + more * counts) / (before + more)
    precision[nodes] = before + more


class Met(NamedTuple):
    """Average of two estimates of each node of a level; (2**level,) each.

    Attributes
    ----------
    weight : weight of the earlier estimate: 1 without the other, 0 if it is missing itself.
    gap : the earlier estimate minus the other, records; 0 if one is missing.
    spread : variance of the gap, records squared; 0 if one is missing.
    """

    weight: FloatArray
    gap: FloatArray
    spread: FloatArray


class Said(NamedTuple):
    """Estimate of each node of a level from its subtree only; (2**level,) each.

    Attributes
    ----------
    value, variance : records and records squared; infinite variance without counts.
    own : average of the node's first count with later counts, or those below it.
    merged : average of earlier counts, or those below it, with its later count; None if this
        level has no later counts.
    alone : where `merged` uses no count below, only the node's first count.
    """

    value: FloatArray
    variance: FloatArray
    own: Met
    merged: Met | None
    alone: BoolArray


@dataclass(frozen=True, slots=True)
class Halving:
    """How the nodes of a level are halved; (2**level,) each.

    Attributes
    ----------
    opened : whether both halves, or nodes below them, were counted; otherwise the other two are
        undefined.
    share, spread : the first half's error is this share of the node's error plus an independent
        error of this variance (records squared), which the second half has with opposite sign.
    """

    opened: BoolArray
    share: FloatArray
    spread: FloatArray


@dataclass(frozen=True, slots=True)
class LeastSquares:
    """The least-squares fit of all noisy counts, down to the smallest counted nodes.

    Attributes
    ----------
    counts : list of (2**level,) float64, records
        From the root to the deepest counted level; may be negative. 0 for nodes below an unopened
        one.
    variances : list of (2**level,) float64, records squared
        Variances of these counts; 0 for nodes below an unopened one.
    halvings : list of Halving, one for each level but the last.
    said : list of Said, before the downward pass.
    sizes : list of (2**level,) int32, number of bins of each node.
    """

    counts: list[FloatArray]
    variances: list[FloatArray]
    halvings: list[Halving]
    said: list[Said]
    sizes: list[npt.NDArray[np.int32]]

    @property
    def deepest(self) -> int:
        """The deepest level with a counted node."""
        return len(self.halvings)


@dataclass(frozen=True, slots=True)
class Stops:
    """The smallest counted node on each path; (2**deepest,) each, in the tree's order.

    Attributes
    ----------
    level, size : level and number of bins of the stop that contains a node of the deepest level.
    count, variance : its count and variance, records and records squared.
    """

    level: IntArray
    size: npt.NDArray[np.int32]
    count: FloatArray
    variance: FloatArray


def least_squares(noisy: DyadicCounts) -> LeastSquares:
    """Fit all noisy counts at once.

    Notes
    -----
    Up the tree by inverse variance, then down: the difference between a node's count and the sum
    of its halves is distributed by their variances (`docs/understand/proofs/hierarchical_tree.md`,
    Lemma 6).
    """
    said = _sweep_up(noisy)
    counts, variances, halvings = [said[0].value], [said[0].variance], []
    for below in said[1:]:
        value, first, second = below.value, below.variance[::2], below.variance[1::2]
        opened = np.isfinite(first) & np.isfinite(second)
        # A half that does not exist has variance 0, and so has the sum of two such halves.
        usable = opened & (first + second > 0)
        share, spread = np.full(len(first), 0.5), np.zeros(len(first))
        np.divide(first, first + second, out=share, where=usable)
        np.multiply(share, second, out=spread, where=usable)
        lacking = np.where(opened, counts[-1] - value[::2] - value[1::2], 0.0)
        above = np.where(opened, variances[-1], 0.0)
        counts.append(
            halves(
                np.where(opened, value[::2] + share * lacking, 0.0),
                np.where(opened, value[1::2] + (1 - share) * lacking, 0.0),
            )
        )
        variances.append(halves(share**2 * above + spread, (1 - share) ** 2 * above + spread))
        halvings.append(Halving(opened, share, spread))
    return LeastSquares(counts, variances, halvings, said, noisy.sizes[: len(said)])


def find_stops(fit: LeastSquares) -> Stops:
    """Return the smallest counted node that contains each node of the deepest level."""
    level, reached = np.zeros(1, np.int64), np.ones(1, np.bool_)
    size, count, variance = fit.sizes[0], fit.counts[0], fit.variances[0]
    for depth, halving in enumerate(fit.halvings, 1):
        reached = np.repeat(reached & halving.opened, 2)
        level = np.where(reached, depth, np.repeat(level, 2))
        size = np.where(reached, fit.sizes[depth], np.repeat(size, 2))
        count = np.where(reached, fit.counts[depth], np.repeat(count, 2))
        variance = np.where(reached, fit.variances[depth], np.repeat(variance, 2))
    return Stops(level, size, count, variance)


def _sweep_up(noisy: DyadicCounts) -> list[Said]:
    """Return the estimates from each subtree only, level by level from the root."""
    # A node that does not exist is empty.
    value = np.zeros(2**noisy.deepest)
    variance = np.where(noisy.sizes[noisy.deepest] > 0, np.inf, 0.0)
    found = []
    for level in range(noisy.deepest, -1, -1):
        if level < noisy.deepest:
            value, variance = value[::2] + value[1::2], variance[::2] + variance[1::2]
        own, own_variance = _average_counts(noisy.first, level)
        alone, merged = np.zeros(2**level, np.bool_), None
        if level in noisy.later:
            later, later_variance = _average_counts(noisy.later, level)
            alone = np.isinf(variance) & np.isfinite(later_variance)
            value = np.where(alone, own, value)
            variance = np.where(alone, own_variance, variance)
            own_variance = np.where(alone, np.inf, own_variance)
            value, variance, merged = _average(value, variance, later, later_variance)
        value, variance, met = _average(own, own_variance, value, variance)
        found.append(Said(value, variance, met, merged, alone))
    return found[::-1]


def _average_counts(averages: Averages, level: int) -> tuple[FloatArray, FloatArray]:
    """Return a level's averages and their variances, infinite without a count."""
    if level not in averages:
        return np.zeros(2**level), np.full(2**level, np.inf)
    value, precision = averages[level]
    variance = np.full(len(value), np.inf)
    np.divide(1, precision, out=variance, where=precision > 0)
    return value, variance


def _average(
    first: FloatArray, v_first: FloatArray, second: FloatArray, v_second: FloatArray
) -> tuple[FloatArray, FloatArray, Met]:
    """Average two estimates by inverse variance, or return the only one."""
    has_first, has_second = np.isfinite(v_first), np.isfinite(v_second)
    both = has_first & has_second & (np.where(has_second, v_second, 1.0) > 0)
    spread = np.where(both, v_first, 0.0) + np.where(both, v_second, 0.0)
    weight = np.where(has_second, 0.0, np.where(has_first, 1.0, 0.0))
    np.divide(v_second, spread, out=weight, where=both)
    gap = np.where(both, first - second, 0.0)
    value = np.where(both, second + weight * gap, np.where(has_second, second, first))
    variance = np.where(both, weight * np.where(both, v_first, 0.0), np.minimum(v_first, v_second))
    return value, variance, Met(weight, gap, spread)


def path_variances(fit: LeastSquares, lo: IntArray, hi: IntArray) -> FloatArray:
    """Return the variances of the sums of nodes `lo`, ..., `hi` - 1 of the deepest level.

    Parameters
    ----------
    fit : LeastSquares
    lo, hi : (q,) int64
        No range may end within an unopened node.

    Returns
    -------
    (q,) float64, records squared.

    Notes
    -----
    A range is the part left of `hi` minus the part left of `lo`. Both are carried up from the
    deepest level, as slopes and errors within the node that contains the edge, to the halves of
    the smallest node that contains both. O(deepest level) for each edge, and O(1) for each range.
    """
    deepest = fit.deepest
    if 2**deepest <= len(lo):
        edges, left, right = np.arange(2**deepest + 1), lo, hi
    else:
        edges, which = np.unique(np.concatenate([lo, hi]), return_inverse=True)
        left, right = which[: len(lo)], which[len(lo) :]
    part = prefix(2**deepest - 1, edges)
    # Levels up to the common ancestor: the bit length of the XOR of the two node numbers.
    meeting = np.frexp((part.node[left] ^ part.node[right]).astype(np.float64))[1].astype(np.int8)
    order = np.argsort(meeting, kind="stable")
    starts = np.searchsorted(meeting[order], np.arange(deepest + 2))
    found = np.zeros(len(lo))
    here = order[: starts[1]]  # both in one node: all of it, or nothing
    slope = part.slope[right[here]] - part.slope[left[here]]
    found[here] = slope**2 * fit.variances[-1][part.node[left[here]]]
    for up in range(1, deepest + 1):
        level = deepest - up
        here = order[starts[up] : starts[up + 1]]
        one, other = left[here], right[here]
        errors = part.variance[one] + part.variance[other]
        whole = part.node[one] >> 1
        joined = _pass_up(
            fit.halvings[level], whole, 1 - part.slope[one], part.slope[other], errors
        )
        found[here] = joined.variance + joined.slope**2 * fit.variances[level][whole]
        part = _go_up(fit.halvings[level], part)
    return found


def _go_up(halving: Halving, part: Part) -> Part:
    """Go to the parents: the part left of an edge includes the first half left of its node."""
    is_second = (part.node & 1).astype(np.bool_)
    first = np.where(is_second, 1.0, part.slope)
    second = np.where(is_second, part.slope, 0.0)
    return _pass_up(halving, part.node >> 1, first, second, part.variance)


def _pass_up(
    halving: Halving, parent: IntArray, first: FloatArray, second: FloatArray, variance: FloatArray
) -> Part:
    """Return the weighted sum of the halves as a part of their parent."""
    share, spread = halving.share[parent], halving.spread[parent]
    slope = share * first + (1 - share) * second
    return Part(parent, slope, variance + (first - second) ** 2 * spread)
