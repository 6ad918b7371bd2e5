"""Support coverage: exact means, mpmath, Corbet's butterflies, intervals, errors."""

import itertools
import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy.special import gammaln

from dphist import Profile, anonymize
from dphist.errors import ParameterError
from dphist.properties.estimate import plain_number
from dphist.properties.support_coverage import (
    binomial_cut,
    farthest,
    poisson_cut,
    smoothing_bias,
    support_coverage,
    weights,
)

SUMS = ["good-toulmin", "smoothed", "smoothed-poisson"]
METHODS = ["g-modeling", "chao-jost", *SUMS]
# Fisher, Corbet and Williams 1943: species caught once, twice, ... 24 times.
CORBET = [118, 74, 44, 24, 29, 22, 20, 19, 20, 15, 12, 14, 6, 12, 6, 9, 9, 6, 10, 10, 11, 5, 3, 3]


def butterflies() -> Profile:
    return Profile.from_prevalences(list(range(1, 25)), CORBET)


@pytest.mark.parametrize(
    ("extra", "species"), [("0.1", 11.10), ("0.2", 20.96), ("0.3", 29.79), ("0.4", 37.79), (1, 75)]
)
def test_butterflies(extra: str, species: float) -> None:
    """As published: 75 in two more years (Good and Toulmin 1956)."""
    found = support_coverage(butterflies(), extra=extra, method="good-toulmin")
    assert found.value == pytest.approx(species, abs=0.005)
    assert found.method == "good-toulmin"
    t = float(Fraction(extra))
    closed_form = math.sqrt(sum(t ** (2 * r) * phi for r, phi in enumerate(CORBET, 1)))
    assert found.standard_error == pytest.approx(closed_form, rel=1e-13)


def test_butterflies_for_more_than_two_years() -> None:
    for method in ("g-modeling", "chao-jost", "smoothed"):
        single, double = (
            support_coverage(butterflies(), extra=t, method=method).value for t in (1, 2)
        )
        assert single < double < 2 * single  # fewer and fewer are new
    unbiased = support_coverage(butterflies(), extra=1, method="good-toulmin").value
    for method in ("g-modeling", "smoothed"):
        found = support_coverage(butterflies(), extra=1, method=method).value
        assert found == pytest.approx(unbiased, rel=0.1)


def multinomial_mean(law: list[Fraction], n: int, extra: Fraction, method: str) -> float:
    """Mean of the estimator over all sequences of n records."""
    mean = 0.0
    for sequence in itertools.product(range(len(law)), repeat=n):
        counts = np.bincount(sequence, minlength=len(law))
        chance = math.prod(law[label] for label in sequence)
        found = weights(counts[counts > 0], n, extra, method)
        mean += float(chance) * float(found.sum())
    return mean


@pytest.mark.parametrize("extra", [Fraction(1, 4), Fraction(1, 2), Fraction(1)])
def test_mean_by_enumeration(extra: Fraction) -> None:
    """(1 - p)^n - (1 - (1 + t) p)^n a label: exact, and nearly the labels that will be new."""
    law, n = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)], 6
    expected = sum((1 - p) ** n - (1 - (1 + extra) * p) ** n for p in law)
    found = multinomial_mean(law, n, extra, "good-toulmin")
    assert found == pytest.approx(float(expected), rel=1e-13)


@pytest.mark.parametrize("extra", [Fraction(1, 10), Fraction(1)])
@pytest.mark.parametrize("mean", [0.01, 0.5, 2.0, 8.0])
def test_unbiased_for_poisson_counts(extra: Fraction, mean: float) -> None:
    counts = np.arange(1, 120)
    chances = [
        float(mpmath.exp(-mean) * mpmath.mpf(mean) ** int(r) / mpmath.factorial(int(r)))
        for r in counts
    ]
    found = float(np.dot(chances, weights(counts, 1000, extra, "good-toulmin")))
    assert found == pytest.approx(math.exp(-mean) * -math.expm1(-mean * float(extra)), rel=1e-12)


