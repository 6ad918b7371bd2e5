"""The epsilon of Gaussian noise: the least of 12 digits, and true of what is released.

d(E) is evaluated by mpmath here, to 80 digits and more, and taken from its definition too.
"""

import functools
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dphist import ZCDP, ApproxDP
from dphist.errors import ParameterError
from dphist.labels.threshold.mechanism import ThresholdHistogram
from dphist.noise import gaussian_epsilon as module
from dphist.noise.gaussian_epsilon import LEAST_EPSILON, gaussian_epsilon
from tests.support.privacy.threshold_law import hockey_stick, joint, label_law, users

USUAL = [("0.1", "1e-6"), ("0.04", "5e-7"), ("1", "0.01"), ("1e-6", "1e-9"), ("30", "1e-12")]


def fraction(low: int, high: int) -> st.SearchStrategy[Fraction]:
    """Numbers of four digits between these powers of ten, each power equally often."""
    return st.builds(
        lambda digits, power: Fraction(digits) * Fraction(10) ** (power - 3),
        st.integers(1000, 9999),
        st.integers(low, high - 1),
    )


squares = fraction(-18, 4)
deltas = st.one_of(fraction(-12, 0), fraction(-300, 0), fraction(-9, 0).map(lambda f: 1 - f))


def exact(number: Fraction | int) -> mpmath.mpf:
    return mpmath.mpf(Fraction(number).numerator) / Fraction(number).denominator


def chance(epsilon: Fraction, square: Fraction) -> mpmath.mpf:
    """d(epsilon) by Balle and Wang's formula; mpmath's tails and powers are exact to all digits."""
    mu, e = mpmath.sqrt(exact(square)), exact(epsilon)
    return mpmath.ncdf(mu / 2 - e / mu) - mpmath.exp(e) * mpmath.ncdf(-mu / 2 - e / mu)


def is_least(epsilon: Fraction, square: Fraction, delta: Fraction) -> bool:
    """Whether d(epsilon) <= delta, but not with a unit of the twelfth digit less."""
    with mpmath.workdps(120):
        if chance(epsilon, square) > exact(delta):
            return False
        if epsilon <= LEAST_EPSILON:
            return bool(chance(Fraction(0), square) > exact(delta)) == (epsilon > 0)
        return bool(chance(epsilon - last_digit(epsilon), square) > exact(delta))


def last_digit(number: Fraction) -> Fraction:
    """One unit of the twelfth significant digit."""
    text = Decimal(number.numerator) / Decimal(number.denominator)
    return Fraction(10) ** (text.adjusted() - 11)


@settings(max_examples=400, deadline=None)
@given(squares, deltas)
def test_it_is_the_least_of_twelve_digits(square: Fraction, delta: Fraction) -> None:
    epsilon = gaussian_epsilon(square, delta)
    assert is_least(epsilon, square, delta)
    assert Fraction(f"{Decimal(epsilon.numerator) / epsilon.denominator:.11e}") == epsilon


@settings(max_examples=200, deadline=None)
@given(squares, st.floats(0.5, 30), st.sampled_from([-1, 1]))
@example(Fraction(1), 9.150491236916364, -1)  # once a unit of the twelfth digit too much
def test_so_it_is_where_delta_alone_nearly_suffices(
    square: Fraction, digits: float, sign: int
) -> None:
    with mpmath.workdps(80):
        close = chance(Fraction(0), square) * (1 + sign * mpmath.mpf(10) ** -digits)
        delta = Fraction(mpmath.nstr(close, 60))
    if 0 < delta < 1:
        epsilon = gaussian_epsilon(square, delta)
        # Delta nearer to d(0) than 64 bits tell may get the least epsilon where 0 would do.
        assert is_least(epsilon, square, delta) or (digits > 15 and epsilon == LEAST_EPSILON)
        assert epsilon > 0 or sign > 0


