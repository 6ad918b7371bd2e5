"""Rejection step of the partition sampler, which makes its distribution exact.

A proposal of probability Q at distance d is accepted with probability R = exp(-rate d) C / Q, with
the same C for all proposals. So accepted partitions follow the exponential mechanism, whatever
floats the proposal tables contain. R is a power of exp(-rate) times a rational number, and close to
1. Floating-point bounds are almost always enough to accept. Otherwise integers decide, with as many
bits of a uniform number and of R as needed (`docs/understand/proofs/partition_sampler.md`, Lemma
6).
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from dphist.anonymized.partition_sampler.powers import Powers
from dphist.anonymized.partition_sampler.tables import ScaledFloat, Step
from dphist.noise.enclosures import Enclosure, ceil_shift, exp_negative
from dphist.noise.inversion import Source

_WORD = 64
_MORE_BYTES = 8
_GUARD = 8
# Upper bound of the rounding error of one step's loss.
_ROUNDING = 2.0**-40
_LARGEST_LOSS = 2.0**-10
# Smaller products have too few significant bits; scaling them would give an unbounded error.
_SMALLEST = 2.0**-960


@dataclass(frozen=True, slots=True)
class Ratio:
    """The probability exp(-rate cells) numerator / denominator, at most 1."""

    rate: Fraction
    cells: int
    numerator: int
    denominator: int

    def enclose(self, bits: int) -> Enclosure:
        """Enclose 2**bits times the ratio."""
        excess = max(self.numerator.bit_length() - self.denominator.bit_length() + 1, 0)
        work = bits + excess + _GUARD
        low, high = exp_negative(self.rate * self.cells, work)
        drop = work - bits
        return (
            low * self.numerator // self.denominator >> drop,
            ceil_shift(-(-high * self.numerator // self.denominator), drop),
        )

    def is_above(self, word: int, source: Source) -> bool:
        """Whether the ratio is above a uniform number whose first 64 bits are `word`."""
        bits = _WORD
        while True:
            low, high = self.enclose(bits)
            if word + 1 <= low:
                return True
            if word >= high:
                return False
            word = word << 8 * _MORE_BYTES | int.from_bytes(source(_MORE_BYTES), "big")
            bits += 8 * _MORE_BYTES


def is_surely_kept(word: int, steps: Iterable[Step], powers: Powers) -> bool:
    """Whether floating point proves that the ratio of these steps is above a uniform number U.

    `word` is the first 64 bits of U. The factor of each step is at least 1 minus a loss, so the
    product of all factors is at least 1 minus the sum of the losses.
    """
    loss = _ROUNDING
    for step in steps:
        here, exponent = step.here
        weight = powers.near(step.distance)
        if weight is None:
            return False
        product = weight * step.before[0]
        if not product >= _SMALLEST:
            return False
        share = math.ldexp(product, step.before[1] - exponent)
        drawn = here - math.ldexp(step.above[0], step.above[1] - exponent)
        loss += 1 - share / drawn + _ROUNDING
        if not loss < _LARGEST_LOSS:
            return False
    return word + 1 <= (1 - 2 * loss) * 2.0**_WORD


def dyadic(number: ScaledFloat) -> tuple[int, int]:
    """Return integers m and e such that m * 2**e is the value of a scaled float."""
    numerator, denominator = number[0].as_integer_ratio()
    return numerator, number[1] - denominator.bit_length() + 1


def compute_ratio(rate: Fraction, cells: int, first: Fraction, steps: Iterable[Step]) -> Ratio:
    """Return the ratio of a proposal.

    Parameters
    ----------
    cells, first : the side contributes the factor exp(-rate * cells) * first.
    steps : the steps of all entries.
    """
    numerators, denominators, exponent = [first.numerator], [first.denominator], 0
    for step in steps:
        cells += step.distance
        before, e = dyadic(step.before)
        here, above = dyadic(step.here), dyadic(step.above)
        unit = min(here[1], above[1])
        numerators.append(before)
        denominators.append((here[0] << here[1] - unit) - (above[0] << above[1] - unit))
        exponent += e - unit
    numerator, denominator = math.prod(numerators), math.prod(denominators)
    return Ratio(rate, cells, numerator << max(exponent, 0), denominator << max(-exponent, 0))
