"""The exact law of the partition sampler, from its own tables, against enumeration.

Lemmas 1, 2, 4, 5 and 6 of docs/understand/proofs/partition_sampler.md.
"""

import math
import os
from collections import Counter
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.stats import chisquare

from dphist import PartitionSampler, Profile
from dphist.anonymized.band import from_rows_and_columns
from dphist.anonymized.partition_sampler import measuring as partition_measuring
from dphist.anonymized.partition_sampler import proposals as partition_proposals
from dphist.anonymized.partition_sampler.proposals import Proposals
from dphist.anonymized.partition_sampler.radius import radius
from dphist.anonymized.partition_sampler.windows import Choices, Windows, find_windows
from tests.support.privacy.diagrams import (
    Partition,
    neighbour_pairs,
    pairs_within,
    partitions,
    profile,
)
from tests.support.privacy.partition_reference import (
    as_proposal,
    chance_of,
    chance_to_keep,
    choices_around,
    distance,
    every_partition,
    in_windows,
    is_within,
    log_of,
    log_probability,
    log_weight,
)

FAR = 60  # a window of this radius misses nothing that enumeration could see
# Proposals are rejected less often than this, so laws normalised by all that is proposed are
# this near to those of what is kept.
REJECTED = 1e-6


def paths_around(data: Partition, rate: Fraction, distance: int) -> Proposals:
    return Proposals.within(choices_around(data, distance), rate)


def log_sum(rate: float) -> float:
    """Logarithm of the sum of exp(-rate n) over all partitions (Euler)."""
    return -sum(math.log1p(-math.exp(-rate * j)) for j in range(1, math.ceil(60 / rate)))


# --- the law (Lemmas 1, 5, 6) ----------------------------------------------------------------


def constants(paths: Proposals, data: Partition, most: int) -> set[tuple[int, Fraction]]:
    """What Q R is, but for exp(-rate d): one number if the law is exact, as fractions."""
    found = set()
    for output in every_partition(most):
        proposal = as_proposal(output)
        if is_within(paths.choices, proposal):
            cells, share = chance_to_keep(paths, proposal)
            whole = chance_of(paths, proposal) * share
            found.add((cells - distance(data, output), whole))
    return found


EPSILONS = ["0.01", "0.1", "1", "5", "16", "64", "1000"]


@pytest.mark.long(every=2)
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.quick("[0.1]")
def test_law_is_exactly_that_of_the_exponential_mechanism(epsilon: str) -> None:
    """Proposed and kept with probability exp(-rate d) times one number, without rounding."""
    mechanism = PartitionSampler(epsilon=epsilon, delta="1e-30")
    most = 8 if float(epsilon) >= 1 else 5
    for data in every_partition(4 if float(epsilon) >= 1 else 2):
        paths = mechanism._proposals(profile(data))
        assert paths.powers.rate == Fraction(epsilon) / 2
        ((cells, constant),) = constants(paths, data, most)
        # Nearly everything proposed is kept, and it is the whole of the windows' weight.
        kept = (
            log_of(constant)
            - float(paths.powers.rate) * cells
            + log_weight(paths.choices, data, float(paths.powers.rate))
        )
        assert -REJECTED < kept <= 1e-9


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.quick("[5]")
def test_nothing_is_kept_with_more_than_certainty(epsilon: str) -> None:
    for data in [(), (3, 1), (2, 2, 2), (7,)]:
        proposals = PartitionSampler(epsilon=epsilon, delta="1e-30")._proposals(profile(data))
        for output in every_partition(6):
            proposal = as_proposal(output)
            if is_within(proposals.choices, proposal):
                assert 0 <= proposals.ratio(proposal).enclose(200)[1] < 1 << 200


@pytest.mark.parametrize("piece", [1, 3, 16])
def test_the_law_does_not_depend_on_where_exponents_change(piece: int, monkeypatch) -> None:
    monkeypatch.setattr(partition_proposals, "_PIECE", piece)
    for data in [(), (3, 1), (4, 4, 4), (9,)]:
        assert len(constants(paths_around(data, Fraction(1, 2), FAR), data, 9)) == 1


@pytest.mark.long(every=2)
@pytest.mark.parametrize("data", [(), (4, 4, 4), (1,) * 12, (5, 3, 2, 1, 1)])
@pytest.mark.parametrize("rate", [2.0, 3.5])
def test_weights_sum_to_those_of_a_full_enumeration(rate: float, data: Partition) -> None:
    """n <= 12, all partitions up to 24: what is larger weighs less than 1e-7 of the whole."""
    whole = math.fsum(math.exp(-rate * distance(data, output)) for output in every_partition(24))
    paths = paths_around(data, Fraction(rate), FAR)
    log = log_probability(paths, data)
    assert -log == pytest.approx(math.log(whole), abs=2 * REJECTED)


