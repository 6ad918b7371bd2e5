"""Errors of estimates from a release include its noise; weights are as smooth as is claimed."""

import math
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.properties.linear_forms import (
    LinearForm,
    distance_form,
    entropy_form,
    power_sum_form,
    support_coverage_form,
    support_size_form,
)
from benchmarks.properties.populations import LABELS, LAWS, samples

import dphist as dh
from dphist.anonymized.reference import as_data
from dphist.errors import ParameterError
from dphist.properties import (
    Estimate,
    distance_to_uniformity,
    entropy,
    guessing,
    renyi_entropy,
    support_coverage,
    support_size,
)
from dphist.properties.estimate import Source, plain_number
from dphist.properties.guessing import FEWEST_EVEN
from dphist.properties.resampling import (
    combine,
    draw_sample,
    even_releases,
    further_releases,
    include_noise,
)
from dphist.properties.sampling import Population, likeliest_population

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "properties.md"
PROFILE = dh.Profile.from_prevalences([1, 2, 3, 5, 9, 40], [60, 25, 12, 6, 3, 1])
RELEASED = dh.AnonymizedHistogram(PROFILE.counts, PROFILE.prevalences)

# What each function is asked, and whether its estimate has an error and an interval.
ASKED: list[tuple[Callable[..., Estimate], dict[str, Any], bool, bool]] = [
    (entropy, {"labels": 300}, True, True),
    (entropy, {"method": "jvhw", "labels": 300}, True, True),
    (entropy, {"method": "plug-in"}, True, False),
    (entropy, {"method": "apml"}, False, False),
    (support_size, {"p_min": "1/300"}, True, True),
    (support_size, {"p_min": "1/300", "method": "valiant-valiant"}, False, True),
    (support_size, {"method": "chao1"}, True, True),
    (support_size, {"method": "plug-in"}, False, False),
    (support_coverage, {"extra": 1}, True, True),
    (support_coverage, {"extra": 3}, True, True),
    (support_coverage, {"extra": 3, "method": "smoothed"}, True, True),
    (support_coverage, {"extra": 1, "method": "chao-jost"}, True, True),
    (renyi_entropy, {"order": 2}, True, True),
    (renyi_entropy, {"order": 1}, True, False),
    (renyi_entropy, {"order": math.inf}, False, False),
    (distance_to_uniformity, {"labels": 300}, True, False),
    (guessing, {"guesses": 5}, True, True),
    (guessing, {"share": "1/2"}, False, False),
    (guessing, {"share": "1/2", "measure": "dictionary", "bits": True}, False, False),
]


@dataclass(frozen=True)
class Shifted:
    """Stands for a mechanism: no noise, or one label more with a given number of records."""

    count: int = 0

    def release(self, profile: dh.Profile, source: object = None) -> dh.Release:
        counts = np.append(profile.counts, self.count)
        value = dh.AnonymizedHistogram(counts, np.append(profile.prevalences, 1))
        return dh.Release(value, dh.PureDP(1), self)  # type: ignore[arg-type]


@pytest.mark.long(every=2)
@pytest.mark.parametrize(("ask", "asked", "has_error", "has_interval"), ASKED)
@pytest.mark.quick(every=6)
def test_errors_of_a_release_are_those_of_its_profile_and_its_noise(
    ask: Callable[..., Estimate], asked: dict[str, Any], has_error: bool, has_interval: bool
) -> None:
    release = dh.anonymize(PROFILE, epsilon="0.2", source=random.Random(5).randbytes)
    of_profile = ask(release.value, **asked)
    found = ask(release, resamples=12, **asked)
    drawn = further_releases(release, 12)
    values = [[ask(each, **asked).value for each in pair] for pair in drawn]
    noise = np.std(np.diff(values), ddof=1)
    assert found.value == of_profile.value
    assert found.notes[:-1] == of_profile.notes
    assert "by 12 further releases" in found.notes[-1]
    assert ("no error includes it" in found.notes[-1]) == (not has_error and not has_interval)
    assert (found.standard_error is not None) == has_error
    if has_error:
        assert found.standard_error == pytest.approx(math.hypot(of_profile.standard_error, noise))
    # Without the number of labels entropy has an interval for some releases and not for others.
    if (ask, asked.get("order")) != (renyi_entropy, 1):
        assert (found.interval is not None) == has_interval
    if found.interval is not None:
        assert found.interval[0] <= of_profile.interval[0]
        assert of_profile.interval[1] <= found.interval[1]
        assert found.interval[1] - found.interval[0] > noise


