"""How far one event moves a running count, computed in two other ways.

Lemma 4 of docs/understand/proofs/streams.md: by the norm that the noise's covariance gives a step,
for a long but finite past; and by the series of the innovations, with zeros that a general root
finder found.
"""

import warnings
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

import mpmath
import numpy as np
import pytest

from dphist.streams.counters import spectrum
from dphist.streams.counters.design import Design, design
from dphist.streams.counters.spectrum import squared_sensitivity

Parts = tuple[tuple[Fraction, ...], tuple[Fraction, ...]]

PARTS: list[Parts] = [
    *((design(horizon).decays, design(horizon).weights) for horizon in (1, 2, 7, 16, 64)),
    ((Fraction(1, 10),), (Fraction(3),)),
    ((Fraction(1, 3), Fraction(9, 10)), (Fraction(5), Fraction(1, 7))),
    (
        (Fraction(1, 100), Fraction(1, 2), Fraction(97, 100)),
        (Fraction(1), Fraction(20), Fraction(2)),
    ),
    (
        (Fraction(1, 5), Fraction(2, 5), Fraction(41, 100), Fraction(9, 10)),
        (Fraction(1), Fraction(1, 50), Fraction(3), Fraction(1)),
    ),
]
LONG: list[Parts] = [
    (design(horizon).decays, design(horizon).weights) for horizon in (1024, 2**16, 2**30)
]


def norm_squared(parts: Parts, horizon: int, past: int) -> float:
    """Return v^T K^-1 v for v = 1[t >= 1] and the times 1 - past, ..., horizon."""
    decays, weights = (np.array([float(x) for x in numbers]) for numbers in parts)
    gaps = np.arange(past + horizon)
    column = (weights[:, None] * decays[:, None] ** gaps).sum(axis=0)
    covariance = column[np.abs(gaps[:, None] - gaps)]
    step = (gaps >= past).astype(float)
    return float(step @ np.linalg.solve(covariance, step))


def series_squared(parts: Parts, horizon: int) -> mpmath.mpf:
    """Return the sum of the e_h**2: the series of the step's innovations."""
    with mpmath.workdps(120):
        thetas = [mpmath.mpf(t.numerator) / t.denominator for t in parts[0]]
        weights = [mpmath.mpf(w.numerator) / w.denominator for w in parts[1]]
        # S(z) prod (1 - theta z)(z - theta), a polynomial in z of degree 2 (J - 1).
        pairs = [[-t, 1 + t * t, -t] for t in thetas]
        numerator = [mpmath.mpf(0)]
        for j, (theta, weight) in enumerate(zip(thetas, weights, strict=True)):
            term = [weight * (1 - theta * theta)]
            for pair in pairs[:j] + pairs[j + 1 :]:
                term = times(term, pair)
            numerator = plus(numerator, term)
        roots = roots_of(numerator)
        inside = [root.real for root in roots if abs(root) < 1]
        assert len(inside) == len(thetas) - 1
        assert all(abs(root.imag) < mpmath.mpf(10) ** -30 for root in roots)
        top, bottom = [mpmath.mpf(1)], [mpmath.mpf(1), mpmath.mpf(-1)]
        for theta in thetas:
            top = times(top, [1, -theta])
        for zero in inside:
            bottom = times(bottom, [1, -zero])
        # The middle coefficient of the numerator is g times that of prod (1 - mu z)(z - mu).
        square = [mpmath.mpf(1)]
        for zero in inside:
            square = times(square, [-zero, 1 + zero * zero, -zero])
        gain = numerator[len(inside)] / square[len(inside)]
        found: list[mpmath.mpf] = []
        for h in range(horizon):
            known = sum(bottom[k] * found[h - k] for k in range(1, min(h, len(bottom) - 1) + 1))
            found.append((top[h] if h < len(top) else 0) - known)
        return mpmath.fsum(e * e for e in found) / gain


