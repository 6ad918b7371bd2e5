"""Shannon entropy: closed forms, exact weights, and the errors the estimators are known for."""

import math
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

import mpmath
import numpy as np
import pytest
from benchmarks.properties.populations import LABELS, LAWS, bits, samples
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammaln
from scipy.stats import binom

import dphist as dh
from dphist.errors import ParameterError
from dphist.properties.chao import chao1, seen_once
from dphist.properties.entropy import LINEAR, METHODS, Design, entropy, jvhw, weights, wu_yang
from dphist.properties.polynomials import Entropy, best_approximation, unbiased
from dphist.properties.sampling import _log_rising, likeliest_population

some_counts = st.lists(st.integers(1, 80), max_size=25)


@pytest.mark.parametrize("method", METHODS)
def test_of_nothing_and_of_one_label(method: str) -> None:
    for labels in (None, 1):
        assert entropy(dh.Profile.from_counts([]), method=method, labels=labels).value == 0
        found = entropy(dh.Profile.from_counts([10**6]), method=method, labels=labels).value
        assert found == pytest.approx(0, abs=1e-5)
        assert entropy(dh.Profile.from_counts([1]), method=method, labels=1).value == pytest.approx(
            0
        )


@pytest.mark.parametrize("method", METHODS)
def test_of_a_uniform_population(method: str) -> None:
    profile = dh.Profile.from_counts([10**6] * 32)
    assert entropy(profile, method=method).value == pytest.approx(5, abs=1e-5)
    assert entropy(profile, method=method, labels=32).value == pytest.approx(5, abs=1e-5)
    assert entropy(profile, method=method, base=32).value == pytest.approx(1, abs=1e-5)


@given(some_counts)
def test_the_plug_in_and_miller_madow(counts: list[int]) -> None:
    profile = dh.Profile.from_counts(counts)
    n = sum(counts)
    plain = -sum(r / n * math.log(r / n) for r in counts)
    found = entropy(profile, method="plug-in", base=math.e).value
    assert found == pytest.approx(plain, abs=1e-12)
    if n:
        raised = entropy(profile, method="miller-madow", base=math.e).value
        assert raised == pytest.approx(plain + (len(counts) - 1) / (2 * n), abs=1e-12)


@pytest.mark.verify
@given(some_counts, st.randoms(use_true_random=False))
def test_order_of_labels_does_not_matter(counts: list[int], random: Any) -> None:
    shuffled = random.sample(counts, len(counts))
    one, other = dh.Profile.from_counts(counts), dh.Profile.from_counts(shuffled)
    assert all(entropy(one, method=m).value == entropy(other, method=m).value for m in METHODS)


@pytest.mark.verify
@given(some_counts, st.integers(1, 10**6))
def test_estimates_are_within_their_range(counts: list[int], labels: int) -> None:
    profile = dh.Profile.from_counts(counts)
    for method in ("wu-yang", "jvhw", "apml"):
        assert 0 <= entropy(profile, method=method, labels=labels).value <= math.log2(labels) + 1e-9
        assert (
            0 <= entropy(profile, method=method).value <= math.log2(max(chao1(profile), 1)) + 1e-9
        )


@pytest.mark.parametrize("n", [2, 40, 1000, 10**6, 10**9])
def test_wu_yang_weights_in_fractions(n: int) -> None:
    """Section IV of the paper again, term by term, with 60 digits for the logarithms."""
    design = wu_yang(n, None)
    powers = [Fraction(a) for a in best_approximation(Entropy(), design.degree).powers()]
    reach = Fraction(design.reach / n)
    counts = np.array([0, 1, 2, 5, math.floor(design.polynomial_until), 60])
    counts = counts[counts <= n]
    found = weights(counts, n, method="wu-yang")
    with mpmath.workdps(60):
        for got, r in zip(found.tolist(), counts.tolist(), strict=True):
            share = mpmath.mpf(r) / n
            if r > design.polynomial_until:
                wanted = -share * mpmath.log(share) + mpmath.mpf(1) / (2 * n)
            else:
                total, falling = Fraction(0), Fraction(1)
                for m, coefficient in enumerate(powers):
                    total += coefficient * reach ** (1 - m) * falling
                    falling = falling * (r - m) / (n - m) if n > m else Fraction(0)
                width = mpmath.mpf(reach.numerator) / reach.denominator
                value = mpmath.mpf(total.numerator) / total.denominator
                wanted = value - share * mpmath.log(width)
            assert got == pytest.approx(float(wanted), rel=1e-12)


