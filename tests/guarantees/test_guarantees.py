"""Guarantees: values, composition, conversion. Lemmas of docs/understand/proofs/accounting.md."""

import math
from dataclasses import FrozenInstanceError
from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from dphist import ZCDP, ApproxDP, ApproxZCDP, PureDP, compose
from dphist.errors import ParameterError
from dphist.privacy import conversion, rounding
from dphist.privacy.composition import least_epsilon

fractions = st.fractions(min_value=Fraction(1, 1000), max_value=50, max_denominator=1000)
deltas = st.fractions(min_value=0, max_value=Fraction(9, 10), max_denominator=1000)


@pytest.mark.parametrize(
    ("given_epsilon", "held"),
    [
        (1, Fraction(1)),
        (0.1, Fraction(1, 10)),
        ("1/3", Fraction(1, 3)),
        ("1e-3", Fraction(1, 1000)),
        (Decimal("0.25"), Fraction(1, 4)),
        (np.float64(0.3), Fraction(3, 10)),
        (np.float32(0.1), Fraction(1, 10)),
        (np.int64(2), Fraction(2)),
    ],
)
def test_a_float_means_its_shortest_decimal(given_epsilon: object, held: Fraction) -> None:
    assert PureDP(given_epsilon).epsilon == held  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "epsilon",
    [
        0,
        -1,
        float("nan"),
        float("inf"),
        "abc",
        "",
        "1/0",
        "1e999999999",
        True,
        None,
        [1],
        "--1",
        1j,
    ],
)
def test_absurd_epsilon_is_refused(epsilon: object) -> None:
    with pytest.raises(ParameterError, match="epsilon"):
        PureDP(epsilon)  # type: ignore[arg-type]


@pytest.mark.parametrize("delta", [-0.1, 1, 2, float("nan"), "x"])
def test_absurd_delta_is_refused(delta: object) -> None:
    with pytest.raises(ParameterError, match="delta"):
        ApproxDP(1, delta)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="delta"):
        ApproxZCDP(1, delta)  # type: ignore[arg-type]


def test_guarantees_are_frozen_values() -> None:
    guarantee = PureDP("0.1")
    assert guarantee == PureDP(0.1)
    assert hash(guarantee) == hash(PureDP(0.1))
    with pytest.raises(FrozenInstanceError):
        guarantee.epsilon = Fraction(2)  # type: ignore[misc]


def test_guarantees_print_for_people() -> None:
    assert str(PureDP("0.1")) == "0.1-differential privacy (pure)"
    assert repr(PureDP("1/3")) == "PureDP(epsilon=1/3)"
    assert str(ApproxDP(1, "1e-6")) == "(1, 1e-6)-differential privacy"
    assert repr(ApproxZCDP("0.5", "1e-9")) == "ApproxZCDP(rho=0.5, delta=1e-9)"
    assert str(ZCDP(2)) == "2-zero-concentrated differential privacy"
    # A long number is shortened upwards, so that no less is claimed than holds.
    assert repr(PureDP(Fraction(10**40, 3 * 10**40 + 1))) == "PureDP(epsilon=0.333334)"


@given(fractions, fractions)
def test_composition_of_pure_guarantees_adds(a: Fraction, b: Fraction) -> None:
    assert compose(PureDP(a), PureDP(b)) == PureDP(a + b)


@given(fractions, deltas, fractions, deltas)
def test_composition_of_approximate_guarantees(
    a: Fraction, d: Fraction, b: Fraction, e: Fraction
) -> None:
    assert compose(ApproxDP(a, d), ApproxDP(b, e)) == ApproxDP(a + b, d + e - d * e)
    assert compose(ApproxZCDP(a, d), ApproxZCDP(b, e)) == ApproxZCDP(a + b, d + e - d * e)
    assert compose(ZCDP(a), ApproxZCDP(b, e)) == ApproxZCDP(a + b, e)
    assert compose(PureDP(a), ApproxDP(b, e)) == ApproxDP(a + b, e)


