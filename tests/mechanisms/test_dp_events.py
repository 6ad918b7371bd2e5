"""Events for dp_accounting: never cheaper than what can be shown, and no dearer than our own."""

import math
from fractions import Fraction
from typing import Any

import dp_accounting
import numpy as np
import pytest
from dp_accounting import dp_event
from dp_accounting.pld import PLDAccountant as TheirAccountant
from dp_accounting.rdp import RdpAccountant

import dphist as dh
from dphist.errors import ParameterError
from dphist.lab.bridges.dp_accounting import PLDAccountant
from dphist.privacy import dp_events
from tests.support.mechanisms.cases import CASES, made

STEP = 1e-4  # of the accountants' losses, by which epsilon can be too large
ALONE = {
    "GroupedHistogram, found",
    "AutoThreshold",
    "DiscoverLabels",
    "TopThreshold",
    "TopLabels",
    "ContinualMechanism",
    "ContinualMechanism, known",
}
RHO = {"AdaptiveTree, rho", "LeafCounts, rho"}


def epsilon_of(event, delta: float, accountant=PLDAccountant, count: int = 1) -> float:
    return float(accountant().compose(event, count).get_epsilon(delta))


# --- All mechanisms


@pytest.mark.parametrize("name", CASES)
@pytest.mark.quick(every=7)
def test_every_mechanism_has_an_event(name) -> None:
    mechanism = made(name)
    if name in ALONE and "known" not in name:
        with pytest.raises(ParameterError, match="delta must be given"):
            mechanism.dp_event()
    else:
        event = mechanism.dp_event()
        accountant = RdpAccountant if isinstance(event, dp_event.ZCDpEvent) else PLDAccountant
        theirs = epsilon_of(event, 1e-3, accountant)
        ours = float(mechanism.epsilon_at("1e-3"))
        # RDP of zCDP gives what our conversion gives, over a grid of orders.
        if name not in ALONE:  # of streams, ours is below what their zCDP implies
            assert theirs <= ours * 1.02 + 2 * STEP
    event = mechanism.dp_event(delta="1e-3")
    ours = mechanism.to_approx_dp("1e-3")
    assert epsilon_of(event, 1e-3 * (1 + 1e-9)) == pytest.approx(float(ours.epsilon), abs=2 * STEP)
    assert epsilon_of(event, 0.9e-3) == math.inf if ours.delta > 0 else True


@pytest.mark.long(every=4)
@pytest.mark.verify
@pytest.mark.parametrize("name", [name for name in CASES if name not in ALONE])
def test_many_releases_cost_more_than_one_and_no_more_than_ours(name) -> None:
    mechanism = made(name)
    event = mechanism.dp_event()
    if isinstance(event, dp_event.ZCDpEvent):
        with pytest.raises(dp_accounting.UnsupportedEventError):
            PLDAccountant().compose(event)
        return
    one, many = epsilon_of(event, 1e-3), epsilon_of(event, 64e-3, count=64)
    ours = mechanism.epsilon_at("0.064", 64)
    assert one < many <= float(ours) * 1.001 + 64 * STEP


# --- Against laws that are written down a second time


def geometric_law(rate: float, center: int, reach: int) -> np.ndarray:
    """Probabilities from -reach to reach; both ends hold all that lies beyond."""
    places = np.arange(-reach, reach + 1) - center
    alpha = math.exp(-rate)
    law = (1 - alpha) / (1 + alpha) * alpha ** np.abs(places)
    law[0] = alpha ** (reach + center) / (1 + alpha)
    law[-1] = alpha ** (reach - center) / (1 + alpha)
    return law


def delta_of(first: np.ndarray, second: np.ndarray, epsilon: float) -> float:
    """The exact delta at an epsilon, both ways."""
    return max(
        float(np.maximum(a - math.exp(epsilon) * b, 0).sum())
        for a, b in ((first, second), (second, first))
    )