def test_designs_are_those_of_the_papers() -> None:
    log_n = math.log(1000)
    assert wu_yang(1000, None) == Design(11, 3.5 * log_n, 10, 11)
    assert jvhw(1000, None) == Design(13, 4 * log_n, 2 * log_n, 4 * log_n)
    # The labels set the scale, if they are known.
    assert wu_yang(1000, 30) == Design(5, 3.5 * math.log(30), 5, 6)
    assert wu_yang(1000, 5000).reach == pytest.approx(3.5 * math.log(5000))
    assert wu_yang(100, 10**12) == wu_yang(100, 10**4)
    # Beyond 60,000 the error grows with the degree.
    assert wu_yang(10**9, 10**6) == wu_yang(10**9, None) == Design(17, 38.5, 16, 17)
    # Not beyond what there are records and probabilities for.
    assert wu_yang(3, 9).degree == 3
    assert wu_yang(3, None).reach == 3


def test_jvhw_goes_over_into_the_plug_in() -> None:
    n = 10_000
    design = jvhw(n, None)
    counts = np.arange(0, 60)
    found = weights(counts, n, method="jvhw")
    plug_in = Entropy().values(counts / n) + 1 / (2 * n)
    above, below = counts >= design.plug_in_from, counts <= design.polynomial_until
    np.testing.assert_allclose(found[above], plug_in[above], rtol=1e-14)
    powers = best_approximation(Entropy(), design.degree).powers()
    alone = unbiased(powers, design.reach / n, n, 59) - counts / n * math.log(design.reach / n)
    np.testing.assert_allclose(found[below], alone[below], rtol=1e-14)
    middle = math.ceil(0.75 * design.plug_in_from)
    share = 2 * middle / design.plug_in_from - 1
    wanted = share * plug_in[middle] + (1 - share) * alone[middle]
    assert found[middle] == pytest.approx(wanted, rel=1e-12)
    assert design.plug_in_from == pytest.approx(4 * math.log(n))


@pytest.mark.parametrize("method", LINEAR)
@pytest.mark.parametrize("labels", [None, 90])
def test_estimates_are_sums_of_weights(method: str, labels: int | None) -> None:
    counts = np.array([1] * 20 + [2] * 9 + [7, 8, 8, 30, 300])
    profile = dh.Profile.from_counts(counts)
    n = int(counts.sum())
    each = weights(counts, n, method=method, labels=labels)
    unseen = (chao1(profile) if labels is None else labels) - len(counts)
    nothing = weights(np.zeros(1, np.int64), n, method=method, labels=labels)[0]
    wanted = each.sum() + unseen * nothing
    found = entropy(profile, method=method, labels=labels, base=math.e).value
    assert found == pytest.approx(float(wanted), rel=1e-12)


@pytest.mark.parametrize("method", ["wu-yang", "jvhw"])
@pytest.mark.parametrize("n", [300, 1000, 30_000])
def test_bias_of_one_label_is_what_the_polynomial_allows(method: str, n: int) -> None:
    """Expected weight against -p log p, within the approximation's error for small counts."""
    design = (wu_yang if method == "wu-yang" else jvhw)(n, None)
    allowed = best_approximation(Entropy(), design.degree).error * design.reach / n
    r = np.arange(min(n, 400) + 1)
    each = weights(r, n, method=method)
    for p in (0.0, 0.01 / n, 0.3 / n, 1 / n, 2 / n):
        wanted = -p * math.log(p) if p else 0.0
        assert abs(binom.pmf(r, n, p) @ each - wanted) <= 1.05 * allowed
    # And far out, where the plug-in is used, whose bias is -(1 - p)/(2 n) and less: the
    # correction leaves p/(2 n), which is what Miller takes off again.
    p = min(100 / n, 0.2)
    bias = binom.pmf(r, n, p) @ each + p * math.log(p)
    assert bias == pytest.approx(p / (2 * n), abs=0.01 / n)


KNOWN = {
    "plug-in": (0.83, 0.62, 0.57),
    "miller-madow": (0.38, 0.38, 0.27),
    "wu-yang": (0.074, 0.122, 0.059),
}


def test_errors_are_those_the_estimators_are_known_for() -> None:
    runs = 60
    for law, place in zip(LAWS, range(3), strict=True):
        drawn = samples(law, 1000, runs)
        for method, known in KNOWN.items():
            errors = [entropy(p, method=method, labels=LABELS).value - h for p, h in drawn]
            rmse = math.sqrt(np.mean(np.square(errors)))
            # Root mean squares of 60 runs are known to 9 %; three of these.
            assert rmse < 1.28 * known[place]
            if method != "wu-yang":
                assert rmse > 0.8 * known[place]
        unknown = [entropy(p).value - h for p, h in drawn]
        assert math.sqrt(np.mean(np.square(unknown))) < 1.35 * KNOWN["wu-yang"][place]


