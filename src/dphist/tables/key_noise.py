"""The noise of one key's contrasts: by the length of a row, or by level where ranges are asked.

Values of a nominal key are alike: each contrast h gets noise in proportion to its length. The
values of an ordered key are read in ranges, which are sums of many. So all contrasts of a level of
the tree, one depth, get noise s_g times the largest entry of h, and s_g is chosen for the mean
square error of all ranges. A record in value c costs the sum over contrasts of h[c]**2 / s**2, of
which `cost` is the largest over all values (`docs/understand/proofs/tables.md`, Lemma 15).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from dphist.arrays import FloatArray, IntArray
from dphist.tables.contrasts import make_contrasts

_STEPS, _COST_STEPS = 2**20, 2**60
_ROUNDS = 200


@dataclass(frozen=True, slots=True, eq=False)
class KeyNoise:
    """The noise of the contrasts of a key, in units of the scale of a table.

    Attributes
    ----------
    size : n, the number of values.
    groups : the standard deviation of noise, rational, and which rows have it; row 0 is in none.
    cost : what a record pays for all contrasts, times 2, at most.
    asked : the mean variance of the sums that are asked: of values, or of all ranges of values.
    rest : the mean square of such a sum's share of the sum over all values.
    ordered : whether ranges are asked.
    """

    size: int
    groups: tuple[tuple[Fraction, IntArray], ...]
    cost: Fraction
    asked: Fraction
    rest: Fraction
    ordered: bool

    @property
    def shortest(self) -> Fraction:
        """The smallest standard deviation."""
        return min(length for length, _ in self.groups)

    @property
    def longest(self) -> Fraction:
        """The largest standard deviation."""
        return max(length for length, _ in self.groups)

    @property
    def least_square(self) -> Fraction:
        """A bound below the squared standard deviations."""
        return self.shortest**2 if self.ordered else Fraction(2)

    def of_values(self) -> FloatArray:
        """Return the variance of each value, without the sum over all of them; (n,)."""
        if not self.ordered:
            return np.full(self.size, 1 - 1 / self.size)
        held = make_contrasts(self.size)
        found = np.zeros(self.size)
        for (_, rows), factor in zip(self.groups, self._factors(), strict=True):
            nodes = rows - 1
            steps: IntArray = np.zeros(self.size + 1, np.int64)
            left, right = held.left[nodes] ** 2, held.right[nodes] ** 2
            np.add.at(steps, held.low[nodes], left)
            np.add.at(steps, held.middle[nodes], right - left)
            np.add.at(steps, held.high[nodes], -right)
            found += np.cumsum(steps)[:-1] * factor
        return found

    def covariance(self, one: FloatArray, other: FloatArray) -> float:
        """Return the covariance of two weighted sums of values, without the sum over all."""
        if not self.ordered:
            return float(one @ other - one.mean() * other.sum())
        held = make_contrasts(self.size)
        products = held.measure(one, 0) * held.measure(other, 0)
        return math.fsum(
            float(products[rows].sum()) * factor
            for (_, rows), factor in zip(self.groups, self._factors(), strict=True)
        )

    def _factors(self) -> list[float]:
        """Return, for each group, the variance of its noise over its rows' squared length**2."""
        squares = make_contrasts(self.size).squares
        return [float(length**2) / float(squares[rows[0]]) ** 2 for length, rows in self.groups]


@lru_cache(maxsize=256)
def make_noise(size: int, ordered: bool = False) -> KeyNoise:
    """Return the noise of the contrasts of a key with at least two values.

    >>> make_noise(3).cost, make_noise(3).asked, make_noise(3).rest
    (Fraction(2, 3), Fraction(2, 3), Fraction(1, 9))
    >>> [[float(length), len(rows)] for length, rows in make_noise(4, True).groups]
    [[1.58..., 1], [1.28..., 2]]
    """
    if not ordered:
        share, rest = 1 - Fraction(1, size), Fraction(1, size**2)
        return KeyNoise(size, tuple(make_contrasts(size).groups()), share, share, rest, False)
    levels = list_levels(size)
    scales = [_scale_above(rate) for rate in _choose_rates(size, levels)]
    held = make_contrasts(size)
    groups = tuple(
        (scale * level.largest, np.flatnonzero(held.levels == depth) + 1)
        for depth, (scale, level) in enumerate(zip(scales, levels, strict=True))
    )
    asked = sum(
        (s**2 * level.square_in_ranges(size) for s, level in zip(scales, levels, strict=True)),
        Fraction(0),
    )
    rest = Fraction((size + 1) * (size + 2), 6 * size**2)  # the mean of (length / size)**2
    return KeyNoise(
        size, groups, compute_cost(levels, scales), _round_up(asked), _round_up(rest), True
    )


