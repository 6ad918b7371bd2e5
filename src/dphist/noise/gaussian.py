"""Exact Gaussian noise rounded to integers, for the zCDP mechanisms."""

import functools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dphist.arrays import AnyArray, BoolArray, FloatArray, IntArray
from dphist.noise.enclosures import (
    Enclosure,
    ceil_shift,
    exp_negative,
    normal_two_sided_tail,
    sqrt_two_pi,
)
from dphist.noise.inversion import MORE_BYTES, Source, count_thresholds_above, sample_shape
from dphist.noise.strips import WORDS, Cell, Strips, Undecided, largest_scale, samples
from dphist.parameters import Exact, positive_number

LARGEST_SIGMA = 2**40
"""Above this scale, rounded samples could exceed the integers that float64 represents exactly."""

_CELL_BITS = 6  # a cell is 2**-6 standard deviations wide
_LAST = 5 << _CELL_BITS  # this cell of both signs has the tail beyond 5 standard deviations
_FIRST_BITS = 16  # of the place in a cell, drawn at first
_FINE_SIGMA = 2**16  # above it, this number is drawn at first:
_FINE_BITS = 48
_FIXED_BITS = _CELL_BITS + _FIRST_BITS
_FIXED_ERROR = 1 << 25  # more than there are numbers of one sign
_MORE_BITS = 32  # of the place and of the height, drawn where the word or the place is not enough
_ENCLOSED_BITS = 96
# Bounds on the errors of floating point: of a sample in standard deviations, and of the curve.
_ROUNDING = 2.0**-48
_CURVE_ERROR = 2.0**-20


def rounded_gaussian(
    sigma: Exact, size: int | tuple[int, ...], source: Source | None = None
) -> IntArray:
    """Draw independent N(0, sigma**2) real numbers exactly and round each to an integer.

    An integer count plus this noise equals the rounded sum of the count and real Gaussian noise,
    and rounding is post-processing. So an L2 sensitivity D gives D**2 / (2 sigma**2)-zCDP
    (Bun and Steinke 2016, Proposition 1.6) without the discrete Gaussian.

    Parameters
    ----------
    sigma : number above 0, at most 2**40, records; a float means its shortest decimal.
    size : int or tuple of int
        Shape of the result.
    source : callable, optional
        `source(n)` returns n random bytes. For tests only (default: the operating system's
        randomness).

    Returns
    -------
    (size,) int64

    Notes
    -----
    Floating point proposes an integer and marks uncertain samples; integer arithmetic on further
    bits decides these: `docs/understand/proofs/noise.md`, Lemma 5.
    """
    exact = positive_number(sigma, "sigma", LARGEST_SIGMA)
    return sample_shape(size, _law(exact).sample, source)


