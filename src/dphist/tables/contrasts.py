"""The contrasts of a key: whole, orthogonal rows over its values that add up to zero.

A binary tree halves the values. A node whose parts have a and b values has the row that is b / g
on the first part and -a / g on the second, with g = gcd(a, b), and 0 elsewhere. An odd number of
values first parts with its last one, so that all other nodes are halved evenly: their rows hold 1
and -1.
The row of ones, for the sum over all values, stands before them: a basis of all counts.
"""

import math
from collections.abc import Mapping, Sequence
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
        along = _first(counts, axis)
        sums = np.zeros((self.size + 1, along.shape[1]), along.dtype)
        np.cumsum(along, axis=0, out=sums[1:])
        found = np.empty_like(along)
        found[0] = sums[-1]
        middle = sums[self.middle]
        part = sums[self.high] - middle
        part *= self.right[:, None]
        middle -= sums[self.low]
        middle *= self.left[:, None]
        np.subtract(middle, part, out=found[1:])
        return _back(found, counts.shape, axis)

    def combine(self, coefficients: FloatArray, axis: int) -> FloatArray:
        """Return the sum over all rows of coefficient times row, along an axis.

        From the top of the tree down: each part has the number of its node, and its own entry of
        the node's row times the coefficient.
        """
        along = _first(coefficients, axis)
        found = along[:1]
        for parents, rows, entries in self._steps():
            found = found[parents]
            split = np.flatnonzero(rows)
            found[split] += along[rows[split]] * entries[split][:, None]
        return _back(found, coefficients.shape, axis)

    def _steps(self) -> list[tuple[IntArray, IntArray, IntArray]]:
        """Return, for each depth, the parts below it: parent, row of the parent, and its entry.

        A part of one value stays as it is: its row is 0.
        """
        steps, starts = [], np.zeros(1, np.int64)
        for level in range(int(self.levels.max(initial=-1)) + 1):
            nodes = np.flatnonzero(self.levels == level)
            split = np.zeros(len(starts), np.bool_)
            owners = np.searchsorted(starts, self.low[nodes])
            split[owners] = True
            parents = np.repeat(np.arange(len(starts)), 1 + split)
            first = np.cumsum(1 + split) - (1 + split)
            rows: IntArray = np.zeros(len(parents), np.int64)
            entries: IntArray = np.zeros(len(parents), np.int64)
            below = starts[parents]
            for after, entry in ((0, self.left[nodes]), (1, -self.right[nodes])):
                rows[first[owners] + after], entries[first[owners] + after] = nodes + 1, entry
            below[first[owners] + 1] = self.middle[nodes]
            steps.append((parents, rows, entries))
            starts = below
        return steps


def _first(cells: AnyArray, axis: int) -> AnyArray:
    """Return cells with an axis first, and all others as one."""
    return np.ascontiguousarray(np.moveaxis(cells, axis, 0)).reshape(cells.shape[axis], -1)


def _back(cells: AnyArray, shape: Sequence[int], axis: int) -> AnyArray:
    """Return what `_first` made, with its axes where they were."""
    others = [size for place, size in enumerate(shape) if place != axis]
    return np.moveaxis(cells.reshape(shape[axis], *others), 0, axis)