@pytest.mark.parametrize("extra", [Fraction(1, 3), Fraction(1), Fraction(3, 2), 2, 5, 10])
@pytest.mark.parametrize("total", [30_000, 10**9])
@pytest.mark.parametrize("method", ["smoothed", "smoothed-poisson"])
def test_weights_agree_with_mpmath(extra: Fraction, total: int, method: str) -> None:
    counts, t = np.arange(1, 40), float(extra)
    with mpmath.workdps(60):
        exact = []
        for r in map(int, counts):
            if method == "smoothed":
                tries, chance = binomial_cut(total, t)
                kept = mpmath.fsum(
                    mpmath.binomial(tries, i)
                    * mpmath.mpf(chance) ** i
                    * (1 - mpmath.mpf(chance)) ** (tries - i)
                    for i in range(r, tries + 1)
                )
            else:
                kept = mpmath.gammainc(r, 0, poisson_cut(total, t), regularized=True)
            exact.append(float(-((-mpmath.mpf(t)) ** r) * kept))
    found = weights(counts, total, Fraction(extra), method)
    np.testing.assert_allclose(found, exact, rtol=1e-10, atol=1e-290)


def test_cuts_are_those_of_the_paper() -> None:
    """Orlitsky, Suresh and Wu 2016, for t = 2 and n = 10,668."""
    assert binomial_cut(10_668, 2) == (5, 0.5)  # log_3(42,672)/2 = 4.85
    assert poisson_cut(10_668, 2) == pytest.approx(math.log(10_668 * 9) / 4)


@pytest.mark.parametrize("method", SUMS)
def test_smoothing_only_ever_damps(method: str) -> None:
    counts = np.arange(1, 60)
    for extra in (Fraction(1, 5), Fraction(1)):
        plain = weights(counts, 5000, extra, "good-toulmin")
        damped = weights(counts, 5000, extra, method)
        assert np.all(np.abs(damped) <= np.abs(plain) * (1 + 1e-12))
        assert np.all(damped * plain >= 0)
        assert damped[0] == pytest.approx(float(extra), rel=0.05)


@pytest.mark.parametrize("extra", ["0.5", 1, 3])
def test_value_and_error_are_the_linear_forms(extra: str) -> None:
    profile = Profile.from_prevalences([1, 2, 5, 2**40], [900, 300, 40, 3])
    method = "smoothed" if extra == 3 else "good-toulmin"
    found = support_coverage(profile, extra=extra, method=method)
    factors = weights(profile.counts, profile.total, Fraction(extra), found.method)
    assert found.value == pytest.approx(factors @ profile.prevalences, rel=1e-12)
    assert found.standard_error == pytest.approx(math.sqrt(factors**2 @ profile.prevalences))


def test_small_profiles() -> None:
    empty = support_coverage(Profile.from_counts([]), extra=5)
    assert (empty.value, empty.standard_error, empty.interval) == (0, None, None)
    plain: dict[str, Any] = {"method": "good-toulmin"}
    assert support_coverage(Profile.from_counts([1]), extra=1, **plain).value == 1
    # -1 labels cannot be.
    assert support_coverage(Profile.from_counts([2]), extra=1, **plain).value == 0
    assert support_coverage(Profile.from_counts([1] * 7), extra="0.5", **plain).value == 3.5
    for method in METHODS:
        assert support_coverage(Profile.from_counts([10**6]), extra="0.5", method=method).value == 0


@pytest.mark.parametrize(
    ("extra", "method"),
    [(1, "good-toulmin"), (1, "smoothed"), (2, "smoothed")],
)
@pytest.mark.quick(every=3)
def test_intervals_hold_what_is_seen(extra: int, method: str) -> None:
    """Nine in ten of what is called 95 %; intervals of half the width do not (the power)."""
    rng = np.random.default_rng(81)
    law = 1 / np.arange(1, 3001)
    law /= law.sum()
    held = narrow = 0
    for _ in range(200):
        first, second = rng.multinomial(2000, law), rng.multinomial(2000 * extra, law)
        new = np.sum((first == 0) & (second > 0))
        profile = Profile.from_counts(first)
        found = support_coverage(profile, extra=extra, method=method)
        assert found.interval is not None
        low, high = found.interval
        held += low <= new <= high
        narrow += abs(new - found.value) <= (high - low) / 4
    assert held >= 180
    assert narrow < 175


