"""Upper bounds of exp(-rate k) for whole k, as integers and as float64.

The tables of the partition sampler need close upper bounds of these powers. Integer arithmetic
computes them, rounding up. The only assumption about floating point is a relative error of at most
2**-52 for a product (`docs/understand/proofs/partition_sampler.md`, Lemma 7).
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dphist.arrays import FloatArray
from dphist.noise.enclosures import ceil_shift, exp_negative

TINY = 2.0**-1000
"""Stands for all powers below it."""

# (m, e) stands for m * 2**e.
Scaled = tuple[int, int]

_BITS = 192  # of mantissas: after 2**64 multiplications 127 bits are still correct
_FAR = 694  # exp(-694) < 2**-1000
_MARGIN = 1 + 2.0**-46  # more than the error of two rounded products


@dataclass(frozen=True, slots=True)
class Powers:
    """Upper bounds of a**k for a = exp(-rate).

    Attributes
    ----------
    rate : at most 500.
    squares : of a, a**2, a**4, ...
    reach : largest k in `table`; it is `farthest`, or a**k is less than `TINY` beyond it.
    table : (2 reach + 1,) float64; `table[reach + k]` is at least a**abs(k) (1 + 2**-47), and at
        most a**abs(k) (1 + 2**-44) where it is above 2 `TINY`.
    """

    rate: Fraction
    squares: list[Scaled]
    reach: int
    table: FloatArray

    @classmethod
    def of(cls, rate: Fraction, farthest: int) -> "Powers":
        """Compute powers of exp(-rate). The table ends at `farthest`, or where powers are tiny."""
        squares = [_first(rate)]
        for _ in range(64):
            squares.append(_product(squares[-1], squares[-1]))
        reach = min(farthest, math.ceil(_FAR / rate))
        half = _floats(squares, reach)
        return cls(rate, squares, reach, np.concatenate([half[:0:-1], half]))

    def above(self, k: int) -> Scaled:
        """Return an upper bound of a**k, for 0 <= k < 2**64, larger by less than 2**-100."""
        return _above(self.squares, k)

    def near(self, k: int) -> float | None:
        """Return the bound of a**k in the table, or None if it is not close."""
        bound = self.table.item(self.reach + k) if k <= self.reach else TINY
        return bound if bound > 2 * TINY else None

    def spread(self, true: int, first: int, out: FloatArray) -> FloatArray:
        """Return bounds of a**abs(q - true) for q = first, first - 1, ..., as many as in `out`.

        The result is a view of the table if the table is large enough; otherwise it is `out`.
        """
        start = true + self.reach - first
        if start >= 0 and start + len(out) <= len(self.table):
            return self.table[start : start + len(out)]
        out.fill(TINY)
        held = self.table[max(start, 0) : max(start + len(out), 0)]
        out[max(-start, 0) :][: len(held)] = held
        return out


def _first(rate: Fraction) -> Scaled:
    bits = _BITS + math.ceil(rate * 3 / 2)
    return _short(exp_negative(rate, bits)[1], -bits)


def _product(one: Scaled, other: Scaled) -> Scaled:
    return _short(one[0] * other[0], one[1] + other[1])


def _short(mantissa: int, exponent: int) -> Scaled:
    """Round up to `_BITS` bits."""
    excess = max(mantissa.bit_length() - _BITS, 0)
    return ceil_shift(mantissa, excess), exponent + excess


def _above(squares: list[Scaled], k: int) -> Scaled:
    power: Scaled = (1, 0)
    for j in range(k.bit_length()):
        if k >> j & 1:
            power = _product(power, squares[j])
    return power


def _floats(squares: list[Scaled], reach: int) -> FloatArray:
    """Return bounds of a**0 .. a**reach, as products of two factors each."""
    step = math.isqrt(reach) + 1
    fine = [_as_float(_above(squares, k)) for k in range(step)]
    coarse = [_as_float(_above(squares, k)) for k in range(0, reach + 1, step)]
    table: FloatArray = np.multiply.outer(coarse, fine).ravel()[: reach + 1] * _MARGIN
    return np.maximum(table, TINY)


def _as_float(number: Scaled) -> float:
    """Return a float64 not below a number of at most 1, and not below `TINY`."""
    x, exponent = float_above(number)
    return max(math.ldexp(x, max(exponent, -1000)), TINY)


def float_above(number: Scaled) -> tuple[float, int]:
    """Return x and e such that x * 2**e is an upper bound of a number, and 1 <= x <= 2.

    The relative error of the bound is below 2**-52.
    """
    mantissa, exponent = number
    excess = mantissa.bit_length() - 53
    top = ceil_shift(mantissa, excess) if excess > 0 else mantissa << -excess
    return math.ldexp(top, -52), exponent + excess + 52
