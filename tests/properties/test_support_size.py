"""Support size: the mean that Chebyshev polynomials give, Chao's forms, the programme, errors."""

import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy.stats import poisson

from dphist import Profile, anonymize
from dphist.errors import ParameterError
from dphist.properties import linear_program
from dphist.properties.support_size import METHODS, all_are_seen, bias_share, support_size, weights

CASES = [(1000, "1/1000"), (300, "1/1000"), (50_000, "1/1000000"), (10, "1/20"), (7, "1e-12")]


def chebyshev(total: int, p_min: Fraction, x: float) -> Any:
    """P at expected count x: -T_L(y(x))/T_L(y(0)), y from -1 at n p_min to 1 at M, by mpmath."""
    log = mpmath.log(p_min.denominator) - mpmath.log(p_min.numerator)
    degree = max(1, int(mpmath.floor(mpmath.mpf(45) / 100 * log)))
    left, right = mpmath.mpf(total * p_min.numerator) / p_min.denominator, log / 2
    y = [(2 * mpmath.mpf(v) - right - left) / (right - left) for v in (x, 0)]
    return -mpmath.chebyt(degree, y[0]) / mpmath.chebyt(degree, y[1])


@pytest.mark.parametrize(("total", "p_min"), CASES)
def test_mean_for_poisson_counts(total: int, p_min: str) -> None:
    """A label of expected count x adds 1 + exp(-x) P(x): exactly 0 where x is 0."""
    least = Fraction(p_min)
    assert not all_are_seen(total, least)
    counts = np.arange(1, 150)
    factors = weights(counts, total, least)
    share = bias_share(total, least)
    with mpmath.workdps(50):
        for x in (0, float(total * least), 0.3, 1, 2.5, 7, 20):
            chances = [
                mpmath.exp(-x) * mpmath.mpf(x) ** int(r) / mpmath.factorial(int(r)) for r in counts
            ]
            mean = mpmath.fsum(c * mpmath.mpf(f) for c, f in zip(chances, factors, strict=True))
            expected = 1 + mpmath.exp(-x) * chebyshev(total, least, x)
            assert float(mean - expected) == pytest.approx(0, abs=1e-11)
            assert x < total * least or float(abs(expected - 1)) <= share * (1 + 1e-9)


@pytest.mark.parametrize(("total", "p_min"), CASES)
def test_bias_is_reached_by_the_rarest_labels(total: int, p_min: str) -> None:
    """At n p_min the polynomial is at its extreme, so that a uniform law has all of the bias."""
    least = Fraction(p_min)
    x = float(total * least)
    there = float(mpmath.exp(-x) * abs(chebyshev(total, least, x)))
    assert there == pytest.approx(bias_share(total, least), rel=1e-6)


def test_bias_falls_with_records_and_none_is_left() -> None:
    shares = [bias_share(n, Fraction(1, 1000)) for n in (0, 10, 100, 1000, 3000, 20_000)]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] == 1
    assert shares[-1] == pytest.approx(math.exp(-20))


def test_frequent_labels_count_as_they_are() -> None:
    counts = np.array([1, 2, 3, 4, 10**9])
    assert weights(counts, 1000, Fraction(1, 1000))[3:].tolist() == [1, 1]  # degree 3
    assert weights(counts, 10**6, Fraction(1, 1000)).tolist() == [1] * 5
    profile = Profile.from_prevalences([1, 50], [1, 19])
    found = support_size(profile, p_min="1/20")
    assert found.value == 20
    assert "left out" in found.notes[1]


def test_a_promise_that_cannot_hold_is_told() -> None:
    profile = Profile.from_prevalences([1], [40])
    assert "cannot be" in support_size(profile, p_min="1/30").notes[0]
    assert "cannot be" not in support_size(profile, p_min="1/40").notes[0]


def test_chao1_is_its_closed_form() -> None:
    """f1 = 3, f2 = 3, n = 22; EstimateS, without (n - 1)/n, has 9.75 and (9.07, 17.45)."""
    profile = Profile.from_counts([1, 1, 4, 2, 5, 2, 4, 1, 2])
    found = support_size(profile, method="chao1")
    assert found.value == pytest.approx(9 + 21 / 22 * 3 * 2 / 8)
    shrink = 21 / 22
    variance = shrink * 3 * 2 / 8 + shrink**2 * (3 * 25 / 64 + 9 * 3 * 4 / 1024)
    assert found.standard_error == pytest.approx(math.sqrt(variance))
    assert found.interval == pytest.approx((9.07, 17.45), rel=0.03)