def noisy(rate: float, center: int, reach: int, threshold: int | None) -> np.ndarray:
    """The law of a released count; of counts at most the threshold, only that they are."""
    law = geometric_law(rate, center, reach)
    if threshold is None:
        return law
    cut = reach + threshold + 1
    return np.append(law[:cut].sum(), law[cut:])


EPSILONS = (0.0, 0.05, 0.2, 0.5, 1.0, 1.9, 2.5)


def is_above(event, pairs, tolerance: float = 1e-9) -> bool:
    """Whether the event's delta is at least that of each pair of laws, at all epsilons."""
    accountant = PLDAccountant().compose(event)
    return all(
        accountant.get_delta(epsilon) >= delta_of(pair[0], pair[1], epsilon) - tolerance
        for pair in pairs
        for epsilon in EPSILONS
    )


def both(*laws: np.ndarray) -> np.ndarray:
    joint = laws[0]
    for law in laws[1:]:
        joint = np.outer(joint, law).ravel()
    return joint


def bins_of_a_unit(rate: float) -> list[tuple[np.ndarray, np.ndarray]]:
    """Two bins that change by (3, 0), (2, 1) or (2, -1)."""
    reach = 60
    at = {center: geometric_law(rate, center, reach) for center in range(-1, 4)}
    return [(both(at[0], at[0]), both(at[a], at[b])) for a, b in ((3, 0), (2, 1), (2, -1))]


def test_leaf_counts_cost_what_their_noise_does() -> None:
    mechanism = dh.LeafCounts(epsilon="0.9", bins=2, sensitivity=3)
    event = mechanism.dp_event()
    assert event == dp_event.DiscreteLaplaceDpEvent(float(Fraction(3, 10)), 3) or math.isclose(
        event.noise_parameter, 0.3
    )
    assert is_above(event, bins_of_a_unit(0.3))
    assert not is_above(dp_event.DiscreteLaplaceDpEvent(0.3 * 0.7, 3), bins_of_a_unit(0.3))
    assert not is_above(dp_event.DiscreteLaplaceDpEvent(0.3, 2), bins_of_a_unit(0.3))
    accountant = PLDAccountant().compose(event)
    tight = delta_of(*bins_of_a_unit(0.3)[0], 0.5)
    assert accountant.get_delta(0.5) == pytest.approx(tight, rel=1e-3)


def test_pure_guarantees_are_covered_whatever_the_mechanism() -> None:
    """Of randomized response exactly, of geometric noise with other steps by more."""
    half = 1 / (1 + math.exp(-1))
    response = np.array([half, 1 - half]), np.array([1 - half, half])
    event = dh.AdaptiveTree(epsilon=1, bins=64).dp_event()
    assert is_above(event, [response, *bins_of_a_unit(1 / 3)])
    assert PLDAccountant().compose(event).get_delta(0.5) == pytest.approx(
        delta_of(*response, 0.5), rel=1e-3
    )
    assert not is_above(dp_event.LaplaceDpEvent(1.0), [response])


@pytest.mark.parametrize(("max_labels", "max_count"), [(1, 1), (2, 1), (1, 3)])
def test_thresholds_cost_noise_and_their_delta(max_labels, max_count) -> None:
    """A user with labels of their own, with labels that others have, and with both."""
    mechanism = dh.ThresholdHistogram(
        epsilon="0.8", delta="0.01", max_labels=max_labels, max_count=max_count
    )
    rate, threshold, reach = 0.8 / max_count, int(mechanism.threshold), 60
    absent = np.zeros(reach - threshold + 1)
    absent[0] = 1
    own = noisy(rate, max_count, reach, threshold)
    shared = [noisy(rate, center, reach, threshold) for center in (5, 5 + max_count)]
    pairs = [
        (
            both(*[absent] * own_labels, *[shared[0]] * rest),
            both(*[own] * own_labels, *[shared[1]] * rest),
        )
        for own_labels in range(max_labels + 1)
        for rest in [max_labels - own_labels]
    ]
    event = mechanism.dp_event()
    assert is_above(event, pairs)
    noise, failing = event.events
    assert not is_above(noise, pairs)  # without the delta
    less = dp_event.ComposedDpEvent([noise, dp_events.failing(mechanism.reached_delta * 7 / 10)])
    assert not is_above(less, pairs)
    assert isinstance(failing.event, dp_event.NonPrivateDpEvent)
    assert PLDAccountant().compose(event).get_epsilon(0.009) == math.inf
    with pytest.raises(dp_accounting.UnsupportedEventError):
        TheirAccountant().compose(event)


