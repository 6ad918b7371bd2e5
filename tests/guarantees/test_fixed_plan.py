"""Calibrating several releases together: what comes back, what it costs, what is refused."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pandas as pd
import pytest

import dphist as dh
from dphist.errors import BudgetError, ParameterError
from dphist.noise.gaussian_epsilon import gaussian_epsilon
from dphist.privacy.losses import GaussianLoss
from tests.support.mechanisms.cases import CASES, made

WANTED: dict[str, Any] = {"epsilon": 1, "delta": "1e-6"}
LABELS: Any = (dh.ThresholdHistogram, {"max_labels": 10, "noise": "gaussian"})
BINS: Any = (dh.LeafCounts, {"bins": 24, "epsilon": None})
PURE_BINS: Any = (dh.LeafCounts, {"bins": 24, "rho": None})
STREAM: dict[str, Any] = {"epsilon": "0.1", "delta": "1e-7", "horizon": 9, "max_labels": 1}
USER: dict[str, Any] = {"unit": "one user"}


def plan(found: list[Any], delta: str = "1e-6", **more: Any) -> dh.FixedPlan:
    return dh.FixedPlan(found, delta, **more)


# --- What comes back


def test_a_list_comes_back_that_costs_what_was_asked() -> None:
    found = dh.calibrate([LABELS, BINS], **WANTED, **USER)
    assert isinstance(found, list)
    labels, bins = found
    assert isinstance(labels, dh.ThresholdHistogram)
    assert isinstance(bins, dh.LeafCounts)
    stated = plan(found, **USER)
    assert stated.account == "gaussian"
    assert Fraction("0.9999999999") < stated.fixed.epsilon <= 1
    assert stated.fixed.unit == dh.PrivacyUnit("user")
    assert stated.unit.asserted  # that a user has one record in the bins
    assert not plan([labels, labels], **USER).unit.asserted
    # Equal prices, and none of them has the total.
    assert float(labels.guarantee.rho / bins.rho) == pytest.approx(1, abs=1e-9)
    assert labels.target is None
    assert bins.target is None


def test_gaussian_noise_is_less_than_where_rhos_add_up() -> None:
    kinds = [(dh.LeafCounts, {"bins": bins, "epsilon": None}) for bins in (24, 7, 365)]
    exact = dh.calibrate(kinds, **WANTED)
    added = dh.calibrate(kinds, **WANTED, accounting="cdp")
    assert plan(added).chosen_on_the_way.epsilon <= 1 < plan(exact).chosen_on_the_way.epsilon
    assert 0.92 < float(exact[0].noise_scale / added[0].noise_scale) < 0.94


def test_a_plan_of_what_holds_equal_ones_once_is_refused() -> None:
    """Two equal releases cost twice as much as one, and a set would hold one of them."""
    first, second = (dh.LeafCounts(epsilon=1, bins=4) for _ in range(2))
    assert plan([first, second], "0").fixed.epsilon == 2
    for held in ({first, second}, frozenset([first, second]), {first: 1, second: 2}):
        with pytest.raises(ParameterError, match="mechanisms must be a sequence"):
            dh.FixedPlan(held, 0)


def test_deltas_of_thresholds_add_up() -> None:
    """Both thresholds may fail, and the noise has only what they leave."""
    found = dh.calibrate([LABELS, LABELS], **WANTED)
    own = [made.guarantee.delta for made in found]
    assert own[0] == own[1] > 0
    squared = 2 * sum(made.guarantee.rho for made in found)
    left = Fraction(1, 10**6) - sum(own)
    assert plan(found).fixed.epsilon == gaussian_epsilon(squared, left)
    with pytest.raises(ParameterError, match="delta must be greater than"):
        plan(found, str(float(own[0] * 3 / 2)))


def test_weights_are_prices() -> None:
    first, second = dh.calibrate([BINS, BINS], **WANTED, weights=[3, "1"])
    assert float(first.rho / second.rho) == pytest.approx(3, abs=1e-9)
    first, second = dh.calibrate([LABELS, PURE_BINS], **WANTED, **USER, weights=[1, 2])
    ratio = second.guarantee.to_zcdp().rho / first.guarantee.rho
    assert float(ratio) == pytest.approx(2, rel=1e-4)
    first, second = dh.calibrate([PURE_BINS, PURE_BINS], epsilon=1, delta=0, weights=[2, 1])
    assert float(first.epsilon) == pytest.approx(2 / 3)
    assert plan([first, second], "0").account == "epsilon"


def test_classes_may_share_parameters() -> None:
    tree, bins = dh.calibrate([dh.HierarchicalTree, dh.LeafCounts], **WANTED, bins=64)
    assert tree.bins == bins.bins == (64,)
    assert plan([tree, bins]).fixed.epsilon <= 1


def test_the_kind_of_noise_is_the_better_one() -> None:
    few = dh.calibrate([dh.LeafCounts] * 2, **WANTED, bins=24)
    assert all(made.rho is None for made in few)
    many = dh.calibrate([dh.LeafCounts] * 20, **WANTED, bins=24)
    assert all(made.epsilon is None for made in many)


def test_tables_take_the_noise_that_is_asked_for_and_a_delta_where_values_are_found() -> None:
    keys = {"sex": ["f", "m"], "age": [0, 1, 2]}
    asked: dict[str, Any] = {"keys": keys, "tables": ["sex+age"]}
    found = {**asked, "keys": {**keys, "sex": dh.DiscoverKeys(share="0.3")}}
    pure, gaussian = dh.calibrate(
        [(dh.Tables, {**asked, "rho": None}), (dh.Tables, asked)], **WANTED
    )
    assert isinstance(pure.guarantee, dh.PureDP)
    assert isinstance(gaussian.guarantee, dh.ZCDP)
    finding, listed = dh.calibrate([(dh.Tables, found), (dh.Tables, asked)], **WANTED)
    assert isinstance(finding.guarantee, dh.ApproxZCDP)
    assert 0.999 < plan([finding, listed]).fixed.epsilon <= 1
    with pytest.raises(dh.ParameterError, match="delta must be greater than 0"):
        dh.calibrate([(dh.Tables, found), (dh.Tables, asked)], epsilon=1, delta=0)


def test_other_noise_is_accounted_for_by_its_losses() -> None:
    found = dh.calibrate([PURE_BINS] * 30, **WANTED)
    stated = plan(found)
    assert stated.account == "losses"
    assert stated.fixed.epsilon <= 1 < stated.chosen_on_the_way.epsilon
    alone = dh.calibrate(dh.LeafCounts, **WANTED, releases=30, bins=24)
    assert found[0].epsilon > alone.epsilon * Fraction(113, 100)  # 14 % less noise


def test_a_single_release_has_its_own_account() -> None:
    (found,) = dh.calibrate([LABELS], **WANTED)
    assert plan([found]).account == "single"
    alone = dh.calibrate(LABELS[0], **WANTED, **LABELS[1])
    assert float(found.noise_scale) == pytest.approx(float(alone.noise_scale), rel=0.01)
    assert float(found.threshold) == pytest.approx(float(alone.threshold), rel=0.01)


def test_mechanisms_of_which_rho_alone_is_known_add_rhos() -> None:
    made = [dh.AdaptiveTree(rho="0.01", bins=64), dh.LeafCounts(rho="0.01", bins=8)]
    stated = plan(made)
    assert stated.account == "rho"
    assert stated.fixed == stated.chosen_on_the_way == dh.ZCDP("0.02").to_approx_dp("1e-6")


# --- The total is that of these mechanisms alone


def test_a_changed_mechanism_has_another_total() -> None:
    found = dh.calibrate([BINS, BINS], **WANTED)
    changed = [found[0], dh.LeafCounts(rho=found[1].rho * 2, bins=24)]
    assert plan(changed).fixed.epsilon > plan(found).fixed.epsilon * Fraction(11, 10)
    assert plan([*found, found[0]]).fixed.epsilon > plan(found).fixed.epsilon * Fraction(11, 10)
    with pytest.raises(AttributeError):
        plan(found).mechanisms = ()  # type: ignore[misc]
    with pytest.raises(TypeError):
        replace(plan(found), mechanisms=(found[0],), fixed=1)  # type: ignore[call-arg]
    fewer = replace(plan(found), mechanisms=(found[0],))
    assert fewer.fixed == plan([found[0]]).fixed


def test_a_release_states_its_own_cost_alone() -> None:
    found = dh.calibrate([BINS, BINS], **WANTED)
    release = found[0].release([1] * 24)
    assert release.guarantee == dh.ZCDP(found[0].rho)
    assert release.mechanism.target is None


def test_a_ledger_charges_what_adds_up(tmp_path) -> None:
    found = dh.calibrate([BINS, BINS], **WANTED)
    stated = plan(found)
    assert stated.charge == dh.ZCDP(found[0].rho + found[1].rho)
    data = dh.bin_counts(
        pd.DataFrame({"hour": [1, 2], "user": ["a", "b"]}),
        column="hour",
        start=0,
        stop=24,
        width=1,
        user="user",
        max_records=1,
    )
    path = tmp_path / "fixed.ledger"
    ledger = dh.Ledger.create(path, epsilon=1, delta="1e-6", unit="one user")
    ledger.release(found[0], data, by="ann", key="first")
    with pytest.raises(BudgetError):
        ledger.release(found[1], data, by="ann", key="second")
    added = dh.calibrate([BINS, BINS], **WANTED, accounting="cdp")
    wide = dh.Ledger.create(tmp_path / "w.ledger", epsilon="1.1", delta="1e-6", unit="one user")
    for number, mechanism in enumerate(added):
        wide.release(mechanism, data, by="ann", key=str(number))


def test_the_losses_of_mechanisms_are_those_of_their_guarantees() -> None:
    made = dh.ThresholdHistogram(epsilon="0.1", delta="1e-7", max_labels=4, noise="gaussian")
    losses = made.privacy_losses()
    assert losses.delta == made.guarantee.delta
    (part,) = losses.parts
    assert isinstance(part, GaussianLoss)
    assert abs(part.squared / 2 / made.guarantee.rho - 1) < Fraction(1, 10**9)


# --- What is shown


def test_both_totals_and_the_account_are_shown(tmp_path) -> None:
    stated = plan(dh.calibrate([BINS, BINS], **WANTED))
    for total in (stated.fixed, stated.chosen_on_the_way):
        assert str(total) in repr(stated)
    path = tmp_path / "plan.html"
    stated.write_report(path)
    page = path.read_text()
    for said in (str(stated.fixed), str(stated.chosen_on_the_way), str(stated.charge)):
        assert said in page
    assert "All noise is Gaussian: this is its exact curve" in page
    assert '<dl class="glance">' not in page, "no box where nothing is at a glance"
    assert "Decided beforehand" in stated._repr_html_()


def test_a_pure_plan_is_shown() -> None:
    stated = plan(dh.calibrate([PURE_BINS, dh.AdaptiveScan], epsilon=1, delta=0), "0")
    assert stated.account == "epsilon"
    assert isinstance(stated.charge, dh.PureDP)
    assert stated.fixed.epsilon == stated.charge.epsilon <= 1
    assert "Epsilons were added up" in stated._repr_html_()


# --- What is refused, before any data


class Foreign:
    """Somebody else's mechanism, which states nothing."""

    def __init__(self, *, epsilon: Any) -> None:
        self.epsilon = epsilon