@dataclass(frozen=True, slots=True)
class Level:
    """The nodes of one depth of the tree of a key, which all have as many values.

    Attributes
    ----------
    first, second : the numbers of values of the two parts of a node.
    nodes : how many there are.
    """

    first: int
    second: int
    nodes: int

    @property
    def left(self) -> int:
        """The entry of a row on its first part."""
        return self.second // math.gcd(self.first, self.second)

    @property
    def right(self) -> int:
        """The entry of a row on its second part, without its sign."""
        return self.first // math.gcd(self.first, self.second)

    @property
    def largest(self) -> int:
        """The largest entry of a row."""
        return max(self.left, self.right)

    def square_in_ranges(self, size: int) -> Fraction:
        """Return the mean over all ranges of the squared coefficients, at noise of scale 1.

        A range has the product c(j) - c(i) with a row, where c sums up its first entries: from 0
        by `left` up to the middle of the node, and then by `right` down to 0.
        """
        a, b, u, w = self.first, self.second, self.left, self.right
        sums = (u * a * (a + 1) + w * b * (b - 1)) // 2
        squares = (u * u * a * (a + 1) * (2 * a + 1) + w * w * b * (b - 1) * (2 * b - 1)) // 6
        of_all = (size + 1) * squares - sums**2
        length = a * u * u + b * w * w
        return Fraction(2 * self.nodes * of_all * self.largest**2, size * (size + 1) * length**2)


def list_levels(size: int) -> list[Level]:
    """Return the levels of the tree that `make_contrasts` builds, from its root.

    An odd number of values parts with its last one, an even number is halved.

    >>> [(level.first, level.second, level.nodes) for level in list_levels(6)]
    [(3, 3, 1), (2, 1, 2), (1, 1, 2)]
    """
    found, nodes = [], 1
    while size > 1:
        odd = size % 2 == 1
        first = size - 1 if odd else size // 2
        found.append(Level(first, size - first, nodes))
        nodes *= 1 if odd else 2
        size = first
    return found


def list_paths(levels: Sequence[Level]) -> list[list[Fraction]]:
    """Return, for each kind of value, its squared entry over the largest one, level by level.

    A value that an odd number parts with is in no level below.
    """
    found: list[list[Fraction]] = []
    main: list[Fraction] = []
    for level in levels:
        if level.second < level.first:
            found.append([*main, Fraction(1)])
        main.append(Fraction(level.left, level.largest) ** 2)
    return [*found, main]


def compute_cost(levels: Sequence[Level], scales: Sequence[Fraction]) -> Fraction:
    """Return the largest sum over contrasts of h[c]**2 / s**2 over all values, rounded up."""
    spent = [
        sum((entry / scale**2 for entry, scale in zip(path, scales, strict=False)), Fraction(0))
        for path in list_paths(levels)
    ]
    return _round_up(max(spent))


def _choose_rates(size: int, levels: Sequence[Level]) -> list[float]:
    """Return 1 / s_g**2 of each level, of which no value pays more than about 1.

    They minimize the mean square error of ranges. With multipliers of the kinds of values, the best
    rate of a level is sqrt(a / m), where m is the sum of multipliers times entries; multipliers
    grow where a kind pays more than others. Sums are rounded once, so all machines find the same.
    """
    squares = [float(level.square_in_ranges(size)) for level in levels]
    paths = [[float(entry) for entry in path] for path in list_paths(levels)]
    paths = [path + [0.0] * (len(levels) - len(path)) for path in paths]
    weights = [1.0] * len(paths)
    rates: list[float] = []
    for _ in range(_ROUNDS):
        rates = [
            math.sqrt(a / math.fsum(w * path[g] for w, path in zip(weights, paths, strict=True)))
            for g, a in enumerate(squares)
        ]
        paid = [math.fsum(map(float.__mul__, path, rates)) for path in paths]
        rates = [rate / max(paid) for rate in rates]
        weights = [w * each / max(paid) for w, each in zip(weights, paid, strict=True)]
    return rates


def _scale_above(rate: float) -> Fraction:
    return Fraction(math.ceil(_STEPS / math.sqrt(rate)), _STEPS)


def _round_up(number: Fraction) -> Fraction:
    return Fraction(math.ceil(number * _COST_STEPS), _COST_STEPS)