def test_chao1_without_labels_seen_once_or_twice() -> None:
    alone = support_size(Profile.from_counts([1, 1, 1, 9]), method="chao1")
    assert alone.value == pytest.approx(4 + 11 / 12 * 3)
    variance = 11 / 12 * 3 + (11 / 12) ** 2 * (3 * 25 / 4 - 81 / (4 * alone.value))
    assert alone.standard_error == pytest.approx(math.sqrt(variance))
    often = support_size(Profile.from_counts([5, 9]), method="chao1")
    assert often.value == 2
    assert often.interval is not None
    assert 2 <= often.interval[0] <= often.interval[1] < 2.2


@pytest.mark.parametrize("method", METHODS)
def test_small_profiles(method: str) -> None:
    empty = support_size(Profile.from_counts([]), p_min="1/50", method=method)
    assert empty.value == 0
    if method in ("wu-yang", "valiant-valiant"):
        assert empty.interval == (0, 50)  # nobody knows
    one = support_size(Profile.from_counts([500]), p_min="1/50", method=method)
    assert one.value == pytest.approx(1, abs=0.01)


@pytest.mark.quick(every=3)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("counts", [[1] * 40, [2] * 40, [1] * 3 + [20], [1, 2, 2, 3, 30]])
def test_never_fewer_than_seen_nor_more_than_there_can_be(method: str, counts: list[int]) -> None:
    profile = Profile.from_counts(counts)
    found = support_size(profile, p_min="1/45", method=method)
    assert found.value >= profile.labels
    if method != "chao1":
        assert found.value <= 45
    if found.interval is not None:
        low, high = found.interval
        assert profile.labels <= low <= found.value <= high


def samples(law: np.ndarray, n: int, runs: int) -> list[Profile]:
    rng = np.random.default_rng(5)
    return [Profile.from_counts(rng.multinomial(n, law)) for _ in range(runs)]


def laws(labels: int) -> dict[str, np.ndarray]:
    uniform, zipf = np.ones(labels), 1 / np.arange(1, labels + 1)
    mixed = np.where(np.arange(labels) % 2, 1.0, 5.0)
    return {
        name: law / law.sum()
        for name, law in [("uniform", uniform), ("zipf", zipf), ("mixed", mixed)]
    }


@pytest.mark.parametrize("name", ["uniform", "zipf", "mixed"])
@pytest.mark.parametrize("n", [150, 500, 1500])
@pytest.mark.quick(every=3)
def test_wu_yang_intervals_hold_the_truth(name: str, n: int) -> None:
    law = laws(500)[name]
    p_min = repr(0.999 * float(law.min()))
    held = 0
    for profile in samples(law, n, 60):
        low, high = support_size(profile, p_min=p_min).interval or (0, 0)
        held += low <= 500 <= high
    assert held >= 55


def test_wu_yang_errs_less_than_the_labels_seen() -> None:
    """And its standard error alone does not cover its bias (the power of the test above)."""
    found = [support_size(p, p_min="1/500") for p in samples(laws(500)["uniform"], 150, 60)]
    errors = np.array([f.value - 500 for f in found])
    assert np.sqrt(np.mean(errors**2)) < 250  # of 500, of which 130 are seen
    assert sum(abs(f.value - 500) < 1.96 * (f.standard_error or 0) for f in found) < 30
    spread = np.std(errors)
    assert 0.7 * spread < np.mean([f.standard_error for f in found]) < 1.6 * spread


@pytest.mark.parametrize("name", ["uniform", "zipf", "mixed"])
@pytest.mark.quick(every=3)
def test_the_programme_finds_the_unseen(name: str) -> None:
    law = laws(500)[name]
    profiles = samples(law, 500, 12)
    p_min = repr(0.999 * float(law.min()))
    found = [support_size(p, p_min=p_min, method="valiant-valiant") for p in profiles]
    ends = [f.interval or (0, 0) for f in found]
    assert sum(low <= 500 <= high for low, high in ends) >= 10
    errors = [f.value - 500 for f in found]
    seen = [p.labels - 500 for p in profiles]
    assert np.sqrt(np.mean(np.square(errors))) < 0.6 * np.sqrt(np.mean(np.square(seen)))


def test_the_programme_takes_prevalences_of_any_size() -> None:
    """Prevalences a million times as large, p_min a millionth: a million times the answer."""
    counts, prevalences = [1, 2, 3, 4, 5, 50], np.array([300, 180, 90, 40, 15, 10])
    small = Profile.from_prevalences(counts, prevalences)
    large = Profile.from_prevalences(counts, prevalences * 10**6)
    one = support_size(small, p_min="1e-3", method="valiant-valiant")
    million = support_size(large, p_min="1e-9", method="valiant-valiant").value
    assert one.interval is not None
    assert one.interval[0] <= million / 10**6 <= one.interval[1]