@pytest.mark.parametrize(("square", "delta"), USUAL)
def test_planted_epsilons_are_told_from_the_least(square: str, delta: str) -> None:
    mu_squared, small = Fraction(square), Fraction(delta)
    mu, log_delta = math.sqrt(mu_squared), math.log(small)
    right = gaussian_epsilon(mu_squared, small)
    assert is_least(right, mu_squared, small)
    wrong = {
        "mu in place of mu**2": gaussian_epsilon(Fraction(mu), small),
        "rho in place of mu**2": gaussian_epsilon(mu_squared / 2, small),
        "rounded down": right - last_digit(right),
        "a billionth less": right * (1 - Fraction(1, 10**9)),
        "a billionth more": right * (1 + Fraction(1, 10**9)),
        "as proposed": Fraction(module._proposal(mu, log_delta)) * (1 - Fraction(1, 10**11)),
        "by zCDP": ZCDP(mu_squared / 2).to_approx_dp(small).epsilon,
    }
    if mu_squared == 1:
        del wrong["mu in place of mu**2"]
    assert [name for name, bad in wrong.items() if is_least(bad, mu_squared, small)] == []


def without_second_term(patch: pytest.MonkeyPatch) -> None:
    right = module._chance_and_slope

    def wrong(epsilon: Fraction, mu_squared: Fraction, bits: int) -> tuple[int, int]:
        above, slope = right(epsilon, mu_squared, bits)
        return above + slope, slope

    patch.setattr(module, "_chance_and_slope", wrong)


def without_exponential(patch: pytest.MonkeyPatch) -> None:
    right = module._tail
    patch.setattr(module, "_tail", lambda x, shift, bits: right(x, Fraction(0), bits))