@dataclass(frozen=True, slots=True)
class GaussianLaw:
    """Samples sigma x for x below the curve scale * exp(-x*x / 2), rounded.

    Cell c is the interval from c / 64 to (c + 1) / 64, for c from -320 to 319. Its side is c if
    c >= 0 and -1 - c if c < 0. The cells of side 320 have the tails. A number n = 2**bits c + place
    is the first part of x: x lies between n and n + 1, in units of 2**-bits / 64.
    """

    sigma: Fraction
    place_bits: int  # drawn at first
    unit: float  # sigma times the unit of the last of these bits
    step: int  # the same in units of 2**-44, rounded down
    scale: int
    strips: Strips
    curve: FloatArray  # by side: its height at the end of the cell away from zero, or the tail's
    rejected: float  # the share of proposals that are rejected

    def sample(self, size: int, source: Source) -> IntArray:
        """Draw (size,) int64 samples."""
        return samples(self, size, source)

    def first(self, block: IntArray, source: Source) -> Undecided:
        """Fill a block with proposals; return those that need more bits, with their numbers."""
        parts = 1 + self.place_bits // 16
        drawn = np.frombuffer(source(2 * parts * len(block)), "<u2")
        # The last part of a number is its word; the others are the place in the word's cell.
        words = drawn[parts - 1 :: parts]
        points = drawn.copy()
        numbers = points.view(f"<i{2 * parts}")
        points.view("<i2")[parts - 1 :: parts] = np.take(self.strips.cells, words, mode="clip")
        unsure = self._round(numbers, block)
        unsure |= words >= self.strips.sure
        open_ = np.flatnonzero(unsure)
        return Undecided(open_, words[open_], numbers[open_].astype(np.int64))

    def _round(self, numbers: AnyArray, block: IntArray) -> BoolArray:
        """Round sigma x to the nearest integer for each number; return which are uncertain."""
        if self.place_bits == _FIRST_BITS:
            # In units of 2**-44: the interval of sigma x begins at x, up to an error of 2**25.
            np.multiply(numbers, np.int64(self.step), out=block)
            block += (1 << 2 * _FIXED_BITS - 1) - _FIXED_ERROR
            rest = block & (1 << 2 * _FIXED_BITS) - 1
            block >>= 2 * _FIXED_BITS
            return rest >= (1 << 2 * _FIXED_BITS) - self.step - 2 * _FIXED_ERROR
        middle = numbers * self.unit
        middle += self.unit / 2
        rounded = np.rint(middle)
        block[:] = rounded
        middle -= rounded
        return np.abs(middle, out=middle) >= 0.5 - self._doubt(0)

    def _doubt(self, more_bits: int) -> float:
        """Return half the width of the interval of sigma x, and the error of its middle."""
        return 0.5 * self.unit * 2.0**-more_bits + float(self.sigma) * _ROUNDING + 2.0**-50

    def decide(self, undecided: Undecided, source: Source) -> tuple[IntArray, BoolArray]:
        """Return the values of proposals with more bits, and which of them are accepted."""
        _, words, numbers = undecided
        drawn = np.frombuffer(source(8 * len(words)), "<u8")
        more = (drawn >> np.uint64(_MORE_BITS)).astype(np.int64)
        height = (drawn & np.uint64((1 << _MORE_BITS) - 1)).astype(np.int64)
        cells = numbers >> self.place_bits
        sides = cells ^ cells >> 63
        middle = numbers + (more + 0.5) * 2.0**-_MORE_BITS
        low = self.strips.heights[words] + height * 2.0**-_MORE_BITS
        gap = self._curve_at(sides, middle) - low
        tails = sides == _LAST
        gap[tails] = np.minimum(gap[tails], 0)  # never accepted here: the value is not known
        x = middle * self.unit
        rounded = np.rint(x)
        kept = gap > _CURVE_ERROR
        unsure = kept & (np.abs(x - rounded) >= 0.5 - self._doubt(_MORE_BITS))
        unsure |= np.abs(gap) <= _CURVE_ERROR
        values = rounded.astype(np.int64)
        for i in np.flatnonzero(unsure).tolist():
            found = self._decide_exactly(
                int(numbers[i]) << _MORE_BITS | int(more[i]),
                int(self.strips.heights[words[i]]) << _MORE_BITS | int(height[i]),
                source,
            )
            kept[i] = found is not None
            values[i] = found or 0
        return values, kept

    def _curve_at(self, sides: IntArray, middle: FloatArray) -> FloatArray:
        """Return the height of the curve, in the last cells that of the tail."""
        end = (sides + 1) * 2.0**-_CELL_BITS
        before = end - np.abs(middle) * 2.0 ** -(_CELL_BITS + self.place_bits)
        u = before * (end - before / 2)  # end**2 / 2 - x**2 / 2, at most 5/64
        u[sides == _LAST] = 0
        power = u / 24 + 1 / 6
        for term in (0.5, 1.0, 1.0):
            power *= u
            power += term
        power *= self.curve[sides]
        return power

    def _decide_exactly(self, number: int, height: int, source: Source) -> int | None:
        """Return the sample if it is accepted, else None, in integer arithmetic on more bits."""
        bits, place_bits = _MORE_BITS, self.place_bits + _MORE_BITS
        cell = number >> place_bits
        if cell in (_LAST, ~_LAST):
            tail = functools.partial(_tail, self.sigma, self.scale)
            beyond = count_thresholds_above(tail, height, bits, source)
            return None if beyond == 0 else beyond - 1 if cell > 0 else 1 - beyond
        below = False
        while True:
            # |x| lies between these multiples of 2**-(6 + place_bits).
            inner, outer = (number, number + 1) if cell >= 0 else (-number - 1, -number)
            unit = Fraction(1, 1 << (_CELL_BITS + place_bits))
            if not below:
                if height >= self.scale * exp_negative((inner * unit) ** 2 / 2, bits)[1]:
                    return None
                below = height + 1 <= self.scale * exp_negative((outer * unit) ** 2 / 2, bits)[0]
            least = math.floor(self.sigma * inner * unit + Fraction(1, 2))
            most = math.ceil(self.sigma * outer * unit - Fraction(1, 2))
            if below and least == most:
                return least if cell >= 0 else -least
            number = number << 8 * MORE_BYTES | int.from_bytes(source(MORE_BYTES), "big")
            height = height << 8 * MORE_BYTES | int.from_bytes(source(MORE_BYTES), "big")
            bits, place_bits = bits + 8 * MORE_BYTES, place_bits + 8 * MORE_BYTES