@pytest.mark.parametrize(("ask", "asked", "_error", "_interval"), ASKED)
@pytest.mark.quick(every=3)
def test_a_profile_has_no_noise(
    ask: Callable[..., Estimate], asked: dict[str, Any], _error: bool, _interval: bool
) -> None:
    assert not any("noise" in note for note in ask(PROFILE, **asked).notes)
    without = dh.Release(RELEASED, dh.PureDP(1), Shifted())  # type: ignore[arg-type]
    found, exact = (ask(source, resamples=12, **asked) for source in (without, PROFILE))
    assert found.standard_error == pytest.approx(exact.standard_error)
    if exact.interval is not None:
        assert found.interval == pytest.approx(exact.interval)


def test_parts_are_added_in_squares_and_the_shift_to_one_end() -> None:
    sampling = Estimate(10.0, "m", 3.0, (7.0, 14.0), "labels", ("note",))
    low, high = -1.0, 5.0  # mean 2, standard deviation with one degree of freedom less
    found = combine(sampling, np.array([low, high]), (0.0, 100.0))
    noise, shift = math.sqrt(18), 2.0
    below, above = math.hypot(3, 1.959964 * noise), math.hypot(4, 1.959964 * noise)
    assert found.standard_error == pytest.approx(math.hypot(3, noise))
    assert found.interval == pytest.approx((max(10 - below - shift, 0.0), 10 + above))
    other = combine(sampling, np.array([-low, -high]), (-100.0, 19.0))
    assert other.interval == pytest.approx((10 - below, 19.0))
    assert "standard deviation 4.2 and mean -2.0, by 2 further releases" in other.notes[-1]


@pytest.mark.parametrize("scale", [1e-9, 0.0042, 173.0, 1e7])
def test_notes_have_plain_numbers(scale: float) -> None:
    found = Estimate(10.0, "m", 3.0, (7.0, 14.0), "labels", ())
    note = combine(found, scale * np.array([1.0, 2.0, 4.0]), (-1e9, 1e9)).notes[-1]
    assert not re.search(r"\de[-+]\d", note)
    assert plain_number(scale * math.sqrt(7 / 3)) in note


def test_notes_have_shares_in_percent() -> None:
    share = Estimate(0.5, "m", 0.1, None, "share of records", ())
    note = combine(share, np.array([-0.001, 0.002]), (0.0, 1.0)).notes[-1]
    assert "standard deviation 0.21 % and mean 0.050 %, by 2" in note


@pytest.mark.parametrize(
    ("number", "digits", "text"),
    [
        (173.2, 2, "170"),
        (0.004217, 2, "0.0042"),
        (1234567.0, 2, "1,200,000"),
        (99.6, 2, "100"),
        (0.0996, 2, "0.10"),
        (-0.6, 2, "-0.60"),
        (0.0, 2, "0"),
        (100.0, 4, "100.0"),
    ],
)
def test_plain_numbers(number: float, digits: int, text: str) -> None:
    assert plain_number(number, digits) == text


