"""The held-out share: against leaving out records one by one, and against the truth."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dphist import Profile, anonymize
from dphist.properties import guessing
from dphist.properties.guessing import (
    clopper_pearson,
    compute_held_out_interval,
    compute_held_out_share,
)


def one_by_one(counts: list[int], tries: int) -> Fraction:
    """Leave out each record, rank the rest with ties in all orders, look it up."""
    opened = Fraction(0)
    for label, count in enumerate(counts):
        rest = list(counts)
        rest[label] -= 1
        if rest[label] > 0 and tries > 0:
            above = sum(other > rest[label] for other in rest)
            ties = sum(other == rest[label] for other in rest)
            opened += count * Fraction(min(max(tries - above, 0), ties), ties)
    return opened / sum(counts)


@pytest.mark.verify
@given(st.lists(st.integers(1, 6), min_size=1, max_size=8), st.integers(0, 9))
def test_it_is_the_mean_over_records_left_out(counts: list[int], tries: int) -> None:
    found = compute_held_out_share(Profile.from_counts(counts), tries)
    assert found == pytest.approx(float(one_by_one(counts, tries)), abs=1e-12)
    assert found <= guessing(Profile.from_counts(counts), guesses=tries).value + 1e-12


def test_unbiased_for_a_dictionary_of_one_record_less() -> None:
    """Over all samples of 4 records from 3 labels: what 3 records' favorite opens of a fourth."""
    law = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)]
    mean, direct = 0.0, Fraction(0)
    for records in itertools.product(range(3), repeat=4):
        chance = Fraction(1)
        for label in records:
            chance *= law[label]
        counts = np.bincount(records)
        mean += float(chance) * compute_held_out_share(Profile.from_counts(counts[counts > 0]), 1)
        first = [records[:3].count(label) for label in range(3)]
        best = [label for label in range(3) if first[label] == max(first)]
        direct += chance * Fraction(int(records[3] in best), len(best))
    assert mean == pytest.approx(float(direct), rel=1e-12)
    assert mean < float(max(law))


def test_clopper_and_pearson_by_hand() -> None:
    """None of n: up to 1 - 0.025**(1/n); all of n: the mirror image."""
    assert clopper_pearson(0.0, 10) == pytest.approx((0, 1 - 0.025**0.1))
    assert clopper_pearson(1.0, 10) == pytest.approx((0.025**0.1, 1))
    low, high = clopper_pearson(0.3, 10)
    assert (low, high) == pytest.approx((0.0667, 0.6525), abs=1e-4)


@pytest.mark.verify
def test_the_variance_is_that_of_samples() -> None:
    """Of an even law the share varies more than a binomial one, and the interval knows."""
    random, law = np.random.default_rng(2), np.full(1000, 1e-3)
    found, widths = [], []
    for _ in range(80):
        profile = Profile.from_counts(random.multinomial(3000, law))
        found.append(compute_held_out_share(profile, 100))
        low, high = compute_held_out_interval(profile, 100)
        widths.append((high - low) / (2 * 1.96))
    assert np.mean(found) == pytest.approx(0.1, abs=0.004)
    assert np.std(found) > 1.3 * np.sqrt(0.1 * 0.9 / 3000)
    assert np.median(widths) > 0.9 * np.std(found)


@pytest.mark.long(every=5)
@pytest.mark.parametrize("epsilon", [None, 1, "0.1"])
@pytest.mark.parametrize("guesses", [10, 100])
@pytest.mark.parametrize("records", [300, 3000])
def test_intervals_hold_for_flat_laws(
    records: int, guesses: int, epsilon: int | str | None
) -> None:
    """Seeded. With peaks that noise made taken for real, 60 to 88 of 100 did at epsilon 0.1."""
    random, law, held, runs = np.random.default_rng(11), np.full(1000, 1e-3), 0, 20
    for _ in range(runs):
        profile = Profile.from_counts(random.multinomial(records, law))
        source = (
            profile if epsilon is None else anonymize(profile, epsilon=epsilon, source=random.bytes)
        )
        low, high = guessing(source, guesses=guesses, resamples=20).interval or (1, 0)
        held += low <= guesses / 1000 <= high
    assert held >= 0.9 * runs - 2  # 16 of 20: below it but once in 400, if 95 % hold
