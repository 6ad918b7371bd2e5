"""The exact law of the partition sampler, from its own tables, against enumeration.

Lemmas 1 to 5 of docs/proofs/partition_sampler.md.
"""

import dataclasses
import math
from collections import Counter
from collections.abc import Iterator

import mpmath
import numpy as np
import pytest
from scipy.stats import chisquare

from dphist import PartitionSampler, Profile
from dphist.anonymized import partition_sampler, partition_windows
from dphist.anonymized.band import from_rows_and_columns
from dphist.anonymized.partition_paths import Half, Paths, log_uniforms
from dphist.anonymized.partition_windows import Windows, radius, windows_around
from dphist.errors import DphistError
from tests.privacy.diagrams import Partition, neighbour_pairs, pairs_within, partitions, profile

FAR = 60  # a window of this radius misses nothing that enumeration could see


def rows_and_columns(partition: Partition) -> tuple[list[int], list[int]]:
    """The halves of a partition: entries not below its Durfee side, in and beyond the square."""
    side = sum(count >= i for i, count in enumerate(partition, start=1))
    columns = [sum(count >= r for count in partition) for r in range(1, side + 1)]
    return list(partition[:side]), columns


def log_chance(half: Half, entries: list[int]) -> float:
    """Logarithm of the probability that `half.draw` gives these entries; -inf outside."""
    chance, least = 0.0, len(entries)
    for i in reversed(range(len(entries))):
        sums, j = half.sums[i], int(half.most[i]) - entries[i]
        end = min(int(half.most[i]) - least, len(sums) - 1)
        if not 0 <= j <= end:
            return -math.inf
        below = -math.inf if j == 0 else float(sums[j - 1])
        weight = float(sums[j]) + math.log(-math.expm1(below - float(sums[j])))
        chance += weight - float(sums[end])
        least = entries[i]
    return chance


def log_probability(paths: Paths, partition: Partition) -> float:
    """Logarithm of the probability that `paths.draw` gives a partition."""
    rows, columns = rows_and_columns(partition)
    place = len(rows) - paths.smallest
    if not 0 <= place < len(paths.side_weights):
        return -math.inf
    chance = float(paths.side_weights[place]) - paths.log_weight()
    return chance + log_chance(paths.rows, rows) + log_chance(paths.columns, columns)


def paths_around(data: Partition, rate: float, distance: int) -> Paths:
    return Paths.within(windows_around(profile(data), distance), profile(data), rate)


def distance(one: Partition, other: Partition) -> int:
    return profile(one).distance(profile(other))


def every_partition(most: int) -> Iterator[Partition]:
    for n in range(most + 1):
        yield from partitions(n)


def log_sum(rate: float) -> float:
    """Logarithm of the sum of exp(-rate n) over all partitions (Euler)."""
    return -sum(math.log1p(-math.exp(-rate * j)) for j in range(1, math.ceil(60 / rate)))


@pytest.mark.parametrize("rate", [0.3, 1.5])
def test_law_is_that_of_the_exponential_mechanism(rate: float) -> None:
    """Every partition's probability is exp(-rate d) / Z, with one Z: all data of n <= 7."""
    for data in every_partition(7):
        paths = paths_around(data, rate, FAR)
        for output in every_partition(10):
            expected = -rate * distance(data, output) - paths.log_weight()
            assert log_probability(paths, output) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("rate", [2.0, 3.5])
def test_weights_sum_to_those_of_a_full_enumeration(rate: float) -> None:
    """n <= 12, all partitions up to 24: what is larger weighs less than 1e-7 of the whole."""
    outputs = list(every_partition(24))
    for data in [(), (4, 4, 4), (1,) * 12, (5, 3, 2, 1, 1)]:
        whole = math.fsum(math.exp(-rate * distance(data, output)) for output in outputs)
        assert paths_around(data, rate, FAR).log_weight() == pytest.approx(
            math.log(whole), abs=1e-6
        )


@pytest.mark.parametrize("rate", [1.0, 0.1, 0.01, 0.002])
def test_weights_around_nothing_sum_to_euler_s_product(rate: float) -> None:
    log_mass = math.log(1e12)
    paths = paths_around((), rate, radius(0, rate, log_mass))
    assert paths.log_weight() == pytest.approx(log_sum(rate), rel=1e-11)


