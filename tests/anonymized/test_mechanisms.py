"""The mechanisms for anonymized histograms as a user calls them."""

import random
from dataclasses import FrozenInstanceError
from fractions import Fraction

import numpy as np
import pytest

import dphist as dh
from dphist.anonymized import measuring
from dphist.errors import BoundsError, ParameterError
from tests.support.histograms import histogram_of

# Those that give the input back when the noise is 0.
EXACT = {
    "rank split": lambda **k: dh.RankSplit(**k),
    "public total": lambda **k: dh.RankSplit(total=100, **k),
    "sorted counts": lambda **k: dh.SortedCounts(labels=12, **k),
    "sort only": lambda **k: dh.SortedCounts(labels=12, inference="sort", **k),
    "no inference": lambda **k: dh.SortedCounts(labels=12, inference="none", **k),
    "cumulative": lambda **k: dh.CumulativeCounts(largest=40, **k),
    "no smoothing": lambda **k: dh.PrivHist(shares=(1, 9, 0), **k),
    "adaptive scan": lambda **k: dh.AdaptiveScan(**k),
}
MECHANISMS = {
    **EXACT,
    "priv hist": lambda **k: dh.PrivHist(**k),
    "equal shares": lambda **k: dh.PrivHist(shares=(1, 1, 1), **k),
    "partition": lambda **k: dh.PartitionSampler(delta=1e-9, **k),
}


def named(mechanisms: dict) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("make", mechanisms.values(), ids=mechanisms)


every_mechanism = named(MECHANISMS)


@every_mechanism
def test_guarantee_is_known_before_data(make) -> None:
    mechanism = make(epsilon="0.1", sensitivity=2)
    unit = dh.PrivacyUnit("record", 2)
    if isinstance(mechanism, dh.PartitionSampler):
        assert mechanism.guarantee == dh.ApproxDP("1/10", "1e-9", unit)
    else:
        assert mechanism.guarantee == dh.PureDP("1/10", unit)
    assert mechanism.epsilon == Fraction(1, 10)
    with pytest.raises(FrozenInstanceError):
        mechanism.epsilon = Fraction(5)


@named(EXACT)
def test_without_noise_the_input_comes_back(make, monkeypatch) -> None:
    def silent(epsilon, size, source=None):
        return np.zeros(size, np.int64)

    monkeypatch.setattr(measuring, "two_sided_geometric", silent)
    for counts in ([], [1], [5, 5, 2, 1, 1, 1], [40, 3], [1] * 12):
        profile = dh.Profile.from_counts(counts)
        assert make(epsilon=1).release(profile).value == histogram_of(counts)


@every_mechanism
def test_large_epsilon_is_nearly_exact(make, seeded) -> None:
    counts = [9, 4, 4, 1]
    release = make(epsilon=45).release(dh.Profile.from_counts(counts), seeded(1))
    assert release.value == histogram_of(counts)


@pytest.mark.quick(every=3)
@every_mechanism
def test_release_is_repeatable_with_a_source_and_not_without(make, seeded) -> None:
    profile = dh.Profile.from_counts(range(1, 400))
    mechanism = make(epsilon="0.05")
    first, second = (mechanism.release(profile, seeded(5)).value for _ in range(2))
    assert first == second
    assert mechanism.release(profile).value != mechanism.release(profile).value


@every_mechanism
def test_empty_data_are_released(make) -> None:
    mechanism = make(epsilon=1)
    release = mechanism.release(dh.Profile.from_counts([]))
    assert release.guarantee == mechanism.guarantee
    assert release.value.total >= 0


@every_mechanism
def test_a_profile_with_a_larger_bound_is_refused(make) -> None:
    profile = dh.Profile.from_counts([3, 3, 2], sensitivity=2)
    with pytest.raises(BoundsError, match="sensitivity=2"):
        make(epsilon=1).release(profile)
    assert make(epsilon=1, sensitivity=2).release(profile).mechanism.sensitivity == 2


@pytest.mark.long(every=4)
@pytest.mark.quick("rank", "sorted", "total", every=3)
@every_mechanism
def test_noise_grows_with_sensitivity(make, seeded) -> None:
    profile = dh.Profile.from_counts([30] * 12)

    def mean_error(**parameters) -> float:
        source = seeded(2)
        runs = [make(**parameters).release(profile, source).value for _ in range(200)]
        return float(np.mean([profile.distance(run) for run in runs]))

    assert mean_error(epsilon=1, sensitivity=4) > 1.5 * mean_error(epsilon=1)
    assert mean_error(epsilon=4, sensitivity=4) == pytest.approx(mean_error(epsilon=1), rel=0.25)