@pytest.mark.long(every=4)
@pytest.mark.quick(
    "300-1000-wu-yang", "3000-1000-jvhw", "1000-None-wu-yang", "3000-None-jvhw", every=4
)
@pytest.mark.parametrize("method", ["wu-yang", "jvhw"])
@pytest.mark.parametrize(
    ("n", "labels"), [(300, LABELS), (1000, LABELS), (3000, LABELS), (1000, None), (3000, None)]
)
def test_intervals_hold_the_truth(method: str, n: int, labels: int | None) -> None:
    for law in LAWS[1:] if (n, labels) == (1000, None) else LAWS:
        held = 0
        drawn = samples(law, n, 100)
        for profile, true in drawn:
            interval = entropy(profile, method=method, labels=labels).interval
            assert interval is not None
            held += interval[0] <= true + 1e-9 and true - 1e-9 <= interval[1]
        assert held >= 88


@pytest.mark.parametrize(
    ("exponent", "many", "n"), [(1.2, 10**6, 10_000), (1.5, 10**5, 300), (1.5, 10**5, 10_000)]
)
@pytest.mark.quick("[1.5-100000-300]")
def test_intervals_hold_where_most_labels_are_rarer_than_any_seen(
    exponent: float, many: int, n: int
) -> None:
    law = np.arange(1.0, many + 1) ** -exponent
    law /= law.sum()
    random, held, short = np.random.default_rng(4), 0, 0
    for _ in range(40):
        profile = dh.Profile.from_counts(np.bincount(random.choice(many, n, p=law)))
        found = entropy(profile)
        assert found.interval is not None
        held += found.interval[0] <= bits(law) <= found.interval[1]
        short += found.value + (found.value - found.interval[0]) < bits(law)
    assert held >= 36
    # An interval that is even on both sides would not do.
    assert short >= 10


def test_labels_that_were_hardly_seen_twice_do_not_run_away() -> None:
    law = np.concatenate([np.full(50, 0.8 / 50), np.full(10**6, 0.2 / 10**6)])
    law /= law.sum()
    drawn = np.bincount(np.random.default_rng(1).choice(len(law), 10_000, p=law))
    found = entropy(dh.Profile.from_counts(drawn)).value
    assert abs(found - bits(law)) < 2
    assert chao1(dh.Profile.from_counts(drawn)) > 10**5


def test_more_labels_than_there_are_have_no_interval() -> None:
    profile = dh.Profile.from_counts([3, 2, 2, 1])
    assert entropy(profile, labels=4).interval is not None
    assert entropy(profile, labels=3).interval is None


def test_what_an_estimate_says() -> None:
    profile = dh.Profile.from_counts([20, 10, 5, 5, 5, 3, 1])
    found = entropy(profile)
    assert (found.method, found.unit) == ("wu-yang", "bits")
    assert found.standard_error is not None
    assert found.interval is not None
    assert found.interval[0] < found.value < found.interval[1]
    assert entropy(profile, method="apml").standard_error is None
    assert entropy(profile, base=math.e).unit == "nats"
    assert "as given" in " ".join(entropy(profile, labels=9).notes)
    assert "more labels" in " ".join(entropy(profile, labels=2).notes)
    assert "no method" in " ".join(entropy(profile, labels=10**6).notes)
    # The bias where most labels are seen once is in no interval.
    assert entropy(dh.Profile.from_counts([1] * 30)).interval is None


@pytest.mark.parametrize("method", ["plug-in", "miller-madow"])
@pytest.mark.long(every=2)
def test_standard_errors_are_those_of_sampling(method: str) -> None:
    random = np.random.default_rng(1)
    probabilities = 1 / np.arange(1, 31) / np.sum(1 / np.arange(1, 31))
    profiles = [dh.Profile.from_counts(random.multinomial(4000, probabilities)) for _ in range(300)]
    found = [entropy(profile, method=method) for profile in profiles]
    errors = [estimate.standard_error or 0.0 for estimate in found]
    assert np.mean(errors) == pytest.approx(np.std([e.value for e in found]), rel=0.2)
    assert np.mean([e.value for e in found]) == pytest.approx(bits(probabilities), abs=0.01)


def likelihood(counts: list[int], cuts: tuple[int, ...], unseen: int) -> float:
    """Approximate log-likelihood of ascending counts cut into runs at the places `cuts`."""
    ends, n, total = [0, *cuts, len(counts)], sum(counts), 0.0
    for first, (a, b) in enumerate(pairwise(ends)):
        beside = unseen if first == 0 else 0
        labels, records = b - a + beside, sum(counts[a:b])
        total += gammaln(labels + 1) - gammaln(beside + 1)
        total += records * math.log(records / (labels * n))
    return total


