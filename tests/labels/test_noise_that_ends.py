"""Noise that ends: what is released, what it says of itself, and which noise is chosen."""

import functools
import math
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dphist as dh
from dphist.errors import ParameterError
from dphist.labels.threshold.bounded_noise import OptimalNoise
from dphist.labels.words import chance_in_order
from dphist.report import make_json, report_html, summary_text
from tests.support.mechanisms.cases import check_saved, page

ENDING: list[Any] = ["truncated", "optimal"]
FEW: dict[str, Any] = {"epsilon": "0.5", "delta": "0.01", "max_labels": 1}


def counts(number: int, size: int) -> dh.LabelCounts:
    names = [f"l{i}" for i in range(number)]
    return dh.LabelCounts.from_counts(names, [size] * number, max_labels=1, max_count=1)


# What is released.


@pytest.mark.parametrize("noise", ENDING)
@pytest.mark.parametrize("listed", [False, True])
def test_no_count_is_off_by_more(noise: Any, listed: bool) -> None:
    names = [f"l{i}" for i in range(20_000)]
    more: dict[str, Any] = {"labels": names} if listed else {}
    mechanism = dh.ThresholdHistogram(noise=noise, **FEW, **more)
    largest = mechanism.largest_error
    assert largest is not None
    release = mechanism.release(counts(20_000, 50))
    errors = np.abs(release.value.counts - 50)
    assert largest - 3 <= errors.max() <= largest  # at the end there is still probability
    assert len(release.value) == 20_000
    bounds: Any = mechanism.intervals(release, 1)
    assert bounds.lower.max() <= 50 <= bounds.upper.min()
    assert (bounds.upper - release.value.counts == largest).all()
    ninety_five: Any = mechanism.intervals(release)
    share = np.mean((ninety_five.lower <= 50) & (ninety_five.upper >= 50))
    assert 0.94 < share < 1


@pytest.mark.parametrize("noise", ENDING)
def test_what_is_expected_is_what_is_released(noise: Any) -> None:
    mechanism = dh.ThresholdHistogram(noise=noise, **FEW)
    for chance in (0.5, 0.95):
        count = int(mechanism.likely_count(chance))
        shown = len(mechanism.release(counts(20_000, count)).value) / 20_000
        assert shown == pytest.approx(mechanism.release_chance(count), abs=0.015)
        assert mechanism.release_chance(count) >= chance > mechanism.release_chance(count - 1)
    assert mechanism.release_chance(0) == 0
    assert mechanism.release_chance(2 * (mechanism.largest_error or 0) + 1) == 1
    names = [f"l{i}" for i in range(20_000)]
    listed = dh.ThresholdHistogram(noise=noise, labels=names, **FEW)
    in_order = listed.release(counts(20_000, 50)).value.counts - 50
    noisy = np.random.default_rng(1).permutation(in_order)
    assert np.sqrt(np.mean(noisy**2.0)) == pytest.approx(listed.spread, rel=0.05)
    sums = np.abs(noisy[:19_900].reshape(-1, 100).sum(axis=1))
    rms = listed.error_of_sum(names[:100])
    assert np.sqrt(np.mean(sums**2.0)) == pytest.approx(rms, rel=0.25)
    assert listed.noise_law().half_width(1) == listed.largest_error
    reach = listed.reach_of_sum(100, 0.95)
    assert np.mean(sums <= reach) > 0.93
    assert reach < 100 * (listed.largest_error or 0)
    pairs = noisy.reshape(-1, 2)
    for apart in (0, 2, 8):
        right = np.mean(pairs[:, 0] + apart > pairs[:, 1])
        assert right >= chance_in_order(listed, apart) - 0.02


