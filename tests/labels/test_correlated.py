"""Correlated noise of known labels: what is chosen, what it costs, and what is refused."""

import itertools
import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dphist as dh
from dphist.data.label_counts import LabelCounts
from dphist.labels.threshold.correlation import (
    CorrelatedNoise,
    Correlation,
    best_correlation,
    root_above,
    worthwhile_correlation,
)
from dphist.noise.gaussian_epsilon import gaussian_epsilon
from dphist.noise.repeatable import repeatable_source

TOTAL: dict[str, Any] = {"epsilon": 1, "delta": "1e-6"}


def asked(labels: int, max_labels: int, **more: Any) -> dh.ThresholdHistogram:
    given: dict[str, Any] = {"noise": "gaussian", "correlated": "auto", **TOTAL, **more}
    return dh.calibrate(
        dh.ThresholdHistogram, labels=list(range(labels)), max_labels=max_labels, **given
    )


def by_hand(labels: int, max_labels: int, **more: Any) -> dh.ThresholdHistogram:
    given: dict[str, Any] = {"epsilon": "1/3", "noise": "gaussian", "correlated": True, **more}
    return dh.ThresholdHistogram(labels=list(range(labels)), max_labels=max_labels, **given)


def made_elsewhere(labels: int, only_adds: bool = True) -> LabelCounts:
    numbers = pa.array(range(labels), pa.int64())
    return LabelCounts.from_counts(
        numbers, [100 + i for i in range(labels)], max_labels=1, max_count=1, only_adds=only_adds
    )


# --- The noise


@pytest.mark.verify
@pytest.mark.parametrize(
    ("labels", "share", "deviation"),
    [
        *((4, 1, 0.75), (10, 1, 0.66), (20, 1, 0.61), (100, 1, 0.55)),
        *((4, 0.75, 0.87), (10, 0.75, 0.73), (20, 0.75, 0.71), (100, 0.75, 0.64)),
        *((4, 0.5, 0.97), (10, 0.5, 0.89), (20, 0.5, 0.85), (100, 0.5, 0.77)),
    ],
)
def test_deviations_of_the_paper_are_met(labels: int, share: float, deviation: float) -> None:
    """Of counts at the same cost, relative to independent noise."""
    most = math.ceil(share * labels)
    correlated, alone = asked(labels, most), asked(labels, most, correlated=False)
    assert float(correlated.noise_scale / alone.noise_scale) < deviation + 0.005
    for mechanism in (correlated, alone):
        epsilon = mechanism.epsilon_at("1e-6")
        assert epsilon is not None
        assert Fraction(999999, 10**6) < epsilon <= 1


