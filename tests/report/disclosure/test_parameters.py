"""Disclosed parameters are never below what is proved."""

from dataclasses import replace
from fractions import Fraction
from itertools import permutations

import pytest
import yaml
from dp_accounting import dp_event
from dp_accounting.pld import PLDAccountant
from hypothesis import given
from hypothesis import strategies as st

import dphist as dh
from dphist.document.totals import (
    find_total,
    prove_total,
    round_up,
    state_account,
    state_releases,
)
from dphist.lab.disclosure.disclose import disclose
from dphist.privacy import find_delta
from tests.support.abouts import ABOUT
from tests.support.mechanisms.cases import CASES, calibrated, made, released


def release_of(name: str) -> dh.Release:
    return released(made(name), CASES[name][1])


def fractions_above_zero() -> st.SearchStrategy[Fraction]:
    return st.builds(
        lambda above, below, scale: Fraction(above, below) * Fraction(10) ** scale,
        st.integers(1, 10**20),
        st.integers(1, 10**20),
        st.integers(-400, 40),
    )


@given(fractions_above_zero())
def test_numbers_are_rounded_up_by_little(number: Fraction) -> None:
    shown = round_up(number)
    read = Fraction(str(shown))
    assert number <= read <= number * (1 + Fraction(1, 10**5))
    if isinstance(shown, float):
        assert yaml.safe_load(yaml.safe_dump(shown)) == shown
    else:
        assert number < Fraction(1, 10**299)


def test_numbers_near_a_rounding_step_are_rounded_up() -> None:
    assert round_up(Fraction("0.3333330000000000000001")) == 0.333334
    assert round_up(Fraction("0.333333")) == 0.333333
    assert round_up(Fraction(7, 10)) == 0.7
    assert Fraction(str(round_up(Fraction(10**30 + 1)))) > 10**30
    assert round_up(Fraction(0)) == 0


@pytest.mark.verify
@pytest.mark.parametrize("name", CASES)
def test_one_release_states_what_its_mechanism_proves(name: str) -> None:
    release = release_of(name)
    stated = state_releases([release])
    assert stated.unit == release.guarantee.unit
    if isinstance(stated.guarantee, dh.ZCDP):
        assert stated.guarantee == release.guarantee
    else:
        total = find_total(release.mechanism)
        assert stated.guarantee == replace(total.guarantee, unit=release.guarantee.unit)


@pytest.mark.parametrize("name", CASES)
def test_several_releases_state_no_less_than_any_accounting_proves(name: str) -> None:
    releases = [release_of(name)] * 3
    stated = state_releases(releases)
    together = dh.compose(*[each.guarantee for each in releases])
    if isinstance(stated.guarantee, dh.ZCDP):
        assert stated.guarantee == together
        return
    delta = find_delta(stated.guarantee)
    assert delta >= find_delta(together)
    if isinstance(stated.guarantee, dh.PureDP):
        assert stated.guarantee.epsilon == 3 * prove_total(releases[0].mechanism).epsilon
        return
    mechanism = releases[0].mechanism
    claims = [dh.compose(*[prove_total(mechanism)] * 3).epsilon, mechanism.epsilon_at(delta, 3)]
    if isinstance(together, dh.ApproxZCDP) and delta > together.delta:
        claims.append(together.to_approx_dp(delta).epsilon)
    assert stated.guarantee.epsilon == min(claim for claim in claims if claim is not None)
    assert stated.guarantee.epsilon > mechanism.epsilon_at(delta, 2)