def coarse_density(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(module, "_DENSITY", round(0.39894228 * 10**60))


def short_fraction(patch: pytest.MonkeyPatch) -> None:
    """One value in place of an enclosure: what a fraction of two levels begins with."""
    patch.setattr(module, "_mills_ratio", lambda x, bits: (int((1 << bits) / x),) * 2)


@pytest.mark.parametrize(
    "plant", [without_second_term, without_exponential, coarse_density, short_fraction]
)
def test_planted_bugs_in_the_bounds_are_caught(
    plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    found = [
        module.gaussian_epsilon.__wrapped__(Fraction(square), Fraction(delta))
        for square, delta in USUAL
    ]
    cases = zip(found, USUAL, strict=True)
    assert not all(is_least(e, Fraction(square), Fraction(delta)) for e, (square, delta) in cases)


@pytest.mark.parametrize("factor", [0, 0.01, 0.5, 1 - 1e-6, 1 + 1e-6, 1.5, 4])
@pytest.mark.parametrize(("square", "delta"), USUAL)
def test_a_bad_proposal_is_mended(
    square: str, delta: str, factor: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    mu_squared, small = Fraction(square), Fraction(delta)
    right = gaussian_epsilon(mu_squared, small)
    monkeypatch.setattr(module, "_proposal", lambda mu, log_delta: float(right) * factor)
    assert module.gaussian_epsilon.__wrapped__(mu_squared, small) == right


@pytest.mark.parametrize(("square", "epsilon"), [("0.1", 1), ("0.04", "0.3"), ("4", 3), ("1", 0)])
def test_the_formula_is_the_definition(square: str, epsilon: Any) -> None:
    """The largest Pr[M(D) in S] - e**E Pr[M(D') in S], of all sets S of results."""
    mu, e = mpmath.sqrt(exact(Fraction(square))), exact(Fraction(epsilon))
    border = e / mu + mu / 2  # where the two densities, mu apart, have the ratio e**E

    def excess(x: mpmath.mpf) -> mpmath.mpf:
        return mpmath.npdf(x, mu) - mpmath.exp(e) * mpmath.npdf(x)

    integral = mpmath.quad(excess, [border, border + 2, border + 8, border + 40])
    assert mpmath.almosteq(integral, chance(Fraction(epsilon), Fraction(square)), rel_eps=1e-10)


def test_releases_add_their_squares() -> None:
    """The loss of one release is N(mu**2 / 2, mu**2); that of three is its convolution."""
    square, epsilon, step = 0.3, 1.5, 1 / 512
    losses = np.arange(-8, 8, step)
    law = np.exp(-((losses - square / 2) ** 2) / (2 * square)) / math.sqrt(2 * math.pi * square)
    three = np.convolve(np.convolve(law, law), law) * step**2
    sums = 3 * losses[0] + step * np.arange(len(three))
    gained = np.maximum(0, -np.expm1(epsilon - sums))
    delta = Fraction(float(three @ gained) * step)
    assert float(gaussian_epsilon(Fraction(9, 10), delta)) == pytest.approx(epsilon, rel=1e-5)
    assert float(gaussian_epsilon(Fraction(3, 10), delta)) < 0.6 * epsilon


# dp_accounting 0.6.0, get_epsilon_gaussian(1 / mu, delta) and get_sigma_gaussian(epsilon, delta),
# which solve the same equation in floating point.
DP_ACCOUNTING = [
    (0.1, 1e-06, 1.3675714750842882),
    (0.04, 5e-07, 0.8645212944934442),
    (0.1, 1e-09, 1.7880248269409835),
    (4, 1e-06, 10.997151214220652),
    (1, 1e-05, 4.377178095681137),
    (0.01, 1e-09, 0.5351482315531076),
    (100, 1e-10, 112.84032670423207),
    (0.25, 0.05, 0.5142582707117581),
    (0.0001, 0.001, 0.009048072593038102),
    (4.224678889326822**-2, 1e-6, 1),
    (50.209818263015066**-2, 1e-9, 0.1),
    (0.40836299474750304**-2, 0.01, 8),
    (243.78543767569604**-2, 1e-5, 0.01),
]


@pytest.mark.parametrize(("square", "delta", "epsilon"), DP_ACCOUNTING)
def test_it_is_that_of_dp_accounting(square: float, delta: float, epsilon: float) -> None:
    found = gaussian_epsilon(Fraction(square), Fraction(str(delta)))
    assert float(found) == pytest.approx(epsilon, rel=1e-8)


@given(squares, squares, deltas, deltas)
@settings(deadline=None)
def test_it_grows_with_mu_and_falls_with_delta(
    square: Fraction, other: Fraction, delta: Fraction, larger: Fraction
) -> None:
    epsilon = gaussian_epsilon(square, delta)
    if other >= square:
        assert gaussian_epsilon(other, delta) >= epsilon
    if larger >= delta:
        assert gaussian_epsilon(square, larger) <= epsilon


@given(squares, deltas)
@settings(deadline=None)
def test_it_is_never_above_what_zcdp_shows(square: Fraction, delta: Fraction) -> None:
    assert gaussian_epsilon(square, delta) <= ZCDP(square / 2).to_approx_dp(delta).epsilon


@pytest.mark.parametrize(("square", "delta"), USUAL)
def test_it_is_well_below_what_zcdp_shows(square: str, delta: str) -> None:
    shown = ZCDP(Fraction(square) / 2).to_approx_dp(delta).epsilon
    assert 0.7 * shown < gaussian_epsilon(Fraction(square), Fraction(delta)) < 0.98 * shown


@given(st.fractions(4, 10**9, max_denominator=2**40), st.integers(100, 300))
@settings(deadline=None)
def test_mills_ratio_is_enclosed(x: Fraction, bits: int) -> None:
    low, high = module._mills_ratio(x, bits)
    with mpmath.workdps(140):
        true = mpmath.erfc(exact(x) / mpmath.sqrt(2)) / 2 / mpmath.npdf(exact(x))
        assert low <= true * mpmath.mpf(2) ** bits <= high
    assert high - low <= 4 + (high >> 85)


@given(fraction(-9, 2), st.floats(0, 1), st.integers(64, 300))
@settings(deadline=None)
def test_tails_are_enclosed(x: Fraction, share: float, bits: int) -> None:
    shift = x * x / 2 * Fraction(share)
    low, high = module._tail(x, shift, bits)
    with mpmath.workdps(140):
        true = mpmath.exp(exact(shift)) * mpmath.erfc(exact(x) / mpmath.sqrt(2)) / 2
        assert low <= true * mpmath.mpf(2) ** bits <= high
    assert high - low <= 8 + (high >> 80)


def test_the_density_at_zero() -> None:
    with mpmath.workdps(90):
        scaled = mpmath.npdf(0) * module._DENSITY_UNIT
        assert module._DENSITY < scaled < module._DENSITY + 1


@pytest.mark.parametrize("square", [Fraction(10) ** power for power in (-299, -40, 30, 90, 299)])
@pytest.mark.parametrize("delta", [Fraction("1e-3"), Fraction("0.999"), Fraction(1, 10**320)])
def test_noise_of_any_strength(square: Fraction, delta: Fraction) -> None:
    epsilon = gaussian_epsilon(square, delta)
    if square < 1:  # d(0) is mu / sqrt(2 pi), and d(1e-12) is nothing
        small = 0.3989422804 * math.sqrt(square)
        assert epsilon == (0 if small <= float(delta) else LEAST_EPSILON)
    else:  # between 40 standard deviations of the loss about its mean
        mean = square / 2
        assert abs(epsilon - mean) <= 40 * math.isqrt(square.numerator) + mean / 10**11


@pytest.mark.parametrize(
    ("square", "delta"),
    [(1, 0), (1, -1), (0, "1e-6"), (-1, "1e-6"), (1, Fraction(1, 10**2000)), (10**301, "0.5")],
)
def test_what_cannot_be_shown_is_refused(square: int, delta: Any) -> None:
    with pytest.raises(ParameterError, match="delta"):
        gaussian_epsilon(Fraction(square), Fraction(delta))


def test_a_delta_of_one_needs_no_epsilon() -> None:
    assert gaussian_epsilon(Fraction(10**6), Fraction(1)) == 0


# What is released: exact laws of small neighbours, as in `tests/privacy/test_threshold_law.py`.

RELEASED = [
    ThresholdHistogram(epsilon=1, delta="0.05", max_labels=2, noise="gaussian"),
    ThresholdHistogram(epsilon=2, delta="0.01", max_labels=2, max_count=2, noise="gaussian"),
    ThresholdHistogram(epsilon="0.7", delta="1e-4", max_labels=1, noise="gaussian"),
]
Law = dict[tuple[Any, ...], float]


@functools.cache
def neighbours(mechanism: ThresholdHistogram) -> list[tuple[Law, Law]]:
    """Laws of what is released with a user and without, for all that a user may do."""
    law = functools.cache(functools.partial(label_law, mechanism))
    pairs = []
    for common, new in users(mechanism):
        shorter = joint([law(low) for low, _ in common])
        pairs.append(
            (
                joint([law(high) for _, high in common] + [law(count) for count in new]),
                {outcome + (None,) * len(new): p for outcome, p in shorter.items()},
            )
        )
    return pairs


def twice(law: Law) -> Law:
    return {first + second: p * q for first, p in law.items() for second, q in law.items()}


def worst(mechanism: ThresholdHistogram, epsilon: float, releases: int = 1) -> float:
    """The largest delta that any user brings about at this epsilon, either way round."""
    repeat = twice if releases == 2 else lambda law: law
    return max(
        max(
            hockey_stick(repeat(p), repeat(q), epsilon), hockey_stick(repeat(q), repeat(p), epsilon)
        )
        for p, q in neighbours(mechanism)
    )


def claims(mechanism: ThresholdHistogram, releases: int) -> list[tuple[float, float]]:
    """Total deltas, and the epsilons claimed for them."""
    found = []
    for factor in ("1.0001", "1.1", "1.5", "3"):
        delta = releases * (mechanism.delta or 0) * Fraction(factor)
        epsilon = mechanism.epsilon_at(delta, releases)
        assert epsilon is not None
        found.append((float(delta), float(epsilon)))
    return found


@pytest.mark.parametrize("mechanism", RELEASED, ids=str)
@pytest.mark.quick(every=3)
def test_what_is_released_keeps_the_claim(mechanism: ThresholdHistogram) -> None:
    for delta, epsilon in claims(mechanism, 1):
        assert worst(mechanism, epsilon) <= delta
        assert mechanism.to_approx_dp(delta).epsilon == pytest.approx(epsilon, rel=1e-9)


def test_what_is_released_twice_keeps_the_claim() -> None:
    mechanism = RELEASED[-1]
    for delta, epsilon in claims(mechanism, 2):
        assert worst(mechanism, epsilon, releases=2) <= delta


def test_weaker_claims_are_broken_by_what_is_released() -> None:
    """Power: for one label only, for noise that is stronger, for one release, without delta."""
    two, narrow = RELEASED[1], RELEASED[2]
    total = Fraction(3, 100)
    left, each = total - Fraction(1, 100), two.epsilon**2
    assert worst(two, float(gaussian_epsilon(2 * each, left))) <= total
    assert worst(two, float(gaussian_epsilon(each, left))) > total
    assert worst(two, 0.7 * float(gaussian_epsilon(2 * each, left))) > total
    only = Fraction(1, 10**5)  # and not the threshold's 1e-4
    assert worst(narrow, float(gaussian_epsilon(narrow.epsilon**2, only))) > only
    for delta, epsilon in claims(narrow, 1):
        if delta > 2e-4:
            assert worst(narrow, epsilon, releases=2) > delta


@pytest.mark.parametrize("releases", [1, 7])
def test_what_a_histogram_states(releases: int) -> None:
    listed = ThresholdHistogram(
        epsilon="0.1", max_labels=9, labels=["a", "b", "c"], noise="gaussian"
    )
    square = releases * 3 * Fraction("0.01")  # no more labels change than are listed
    assert listed.epsilon_at("1e-6", releases) == gaussian_epsilon(square, Fraction("1e-6"))
    found = ThresholdHistogram(epsilon="0.1", delta="1e-7", max_labels=9, noise="gaussian")
    own = releases * Fraction("1e-7")
    if releases == 1:  # the larger delta, not the sum
        assert found.epsilon_at("1e-6") == gaussian_epsilon(3 * square, Fraction("1e-6"))
        assert found.epsilon_at(own) == gaussian_epsilon(3 * square, own)
    else:
        left = Fraction("1e-6") - own
        assert found.epsilon_at("1e-6", releases) == gaussian_epsilon(3 * square, left)
        assert found.epsilon_at(own, releases) is None
    assert found.epsilon_at(own * Fraction(999, 1000), releases) is None
    assert listed.epsilon_at(0, releases) is None
    with pytest.raises(ParameterError, match="delta"):
        listed.to_approx_dp(0)
    for bad in (0, 1.5, -1):
        with pytest.raises(ParameterError, match="releases"):
            found.epsilon_at("1e-6", bad)  # type: ignore[arg-type]
    # Where delta does it alone, the least epsilon is stated that can be; out of reach, zCDP's.
    assert listed.epsilon_at("0.9", releases) == 0
    assert listed.to_approx_dp("0.9") == ApproxDP(LEAST_EPSILON, "0.9", listed.guarantee.unit)
    tiny = Fraction(1, 10**2000)
    assert listed.to_approx_dp(tiny) == listed.guarantee.to_approx_dp(tiny)


# What a review planted and nothing above noticed: a rounding the other way, a hair too much.


@pytest.mark.parametrize("square", ["2", "1/3", "7/1000000007", "12345/7"])
@pytest.mark.parametrize("epsilon", ["1/7", "3", "22/7"])
def test_tails_are_taken_outside_their_places(
    square: str, epsilon: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Fraction] = []
    monkeypatch.setattr(module, "_tail", lambda x, shift, bits: (seen.append(x), (0, 1))[1])  # type: ignore[func-returns-value]
    module._chance_and_slope(Fraction(epsilon), Fraction(square), 64)
    with mpmath.workdps(150):
        mu = mpmath.sqrt(_number(Fraction(square)))
        a = _number(Fraction(epsilon)) / mu - mu / 2
        b = _number(Fraction(epsilon)) / mu + mu / 2
        first, second = map(_number, seen)
        assert second >= b
        assert first <= a if a >= 0 else first >= -a


def test_a_hair_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    delta = Fraction(1, 10**6)
    too_much = (1 << 84) // 10**6 + 1
    monkeypatch.setattr(module, "_chance_and_slope", lambda *_: (too_much, 1 << 84))
    assert module._least(Fraction(1), delta, Fraction(1), 84) is None


@pytest.mark.parametrize("bits", [12, 16, 20, 24])
def test_mills_ratio_is_enclosed_in_few_bits(bits: int) -> None:
    with mpmath.workdps(60):
        for n in range(400):
            x = 4 + Fraction(n, 97)
            t = _number(x)
            exact = mpmath.erfc(t / mpmath.sqrt(2)) / 2 / mpmath.npdf(t) * 2**bits
            low, high = module._mills_ratio(x, bits)
            assert low <= exact <= high


def _number(x: Fraction) -> mpmath.mpf:
    return mpmath.mpf(x.numerator) / x.denominator