def test_a_programme_that_fails_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    class Failed:
        status = 4

    monkeypatch.setattr(linear_program, "linprog", lambda *_, **__: Failed())
    with pytest.raises(ParameterError, match="wu-yang"):
        support_size(Profile.from_counts([1, 2]), p_min="0.1", method="valiant-valiant")


def test_a_release_answers_with_its_own_total() -> None:
    rng = np.random.default_rng(3)
    release = anonymize(Profile.from_counts([1] * 60 + [5] * 9), epsilon=1, source=rng.bytes)
    assert (
        support_size(release, p_min="1/300").value
        == support_size(release.value, p_min="1/300").value
    )


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ({}, "p_min"),
        ({"method": "valiant-valiant"}, "p_min"),
        ({"p_min": 0}, "p_min"),
        ({"p_min": "1.1"}, "p_min"),
        ({"p_min": "1e-19"}, "p_min"),
        ({"p_min": float("inf")}, "p_min"),
        ({"p_min": "0.1", "method": "good"}, "method"),
    ],
)
def test_errors_name_the_parameter(asked: dict[str, Any], name: str) -> None:
    with pytest.raises(ParameterError, match=name):
        support_size(Profile.from_counts([2, 1]), **asked)


def test_only_profiles_are_asked() -> None:
    with pytest.raises(ParameterError, match="source"):
        support_size([3, 1], p_min="0.1")  # type: ignore[arg-type]


@pytest.mark.parametrize(("labels", "n"), [(1000, 3600), (1000, 5000), (20, 60), (20, 100)])
def test_the_interval_holds_where_few_labels_are_missed(labels: int, n: int) -> None:
    random, held = np.random.default_rng(6), 0
    for _ in range(200):
        profile = Profile.from_counts(random.multinomial(n, np.full(labels, 1 / labels)))
        found = support_size(profile, p_min=Fraction(50, 51 * labels))
        assert all_are_seen(n, Fraction(50, 51 * labels))
        assert found.interval is not None
        held += found.interval[0] <= labels <= found.interval[1]
    assert held >= 188


def test_the_interval_is_of_all_that_may_have_been() -> None:
    """Against the definition, for n p_min on either side of where labels count as they are."""
    profile = Profile.from_prevalences([1, 2, 3, 9], [30, 20, 9, 2])
    p_min = Fraction(1, 100)
    found = support_size(profile, p_min=p_min)
    factors, share = weights(profile.counts, profile.total, p_min), bias_share(profile.total, p_min)
    raw = float(factors @ profile.prevalences)
    lost = float((factors - 1) ** 2 @ profile.prevalences)
    half = 1.959963984540054 * math.sqrt(lost + raw - profile.labels)
    assert found.interval is not None
    assert found.interval[0] == pytest.approx(max((raw - half) / (1 + share), 61))
    assert found.interval[1] == pytest.approx(min((raw + half) / (1 - share), 100))
    many = Profile.from_prevalences([1, 3, 9], [7, 20, 10])
    seen = support_size(many, p_min=Fraction(1, 60))
    share = math.exp(-many.total / 60)
    likely = [u for u in range(24) if poisson.sf(u - 1, (37 + u) * share) >= 0.025]
    assert seen.interval == (37, 37 + max(likely))
    assert 0 < max(likely) < 23


@pytest.mark.verify
def test_data_that_break_the_promise_have_no_interval() -> None:
    profile = Profile.from_counts([5] * 30)
    for method in ("wu-yang", "valiant-valiant"):
        found = support_size(profile, p_min="1/20", method=method)
        assert (found.value, found.standard_error, found.interval) == (30, None, None)
        assert "cannot be" in found.notes[0]
    # In a release it may be noise.
    release = anonymize(profile, epsilon=1)
    assert support_size(release, p_min="1/20").interval is not None


@pytest.mark.verify
@pytest.mark.parametrize("counts", [[1], [1, 1, 1], [9, 4, 1, 1], [3] * 20])
@pytest.mark.parametrize("p_min", ["1e-6", "1e-9", "1e-12", "1e-18"])
def test_the_programme_is_solved_for_any_promise(counts: list[int], p_min: str) -> None:
    found = support_size(Profile.from_counts(counts), p_min=p_min, method="valiant-valiant")
    assert found.interval is not None
    assert len(counts) <= found.interval[0] <= found.value <= found.interval[1]
    assert found.interval[1] == float(1 / Fraction(p_min))


def test_a_fit_need_not_be_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    profile = Profile.from_counts(np.random.default_rng(1).multinomial(600, np.full(1000, 1e-3)))
    slack = support_size(profile, p_min="1/2000", method="valiant-valiant").value
    monkeypatch.setattr(linear_program, "_SLACK", 0.0)
    assert slack < support_size(profile, p_min="1/2000", method="valiant-valiant").value - 1
