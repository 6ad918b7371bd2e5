"""G-modeling: populations it can be exact for, sums by hand, and samples it is better from."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dphist import Profile
from dphist.properties import support_coverage
from dphist.properties.g_modeling import (
    LARGEST_COUNT,
    fit_rates,
    new_labels,
    new_labels_of_sample,
)


def geometric(labels: int, mean: float) -> Profile:
    """The expected profile of exponential rates: a geometric distribution of counts."""
    share = mean / (1 + mean)
    many = [round(labels * (1 - share) * share**r) for r in range(1, 200)]
    return Profile.from_prevalences(list(range(1, 200)), many)


@pytest.mark.parametrize("extra", [0.5, 1.0, 2.0, 5.0])
@pytest.mark.parametrize("mean", [0.7, 3.0])
def test_geometric_counts_are_continued_exactly(mean: float, extra: float) -> None:
    """Of k labels k/(1 + mean) are unseen, and k/(1 + (1 + t) mean) remain so."""
    labels = 10**6
    expected = labels / (1 + mean) - labels / (1 + (1 + extra) * mean)
    found, error = new_labels(geometric(labels, mean), extra)
    assert found == pytest.approx(expected, rel=0.005)
    assert abs(found - expected) < 2 * error


def test_a_power_law_is_continued() -> None:
    """Rates with density x**-1.7: the number of labels seen grows like n**0.7."""
    counts = np.arange(1, 3000)
    logs = [math.lgamma(r - 0.7) - math.lgamma(r + 1) for r in counts.tolist()]
    profile = Profile.from_prevalences(counts, np.round(1e6 * np.exp(logs)).astype(np.int64))
    # All counts to infinity: the sum of Gamma(r - a)/r! from 1 is Gamma(1 - a)/a.
    seen = 1e6 * math.gamma(0.3) / 0.7
    for extra in (0.5, 1.0, 2.0):
        expected = seen * ((1 + extra) ** 0.7 - 1)
        assert new_labels(profile, extra)[0] == pytest.approx(expected, rel=0.01)


def test_expected_counts_are_those_of_the_profile() -> None:
    profile = geometric(50_000, 2.0)
    found = fit_rates(profile)
    assert found.weights.sum() == pytest.approx(1)
    assert found.labels.shape == (len(found.weights), len(found.rates))
    for count in (1, 2, 3, 10):
        chances = np.exp(count * np.log(found.rates) - found.rates - math.lgamma(count + 1))
        mean, error = found.estimate_sum(chances)
        held = int(profile.prevalences[profile.counts == count][0])
        assert mean == pytest.approx(held, abs=4 * math.sqrt(held))
        assert 0 < error < 2 * math.sqrt(held)


@pytest.mark.verify
def test_new_labels_rise_ever_slower_and_begin_like_the_singletons() -> None:
    profile = Profile.from_prevalences([1, 2, 3, 7, 500], [300, 90, 40, 12, 3])
    found = [new_labels(profile, 0.25 * step)[0] for step in range(40)]
    steps = np.diff(found)
    assert found[0] == 0
    assert np.all(steps > 0)
    assert np.all(np.diff(steps) < 0)
    assert new_labels(profile, 1e-6)[0] == pytest.approx(300e-6, rel=0.05)


def test_frequent_labels_do_not_matter() -> None:
    some = Profile.from_prevalences([1, 2, 5], [30, 9, 4])
    more = Profile.from_prevalences([1, 2, 5, LARGEST_COUNT + 1, 10**9], [30, 9, 4, 70, 1])
    assert new_labels(some, 1) == new_labels(more, 1)
    assert new_labels(Profile.from_counts([LARGEST_COUNT + 1]), 2) == (0.0, 0.0)
    assert new_labels(Profile.from_counts([]), 2) == (0.0, 0.0)
    assert new_labels_of_sample(more, 2.0) == pytest.approx(new_labels(some, 2.0)[0])


@pytest.mark.parametrize("size", [1, 10**3, 10**9, 2**50])
@pytest.mark.quick(every=4)
def test_profiles_of_any_size_have_an_estimate(size: int) -> None:
    for counts in ([1], [2], [1, 2], [3, 39], list(range(1, 60))):
        profile = Profile.from_prevalences(counts, [size] * len(counts))
        value, error = new_labels(profile, 1.0)
        assert 0 <= value <= 2 * size * (1 in counts) + size
        assert 0 < error < math.inf
    # In proportion: a thousand times the labels have a thousand times the new ones, roughly.
    small, large = (
        Profile.from_prevalences([1, 2, 3], [9 * k, 3 * k, k]) for k in (size, 10 * size)
    )
    if size >= 1000:
        assert new_labels(large, 1)[0] == pytest.approx(10 * new_labels(small, 1)[0], rel=0.02)


def test_the_interval_is_that_of_a_poisson_number_of_uncertain_mean() -> None:
    """By simulation: a gamma mean, a Poisson number; and nothing new is not certain."""
    profile = Profile.from_prevalences([1, 2, 3, 4], [40, 22, 13, 5])
    found = support_coverage(profile, extra=1)
    assert (found.method, found.unit) == ("g-modeling", "labels")
    assert found.standard_error is not None
    assert found.interval is not None
    random, scale = np.random.default_rng(5), found.standard_error**2 / found.value
    drawn = random.poisson(random.gamma(found.value / scale, scale, 200_000))
    np.testing.assert_allclose(found.interval, np.quantile(drawn, [0.025, 0.975]), atol=1)
    certain = support_coverage(Profile.from_counts([1000]), extra=2)
    assert certain.interval == pytest.approx((0, 2 * 1000 * (1 - 0.025**0.001)))


def drawn_pairs(law: np.ndarray, n: int, extra: Fraction, runs: int) -> list[tuple[Profile, int]]:
    random, further = np.random.default_rng(7), round(n * extra)
    first, second = (random.multinomial(m, law, runs) for m in (n, further))
    new = np.sum((first == 0) & (second > 0), axis=1)
    return [(Profile.from_counts(c), int(m)) for c, m in zip(first, new, strict=True)]


@pytest.mark.long(every=4)
@pytest.mark.verify
@pytest.mark.parametrize("extra", ["1/2", 1, 2])
@pytest.mark.parametrize("name", ["exponential", "Zipf 1.1", "Zipf 1", "Dirichlet"])
def test_it_errs_by_less_than_what_is_in_use(name: str, extra: str | int) -> None:
    """Seeded. At half as many further records all err by what those bring by chance."""
    random = np.random.default_rng(3)
    law, n = {
        "exponential": (random.exponential(size=3000), 5000),
        "Zipf 1.1": (np.arange(1, 10**5 + 1.0) ** -1.1, 10_000),
        "Zipf 1": (1 / np.arange(1, 10**4 + 1.0), 5000),
        "Dirichlet": (random.gamma(0.5, size=1000), 1000),
    }[name]
    t = Fraction(extra)
    pairs = drawn_pairs(law / law.sum(), n, t, 60)
    plain = "good-toulmin" if t <= 1 else "smoothed"
    ours, smoothed, chao = (
        math.sqrt(
            np.mean([(support_coverage(p, extra=t, method=m).value - y) ** 2 for p, y in pairs])
        )
        for m in ("g-modeling", plain, "chao-jost")
    )
    limit = 1.05 if t < 1 else 1.0 if t == 1 else 0.95
    assert ours < limit * min(smoothed, chao)


@pytest.mark.long(every=3)
@pytest.mark.parametrize(("records", "extra"), [(100, "1/2"), (100, 2), (1000, "1/2"), (1000, 2)])
def test_intervals_hold_for_flat_and_steep_laws(records: int, extra: str | int) -> None:
    laws = [np.ones(1000), 1 / np.arange(1, 1001.0), np.arange(1, 10**5 + 1.0) ** -1.5]
    for law in laws:
        pairs = drawn_pairs(law / law.sum(), records, Fraction(extra), 100)
        ends = [support_coverage(p, extra=extra).interval or (1, 0) for p, _ in pairs]
        held = sum(low <= y <= high for (low, high), (_, y) in zip(ends, pairs, strict=True))
        half = sum(
            abs(2 * y - low - high) <= (high - low) / 2
            for (low, high), (_, y) in zip(ends, pairs, strict=True)
        )
        assert held >= 90
        assert half < 90  # intervals of half the width would not do
