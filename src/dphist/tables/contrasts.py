"""The contrasts of a key: whole, orthogonal rows over its values that add up to zero.

A binary tree halves the values. A node whose parts have a and b values has the row that is b / g
on the first part and -a / g on the second, with g = gcd(a, b), and 0 elsewhere. An odd number of
values first parts with its last one, so that all other nodes are halved evenly: their rows hold 1
and -1.
The row of ones, for the sum over all values, stands before them: a basis of all counts.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from dphist.arrays import AnyArray, FloatArray, IntArray

_SCALE_STEPS = 2**40


@dataclass(frozen=True, slots=True)
class Contrasts:
    """The rows of a key with n values; row 0 is that of ones.

    Attributes
    ----------
    size : n, the number of values.
    low, middle, high : (n - 1,) int64. Row k + 1 is `left[k]` on values from low[k] to middle[k],
        ``-right[k]`` on those from middle[k] to high[k], and 0 elsewhere.
    left, right : (n - 1,) int64, above 0.
    levels : (n - 1,) int64, the depth of each node; nodes of one depth have no value in common.
    """

    size: int
    low: IntArray
    middle: IntArray
    high: IntArray
    left: IntArray
    right: IntArray
    levels: IntArray

    @property
    def squares(self) -> IntArray:
        """(n,) int64, the squared length of each row."""
        a, b = self.middle - self.low, self.high - self.middle
        return np.append(self.size, a * self.left**2 + b * self.right**2)

    @property
    def largest(self) -> int:
        """The largest entry of a row."""
        return int(max(self.left.max(initial=1), self.right.max(initial=1)))

    def rows(self) -> IntArray:
        """Return all rows, (n, n) int64, for tests and small keys."""
        found: IntArray = np.zeros((self.size, self.size), np.int64)
        found[0] = 1
        for k in range(self.size - 1):
            found[k + 1, self.low[k] : self.middle[k]] = self.left[k]
            found[k + 1, self.middle[k] : self.high[k]] = -self.right[k]
        return found

    def groups(self) -> list[tuple[Fraction, IntArray]]:
        """Return the scales of noise, and which rows have each; row 0 is in none.

        A scale is the length of the row, rounded up to a multiple of 2**-40.
        """
        squares = self.squares[1:]
        return [
            (root_above(Fraction(square)), np.flatnonzero(squares == square) + 1)
            for square in np.unique(squares).tolist()
        ]

    def measure(self, counts: AnyArray, axis: int) -> AnyArray:
        """Return the products of all rows with counts along an axis; exact, of the type of counts.

        Parameters
        ----------
        counts : of int64, if no sum of products leaves int64, or of Python's whole numbers.
        """
        along = np.moveaxis(counts, axis, 0)
        sums = np.zeros((self.size + 1, *along.shape[1:]), along.dtype)
        np.cumsum(along, axis=0, out=sums[1:])
        found = np.empty_like(along)
        found[0] = sums[-1]
        shape = (-1, *[1] * (along.ndim - 1))
        left, right = (weights.reshape(shape) for weights in (self.left, self.right))
        middle = sums[self.middle]
        found[1:] = (middle - sums[self.low]) * left
        found[1:] -= (sums[self.high] - middle) * right
        return np.moveaxis(found, 0, axis)

    def combine(self, coefficients: FloatArray, axis: int) -> FloatArray:
        """Return the sum over all rows of coefficient times row, along an axis."""
        along = np.moveaxis(coefficients, axis, 0)
        found = np.broadcast_to(along[0], along.shape).copy()
        shape = (-1, *[1] * (along.ndim - 1))
        for row, weight in self._by_level():
            held = row > 0
            if held.all():
                found += along[row] * weight.reshape(shape)
            else:
                found[held] += along[row[held]] * weight[held].reshape(shape)
        return np.moveaxis(found, 0, axis)

    def _by_level(self) -> list[tuple[IntArray, IntArray]]:
        """Return, for each depth, the row that holds each value there, or 0, and its entry."""
        depth = int(self.levels.max(initial=-1)) + 1
        row: IntArray = np.zeros((depth, self.size), np.int64)
        entry: IntArray = np.zeros((depth, self.size), np.int64)
        for k, level in enumerate(self.levels.tolist()):
            low, middle, high = int(self.low[k]), int(self.middle[k]), int(self.high[k])
            row[level, low:high] = k + 1
            entry[level, low:middle], entry[level, middle:high] = self.left[k], -self.right[k]
        return list(zip(row, entry, strict=True))


@lru_cache(maxsize=256)
def contrasts_of(size: int) -> Contrasts:
    """Return the contrasts of a key with this number of values, at least 1.

    >>> contrasts_of(3).rows().tolist()
    [[1, 1, 1], [1, 1, -2], [1, -1, 0]]
    """
    nodes: list[tuple[int, int, int, int]] = []
    waiting = [(0, size, 0)]
    for low, high, level in waiting:
        if high - low < 2:
            continue
        middle = high - 1 if (high - low) % 2 else (low + high) // 2
        nodes.append((low, middle, high, level))
        waiting += [(low, middle, level + 1), (middle, high, level + 1)]
    low_, middle_, high_, levels = np.array(nodes, np.int64).reshape(-1, 4).T.copy()
    first, second = middle_ - low_, high_ - middle_
    common = np.gcd(first, second)
    parts = (low_, middle_, high_, second // np.maximum(common, 1), first // np.maximum(common, 1))
    for part in (*parts, levels):
        part.setflags(write=False)
    return Contrasts(size, *parts, levels)


def shortest(size: int) -> Fraction:
    """Return the smallest scale of the contrasts of a key with at least two values."""
    return min(length for length, _ in contrasts_of(size).groups())


def measure_all(counts: AnyArray) -> AnyArray:
    """Return the products of all rows of all axes with counts; exact.

    The result at (J_1, J_2, ...) is the product with row J_1 of the first axis, row J_2 of the
    second, and so on. Numbers beyond 2**62 - 1, of either sign, are replaced by that.
    """
    keys = [contrasts_of(size) for size in counts.shape]
    reach = int(np.abs(counts).sum(dtype=object)) * math.prod(key.largest for key in keys)
    found = counts if reach < 2**62 else counts.astype(object)
    for axis, key in enumerate(keys):
        found = key.measure(found, axis)
    if found.dtype == object:
        found = np.clip(found, -LARGEST_PRODUCT, LARGEST_PRODUCT).astype(np.int64)
    return found


LARGEST_PRODUCT = 2**62 - 1


def combine_all(coefficients: FloatArray) -> FloatArray:
    """Return the counts whose products with all rows, over squared lengths, are `coefficients`."""
    found = coefficients
    for axis, size in enumerate(coefficients.shape):
        found = contrasts_of(size).combine(found, axis)
    return found


def squares_of(shape: Sequence[int]) -> list[IntArray]:
    """Return the squared lengths of the rows of each axis, shaped to be multiplied."""
    found = []
    for axis, size in enumerate(shape):
        along = [1] * len(shape)
        along[axis] = size
        found.append(contrasts_of(size).squares.reshape(along))
    return found


def root_above(number: Fraction) -> Fraction:
    """Return the smallest multiple of 2**-40 that is at least the root of a number above 0.

    >>> root_above(Fraction(9)), float(root_above(Fraction(2)))
    (Fraction(3, 1), 1.4142135623733338)
    """
    whole = math.isqrt(math.ceil(number * _SCALE_STEPS**2) - 1) + 1
    return Fraction(whole, _SCALE_STEPS)
