"""Group privacy: Lemma 9 of docs/understand/proofs/accounting.md, on laws where it is tight or
nearly so.

Each planted bug is a weaker claim that one of these laws breaks.
"""

import math
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import norm

from dphist import ZCDP, ApproxDP, ApproxZCDP, ParameterError, PrivacyUnit, PureDP
from dphist.privacy import groups

STEPS = [1, 2, 3, 7, 40]
FIVE = PrivacyUnit("record", 5)


def exact(number: Fraction) -> mpmath.mpf:
    return mpmath.mpf(number.numerator) / number.denominator


# --- pure


@pytest.mark.parametrize("steps", STEPS)
def test_geometric_counts_reach_the_pure_bound(steps: int) -> None:
    """Counts i = 0..m with two-sided geometric noise: the ratio is e**(m epsilon), exactly."""
    epsilon = Fraction(1, 5)

    def chance(output: int, count: int) -> mpmath.mpf:
        return mpmath.exp(-exact(epsilon) * abs(output - count))

    with mpmath.workdps(40):
        worst = mpmath.log(chance(-3, 0) / chance(-3, steps))
        claimed = exact(PureDP(epsilon).for_group(steps).epsilon)
        assert mpmath.almosteq(worst, claimed)
        if steps > 1:  # planted bug: one step too few
            assert worst > exact(PureDP(epsilon).for_group(steps - 1).epsilon) * (1 + 1e-9)


# --- zCDP


# So fine that the largest of these is less than 0.1 % below the largest of all. Laws that are
# nearly the same differ most at orders in the thousands.
ORDERS = 1 + np.exp(np.linspace(-7, 11, 360))


def least_rho(p: np.ndarray, q: np.ndarray) -> float:
    """The least rho at which these laws have divergences at most rho a both ways, on the grid."""
    orders = ORDERS[:, None]
    both = [
        logsumexp(orders * np.log(one) + (1 - orders) * np.log(other), axis=1)
        for one, other in ((p, q), (q, p))
    ]
    return float(np.max(np.array(both) / (ORDERS - 1) / ORDERS))


@pytest.mark.parametrize("steps", STEPS)
def test_normal_laws_reach_the_bound_of_zcdp(steps: int) -> None:
    """N(i, s**2): neighbours have rho = 1 / (2 s**2), and m steps m**2 times that, exactly."""
    variance = Fraction(7)
    single, together = 1 / (2 * variance), Fraction(steps**2) / (2 * variance)
    claimed = ZCDP(single).for_group(steps).rho
    assert claimed == together
    if steps > 1:  # planted bug: m in place of m**2
        assert steps * single < together


def test_three_laws_keep_the_triangle_inequality() -> None:
    """sqrt(rho) adds along a path, for any laws; rho alone (a planted bug) does not."""
    random = np.random.default_rng(5)
    plain_sum_broken = 0
    for _ in range(300):
        p, r, q = random.dirichlet(np.full(4, 2.0), size=3) * 0.98 + 0.005
        first, second, whole = least_rho(p, r), least_rho(r, q), least_rho(p, q)
        assert whole <= (math.sqrt(first) + math.sqrt(second)) ** 2 * (1 + 1e-9)
        plain_sum_broken += whole > first + second
    assert plain_sum_broken > 30


# --- (epsilon, delta)


