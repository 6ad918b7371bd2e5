"""A uniform number is refined by bits of its own, each used once, as often as it takes.

Whatever refines a uniform number U until it is known to be above or below a threshold is given a U
that leaves the threshold's digits at one bit, of any of three refinements: the bits before are the
threshold's, those behind are random (docs/understand/proofs/noise.md, Lemma 2, and
docs/understand/proofs/partition_sampler.md, Lemmas 6 and 8). tests/noise/test_lazy.py has that of
lazy noise.
"""

import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import pytest

from dphist.anonymized.partition_sampler.acceptance import Ratio
from dphist.anonymized.partition_sampler.exact import Uniforms
from dphist.anonymized.partition_sampler.tables import exactly
from dphist.noise import gaussian
from dphist.noise.geometric import geometric_law
from dphist.noise.inversion import Source, count_thresholds_above
from tests.support.privacy.partition_reference import proposals_around

STAGES, WORD = 3, 64
DIGITS = 512  # of a threshold: more than are looked at

# Whether U is below the threshold, from its first bits and a source of the others.
Decide = Callable[[int, Source], bool]


class Bits:
    """A source of the digits of a number, each given once."""

    def __init__(self, number: int, digits: int) -> None:
        self.left, self.number = digits, number

    def __call__(self, size: int) -> bytes:
        self.left -= 8 * size
        assert self.left >= 0
        return (self.number >> self.left & (1 << 8 * size) - 1).to_bytes(size, "big")


def digits_of(threshold: Any) -> int:
    """Return the first digits of a number from 0 to 1, a Fraction or a real one."""
    with mpmath.workprec(2 * DIGITS):
        if isinstance(threshold, Fraction):
            threshold = mpmath.mpf(threshold.numerator) / threshold.denominator
        return int(mpmath.floor(threshold * mpmath.mpf(2) ** DIGITS))


def check_bits(threshold: Any, first: int, decide: Decide) -> None:
    """Check each bit behind the first ones, of `STAGES` refinements of 64 bits."""
    exact, rng, seen = digits_of(threshold), random.Random(1), set()
    for place in range(first, first + STAGES * WORD):
        behind = DIGITS - place - 1
        uniform = (exact >> behind ^ 1) << behind | rng.getrandbits(behind)
        source = Bits(uniform, DIGITS - first)
        below = decide(uniform >> DIGITS - first, source)
        assert below is (uniform < exact), place - first
        # No refinement is left out, and hardly one more is made than the bit needs.
        used = (DIGITS - first - source.left) // WORD
        assert (place - first) // WORD < used <= (place - first) // WORD + 2
        seen.add(below)
    assert seen == {True, False}


def test_counted_thresholds() -> None:
    threshold = random.Random(2).getrandbits(DIGITS)

    def tail(index: int, bits: int) -> tuple[int, int]:
        low = threshold >> DIGITS - bits
        return (low, low + 1) if index == 0 else (0, 0)

    check_bits(
        Fraction(threshold, 1 << DIGITS),
        32,
        lambda word, source: count_thresholds_above(tail, word, 32, source) == 1,
    )


@pytest.mark.parametrize(("epsilon", "exponent"), [("1/3", 7), ("1/1000", 12345), ("4", None)])
def test_heights_of_geometric_noise(epsilon: str, exponent: int | None) -> None:
    law = geometric_law(epsilon)
    with mpmath.workprec(2 * DIGITS):
        rate = mpmath.mpf(law.epsilon.numerator) / law.epsilon.denominator
        start = (law.last << law.shift) if exponent is None else exponent
        curve = law.scale * mpmath.exp(-rate * (start + 1))
        if exponent is None:
            curve /= (1 - mpmath.exp(-rate)) * 2**law.shift
        height = int(mpmath.floor(curve))
        rest = curve - height
    check_bits(
        rest,
        32,
        lambda word, source: law._is_below(height << 32 | word, exponent, 1, source),
    )


class Turns:
    """Two sources that are asked in turn."""

    def __init__(self, *sources: Source) -> None:
        self.sources = sources

    def __call__(self, size: int) -> bytes:
        self.sources = self.sources[1:] + self.sources[:1]
        return self.sources[-1](size)


@pytest.mark.parametrize("sigma", ["7/3", "1e9"])
@pytest.mark.parametrize("cell", [60, -61])
def test_heights_of_gaussian_noise(sigma: str, cell: int) -> None:
    law = gaussian._law(Fraction(sigma))
    first = law.place_bits + 32
    place = random.Random(3).getrandbits(DIGITS)
    with mpmath.workprec(3 * DIGITS):
        x = (cell + mpmath.mpf(place) / mpmath.mpf(2) ** DIGITS) / 64
        curve = law.scale * mpmath.exp(-x * x / 2)
        height = int(mpmath.floor(curve))
        rest = curve - height
    number = (cell << first) + (place >> DIGITS - first)

    def is_accepted(word: int, source: Source) -> bool:
        places = Bits(place, DIGITS - first)
        return law._decide_exactly(number, height << 32 | word, Turns(places, source)) is not None

    check_bits(rest, 32, is_accepted)


@pytest.mark.parametrize(("sigma", "half"), [("7/3", "5/2"), ("7/3", "-3/2"), ("1e9", "12345.5")])
def test_places_of_gaussian_noise(sigma: str, half: str) -> None:
    """A half-integer, as a place in its cell; the height is below the curve at once."""
    law = gaussian._law(Fraction(sigma))
    cell, point = divmod(Fraction(half) / law.sigma * 64, 1)
    first = law.place_bits + 32

    def is_below(word: int, source: Source) -> bool:
        found = law._decide_exactly((cell << first) + word, 0, Turns(source, bytes))
        assert found is not None
        return found < Fraction(half)

    check_bits(point, first, is_below)


def test_ratios_of_proposals() -> None:
    ratio = Ratio(Fraction(1, 3), 2, 10**12 + 7, 10**12 + 39)
    with mpmath.workprec(2 * DIGITS):
        threshold = mpmath.exp(-mpmath.mpf(2) / 3) * ratio.numerator / ratio.denominator
    check_bits(threshold, WORD, ratio.is_above)


def test_values_and_sides_of_proposals() -> None:
    proposals = proposals_around((3, 1), "4")
    table, sides = proposals.rows.tables[0], proposals.sides
    value = table.most - 3
    threshold = exactly(table.sum_from(value)) / exactly(table.sum_from(table.least))
    check_bits(
        threshold,
        WORD,
        lambda word, source: table._exactly(table.least, word, source) >= value,
    )

    def is_first(word: int, source: Source) -> bool:
        words = iter([word.to_bytes(8, "big")])
        side = proposals._side(lambda size: next(words, b"") or source(size))
        return side == proposals.choices.smallest

    check_bits(Fraction(sides[0], sides[-1]), WORD, is_first)


def test_uniform_numbers_side_by_side() -> None:
    given: list[bytes] = []
    rng = random.Random(4)

    def source(size: int) -> bytes:
        given.append(rng.randbytes(size))
        return given[-1]

    uniforms, own = Uniforms(source), [b"", b"", b""]
    for bits in (100, 128, 256, 300, 1024):
        for k in range(3):
            found = uniforms.word(k, bits)
            own[k] += b"".join(given)
            given.clear()
            assert found == int.from_bytes(own[k], "big") >> 8 * len(own[k]) - bits