@pytest.mark.parametrize("terms", [1, 3, 17])
@pytest.mark.parametrize("labels", [17, 30, 600])
def test_no_other_share_is_much_better(labels: int, terms: int) -> None:
    """Against shares that are eight times as fine."""
    for most in {1, 2, labels // 2, labels - 1, labels}:
        found = best_correlation(labels, most, terms).weight_of_sum(most, terms)
        beta = np.linspace(0, 1, 2000, endpoint=False)[:, None] / labels
        number = np.arange(1, most + 1)[None, :]
        worst = (number - beta * number**2).max(axis=1)
        ratio = (beta / (1 - beta * labels))[:, 0]
        least = (terms * (1 + ratio * terms) * worst).min()
        assert least * 0.999 <= float(found) <= least * 1.001


def test_the_numbers_of_a_correlation_fit_each_other() -> None:
    """Beta is c / (1 + c d), and the grid's steps are an odd number in a record."""
    for labels, step in itertools.product((1, 2, 5, 1000), (0, 1, 100, 256)):
        found = Correlation(labels, step)
        beta = found.ratio / (1 + found.ratio * labels)
        assert beta == Fraction(step, found.units)
        assert found.units % 2 == 1
        assert beta * labels < 1
        assert found.distance(3) == 3 - 9 * beta


@pytest.mark.parametrize(("labels", "step"), [(3, 40), (5, 256), (5, 1), (7, 130), (40, 200)])
def test_the_worst_user_is_found(labels: int, step: int) -> None:
    """Every number of labels, and users who add any part of the most to each of them."""
    found = Correlation(labels, step)
    beta = float(Fraction(step, found.units))
    random = np.random.default_rng(1)
    for most in range(1, labels + 1):
        worst = found.worst(most)
        assert worst == max(found.distance(number) for number in range(1, most + 1))
        added = random.uniform(0, 1, (2000, labels))
        added[:, most:] = 0
        added[: 2000 // 2] = np.round(added[: 2000 // 2])
        squared = (added**2).sum(axis=1) - beta * added.sum(axis=1) ** 2
        assert squared.max() <= float(worst) + 1e-12


def test_roots_are_rounded_up() -> None:
    for square in (Fraction(2), Fraction(1, 3), Fraction(10**30, 7), Fraction(1, 10**30)):
        root = root_above(square)
        assert square <= root**2 <= square * (1 + Fraction(1, 2**55))
    for labels, most in ((2, 2), (10, 8), (500, 400)):
        noise = by_hand(labels, most).noise_law()
        assert isinstance(noise, CorrelatedNoise)
        ratio, units = noise.correlation.ratio, noise.correlation.units
        sigma = noise.scale**2 / (1 + ratio)
        assert noise.own**2 >= units**2 * sigma
        assert noise.shared**2 >= units**2 * sigma * ratio


def test_noise_has_the_stated_covariance() -> None:
    mechanism = by_hand(3, 3, epsilon="1/7")
    noise = mechanism.noise_law()
    assert isinstance(noise, CorrelatedNoise)
    draw = repeatable_source()
    drawn = np.array([noise.add(np.zeros(3, np.int64), None, draw)[0] for _ in range(4000)])
    found = np.cov(drawn.T)
    error = 5 * float(noise.scale) ** 2 * math.sqrt(2 / 4000)
    expected = np.full((3, 3), noise.covariance)
    np.fill_diagonal(expected, float(noise.scale) ** 2)
    assert np.abs(found - expected).max() < error
    assert noise.covariance > 2 * error  # or noise of no covariance would pass
    for terms in (1, 2, 3):
        deviation = drawn[:, :terms].sum(axis=1).std()
        assert deviation == pytest.approx(mechanism.error_of_sum(range(terms)), rel=0.05)
    assert np.abs(drawn).mean(axis=0) == pytest.approx(5.585, rel=0.05)  # 7 sqrt(2 / pi)


@pytest.mark.verify
def test_intervals_cover_each_count() -> None:
    mechanism, counts = by_hand(4, 4, epsilon="1/7"), made_elsewhere(4)
    held = np.zeros(4)
    draw = repeatable_source()
    for _ in range(400):
        release = mechanism.release(counts, draw)
        found = mechanism.intervals(release, 0.9)
        assert found is not None
        truth = np.array([100 + int(label) for label in release.value.labels])
        within = (found.lower <= truth) & (truth <= found.upper)
        held[truth - 100] += within
    assert (held > 330).all()
    assert (held < 390).all()


@pytest.mark.parametrize("epsilon", ["1e-6", "1/50", 3, 400])
def test_half_widths_are_those_of_the_law(epsilon: Any) -> None:
    noise = by_hand(5, 5, epsilon=epsilon).noise_law()
    drawn = noise.add(np.zeros(5, np.int64), None, repeatable_source())[0]
    assert np.abs(drawn).max() <= noise.half_width(1 - 1e-9)
    for level in (0.5, 0.95):
        exact = 2 * noise.chance_above(noise.half_width(level) + 0.5)
        assert exact <= 1 - level + 1e-9
        beyond = 2 * noise.chance_above(noise.half_width(level) - 0.5 - 2 / 1281)
        assert beyond >= 1 - level or noise.half_width(level) == 0


# --- What is chosen


def test_auto_goes_by_public_numbers() -> None:
    assert asked(20, 20).correlated
    assert asked(20, 10).correlated
    assert not asked(20, 1).correlated  # one label of a user: nothing is gained
    assert not asked(1000, 2).correlated  # less than 2 % of the variance
    assert not asked(20, 20, correlated=False).correlated
    assert not asked(20, 20, noise="laplace").correlated
    assert asked(1000, 2, correlated=True).correlated
    assert asked(20, 500).correlated  # no more than there are
    by_default = dh.ThresholdHistogram(epsilon=1, max_labels=4, labels=[1, 2], noise="gaussian")
    assert not by_default.correlated


@pytest.mark.verify
def test_calibration_chooses_the_noise_too() -> None:
    """Laplace noise for users of few labels or a pure guarantee, else what varies least."""

    def chosen(labels: int, most: int, **more: Any) -> dh.ThresholdHistogram:
        total: dict[str, Any] = {**TOTAL, **more}
        total.setdefault("correlated", "auto")
        return dh.calibrate(
            dh.ThresholdHistogram, labels=list(range(labels)), max_labels=most, **total
        )

    assert (chosen(20, 1).noise, chosen(20, 1).correlated) == ("laplace", False)
    assert (chosen(20, 20).noise, chosen(20, 20).correlated) == ("gaussian", True)
    assert (chosen(3000, 30).noise, chosen(3000, 30).correlated) == ("gaussian", False)
    with pytest.raises(dh.ParameterError, match="epsilon"):
        chosen(20, 20, epsilon="1e-15")
    pure = chosen(20, 20, delta=0)
    assert (pure.noise, pure.epsilon_guarantee.epsilon) == ("laplace", 1)
    assert chosen(20, 1, correlated=True).correlated
    assert chosen(20, 20, correlated=False).noise == "laplace"  # the default, as before
    for made in (chosen(20, 20), chosen(20, 1)):
        assert made.target.guarantee.epsilon == 1
        others = [asked(20, made.max_labels, noise=noise) for noise in ("laplace", "gaussian")]
        assert made.spread == min(other.spread for other in others)


@pytest.mark.verify
def test_for_error_needs_less_epsilon() -> None:
    given: dict[str, Any] = {"delta": "1e-6", "labels": list(range(20)), "max_labels": 20}
    alone = dh.for_error(dh.ThresholdHistogram, half_width=30, **given)
    correlated = dh.for_error(dh.ThresholdHistogram, half_width=30, correlated="auto", **given)
    assert correlated.correlated
    assert correlated.expected_error().half_width <= 30
    assert correlated.target.guarantee.epsilon < Fraction(2, 3) * alone.target.guarantee.epsilon


@pytest.mark.parametrize("labels", [4, 10, 100])
def test_sums_of_all_labels_cost_nothing_if_asked_for(labels: int) -> None:
    """With every label changed, half the variance of single counts, and the same of the total."""
    alone = asked(labels, labels, correlated=False)
    single, total = asked(labels, labels), asked(labels, labels, sums_of=labels)
    everything = list(range(labels))
    assert total.error_of_sum(everything) <= alone.error_of_sum(everything) * 1.001
    assert total.noise_scale**2 < alone.noise_scale**2 * (1 + Fraction(1, labels)) / 2 * 1.01
    assert single.noise_scale < total.noise_scale
    if labels > 4:
        assert single.error_of_sum(everything) > 1.15 * alone.error_of_sum(everything)
        assert single.error_of_sum(everything[:2]) < alone.error_of_sum(everything[:2])


def test_errors_of_sums_of_independent_noise() -> None:
    gaussian = asked(8, 3, correlated=False)
    assert gaussian.error_of_sum([1, 2, 5, 7]) == pytest.approx(2 * float(gaussian.noise_scale))
    laplace = dh.ThresholdHistogram(epsilon="1/9", max_labels=3, labels=["a", "b"])
    a = math.exp(-1 / 9)
    assert laplace.error_of_sum(["a", "b"]) == pytest.approx(2 * math.sqrt(a) / (1 - a))


@pytest.mark.parametrize("labels", [["c"], [], ["a", "a"], [1], "a", 2])
def test_sums_of_other_labels_are_refused(labels: Any) -> None:
    mechanism = dh.ThresholdHistogram(epsilon=1, max_labels=3, labels=["a", "b"])
    with pytest.raises(dh.ParameterError, match="labels must"):
        mechanism.error_of_sum(labels)
    unlisted = dh.ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=3)
    with pytest.raises(dh.ParameterError, match="lists none"):
        unlisted.error_of_sum(["a"])


def test_truth_values_are_not_numbers() -> None:
    mechanism = dh.ThresholdHistogram(epsilon=1, max_labels=3, labels=[0, 1])
    with pytest.raises(dh.ParameterError, match="among"):
        mechanism.error_of_sum([True])


# --- What is refused


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"correlated": "always"}, "True, False or 'auto'"),
        ({"correlated": 1}, "True, False or 'auto'"),
        ({"correlated": None}, "True, False or 'auto'"),
        ({"noise": "laplace"}, "noise='gaussian'"),
        ({"labels": None, "delta": "1e-6"}, "needs labels"),
        ({"sums_of": 0}, "sums_of"),
        ({"sums_of": 6}, "sums_of must be at most 5"),
        ({"sums_of": 1.0}, "sums_of"),
        ({"epsilon": "1e-9", "labels": list(range(5000))}, "correlated must be False"),
    ],
)
def test_parameters_that_do_not_serve(changes: dict[str, Any], match: str) -> None:
    given: dict[str, Any] = {
        "epsilon": 1,
        "max_labels": 5,
        "labels": list(range(5)),
        "noise": "gaussian",
        "correlated": True,
    }
    with pytest.raises(dh.ParameterError, match=match):
        dh.ThresholdHistogram(**{**given, **changes})