def chain(epsilon: Fraction, delta: Fraction, steps: int) -> list[mpmath.mpf]:
    """Chances p_0, ..., p_m of one event, each as far above the next as neighbours may be."""
    chances = [mpmath.mpf(0)]
    for _ in range(steps):
        chances.insert(0, mpmath.exp(exact(epsilon)) * chances[0] + exact(delta))
    return chances


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("epsilon", ["1/100", "1/2", "3"])
def test_a_chain_of_events_reaches_the_delta_of_a_group(epsilon: str, steps: int) -> None:
    rate = Fraction(epsilon)
    with mpmath.workdps(60):
        delta = Fraction(1, 10**9) / math.ceil(math.exp(float(rate) * (steps - 1)))
        chances = chain(rate, delta, steps)
        assert chances[0] < 1
        for above, below in pairwise(chances):  # neighbours keep (epsilon, delta), both ways
            factor = mpmath.exp(exact(rate)) * (1 + mpmath.mpf(10) ** -50)
            assert above <= factor * below + exact(delta)
            assert below <= factor * above + exact(delta)
            assert 1 - above <= factor * (1 - below) + exact(delta)
            assert 1 - below <= factor * (1 - above) + exact(delta)
        group = ApproxDP(rate, delta).for_group(steps)
        assert group.epsilon == steps * rate
        # The last of the chain never happens, so that all of the first is delta.
        claimed = exact(group.delta)
        assert chances[0] <= claimed <= chances[0] * (1 + mpmath.mpf(10) ** -10)
        if steps > 1:
            for planted in (delta, steps * delta):
                assert exact(planted) < chances[0]


@pytest.mark.parametrize("epsilon", ["1e-30", "1e-9", "0.3", "5"])
@pytest.mark.parametrize("delta", ["1e-300", "1e-9", "1/7"])
@pytest.mark.parametrize("steps", [2, 3, 1000, 10**6])
def test_delta_of_a_group_rounds_up_and_by_little(epsilon: str, delta: str, steps: int) -> None:
    rate, small = Fraction(epsilon), Fraction(delta)
    with mpmath.workdps(400):
        true = exact(small) * mpmath.expm1(steps * exact(rate)) / mpmath.expm1(exact(rate))
        if true >= 1:
            with pytest.raises(ParameterError, match="would reach 1"):
                groups.delta_of_group(rate, small, steps)
            return
        found = exact(groups.delta_of_group(rate, small, steps))
        assert true <= found <= true * (1 + mpmath.mpf(10) ** -10)


# --- delta-approximate zCDP


def shifted_events(rho: Fraction, delta: Fraction, steps: int) -> mpmath.mpf:
    """Mass of the first of m + 1 laws where the last one has none.

    Law i is N(i mu, 1) with mu**2 = 2 rho. From law i on, i = 1..m, the outputs below t_i are
    replaced by a sign, where t_i is the delta-quantile of N((i - 1) mu, 1): so neighbours are
    delta-approximate rho-zCDP, S being what lies above t_i under law i - 1. The outputs below the
    largest t_i are what the last law never gives.
    """
    mu = mpmath.sqrt(2 * exact(rho))
    last = norm.ppf(float(delta)) + (steps - 1) * float(mu)
    return mpmath.ncdf(last)


@pytest.mark.parametrize("steps", [2, 3, 5])
@pytest.mark.parametrize(("rho", "delta"), [("1/50", "1e-9"), ("1/2", "1e-12"), ("1/8", "1e-6")])
def test_the_delta_of_a_group_covers_events_that_the_group_makes_likelier(
    rho: str, delta: str, steps: int
) -> None:
    """An event of probability delta next door is likelier some steps away; delta must grow."""
    single = ApproxZCDP(rho, delta)
    group = single.for_group(steps)
    assert group.rho == steps**2 * single.rho
    missed = shifted_events(single.rho, single.delta, steps)
    assert missed <= exact(group.delta)
    # Nothing is claimed that is far from what such laws need: within 25 times, here.
    assert exact(group.delta) < 25 * steps * missed
    for planted in (single.delta, steps * single.delta):  # unchanged, or only added up
        assert exact(planted) < missed


@settings(deadline=None)
@given(
    st.lists(st.floats(0.02, 1), min_size=3, max_size=6),
    st.randoms(use_true_random=False),
)
def test_events_are_amplified_by_no_more_than_is_said(weights: list[float], random: object) -> None:
    """P(B) <= h(rho) for Q(B) = delta, whatever the laws: the core of the lemma."""
    p = np.array(weights) / sum(weights)
    tilted = p * np.exp([random.uniform(-0.7, 0.7) for _ in weights])
    q = tilted / tilted.sum()
    # A little more than the grid shows, for the orders between.
    rho = Fraction(max(least_rho(p, q), 1e-9) * 1.001).limit_denominator(10**15)
    for event in range(1, 2 ** len(p) - 1):
        inside = np.array([bool(event >> i & 1) for i in range(len(p))])
        delta = Fraction(float(q[inside].sum()))
        if delta >= 1:
            continue
        claimed = groups._amplify(-groups._log_down(1 / delta), rho)
        assert float(p[inside].sum()) <= float(claimed) * (1 + 1e-9)


