"""Distance to uniformity: closed forms, unbiased polynomials, and less error than the plug-in."""

from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

import dphist as dh
from dphist.errors import ParameterError
from dphist.properties.estimate import Estimate
from dphist.properties.uniformity import (
    METHODS,
    compute_krawtchouk,
    distance_to_uniformity,
    weights,
)


@given(st.lists(st.integers(0, 50), max_size=20), st.integers(20, 40))
def test_the_plug_in_is_half_the_l1_distance(counts: list[int], labels: int) -> None:
    profile = dh.Profile.from_counts(counts)
    found = distance_to_uniformity(profile, labels=labels, method="plug-in").value
    if sum(counts) == 0:
        assert found == 0
        return
    shares = np.append(np.array(counts) / sum(counts), np.zeros(labels - len(counts)))
    assert found == pytest.approx(np.abs(shares - 1 / labels).sum() / 2)
    again = dh.Profile.from_counts(counts[::-1])
    assert found == distance_to_uniformity(again, labels=labels, method="plug-in").value


@pytest.mark.parametrize("method", METHODS)
def test_closed_forms(method: str) -> None:
    def distance(counts: list[int], labels: int) -> float:
        return distance_to_uniformity(
            dh.Profile.from_counts(counts), labels=labels, method=method
        ).value

    assert distance([], 7) == 0
    assert distance([5], 1) == 0
    assert distance([10**6], 4) == pytest.approx(0.75)
    assert distance([10**6] * 4, 4) == pytest.approx(0, abs=1e-3)
    assert distance([3 * 10**6, 10**6], 2) == pytest.approx(0.25)


@pytest.mark.verify
@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=30), st.integers(1, 10**7))
def test_the_distance_is_within_its_range(counts: list[int], labels: int) -> None:
    profile = dh.Profile.from_counts(counts)
    for method in METHODS:
        found = distance_to_uniformity(profile, labels=labels, method=method).value
        assert 0 <= found <= 1 - 1 / labels


@pytest.mark.parametrize(("n", "center"), [(9, Fraction(1, 2)), (30, Fraction(1, 5))])
def test_krawtchouk_polynomials_are_unbiased(n: int, center: Fraction) -> None:
    half = Fraction(1, 8)
    values = compute_krawtchouk(np.arange(n + 1), n, float(center), float(half), 7)
    for p in (center, Fraction(1, 10), Fraction(2, 3)):
        chances = np.array([float(comb(n, r) * p**r * (1 - p) ** (n - r)) for r in range(n + 1)])
        for m in range(8):
            wanted = float(((p - center) / half) ** m)
            size = float(np.abs(values[m]) @ chances)
            assert values[m] @ chances == pytest.approx(wanted, abs=1e-12 * (1 + size))


@pytest.mark.parametrize(
    ("n", "center", "half", "counts"),
    [
        (10**8, 40 / 10**8, 40 / 10**8, [0, 1, 10, 30]),
        (10**8, 1e-4, 1e-5, [9_600, 10_000, 10_300]),
    ],
)
def test_krawtchouk_polynomials_to_ten_digits(
    n: int, center: float, half: float, counts: list[int]
) -> None:
    """Against the generating function's coefficients, in fractions."""
    values = compute_krawtchouk(np.array(counts), n, center, half, 17)
    c, h = Fraction(center), Fraction(half)
    for column, r in enumerate(counts):
        exact = []
        for m in range(18):
            total = sum(
                comb(r, i) * (1 - c) ** i * comb(n - r, m - i) * (-c) ** (m - i)
                for i in range(min(m, r) + 1)
            )
            exact.append(float(total / comb(n, m) / h**m))
        size = np.max(np.abs(exact))
        assert values[:, column].tolist() == pytest.approx(exact, rel=1e-7, abs=1e-10 * size)


def expectation(p: float, n: int, labels: int, method: str) -> float:
    """Expected weight of one label of probability p; the binomial's, by logarithms."""
    r = np.arange(n + 1)
    return float(binom.pmf(r, n, p) @ weights(r, n, labels=labels, method=method))


@pytest.mark.parametrize(("n", "labels"), [(1000, 1000), (3000, 1000), (3000, 20)])
def test_the_polynomial_has_less_bias_at_uniform(n: int, labels: int) -> None:
    plug_in = labels * expectation(1 / labels, n, labels, "plug-in")
    polynomial = labels * expectation(1 / labels, n, labels, "polynomial")
    assert abs(polynomial) < 0.3 * plug_in
    for p in (0.2 / labels, 3 / labels, 20 / labels):
        found = labels * expectation(p, n, labels, "polynomial")
        assert found == pytest.approx(abs(labels * p - 1) / 2, abs=0.5 * plug_in)


def test_error_at_uniform_is_less_than_a_quarter_of_the_plug_ins() -> None:
    random = np.random.default_rng(4)
    found: dict[str, list[Estimate]] = {method: [] for method in METHODS}
    for _ in range(30):
        profile = dh.Profile.from_counts(random.multinomial(3000, np.full(1000, 1e-3)))
        for method in METHODS:
            estimate = distance_to_uniformity(profile, labels=1000, method=method)
            found[method].append(estimate)
    rmse = {m: np.sqrt(np.mean([e.value**2 for e in found[m]])) for m in METHODS}
    assert rmse["polynomial"] < 0.25 * rmse["plug-in"]
    spread = np.std([estimate.value for estimate in found["polynomial"]])
    error = found["polynomial"][0].standard_error
    assert error is not None
    assert spread < error < 3 * spread


def test_more_labels_than_were_given() -> None:
    profile = dh.Profile.from_counts([5, 5, 5])
    estimate = distance_to_uniformity(profile, labels=2)
    assert 0 <= estimate.value <= 0.5
    assert "more labels" in " ".join(estimate.notes)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"labels": 0}, "labels"),
        ({"labels": 2.5}, "labels"),
        ({"labels": None}, "labels"),
        ({"labels": 3, "method": "best"}, "method"),
    ],
)
def test_what_is_refused(arguments: dict[str, Any], named: str) -> None:
    with pytest.raises(ParameterError, match=named):
        distance_to_uniformity(dh.Profile.from_counts([3]), **arguments)


@pytest.mark.parametrize("method", ["plug-in", "polynomial"])
def test_labels_beyond_those_given_add_nothing(method: str) -> None:
    """A release has a few labels too many, and unseen ones there are none then."""
    profile = dh.Profile.from_counts([40] * 10)
    found = distance_to_uniformity(profile, labels=8, method=method).value
    each = weights(np.array([40]), 400, labels=8, method=method)[0]
    assert found == pytest.approx(10 * each)
    assert found > 0
