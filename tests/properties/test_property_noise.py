"""Noise on single estimates: its scale, and what one record can change in small data."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from benchmarks.properties import noise_errors, property_noise
from benchmarks.properties.populations import LAWS, draw
from benchmarks.properties.property_noise import (
    Property,
    noisy_total,
    one_record_more_or_less,
    one_record_replaced,
    over_observed_counts,
    private_estimate,
    private_estimate_of_public_size,
)
from scipy.stats import kstest, laplace

from dphist import Profile, properties
from tests.support.goodness import LEVEL

MOST = 12  # records of the neighbours looked at

ASKED = {
    f"{asked.name}, k={k}": asked
    for k in (6, 1000)
    for asked in (
        property_noise.entropy_bits(k),
        property_noise.support_size(Fraction(1, k)),
        property_noise.support_coverage(1),
        property_noise.support_coverage(2),
        property_noise.distance_to_uniformity(k),
    )
}
every_property = pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED.keys())

Counts = tuple[int, ...]
Claim = Callable[[Property, Profile, int], float]


def partitions(total: int, largest: int | None = None) -> Iterator[Counts]:
    """All ways for `total` records to be shared among labels, counts descending."""
    if total == 0:
        yield ()
    for first in range(min(total, largest or total), 0, -1):
        for rest in partitions(total - first, first):
            yield (first, *rest)


@cache
def all_of(total: int) -> tuple[Counts, ...]:
    return tuple(partitions(total))


def with_one_more(counts: Counts) -> set[Counts]:
    padded = (*counts, 0)
    grown = [(*padded[:i], padded[i] + 1, *padded[i + 1 :]) for i in range(len(padded))]
    return {tuple(sorted((c for c in each if c), reverse=True)) for each in grown}


def with_one_less(counts: Counts) -> set[Counts]:
    shrunk = [(*counts[:i], counts[i] - 1, *counts[i + 1 :]) for i in range(len(counts))]
    return {tuple(sorted((c for c in each if c), reverse=True)) for each in shrunk}


def changes_by_one_more(asked: Property, n: int) -> Iterator[tuple[Counts, float]]:
    """Every data set of fewer than MOST records, and what each record more changes, n held."""
    values = {
        counts: asked.estimate(Profile.from_counts(counts), n)
        for total in range(MOST + 1)
        for counts in all_of(total)
    }
    for counts, value in values.items():
        if sum(counts) < MOST:
            for more in with_one_more(counts):
                # Either may be the data: each claim is checked for both.
                yield counts, abs(values[more] - value)
                yield more, abs(values[more] - value)


def changes_by_replacement(asked: Property, n: int) -> Iterator[tuple[Counts, float]]:
    values = {counts: asked.estimate(Profile.from_counts(counts), n) for counts in all_of(n)}
    for counts, value in values.items():
        for fewer in with_one_less(counts):
            for other in with_one_more(fewer):
                yield counts, abs(values[other] - value)


def broken(claim: Claim, asked: Property, n: int, changes: Iterator[tuple[Counts, float]]) -> int:
    """How many neighbours are farther apart than claimed."""
    return sum(
        change > claim(asked, Profile.from_counts(counts), n) + 1e-9
        for counts, change in changes
        if counts
    )


@pytest.mark.long(every=2)
@every_property
@pytest.mark.parametrize("n", [1, 2, 5, MOST, 1000])
@pytest.mark.quick(every=8)
def test_one_record_more_changes_no_more_than_claimed(asked: Property, n: int) -> None:
    claimed = one_record_more_or_less(asked, n)
    largest = max(change for _, change in changes_by_one_more(asked, n))
    assert largest <= claimed * (1 + 1e-9)
    if n <= MOST:  # then these data have all the counts that matter
        assert largest == pytest.approx(claimed, rel=1e-9)


@every_property
@pytest.mark.parametrize("n", [1, 2, 3, 7, MOST])
@pytest.mark.quick(every=2)
def test_one_record_replaced_changes_no_more_than_claimed(asked: Property, n: int) -> None:
    largest = max(change for _, change in changes_by_replacement(asked, n))
    assert largest == pytest.approx(one_record_replaced(asked, n), rel=1e-9, abs=1e-12)


def observed(asked: Property, profile: Profile, n: int) -> float:
    """A planted bug: the largest step from the counts that the data have."""
    steps = asked.weights(profile.counts + 1, n) - asked.weights(profile.counts, n)
    return float(np.max(np.abs(steps)))


def twice_observed(asked: Property, profile: Profile, n: int) -> float:
    return 2 * observed(asked, profile, n)


@pytest.mark.long(every=4)
@pytest.mark.verify
@every_property
def test_sensitivity_over_observed_counts_is_found_out(asked: Property) -> None:
    """It is less than what neighbours differ by, in either relation; the true ones never are."""
    n = MOST
    more, replaced = one_record_more_or_less(asked, n), one_record_replaced(asked, n)
    assert broken(lambda *_: more, asked, n, changes_by_one_more(asked, n)) == 0
    assert broken(lambda *_: replaced, asked, n, changes_by_replacement(asked, n)) == 0
    few_steps = over_observed_counts(asked, Profile.from_counts((7, 5)))
    assert few_steps == observed(asked, Profile.from_counts((7, 5)), n)
    assert broken(observed, asked, n, changes_by_one_more(asked, n)) > 0
    if asked.name == "new labels, extra=1":
        # Good and Toulmin's weights are 1 and -1 in turn: steps from all counts are alike, but
        # for those to n + 1, which count as n.
        assert few_steps == more
    else:
        assert few_steps < more
        assert broken(twice_observed, asked, n, changes_by_replacement(asked, n)) > 0


@every_property
def test_replacement_is_one_less_and_one_more(asked: Property) -> None:
    n = 1000
    assert one_record_replaced(asked, n) <= 2 * one_record_more_or_less(asked, n) * (1 + 1e-12)
    assert one_record_more_or_less(asked, n) == pytest.approx(np.max(np.abs(asked.steps(n))))


def test_estimates_are_those_of_the_library() -> None:
    ask = {
        "entropy, bits, k=1000": lambda p: properties.entropy(p, labels=1000).value,
        "support size, labels, k=1000": lambda p: properties.support_size(p, p_min="1/1000").value,
        "new labels, extra=1, k=1000": lambda p: (
            properties.support_coverage(p, extra=1, method="good-toulmin").value
        ),
        "new labels, extra=2, k=1000": lambda p: (
            properties.support_coverage(p, extra=2, method="smoothed").value
        ),
        "distance, k=1000": lambda p: properties.distance_to_uniformity(p, labels=1000).value,
    }
    for law in LAWS:
        for sample in draw(law, 1000, 3):
            for name, function in ask.items():
                mine = ASKED[name].estimate(sample.profile, 1000)
                cut = ASKED[name].possible(mine, 1000)
                assert cut == pytest.approx(function(sample.profile), rel=1e-9)


# Noise. Seeded; a right scale would fail a test for one seed in a million (LEVEL).

PROFILE = draw(LAWS[1], 1000, 1)[0].profile
RUNS = 6_000
EPSILON = 80.0  # so little noise that nothing is cut to what is possible


def drawn(release: Callable[[np.random.Generator], float]) -> np.ndarray:
    random = np.random.default_rng(7)
    return np.array([release(random) for _ in range(RUNS)])


def assert_scale(noise: np.ndarray, scale: float) -> None:
    assert kstest(noise, laplace(scale=scale).cdf).pvalue > LEVEL
    for factor in (0.7, 1.3):
        assert kstest(noise, laplace(scale=factor * scale).cdf).pvalue < LEVEL


@pytest.mark.verify
@pytest.mark.parametrize("name", ["entropy, bits, k=1000", "distance, k=1000"])
def test_scale_of_the_noise(name: str) -> None:
    asked, n = ASKED[name], 970
    noisy = drawn(lambda random: private_estimate(asked, PROFILE, n, EPSILON, random))
    noise = noisy - asked.estimate(PROFILE, n)
    assert_scale(noise, one_record_more_or_less(asked, n) / EPSILON)


def test_scale_of_the_noise_where_the_size_is_public() -> None:
    asked = ASKED["new labels, extra=2, k=1000"]
    noisy = drawn(lambda random: private_estimate_of_public_size(asked, PROFILE, EPSILON, random))
    noise = noisy - asked.estimate(PROFILE, PROFILE.total)
    assert_scale(noise, one_record_replaced(asked, PROFILE.total) / EPSILON)


def test_scale_of_the_noise_of_the_total() -> None:
    total = 10**6  # whole numbers, but the scale is 100 of them
    noise = drawn(lambda random: noisy_total(total, 0.01, random)) - total
    assert_scale(noise, 100)
    assert min(drawn(lambda random: noisy_total(1, 0.01, random))) == 1


def test_epsilon_is_spent_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Alone: n and the estimate cost epsilon. Split: n and all five estimates together do."""
    spent: list[float] = []

    def laplace_of(sensitivity: float, epsilon: float, random: object) -> float:
        spent.append(epsilon)
        return 0.0

    monkeypatch.setattr(property_noise, "laplace", laplace_of)
    sample = draw(LAWS[0], 1000, 1)[0]
    random = np.random.default_rng(0)
    questions = noise_errors._questions(sample, random)
    noise_errors._squares(sample, questions, "0.1", random)
    public = [spent.pop(0) for _ in questions]
    assert public == pytest.approx([0.1] * 5)
    for share in noise_errors.SHARES:
        total, *each = [spent.pop(0) for _ in range(1 + 3 * len(questions))]
        assert total == pytest.approx(0.1 * share)
        alone = [each[i] + each[i + 1] for i in range(0, len(each), 3)]
        assert alone == pytest.approx([0.1] * 5)
        assert total + sum(each[2::3]) == pytest.approx(0.1)
    assert spent == []