@pytest.mark.parametrize("data", [(), (3, 1), (4, 4, 4), (6, 3, 1, 1, 1)])
def test_draws_follow_the_law(data: Partition, seeded) -> None:
    """40,000 draws against exp(-rate d) / Z, for n <= 12; false alarms below 1e-6."""
    mechanism, source = PartitionSampler(epsilon=2, delta=1e-9), seeded(1)
    paths = paths_around(data, mechanism.rate, mechanism.distance(profile(data)))
    drawn: Counter[Partition] = Counter()
    for _ in range(40_000):
        value = from_rows_and_columns(*paths.draw(source))
        drawn[tuple(value.sorted_counts().tolist())] += 1
    law = {
        output: math.exp(-mechanism.rate * distance(data, output) - paths.log_weight())
        for output in every_partition(20)
    }
    common = [output for output, chance in law.items() if 40_000 * chance >= 5]
    observed = np.array([drawn[output] for output in common])
    observed = np.append(observed, 40_000 - observed.sum())

    def p_value(chances: np.ndarray) -> float:
        return float(chisquare(observed, 40_000 * np.append(chances, 1 - chances.sum())).pvalue)

    chances = np.array([law[output] for output in common])
    assert p_value(chances) > 1e-6
    # Power: the law of a rate a fifth larger is rejected.
    wrong = chances * np.exp(-0.2 * np.array([distance(data, output) for output in common]))
    assert p_value(wrong * chances.sum() / wrong.sum()) < 1e-6


def test_release_is_what_the_paths_draw(seeded) -> None:
    data = profile((9, 5, 5, 2, 1, 1))
    mechanism = PartitionSampler(epsilon="0.7", delta=1e-5)
    release = mechanism.release(data, seeded(3))
    paths = paths_around((9, 5, 5, 2, 1, 1), 0.35, mechanism.distance(data))
    assert release.value == from_rows_and_columns(*paths.draw(seeded(3)))
    assert release.total is None
    assert not release.noisy


def test_a_release_draws_at_its_rate_from_the_window_that_delta_sets(monkeypatch) -> None:
    mechanism = PartitionSampler(epsilon="0.8", delta="0.01", sensitivity=2)
    data, asked, within = profile((5, 2)), [], Paths.within

    def windows(around: Profile, distance: int) -> Windows:
        asked.append(distance)
        return windows_around(around, distance)

    def paths(windows: Windows, around: Profile, rate: float) -> Paths:
        asked.append(rate)
        return within(windows, around, rate)

    monkeypatch.setattr(partition_sampler, "windows_around", windows)
    monkeypatch.setattr(Paths, "within", paths)
    mechanism.release(data)
    assert asked == [mechanism.distance(data), 0.2]


@pytest.mark.parametrize(
    ("epsilon", "delta", "sensitivity"),
    [(1, "1e-9", 1), ("0.1", "0.01", 1), (6, "1e-3", 3), (1, "1e-330", 1)],
)
def test_radius_is_taken_for_the_stated_parameters(epsilon, delta, sensitivity) -> None:
    """delta / (1 + exp(epsilon)) is cut, at the rate that is drawn with."""
    data = profile((30, 4, 4, 1))
    mechanism = PartitionSampler(epsilon=epsilon, delta=delta, sensitivity=sensitivity)
    rate = float(epsilon) / sensitivity / 2
    digits = mpmath.mpf(delta) / (1 + mpmath.exp(float(epsilon)))
    assert mechanism.distance(data) == radius(data.total, rate, -float(mpmath.log(digits)))


def test_without_a_source_the_operating_system_is_asked(monkeypatch) -> None:
    asked, urandom = [], partition_sampler.os.urandom

    def counted(size: int) -> bytes:
        asked.append(size)
        return urandom(size)

    monkeypatch.setattr(partition_sampler.os, "urandom", counted)
    PartitionSampler(epsilon=9, delta=1e-9).release(profile((5, 5, 2)))
    assert asked[0] == 8  # the side
    assert asked[1] % 16 == 0  # as many rows as columns