@pytest.mark.parametrize("epsilon", ["0.3", "1", "2"])
@pytest.mark.parametrize("delta", ["0.01", "1e-3", "0.2"])
def test_numbers_of_optimal_noise_are_those_of_its_law(epsilon: str, delta: str) -> None:
    """Its ends differ by a record, and its mean is above 0 for some of these and below for others.

    Each interval is the smallest one, and of a sum one with at least its probability.
    """
    noise = OptimalNoise(Fraction(epsilon), Fraction(delta))
    law = noise.exact
    chances = {law.first + i: Fraction(w, 1 << law.bits) for i, w in enumerate(law.weights)}
    assert noise.largest == max(abs(value) for value in chances)
    for level in (0.3, 0.5, 0.9, 0.95, 0.999, 0.999999):
        width = noise.half_width(level)
        within = [
            sum(p for value, p in chances.items() if abs(value) <= q) for q in range(width + 1)
        ]
        assert all(each < level for each in within[:-1])
        assert within[-1] >= level
    mean = sum(value * p for value, p in chances.items())
    squares = sum(value**2 * p for value, p in chances.items())
    whole = np.array([float(p) for p in chances.values()])
    for terms in (2, 30, 1000):
        rms = math.sqrt(terms * (squares - mean**2) + (terms * mean) ** 2)
        assert noise.rms_of_sum(terms) == pytest.approx(rms)
    of_sum = functools.reduce(np.convolve, [whole] * 300)
    values = np.abs(np.arange(len(of_sum)) + 300 * law.first)
    for level in (0.5, 0.95):
        assert of_sum[values <= noise.reach_of_sum(300, level)].sum() >= level


def test_other_noise_has_no_end() -> None:
    mechanism = dh.ThresholdHistogram(noise="laplace", **FEW)
    assert mechanism.largest_error is mechanism.expected_error().largest_error is None
    with pytest.raises(ParameterError, match="level"):
        mechanism.intervals(mechanism.release(counts(1, 50)), 1)


# What it says.


@pytest.mark.parametrize("noise", ENDING)
def test_it_is_said_on_every_surface(noise: Any, tmp_path: Path) -> None:
    mechanism = dh.ThresholdHistogram(noise=noise, epsilon="0.02", delta="1e-6", max_labels=1)
    largest = mechanism.expected_error().largest_error
    assert largest == mechanism.largest_error
    release = check_saved(mechanism.release(counts(3, 5000)), tmp_path / "r.json")
    said = f"{largest:,}"
    for shown in (page(release), summary_text(release), release._repr_html_()):
        assert re.search(rf"Largest error\W.*?\b{said}\b", shown, re.DOTALL)
    assert said in mechanism.description
    assert report_html(release).count(f"never changes a count by more than {said}") >= 2
    assert make_json(release)["largest_error"] == largest


@pytest.mark.parametrize("noise", ENDING)
def test_a_ledger_charges_what_geometric_noise_costs(noise: Any, tmp_path: Path) -> None:
    left = []
    for each in ("laplace", noise):
        path = tmp_path / f"{each}.ledger"
        ledger = dh.Ledger.create(path, epsilon=2, delta="1e-4", unit="one user")
        mechanism = dh.ThresholdHistogram(epsilon="0.5", delta="1e-6", max_labels=1, noise=each)
        ledger.release(mechanism, counts(3, 500), by="me", key="k")
        left.append(ledger.releases_left(mechanism))
    assert left[0] == left[1] > 1


@pytest.mark.parametrize("noise", ENDING)
def test_the_event_of_another_accountant_fails_with_delta(noise: Any) -> None:
    """As that of geometric noise with a threshold, where labels are listed too."""
    asked: dict[str, Any] = {"epsilon": 1, "delta": "1e-6", "max_labels": 2}
    event = dh.ThresholdHistogram(**asked).dp_event()
    for labels in (None, ["a", "b", "c"]):
        assert dh.ThresholdHistogram(**asked, noise=noise, labels=labels).dp_event() == event


# Which is chosen.

POINTS = [  # epsilon, delta, max_labels, max_count: 95 % points with each noise
    ("0.1", "1e-6", 1, 1, {"optimal": 132, "truncated": 133, "laplace": 156, "gaussian": 234}),
    ("1", "1e-6", 1, 1, {"optimal": 16, "truncated": 17, "laplace": 17, "gaussian": 29}),
    ("0.1", "1e-6", 10, 1, {"gaussian": 787, "optimal": 1313, "truncated": 1314, "laplace": 1775}),
    ("1", "1e-6", 3, 5, {"truncated": 235, "gaussian": 248, "laplace": 254}),
]


@pytest.mark.parametrize(("epsilon", "delta", "labels", "count", "points"), POINTS)
def test_the_least_count_that_is_released_with_95_decides(
    epsilon: str, delta: str, labels: int, count: int, points: dict[str, int]
) -> None:
    asked: dict[str, Any] = {"max_labels": labels, "max_count": count}
    best = dh.calibrate(dh.ThresholdHistogram, epsilon=epsilon, delta=delta, noise="best", **asked)
    found = {
        noise: made.expected_error().appears_from for noise, made in best.compare_noises().items()
    }
    assert found == points
    assert list(found.values()) == sorted(points.values())
    assert best.noise == min(points, key=lambda noise: points[noise])
    assert best.to_approx_dp(delta).epsilon <= Fraction(epsilon)
    if best.noise == "optimal":
        assert best.delta == Fraction(delta)


