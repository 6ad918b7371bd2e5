"""Real-valued noise, computed only to the precision that a comparison or rounding needs.

A sample is the number x with Pr[X > x] = U for a uniform real U. The first 64 bits of U give an
interval for x. If the interval leaves a comparison or a rounding undecided, more bits of the same
U are drawn, and integer arithmetic finds a narrower interval. So every answer is exactly that of
the real number. `docs/understand/proofs/top_labels.md`, Lemmas 1 and 2.
"""

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from dphist.arrays import BoolArray, FloatArray, WordArray
from dphist.noise.enclosures import Enclosure, ceil_shift, exp_negative, normal_two_sided_tail
from dphist.noise.inversion import Source, check_source

LARGEST_SCALE = 2**56
"""Maximum noise scale: larger noise would hide every int64 count."""

# An end of an interval: infinite if the bits drawn so far do not bound the value.
End: TypeAlias = Fraction | float

_WORD = 64
_MORE_BYTES = 8
# Assumed bound on the error of floating point, relative to 1 + |x|: about 10,000 times the
# documented errors of SciPy and the C library.
_MARGIN = 2.0**-36
# Closer than this (of 2**64) to 0 or 1, the interval of U is wide relative to U: refine at once.
_FAR_TAIL = np.uint64(1 << 40)
# Bound on the rounding errors of centers and sums in float64, each relative 2**-53.
_ROUNDING = 2.0**-50


@dataclass(frozen=True, slots=True)
class ContinuousLaw:
    """A distribution on the reals, given by its upper tail.

    Attributes
    ----------
    inverse : maps (p, upper) to the x with Pr[X > x] = p if upper, else Pr[X <= x] = p, in
        floating point, for 2**-25 <= p <= 1/2.
    tail : maps (x, bits) to an enclosure of 2**bits Pr[X > x], tighter with more bits.
    """

    inverse: Callable[[FloatArray, BoolArray], FloatArray]
    tail: Callable[[Fraction, int], Enclosure]


def _gaussian_inverse(p: FloatArray, upper: BoolArray) -> FloatArray:
    x: FloatArray = ndtri(p)
    return np.where(upper, -x, x)


def _gaussian_tail(x: Fraction, bits: int) -> Enclosure:
    """Enclose 2**bits Pr[N(0, 1) > x]."""
    low, high = normal_two_sided_tail(abs(x), bits)
    low, high = low >> 1, ceil_shift(high, 1)
    one = 1 << bits
    return (low, high) if x >= 0 else (one - high, one - low)


def _gumbel_inverse(p: FloatArray, upper: BoolArray) -> FloatArray:
    # exp(-x) is an exponential variable, small where x is large.
    exponential: FloatArray = np.where(upper, -np.log1p(-p), -np.log(p))
    result: FloatArray = -np.log(exponential)
    return result


def _gumbel_tail(x: Fraction, bits: int) -> Enclosure:
    """Enclose 2**bits (1 - exp(-exp(-x)))."""
    one = 1 << bits
    if -x >= bits.bit_length():  # exp(-x) > 2**bit_length > bits: all but e**-bits of the law
        return one - 1, one
    guard = 16 + 4 * bits.bit_length()
    work = bits + guard
    low, high = exp_negative(abs(x), work)
    if x < 0:
        low, high = (1 << 2 * work) // high, -(-(1 << 2 * work) // low)
    least = exp_negative(Fraction(high, 1 << work), work)[0]
    most = exp_negative(Fraction(low, 1 << work), work)[1]
    whole = 1 << work
    return max(0, whole - most) >> guard, ceil_shift(whole - least, guard)


GAUSSIAN = ContinuousLaw(_gaussian_inverse, _gaussian_tail)
"""N(0, 1)."""

GUMBEL = ContinuousLaw(_gumbel_inverse, _gumbel_tail)
"""Pr[X <= x] = exp(-exp(-x)): the largest value with this noise is the exponential mechanism."""


