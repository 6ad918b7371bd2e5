"""Measurements of OpenDP that release with our mechanisms, queried by a Context."""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import opendp.prelude as dp
import pandas as pd
import pytest
from opendp.mod import GLOBAL_FEATURES, OpenDPException

import dphist as dh
from dphist.errors import ParameterError, UnsupportedError
from dphist.lab.bridges.opendp import measurement

ROWS = pd.DataFrame(
    {
        "x": np.arange(600) % 3,
        "who": np.arange(600) % 200,
        "word": [f"w{n % 3}" for n in range(600)],
    }
)
BINS = dh.bin_counts(ROWS, column="x", edges=range(4))
LABELS = dh.LabelCounts.from_table(ROWS, label="word", user="who", max_labels=2)
PROFILE = dh.Profile.from_table(ROWS, label="word")
CASES = [
    (dh.LeafCounts(epsilon="0.1", bins=3), BINS, "MaxDivergence"),
    (dh.AdaptiveTree(rho="0.1", bins=3), BINS, "ZeroConcentratedDivergence"),
    (dh.AdaptiveScan(epsilon="0.1"), PROFILE, "MaxDivergence"),
    (dh.PartitionSampler(epsilon="0.1", delta="1e-9"), PROFILE, "Approximate(MaxDivergence)"),
    (
        dh.ThresholdHistogram(epsilon="0.1", delta="1e-6", max_labels=2),
        LABELS,
        "Approximate(ZeroConcentratedDivergence)",
    ),
]
each = pytest.mark.parametrize(("mechanism", "data", "measure"), CASES)


@pytest.fixture(autouse=True)
def features() -> Iterator[None]:
    """OpenDP's features, as they were afterwards."""
    held = set(GLOBAL_FEATURES)
    dp.enable_features("contrib", "honest-but-curious")
    yield
    GLOBAL_FEATURES.clear()
    GLOBAL_FEATURES.update(held)


def numbers_of(cost) -> list[Fraction]:
    return [Fraction(part) for part in (cost if isinstance(cost, tuple) else (cost,))]


@each
def test_a_measurement_releases(mechanism, data, measure) -> None:
    made = measurement(mechanism)
    assert str(made.output_measure) == measure
    release = made(data)
    assert isinstance(release, dh.Release)
    assert release.mechanism == mechanism
    assert dh.Release.from_json(release.to_json()) == release


@each
def test_costs_are_those_of_the_guarantee_rounded_up(mechanism, data, measure) -> None:
    made = measurement(mechanism)
    for members in (1, 2, 5):
        guarantee = mechanism.guarantee.for_group(members)
        exact = [
            getattr(guarantee, "rho", None) or guarantee.epsilon,
            getattr(guarantee, "delta", 0),
        ]
        for found, wanted in zip(numbers_of(made.map(members)), exact, strict=False):
            assert wanted <= found <= wanted * (1 + Fraction(1, 2**50))
    assert set(numbers_of(made.map(0))) == {0}
    for wrong in (-1, 0.5, "one"):
        with pytest.raises(ParameterError, match="the distance between inputs must be"):
            made.map(wrong)


def test_a_group_too_large_for_any_guarantee_is_refused_in_our_words() -> None:
    mechanism = dh.ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=2)
    for query in (measurement(mechanism), measurement(mechanism, delta="1e-5")):
        with pytest.raises(ParameterError, match=r"group of 1000 .* use a smaller group"):
            query.map(1000)
        assert query.check(1, query.map(1))
        assert not query.check(1000, (1e9, 0.999))
    context = dp.Context.compositor(
        data=LABELS,
        privacy_unit=(query.input_metric, 1000),
        privacy_loss=dp.loss_of(epsilon=1e6, delta=0.99),
        domain=query.input_domain,
        split_evenly_over=1,
    )
    with pytest.raises(OpenDPException, match="insufficient budget"):
        context(query)


