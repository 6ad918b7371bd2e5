"""Measuring of `HierarchicalTree`: noise on each node of the measured levels."""

from abc import abstractmethod
from fractions import Fraction
from typing import Any

from dphist.arrays import IntArray, NumberArray
from dphist.noise import Source
from dphist.ranges.counts import load_counts
from dphist.ranges.mechanism import Noisy, RangesMechanism
from dphist.ranges.shape import TreeShape


class HierarchicalTreeMeasuring(RangesMechanism):
    """What sees the data: `docs/understand/proofs/hierarchical_tree.md`."""

    __slots__ = ()

    branching: int
    root: bool

    @abstractmethod
    def _infer(self, noisy: Noisy) -> NumberArray:
        """Return the bins inferred from noisy counts."""

    @property
    def shape(self) -> TreeShape:
        """The tree over the bins."""
        return TreeShape(self.bins, self.branching)

    @property
    def measured(self) -> range:
        """The levels that are measured; the root is level 0, the bins are the last."""
        height = self.shape.height
        return range(0 if self.root or height == 0 else 1, height + 1)

    @property
    def levels(self) -> int:
        """How many levels are measured: by so much a record changes all measured counts."""
        return len(self.measured)

    @property
    def share(self) -> Fraction:
        """The share of epsilon or rho that each measured level gets."""
        return Fraction(1, self.levels)

    @property
    def noise_scale(self) -> Fraction:
        """Scale of the noise on the count of each node, in records."""
        return self.budget.scale(self.share)

    def _run(self, counts: IntArray, source: Source | None) -> tuple[NumberArray, Noisy]:
        noisy = self._measured(counts, source)
        return self._infer(noisy), noisy

    def measure(self, counts: Any, source: Source | None = None) -> dict[str, IntArray]:
        """Return the noisy counts of each measured level, flat.

        They satisfy the guarantee themselves; releasing them and `release` pays twice.

        Parameters
        ----------
        counts, source
            As for `release`; so are the errors.
        """
        data = load_counts(counts, self.bins)
        self._accept(data)
        return self._measured(data.counts, source)

    def _measured(self, counts: IntArray, source: Source | None) -> dict[str, IntArray]:
        budget = self.budget
        exact = self.shape.sums(counts)
        noisy = {}
        for level in self.measured:
            noise = budget.noise(self.share, exact[level].size, source)
            noisy[name_of_level(level)] = noise + exact[level].ravel()
        return noisy


def name_of_level(level: int) -> str:
    return f"level {level}"