@pytest.mark.parametrize("rate", ["1", "0.1", "0.01", "0.002"])
@pytest.mark.quick(every=2)
def test_weights_around_nothing_sum_to_euler_s_product(rate: str) -> None:
    exact = Fraction(rate)
    paths = paths_around((), exact, radius(0, exact, Fraction(28)))
    assert -log_probability(paths, ()) == pytest.approx(log_sum(float(exact)), abs=1e-4)


def fits(drawn: Counter[Partition], data: Partition, rate: float) -> tuple[float, float]:
    """p-values of a sample under the law, and under that of a rate a fifth larger."""
    runs = drawn.total()
    chances = {output: math.exp(-rate * distance(data, output)) for output in every_partition(20)}
    whole = math.exp(log_weight(choices_around(data, FAR), data, rate))
    common = [output for output in chances if runs * chances[output] / whole >= 5]
    observed = np.array([drawn[output] for output in common])
    observed = np.append(observed, runs - observed.sum())

    def p_value(law: np.ndarray) -> float:
        return float(chisquare(observed, runs * np.append(law, 1 - law.sum())).pvalue)

    law = np.array([chances[output] / whole for output in common])
    wrong = law * np.exp(-0.2 * np.array([distance(data, output) for output in common]))
    return p_value(law), p_value(wrong * law.sum() / wrong.sum())


@pytest.mark.long(every=2)
@pytest.mark.parametrize("data", [(), (3, 1), (4, 4, 4), (6, 3, 1, 1, 1)])
@pytest.mark.verify
def test_draws_follow_the_law(data: Partition, seeded) -> None:
    """20,000 draws against exp(-rate d) / Z, for n <= 12; false alarms below 1e-6."""
    mechanism, source = PartitionSampler(epsilon=2, delta=1e-9), seeded(1)
    paths = mechanism._proposals(profile(data))
    drawn = Counter(as_partition(paths.draw(source)) for _ in range(20_000))
    right, wrong = fits(drawn, data, 1.0)
    assert right > 1e-6
    assert wrong < 1e-6


@pytest.mark.parametrize("data", [(), (3, 1)])
@pytest.mark.long(every=2)
def test_draws_without_float_tables_follow_the_law(data: Partition, seeded, monkeypatch) -> None:
    """4,000 draws of those that come after too many rejections."""
    monkeypatch.setattr(partition_proposals, "TRIES", 0)
    source, paths = seeded(2), paths_around(data, Fraction(1), 6)
    drawn = Counter(as_partition(paths.draw(source)) for _ in range(4000))
    assert all(is_within(paths.choices, as_proposal(output)) for output in drawn)
    chances = {
        output: math.exp(-distance(data, output))
        for output in every_partition(15)
        if is_within(paths.choices, as_proposal(output))
    }
    whole = math.exp(log_weight(paths.choices, data, float(paths.powers.rate)))
    assert sum(chances.values()) <= whole * (1 + 1e-9)
    common = [output for output in chances if 4000 * chances[output] / whole >= 5]
    observed = np.array([drawn[output] for output in common])
    law = np.array([chances[output] / whole for output in common])
    wrong = law * np.exp(-0.4 * np.array([distance(data, output) for output in common]))
    wrong *= law.sum() / wrong.sum()
    observed = np.append(observed, 4000 - observed.sum())
    assert chisquare(observed, 4000 * np.append(law, 1 - law.sum())).pvalue > 1e-6
    assert chisquare(observed, 4000 * np.append(wrong, 1 - wrong.sum())).pvalue < 1e-6


def as_partition(drawn: tuple[np.ndarray, np.ndarray]) -> Partition:
    return tuple(from_rows_and_columns(*drawn).sorted_counts().tolist())


# --- what a release does ---------------------------------------------------------------------


def test_release_is_what_the_paths_draw(seeded) -> None:
    data = profile((9, 5, 5, 2, 1, 1))
    mechanism = PartitionSampler(epsilon="0.7", delta=1e-5)
    release = mechanism.release(data, seeded(3))
    paths = paths_around((9, 5, 5, 2, 1, 1), Fraction(7, 20), mechanism.distance(data))
    assert release.value == from_rows_and_columns(*paths.draw(seeded(3)))
    assert release.total is None
    assert not release.noisy


