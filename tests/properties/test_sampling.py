"""Spread and bias of sums over labels: closed forms, and what repeated sampling gives."""

import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import poisson

import dphist as dh
from dphist.properties.entropy import _jackknife_error, entropy, weights
from dphist.properties.sampling import Population, likeliest_population, sampling

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

some_counts = st.lists(st.integers(1, 3000), min_size=1, max_size=30)


@pytest.mark.verify
@given(some_counts)
def test_a_total_strays_nowhere(counts: list[int]) -> None:
    profile = dh.Profile.from_counts(counts)
    n = profile.total

    def share(r: IntArray) -> FloatArray:
        return np.asarray(r / n)

    found = sampling(profile, share, profile.labels, lambda population: 1.0)
    assert found.spread == pytest.approx(0, abs=1e-6)
    assert found.bias == pytest.approx(0, abs=1e-9)


@pytest.mark.verify
@given(some_counts, st.integers(0, 50))
def test_labels_seen_in_closed_form(counts: list[int], more: int) -> None:
    profile = dh.Profile.from_counts(counts)
    n = profile.total
    population = likeliest_population(profile, profile.labels + more)
    missed = np.exp(-n * population.probabilities)
    variance = population.labels @ (missed * (1 - missed))
    variance -= (population.labels @ (n * population.probabilities * missed)) ** 2 / n

    def seen(r: IntArray) -> FloatArray:
        return np.asarray(r > 0, np.float64)

    found = sampling(profile, seen, profile.labels + more, lambda p: float(np.sum(p.labels)))
    assert found.bias == pytest.approx(-(population.labels @ missed), abs=1e-9)
    assert found.spread == pytest.approx(math.sqrt(max(variance, 0)), abs=1e-5)


@given(some_counts)
def test_collisions_have_their_bias(counts: list[int]) -> None:
    profile = dh.Profile.from_counts([*counts, 1])
    n = profile.total

    def pairs(r: IntArray) -> FloatArray:
        return np.asarray(r * (r - 1.0) / (n * (n - 1)))

    def squares(population: Population) -> float:
        return float(population.labels @ population.probabilities**2)

    found = sampling(profile, pairs, profile.labels, squares)
    # Of Poisson counts, E r(r - 1) = (n p)**2.
    truth = squares(likeliest_population(profile, profile.labels))
    assert found.bias == pytest.approx(truth / (n - 1), rel=1e-6)


def test_labels_that_the_likeliest_population_has_not_weigh_too() -> None:
    profile = dh.Profile.from_counts([500, 500])

    def one_each(r: IntArray) -> FloatArray:
        return np.ones(len(r))

    found = sampling(profile, one_each, 10.0, lambda population: 0.0)
    assert found.bias == pytest.approx(10)


@pytest.mark.parametrize("mean", [0.3, 40.0, 5000.0, 3e5, 3e7])
def test_spaced_counts_are_as_good_as_all(mean: float) -> None:
    profile = dh.Profile.from_counts([round(mean) or 1] * 100)
    population = likeliest_population(profile, 100 if mean > 1 else 1e9)
    expected = profile.total * population.probabilities[0]
    r = np.arange(
        max(0, int(expected - 9 * expected**0.5 - 30)), int(expected + 9 * expected**0.5 + 30)
    )
    chances = poisson.pmf(r, expected)

    def root(at: IntArray) -> FloatArray:
        return np.asarray(np.sqrt(at))

    found = sampling(profile, root, float(population.labels[0]), lambda population: 0.0)
    assert found.bias == pytest.approx(population.labels[0] * float(chances @ np.sqrt(r)), rel=1e-7)


@pytest.mark.parametrize(("labels", "n"), [(1000, 1000), (1000, 10_000), (200, 1000)])
@pytest.mark.quick(every=3)
def test_the_spread_is_that_of_samples(labels: int, n: int) -> None:
    random = np.random.default_rng(8)
    probabilities = random.gamma(2, size=labels)
    probabilities /= probabilities.sum()
    profiles = [dh.Profile.from_counts(random.multinomial(n, probabilities)) for _ in range(300)]
    found = [entropy(p, labels=labels, base=math.e) for p in profiles]
    true = float(np.std([f.value for f in found]))
    assert np.mean([f.standard_error or 0.0 for f in found]) == pytest.approx(true, rel=0.2)
    # The jackknife is no substitute, and this test would tell.
    jackknife = np.mean([_jackknife_error(p, "wu-yang", labels) for p in profiles])
    assert jackknife > 1.2 * true


def test_the_bias_of_the_plug_in_is_told() -> None:
    random = np.random.default_rng(3)
    uniform = np.full(100, 0.01)
    profiles = [dh.Profile.from_counts(random.multinomial(500, uniform)) for _ in range(100)]
    biases, off = [], []
    for profile in profiles:
        n = profile.total

        def weigh(r: IntArray, n: int = n) -> FloatArray:
            return weights(r, n, method="plug-in")

        biases.append(sampling(profile, weigh, 100, Population.entropy).bias)
        off.append(entropy(profile, method="plug-in", base=math.e).value - math.log(100))
    assert np.mean(biases) == pytest.approx(np.mean(off), rel=0.1)


def test_of_nothing_and_of_very_much() -> None:
    def weigh(r: IntArray) -> FloatArray:
        return np.asarray(r > 0, np.float64)

    nothing = sampling(dh.Profile.from_counts([]), weigh, 0.0, Population.entropy)
    assert (nothing.spread, nothing.bias) == (0, 0)
    much = entropy(dh.Profile.from_counts([10**17] * 4 + [1]), labels=9)
    assert much.standard_error == pytest.approx(0, abs=1e-6)
    assert much.interval == pytest.approx((2, 2), abs=1e-5)