@pytest.mark.verify
def test_only_the_release_is_used_and_for_all_properties_once() -> None:
    seen: list[dh.Profile] = []

    @dataclass(frozen=True)
    class Watched:
        def release(self, profile: dh.Profile, source: object = None) -> dh.Release:
            seen.append(profile)
            return dh.Release(profile, dh.PureDP(1), self)  # type: ignore[arg-type]

    release = dh.Release(RELEASED, dh.PureDP(1), Watched())  # type: ignore[arg-type]
    for ask, asked, _, _ in ASKED:
        ask(release, resamples=10, **asked)
    # `guessing` alone also needs releases of an even population, once.
    even = [sample for sample, _ in even_releases(release, FEWEST_EVEN)]
    assert len(seen) == 10 + FEWEST_EVEN
    assert [*(sample for sample, _ in further_releases(release, 10)), *even] == seen
    guessing(release, guesses=2, resamples=10)
    assert len(seen) == 10 + FEWEST_EVEN
    # Another value under the same guarantee and mechanism is another release.
    other = dh.Release(dh.AnonymizedHistogram([3000], [1]), dh.PureDP(1), Watched())  # type: ignore[arg-type]
    assert all(abs(p.total - 3000) < 600 for _, p in further_releases(other, 10))
    assert len(seen) == 20 + FEWEST_EVEN
    assert [p for _, p in even_releases(other, 10)] != even[:10]


@pytest.mark.usefixtures("repeatable")
def test_further_releases_differ() -> None:
    release = dh.anonymize(PROFILE, epsilon=1)
    drawn = further_releases(release, 10)
    for profiles in zip(*drawn, strict=True):
        assert len({tuple(profile.sorted_counts().tolist()) for profile in profiles}) > 1
    seeds = [random.Random(1).randbytes for _ in range(2)]
    first, second = (further_releases(release, 10, seed) for seed in seeds)
    assert first == second
    # Without a source a release has one answer, whatever was asked in between.
    further_releases.cache_clear()
    assert further_releases(release, 10) == drawn


@pytest.mark.quick(every=3)
@pytest.mark.usefixtures("repeatable")
@pytest.mark.parametrize(
    "mechanism",
    [
        dh.RankSplit(epsilon=1),
        dh.PrivHist(epsilon=1),
        dh.SortedCounts(epsilon=1, labels=120),
        dh.CumulativeCounts(epsilon=1, largest=60),
        dh.PartitionSampler(epsilon=1, delta="1e-6"),
        dh.AdaptiveScan(epsilon=1, sensitivity=2),
    ],
)
def test_every_mechanism_can_be_run_again(mechanism: Any, tmp_path: Path) -> None:
    path = tmp_path / "release.json"
    mechanism.release(PROFILE).save(path)
    found = entropy(dh.Release.load(path), labels=300, resamples=10)
    assert found.interval is not None
    assert found.interval[0] < found.value <= found.interval[1]


@pytest.mark.verify
@pytest.mark.parametrize("counts", [[], [1], [2, 1]])
def test_small_releases(counts: list[int]) -> None:
    for epsilon in ("0.05", 8):
        release = dh.anonymize(dh.Profile.from_counts(counts), epsilon=epsilon)
        for ask, asked, _, _ in ASKED:
            if asked.get("extra") == 3:  # too far ahead for so few, of a profile too
                continue
            found = ask(release, resamples=10, **asked)
            # Of order 2, records that share no label have an entropy without bound.
            assert math.isfinite(found.value) or asked == {"order": 2}
            assert found.standard_error is None or math.isfinite(found.standard_error)


def test_what_has_no_bound_has_no_error() -> None:
    nobody_twice = dh.Release(dh.AnonymizedHistogram([1], [30]), dh.PureDP(1), Shifted())  # type: ignore[arg-type]
    found = renyi_entropy(nobody_twice, order=2)
    assert found.value == math.inf
    assert found.standard_error is None
    assert "without bound" in found.notes[-1]
    sometimes = Estimate(1.0, "m", 0.1, (0.8, 1.2), "bits", ())
    none = combine(sometimes, np.array([1.0, math.inf]), (0.0, math.inf))
    assert (none.value, none.standard_error, none.interval) == (1.0, None, None)


def test_noise_may_have_added_labels() -> None:
    """The labels of a profile are no lower bound if they are those of a release."""
    release = dh.Release(RELEASED, dh.PureDP(1), Shifted(1))  # type: ignore[arg-type]
    found = support_size(release, p_min="1/300", resamples=10)
    assert found.interval is not None
    assert found.interval[0] < support_size(PROFILE, p_min="1/300").interval[0]