def test_a_total_is_at_least_what_another_accountant_finds() -> None:
    """Gaussian noise for rho = 0.05 thrice, and geometric noise for epsilon = 0.4 twice."""
    gaussian = [dh.LeafCounts(rho="0.05", bins=3).release([1, 2, 3]) for _ in range(3)]
    geometric = [dh.LeafCounts(epsilon="0.4", bins=3).release([1, 2, 3]) for _ in range(2)]
    stated = state_releases([*gaussian, *geometric]).guarantee
    assert isinstance(stated, dh.ZCDP)
    sigma = float(1 / (2 * Fraction("0.05"))) ** 0.5
    accountant = PLDAccountant()
    accountant.compose(dp_event.GaussianDpEvent(sigma), 3)
    accountant.compose(dp_event.LaplaceDpEvent(1 / 0.4), 2)
    found = accountant.get_epsilon(1e-6)
    assert 0.6 * float(stated.to_approx_dp("1e-6").epsilon) < found
    assert found <= stated.to_approx_dp("1e-6").epsilon


def test_the_order_of_releases_does_not_matter() -> None:
    names = ("ThresholdHistogram, laplace", "TopLabels", "ThresholdHistogram, gaussian")
    releases = [release_of(name) for name in names]
    assert len({state_releases(order).guarantee for order in permutations(releases)}) == 1


def test_pure_releases_stay_pure_and_others_do_not() -> None:
    known = release_of("ThresholdHistogram, known")  # pure, though its guarantee is in rho
    assert state_releases([known, known]).variant == "Pure DP"
    unknown = release_of("ThresholdHistogram, laplace")
    both = state_releases([known, unknown])
    assert both.variant == "Approximate DP"
    assert both.exact["epsilon"] == Fraction("2.8")
    assert state_releases([release_of("LeafCounts"), release_of("LeafCounts, rho")]).variant == (
        "Zero-concentrated DP"
    )


def test_a_plan_of_several_releases_states_its_total() -> None:
    mechanism = calibrated("ThresholdHistogram, laplace", releases=12)
    release = released(mechanism, CASES["ThresholdHistogram, laplace"][1])
    asked = dh.ApproxDP(2, "1e-5", unit="user")
    assert state_releases([release]).guarantee == asked
    assert state_releases([release] * 12).guarantee == asked
    assert "12 releases together, of which one is" in state_releases([release]).details[0]
    assert state_releases([release]).planned == 12
    beyond = state_releases([release] * 13).guarantee
    assert beyond.epsilon > mechanism.epsilon_at(beyond.delta, 12)
    assert beyond.delta >= find_delta(dh.compose(*[mechanism.guarantee] * 13))


def test_different_units_are_not_added() -> None:
    with pytest.raises(dh.ParameterError, match="must protect the same unit"):
        state_releases([release_of("LeafCounts"), release_of("ThresholdHistogram, known")])


@pytest.mark.parametrize(
    ("guarantee", "variant", "exact"),
    [
        (dh.PureDP(2), "Pure DP", {"epsilon": 2}),
        (dh.ApproxDP(2, "1e-6"), "Approximate DP", {"epsilon": 2, "delta": Fraction("1e-6")}),
        (dh.ZCDP("0.5"), "Zero-concentrated DP", {"rho": Fraction(1, 2)}),
    ],
)
def test_an_account_states_its_budget(guarantee, variant, exact) -> None:
    stated = state_account(guarantee)
    assert (stated.variant, stated.exact) == (variant, exact)


def test_an_account_of_rho_and_delta_is_converted() -> None:
    budget = dh.ApproxZCDP("0.1", "1e-7", unit="one patient")
    stated = state_account(budget)
    assert stated.guarantee == budget.to_approx_dp("2e-7")
    assert "rho = 0.1 and delta = 0.0000001" in stated.details[-1]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.quick(every=4)
def test_an_entry_shows_at_least_the_exact_numbers(name: str) -> None:
    release = release_of(name)
    content = yaml.safe_load(disclose(release, about=ABOUT).to_yaml())
    shown = content["deployment"]["privacy_loss"]["privacy_parameters"]
    exact = state_releases([release]).exact
    assert shown.keys() == exact.keys()
    for parameter, number in exact.items():
        assert Fraction(str(shown[parameter])) >= number
