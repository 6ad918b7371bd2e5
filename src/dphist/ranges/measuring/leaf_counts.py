"""Measuring of `LeafCounts`: noise on each bin."""

from fractions import Fraction

from dphist.arrays import IntArray, NumberArray
from dphist.noise import Source
from dphist.ranges.mechanism import Noisy, RangesMechanism


class LeafCountsMeasuring(RangesMechanism):
    """What sees the data: `docs/understand/proofs/hierarchical_tree.md`."""

    __slots__ = ()

    def _run(self, counts: IntArray, source: Source | None) -> tuple[NumberArray, Noisy]:
        return counts + self.budget.noise(Fraction(1), counts.shape, source), {}
