"""Theorem 4 (iv) of Hay et al. (2010): a range on which H- errs much less than H~.

The range is that of all bins but the first and the last. H~ adds up 2 (l - 1) (k - 1) - k nodes
of a tree with k children a node and l levels, and the root less two bins would do with three
measurements; H-, the best linear unbiased estimate, can only be better than that.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.hay2010.errors import FloatArray, Ratio, ratio
from dphist import HierarchicalTree
from dphist.ranges.consistency import consistent
from dphist.ranges.shape import TreeShape

MOST_BINS = 1024  # of a system that is solved densely
NODES = 24_000_000  # drawn for one tree, at most
MOST_RUNS = 4000  # noisy trees, at most


@dataclass(frozen=True, slots=True)
class Advantage:
    """Variances of that range in units of one node's.

    Attributes
    ----------
    branching, levels : the paper's k and l, the root counted.
    nodes : variance of H~.
    solved : variance of H- from the normal equations; None for a large tree.
    passes : variance of H- as the two passes have it.
    simulated : squared error of H~ over that of H-.
    """

    branching: int
    levels: int
    nodes: int
    solved: float | None
    passes: float
    simulated: Ratio

    @property
    def factor(self) -> float:
        """The factor of the theorem."""
        return (2 * (self.levels - 1) * (self.branching - 1) - self.branching) / 3


def advantage(branching: int, levels: int, seed: int = 2010) -> Advantage:
    """Compute and simulate the error of the range in a complete tree."""
    shape = TreeShape((branching ** (levels - 1),), branching)
    bins = shape.bins[0]
    return Advantage(
        branching,
        levels,
        nodes_added(shape),
        solved_variance(shape) if bins <= MOST_BINS else None,
        passes_variance(shape),
        simulated(shape, max(50, min(MOST_RUNS, NODES // (2 * bins))), seed),
    )


def query(bins: int) -> FloatArray:
    """Return the weight of each bin in the range."""
    weights = np.ones(bins)
    weights[[0, -1]] = 0
    return weights


def nodes_added(shape: TreeShape) -> int:
    """Return how many nodes H~ adds up."""
    bins = shape.bins[0]
    tree = HierarchicalTree(epsilon=1, bins=bins, branching=shape.branching, consistent=False)
    error: float = tree.release(np.zeros(bins, np.int64)).value.error_bins(1, bins - 1)
    return round(error**2 / tree.budget.variance(tree.share))


def solved_variance(shape: TreeShape) -> float:
    """Return q' (A'A)^-1 q, where A has a row a node and a column a bin."""
    bins = shape.bins[0]
    rows = [level.reshape(-1, bins) for level in _covered(shape)]
    matrix = np.concatenate(rows)
    weights = query(bins)
    return float(weights @ np.linalg.solve(matrix.T @ matrix, weights))


def _covered(shape: TreeShape) -> Iterator[FloatArray]:
    bins = np.arange(shape.bins[0])
    for level in shape.levels:
        nodes = np.arange(shape.grid(level)[0])
        yield (bins // shape.side(level) == nodes[:, None]).astype(np.float64)


def passes_variance(shape: TreeShape) -> float:
    """Return the same from the estimator: its bins are (A'A)^-1 A' y for measurements y.

    A measurement of a bin alone has A'y = y, so with y = q at the bins and 0 above, the bins are
    (A'A)^-1 q.
    """
    weights = query(shape.bins[0])
    above = [np.zeros(shape.grid(level)) for level in shape.levels[:-1]]
    fit = consistent(shape, [*above, weights], [1.0] * len(shape.levels))
    return float(weights @ fit[-1])


def simulated(shape: TreeShape, runs: int, seed: int) -> Ratio:
    """Return the squared error of H~ over that of H-, both of the same noisy trees."""
    source = random.Random(seed).randbytes
    bins = shape.bins[0]
    about: dict[str, Any] = {"epsilon": 1, "bins": bins, "branching": shape.branching}
    separate = HierarchicalTree(**about, consistent=False, nonnegative=False)
    fitted = HierarchicalTree(**about, nonnegative=False)
    empty = np.zeros(bins, np.int64)
    errors = []
    for _ in range(runs):
        noisy = separate.measure(empty, source)
        errors.append([tree.decode(noisy).count_bins(1, bins - 1) for tree in (separate, fitted)])
    over, under = np.square(np.array(errors, np.float64)).T
    return ratio(over, under)
