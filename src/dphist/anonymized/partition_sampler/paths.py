"""Sampling a partition with probability proportional to exp(-rate * distance), exactly.

A diagram is split at its Durfee square, the largest square in it, of side s. The rows 1..s and the
columns 1..s are two non-increasing sequences with entries >= s, independent given s. So a partition
takes 2 s draws, however many labels it has. Entries are drawn from the s-th to the first, each not
below the previous one (backward sampling).

Float tables propose a partition with an exactly known probability, and integers decide whether it
is accepted, so the distribution is that of real arithmetic. Time and memory are proportional to the
cells of the windows.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dphist.anonymized.partition_sampler.exact import draw_exactly
from dphist.anonymized.partition_sampler.proposals import Proposals
from dphist.anonymized.partition_sampler.windows import Choices
from dphist.arrays import IntArray
from dphist.noise.inversion import Source

TRIES = 64
"""Rejections after which integers draw without float tables. At epsilon 0.01 about three proposals
in ten million are rejected, and fewer at larger epsilon."""


@dataclass(frozen=True, slots=True)
class Paths:
    """All partitions in the windows around one diagram, ready to draw from.

    Attributes
    ----------
    choices, rate : the partitions to draw from, and the rate at which weights fall with distance.
    proposals : float tables of these partitions.
    """

    choices: Choices
    rate: Fraction
    proposals: Proposals

    @classmethod
    def within(cls, choices: Choices, rate: Fraction) -> "Paths":
        """Sum up the weights of all partitions in the windows."""
        return cls(choices, rate, Proposals.within(choices, rate))

    def draw(self, source: Source) -> tuple[IntArray, IntArray]:
        """Draw a partition: its first s rows, and its first s columns below them."""
        rows, columns = self._proposed(source) or draw_exactly(self.choices, self.rate, source)
        return np.array(rows, np.int64), np.array(columns, np.int64) - len(columns)

    def _proposed(self, source: Source) -> tuple[list[int], list[int]] | None:
        """Return the first accepted proposal; None after too many rejections."""
        for _ in range(TRIES):
            proposal = self.proposals.draw(source)
            if self.proposals.is_kept(proposal, source):
                return proposal.rows, proposal.columns
        return None
