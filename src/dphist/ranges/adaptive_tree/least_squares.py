"""What the noisy counts of a binary tree say without any prior: least squares, and its variances.

The error bars of an adaptive tree rest on this alone. A node below those that were counted is
not estimated here: without a prior, nothing but its parent's count is known of it.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dphist.arrays import BoolArray, FloatArray, IntArray
from dphist.ranges.adaptive_tree.counts import Averages, DyadicCounts
from dphist.ranges.adaptive_tree.inference import halves


class Met(NamedTuple):
    """How two estimates of each node of a level met in an average; (2**level,) each.

    Attributes
    ----------
    weight : of the one from earlier counts: 1 where there is no other, 0 where it is missing.
    gap : it less the other, records; 0 where one is missing.
    spread : variance of the gap, records squared; 0 where one is missing.
    """

    weight: FloatArray
    gap: FloatArray
    spread: FloatArray


class Said(NamedTuple):
    """What each subtree of a level says of its root; (2**level,) each.

    Attributes
    ----------
    value, variance : records and records squared; infinite if nothing.
    own : how the node's first count met what was counted of it later, or below it.
    merged : how what was counted of it before, or below it, met its later count; None if there
        are no later counts at this level.
    alone : where `merged` met no count below, but the node's own first one.
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
    opened : whether both halves were counted, or what lies below them; of a node that was not, the
        other two mean nothing.
    share, spread : the first half's error is this share of the node's, plus an independent one of
        this variance (records squared), which the second half has with the other sign.
    """

    opened: BoolArray
    share: FloatArray
    spread: FloatArray


@dataclass(frozen=True, slots=True)
class LeastSquares:
    """The least-squares fit of all noisy counts, down to the nodes below which none was counted.

    Attributes
    ----------
    counts : list of (2**level,) float64, records
        From the root to the deepest level counted; they may be negative. Of nodes below one that
        was not opened: 0.
    variances : list of (2**level,) float64, records squared
        Of these counts; of nodes below one that was not opened: 0.
    halvings : list of Halving, one for each level but the last.
    said : list of Said, as it was before what lies above was told to those below.
    sizes : list of (2**level,) int32, how many bins each node has.
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
    """The smallest counted nodes, which no path misses; (2**deepest,) each, in the tree's order.

    Attributes
    ----------
    level, size : of the one that holds a node of the deepest level, and how many bins it has.
    count, variance : of it, records and records squared.
    """

    level: IntArray
    size: npt.NDArray[np.int32]
    count: FloatArray
    variance: FloatArray


def least_squares(noisy: DyadicCounts) -> LeastSquares:
    """Fit all noisy counts at once.

    Notes
    -----
    Up the tree by inverse variance, then down: what a node's count lacks from the sum of its
    halves is shared out by their variances (`docs/proofs/hierarchical_tree.md`, Lemma 6).
    """
    said = _sweep_up(noisy)
    counts, variances, halvings = [said[0].value], [said[0].variance], []
    for below in said[1:]:
        value, first, second = below.value, below.variance[::2], below.variance[1::2]
        opened = np.isfinite(first) & np.isfinite(second)
        # Of a half that does not exist the variance is 0, and of two such their sum.
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


def stops_of(fit: LeastSquares) -> Stops:
    """Return, for each node of the deepest level, the smallest counted node that holds it."""
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
    """Return what each subtree alone says of its root, level by level from the root."""
    # A node that does not exist is known to be empty.
    value = np.zeros(2**noisy.deepest)
    variance = np.where(noisy.sizes[noisy.deepest] > 0, np.inf, 0.0)
    found = []
    for level in range(noisy.deepest, -1, -1):
        if level < noisy.deepest:
            value, variance = value[::2] + value[1::2], variance[::2] + variance[1::2]
        own, own_variance = _counted(noisy.first, level)
        alone, merged = np.zeros(2**level, np.bool_), None
        if level in noisy.later:
            later, later_variance = _counted(noisy.later, level)
            alone = np.isinf(variance) & np.isfinite(later_variance)
            value = np.where(alone, own, value)
            variance = np.where(alone, own_variance, variance)
            own_variance = np.where(alone, np.inf, own_variance)
            value, variance, merged = _average(value, variance, later, later_variance)
        value, variance, met = _average(own, own_variance, value, variance)
        found.append(Said(value, variance, met, merged, alone))
    return found[::-1]


def _counted(averages: Averages, level: int) -> tuple[FloatArray, FloatArray]:
    """Return a level's averages and their variances, infinite where there is none."""
    if level not in averages:
        return np.zeros(2**level), np.full(2**level, np.inf)
    value, precision = averages[level]
    variance = np.full(len(value), np.inf)
    np.divide(1, precision, out=variance, where=precision > 0)
    return value, variance


def _average(
    first: FloatArray, v_first: FloatArray, second: FloatArray, v_second: FloatArray
) -> tuple[FloatArray, FloatArray, Met]:
    """Average two estimates by inverse variance, or take the one there is."""
    has_first, has_second = np.isfinite(v_first), np.isfinite(v_second)
    both = has_first & has_second & (np.where(has_second, v_second, 1.0) > 0)
    spread = np.where(both, v_first, 0.0) + np.where(both, v_second, 0.0)
    weight = np.where(has_second, 0.0, np.where(has_first, 1.0, 0.0))
    np.divide(v_second, spread, out=weight, where=both)
    gap = np.where(both, first - second, 0.0)
    value = np.where(both, second + weight * gap, np.where(has_second, second, first))
    variance = np.where(both, weight * np.where(both, v_first, 0.0), np.minimum(v_first, v_second))
    return value, variance, Met(weight, gap, spread)