@pytest.mark.parametrize(
    ("method", "labels", "records", "extra"),
    [
        ("smoothed", 1000, 2000, 4),
        ("smoothed", 20_000, 20_000, 6),
        ("smoothed", 100_000, 200_000, 4),
        ("smoothed-poisson", 2000, 2000, 4),
        ("smoothed-poisson", 20_000, 20_000, 2),
    ],
)
def test_bias_of_smoothing_is_found_and_in_the_interval(
    method: str, labels: int, records: int, extra: int
) -> None:
    """Of labels drawn evenly the bias is a sum over Poisson's law, from -620 to 1200 here."""
    more, mean, counts = Fraction(extra), records / labels, np.arange(1, 80)
    chances = np.exp(counts * math.log(mean) - mean - gammaln(counts + 1.0))
    new = math.exp(-mean) - math.exp(-mean * (1 + extra))
    true = labels * (chances @ weights(counts, records, more, method) - new)
    rng = np.random.default_rng(4)
    profile = Profile.from_counts(rng.multinomial(records, np.full(labels, 1 / labels)))
    bias = smoothing_bias(profile, more, method)
    assert bias == pytest.approx(true, rel=0.15)
    found = support_coverage(profile, extra=extra, method=method)
    assert found.interval is not None
    assert found.standard_error is not None
    half = 1.959964 * math.sqrt(found.standard_error**2 + found.value + bias**2)
    ends = max(found.value - half, 0), found.value + half
    assert found.interval == pytest.approx(ends, rel=1e-6)
    side = "few" if true < 0 else "many"
    assert f"about {plain_number(abs(bias))} labels too {side}" in found.notes[1]


def test_weights_of_good_and_toulmin_have_no_bias() -> None:
    found = support_coverage(butterflies(), extra=1, method="good-toulmin")
    assert found.interval is not None
    assert found.standard_error is not None
    half = 1.959964 * math.sqrt(found.standard_error**2 + 75)
    assert found.interval == pytest.approx((75 - half, 75 + half))
    assert smoothing_bias(butterflies(), Fraction(1), "good-toulmin") == pytest.approx(0, abs=0.05)


def test_a_release_answers_with_its_own_total() -> None:
    rng = np.random.default_rng(3)
    release = anonymize(butterflies(), epsilon=1, source=rng.bytes)
    assert (
        support_coverage(release, extra=2).value == support_coverage(release.value, extra=2).value
    )


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ({"extra": 0}, "extra"),
        ({"extra": -1}, "extra"),
        ({"extra": "1e-400"}, "extra"),
        ({"extra": float("nan")}, "extra"),
        ({"extra": "much"}, "extra"),
        ({"extra": 2, "method": "good-toulmin"}, "another method"),
        ({"extra": 9}, "logarithm"),  # ln 3306 = 8.1
        ({"extra": 1, "method": "chao1"}, "method"),
    ],
)
def test_errors_name_the_parameter(asked: dict[str, Any], name: str) -> None:
    with pytest.raises(ParameterError, match=name):
        support_coverage(butterflies(), **asked)


@pytest.mark.verify
def test_too_far_says_nothing_of_how_far_that_is() -> None:
    """The bound is the data's own; the message is the same for all of them."""
    said = set()
    for counts in ([1] * 20, [1] * 918273):
        profile = Profile.from_counts(counts)
        at = Fraction(farthest(profile))
        assert support_coverage(profile, extra=at).value >= 0
        with pytest.raises(ParameterError) as error:
            support_coverage(profile, extra=at + Fraction(1, 10**9))
        said.add(str(error.value))
    assert len(said) == 1
    assert not any(character.isdigit() for character in said.pop())
    assert (farthest(Profile.from_counts([])), farthest(Profile.from_counts([1]))) == (math.inf, 1)


def test_only_profiles_are_asked() -> None:
    with pytest.raises(ParameterError, match="source"):
        support_coverage([3, 1], extra=1)  # type: ignore[arg-type]