REFUSED: dict[str, tuple[Any, dict[str, Any], str]] = {
    "empty": ([], {}, "mechanism must name at least one class"),
    "no class": ([3], {}, "number 1 is neither"),
    "no list": ("LeafCounts", {}, "must be a class or a function, or a list of them"),
    "no parameters": ([(dh.LeafCounts, 3)], {}, "number 1 is neither"),
    "units": ([LABELS, BINS], {}, "unit must be given.*one user and one record"),
    "other unit": ([LABELS, LABELS], {"unit": "one patient"}, "unit must be what every release"),
    "several records": (
        [BINS, (dh.LeafCounts, {"bins": 4, "sensitivity": 2})],
        {},
        "unit must be given.*one record and at most 2 records",
    ),
    "foreign": ([Foreign], {}, "number 1 is a Foreign, without one"),
    "delta": ([LABELS], {"delta": 0}, "delta must be greater than 0"),
    "delta of noise": ([BINS], {"delta": 0}, "delta must be greater than 0"),
    "few weights": ([BINS, BINS], {"weights": [1]}, "weights must be as many.*1 for 2"),
    "zero": ([BINS, BINS], {"weights": [1, 0]}, "weights must be greater than 0"),
    "nan": ([BINS, BINS], {"weights": [1, float("nan")]}, "weights must be a finite number"),
    "no sequence": ([BINS], {"weights": 3}, "weights must be a sequence"),
    "no decimal": ([BINS], {"epsilon": float("inf")}, "epsilon must be a finite number"),
    "calibrated": ([(dh.LeafCounts, {"bins": 3, "rho": 1})], {}, "rho must not be given"),
    "releases": ([BINS], {"releases": 2}, "releases must be 1 for a list"),
    "best": (
        [(dh.ThresholdHistogram, {"max_labels": 1, "noise": "best"})],
        {},
        "noise must be named for a list",
    ),
    "weights alone": (dh.LeafCounts, {"weights": [1], "bins": 3}, "weights are for a list"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_one_clear_error(name: str) -> None:
    listed, more, match = REFUSED[name]
    with pytest.raises(ParameterError, match=match):
        dh.calibrate(listed, **{**WANTED, **more})


EXCHANGED_USER = dh.PrivacyUnit("user", exchanged=True)


class OfExchanges:
    """Somebody else's mechanism, which states nothing of a unit that is added or removed."""

    guarantee = dh.ZCDP("0.1", dh.PrivacyUnit("record", exchanged=True))

    def release(self, data: Any) -> None:
        """Release nothing."""


@pytest.mark.parametrize("unit", [None, "one user", "one record", EXCHANGED_USER])
def test_a_plan_is_of_units_that_are_added_or_removed(unit: Any) -> None:
    """Its numbers are for these: an exchange costs more, and what it costs says little of them."""
    match = "unit of a plan must not be exchanged"
    with pytest.raises(ParameterError, match=match):
        dh.FixedPlan([OfExchanges()], "1e-6", unit)
    if unit == EXCHANGED_USER:
        with pytest.raises(ParameterError, match=match):
            dh.FixedPlan([dh.LeafCounts(rho="0.1", bins=4)], "1e-6", unit)
        with pytest.raises(ParameterError, match=match):
            dh.calibrate([BINS, BINS], **{**WANTED, "unit": unit})


@pytest.mark.parametrize(
    ("mechanisms", "match"),
    [
        ([], "must name at least one mechanism"),
        ([dh.LeafCounts], "number 1 is the class LeafCounts, without one"),
        ([dh.ContinualHistogram(**STREAM)], "number 1 is a ContinualHistogram, which takes data"),
        ([dh.ContinualMechanism(**STREAM)], "number 1 is a ContinualMechanism, which takes data"),
        ("abc", "must be a sequence of mechanisms"),
        (3, "must be a sequence of mechanisms"),
    ],
)
def test_a_plan_is_of_mechanisms(mechanisms: Any, match: str) -> None:
    with pytest.raises(ParameterError, match=match):
        dh.FixedPlan(mechanisms, "1e-6")


def test_what_is_beyond_the_exact_curve_is_stated_by_rhos() -> None:
    """With a delta of 1e-1300 the Gaussian curve is not computed."""
    made = dh.LeafCounts(rho="0.01", bins=3)
    stated = dh.FixedPlan([made, made], Fraction(1, 10**1300))
    assert stated.account == "rho"


@pytest.mark.parametrize("name", CASES)
def test_every_mechanism_has_a_place_in_a_plan(name: str) -> None:
    mechanism = made(name)
    if not hasattr(mechanism, "release"):
        with pytest.raises(ParameterError, match="must each be released once"):
            plan([mechanism], "1e-3")
        return
    one, two = plan([mechanism], "1e-3"), plan([mechanism, mechanism], "1e-3")
    assert one.fixed.epsilon < two.fixed.epsilon <= two.chosen_on_the_way.epsilon
    assert one.fixed.epsilon <= one.chosen_on_the_way.epsilon