@pytest.mark.usefixtures("repeatable")
def test_a_context_accounts_for_releases() -> None:
    query = measurement(dh.LeafCounts(epsilon="0.5", bins=3))
    context = dp.Context.compositor(
        data=BINS,
        privacy_unit=(query.input_metric, 1),
        privacy_loss=dp.loss_of(epsilon=1.0),
        domain=query.input_domain,
        split_evenly_over=2,
    )
    first, second = context(query), context(measurement(dh.AdaptiveTree(epsilon="0.5", bins=3)))
    assert (first.total + second.total) / 2 == pytest.approx(600, abs=200)
    assert context.current_privacy_loss() == [0.5, 0.5]
    with pytest.raises(OpenDPException, match="out of queries"):
        context(query)


def test_a_context_refuses_what_costs_more_than_is_left() -> None:
    query = measurement(dh.LeafCounts(epsilon="0.51", bins=3))
    context = dp.Context.compositor(
        data=BINS,
        privacy_unit=(query.input_metric, 1),
        privacy_loss=dp.loss_of(epsilon=1.0),
        domain=query.input_domain,
        split_evenly_over=2,
    )
    with pytest.raises(OpenDPException, match="insufficient budget"):
        context(query)


def test_a_threshold_at_a_delta() -> None:
    mechanism = dh.ThresholdHistogram(epsilon="0.1", delta="1e-6", max_labels=2)
    query = measurement(mechanism, delta="1e-5")
    assert str(query.output_measure) == "Approximate(MaxDivergence)"
    epsilon, delta = query.map(1)
    assert Fraction(epsilon) >= mechanism.epsilon_at("1e-5")
    context = dp.Context.compositor(
        data=LABELS,
        privacy_unit=(query.input_metric, 1),
        privacy_loss=dp.loss_of(epsilon=epsilon, delta=delta),
        domain=query.input_domain,
        split_evenly_over=1,
    )
    assert set(context(query).value.labels) <= {"w0", "w1", "w2"}
    with pytest.raises(ParameterError, match="delta"):
        measurement(mechanism, delta="1e-7")


def test_units_are_told_apart() -> None:
    """A context for records takes no mechanism whose unit is something else."""
    of_records, of_five = (
        measurement(dh.LeafCounts(epsilon="0.5", bins=3, sensitivity=m)) for m in (1, 5)
    )
    assert of_records.input_metric != of_five.input_metric
    context = dp.Context.compositor(
        data=BINS,
        privacy_unit=(of_records.input_metric, 1),
        privacy_loss=dp.loss_of(epsilon=1.0),
        domain=of_records.input_domain,
        split_evenly_over=2,
    )
    with pytest.raises(OpenDPException):
        context(of_five)


@pytest.mark.verify
def test_data_without_bounds_or_with_larger_ones_are_refused() -> None:
    query = measurement(dh.LeafCounts(epsilon="0.5", bins=3))
    wide = dh.bin_counts(ROWS, column="x", edges=range(4), user="who", max_records=3)
    for data, said in ((wide, "sensitivity"), ([1, 2, 3], "which have bounds")):
        with pytest.raises(dh.DphistError, match=said) as caught:
            query(data)
        assert "200" not in str(caught.value)
        with pytest.raises(dh.DphistError, match=said):
            query.invoke(data)
    assert isinstance(query(BINS), dh.Release)


def test_features_are_asked_for() -> None:
    GLOBAL_FEATURES.clear()
    with pytest.raises(UnsupportedError, match="honest-but-curious"):
        measurement(dh.LeafCounts(epsilon=1, bins=3))
    with pytest.raises(ParameterError, match="mechanism"):
        measurement("LeafCounts")  # type: ignore[arg-type]


def test_data_of_rows_are_none_of_users() -> None:
    rows = pd.DataFrame({"label": ["a"] * 400, "user": range(400)})
    made = measurement(dh.ThresholdHistogram(epsilon=1, delta="1e-6", max_labels=1))
    users = dh.LabelCounts.from_table(rows, label="label", user="user", max_labels=1)
    assert str(made(users).guarantee.unit) == "one user"
    with pytest.raises(ParameterError, match="data must be bounded for one user"):
        made(dh.LabelCounts.from_table(rows, label="label", max_labels=1))
    of_five = measurement(dh.LeafCounts(epsilon=1, bins=3, sensitivity=5))
    five = dh.bin_counts(
        ROWS, column="x", edges=range(4), count="who", max_records=5
    )  # rows of five records
    assert str(of_five(five).guarantee.unit) == "one row"