def test_a_release_draws_at_its_rate_from_the_window_that_delta_sets(monkeypatch) -> None:
    mechanism = PartitionSampler(epsilon="0.8", delta="0.01", sensitivity=2)
    data, asked, within = profile((5, 2)), [], Proposals.within

    def windows(around: Profile, distance: int) -> Windows:
        asked.append(distance)
        return find_windows(around, distance)

    def paths(choices: Choices, rate: Fraction) -> Proposals:
        asked.append(rate)  # type: ignore[arg-type]
        return within(choices, rate)

    monkeypatch.setattr(partition_measuring, "find_windows", windows)
    monkeypatch.setattr(Proposals, "within", paths)
    mechanism.release(data)
    assert asked == [mechanism.distance(data), Fraction(1, 5)]


def test_without_a_source_the_operating_system_is_asked(monkeypatch) -> None:
    asked, urandom = [], os.urandom

    def counted(size: int) -> bytes:
        asked.append(size)
        return urandom(size)

    monkeypatch.setattr(os, "urandom", counted)
    PartitionSampler(epsilon=9, delta=1e-9).release(profile((5, 5, 2)))
    assert asked[0] == 8  # the side
    assert asked[-1] == 8  # whether to keep what was proposed


# --- what is cut (Lemmas 2 and 4) ------------------------------------------------------------


def log_tail(total: int, rate: float, distance: int) -> mpmath.mpf:
    """The bound of Lemma 2, at the best of the t that are tried, in 30 digits."""
    with mpmath.workdps(30):
        c, theta, bounds = mpmath.pi * mpmath.sqrt(mpmath.mpf(2) / 3), mpmath.mpf(rate), []
        for k in range(1, 4096):
            t = theta * k / 4096
            log_z = mpmath.log(2) + c * mpmath.sqrt(total) + c * c / (2 * t)
            bounds.append(log_z - mpmath.log(-mpmath.expm1(-t / 2)) - (theta - t) * distance)
        return min(bounds)


CUT = [
    *[(1, "1e-9", 1), ("0.1", "0.01", 1), (6, "1e-3", 3), (1, "1e-330", 1), (40, "1e-300", 1)],
    *[("0.5", "0.999999", 1), (16, "1e-30", 1), (64, "1e-30", 4)],
]


@pytest.mark.long(every=2)
@pytest.mark.quick("[1-1e-9-1]", "[0.1-0.01-1]", "[6-1e-3-3]", every=3)
@pytest.mark.parametrize(("epsilon", "delta", "sensitivity"), CUT)
def test_a_release_cuts_delta_over_one_plus_e_to_the_epsilon_and_no_less(
    epsilon, delta, sensitivity, monkeypatch
) -> None:
    """The windows that are drawn from leave out that mass by Lemma 2, and with two less more."""
    asked = []

    def windows(around: Profile, distance: int) -> Windows:
        asked.append(distance)
        return find_windows(around, distance)

    monkeypatch.setattr(partition_measuring, "find_windows", windows)
    data = profile((30, 4, 4, 1))
    PartitionSampler(epsilon=epsilon, delta=delta, sensitivity=sensitivity).release(data)
    (found,) = asked
    allowed = mpmath.log(mpmath.mpf(delta)) - mpmath.log1p(mpmath.exp(mpmath.mpf(epsilon)))
    rate = mpmath.mpf(epsilon) / sensitivity / 2
    assert log_tail(data.total, rate, found) <= allowed
    assert log_tail(data.total, rate, found - 2) > allowed


@pytest.mark.quick("[1]")
@pytest.mark.parametrize("rate", ["0.5", "1", "2"])
def test_radius_bounds_the_tail_by_enumeration(rate: str) -> None:
    """Small data and mass: Pr[d > D] from the exact weights of all partitions up to 20 records."""
    for data in [(), (2, 1), (4, 4), (1,) * 6]:
        weights = Counter(distance(data, output) for output in every_partition(20))
        chances = {d: h * math.exp(-float(rate) * d) for d, h in weights.items()}
        for missed in (0.5, 0.1, 0.01):
            bound = radius(sum(data), Fraction(rate), Fraction(-math.log(missed)))
            tail = sum(chance for d, chance in chances.items() if d > bound)
            assert tail / sum(chances.values()) <= missed


@pytest.mark.parametrize("epsilon", ["1", "0.2", "0.02"])
def test_our_window_keeps_its_delta_around_nothing(epsilon: str) -> None:
    """The law of an empty input is known exactly, and hardest: nothing holds it together."""
    mechanism = PartitionSampler(epsilon=epsilon, delta=1e-9)
    rate = float(mechanism.rate)
    cut = cut_around_nothing(rate, mechanism.distance(profile(())))
    assert (1 + math.exp(float(mechanism.epsilon))) * cut <= 1e-9


