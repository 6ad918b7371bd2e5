"""Exact two-sided geometric noise, without a limit and within one."""

import functools
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from dphist.arrays import BoolArray, IntArray
from dphist.errors import ParameterError
from dphist.noise.enclosures import Enclosure, ceil_shift, exp_negative
from dphist.noise.inversion import MORE_BYTES, Source, sample_shape
from dphist.noise.strips import WORDS, Cell, Strips, Undecided, largest_scale, samples
from dphist.parameters import Exact, positive_number, whole_number

SMALLEST_EPSILON = Fraction(1, 10**9)
"""Below this epsilon the noise could exceed int64."""

_ONE_A_CELL = Fraction(1, 256)  # from this epsilon on, a cell is one integer
_WIDTH = Fraction(1, 50)  # below it, cells are the largest power of 2 with width * epsilon <= this
_POWER_BITS = 32  # of exp(-epsilon r), the height of the curve in a cell relative to its left end
_RATE_BITS = 56
_DOUBT = 8  # a larger difference of height and curve, in units of `height_bits`, decides
_HEIGHT_BITS = 32  # drawn at first
_CURVE_BITS = 30  # of the largest height of the curve
_ENCLOSED_BITS = 96
_LARGEST_LIMIT = 2**62


def two_sided_geometric(
    epsilon: Exact, size: int | tuple[int, ...], source: Source | None = None
) -> IntArray:
    """Draw independent two-sided geometric noise, exactly.

    Pr[Z = z] = (1 - a) / (1 + a) * a**abs(z) with a = exp(-epsilon), for every integer z.
    Added to integer counts of L1 sensitivity 1 it gives epsilon-differential privacy
    (Ghosh, Roughgarden, Sundararajan 2012).

    Parameters
    ----------
    epsilon : number, 1/10**9 or more; a float means its shortest decimal.
        The parameter of one count: the epsilon of the release divided by its sensitivity.
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
    No floating-point number decides an outcome: `docs/understand/proofs/noise.md`.
    """
    return sample_shape(size, geometric_law(epsilon).sample, source)


def geometric_law(epsilon: Exact) -> "GeometricLaw":
    """Return the tables for `epsilon`, cached."""
    exact = positive_number(epsilon, "epsilon")
    if exact < SMALLEST_EPSILON:
        raise ParameterError("epsilon", "of a single count must be at least 1e-9")
    return _law(exact)