@pytest.mark.parametrize("max_count", [1, 4])
@pytest.mark.parametrize("max_labels", [1, 3])
@pytest.mark.parametrize("epsilon", ["2", "0.3", "0.01"])
def test_truncated_noise_is_never_worse_than_geometric(
    epsilon: str, max_labels: int, max_count: int
) -> None:
    for delta in ("1e-3", "1e-9"):
        bounds: dict[str, Any] = {"max_labels": max_labels, "max_count": max_count}
        truncated, geometric = (
            dh.ThresholdHistogram(epsilon=epsilon, delta=delta, noise=noise, **bounds)
            for noise in ("truncated", "laplace")
        )
        first = int(geometric.threshold or 0)
        assert int(truncated.threshold or 0) <= first
        for n in range(first + 1, 2 * first, max(first // 50, 1)):
            assert truncated.release_chance(n) >= geometric.release_chance(n) - 1e-12


def test_listed_labels_get_noise_without_an_end_unless_it_is_named() -> None:
    total: dict[str, Any] = {"epsilon": 1, "delta": "1e-6", "labels": ["a", "b"]}
    best = dh.calibrate(dh.ThresholdHistogram, max_labels=1, noise="best", **total)
    assert (best.noise, best.delta) == ("laplace", None)
    assert next(n for n in best.compare_noises() if n not in ENDING) == "laplace"
    pure = {**total, "delta": 0}
    made = dh.calibrate(dh.ThresholdHistogram, max_labels=1, noise="best", **pure)
    assert (made.noise, made.epsilon_guarantee) == ("laplace", dh.PureDP(1, made.guarantee.unit))
    named = dh.calibrate(dh.ThresholdHistogram, max_labels=1, noise="truncated", **total)
    assert (named.largest_error, named.threshold) == (14, None)
    assert named.to_approx_dp("1e-6").epsilon <= 1


@pytest.mark.parametrize("max_labels", [1, 3])
@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("0.05", "1e-4"), ("4", "0.3")])
def test_the_count_that_calibration_looks_at_is_that_of_the_law(
    epsilon: str, delta: str, max_labels: int
) -> None:
    made = dh.ThresholdHistogram(
        epsilon=epsilon, delta=delta, max_labels=max_labels, noise="optimal"
    )
    noise: Any = made.noise_law()
    for chance in (0.1, 0.5, 0.95, 0.999):
        assert abs(noise.count_shown(chance) - made.likely_count(chance)) <= 1


def test_errors_come_before_data() -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"noise": "optimal", "max_count": 2}, "'optimal' is for max_count=1 alone"),
        ({"noise": "best"}, "calibrate"),
        ({"noise": "auto"}, "must be 'laplace', 'truncated', 'optimal' or 'gaussian'"),
        ({"noise": "truncated", "labels": ["a"], "delta": None}, "the noise ends"),
        ({"noise": "laplace", "labels": ["a"]}, "must be left out"),
        ({"noise": "optimal", "epsilon": "1e-6"}, "too small for optimal noise"),
    ]
    for parameters, said in wrong:
        with pytest.raises(ParameterError, match=said):
            dh.ThresholdHistogram(**{**FEW, **parameters})
    by_hand = dh.ThresholdHistogram(noise="truncated", **FEW)
    with pytest.raises(ParameterError, match="calibrated"):
        by_hand.compare_noises()


class Choosy(dh.ThresholdHistogram):
    """A mechanism that takes one of two noises, and neither suits."""

    @classmethod
    def calibration_forms(cls, delta: Any, **parameters: Any) -> list[dict[str, Any]]:
        if "noise" in parameters:
            return [parameters]
        return [
            {**parameters, "noise": noise, "max_count": count}
            for noise, count in (("optimal", 2), ("optimal", 3), ("gaussian", 0))
        ]


def test_where_no_form_serves_each_fault_is_told_once() -> None:
    with pytest.raises(ParameterError) as raised:
        dh.calibrate(Choosy, epsilon=1, delta="1e-6", max_labels=1)
    first, *more = str(raised.value).split("\n")
    assert first.startswith("noise 'optimal' is for max_count=1 alone; ")
    assert len(more) == 1
    assert more[0].startswith("with noise='gaussian': max_count must be ")