def test_h_is_the_closed_form_and_rounded_up() -> None:
    for rho, delta in [("1/3", "1e-9"), ("1e-6", "1e-3"), ("4", "1e-30")]:
        with mpmath.workdps(60):
            log = -mpmath.log(exact(Fraction(delta)))
            true = mpmath.exp(-((mpmath.sqrt(log) - mpmath.sqrt(exact(Fraction(rho)))) ** 2))
            found = groups._amplify(-groups._log_down(1 / Fraction(delta)), Fraction(rho))
            assert true <= mpmath.mpf(str(found)) <= true * (1 + mpmath.mpf(10) ** -7)


@pytest.mark.parametrize("steps", [2, 999, 1000, 1001, 5000])
def test_many_steps_are_summed_from_above(steps: int) -> None:
    rho, delta = Fraction(1, 10**8), Fraction(1, 10**9)
    found = float(groups.approximate_delta_of_group(rho, delta, steps))
    root = math.sqrt(-math.log(delta))
    terms = [math.exp(-((root - i * math.sqrt(rho)) ** 2)) for i in range(steps)]
    assert sum(terms) * (1 - 1e-9) <= found <= sum(terms) * 1.01


@pytest.mark.parametrize(
    "guarantee", [ApproxDP(1, "1e-6"), ApproxZCDP("0.5", "1e-6"), ApproxDP("1e-9", "0.5")]
)
def test_a_group_too_large_to_be_promised_anything_is_refused(guarantee: object) -> None:
    with pytest.raises(ParameterError, match="would reach 1"):
        guarantee.for_group(100)


@pytest.mark.parametrize("rho", ["1e-100", "1e-330", "1e-400", "1e-390"])
def test_a_rho_below_the_floats_adds_next_to_nothing(rho: str) -> None:
    """Of rho = 0 the sum is m delta."""
    grouped = ApproxZCDP(rho, "0.01").for_group(2)
    assert grouped.rho == 4 * Fraction(rho)
    assert Fraction("0.02") <= grouped.delta <= Fraction("0.02") * (1 + Fraction(1, 10**9))
    with mpmath.workprec(30_000):
        root, log = mpmath.sqrt(exact(Fraction(rho))), -mpmath.log(mpmath.mpf(1) / 100)
        true = mpmath.mpf(1) / 100 + mpmath.exp(-((mpmath.sqrt(log) - root) ** 2))
        assert exact(grouped.delta) >= true


@pytest.mark.parametrize(
    "guarantee",
    [PureDP("1/3"), ZCDP("1/3"), ApproxDP("1/3", "1e-9"), ApproxZCDP("1/3", "1e-9")],
    ids=repr,
)
def test_a_group_of_one_is_the_unit_itself(guarantee: object) -> None:
    assert guarantee.for_group(1) == guarantee


def test_without_delta_a_group_has_none() -> None:
    assert ApproxDP(2, 0).for_group(5) == ApproxDP(10, 0, FIVE)
    assert ApproxZCDP(2, 0).for_group(5) == ApproxZCDP(50, 0, FIVE)


@given(st.integers(1, 20), st.integers(1, 20))
def test_a_group_of_groups_costs_no_less(first: int, second: int) -> None:
    """Converting twice is allowed; converting at once is at least as good, and of one unit."""
    single = ApproxDP("1/100", "1e-12")
    twice, once = single.for_group(first).for_group(second), single.for_group(first * second)
    assert twice.unit == once.unit
    assert twice.epsilon == once.epsilon
    assert twice.delta >= once.delta * (1 - Fraction(1, 10**10))