@every_mechanism
@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), float("inf"), "abc", None, True, "1e-12"])
def test_absurd_epsilon_is_refused(make, epsilon) -> None:
    with pytest.raises(ParameterError, match="epsilon"):
        make(epsilon=epsilon)


@every_mechanism
@pytest.mark.parametrize("sensitivity", [0, -1, 1.5, True, None, "2"])
def test_bad_sensitivity_is_refused(make, sensitivity) -> None:
    with pytest.raises(ParameterError, match="sensitivity"):
        make(epsilon=1, sensitivity=sensitivity)


def test_epsilon_is_required_and_keyword_only() -> None:
    for mechanism in (
        dh.RankSplit,
        dh.SortedCounts,
        dh.PrivHist,
        dh.AdaptiveScan,
        dh.CumulativeCounts,
        dh.PartitionSampler,
    ):
        with pytest.raises(TypeError):
            mechanism()  # type: ignore[call-arg]
        with pytest.raises(TypeError):
            mechanism(1)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        dh.anonymize(dh.Profile.from_counts([1]))  # type: ignore[call-arg]


@pytest.mark.parametrize("labels", [0, -1, 2.0, None, True, "5"])
def test_bad_labels_are_refused(labels) -> None:
    with pytest.raises(ParameterError, match="labels"):
        dh.SortedCounts(epsilon=1, labels=labels)


@pytest.mark.parametrize("largest", [0, -1, 2.0, None, True, "5"])
def test_bad_largest_is_refused(largest) -> None:
    with pytest.raises(ParameterError, match="largest"):
        dh.CumulativeCounts(epsilon=1, largest=largest)


@pytest.mark.parametrize(
    "shares",
    [
        *[(1, 1), (1, 1, 1, 1), (0, 1, 1), (1, 0, 1), (1, 1, -1), "111", 3, {1, 2, 3}],
        *[("a", 1, 1), (1, 1, float("nan")), (1, float("inf"), 1), (1e-12, 1, 1)],
    ],
)
def test_bad_shares_are_refused(shares) -> None:
    with pytest.raises(ParameterError, match=r"shares|epsilon"):
        dh.PrivHist(epsilon=1, shares=shares)


@pytest.mark.parametrize("delta", [0, -1, 1, 2, float("nan"), "x", None, True])
def test_bad_delta_is_refused(delta) -> None:
    with pytest.raises(ParameterError, match="delta"):
        dh.PartitionSampler(epsilon=1, delta=delta)


def test_other_bad_parameters_are_refused() -> None:
    with pytest.raises(ParameterError, match="inference"):
        dh.SortedCounts(epsilon=1, labels=3, inference="best")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="total"):
        dh.RankSplit(epsilon=1, total=-1)
    with pytest.raises(ParameterError, match="total"):
        dh.RankSplit(epsilon=1, total=10.5)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="profile"):
        dh.RankSplit(epsilon=1).release([1, 2])  # type: ignore[arg-type]


@pytest.mark.parametrize("counts", [[7, 5], [7, 5, 3], [7, 5, 3, 2], [7, 5, 3, 2, 1]])
def test_public_labels_are_never_compared_with_the_data(counts, seeded) -> None:
    """Fewer labels than data, as many, more: no error, no warning, K counts at most."""
    mechanism = dh.SortedCounts(epsilon=1, labels=3)
    assert mechanism.measure(dh.Profile.from_counts(counts), seeded(1)).shape == (3,)
    assert mechanism.release(dh.Profile.from_counts(counts)).value.labels <= 3


@pytest.mark.parametrize("counts", [[7, 5], [8, 8, 8], [9, 8, 7], [1000, 1]])
def test_public_largest_is_never_compared_with_the_data(counts, seeded) -> None:
    """Counts below, at and above the public maximum: no error, and none above it comes out."""
    mechanism = dh.CumulativeCounts(epsilon=1, largest=8)
    assert mechanism.measure(dh.Profile.from_counts(counts), seeded(1)).shape == (8,)
    assert mechanism.release(dh.Profile.from_counts(counts)).value.counts.max(initial=0) <= 8