class LazyNoise:
    """Independent real numbers V_i = center_i + scale X_i, accessible by comparisons and rounding.

    Parameters
    ----------
    law : distribution of the X_i.
    scale : above 0, at most 2**56.
    centers : n whole numbers or Fractions.
    source : source of random bytes (default: the operating system's randomness).
    """

    __slots__ = ("_centers", "_drawn", "_high", "_law", "_low", "_narrow", "_scale", "_source")

    def __init__(
        self,
        law: ContinuousLaw,
        scale: Fraction,
        centers: Sequence[Fraction | int],
        source: Source | None = None,
    ) -> None:
        self._law, self._scale, self._centers = law, scale, centers
        self._source = check_source(source)
        drawn = np.frombuffer(self._source(_MORE_BYTES * len(centers)), "<u8")
        words = drawn.astype(np.uint64, copy=False)
        # The bits of each U drawn so far: as an integer, and their number.
        self._drawn: list[tuple[int, int]] = [(word, _WORD) for word in words.tolist()]
        self._narrow: dict[int, tuple[End, End]] = {}
        low, high, far = _first_bounds(law, scale, centers, words)
        self._low: FloatArray = low
        self._high: FloatArray = high
        for i in np.nonzero(far)[0].tolist():
            self._refine(i)

    def is_above(self, i: int, j: int) -> bool:
        """Whether V_i > V_j, for i != j; they are equal with probability 0."""
        if i == j:
            raise ValueError("a number is not above itself")
        while True:
            if self._low[i] > self._high[j]:
                return True
            if self._high[i] < self._low[j]:
                return False
            (low_i, high_i), (low_j, high_j) = self._bounds(i), self._bounds(j)
            if low_i > high_j:
                return True
            if high_i < low_j:
                return False
            self._refine(i)
            self._refine(j)

    def descending_above(self, threshold: int, most: int) -> list[int]:
        """Return the i with V_i > V_threshold in descending order of V_i, at most `most`."""
        sure = self._low > self._high[threshold]
        open_ = ~sure & ~(self._high < self._low[threshold])
        open_[threshold] = False
        for i in np.nonzero(open_)[0].tolist():
            sure[i] = self.is_above(i, threshold)
        return self._sort_descending(np.nonzero(sure)[0])[:most]

    def rounded(self, i: int) -> int:
        """Return floor(V_i + 1/2)."""
        half = Fraction(1, 2)
        while True:
            low, high = self._bounds(i)
            if math.isfinite(low) and math.isfinite(high):
                below, above = math.floor(low + half), math.floor(high + half)
                if below == above:
                    return below
            self._refine(i)

    def _sort_descending(self, chosen: npt.NDArray[np.intp]) -> list[int]:
        """Sort by V: by lower ends first, then exactly within runs of overlapping intervals."""
        order = chosen[np.argsort(self._low[chosen], kind="stable")]
        reach = np.maximum.accumulate(self._high[order])
        cuts = np.nonzero(self._low[order][1:] > reach[:-1])[0] + 1
        ascending: list[int] = []
        key = functools.cmp_to_key(self._compare)
        for run in np.split(order, cuts):
            members = run.tolist()
            ascending += sorted(members, key=key) if len(members) > 1 else members
        return ascending[::-1]

    def _compare(self, i: int, j: int) -> int:
        return 0 if i == j else (1 if self.is_above(i, j) else -1)

    def _bounds(self, i: int) -> tuple[End, End]:
        """Return an interval that contains V_i, from all bits of U drawn so far."""
        return self._narrow.get(i) or (_exact_end(self._low[i]), _exact_end(self._high[i]))

    def _refine(self, i: int) -> None:
        """Draw more bits of the same U, and narrow the interval of V_i."""
        more = int.from_bytes(self._source(_MORE_BYTES), "big")
        word, bits = self._drawn[i]
        word, bits = word << 8 * _MORE_BYTES | more, bits + 8 * _MORE_BYTES
        self._drawn[i] = word, bits
        low, high = (self._place(i, x) for x in _interval(self._law, word, bits))
        self._narrow[i] = low, high
        self._low[i] = np.nextafter(float(low), -np.inf)
        self._high[i] = np.nextafter(float(high), np.inf)

    def _place(self, i: int, x: End) -> End:
        return self._centers[i] + self._scale * x if isinstance(x, Fraction) else x


def _first_bounds(
    law: ContinuousLaw, scale: Fraction, centers: Sequence[Fraction | int], words: WordArray
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Return ends of intervals that contain the V_i, (n,) each, and a mask of unknown ones."""
    small = np.minimum(words, ~words)  # the smaller of U and 1 - U
    p = np.minimum((small + 0.5) * 2.0**-_WORD, 0.5)
    x = law.inverse(p, words < np.uint64(1 << 63))
    center = np.array([float(c) for c in centers], np.float64)
    value = center + float(scale) * x
    doubt = _MARGIN * float(scale) * (1 + np.abs(x)) + _ROUNDING * np.abs(center)
    far = small < _FAR_TAIL
    low = np.where(far, -np.inf, value - doubt)
    high = np.where(far, np.inf, value + doubt)
    return low, high, far


def _exact_end(end: np.float64) -> End:
    return Fraction(float(end)) if np.isfinite(end) else float(end)


def _interval(law: ContinuousLaw, word: int, bits: int) -> tuple[End, End]:
    """Enclose the x with Pr[X > x] = U for every U in [word, word + 1] / 2**bits.

    The search uses the multiples of 2**-bits between -bits and bits. x is above the points where
    the tail is certainly at least (word + 1) / 2**bits, and below those where it is certainly at
    most word / 2**bits.
    """
    reach = bits << bits

    def tail(place: int) -> Enclosure:
        return law.tail(Fraction(place, 1 << bits), bits)

    low = _border(lambda place: tail(place)[0] >= word + 1, -reach, reach)
    high = _border(lambda place: tail(-place)[1] <= word, -reach, reach)
    return (
        -math.inf if low is None else Fraction(low, 1 << bits),
        math.inf if high is None else Fraction(-high, 1 << bits),
    )


def _border(holds: Callable[[int], bool], first: int, last: int) -> int | None:
    """Bisect for the last place where `holds` is true; None if it is false at `first`."""
    if not holds(first):
        return None
    while last - first > 1:
        middle = (first + last) // 2
        if holds(middle):
            first = middle
        else:
            last = middle
    return first