@pytest.mark.verify
def test_gaussian_thresholds_agree_with_our_exact_accounting() -> None:
    for m, releases in ((1, 1), (10, 1), (10, 30)):
        mechanism = dh.ThresholdHistogram(
            epsilon="0.1", delta="1e-9", max_labels=m, noise="gaussian"
        )
        theirs = epsilon_of(mechanism.dp_event(), 1e-5, count=releases)
        ours = float(mechanism.epsilon_at("1e-5", releases))
        assert ours * (1 - 1e-6) <= theirs + 1e-9  # ours is exact: less would be false
        assert theirs == pytest.approx(ours, rel=0.02, abs=10 * STEP)


def test_users_that_are_counted_too_cost_as_one_label_more() -> None:
    for noise in ("laplace", "gaussian"):
        kept: dict[str, Any] = {"epsilon": "0.2", "delta": "1e-6", "noise": noise}
        three = dh.ThresholdHistogram(max_labels=3, **kept).dp_event()
        counted = dh.ThresholdHistogram(max_labels=2, users_by_labels=9, **kept).dp_event()
        assert epsilon_of(counted, 1e-4) == pytest.approx(epsilon_of(three, 1e-4), abs=4 * STEP)


def test_gaussian_trees_cost_their_rho() -> None:
    for mechanism in (
        dh.LeafCounts(rho="0.1", bins=8, sensitivity=4),
        dh.HierarchicalTree(rho="0.1", bins=8, sensitivity=4),
    ):
        event = mechanism.dp_event()
        assert event.noise_multiplier <= 1 / math.sqrt(0.2)
        assert event.noise_multiplier == pytest.approx(1 / math.sqrt(0.2), rel=1e-15)
        assert epsilon_of(event, 1e-6) < float(mechanism.epsilon_at("1e-6"))


def test_trees_cost_their_levels() -> None:
    """Each record is in one count of each level; all levels together cost epsilon."""
    tree = dh.HierarchicalTree(epsilon=1, bins=8, branching=2, sensitivity=2)
    event = tree.dp_event()
    assert (event.count, event.event.sensitivity) == (tree.levels, 2)
    assert event.event.noise_parameter == pytest.approx(1 / (2 * tree.levels))
    assert epsilon_of(event, 0) == pytest.approx(1, abs=10 * STEP)


def test_numbers_are_rounded_to_the_side_that_costs_more() -> None:
    for part in range(1, 300, 7):
        rate = Fraction(part, 977)
        assert Fraction(dp_events.geometric(rate).noise_parameter) >= rate
        assert Fraction(dp_events.failing(rate).sampling_probability) >= rate
        multiplier = Fraction(dp_events.gaussian(rate).noise_multiplier)
        assert multiplier**2 * rate <= 1 < (multiplier * (1 + Fraction(1, 2**50))) ** 2 * rate


def test_releases_of_several_mechanisms_are_accounted_together() -> None:
    """Less than their epsilons add up to."""
    mechanisms = [dh.AdaptiveTree(epsilon="0.1", bins=64), dh.AdaptiveScan(epsilon="0.1")] * 20
    mechanisms.append(dh.ThresholdHistogram(epsilon="0.1", delta="1e-7", max_labels=1))
    event = dp_event.ComposedDpEvent([mechanism.dp_event() for mechanism in mechanisms])
    assert epsilon_of(event, 1e-5) < 3 < 41 * 0.1