def roots_of(palindrome: list[mpmath.mpf]) -> list[mpmath.mpc]:
    """Return the roots of a polynomial that is the same in either order of its coefficients."""
    if len(palindrome) == 1:
        return []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of an order that does not matter
        found = mpmath.polyroots(palindrome, maxsteps=1000, extraprec=500)
    return [mpmath.mpc(root) for root in found]


def times(one: list[Any], other: list[Any]) -> list[Any]:
    result = [mpmath.mpf(0)] * (len(one) + len(other) - 1)
    for i, a in enumerate(one):
        for k, b in enumerate(other):
            result[i + k] += a * b
    return result


def plus(one: list[Any], other: list[Any]) -> list[Any]:
    longest = max(len(one), len(other))
    return [sum(p[i] for p in (one, other) if i < len(p)) for i in range(longest)]


def above_series(square: Fraction, parts: Parts, horizon: int) -> float:
    """Return how far a number is above the series, relative to it."""
    exact = series_squared(parts, horizon)
    with mpmath.workdps(120):
        return float(mpmath.mpf(square.numerator) / square.denominator / exact - 1)


class ViolationError(AssertionError):
    """A claim that does not hold."""


def check(parts: Parts, horizons: tuple[int, ...] = (1, 2, 7, 64)) -> None:
    """Check what is stated against both other ways; it grows with the horizon."""
    squares = [squared_sensitivity(*parts, horizon) for horizon in horizons]
    if any(not less < more for less, more in pairwise(squares)):
        raise ViolationError("more events cost less")
    for horizon, square in zip(horizons, squares, strict=True):
        if not 0 < above_series(square, parts, horizon) < 2e-30:
            raise ViolationError("not the sum of the series, rounded up")
        dense = norm_squared(parts, horizon, past=400)
        if not dense * (1 - 1e-9) <= square <= dense * (1 + 1e-6):
            raise ViolationError("not the norm of the step")


@pytest.mark.parametrize("parts", PARTS, ids=lambda parts: f"{len(parts[0])} parts")
def test_the_squared_sensitivity_is_that_of_the_covariance(parts: Parts) -> None:
    check(parts)


@pytest.mark.quick("[4 parts]", "[5 parts]")
@pytest.mark.parametrize("parts", LONG, ids=lambda parts: f"{len(parts[0])} parts")
def test_parts_that_decay_slowly(parts: Parts) -> None:
    """The past that dense matrices can hold is too short to be equal, and gives less."""
    for horizon in (1, 100):
        square = squared_sensitivity(*parts, horizon)
        assert 0 < above_series(square, parts, horizon) < 2e-30
    assert norm_squared(parts, 100, past=1000) <= square * (1 + Fraction(1, 10**9))


def test_one_part_alone() -> None:
    """The innovations of a step are 1, then 1 - theta: w (1 - theta^2) each."""
    theta, weight = Fraction(3, 5), Fraction(7, 2)
    for horizon in (1, 2, 10, 10**6):
        exact = (1 + (horizon - 1) * (1 - theta) ** 2) / (weight * (1 - theta**2))
        square = squared_sensitivity([theta], [weight], horizon)
        assert exact < square < exact * (1 + Fraction(1, 10**29))


def test_a_later_or_earlier_event_does_not_cost_more() -> None:
    """The horizon is counted from the event on, whatever the past: the bound holds for all."""
    parts = PARTS[4]
    square = squared_sensitivity(*parts, 64)
    found = [norm_squared(parts, 64 - past, past) for past in range(64)]
    assert max(found) <= square
    assert max(found) > 0.5 * float(square)


def last_term_missing(patch: pytest.MonkeyPatch) -> None:
    right = spectrum._geometric_sum
    patch.setattr(spectrum, "_geometric_sum", lambda ratio, terms: right(ratio, terms - 1))


