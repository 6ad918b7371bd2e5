"""Best approximations: that errors alternate at their largest, and estimates are unbiased."""

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise
from math import comb

import mpmath
import numpy as np
import pytest

from dphist.errors import ParameterError
from dphist.properties.polynomials import (
    _LEVELLED,
    _ROUNDING,
    DIGITS,
    MAX_DEGREE,
    Approximation,
    Curve,
    Distance,
    Entropy,
    best_approximation,
    unbiased,
)

CURVES: list[tuple[Curve, int]] = [
    *((Entropy(), degree) for degree in (1, 2, 3, 11, 22, 45)),
    *((Distance(Fraction(1, 2)), degree) for degree in (3, 4, 13)),
    *((Distance(Fraction(49, 100)), degree) for degree in (5, 12)),
    *((Distance(Fraction(1, 40)), degree) for degree in (1, 9, 14)),
    (Distance(Fraction(1, 10**4)), 13),
]


def exact_curve(curve: Curve, x: mpmath.mpf) -> mpmath.mpf:
    """The curve again, by other means."""
    if isinstance(curve, Distance):
        return abs(x - mpmath.mpf(curve.corner.numerator) / curve.corner.denominator)
    return -x * mpmath.log(x) if x > 0 else mpmath.mpf(0)


def error_at(curve: Curve, found: Approximation, x: float) -> mpmath.mpf:
    """Curve minus polynomial, in 80 digits, the polynomial from its powers."""
    at, value = mpmath.mpf(x), mpmath.mpf(0)
    for power in reversed(found.powers()):
        value = value * at + mpmath.mpf(str(power))
    return exact_curve(curve, at) - value


@pytest.mark.long(every=4)
@pytest.mark.quick("-1]", "-2]", "-3]", "-4]")
@pytest.mark.parametrize(("curve", "degree"), CURVES)
def test_errors_alternate_at_their_largest(curve: Curve, degree: int) -> None:
    found = best_approximation(curve, degree)
    assert len(found.points) == degree + 2
    assert all(a < b for a, b in pairwise(found.points))
    with mpmath.workdps(80):
        errors = [error_at(curve, found, x) for x in found.points]
        assert all(abs(abs(e) - found.error) < 1e-12 * found.error for e in errors)
        assert all(a * b < 0 for a, b in pairwise(errors))
        grid = np.sin(np.linspace(0, np.pi / 2, 40 * degree)) ** 2
        largest = max(abs(error_at(curve, found, x)) for x in grid.tolist())
    assert largest <= found.error * (1 + 1e-8)


def test_known_approximations() -> None:
    # By hand: a line below -x log x and its parallel tangent, whose middle is e**-1 / 2 up.
    line = best_approximation(Entropy(), 1)
    assert line.error == pytest.approx(np.exp(-1) / 2, rel=1e-14)
    assert [float(a) for a in line.powers()] == pytest.approx([np.exp(-1) / 2, 0], abs=1e-14)
    # abs(z) on [-1, 1] is nearest to z**2 + 1/8 among squares and cubes.
    square = best_approximation(Distance(Fraction(1, 2)), 3)
    assert [2 * float(a) for a in square.compute_centered_powers()] == pytest.approx(
        [1 / 8, 0, 1, 0]
    )
    # Bernstein's constant: degree times error of abs(z) goes to 0.2801694990...
    many = best_approximation(Distance(Fraction(1, 2)), 41)
    assert 40 * 2 * many.error == pytest.approx(0.2801694990, rel=1e-3)


def test_errors_fall_with_the_degree() -> None:
    errors = [best_approximation(Entropy(), degree).error for degree in range(1, 25)]
    assert all(a > b for a, b in pairwise(errors))
    # -x log x is approximated as well as 1/degree**2.
    assert errors[23] * 24**2 == pytest.approx(errors[11] * 12**2, rel=0.03)