def cut_around_nothing(rate: float, distance: int) -> float:
    return -math.expm1(log_weight(choices_around((), distance), (), rate) - log_sum(rate))


def test_the_radius_of_a_rate_too_large_would_be_noticed() -> None:
    """Power: with twice the rate the radius around nothing is too small for its mass."""
    assert cut_around_nothing(0.01, radius(0, Fraction(4, 100), Fraction(math.log(1e9)))) > 1e-9


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
    ours = choices_around(around, distances[0])
    shared = in_windows(find_windows(profile(against), distances[1]), around)
    return -math.expm1(log_weight(shared, around, rate) - log_weight(ours, around, rate))


def test_the_literature_s_window_fails_where_ours_does_not() -> None:
    """One record or none at epsilon = 0.02, delta = 1e-9 claimed: a wrong window shows it."""
    mechanism = PartitionSampler(epsilon="0.02", delta=1e-9)
    pair, rate = ((1,), ()), float(mechanism.rate)
    theirs = [literature_distance(sum(data), 0.02, 1e-9) for data in pair]
    assert delta_at_least(*pair, rate, theirs) > 0.7
    ours = [mechanism.distance(profile(data)) for data in pair]
    assert delta_at_least(*pair, rate, ours) < 1e-9


# --- the guarantee ---------------------------------------------------------------------------


def losses(
    mechanism: PartitionSampler, one: Partition, other: Partition, most: int = 14
) -> tuple[float, float]:
    """Largest log-ratio over outputs in both supports, and the mass beyond exp(epsilon)."""
    laws = [mechanism._proposals(profile(data)) for data in (one, other)]
    worst, beyond = 0.0, 0.0
    for output in every_partition(most):
        a, b = (log_probability(paths, output) for paths in laws)
        if math.isfinite(a) and math.isfinite(b):
            worst = max(worst, abs(a - b))
        excess = math.exp(a) - math.exp(float(mechanism.epsilon) + 2 * REJECTED + b)
        beyond += max(excess, 0.0)
    return worst, beyond


@pytest.mark.parametrize("epsilon", ["0.5", 1, 4])
@pytest.mark.quick(every=3)
def test_log_ratios_of_neighbours_are_within_epsilon(epsilon) -> None:
    """All n <= 4: exact law from the tables, outputs up to 8 records."""
    mechanism = PartitionSampler(epsilon=epsilon, delta=1e-9)
    found = [losses(mechanism, *pair, most=8) for pair in neighbour_pairs(3)]
    # Cutting mass eta moves both normalisations by that factor.
    assert max(worst for worst, _ in found) <= float(mechanism.epsilon) + 2 * REJECTED
    assert max(beyond for _, beyond in found) <= 1e-9
    assert max(worst for worst, _ in found) > float(mechanism.epsilon) / 2


def test_units_of_several_cells_are_protected() -> None:
    mechanism = PartitionSampler(epsilon=2, sensitivity=2, delta=1e-9)
    found = [losses(mechanism, *pair, most=7)[0] for pair in pairs_within(2, 4)]
    assert 1 < max(found) <= 2 + 2 * REJECTED


class TwiceTheRate(PartitionSampler):
    """exp(-epsilon d): forgets that the normalisation changes too."""

    __slots__ = ()

    @property
    def rate(self) -> Fraction:
        return self.epsilon / self.sensitivity


class UnitIgnored(PartitionSampler):
    __slots__ = ()

    @property
    def rate(self) -> Fraction:
        return self.epsilon / 2


def test_planted_rates_are_caught() -> None:
    twice = TwiceTheRate(epsilon=1, delta=1e-9)
    assert max(losses(twice, *pair, most=6)[0] for pair in neighbour_pairs(3)) > 1.05
    ignored = UnitIgnored(epsilon=1, sensitivity=2, delta=1e-9)
    assert max(losses(ignored, *pair, most=6)[0] for pair in pairs_within(2, 3)) > 1.05


def test_the_law_of_what_is_proposed_alone_would_be_noticed() -> None:
    """Power: proposals have to be kept with different probabilities for the law to be exact."""
    proposals = paths_around((3, 1), Fraction(1, 2), FAR)
    ratios = {proposals.ratio(as_proposal(output)).enclose(100) for output in partitions(6)}
    assert len(ratios) > 1