@functools.lru_cache(maxsize=64)
def _law(sigma: Fraction) -> GaussianLaw:
    scale, strips, curve = _standard()
    place_bits = _FIRST_BITS if sigma <= _FINE_SIGMA else _FINE_BITS
    unit = float(sigma) * 2.0 ** -(_CELL_BITS + place_bits)
    step = math.floor(sigma * (1 << _FIXED_BITS))
    rejected = 1 - scale * math.sqrt(2 * math.pi) * (1 << _CELL_BITS) / WORDS
    return GaussianLaw(sigma, place_bits, unit, step, scale, strips, curve, rejected)


@functools.cache
def _standard() -> tuple[int, Strips, FloatArray]:
    """Return the scale, the rectangles and the curve of the standard normal law."""
    ends = [
        exp_negative(Fraction(side**2, 2 << 2 * _CELL_BITS), _ENCLOSED_BITS)
        for side in range(_LAST + 1)
    ]

    one = 1 << _ENCLOSED_BITS
    tallest = np.array([high / one for _, high in ends[:-1]])
    area = math.sqrt(2 * math.pi) * (1 << _CELL_BITS)
    scale = largest_scale(np.concatenate([tallest, tallest, [0.001] * 2]), int(WORDS / area))
    cells = []
    for side in range(_LAST):
        sure = scale * ends[side + 1][0] >> _ENCLOSED_BITS
        covering = ceil_shift(scale * ends[side][1], _ENCLOSED_BITS)
        cells += [Cell(side, sure, covering), Cell(~side, sure, covering)]
    cells += [Cell(_LAST, 0, 1), Cell(~_LAST, 0, 1)]
    tail = _tail(Fraction(1), scale, 0, _ENCLOSED_BITS)[1]
    heights = [scale * low for low, _ in ends[1:]] + [tail]
    return scale, Strips.build(cells), np.array([h / (1 << _ENCLOSED_BITS) for h in heights])


def _tail(sigma: Fraction, scale: int, index: int, bits: int) -> Enclosure:
    """Enclose the area of one tail from max(5, (index - 1/2) / sigma) on, in rectangles.

    The curve has the area sqrt(2 pi) scale, and a rectangle is 1/64 wide.
    """
    reach = Fraction(_LAST, 1 << _CELL_BITS)
    x = max(reach, (index - Fraction(1, 2)) / sigma)
    area = scale << (_CELL_BITS - 1)
    work = bits + 2 * area.bit_length()
    low, high = normal_two_sided_tail(x, work)
    root_low, root_high = sqrt_two_pi(work)
    down = 2 * work - bits
    return area * low * root_low >> down, ceil_shift(area * high * root_high, down)