@pytest.mark.parametrize(
    "counts",
    [
        [1, 1, 2],
        [1, 2, 3, 9, 10],
        [1, 1, 1, 4, 5, 30],
        [7],
        # One run, though the roots of its ends are two apart.
        [39, 46, 47, 47, 48, 51, 52, 59, 59, 64, 68],
    ],
)
def test_the_likeliest_population_against_all_cuts(counts: list[int]) -> None:
    places = [i for i in range(1, len(counts)) if counts[i] != counts[i - 1]]
    best = (-math.inf, ((), 0))
    for subset in range(2 ** len(places)):
        cuts = tuple(p for i, p in enumerate(places) if subset >> i & 1)
        for unseen in range(6):
            best = max(best, (likelihood(counts, cuts, unseen), (cuts, unseen)))  # type: ignore[assignment]
    cuts, unseen = best[1]
    found = likeliest_population(dh.Profile.from_counts(counts), len(counts) + 5.0)
    ends = [0, *cuts, len(counts)]
    sizes = [b - a for a, b in pairwise(ends)]
    assert found.labels.tolist() == [sizes[0] + unseen, *sizes[1:]]
    assert found.probabilities @ found.labels == pytest.approx(1)
    assert np.all(np.diff(found.probabilities) > 0)


def test_the_fewest_of_equally_likely_populations() -> None:
    """Of one label seen once, any number of labels beside it is as likely."""
    for labels in (1, 3, 10**6, 10**9, 2**62):
        found = entropy(dh.Profile.from_counts([1]), method="apml", labels=labels).value
        assert (found, math.copysign(1, found)) == (0, 1)
        others = dh.Profile.from_counts([5, 5, 1])
        beside = entropy(others, method="apml", labels=max(labels, 3)).value
        assert beside == pytest.approx(entropy(others, method="plug-in").value)


@pytest.mark.parametrize("many", [10**6, 10**12, 10**16, 10**17, 10**18])
def test_many_possible_labels_lose_no_digits(many: int) -> None:
    profile = samples(LAWS[0], 1000, 1)[0][0]
    found = entropy(profile, method="apml", labels=many).value
    assert found == pytest.approx(entropy(profile, method="apml", labels=5000).value, abs=0.05)


@given(st.floats(1, 1e17), st.floats(1, 1e8))
def test_rising_factorials(first: float, factors: float) -> None:
    with mpmath.workdps(50):
        exact = mpmath.loggamma(mpmath.mpf(first) + factors) - mpmath.loggamma(first)
    found = float(_log_rising(np.array([first]), factors)[0])
    assert found == pytest.approx(float(exact), rel=1e-12, abs=1e-10)


def test_apml_finds_a_uniform_population() -> None:
    profile = dh.Profile.from_counts(
        np.random.default_rng(2).multinomial(3000, np.full(1000, 1e-3))
    )
    assert entropy(profile, method="apml", labels=1000).value == pytest.approx(
        math.log2(1000), abs=0.02
    )


def test_labels_seen_and_chaos_bound() -> None:
    profile = dh.Profile.from_counts([9, 2, 2, 1, 1, 1, 1])
    assert seen_once(profile) == 4
    assert chao1(profile) == pytest.approx(7 + 16 / 17 * 4 * 3 / (2 * 3))
    assert chao1(dh.Profile.from_counts([])) == 0
    assert chao1(dh.Profile.from_counts([5, 5])) == 2


def test_large_totals(yahoo: dh.Profile) -> None:
    found = {method: entropy(yahoo, method=method).value for method in METHODS}
    assert found["plug-in"] < found["miller-madow"] < found["wu-yang"]
    assert all(22 < value < 26 for value in found.values())
    huge = dh.Profile.from_counts([1, 1, 1, 1, 1, 2**62 - 9])
    assert all(entropy(huge, method=method).value < 1e-6 for method in METHODS)
    # 2**59 labels of one record beside one of 2**41, which floats would lose.
    wide = dh.Profile.from_prevalences([1, 2**41], [2**59, 1])
    for method in METHODS:
        found = entropy(wide, method=method, labels=2**61)  # type: ignore[assignment]
        assert 58 < found.value <= 61 * (1 + 1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_few_records_are_no_error(method: str) -> None:
    for counts in ([1], [1, 1], [2], [2, 1], [1, 1, 1], [3, 1]):
        for labels in (None, 1, 2, 10**9):
            found = entropy(dh.Profile.from_counts(counts), method=method, labels=labels)
            assert math.isfinite(found.value)
            assert found.value >= 0


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"method": "best"}, "method"),
        ({"labels": 0}, "labels"),
        ({"labels": 1.5}, "labels"),
        ({"base": 1}, "base"),
        ({"base": 0.5}, "base"),
        ({"base": math.nan}, "base"),
        ({"base": Decimal(-2)}, "base"),
        ({"base": "1e300"}, "base"),
        ({"base": "1.00000000000000000000000001"}, "base"),
    ],
)
def test_what_is_refused(arguments: dict[str, Any], named: str) -> None:
    with pytest.raises(ParameterError, match=named):
        entropy(dh.Profile.from_counts([3]), **arguments)
