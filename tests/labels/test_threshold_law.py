"""Thresholds are the least ones that keep delta: compared with mpmath to 200 digits."""

from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dphist.labels.threshold import law as threshold_law
from dphist.labels.threshold.law import (
    gaussian_delta,
    gaussian_threshold,
    geometric_delta,
    geometric_threshold,
    grid,
)

DIGITS = 200

rates = st.fractions(min_value=Fraction(1, 10**6), max_value=20, max_denominator=10**7)
deltas = st.one_of(
    st.fractions(min_value=Fraction(1, 1000), max_value=Fraction(999, 1000), max_denominator=1000),
    st.integers(1, 120).map(lambda n: Fraction(1, 10**n)),
)
labels = st.one_of(st.integers(1, 20), st.integers(1, 2**40))
counts = st.one_of(st.integers(1, 5), st.integers(1, 10**6))


def exact(number: Fraction | int) -> mpmath.mpf:
    return mpmath.mpf(Fraction(number).numerator) / Fraction(number).denominator


def of_any(chance: mpmath.mpf, max_labels: int) -> mpmath.mpf:
    return -mpmath.expm1(max_labels * mpmath.log1p(-chance))


def geometric_tail(rate: Fraction, over: int) -> mpmath.mpf:
    """Pr[Z > over] for over >= -1, the sum of a**z (1 - a) / (1 + a)."""
    a = mpmath.exp(-exact(rate))
    return a ** (over + 1) * (1 - a) / (1 + a) / (1 - a)


def gaussian_tail(sigma: Fraction, over: Fraction) -> mpmath.mpf:
    return mpmath.erfc(exact(over) / exact(sigma) / mpmath.sqrt(2)) / 2


@settings(max_examples=150, deadline=None)
@given(rates, deltas, labels, counts)
def test_geometric_threshold_is_the_least_integer_that_keeps_delta(
    rate: Fraction, delta: Fraction, max_labels: int, max_count: int
) -> None:
    threshold = geometric_threshold(rate, delta, max_labels, max_count)
    with mpmath.workdps(DIGITS):
        at = of_any(geometric_tail(rate, threshold - max_count), max_labels)
        assert at <= exact(delta)
        reached = exact(geometric_delta(rate, threshold, delta, max_labels, max_count))
        assert at <= reached <= at * (1 + mpmath.mpf(10) ** -11)
        if threshold >= max_count:
            below = geometric_tail(rate, threshold - 1 - max_count)
            assert of_any(below, max_labels) > exact(delta)
        if rate <= Fraction(1386, 1000):  # ln 4
            assert at > exact(delta) / 4


@settings(max_examples=60, deadline=None)
@given(rates, deltas, labels, counts)
def test_gaussian_threshold_is_the_least_of_its_grid_that_keeps_delta(
    sigma: Fraction, delta: Fraction, max_labels: int, max_count: int
) -> None:
    threshold = gaussian_threshold(sigma, delta, max_labels, max_count)
    fine = grid(sigma)
    assert (threshold * fine - Fraction(1, 2)).denominator == 1
    assert threshold > max_count
    with mpmath.workdps(DIGITS):
        at = of_any(gaussian_tail(sigma, threshold - max_count), max_labels)
        assert at <= exact(delta)
        reached = exact(gaussian_delta(sigma, threshold, delta, max_labels, max_count))
        assert at <= reached <= at * (1 + mpmath.mpf(10) ** -11)
        below = threshold - Fraction(1, fine)
        if below > max_count:
            assert of_any(gaussian_tail(sigma, below - max_count), max_labels) > exact(delta)
        assert at > exact(delta) / 4


@pytest.mark.verify
@given(st.fractions(min_value=Fraction(1, 10**9), max_value=2**40))
def test_a_step_of_the_grid_is_odd_and_small(sigma: Fraction) -> None:
    fine = grid(sigma)
    assert fine % 2 == 1
    assert fine * sigma >= 1024
    assert fine <= 1024 / sigma + 2


@pytest.mark.parametrize(
    ("rate", "delta", "max_labels", "max_count", "threshold"),
    [
        # With a = 1/e and max_count 1, p = e**-T / (1 + 1/e), by hand: .2689 .0989 .0364
        (1, "0.1", 1, 1, 2),
        (1, "0.0990", 1, 1, 2),
        (1, "0.0989", 1, 1, 3),
        (1, "0.1", 1, 3, 4),
        (1, "0.99", 1, 1, 0),
        (1, "1e-6", 10, 1, 16),
    ],
)
def test_known_thresholds(
    rate: int, delta: str, max_labels: int, max_count: int, threshold: int
) -> None:
    found = geometric_threshold(Fraction(rate), Fraction(delta), max_labels, max_count)
    assert found == threshold


def test_published_thresholds_overshoot_delta() -> None:
    """Rogers' T for Laplace noise, used with integer noise: nearly twice the delta stated."""
    rate, delta = Fraction(3), Fraction("7.7e-9")
    with mpmath.workdps(30):
        published = int(1 + mpmath.log(1 / (2 * exact(delta))) / exact(rate))
        assert of_any(geometric_tail(rate, published - 1), 1) > 1.8 * float(delta)
    assert geometric_threshold(rate, delta, 1, 1) == published + 1


def test_more_bits_are_taken_where_few_leave_it_open(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def chance(bits: int) -> tuple[int, int]:  # 1/2 exactly, within an enclosure that shrinks
        asked.append(bits)
        width = 1 << max(0, bits - len(asked) * 40)
        return (1 << bits - 1) - width, (1 << bits - 1) + width

    close = Fraction(1, 2) + Fraction(1, 2**60)
    assert threshold_law._keeps(chance, close, 1)
    assert len(asked) == 2
    asked.clear()
    assert not threshold_law._keeps(chance, Fraction(1, 2) - Fraction(1, 2**60), 1)


def test_what_stays_open_is_not_kept() -> None:
    def open_chance(bits: int) -> tuple[int, int]:
        return (1 << bits - 1) - 1, (1 << bits - 1) + 1

    assert not threshold_law._keeps(open_chance, Fraction(1, 2), 1)