def test_noise_too_fine_to_sample_stays_independent() -> None:
    many: dict[str, Any] = {"labels": list(range(5000)), "max_labels": 5000, "noise": "gaussian"}
    assert not dh.ThresholdHistogram(epsilon="1e-9", correlated="auto", **many).correlated
    assert dh.ThresholdHistogram(epsilon="1e-3", correlated="auto", **many).correlated


def test_counts_that_a_user_may_lower_are_refused() -> None:
    """Nothing says of a plain table that users only add; a table that dphist counts does."""
    mechanism = by_hand(3, 2)
    frame = pa.table({"label": pa.array([0, 1, 2], pa.int64()), "count": [3, 5, 7]})
    for table in (frame, made_elsewhere(3, only_adds=False)):
        with pytest.raises(dh.BoundsError, match="only_adds=True"):
            mechanism.release(table)
        assert len(by_hand(3, 2, correlated=False).release(table).value) == 3
    assert len(mechanism.release(made_elsewhere(3)).value) == 3
    rows = pd.DataFrame({"who": [1, 1, 2], "term": [0, 2, 2]})
    for user in ("who", None):
        bounds: dict[str, Any] = {} if user is None else {"user": user, "max_labels": 2}
        counts = LabelCounts.from_table(rows, label="term", **bounds)
        assert counts.only_adds
        assert sorted(mechanism.release(counts).value.labels) == [0, 1, 2]


