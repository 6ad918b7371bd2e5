"""Pure counters: integer Laplace noise on the sums of blocks of a tree, added and subtracted.

Time is written with an odd base k and the digits -(k - 1)/2, ..., (k - 1)/2. A count is the signed
sum of |digit| blocks for each digit, from the highest on: a positive digit adds the blocks after
what is reached so far, a negative one subtracts the blocks before it. So a count has about half as
many blocks as with the digits 0 to k - 1, and a large base has few levels, in each of which an
event is in one block (Andersson, Pagh, Steiner and Torkamani 2024, "Count on your elders").

Only the noise of blocks is drawn, so blocks may end after the last event.
"""

import functools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.special import ndtr, roots_genlaguerre

from dphist.arrays import IntArray
from dphist.noise import Source, two_sided_geometric
from dphist.noise.magnitude import geometric_standard_deviation

_BASES = range(3, 128, 2)
_POINTS = 64  # of the quadrature of a half width


def digits(time: int, base: int, levels: int) -> list[int]:
    """Return the balanced digits of a time, the digit of `base`**0 first.

    >>> digits(7, 5, 2), digits(8, 5, 2)  # 5 + 2 and 10 - 2
    ([2, 1], [-2, 2])
    """
    half, rest, found = base // 2, time, []
    for _ in range(levels):
        digit = (rest + half) % base - half
        found.append(digit)
        rest = (rest - digit) // base
    if rest:
        raise ValueError("more levels are needed for this time")
    return found