@pytest.mark.parametrize("resamples", [9, 0, -1, 10.0, True, 10**6 + 1, "100"])
def test_resamples_are_checked(resamples: Any) -> None:
    for source in (PROFILE, dh.Release(RELEASED, dh.PureDP(1), Shifted())):  # type: ignore[arg-type]
        with pytest.raises(ParameterError, match="resamples must be"):
            entropy(source, resamples=resamples)


def test_a_release_without_its_mechanism_is_refused() -> None:
    release = dh.Release(RELEASED, dh.PureDP(1), None)
    with pytest.raises(ParameterError, match=r"pass release\.value"):
        entropy(release)
    assert entropy(release.value).value == entropy(PROFILE).value


@pytest.mark.parametrize("count", [2**62, 2**63 - 1])
def test_totals_that_no_data_have_are_refused(count: int) -> None:
    endless = dh.Release(dh.AnonymizedHistogram([count], [1]), dh.PureDP(1), Shifted())  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"fewer than 2\*\*62 records"):
        further_releases(endless, 10)


@pytest.mark.verify
def test_samples_are_as_rough_as_data() -> None:
    """Spread 0.98 to 1.01 of the true one, 0.82 to 0.85 if the release were released again."""

    def smoothed(source: Source) -> float:
        histogram = source.value if isinstance(source, dh.Release) else source
        return support_coverage(histogram, extra=2, method="smoothed").value

    bytes_of = random.Random(9).randbytes
    rough, smooth, true = [], [], []
    for place, (profile, _) in enumerate(samples(LAWS[0], 1000, 400)):
        release = dh.anonymize(profile, epsilon="0.1", source=bytes_of)
        true.append(smoothed(release) - smoothed(profile))
        if place < 60:
            pairs = further_releases(release, 20, bytes_of)
            new = [[smoothed(other) for other in pair] for pair in pairs]
            rough.append(np.std([released - sample for sample, released in new]))
            again = [
                release.mechanism.release(as_data(release.value), bytes_of).value for _ in range(20)
            ]
            smooth.append(np.std([smoothed(other) for other in again]))
    assert 0.9 < math.sqrt(np.mean(np.square(rough))) / np.std(true) < 1.1
    assert math.sqrt(np.mean(np.square(smooth))) / np.std(true) < 0.9


def test_samples_are_poisson() -> None:
    """Labels that are gone through, counts that are, and a count too large for either."""
    population = Population(
        np.array([1e-5, 4e-4, 3e-3, 0.5]), np.array([30_000.0, 300.0, 20.0, 1.0])
    )
    n, many, random = 10_000, 400, np.random.default_rng(4)
    drawn = [draw_sample(population, n, random) for _ in range(many)]
    mean = population.probabilities * n
    for r in range(1, 60):
        chances = np.exp(r * np.log(mean) - mean - math.lgamma(r + 1))
        expected = float(population.labels @ chances)
        found = [float(p.prevalences[p.counts == r].sum()) for p in drawn]
        # Five standard deviations: fewer than one such test in 30,000 fails by chance.
        assert np.mean(found) == pytest.approx(expected, abs=5 * math.sqrt(expected / many))
        if expected > 5:
            assert 0.8 < np.var(found) / float(population.labels @ (chances * (1 - chances))) < 1.25
    totals = [p.total for p in drawn]
    assert np.mean(totals) == pytest.approx(mean @ population.labels, abs=5 * math.sqrt(n / many))


@pytest.mark.parametrize(
    ("counts", "prevalences"),
    [([2**61], [1]), ([1], [2**61]), ([2**40], [2**21])],
)
@pytest.mark.quick(every=3)
def test_samples_of_the_largest_profiles(counts: list[int], prevalences: list[int]) -> None:
    profile = dh.Profile.from_prevalences(counts, prevalences)
    population = likeliest_population(profile, 1e15)
    found = draw_sample(population, profile.total, np.random.default_rng(1))
    assert found.total == pytest.approx(profile.total, rel=1e-6)


