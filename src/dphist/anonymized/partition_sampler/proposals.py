"""Sampling a partition with probability proportional to exp(-rate * distance), exactly.

A diagram is split at its Durfee square, the largest square in it, of side s. The rows 1..s and the
columns 1..s are two non-increasing sequences with entries >= s, independent given s. So a partition
takes 2 s draws, however many labels it has. Entries are drawn from the s-th to the first, each not
below the previous one (backward sampling). Time and memory are proportional to the cells of the
windows.

Float tables of the two halves propose rows and columns, and sides have integer weights. So the
probability of a proposal is known exactly. Integers accept each proposal with a ratio that makes
the accepted ones follow the exponential mechanism, so the distribution is that of real arithmetic
(`docs/understand/proofs/partition_sampler.md`, Lemma 6).
"""

import bisect
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dphist.anonymized.partition_sampler.acceptance import (
    Ratio,
    compute_ratio,
    dyadic,
    is_surely_kept,
)
from dphist.anonymized.partition_sampler.exact import draw_exactly
from dphist.anonymized.partition_sampler.powers import Powers, Scaled
from dphist.anonymized.partition_sampler.tables import Half, Step
from dphist.anonymized.partition_sampler.windows import Choices
from dphist.arrays import IntArray
from dphist.noise.enclosures import ceil_shift
from dphist.noise.inversion import Source

TRIES = 64
"""Rejections after which integers draw without float tables. At epsilon 0.01 about three proposals
in ten million are rejected, and fewer at larger epsilon."""
_WORD = 64
_MORE_BYTES = 8
# Number of values of an entry that share an exponent. The sums of these values must not span more
# powers of two than a float64 does. At small rates they span more powers: about 2.4 / rate along
# the long straight edges of a diagram. So pieces are then shorter.
_PIECE = 1 << 14
_SHORT_PIECE = 1 << 11
_SLOW_RATE = Fraction(1, 500)
_SIDE_BITS = 160  # bits of the largest weight of a side; every weight is at least 1
_SURE_BITS = 64  # a weight of more bits has a relative error of at most 2**-63


@dataclass(frozen=True, slots=True)
class Proposal:
    """A proposed partition: its first s rows and its first s columns."""

    rows: list[int]
    columns: list[int]


@dataclass(frozen=True, slots=True)
class Proposals:
    """Tables that propose partitions in the windows around one diagram.

    Attributes
    ----------
    choices : the partitions in the windows.
    powers : bounds of exp(-rate k).
    rows, columns : the tables of the two halves.
    sides : running sums of the weights of the sides, from `choices.smallest` on.
    products : for each side (m, e); m * 2**e is the product of its two sums in the weights' unit.
    """

    choices: Choices
    powers: Powers
    rows: Half
    columns: Half
    sides: list[int]
    products: list[Scaled]

    @classmethod
    def within(cls, choices: Choices, rate: Fraction) -> "Proposals":
        """Sum up the weights of all partitions in the windows."""
        powers = Powers.of(rate, max(choices.rows.farthest(), choices.columns.farthest()))
        piece = _PIECE if rate >= _SLOW_RATE else _SHORT_PIECE
        rows = Half.over(choices.rows, powers, piece)
        columns = Half.over(choices.columns, powers, piece)
        products, weights = [], []
        for side, cost in enumerate(choices.costs, choices.smallest):
            one, other = dyadic(rows.weight(side)), dyadic(columns.weight(side))
            product = one[0] * other[0], one[1] + other[1]
            power = powers.above(cost)
            products.append(product)
            weights.append((product[0] * power[0], product[1] + power[1]))
        unit = max(m.bit_length() + e for m, e in weights) - _SIDE_BITS
        whole = [m << e - unit if e > unit else ceil_shift(m, unit - e) for m, e in weights]
        sums = list(itertools.accumulate(whole))
        return cls(choices, powers, rows, columns, sums, [(m, e - unit) for m, e in products])

    def draw(self, source: Source) -> tuple[IntArray, IntArray]:
        """Draw a partition: its first s rows, and its first s columns below them."""
        for _ in range(TRIES):
            proposal = self.propose(source)
            if self.is_kept(proposal, source):
                rows, columns = proposal.rows, proposal.columns
                break
        else:
            rows, columns = draw_exactly(self.choices, self.powers.rate, source)
        return np.array(rows, np.int64), np.array(columns, np.int64) - len(columns)

    def propose(self, source: Source) -> Proposal:
        """Draw a proposal from the tables."""
        side = self._side(source)
        words = np.frombuffer(source(16 * side), ">u8").tolist()
        rows = self.rows.draw(words[:side], source)
        return Proposal(rows, self.columns.draw(words[side:], source))

    def ratio(self, proposal: Proposal) -> Ratio:
        """Return the acceptance probability of a proposal."""
        place = len(proposal.rows) - self.choices.smallest
        mantissa, exponent = self.products[place]
        share = Fraction(mantissa) * Fraction(2) ** exponent / self._weight(place)
        return compute_ratio(
            self.powers.rate, self.choices.costs[place], share, self._steps(proposal)
        )

    def is_kept(self, proposal: Proposal, source: Source) -> bool:
        """Decide whether a proposal is accepted, with the probability of its ratio."""
        word = int.from_bytes(source(_MORE_BYTES), "big")
        weight = self._weight(len(proposal.rows) - self.choices.smallest)
        # The weight of a side is close to its exact value, unless it was rounded up to 1.
        sure = weight.bit_length() > _SURE_BITS and is_surely_kept(
            word, self._steps(proposal), self.powers
        )
        return sure or self.ratio(proposal).is_above(word, source)

    def _weight(self, place: int) -> int:
        return self.sides[place] - (self.sides[place - 1] if place else 0)

    def _steps(self, proposal: Proposal) -> Iterator[Step]:
        yield from self.rows.steps(proposal.rows)
        yield from self.columns.steps(proposal.columns)

    def _side(self, source: Source) -> int:
        """Draw a side with probability proportional to its weight."""
        word, bits = int.from_bytes(source(_MORE_BYTES), "big"), _WORD
        while True:
            # U times the sum of all weights is in [low, high) / 2**bits.
            low, high = word * self.sides[-1], (word + 1) * self.sides[-1]
            first = bisect.bisect_right(self.sides, low >> bits)
            last = bisect.bisect_left(self.sides, -(-high >> bits))
            if first == last:
                return self.choices.smallest + first
            word = word << 8 * _MORE_BYTES | int.from_bytes(source(_MORE_BYTES), "big")
            bits += 8 * _MORE_BYTES