def test_uniform_numbers_use_all_their_bits(seeded) -> None:
    uniforms = np.exp(log_uniforms(seeded(1), 100_000))
    assert np.all((uniforms > 0) & (uniforms <= 1))
    assert chisquare(np.histogram(uniforms, 50, (0, 1))[0]).pvalue > 1e-6
    words = np.array([2**64 - 2**k for k in range(11, 17)], np.uint64)
    assert len(set(log_uniforms(lambda size: words.tobytes(), 6).tolist())) == 6
    largest = log_uniforms(lambda size: b"\xff" * size, 1)[0]
    smallest = log_uniforms(lambda size: b"\x00" * size, 1)[0]
    assert largest <= 0
    assert smallest == pytest.approx(-65 * math.log(2))


# --- the guarantee ---------------------------------------------------------------------------


def losses(mechanism: PartitionSampler, one: Partition, other: Partition) -> tuple[float, float]:
    """Largest log-ratio over outputs in both supports, and the mass beyond exp(epsilon)."""
    laws = [
        paths_around(data, mechanism.rate, mechanism.distance(profile(data)))
        for data in (one, other)
    ]
    worst, beyond = 0.0, 0.0
    for output in every_partition(14):
        a, b = (log_probability(paths, output) for paths in laws)
        if math.isfinite(a) and math.isfinite(b):
            worst = max(worst, abs(a - b))
        excess = math.exp(a) - math.exp(float(mechanism.epsilon) + b)
        beyond += max(excess, 0.0)
    return worst, beyond


@pytest.mark.parametrize("epsilon", ["0.5", 1, 4])
def test_log_ratios_of_neighbours_are_within_epsilon(epsilon) -> None:
    """All n <= 4: exact law from the tables, outputs up to 14 records."""
    mechanism = PartitionSampler(epsilon=epsilon, delta=1e-9)
    found = [losses(mechanism, *pair) for pair in neighbour_pairs(3)]
    # Cutting mass eta moves both normalisations by that factor.
    assert max(worst for worst, _ in found) <= float(mechanism.epsilon) + 1e-8
    assert max(beyond for _, beyond in found) <= 1e-9
    assert max(worst for worst, _ in found) > float(mechanism.epsilon) / 2


def test_units_of_several_cells_are_protected() -> None:
    mechanism = PartitionSampler(epsilon=2, sensitivity=2, delta=1e-9)
    found = [losses(mechanism, *pair)[0] for pair in pairs_within(2, 4)]
    assert 1 < max(found) <= 2 + 1e-8


class TwiceTheRate(PartitionSampler):
    """exp(-epsilon d): forgets that the normalisation changes too."""

    __slots__ = ()

    @property
    def rate(self) -> float:
        return float(self.epsilon / self.sensitivity)


class UnitIgnored(PartitionSampler):
    __slots__ = ()

    @property
    def rate(self) -> float:
        return float(self.epsilon / 2)


def test_planted_rates_are_caught() -> None:
    assert (
        max(losses(TwiceTheRate(epsilon=1, delta=1e-9), *pair)[0] for pair in neighbour_pairs(3))
        > 1.05
    )
    mechanism = UnitIgnored(epsilon=1, sensitivity=2, delta=1e-9)
    assert max(losses(mechanism, *pair)[0] for pair in pairs_within(2, 3)) > 1.05


def kept(windows: Windows, data: Partition, rate: float, whole: float) -> float:
    """Share of the mechanism's law around `data` that lies in windows, of `data` or others."""
    own = windows_around(profile(data), 1)
    rows = dataclasses.replace(windows.rows, true=padded(own.rows.true, windows.largest))
    columns = dataclasses.replace(windows.columns, true=padded(own.columns.true, windows.largest))
    moved = dataclasses.replace(windows, rows=rows, columns=columns)
    return math.exp(Paths.within(moved, profile(data), rate).log_weight() - whole)


def padded(entries: np.ndarray, length: int) -> np.ndarray:
    return np.append(entries, np.zeros(max(length - len(entries), 0), np.int64))[:length]


