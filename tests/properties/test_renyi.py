"""Rényi entropy: closed forms, unbiased power sums, and orders in order."""

import itertools
import math
from collections import Counter
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dphist as dh
from dphist.errors import ParameterError
from dphist.parameters import Exact
from dphist.properties.entropy import entropy
from dphist.properties.estimate import Estimate
from dphist.properties.renyi import log_power_weights, renyi_entropy

ORDERS: list[Any] = [0, "1e-350", 0.5, 0.999999, 1, "4/3", 2, 3.5, 7, 200, math.inf]
some_counts = st.lists(st.integers(1, 60), min_size=1, max_size=20)


@pytest.mark.parametrize("order", ORDERS)
def test_closed_forms_of_the_plug_in(order: Any) -> None:
    def plug_in(counts: list[int]) -> float:
        return renyi_entropy(dh.Profile.from_counts(counts), order=order, method="plug-in").value

    assert plug_in([]) == 0
    assert plug_in([9]) == 0
    assert plug_in([5] * 8) == pytest.approx(3, rel=1e-12)


@pytest.mark.parametrize("order", [2, 3, 10])
def test_closed_forms_of_the_unbiased_estimate(order: int) -> None:
    assert renyi_entropy(dh.Profile.from_counts([]), order=order).value == 0
    assert renyi_entropy(dh.Profile.from_counts([12]), order=order).value == 0
    # As many pairs, triples, ... agree as for a population of 8 labels, were n large.
    assert renyi_entropy(dh.Profile.from_counts([10**9] * 8), order=order).value == pytest.approx(3)
    assert renyi_entropy(dh.Profile.from_counts([1] * 50), order=order).value == math.inf


@pytest.mark.verify
@given(some_counts)
def test_the_plug_in_falls_with_the_order(counts: list[int]) -> None:
    profile = dh.Profile.from_counts(counts)
    found = [renyi_entropy(profile, order=order, method="plug-in").value for order in ORDERS]
    assert all(a >= b - 1e-9 for a, b in itertools.pairwise(found))
    assert found[0] == pytest.approx(math.log2(len(counts)))
    assert found[-1] == pytest.approx(-math.log2(max(counts) / sum(counts)))
    # Order 1 is where orders near 1 lead.
    assert found[4] == pytest.approx(entropy(profile, method="plug-in").value)
    assert found[3] == pytest.approx(found[4], abs=1e-4)


@pytest.mark.parametrize("order", ["1e-3", 0.5, 0.9999999, 1.0000001, 1.3, 2, 33, 999.5])
def test_the_plug_in_to_the_last_digits(order: Any) -> None:
    counts = [1, 1, 1, 2, 5, 40, 1000]
    with mpmath.workdps(60):
        exact = mpmath.mpf(str(order))
        power_sum = sum((mpmath.mpf(r) / sum(counts)) ** exact for r in counts)
        wanted = float(mpmath.log(power_sum, 2) / (1 - exact))
    found = renyi_entropy(dh.Profile.from_counts(counts), order=order, method="plug-in").value
    assert found == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("order", [2, 3, 4])
def test_power_sums_are_unbiased(order: int) -> None:
    """Over all samples of 5 records from a population of 3 labels, exactly enough."""
    population = (Fraction(1, 2), Fraction(1, 3), Fraction(1, 6))
    expected = 0.0
    for records in itertools.product(range(3), repeat=5):
        chance = math.prod(population[i] for i in records)
        counts = np.array(list(Counter(records).values()))
        expected += float(chance) * float(np.exp(log_power_weights(counts, 5, order)).sum())
    assert expected == pytest.approx(float(sum(p**order for p in population)), rel=1e-13)


def test_power_sums_of_high_orders_and_many_records() -> None:
    counts, n = np.array([3, 1000, 10**12]), 10**12 + 1003
    found = log_power_weights(counts, n, 300)
    assert found[0] == -math.inf
    with mpmath.workdps(40):
        for got, r in zip(found[1:].tolist(), (1000, 10**12), strict=True):
            wanted = mpmath.log(mpmath.ff(r, 300)) - mpmath.log(mpmath.ff(n, 300))
            assert got == pytest.approx(float(wanted), rel=1e-12)


def test_defaults_and_bases() -> None:
    profile = dh.Profile.from_counts([30, 10, 5, 1, 1])
    assert renyi_entropy(profile, order=1).value == entropy(profile).value
    assert (
        renyi_entropy(profile, order=2).value
        == renyi_entropy(profile, order=2, method="unbiased").value
    )
    half = renyi_entropy(profile, order=0.5, method="plug-in").value
    assert renyi_entropy(profile, order=0.5).value == half
    nats = renyi_entropy(profile, order=2, base=math.e).value
    assert renyi_entropy(profile, order=2, base=4).value == pytest.approx(nats / math.log(4))
    assert renyi_entropy(profile, order=1) == entropy(profile)


