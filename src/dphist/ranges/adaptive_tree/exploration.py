"""Exploration of an adaptive tree: noisy counts alone decide which nodes are counted."""

import math
from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from dphist.arrays import IntArray
from dphist.ranges.adaptive_tree.inference import Fit, Measured, infer
from dphist.ranges.adaptive_tree.path_budget import UNITS
from dphist.ranges.adaptive_tree.rules import LEAST, Rules
from dphist.ranges.budget import Budget

Count: TypeAlias = Callable[[int, IntArray, int], IntArray]
# Undecided nodes, by level and by the units left on their path.
Frontier: TypeAlias = dict[tuple[int, int], IntArray]


class Explorer:
    """Counts nodes until the budget of every path is spent.

    Parameters
    ----------
    measured : receives every noisy count.
    rules : decide which nodes are counted next.
    budget : privacy budget of a record.
    count : maps (level, nodes, units) to noisy counts. It charges, and is the only access to data.
    """

    def __init__(self, measured: Measured, rules: Rules, budget: Budget, count: Count) -> None:
        self._measured, self._rules, self._budget, self._count = measured, rules, budget, count
        self._height = len(measured.sizes) - 1

    def run(self) -> None:
        """Count the first level, then open or stop all nodes of the frontier, round by round."""
        frontier = self._begin()
        while frontier:
            fit = infer(self._measured, sweeps=1)
            following: dict[tuple[int, int], list[IntArray]] = defaultdict(list)
            for (level, left), nodes in frontier.items():
                strength = fit.counts[level][nodes] * self._sharpness(left)
                below = self._height - level if left >= LEAST else 0
                depths = self._rules.depths(strength, fit.roughness[level][nodes], below)
                self._stop(level, left, nodes[depths == 0], fit)
                for depth in np.unique(depths[depths > 0]).tolist():
                    self._open(level, left, nodes[depths == depth], depth, following)
            frontier = {key: np.sort(np.concatenate(parts)) for key, parts in following.items()}

    def _begin(self) -> Frontier:
        few = self._height <= self._rules.few
        level = self._height if few else self._rules.first_level
        spent = UNITS if few else int(UNITS * self._rules.first_share)
        nodes = np.arange(2**level)
        self._take(level, nodes, spent)
        return {} if spent == UNITS else {(level, UNITS - spent): nodes}

    def _open(
        self,
        level: int,
        left: int,
        nodes: IntArray,
        depth: int,
        following: dict[tuple[int, int], list[IntArray]],
    ) -> None:
        """Count the nodes some levels down, and pass them the remaining budget."""
        levels, spent = self._rules.opening(depth, self._height - level, left)
        children = ((nodes << levels)[:, None] + np.arange(1 << levels)).ravel()
        self._take(level + levels, children, spent)
        if spent < left:
            following[level + levels, left - spent].append(children)

    def _stop(self, level: int, left: int, nodes: IntArray, fit: Fit) -> None:
        """Merge stopping siblings while it pays, and spend all they have left."""
        sharpness = self._sharpness(left)
        while len(nodes):
            pairs = np.flatnonzero(nodes[1:] >> 1 == nodes[:-1] >> 1) if level else nodes[:0]
            if level:
                parents = nodes[pairs] >> 1
                strength = fit.counts[level - 1][parents] * sharpness
                doubt = fit.spreads[level - 1][parents] * sharpness**2
                pairs = pairs[self._rules.merged(strength, doubt, level - 1)]
            alone = np.ones(len(nodes), bool)
            alone[pairs] = alone[pairs + 1] = False
            self._take(level, nodes[alone], left)
            nodes, level = nodes[pairs] >> 1, level - 1

    def _take(self, level: int, nodes: IntArray, units: int) -> None:
        """Count those of the nodes that exist."""
        nodes = nodes[self._measured.sizes[level][nodes] > 0]
        if len(nodes):
            counts = self._count(level, nodes, units)
            self._measured.take(level, nodes, counts, self._budget.variance(Fraction(units, UNITS)))

    def _sharpness(self, units: int) -> float:
        """Return the epsilon of Laplace noise with the variance that these units pay for."""
        return math.sqrt(2 / self._budget.variance(Fraction(units, UNITS)))