@pytest.mark.parametrize("said", [1, None, "yes"])
def test_an_assertion_is_true_or_false(said: Any) -> None:
    with pytest.raises(dh.ParameterError, match="only_adds"):
        made_elsewhere(3, only_adds=said)


# --- What it costs, everywhere


def test_the_guarantee_is_that_of_the_worst_user() -> None:
    mechanism = by_hand(10, 8, max_count=3)
    found = mechanism.correlation
    assert found is not None
    weight = (1 + found.ratio) * max(found.distance(m) for m in range(1, 9))
    assert weight <= mechanism.weight <= weight * (1 + Fraction(1, 10**11))
    assert mechanism.guarantee.rho == mechanism.weight * mechanism.epsilon**2 / 2
    assert mechanism.epsilon_guarantee is None
    assert mechanism.noise_scale == 9
    mu_squared = mechanism.weight * mechanism.epsilon**2
    assert mechanism.epsilon_at("1e-6") == gaussian_epsilon(mu_squared, Fraction(1, 10**6))
    assert mechanism.epsilon_at("1e-6", 7) == gaussian_epsilon(7 * mu_squared, Fraction(1, 10**6))
    counted = by_hand(10, 8, max_count=3, users_by_labels=100)
    assert counted.guarantee.rho == (mechanism.weight + 1) * mechanism.epsilon**2 / 2


def test_the_event_and_the_ledger_are_charged_for_it(tmp_path: Any) -> None:
    mechanism = asked(10, 10)
    event = mechanism.dp_event()
    assert 1 / event.noise_multiplier**2 == pytest.approx(float(2 * mechanism.guarantee.rho))
    ledger = dh.Ledger.create(tmp_path / "a.ledger", epsilon=1, delta="1e-6", unit="one user")
    rows = pa.table({"who": [1, 1, 2], "term": [0, 2, 2]})
    data = LabelCounts.from_table(rows, label="term", user="who", max_labels=10)
    release = ledger.release(mechanism, data, by="ana", key="terms")
    assert ledger.spent.rho == mechanism.guarantee.rho
    with pytest.raises(dh.DphistError):
        ledger.release(mechanism, data, by="ana", key="again")
    assert release.mechanism.correlated


def test_what_is_saved_loads_with_the_same_noise() -> None:
    release = asked(10, 8, sums_of=4).release(made_elsewhere(10))
    loaded = dh.Release.from_json(release.to_json())
    assert loaded == release
    assert loaded.mechanism.correlation == release.mechanism.correlation
    assert loaded.mechanism.sums_of == 4
    again = dh.mechanism_from_json(dh.mechanism_to_json(release.mechanism))
    assert again == release.mechanism
    content = json.loads(dh.mechanism_to_json(release.mechanism))
    assert content["mechanism"]["parameters"]["correlated"] is True
    content["mechanism"]["parameters"]["correlated"] = False
    with pytest.raises(dh.ReleaseFileError):  # the noise would cost more than is stated
        dh.mechanism_from_json(json.dumps(content))


def test_files_before_correlated_noise_are_of_independent_noise() -> None:
    alone = by_hand(10, 8, correlated=False)
    content = json.loads(dh.mechanism_to_json(alone))
    for name in ("correlated", "sums_of"):
        del content["mechanism"]["parameters"][name]
    assert dh.mechanism_from_json(json.dumps(content)) == alone


def test_saved_releases_rely_on_these_shares() -> None:
    """A file states d, k and `sums_of`, and not the share: another one would change its meaning."""
    assert [best_correlation(*numbers).step for numbers in KNOWN] == list(KNOWN.values())
    assert worthwhile_correlation(10, 1) is None


KNOWN: dict[tuple[int, int, int], int] = {
    (2, 2, 1): 171,
    (4, 4, 1): 171,
    (10, 8, 1): 197,
    (10, 10, 10): 134,
    (100, 50, 1): 230,
    (1000, 1000, 1): 248,
    (1000, 30, 7): 134,
    (1, 1, 1): 0,
}