@dataclass(frozen=True, slots=True)
class LaplaceCounter:
    """Each block has independent two-sided geometric noise, drawn at its first use and reused.

    Attributes
    ----------
    rate : the epsilon of one block's sum: Pr[Z = z] is proportional to exp(-rate |z|).
    base : odd, 3 or more.
    levels : number of digits, and of blocks that an event is in.
    horizon : the last time.
    """

    rate: Fraction
    base: int
    levels: int
    horizon: int

    @property
    def width(self) -> int:
        """Half the base for each level: the blocks of one digit."""
        return self.levels * (self.base // 2)

    @property
    def unit_bits(self) -> int:
        """Noise is whole records."""
        return 0

    @property
    def variance(self) -> Fraction:
        """That of the largest number of blocks."""
        return self.most_blocks * self._block_variance

    @property
    def most_blocks(self) -> int:
        """The largest number of blocks of a count at any time."""
        return most_blocks(self.base, self.horizon)

    @property
    def rounding(self) -> Fraction:
        """Nothing is rounded."""
        return Fraction(0)

    def variance_at(self, time: int) -> Fraction:
        """Return the variance: that of one block for each unit of a digit."""
        return self.blocks_at(time) * self._block_variance

    def blocks_at(self, time: int) -> int:
        """Return the number of blocks that are added or subtracted at a time."""
        return sum(map(abs, digits(time, self.base, self.levels)))

    @property
    def _block_variance(self) -> Fraction:
        return Fraction(geometric_standard_deviation(self.rate)) ** 2

    @property
    def skips(self) -> bool:
        """Blocks are independent."""
        return True

    def start(self, labels: int, time: int, source: Source | None) -> IntArray:
        """Draw the blocks of a time."""
        return self._draw_blocks(np.zeros((labels, self.width), np.int64), None, time, source)

    def step(self, rows: IntArray, before: int, now: int, source: Source | None) -> IntArray:
        """Keep the blocks still in use, drop the others, and draw the new ones."""
        return self._draw_blocks(rows, before, now, source)

    def total(self, rows: IntArray) -> IntArray:
        """Add up the blocks, which are held with their sign."""
        result: IntArray = rows.sum(axis=1)
        return result

    def _draw_blocks(
        self, rows: IntArray, before: int | None, now: int, source: Source | None
    ) -> IntArray:
        """Return the noise of the blocks of `now`, (labels, width), with their signs.

        Column level * (base // 2) + i holds block i + 1 of the digit of that level, counted from
        where the digits above it end: forward if the digit is positive, else backward.
        """
        half = self.base // 2
        following = np.zeros_like(rows)
        wanted = digits(now, self.base, self.levels)
        held = [0] * self.levels if before is None else digits(before, self.base, self.levels)
        above = True  # whether all digits above the level are those of `before`
        for level in reversed(range(self.levels)):
            digit, old = wanted[level], held[level]
            kept = min(abs(digit), abs(old)) if above and digit * old > 0 else 0
            first = level * half
            following[:, first : first + kept] = rows[:, first : first + kept]
            new = abs(digit) - kept
            if new:
                drawn = two_sided_geometric(self.rate, (len(rows), new), source)
                following[:, first + kept : first + kept + new] = drawn
            above = above and digit == old
        return following


def laplace_counter(epsilon: Fraction, horizon: int) -> LaplaceCounter:
    """Return the counter of one label with the lowest mean variance, for one event's epsilon."""
    base, levels = _base_and_levels(horizon)
    return LaplaceCounter(epsilon / levels, base, levels, horizon)


@functools.lru_cache(maxsize=256)
def _base_and_levels(horizon: int) -> tuple[int, int]:
    """Return the base and levels that minimize levels**2 times the mean number of blocks."""
    found = [(base, _levels(base, horizon)) for base in _BASES]
    return min(found, key=lambda it: it[1] ** 2 * sum_of_blocks(it[0], it[1], horizon))


def _levels(base: int, horizon: int) -> int:
    """Return the smallest number of balanced digits that reach the horizon."""
    levels = 1
    while (base**levels - 1) // 2 < horizon:
        levels += 1
    return levels


def sum_of_blocks(base: int, levels: int, horizon: int) -> int:
    """Return the number of blocks of all times from 1 to the horizon, in all."""
    half, total = base // 2, 0
    sizes = [abs(digit) for digit in (*range(half + 1), *range(-half, 0))]
    for level in range(levels):
        # Shifted by half of a block of this level, times run through the digits 0 to half, then
        # from -half on, each for base**level times.
        each = base**level
        shift = each // 2
        total += _sum_to(sizes, each, horizon + shift) - _sum_to(sizes, each, shift)
    return total


def _sum_to(sizes: list[int], each: int, last: int) -> int:
    """Return the sum of sizes[(time // each) % base] over the times 0 to `last`."""
    whole, rest = divmod(last + 1, each * len(sizes))
    full, part = divmod(rest, each)
    total = whole * each * sum(sizes) + each * sum(sizes[:full])
    return total + (part * sizes[full] if part else 0)


@functools.lru_cache(maxsize=256)
def most_blocks(base: int, horizon: int) -> int:
    """Return the largest number of blocks of a time up to the horizon.

    The best time agrees with the horizon's digits down to some level, is smaller by one there, or
    starts that level's most negative digit, and has the largest digits below.
    """
    half, levels = base // 2, _levels(base, horizon)
    limit = digits(horizon, base, levels)
    best, above = sum(map(abs, limit)), 0
    for level in reversed(range(levels)):
        smaller = [abs(digit) for digit in range(-half, limit[level])]
        is_first = not any(limit[level + 1 :])
        if is_first:  # no digit above: the first that is not 0 is positive
            smaller = [abs(digit) for digit in range(limit[level])]
        if smaller:
            best = max(best, above + max(smaller) + half * level)
        above += abs(limit[level])
    return best


def laplace_half_width(rate: Fraction, blocks: int, level: float) -> int:
    """Return a q with Pr[|Z| <= q] of about `level`, Z the noise of this number of blocks.

    A sum of n Laplace variables is normal with a variance 2 G / rate**2, G of the Gamma law of
    shape n. Descriptive, in floating point.
    """
    points, weights = roots_genlaguerre(_POINTS, blocks - 1)
    shares = weights / weights.sum()
    scales = np.sqrt(2 * points) / float(rate)

    def compute_miss_chance(width: float) -> float:
        return float(2 * (shares * ndtr(-width / scales)).sum())

    low, high = 0.0, 40 * math.sqrt(blocks) / float(rate)
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if compute_miss_chance(middle) > 1 - level else (low, middle)
    return max(math.ceil(high - 0.5), 0)