@pytest.mark.parametrize("n", [99, 100, 101, 10_000])
def test_public_total_is_never_compared_with_the_data(n, seeded) -> None:
    mechanism = dh.RankSplit(epsilon=1, total=100)
    for profile in (dh.Profile.from_counts([n]), dh.Profile.from_prevalences([1], [n])):
        release = mechanism.release(profile, seeded(1))
        assert release.total is None
        assert len(release.noisy["rows"]) == len(release.noisy["columns"]) == 10


def test_private_total_is_released_and_near(seeded) -> None:
    profile = dh.Profile.from_counts([1000] * 100)
    release = dh.RankSplit(epsilon=1).release(profile, seeded(3))
    assert release.total is not None
    assert abs(release.total - profile.total) < 40 * 15
    assert dh.RankSplit(epsilon=1).release(dh.Profile.from_counts([]), seeded(4)).total >= 0


def test_isotonic_beats_sorting_beats_nothing_on_long_runs(seeded) -> None:
    """Hay et al. 2010, Figure 5 in shape, squared error by rank."""
    profile = dh.Profile.from_counts([50] * 300 + [20] * 700)
    truth = profile.sorted_counts()
    errors = {}
    for inference in ("isotonic", "sort", "none"):
        mechanism = dh.SortedCounts(epsilon="0.1", labels=1000, inference=inference)
        estimate = mechanism.infer(mechanism.measure(profile, seeded(7)))
        errors[inference] = float(np.sum((estimate - truth) ** 2))
    assert 10 * errors["isotonic"] < errors["none"]
    assert errors["isotonic"] < errors["sort"] < errors["none"]


def test_anonymize_uses_the_bound_of_the_profile() -> None:
    profile = dh.Profile.from_counts([3, 2], sensitivity=2)
    assert dh.anonymize(profile, epsilon=1).mechanism == dh.AdaptiveScan(epsilon=1, sensitivity=2)
    assert dh.anonymize(profile, epsilon=1, sensitivity=3).mechanism.sensitivity == 3
    with pytest.raises(BoundsError):
        dh.anonymize(profile, epsilon=1, sensitivity=1)


def test_yahoo_release_is_as_good_as_measured(yahoo) -> None:
    """Error at epsilon 1 near 2,200 records of 69 million (see docs/understand/comparison.md)."""
    release = dh.anonymize(yahoo, epsilon=1, source=random.Random(1).randbytes)
    assert 1_500 < yahoo.distance(release.value) < 3_000


@pytest.mark.parametrize("count", [2**53 + 1, 2**55 + 3, 2**62 - 600, 2**62 - 1])
def test_counts_beyond_exact_floats_are_released_within_their_band(count, seeded) -> None:
    profile, source = dh.Profile.from_counts([count]), seeded(1)
    for mechanism in (
        dh.RankSplit(epsilon=10, total=1),
        dh.SortedCounts(epsilon=10, labels=1),
        dh.SortedCounts(epsilon=10, labels=1, inference="sort"),
    ):
        for _ in range(20):
            release = mechanism.release(profile, source)
            band = mechanism.band(release)
            assert band.lower.counts[-1] <= count <= band.upper.counts[-1]
            assert band.lower.counts[-1] <= release.value.counts[-1] <= band.upper.counts[-1]


@every_mechanism
@pytest.mark.parametrize("level", [0, 1, 2, -0.5, float("nan")])
def test_bad_level_is_refused(make, level, seeded) -> None:
    release = make(epsilon=1).release(dh.Profile.from_counts([2]), seeded(1))
    with pytest.raises(ParameterError, match="level"):
        release.mechanism.band(release, level)


@pytest.mark.parametrize(
    "epsilon", ["1e400", "1e10", Fraction(10**300 + 1, 10**300), "1." + "0" * 250 + "1"]
)
def test_an_epsilon_that_could_not_be_saved_or_sampled_is_refused(epsilon) -> None:
    if Fraction(epsilon) > 2:
        for make in (dh.PureDP, dh.ZCDP, lambda e: dh.noise.two_sided_geometric(e, 1)):
            with pytest.raises(ParameterError):
                make(epsilon)
    with pytest.raises(ParameterError, match="epsilon"):
        dh.RankSplit(epsilon=epsilon)


def test_the_longest_epsilon_is_saved_and_loaded(seeded) -> None:
    epsilon = Fraction(10**150 - 1, 10**150)
    release = dh.RankSplit(epsilon=epsilon).release(dh.Profile.from_counts([3]), seeded(1))
    assert dh.Release.from_json(release.to_json()).mechanism.epsilon == epsilon
