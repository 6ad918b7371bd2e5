"""Best polynomial approximations, and unbiased estimates of polynomials from a sample.

A function with a corner or an infinite slope at small probabilities cannot be estimated without
bias, but a polynomial can. Remez's exchange computes the best uniform approximation of a given
degree. The points are found in binary floating point; small errors do not matter, since the error
of the approximation is flat at its extremes. The coefficients are computed in decimals, because
many digits cancel in their sums of powers.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.polynomial import chebyshev

from dphist.arrays import FloatArray
from dphist.errors import ParameterError

# Coefficients of degree 60 reach 10**45, so 120 digits leave more precision than a float has.
DIGITS = 120
MAX_DEGREE = 60
# The exchange ends when the largest error exceeds the level by this relative amount, or by the
# rounding errors of values near 1.
_LEVELLED, _ROUNDING = 1e-9, 1e-14
_MAX_EXCHANGES = 100
_CROOKED = 1.1
# Grid points for each extreme of the error, and steps that narrow each one down.
_FINENESS, _NARROWINGS = 100, 45


@dataclass(frozen=True, slots=True)
class Entropy:
    """The curve -x log x on [0, 1]."""

    def values(self, x: FloatArray) -> FloatArray:
        """Return the curve at x, (k,) float64."""
        return np.asarray(-x * np.log(np.where(x > 0, x, 1.0)))

    def value(self, x: Decimal) -> Decimal:
        """Return the curve at x, to the digits of the context."""
        return -x * x.ln() if x > 0 else Decimal(0)

    def corners(self) -> tuple[float, ...]:
        """Return where the curve has a corner."""
        return ()


@dataclass(frozen=True, slots=True)
class Distance:
    """The curve abs(x - corner) on [0, 1]."""

    corner: Fraction

    def values(self, x: FloatArray) -> FloatArray:
        """Return the curve at x, (k,) float64."""
        return np.asarray(np.abs(x - float(self.corner)))

    def value(self, x: Decimal) -> Decimal:
        """Return the curve at x, to the digits of the context."""
        return abs(x - Decimal(self.corner.numerator) / Decimal(self.corner.denominator))

    def corners(self) -> tuple[float, ...]:
        """Return where the curve has a corner."""
        return (float(self.corner),)


Curve = Entropy | Distance


@dataclass(frozen=True, slots=True)
class Approximation:
    """The best uniform approximation of a curve on [0, 1] by a polynomial of given degree.

    Attributes
    ----------
    coefficients : of the Chebyshev polynomials T_j(2 x - 1), from j = 0.
    error : the maximum distance from the curve, the smallest of all polynomials. It occurs with
        alternating signs at degree + 2 points or more (Chebyshev's theorem).
    points : (degree + 2) of those points, ascending.
    """

    coefficients: tuple[Decimal, ...]
    error: float
    points: tuple[float, ...]

    def powers(self) -> tuple[Decimal, ...]:
        """Return the coefficients of the powers of x, from the constant one."""
        return _in_powers(self.coefficients, 2, -1)

    def compute_centered_powers(self) -> tuple[Decimal, ...]:
        """Return the coefficients of the powers of z = 2 x - 1, from the constant one."""
        return _in_powers(self.coefficients, 1, 0)


@lru_cache(maxsize=256)
def best_approximation(curve: Curve, degree: int) -> Approximation:
    """Return the best uniform approximation of `curve` on [0, 1], by Remez's exchange.

    Raises
    ------
    ParameterError
        If the degree is below 1 or above `MAX_DEGREE`, or a corner is outside [1e-9, 1 - 1e-9],
        where a straight line is as good.

    >>> round(best_approximation(Distance(Fraction(1, 2)), 3).error, 9)
    0.0625
    """
    if not 1 <= degree <= MAX_DEGREE:
        raise ParameterError("degree", f"must be between 1 and {MAX_DEGREE}")
    if not all(1e-9 <= x <= 1 - 1e-9 for x in curve.corners()):
        raise ParameterError("curve", "must have its corners between 0 and 1, by 1e-9 at least")
    needed = degree + 2
    # Angles, x = sin(angle / 2)**2: extremes are dense near 0 and 1, but even in the angle.
    corners = [2 * math.asin(math.sqrt(x)) for x in curve.corners()]
    grid = np.union1d(np.linspace(0, math.pi, _FINENESS * needed + 1), corners)
    # Asymmetric, because symmetric points may have level 0, and then do not move.
    angles = math.pi * np.linspace(0, 1, needed) ** _CROOKED
    for _ in range(_MAX_EXCHANGES):
        error = _make_levelled_error(curve, angles)
        peaks = _peaks(error, grid)
        if len(peaks) < needed:
            raise ArithmeticError("the errors of an approximation do not alternate")
        sizes = np.abs(error(peaks))
        while len(peaks) > needed:
            # Signs still alternate if an end is dropped.
            kept = slice(1, None) if sizes[0] < sizes[-1] else slice(-1)
            peaks, sizes = peaks[kept], sizes[kept]
        angles = peaks
        if sizes.max() - sizes.min() <= _LEVELLED * sizes.max() + _ROUNDING:
            break
    else:
        raise ArithmeticError("the errors of an approximation do not level out")
    points = np.sin(angles / 2) ** 2
    coefficients, level = _solve_levelled(curve, points)
    return Approximation(coefficients, float(abs(level)), tuple(points.tolist()))


def unbiased(powers: tuple[Decimal, ...], reach: float, n: int, most: int) -> FloatArray:
    """Return unbiased estimates of reach * polynomial(p / reach) from counts 0..most.

    Parameters
    ----------
    powers : coefficients of the polynomial, from the constant one.
    reach : end of the interval [0, reach] of the approximation.
    n : number of records.
    most : the largest count wanted.

    Returns
    -------
    (most + 1,) float64. For X binomial with n and p, falling factorials are unbiased:
    E X(X - 1)...(X - m + 1) = n(n - 1)...(n - m + 1) p**m. Terms with m > n, which a sample of
    size n cannot estimate, are 0.
    """
    with localcontext(prec=DIGITS):
        width = Decimal(reach)
        scaled = [coefficient * width ** (1 - m) for m, coefficient in enumerate(powers)]
        values = np.empty(most + 1)
        for r in range(most + 1):
            term, value = Decimal(1), scaled[0]
            for m in range(1, min(r, n, len(powers) - 1) + 1):
                term *= Decimal(r - m + 1) / Decimal(n - m + 1)
                value += scaled[m] * term
            values[r] = float(value)
    return values


def _make_levelled_error(curve: Curve, angles: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """Return the error of the polynomial whose errors at `angles` are +e, -e, +e, ..."""
    degree = len(angles) - 2
    signs = (-1.0) ** np.arange(degree + 2)
    matrix = np.column_stack([chebyshev.chebvander(-np.cos(angles), degree), signs])
    solved = np.linalg.solve(matrix, curve.values(np.sin(angles / 2) ** 2))[:-1]

    def error(at: FloatArray) -> FloatArray:
        values = curve.values(np.sin(at / 2) ** 2)
        return np.asarray(values - chebyshev.chebval(-np.cos(at), solved))

    return error


def _peaks(error: Callable[[FloatArray], FloatArray], grid: FloatArray) -> FloatArray:
    """Angles of the largest errors between changes of sign, ascending; (k,) float64."""
    on_grid = error(grid)
    changes = np.flatnonzero(np.diff(on_grid > 0)) + 1
    ends = [0, *changes.tolist(), len(grid)]
    places = np.array([a + int(np.argmax(np.abs(on_grid[a:b]))) for a, b in pairwise(ends)])
    left, right = grid[np.maximum(places - 1, 0)], grid[np.minimum(places + 1, len(grid) - 1)]
    sign = np.sign(on_grid[places])
    for _ in range(_NARROWINGS):
        third = (right - left) / 3
        rises = sign * error(left + third) < sign * error(right - third)
        left, right = np.where(rises, left + third, left), np.where(rises, right, right - third)
    narrowed = (left + right) / 2
    # A corner on the grid, or an end of it, is the peak itself.
    better = sign * error(narrowed) > sign * on_grid[places]
    return np.asarray(np.where(better, narrowed, grid[places]))


def _solve_levelled(curve: Curve, points: FloatArray) -> tuple[tuple[Decimal, ...], Decimal]:
    """Chebyshev coefficients and level of the polynomial with errors +e, -e, ... at `points`."""
    with localcontext(prec=DIGITS):
        rows = []
        for i, point in enumerate(points.tolist()):
            x = Decimal(point)
            row = [Decimal(1), 2 * x - 1]
            while len(row) < len(points) - 1:
                row.append(2 * (2 * x - 1) * row[-1] - row[-2])
            rows.append([*row, Decimal((-1) ** i), curve.value(x)])
        solved = _solve_equations(rows)
    return tuple(solved[:-1]), solved[-1]


def _solve_equations(rows: list[list[Decimal]]) -> list[Decimal]:
    """Solve linear equations, each row with its right-hand side last, by elimination."""
    size = len(rows)
    for column in range(size):
        pivot = max(range(column, size), key=lambda i: abs(rows[i][column]))
        rows[column], rows[pivot] = rows[pivot], rows[column]
        top = rows[column]
        for i in range(column + 1, size):
            factor = rows[i][column] / top[column]
            rows[i] = [a - factor * b for a, b in zip(rows[i], top, strict=True)]
    solution = [Decimal(0)] * size
    for i in reversed(range(size)):
        known = sum((rows[i][j] * solution[j] for j in range(i + 1, size)), Decimal(0))
        solution[i] = (rows[i][-1] - known) / rows[i][i]
    return solution


def _in_powers(coefficients: tuple[Decimal, ...], slope: int, start: int) -> tuple[Decimal, ...]:
    """Coefficients of the powers of x in the sum of coefficients[j] T_j(slope x + start)."""
    size = len(coefficients)
    before, now = [1] + [0] * (size - 1), [start, slope] + [0] * (size - 2)
    with localcontext(prec=DIGITS):
        total = [coefficients[0] * a for a in before]
        total = [a + coefficients[1] * b for a, b in zip(total, now, strict=True)]
        for coefficient in coefficients[2:]:
            # T_{j+1}(y) = 2 y T_j(y) - T_{j-1}(y), in whole numbers.
            after = [
                2 * (start * same + slope * lower) - old
                for same, lower, old in zip(now, [0, *now[:-1]], before, strict=True)
            ]
            before, now = now, after
            total = [a + coefficient * b for a, b in zip(total, now, strict=True)]
    return tuple(total)