@dataclass(frozen=True, slots=True)
class GeometricLaw:
    """Tables for sampling Z below the curve scale * a**abs(Z).

    Cell c has the integers Z = 2**shift c + place, place = 0..2**shift - 1. Its side is c if c >= 0
    and -1 - c if c < 0. The cells of the last side have the tails: all integers beyond the others.
    With s = 1 if Z < 0, else 0, and M = Z ^ -s, abs(Z) is M + s.
    """

    epsilon: Fraction
    shift: int
    last: int  # the side with the tail: M >= 2**shift * last
    scale: int
    strips: Strips
    height_bits: int  # of heights and of `curve`
    curve: IntArray  # by cell: the curve's largest height in it, or the tail's, rounded down
    rate: int  # epsilon in units of 2**-56, rounded down; 0 if cells are single integers
    rejected: float  # the share of proposals that are rejected

    @property
    def place_type(self) -> str:
        """Type of the word whose leading `shift` bits are the place in a cell."""
        return "<u1" if self.shift <= 8 else "<u2" if self.shift <= 16 else "<u4"

    def sample(self, size: int, source: Source) -> IntArray:
        """Draw (size,) int64 samples."""
        return samples(self, size, source)

    def first(self, block: IntArray, source: Source) -> Undecided:
        """Fill a block with proposals; return those that need a height, with their values."""
        words = np.frombuffer(source(2 * len(block)), "<u2")
        block[:] = np.take(self.strips.cells, words, mode="clip")
        if self.shift:
            kind = np.dtype(self.place_type)
            drawn = np.frombuffer(source(kind.itemsize * len(block)), kind)
            block <<= self.shift
            block ^= drawn >> kind.type(8 * kind.itemsize - self.shift)
        open_ = np.flatnonzero(words >= self.strips.sure)
        return Undecided(open_, words[open_], block[open_])

    def decide(self, undecided: Undecided, source: Source) -> tuple[IntArray, BoolArray]:
        """Return the values of words that need a height, and which of them are accepted."""
        _, words, values = undecided
        drawn = np.frombuffer(source(4 * len(words)), "<u4").astype(np.int64)
        signs = values >> 63  # -s
        magnitudes = values ^ signs
        tails = magnitudes >= self.last << self.shift
        heights = self.strips.heights[words].astype(np.int64)
        below = self.curve[values >> self.shift]
        if self.shift:
            places = magnitudes & (1 << self.shift) - 1
            places[tails] = 0
            below = (below * self._power(places)) >> _POWER_BITS
        bits = self.height_bits
        gap = below - ((heights << bits) + (drawn >> (_HEIGHT_BITS - bits)))
        kept = gap > _DOUBT
        for i in np.flatnonzero(np.abs(gap) <= _DOUBT).tolist():
            height = int(heights[i]) << _HEIGHT_BITS | int(drawn[i])
            exponent = None if tails[i] else int(magnitudes[i])
            kept[i] = self._is_below(height, exponent, int(values[i] < 0), source)
        far = np.flatnonzero(tails & kept)
        if len(far):
            # Beyond any point, a geometric law starts over.
            more = self.sample(len(far), source)
            values[far] = ((self.last << self.shift) + (more ^ more >> 63)) ^ signs[far]
        return values, kept

    def _power(self, places: IntArray) -> IntArray:
        """Return 2**32 exp(-epsilon r), for epsilon r < 1/50, to 8 units."""
        u = (places * self.rate) >> (_RATE_BITS - _POWER_BITS)
        square = (u * u) >> _POWER_BITS
        rest = (square * ((1 << _POWER_BITS) * 4 - u)) >> (_POWER_BITS + 2)
        power: IntArray = (1 << _POWER_BITS) - u + (square >> 1) - ((rest * u) >> _POWER_BITS) // 6
        return power

    def _is_below(self, height: int, exponent: int | None, s: int, source: Source) -> bool:
        """Whether a height is below the curve, or its tail; draws more bits until it is certain."""
        bits = _HEIGHT_BITS
        while True:
            work = bits + self.scale.bit_length()
            if exponent is None:
                low, high = _tail(self.epsilon, self.shift, self.last, s, work)
            else:
                low, high = exp_negative(self.epsilon * (exponent + s), work)
            down = work - bits
            if height + 1 <= self.scale * low >> down:
                return True
            if height >= ceil_shift(self.scale * high, down):
                return False
            height = height << 8 * MORE_BYTES | int.from_bytes(source(MORE_BYTES), "big")
            bits += 8 * MORE_BYTES


@functools.lru_cache(maxsize=64)
def _law(epsilon: Fraction) -> GeometricLaw:
    shift = 0 if epsilon >= _ONE_A_CELL else math.floor(_WIDTH / epsilon).bit_length() - 1
    # The rectangles of both signs have the area of the curve, if nothing is rounded up.
    likely = math.floor(WORDS * math.tanh(epsilon / 2) * 2**shift)
    last = max(1, math.ceil(math.log(max(likely, 1)) / (epsilon * 2**shift)))
    left = _enclose_left_ends(epsilon, shift, last)
    right = left if shift == 0 else _right_ends(epsilon, shift, last)
    one = 1 << _ENCLOSED_BITS
    scale = largest_scale(np.array([high / one for _, high in left[0] + left[1]]), likely)
    cells = []
    for s in (0, 1):
        words = [ceil_shift(scale * high, _ENCLOSED_BITS) for _, high in left[s]]
        sure = [scale * low >> _ENCLOSED_BITS for low, _ in right[s][:last]] + [0]  # of the tail
        cells += [
            Cell(~side if s else side, *of_side)
            for side, of_side in enumerate(zip(sure, words, strict=True))
        ]
    highest = max(cell.words for cell in cells)
    height_bits = _CURVE_BITS - highest.bit_length()
    curve = np.zeros(2 * last + 2, np.int64)
    for s in (0, 1):
        for side, (low, _) in enumerate(left[s]):
            curve[~side if s else side] = scale * low >> (_ENCLOSED_BITS - height_bits)
    rate = 0 if shift == 0 else math.floor(epsilon * (1 << _RATE_BITS))
    strips = Strips.build(cells)
    rejected = 1 - scale / (WORDS * math.tanh(epsilon / 2) * 2**shift)
    return GeometricLaw(epsilon, shift, last, scale, strips, height_bits, curve, rate, rejected)