def gain_at_the_wrong_place(patch: pytest.MonkeyPatch) -> None:
    """The spectrum's value at z = 1 taken for the gain."""
    right = squared_sensitivity

    def wrong(decays: Any, weights: Any, horizon: int) -> Fraction:
        powers = [Decimal(float(w * (1 - t * t))) for w, t in zip(weights, decays, strict=True)]
        zeros = spectrum._zeros([Decimal(float(t)) for t in decays], powers)
        ratio = np.prod([1 - float(t) for t in decays]) / np.prod([1 - float(m) for m in zeros])
        return right(decays, weights, horizon) * Fraction(ratio**2)  # type: ignore[call-overload]

    patch.setitem(globals(), "squared_sensitivity", wrong)


def zeros_at_the_wrong_side(patch: pytest.MonkeyPatch) -> None:
    right = spectrum._zeros
    patch.setattr(spectrum, "_zeros", lambda thetas, powers: [m * m for m in right(thetas, powers)])


def weights_for_powers(patch: pytest.MonkeyPatch) -> None:
    """Weights taken for powers: without 1 - theta**2."""
    right = squared_sensitivity

    def wrong(decays: Any, weights: Any, horizon: int) -> Fraction:
        held = [w / (1 - t * t) for w, t in zip(weights, decays, strict=True)]
        return right(decays, held, horizon)

    patch.setitem(globals(), "squared_sensitivity", wrong)


def swapped(patch: pytest.MonkeyPatch) -> None:
    """Weights in the order of other decays."""
    right = squared_sensitivity
    wrong = lambda decays, weights, horizon: right(decays, weights[::-1], horizon)  # noqa: E731
    patch.setitem(globals(), "squared_sensitivity", wrong)


BUGS = [
    last_term_missing,
    gain_at_the_wrong_place,
    zeros_at_the_wrong_side,
    weights_for_powers,
    swapped,
]


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.__name__)
def test_planted_bugs_are_caught(
    bug: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    bug(monkeypatch)
    with pytest.raises(ViolationError):
        check(PARTS[4])
    with pytest.raises(ViolationError):
        check(PARTS[7])


# --- The design: close to the best there is.


def best_known(horizon: int) -> tuple[float, float]:
    """Return a lower bound of the largest variance, at distance 1, and the square root's.

    The sum of singular values of the matrix of running counts over the horizon bounds any
    factorization from below; they are known in closed form.
    """
    odd = 2 * np.arange(1, horizon + 1) - 1
    least = float(np.sum(0.5 / np.sin(np.pi * odd / (4 * horizon + 2)))) / horizon
    k = np.arange(1, horizon, dtype=float)
    root = 1 + float(np.sum(np.cumprod(1 - 0.5 / k) ** 2))
    return least**2, root**2


def check_cost(found: Design, horizon: int) -> None:
    lower, root = best_known(horizon)
    assert lower <= found.cost
    if horizon >= 4:
        assert found.cost <= 1.10 * root
    assert found.squared_sensitivity == squared_sensitivity(found.decays, found.weights, horizon)


def test_the_known_numbers() -> None:
    lower, root = best_known(2**16)
    assert lower == pytest.approx(17.9, abs=0.05)
    assert root == pytest.approx(21.13, abs=0.005)


def test_the_design_is_close_to_the_best() -> None:
    for horizon in (*range(1, 201), *(2**k for k in range(8, 21, 4))):
        check_cost(design(horizon), horizon)


@pytest.mark.audit
def test_the_design_is_close_to_the_best_for_more_horizons() -> None:
    for horizon in (*range(201, 1001), *(2**k for k in range(9, 25))):
        check_cost(design(horizon), horizon)


def test_a_design_for_another_horizon_is_found_out() -> None:
    for horizon in (64, 2**16):
        for other in (design(horizon // 4), design(horizon**2)):
            cost = squared_sensitivity(other.decays, other.weights, horizon) * sum(other.weights)
            assert cost > 1.10 * best_known(horizon)[1]


@pytest.mark.verify
def test_a_label_costs_few_numbers() -> None:
    assert len(design(2**16).decays) <= 6
    for k in range(25):
        held = design(2**k)
        assert len(held.decays) <= max(3, k // 3 + 1)
        assert all(less < more for less, more in pairwise((0, *held.decays, 1)))  # type: ignore[operator]
        assert min(held.weights) > 0
