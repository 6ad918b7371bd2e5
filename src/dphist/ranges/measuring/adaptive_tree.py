"""Measuring of `AdaptiveTree`: each node is paid for, then counted, as noisy counts suggest."""

from abc import abstractmethod
from fractions import Fraction

import numpy as np

from dphist.arrays import IntArray, NumberArray
from dphist.noise import Source
from dphist.ranges.adaptive_tree.dyadic import DyadicShape
from dphist.ranges.adaptive_tree.exploration import Explorer
from dphist.ranges.adaptive_tree.inference import Measured
from dphist.ranges.adaptive_tree.path_budget import UNITS, PathBudget
from dphist.ranges.adaptive_tree.rules import Rules
from dphist.ranges.mechanism import Noisy, RangesMechanism


class AdaptiveTreeMeasuring(RangesMechanism):
    """What sees the data: `docs/understand/proofs/adaptive_tree.md`."""

    __slots__ = ()

    @property
    @abstractmethod
    def _rules(self) -> Rules:
        """Which nodes are counted; public."""

    @abstractmethod
    def _bins(self, measured: Measured) -> IntArray:
        """Return the bins inferred from noisy counts."""

    @property
    def shape(self) -> DyadicShape:
        """The binary tree over the bins."""
        return DyadicShape(self.bins)

    def _run(self, counts: IntArray, source: Source | None) -> tuple[NumberArray, Noisy]:
        shape, budget = self.shape, self.budget
        below = np.append(0, np.cumsum(shape.arrange(counts)))
        paths = PathBudget(shape.height)
        log: list[tuple[IntArray, int, IntArray]] = []

        def count(level: int, nodes: IntArray, units: int) -> IntArray:
            """The only access to the data: pays first."""
            paths.charge(level, nodes, units)
            side = 2 ** (shape.height - level)
            true = below[(nodes + 1) * side] - below[nodes * side]
            noisy: IntArray = true + budget.noise(Fraction(units, UNITS), len(nodes), source)
            log.append((nodes + 2**level, units, noisy))
            return noisy

        measured = Measured(shape.sizes())
        Explorer(measured, self._rules, budget, count).run()
        noisy = {
            "nodes": np.concatenate([nodes for nodes, _, _ in log]),
            "units": np.concatenate([np.full(len(nodes), units) for nodes, units, _ in log]),
            "counts": np.concatenate([found for _, _, found in log]),
        }
        return self._bins(measured), noisy