def test_composition_of_mixed_guarantees() -> None:
    rho = PureDP(1).to_zcdp().rho
    assert compose(PureDP(1), ZCDP(2)) == ZCDP(2 + rho)
    assert compose(ApproxDP(1, "0.1"), ZCDP(2)) == ApproxZCDP(2 + rho, "0.1")
    assert compose(PureDP(1)) == PureDP(1)


def test_composition_refuses_what_is_no_guarantee() -> None:
    with pytest.raises(ParameterError, match="guarantees"):
        compose()
    with pytest.raises(ParameterError, match="guarantees"):
        compose(PureDP(1), 0.5)  # type: ignore[arg-type]


def randomised_response_divergence(epsilon: float, order: float) -> mpmath.mpf:
    """Renyi divergence of a bit kept with probability e**epsilon / (1 + e**epsilon)."""
    with mpmath.workdps(60):
        p = mpmath.exp(epsilon) / (1 + mpmath.exp(epsilon))
        total = p**order * (1 - p) ** (1 - order) + (1 - p) ** order * p ** (1 - order)
        return mpmath.log(total) / (order - 1)


@pytest.mark.parametrize("epsilon", [0.001, 0.1, 1, 3, 20])
def test_pure_to_zcdp_is_the_worst_of_randomised_response(epsilon: float) -> None:
    rho = PureDP(epsilon).to_zcdp().rho
    ratios = [
        randomised_response_divergence(epsilon, order) / order
        for order in (1 + 1e-9, 1.0001, 1.1, 1.5, 2, 5, 100)
    ]
    assert all(ratio <= rho.numerator / mpmath.mpf(rho.denominator) for ratio in ratios)
    assert float(rho) == pytest.approx(float(ratios[0]), rel=1e-6)
    assert rho <= Fraction(PureDP(epsilon).epsilon) ** 2 / 2


def gaussian_delta(rho: float, epsilon: float) -> float:
    """Exact delta of the Gaussian mechanism with sensitivity 1, rho = 1 / (2 sigma**2)."""
    sigma = math.sqrt(1 / (2 * rho))
    a, b = 1 / (2 * sigma) - epsilon * sigma, -1 / (2 * sigma) - epsilon * sigma
    return float(norm.cdf(a) - math.exp(epsilon) * norm.cdf(b))


@pytest.mark.parametrize("rho", ["0.001", "0.1", "1", "10"])
@pytest.mark.parametrize("delta", ["1e-9", "1e-6", "0.01"])
def test_conversion_covers_the_gaussian_mechanism(rho: str, delta: str) -> None:
    epsilon = float(ZCDP(rho).to_approx_dp(delta).epsilon)
    assert gaussian_delta(float(rho), epsilon) <= float(delta)
    # Power: an epsilon that leaves out the order's logarithm would be too small somewhere.
    simple = float(rho) + 2 * math.sqrt(float(rho) * math.log(1 / float(delta)))
    assert epsilon < simple


def test_an_epsilon_a_third_smaller_would_be_noticed() -> None:
    epsilon = float(ZCDP("0.1").to_approx_dp("1e-6").epsilon)
    assert gaussian_delta(0.1, epsilon * 0.67) > 1e-6


@given(fractions, st.sampled_from(["1e-12", "1e-6", "0.1"]))
def test_conversion_is_the_best_order(rho: Fraction, delta: str) -> None:
    def bound(order: float) -> float:
        return (
            order * float(rho)
            + math.log1p(-1 / order)
            + (-math.log(float(delta)) - math.log(order)) / (order - 1)
        )

    grid = 1 + np.exp(np.linspace(-8, 12, 4001))
    best = min(bound(order) for order in grid)
    found = float(ZCDP(rho).to_approx_dp(delta).epsilon)
    assert found <= max(best, 0) + 1e-9
    assert found >= best - 1e-4 * (1 + abs(best))