@pytest.mark.parametrize("epsilon", ["1", "0.2", "0.02"])
def test_our_window_keeps_its_delta_around_nothing(epsilon: str) -> None:
    """The law of an empty input is known exactly, and hardest: nothing holds it together."""
    mechanism = PartitionSampler(epsilon=epsilon, delta=1e-9)
    whole = log_sum(mechanism.rate)
    windows = windows_around(profile(()), mechanism.distance(profile(())))
    cut = -math.expm1(Paths.within(windows, profile(()), mechanism.rate).log_weight() - whole)
    assert (1 + math.exp(float(mechanism.epsilon))) * cut <= 1e-9


def literature_distance(total: int, epsilon: float, delta: float) -> int:
    """2 d for d = floor((c1 sqrt(n) - c2 ln delta) / epsilon).

    The constants are those of the exponential mechanism's utility bound over exp(c sqrt(n))
    partitions: c1 = 2 c, c2 = 2.
    """
    c = math.pi * math.sqrt(2 / 3)
    return 2 * math.floor((2 * c * math.sqrt(total) - 2 * math.log(delta)) / epsilon)


def delta_at_least(
    around: Partition, against: Partition, rate: float, distances: list[int]
) -> float:
    """Probability under one law of outputs that the other, neighbouring one cannot give."""
    windows = [
        windows_around(profile(data), d)
        for data, d in zip((around, against), distances, strict=True)
    ]
    whole = Paths.within(windows[0], profile(around), rate).log_weight()
    return 1 - kept(windows[1], around, rate, whole)


def test_the_literature_s_window_fails_where_ours_does_not() -> None:
    """One record or none at epsilon = 0.02, delta = 1e-9 claimed: a wrong window shows it."""
    mechanism = PartitionSampler(epsilon="0.02", delta=1e-9)
    pair = (1,), ()
    theirs = [literature_distance(sum(data), 0.02, 1e-9) for data in pair]
    assert delta_at_least(*pair, mechanism.rate, theirs) > 0.7
    ours = [mechanism.distance(profile(data)) for data in pair]
    assert delta_at_least(*pair, mechanism.rate, ours) < 1e-9


@pytest.mark.parametrize("rate", [0.5, 1.0, 2.0])
def test_radius_bounds_the_tail_by_enumeration(rate: float) -> None:
    """Small data and mass: Pr[d > D] from the exact weights of all partitions up to 20 records."""
    for data in [(), (2, 1), (4, 4), (1,) * 6]:
        weights = Counter(distance(data, output) for output in every_partition(20))
        total = sum(how_many * math.exp(-rate * d) for d, how_many in weights.items())
        for missed in (0.5, 0.1, 0.01):
            bound = radius(sum(data), rate, -math.log(missed))
            tail = sum(h * math.exp(-rate * d) for d, h in weights.items() if d > bound)
            assert tail / total <= missed


def test_the_radius_of_a_rate_too_large_would_be_noticed() -> None:
    """Power: with twice the rate the radius around nothing is too small for its mass."""
    rate = 0.01
    windows = windows_around(profile(()), radius(0, 4 * rate, math.log(1e9)))
    cut = -math.expm1(Paths.within(windows, profile(()), rate).log_weight() - log_sum(rate))
    assert cut > 1e-9


def test_the_largest_square_there_may_be_is_an_error_of_ours(recwarn) -> None:
    """No number wraps on the way to finding that the windows fit nowhere."""
    square = Profile.from_prevalences([2**31], [2**31 - 1])
    windows = windows_around(Profile.from_prevalences([2**20], [2**20]), 10)
    assert windows.largest == 2**20
    with pytest.MonkeyPatch.context() as patch, pytest.raises(DphistError, match="memory"):
        patch.setattr(partition_windows, "row_windows", no_memory)
        PartitionSampler(epsilon=1, delta=1e-9).release(square)
    assert len(recwarn) == 0


def no_memory(*arguments: object) -> None:
    raise MemoryError("Unable to allocate 918273645 bytes")


def test_memory_that_runs_out_is_no_leak(monkeypatch) -> None:
    monkeypatch.setattr(Half, "over", no_memory)
    with pytest.raises(DphistError, match="not enough memory") as caught:
        PartitionSampler(epsilon=1, delta=1e-9).release(Profile.from_counts([7]))
    assert "918273645" not in f"{caught.value}{caught.value.__context__}{caught.value.__cause__}"
