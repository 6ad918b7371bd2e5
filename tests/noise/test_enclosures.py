"""Lemma 4 of docs/understand/proofs/noise.md: the enclosures hold and are tight."""

from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dphist.noise.enclosures import exp_negative, normal_two_sided_tail, sqrt_two_pi

rationals = st.fractions(min_value=0, max_value=200, max_denominator=10**9)
bits = st.integers(8, 300)


def scaled(value: mpmath.mpf, bits: int) -> mpmath.mpf:
    return value * mpmath.mpf(2) ** bits


@given(rationals, bits)
def test_exponential_is_enclosed(r: Fraction, bits: int) -> None:
    with mpmath.workprec(900):
        true = scaled(mpmath.exp(-mpmath.mpf(r.numerator) / r.denominator), bits)
        low, high = exp_negative(r, bits)
        assert low <= true <= high
    assert high - low <= 3


@pytest.mark.parametrize("bits", [8, 40, 200])
@pytest.mark.parametrize("whole", [1, 3, 77, 200, 255])
def test_exponentials_next_to_whole_numbers_are_enclosed(whole: int, bits: int) -> None:
    """Where guard bits hide no rounding to the wrong side, and random arguments hardly ever are."""
    with mpmath.workprec(900):
        logarithm = int(mpmath.floor((bits * mpmath.log(2) - mpmath.log(whole)) * 2**500))
    for step, above in ((-1, True), (2, False)):
        low, high = exp_negative(Fraction(logarithm + step, 2**500), bits)
        assert low <= whole - (not above)
        assert high >= whole + above
        assert high - low <= 3


@pytest.mark.verify
@given(st.fractions(min_value=0, max_value=30, max_denominator=10**6), bits)
def test_normal_tail_is_enclosed(x: Fraction, bits: int) -> None:
    with mpmath.workprec(2000):
        argument = mpmath.mpf(x.numerator) / x.denominator / mpmath.sqrt(2)
        true = scaled(mpmath.erfc(argument), bits)
        low, high = normal_two_sided_tail(x, bits)
        assert low <= true <= high
    assert high - low <= 3


def test_the_root_of_two_pi_is_enclosed_at_every_precision() -> None:
    with mpmath.workprec(1000):
        root = mpmath.sqrt(2 * mpmath.pi)
        for bits in range(1, 800):
            low, high = sqrt_two_pi(bits)
            assert low <= scaled(root, bits) <= high
            assert high - low <= 2


@pytest.mark.parametrize("enclose", [exp_negative, normal_two_sided_tail])
def test_zero_gives_one(enclose: object) -> None:
    low, high = enclose(Fraction(0), 64)  # type: ignore[operator]
    assert low <= 1 << 64 <= high


@pytest.mark.parametrize("enclose", [exp_negative, normal_two_sided_tail])
def test_far_arguments_are_quick_and_below_one_unit(enclose: object) -> None:
    assert enclose(Fraction(10**12), 95) == (0, 1)  # type: ignore[operator]


def test_a_wrong_enclosure_would_be_noticed() -> None:
    """Power: rounding to nearest instead of outwards fails the same comparison."""
    misses = 0
    for k in range(1, 40):
        with mpmath.workprec(400):
            true = scaled(mpmath.exp(-mpmath.mpf(k) / 7), 40)
        nearest = int(mpmath.nint(true))
        misses += not (nearest <= true <= nearest)
    assert misses > 30