@lru_cache(maxsize=256)
def make_contrasts(size: int) -> Contrasts:
    """Return the contrasts of a key with this number of values, at least 1.

    >>> make_contrasts(3).rows().tolist()
    [[1, 1, 1], [1, 1, -2], [1, -1, 0]]
    """
    starts, stops = np.array([0]), np.array([size])
    found: list[IntArray] = []
    while len(starts):
        split = stops - starts > 1
        starts, stops = starts[split], stops[split]
        odd = (stops - starts) % 2 == 1
        middles = np.where(odd, stops - 1, (starts + stops) // 2)
        found.append(np.stack([starts, middles, stops, np.full(len(starts), len(found))]))
        starts, stops = (
            np.stack(pair, axis=1).ravel() for pair in ((starts, middles), (middles, stops))
        )
    low_, middle_, high_, levels = np.concatenate(found, axis=1).astype(np.int64)
    first, second = middle_ - low_, high_ - middle_
    common = np.gcd(first, second)
    parts = (low_, middle_, high_, second // np.maximum(common, 1), first // np.maximum(common, 1))
    for part in (*parts, levels):
        part.setflags(write=False)
    return Contrasts(size, *parts, levels)


def measure_all(counts: AnyArray) -> AnyArray:
    """Return the products of all rows of all axes with counts; exact.

    The result at (J_1, J_2, ...) is the product with row J_1 of the first axis, row J_2 of the
    second, and so on. Numbers beyond 2**62 - 1, of either sign, are replaced by that.

    Parameters
    ----------
    counts : of int64, each of a size of at most 2**62 - 1 and noise; their sum may be larger.
    """
    keys = [make_contrasts(size) for size in counts.shape]
    found, small = counts, _stays_small(counts, math.prod(key.largest for key in keys))
    for axis, key in enumerate(keys):
        if not small and found.dtype != object and not _stays_small(found, key.largest):
            found = found.astype(object)
        found = key.measure(found, axis)
    if not small:
        clamped = np.clip(found, -LARGEST_PRODUCT, LARGEST_PRODUCT)
        found = np.asarray(clamped, np.int64)  # without axes, it is a number
    return found


def _stays_small(numbers: AnyArray, largest: int) -> bool:
    """Whether sums of these numbers, each times at most `largest`, are within int64 for certain."""
    # The sum is off by a small part, far less than half: below 2**61 nothing leaves int64.
    return int(np.abs(numbers).sum(dtype=np.float64)) * largest < 2**61


LARGEST_PRODUCT = 2**62 - 1


def combine_all(coefficients: FloatArray) -> FloatArray:
    """Return the counts whose products with all rows, over squared lengths, are `coefficients`."""
    found = coefficients
    for axis, size in enumerate(coefficients.shape):
        found = make_contrasts(size).combine(found, axis)
    return found


def shape_squares(shape: Sequence[int]) -> list[IntArray]:
    """Return the squared lengths of the rows of each axis, shaped to be multiplied."""
    found = []
    for axis, size in enumerate(shape):
        along = [1] * len(shape)
        along[axis] = size
        found.append(make_contrasts(size).squares.reshape(along))
    return found


def root_above(number: Fraction) -> Fraction:
    """Return the smallest multiple of 2**-40 that is at least the root of a number above 0.

    >>> root_above(Fraction(9)), float(root_above(Fraction(2)))
    (Fraction(3, 1), 1.4142135623733338)
    """
    whole = math.isqrt(math.ceil(number * _SCALE_STEPS**2) - 1) + 1
    return Fraction(whole, _SCALE_STEPS)


def sum_over_axes(cells: IntArray, axes: tuple[int, ...]) -> IntArray:
    """Return sums over axes, or the largest number that is measured, of either sign, if beyond."""
    if float(np.abs(cells).sum(dtype=np.float64)) < LARGEST_PRODUCT / 2:
        return np.asarray(cells.sum(axis=axes), np.int64)
    exact = cells.astype(object).sum(axis=axes)
    return np.asarray(np.clip(exact, -LARGEST_PRODUCT, LARGEST_PRODUCT), np.int64)


def combine_parts(
    contrasts: Mapping[tuple[int, ...], IntArray],
    table: tuple[int, ...],
    parts: Sequence[tuple[int, ...]],
    shape: tuple[int, ...],
    step: Fraction | None,
) -> FloatArray:
    """Return the cells of a table that the contrasts of some of its parts make, in records.

    Parameters
    ----------
    shape : the number of values of each key of the table.
    step : the unit of the contrasts; None if they are of records.
    """
    coefficients = np.zeros(shape)
    for part in parts:
        block = tuple(slice(1, None) if i in part else 0 for i in table)
        coefficients[block] = contrasts[part]
    for squares in shape_squares(shape):
        coefficients /= squares
    if step is not None:
        coefficients *= float(step)
    return combine_all(coefficients)