@pytest.mark.verify
@pytest.mark.parametrize("order", [0.5, 2, 4])
def test_standard_errors_are_those_of_sampling(order: float) -> None:
    random = np.random.default_rng(3)
    probabilities = 1 / np.arange(1, 51) / np.sum(1 / np.arange(1, 51))
    found: list[Estimate] = []
    for _ in range(300):
        counts = random.multinomial(2000, probabilities)
        found.append(renyi_entropy(dh.Profile.from_counts(counts), order=order))
    values = [estimate.value for estimate in found]
    errors = [estimate.standard_error or 0.0 for estimate in found]
    # 300 runs tell a standard deviation to 4 %; five of these.
    assert np.mean(errors) == pytest.approx(np.std(values), rel=0.2)
    true = np.log2(np.sum(probabilities**order)) / (1 - order)
    off = 4 * np.std(values) / 300**0.5 + (0.002 if order >= 2 else 0.02)
    assert np.mean(values) == pytest.approx(true, abs=off)
    assert found[0].method == ("unbiased" if order >= 2 else "plug-in")
    assert found[0].unit == "bits"


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"order": -1}, "order"),
        ({"order": math.nan}, "order"),
        ({"order": 1001}, "order"),
        ({"order": -math.inf}, "order"),
        ({"order": 2, "base": 1}, "base"),
        ({"order": 2, "method": "best"}, "method"),
        ({"order": 1.5, "method": "unbiased"}, "method"),
        ({"order": math.inf, "method": "unbiased"}, "method"),
    ],
)
def test_what_is_refused(arguments: dict[str, Any], named: str) -> None:
    with pytest.raises(ParameterError, match=named):
        renyi_entropy(dh.Profile.from_counts([3]), **arguments)


ERROR = "the standard error is that of sampling, without bias"


@pytest.mark.parametrize(
    ("order", "method", "notes"),
    [
        (0, None, ("labels not seen are left out; no standard error",)),
        (math.inf, None, ("depends on the largest count alone; no standard error",)),
        ("1/2", None, ("labels not seen are left out", ERROR)),
        (2, None, (ERROR,)),
        (2, "plug-in", (ERROR,)),
        (40, None, ("no label has as many records as the order: no upper bound",)),
    ],
)
def test_notes_claim_no_more_than_there_is(
    order: Exact, method: str | None, notes: tuple[str, ...]
) -> None:
    found = renyi_entropy(dh.Profile.from_counts([30, 10, 5, 1, 1]), order=order, method=method)
    assert found.notes == notes
    assert (ERROR in notes) == (found.standard_error is not None)


def test_order_one_is_what_shannon_says() -> None:
    profile = dh.Profile.from_counts([30, 10, 5, 1, 1])
    for order in (1, Fraction(10**20 + 1, 10**20)):  # the latter is 1 as a float
        found = renyi_entropy(profile, order=order, method="plug-in")
        assert found == entropy(profile, method="plug-in")
        assert found.standard_error is not None


@pytest.mark.parametrize("order", [0, "1/2", 1, 2, 7, math.inf])
def test_no_minus_zero_and_no_error_of_nothing(order: Exact) -> None:
    for counts in ([], [9]):
        found = renyi_entropy(dh.Profile.from_counts(counts), order=order)
        assert math.copysign(1, found.value) == 1
        if not counts:
            assert found.value == 0
            if order != 1:
                assert (found.standard_error, ERROR in found.notes) == (None, False)


@pytest.mark.long(every=2)
@pytest.mark.parametrize("order", [2, 3])
@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0, 1.5])
@pytest.mark.quick("[0.0-2]")
def test_intervals_hold_the_truth(order: int, exponent: float) -> None:
    law = np.arange(1.0, 1001) ** -exponent
    law /= law.sum()
    true = math.log2((law**order).sum()) / (1 - order)
    random, held, given = np.random.default_rng(2), 0, 0
    for _ in range(100):
        profile = dh.Profile.from_counts(random.multinomial(3000, law))
        interval = renyi_entropy(profile, order=order).interval
        if interval is not None:
            given += 1
            held += interval[0] <= true <= interval[1]
    assert given >= 60
    assert held >= 0.88 * given
    few = dh.Profile.from_counts([2, 1, 1, 1])
    assert renyi_entropy(few, order=2).interval is None
    assert renyi_entropy(few, order=2, method="plug-in").interval is None