def runs(law: int, epsilon: str, many: int, again: int) -> Iterator[tuple[dh.Release, Any, float]]:
    """Releases of profiles, further releases of each, and the entropy of the population."""
    bytes_of = random.Random(law).randbytes
    for profile, true in samples(LAWS[law], 1000, many):
        release = dh.anonymize(profile, epsilon=epsilon, source=bytes_of)
        yield release, further_releases(release, again, bytes_of), true


@pytest.mark.long(every=2)
@pytest.mark.parametrize("law", [0, 1, 2])
def test_intervals_hold_the_truth(law: int) -> None:
    """Seeded: 30, 30 and 29 of 30 do; with the noise left out 24, 20 and 18."""
    held, without, many = 0, 0, 30
    for release, again, true in runs(law, "0.05", many, 12):
        bare = entropy(release.value, labels=LABELS)
        pairs = [[entropy(p, labels=LABELS).value for p in pair] for pair in again]
        strays = np.array([released - sample for sample, released in pairs])
        found = combine(bare, strays, (0.0, math.log2(LABELS)))
        assert bare.interval is not None
        assert found.interval is not None
        held += found.interval[0] - 1e-9 <= true <= found.interval[1] + 1e-9
        without += bare.interval[0] - 1e-9 <= true <= bare.interval[1] + 1e-9
    assert held >= 0.8 * many
    assert without <= held - 0.1 * many


@pytest.mark.long(every=2)
@pytest.mark.parametrize(("factor", "agrees"), [("1", True), ("2.5", False), ("0.4", False)])
def test_the_spread_is_that_of_releases(factor: str, agrees: bool) -> None:
    """Resampled and true standard deviation are alike, but not if epsilon is another one."""
    bytes_of = random.Random(3).randbytes
    profile = samples(LAWS[1], 1000, 1)[0][0]
    releases = [dh.anonymize(profile, epsilon="0.2", source=bytes_of) for _ in range(40)]
    true = np.std([entropy(r.value, labels=LABELS).value for r in releases])
    other = dh.AdaptiveScan(epsilon=0.2 * float(factor))
    spreads = []
    for release in releases[:10]:
        wrong = dh.Release(release.value, other.guarantee, other)
        again = further_releases(wrong, 20, bytes_of)
        pairs = [[entropy(p, labels=LABELS).value for p in pair] for pair in again]
        spreads.append(np.std([released - sample for sample, released in pairs]))
    ratio = math.sqrt(np.mean(np.square(spreads))) / true
    assert (0.65 < ratio < 1.55) == agrees


def forms(n: int) -> list[LinearForm]:
    """The forms that the guide has constants of, for n records and as many labels."""
    return [
        entropy_form("plug-in"),
        entropy_form("miller-madow"),
        entropy_form("wu-yang", n),
        entropy_form("jvhw"),
        support_size_form(f"1/{n}", "plug-in"),
        support_size_form(f"1/{n}"),
        support_coverage_form(1),
        support_coverage_form(2),
        support_coverage_form(2, "smoothed-poisson"),
        power_sum_form(2),
        power_sum_form(3),
        distance_form(n, "plug-in"),
        distance_form(n),
    ]