def _enclose_left_ends(epsilon: Fraction, shift: int, last: int) -> list[list[Enclosure]]:
    """Enclose a**(2**shift side + s) for s = 0, 1 and each side, and the tail's height at last."""
    return [
        [*_powers(epsilon, s, shift, last), _tail(epsilon, shift, last, s, _ENCLOSED_BITS)]
        for s in (0, 1)
    ]


def _right_ends(epsilon: Fraction, shift: int, last: int) -> list[list[Enclosure]]:
    """Enclose a**(2**shift (side + 1) - 1 + s), the last height in a cell."""
    return [_powers(epsilon, (1 << shift) - 1 + s, shift, last) for s in (0, 1)]


def _powers(epsilon: Fraction, first: int, shift: int, count: int) -> list[Enclosure]:
    """Enclose a**(first + 2**shift i) for i = 0..count-1, by repeated multiplication."""
    one = 1 << _ENCLOSED_BITS
    low, high = exp_negative(epsilon * first, _ENCLOSED_BITS) if first else (one, one)
    factor = exp_negative(epsilon * (1 << shift), _ENCLOSED_BITS)
    powers = []
    for _ in range(count):
        powers.append((low, high))
        low, high = low * factor[0] >> _ENCLOSED_BITS, ceil_shift(high * factor[1], _ENCLOSED_BITS)
    return powers


def _tail(epsilon: Fraction, shift: int, last: int, s: int, bits: int) -> Enclosure:
    """Enclose the sum of a**(M + s) over M >= 2**shift last, in areas of a rectangle."""
    guard = 16 + math.ceil(1 / epsilon).bit_length()  # of dividing by 1 - a
    work = bits + guard
    power = exp_negative(epsilon * ((last << shift) + s), work)
    alpha = exp_negative(epsilon, work)
    one = 1 << work
    return (
        (power[0] << work) // (one - alpha[0] << shift) >> guard,
        ceil_shift(-(-(power[1] << work) // (one - alpha[1] << shift)), guard),
    )


def truncated_geometric(
    epsilon: Exact, limit: int, size: int | tuple[int, ...], source: Source | None = None
) -> IntArray:
    """Draw independent two-sided geometric noise that is given to be within a limit, exactly.

    Pr[X = x] is proportional to exp(-epsilon abs(x)) for the whole numbers from -limit to limit,
    and 0 for all others. What is drawn beyond the limit is drawn again, which does not depend on
    any data; it is never moved to the limit.

    Parameters
    ----------
    epsilon : number, 1/10**9 or more; a float means its shortest decimal.
        The parameter of one count.
    limit : largest magnitude, in records; 0 or more. The share of draws that are kept is about
        1 - exp(-epsilon limit).
    size, source : as for `two_sided_geometric`.

    Returns
    -------
    (size,) int64

    Notes
    -----
    `docs/understand/proofs/bounded_noise.md`, Lemma 1.
    """
    largest = whole_number(limit, "limit", 0, _LARGEST_LIMIT)
    return sample_shape(size, partial(_sample_within, epsilon, largest), source)


def _sample_within(epsilon: Exact, limit: int, size: int, source: Source) -> IntArray:
    drawn = np.array(two_sided_geometric(epsilon, size, source), np.int64)
    beyond = np.flatnonzero(np.abs(drawn) > limit)
    while len(beyond):
        drawn[beyond] = two_sided_geometric(epsilon, len(beyond), source)
        beyond = beyond[np.abs(drawn[beyond]) > limit]
    return drawn
