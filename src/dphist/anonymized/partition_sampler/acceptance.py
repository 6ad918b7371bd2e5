"""Whether a proposed partition is kept: with the probability that makes the whole law exact.

A proposal made with probability Q is kept with probability R = exp(-rate d) C / Q, C the
same for all: then what is kept has the law of the exponential mechanism, whatever floats stood
in the tables that proposed. R is a power of exp(-rate) times a rational number, and hardly below
1. Almost always a bound in floating point is enough to keep a proposal; otherwise as many
bits of a uniform number and of R are worked out as a decision takes, in integers
(`docs/proofs/partition_sampler.md`, Lemma 6).
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
# More than rounding makes of one step's loss.
_ROUNDING = 2.0**-40
_LARGEST_LOSS = 2.0**-10
# Of smaller products too few bits are left, and scaling them makes the error as large as you like.
_SMALLEST = 2.0**-960


@dataclass(frozen=True, slots=True)
class Ratio:
    """The probability exp(-rate cells) numerator / denominator, at most 1."""

    rate: Fraction
    cells: int
    numerator: int
    denominator: int

    def enclose(self, bits: int) -> Enclosure:
        """Enclose 2**bits times it."""
        excess = max(self.numerator.bit_length() - self.denominator.bit_length() + 1, 0)
        work = bits + excess + _GUARD
        low, high = exp_negative(self.rate * self.cells, work)
        drop = work - bits
        return (
            low * self.numerator // self.denominator >> drop,
            ceil_shift(-(-high * self.numerator // self.denominator), drop),
        )

    def is_above(self, word: int, source: Source) -> bool:
        """Whether it is above a uniform number of which `word` holds the first 64 bits."""
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
    """Whether floating point suffices to see that the ratio of these steps is above U.

    Of U `word` holds the first 64 bits. Each step's share of the ratio is at least 1 less a
    loss, and all of it at least 1 less their sum.
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
    """Return m and e with m * 2**e the number that a float and an exponent stand for."""
    numerator, denominator = number[0].as_integer_ratio()
    return numerator, number[1] - denominator.bit_length() + 1


def ratio_of(rate: Fraction, cells: int, first: Fraction, steps: Iterable[Step]) -> Ratio:
    """Return the ratio of a proposal.

    Parameters
    ----------
    cells, first : the side's share, exp(-rate cells) first.
    steps : of all entries.
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