@pytest.mark.parametrize("n", [1000, 10_000, 100_000, 1_000_000])
@pytest.mark.quick(every=2)
def test_constants_are_those_of_the_guide(n: int) -> None:
    column = round(math.log10(n)) - 2
    rows = [line.split(" | ") for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    known = {row[0].removeprefix("| "): row for row in rows}
    for form in forms(n):
        said = known[form.name][column].removesuffix(" |")
        constant, exponent = (float(number) for number in said.rstrip(")").split(" ("))
        found = form.lipschitz(n) * n
        unit = 10.0 ** (math.floor(math.log10(found)) - 2)
        # Rounded to three and to two digits; one that ends in a 5 may be rounded either way.
        assert abs(constant - found) <= 0.501 * unit, form.name
        assert abs(exponent - form.exponent(n)) <= 0.00501, form.name
        assert form.exponent(n) <= 0.5  # Corollary 1


def partitions(total: int, most: int) -> Iterator[list[int]]:
    if total == 0:
        yield []
    for first in range(min(total, most), 0, -1):
        for rest in partitions(total - first, first):
            yield [first, *rest]


@pytest.mark.verify
@pytest.mark.parametrize("place", range(13))
def test_one_cell_moves_the_sum_by_the_constant_at_most(place: int) -> None:
    """All diagrams of up to 8 cells, with every cell that can be added; n is held at 9."""
    n = 9
    form = forms(n)[place]
    largest = 0.0
    for total in range(n):
        for counts in partitions(total, total):
            for i in range(len(counts) + 1):
                more = [*counts, 0]
                more[i] += 1
                sums = [
                    math.fsum(form.weights(np.array([c for c in held if c], np.int64), n))
                    for held in (counts, more)
                ]
                largest = max(largest, abs(sums[1] - sums[0]))
    assert largest == pytest.approx(form.lipschitz(n), rel=1e-9)


def test_sums_of_the_forms_are_the_estimates() -> None:
    n, k = PROFILE.total, 300
    counts, phi = PROFILE.counts, PROFILE.prevalences
    for method in ("plug-in", "miller-madow"):
        found = phi @ entropy_form(method).weights(counts, n)
        assert found == pytest.approx(entropy(PROFILE, method=method, base=math.e).value)
    size = phi @ support_size_form(f"1/{k}").weights(counts, n)
    assert size * k == pytest.approx(support_size(PROFILE, p_min=f"1/{k}").value)
    new = phi @ support_coverage_form(2).weights(counts, n)
    assert new * 2 * n == pytest.approx(support_coverage(PROFILE, extra=2, method="smoothed").value)
    collisions = phi @ power_sum_form(2).weights(counts, n)
    assert -math.log2(collisions) == pytest.approx(renyi_entropy(PROFILE, order=2).value)
    # Here all k labels have a weight: that of a label without records is taken off.
    distance = phi @ distance_form(k, "plug-in").weights(counts, n) + 1 / 2
    assert distance == pytest.approx(
        distance_to_uniformity(PROFILE, labels=k, method="plug-in").value
    )


def test_constants_in_closed_form() -> None:
    n = 500
    assert entropy_form("plug-in").lipschitz(n) == pytest.approx(math.log(n) / n)
    assert support_size_form("1/70", "plug-in").lipschitz(n) == pytest.approx(1 / 70)
    assert support_coverage_form(1).lipschitz(n) == pytest.approx(2 / n)
    assert power_sum_form(3).lipschitz(n) == pytest.approx(3 / n)
    assert distance_form(40, "plug-in").lipschitz(n) == pytest.approx(1 / (2 * n))
    # The largest step may be far right, and pieces must not lose it.
    late = LinearForm("step", lambda counts, n: (counts > 2**16) * 1.0)  # type: ignore[arg-type, return-value]
    assert late.lipschitz(2**17) == 1
    assert late.lipschitz(2**16) == 0
    assert late.exponent(2**16) == -math.inf


def test_what_forms_refuse() -> None:
    for make in (entropy_form, lambda m: support_size_form("1/9", m)):
        with pytest.raises(ParameterError, match="method"):
            make("apml")
    with pytest.raises(ParameterError, match="order"):
        power_sum_form(1)
    with pytest.raises(ParameterError, match="order"):
        power_sum_form(5).lipschitz(4)
    for n in (0, 10**7 + 1):
        with pytest.raises(ParameterError, match="n must be"):
            entropy_form().lipschitz(n)
    with pytest.raises(ParameterError, match="n must be"):
        entropy_form().exponent(1)
    with pytest.raises(ParameterError, match="extra"):
        support_coverage_form(0)
    with pytest.raises(ParameterError, match="p_min"):
        support_size_form(2)


def test_a_call_for_anything_that_is_not_a_release_returns_what_was_found() -> None:
    found = Estimate(1.0, "m", None, None, "bits", ())
    assert include_noise(PROFILE, found, lambda p: 2.0, 10) == found
