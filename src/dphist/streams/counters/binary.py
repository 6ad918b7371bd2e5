"""The binary mechanism: noise on sums over dyadic blocks of time.

Chan, Shi and Song 2011; Dwork, Naor, Pitassi and Rothblum 2010. The count up to a time is the sum
over the blocks of its binary digits, the longest first. Only the noise of these blocks is stored
for each label.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dphist.arrays import IntArray
from dphist.noise import Source, rounded_gaussian

_GRID_BITS = 16  # a block's standard deviation is at least 2**16 units


def levels(horizon: int) -> int:
    """Return ceil(log2(horizon + 1)): the number of blocks per event and per count."""
    return horizon.bit_length()


def blocks(time: int) -> list[tuple[int, int]]:
    """Return the blocks that partition the events 1 to `time`: (level, number).

    The block (level, number) contains the events number * 2**level + 1 to (number + 1) * 2**level.

    >>> blocks(10)  # events 1 to 8, 9 to 10
    [(3, 0), (1, 4)]
    """
    level_s = [level for level in range(time.bit_length()) if time >> level & 1]
    return [(level, (time >> level) - 1) for level in reversed(level_s)]


@dataclass(frozen=True, slots=True)
class BinaryCounter:
    """Each block has independent Gaussian noise, drawn at its first use and reused.

    Attributes
    ----------
    sigma : standard deviation of a block's noise, records.
    horizon : the last time.
    """

    sigma: Fraction
    horizon: int

    @property
    def width(self) -> int:
        """One block for each level."""
        return levels(self.horizon)

    @property
    def unit_bits(self) -> int:
        """Noise is rounded to multiples of 2**-unit_bits records."""
        sigma = self.sigma
        below = sigma.numerator.bit_length() - sigma.denominator.bit_length() - 1  # <= log2(sigma)
        return max(0, _GRID_BITS - below)

    @property
    def variance(self) -> Fraction:
        """sigma**2 for each binary digit, and one more, as in the paper's theorem."""
        return (levels(self.horizon) + 1) * self.sigma**2

    @property
    def rounding(self) -> Fraction:
        """Half a unit per block."""
        return Fraction(levels(self.horizon), 2 << self.unit_bits)

    def variance_at(self, time: int) -> Fraction:
        """sigma**2 for each binary digit that is 1."""
        return time.bit_count() * self.sigma**2

    @property
    def skips(self) -> bool:
        """Blocks are independent."""
        return True

    def start(self, labels: int, time: int, source: Source | None) -> IntArray:
        """Draw the blocks of a time; noise of blocks that are no longer used has no effect."""
        return self._draw_blocks(np.zeros((labels, self.width), np.int64), blocks(time), source)

    def step(self, rows: IntArray, before: int, now: int, source: Source | None) -> IntArray:
        """Keep the blocks still in use, drop the others, and draw the new ones."""
        kept = set(blocks(before)) & set(blocks(now))
        following = np.zeros_like(rows)
        for level, _ in kept:
            following[:, level] = rows[:, level]
        return self._draw_blocks(
            following, [block for block in blocks(now) if block not in kept], source
        )

    def _draw_blocks(
        self, rows: IntArray, new: list[tuple[int, int]], source: Source | None
    ) -> IntArray:
        for level, _ in new:
            rows[:, level] = rounded_gaussian(self.sigma * 2**self.unit_bits, len(rows), source)
        return rows

    def total(self, rows: IntArray) -> IntArray:
        """Add up the blocks."""
        result: IntArray = rows.sum(axis=1)
        return result