@pytest.mark.parametrize("rho", ["0.001", "0.1", "1/3", "2", "70"])
@pytest.mark.parametrize("delta", ["1e-9", "1/7"])
def test_conversions_round_up_and_by_little(rho: str, delta: str) -> None:
    """At the order that was found, against 60 digits: never below, and above by 1e-11 at most."""
    found = ZCDP(rho).to_approx_dp(delta).epsilon
    r, d = Fraction(rho), Fraction(delta)
    order = Fraction(conversion._best_order(float(r), d)).limit_denominator(10**9)
    with mpmath.workdps(60):
        a, rm, dm = (mpmath.mpf(x.numerator) / x.denominator for x in (order, r, d))
        exact = a * rm + mpmath.log(1 - 1 / a) + (-mpmath.log(dm) - mpmath.log(a)) / (a - 1)
        exact = max(exact, mpmath.mpf(10) ** -12)  # the least epsilon that can be stated
        above = mpmath.mpf(found.numerator) / found.denominator - exact
        assert 0 <= above <= abs(exact) * mpmath.mpf(10) ** -11


def test_each_step_of_a_conversion_rounds_up() -> None:
    for number in (Fraction(1, 3), Fraction(7), Fraction(10**50 + 1, 10**50), Fraction(1, 10**30)):
        with mpmath.workdps(90):
            exact = mpmath.log(mpmath.mpf(number.numerator) / number.denominator)
            assert mpmath.mpf(str(rounding.log_up(number))) >= exact


def test_total_delta_must_exceed_the_guarantee_s_own() -> None:
    approximate = ApproxZCDP("0.1", "1e-6")
    assert approximate.to_approx_dp("2e-6").epsilon == ZCDP("0.1").to_approx_dp("1e-6").epsilon
    for delta in ("1e-6", "1e-7", 0):
        with pytest.raises(ParameterError, match="delta"):
            approximate.to_approx_dp(delta)
    with pytest.raises(ParameterError, match="delta"):
        ZCDP(1).to_approx_dp(0)
    with pytest.raises(ParameterError, match="delta"):
        ApproxDP(1, "1e-6").to_approx_dp("1e-7")
    assert ApproxDP(1, "1e-6").to_approx_dp("1e-5") == ApproxDP(1, "1e-5")
    assert PureDP(1).to_approx_dp(0) == ApproxDP(1, 0)
    assert ApproxDP(1, "1e-6").to_approx_zcdp() == ApproxZCDP(PureDP(1).to_zcdp().rho, "1e-6")


@pytest.mark.parametrize("rho", ["1e-12", "1000000", "123456789/1000"])
def test_extreme_guarantees_convert(rho: str) -> None:
    assert ZCDP(rho).to_approx_dp("1e-100").epsilon > 0
    assert PureDP(5000).to_zcdp().rho == 5000


def test_the_least_epsilon_uses_the_delta_that_releases_leave() -> None:
    """Of each release its own delta is taken from the total, and no more is there to convert."""
    own, total = Fraction(1, 10**8), Fraction(1, 10**6)
    for releases in (1, 7, 99):
        left = total - releases * own
        found = least_epsilon([ApproxZCDP("0.01", own)], total, releases)
        assert found == ZCDP(releases * Fraction("0.01")).to_approx_dp(left).epsilon
    assert least_epsilon([ApproxZCDP("0.01", own)], total, 100) is None
    pure = ApproxDP("0.1", own)
    assert least_epsilon([pure], 3 * own, 3) == Fraction("0.3")
    assert least_epsilon([pure], 3 * own - Fraction(1, 10**30), 3) is None


@given(
    rhos=st.lists(st.fractions(Fraction(1, 10**6), 5), min_size=1, max_size=4),
    deltas=st.lists(st.sampled_from([0, "1e-9", "1e-7", "9e-7", "1e-6"]), min_size=4, max_size=4),
    releases=st.sampled_from([1, 3]),
)
def test_the_least_epsilon_is_that_of_one_of_the_guarantees(rhos, deltas, releases) -> None:
    """What is converted is one guarantee with its own rho and delta, never parts of two."""
    total = Fraction(1, 10**6)
    each = [
        ApproxZCDP(rho, delta) if delta else ZCDP(rho)
        for rho, delta in zip(rhos, deltas, strict=False)
    ]
    alone = [least_epsilon([guarantee], total, releases) for guarantee in each]
    found = [epsilon for epsilon in alone if epsilon is not None]
    assert least_epsilon(each, total, releases) == min(found, default=None)