def test_powers_keep_the_polynomial() -> None:
    found = best_approximation(Entropy(), 45)
    with localcontext(prec=DIGITS):
        for x in (Decimal("0.001"), Decimal("0.3"), Decimal(1)):
            chebyshev = [Decimal(1), 2 * x - 1]
            while len(chebyshev) < 46:
                chebyshev.append(2 * (2 * x - 1) * chebyshev[-1] - chebyshev[-2])
            direct = sum(a * t for a, t in zip(found.coefficients, chebyshev, strict=True))
            by_x = sum(a * x**m for m, a in enumerate(found.powers()))
            by_z = sum(a * (2 * x - 1) ** m for m, a in enumerate(found.compute_centered_powers()))
            assert abs(direct - by_x) < Decimal("1e-60")  # type: ignore[operator]
            assert abs(direct - by_z) < Decimal("1e-60")  # type: ignore[operator]


@pytest.mark.parametrize(("degree", "n"), [(1, 1), (3, 5), (8, 30), (14, 200)])
def test_unbiased_estimates_have_the_polynomial_as_expectation(degree: int, n: int) -> None:
    found = best_approximation(Entropy(), degree)
    reach = 0.75
    values = unbiased(found.powers(), reach, n, n)
    for p in (Fraction(0), Fraction(1, 50), Fraction(1, 3), Fraction(3, 4)):
        chances = [comb(n, r) * p**r * (1 - p) ** (n - r) for r in range(n + 1)]
        # In fractions: weights of large counts are huge, and hardly ever needed.
        expected = sum(Fraction(v) * c for v, c in zip(values.tolist(), chances, strict=True))
        wanted = reach * sum(
            float(a) * (float(p) / reach) ** m for m, a in enumerate(found.powers())
        )
        size = sum(abs(v) * float(c) for v, c in zip(values.tolist(), chances, strict=True))
        assert float(expected) == pytest.approx(wanted, abs=1e-9 * size + 1e-9)


def test_unbiased_estimates_to_the_last_digit() -> None:
    """The sum of falling factorials again, in fractions: terms cancel by twenty digits."""
    found = best_approximation(Entropy(), 22)
    n, reach = 10**6, 48.0 / 10**6
    values = unbiased(found.powers(), reach, n, 40)
    for r in (0, 1, 2, 7, 20, 40):
        total, term = Fraction(0), Fraction(1)
        for m, coefficient in enumerate(found.powers()):
            total += Fraction(coefficient) * Fraction(reach) ** (1 - m) * term
            term *= Fraction(r - m, n - m)
        assert values[r] == pytest.approx(float(total), rel=1e-15)


@pytest.mark.parametrize("degree", [0, -1, MAX_DEGREE + 1])
def test_degrees_out_of_range_are_refused(degree: int) -> None:
    with pytest.raises(ParameterError, match="degree"):
        best_approximation(Entropy(), degree)


@pytest.mark.parametrize("corner", [0, 1, Fraction(1, 10**10), Fraction(-1, 2), 2])
def test_corners_out_of_range_are_refused(corner: Fraction) -> None:
    with pytest.raises(ParameterError, match="corner"):
        best_approximation(Distance(Fraction(corner)), 3)


@pytest.mark.verify
@pytest.mark.parametrize("corner", [Fraction(1, 10**9), Fraction(1, 10**6), Fraction(31, 97)])
def test_all_degrees_level_out(corner: Fraction) -> None:
    """Two polynomials of neighbouring degrees may be equally good, up to rounding.

    The level is below the smallest error that any polynomial of the degree has (de la Vallee
    Poussin), which does not grow with the degree, and below the found one's by what the exchange
    allows.
    """
    found = [best_approximation(Distance(corner), degree) for degree in range(1, 18)]
    with mpmath.workdps(80):
        for degree, one in enumerate(found, 1):
            grid = [*np.sin(np.linspace(0, np.pi / 2, 20 * degree)) ** 2, float(corner)]
            largest = max(abs(error_at(Distance(corner), one, float(x))) for x in grid)
            assert largest <= one.error * (1 + _LEVELLED) + _ROUNDING
    for one, following in pairwise(found):
        assert following.error <= one.error * (1 + _LEVELLED) + _ROUNDING
