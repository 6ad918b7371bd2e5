"""Exact laws of what is released, on all small neighbours.

The mechanism itself runs, with its sampler replaced by one that records the parameter it is
asked for and adds nothing. From that the law of every noisy count is known exactly. Counts
are clamped to a window, tails included in its ends, so that every probability is positive;
clamping is post-processing, so a log-ratio above epsilon is a breach.

Lemma 2 of docs/understand/proofs/sorted_counts.md and cumulative_counts.md, Lemmas 2 and 3 of
docs/understand/proofs/rank_split.md.
"""

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dphist import CumulativeCounts, RankSplit, SortedCounts
from dphist.anonymized import measuring
from dphist.anonymized.band import from_rows_and_columns
from dphist.anonymized.inference import infer_decreasing
from tests.support.privacy.diagrams import neighbour_pairs, pairs_within, profile
from tests.support.privacy.laws import SLACK, Ladder, clamped_law, worst_log_ratio


class SilentSampler:
    """Stands in for the sampler: scripted noise, parameters recorded."""

    def __init__(self, first: int = 0) -> None:
        self.script = [first]
        self.parameters: list[float] = []

    def __call__(self, epsilon: Fraction, size: int, source: object = None) -> np.ndarray:
        self.parameters += [float(epsilon)] * size
        if size == 1 and self.script:
            return np.array([self.script.pop()])
        return np.zeros(size, np.int64)


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    def install(first: int = 0) -> SilentSampler:
        sampler = SilentSampler(first)
        monkeypatch.setattr(measuring, "two_sided_geometric", sampler)
        return sampler

    return install  # type: ignore[return-value]


def noisy_counts(release: Any) -> list[int]:
    return [int(x) for name in ("rows", "columns") for x in release.noisy[name]]


def loss_of_rank_split(
    mechanism: Any, one: tuple, other: tuple, silent: Any, kept: dict | None = None
) -> float:
    """Largest log-ratio of the transcripts (noisy total, noisy counts) of two data sets.

    `kept` holds the transcripts of this mechanism, as a data set is in many pairs.

    The transcript's law is a product given the noisy total, so its worst log-ratio is the sum of
    the worst ones of its parts, maximised over the noisy total.
    """
    base = sum(one)
    worst = 0.0
    kept = {} if kept is None else kept
    for shift in (-8, -3, -1, 0, 1, 2, 5, 30):
        runs = []
        for data in (one, other):
            # The same noisy total for both, base + shift, whatever noise that takes.
            total = base + shift
            if (data, total) not in kept:
                sampler = silent(total - sum(data))
                release = mechanism.release(profile(data))
                kept[data, total] = sampler.parameters, noisy_counts(release)
            runs.append(kept[data, total])
        (parameters, a), (again, b) = runs
        if parameters != again or len(a) != len(b):
            return math.inf  # the shape of the output tells them apart
        loss = 0.0
        if mechanism.total is None:
            loss += abs(sum(one) - sum(other)) * parameters[0]
            parameters = parameters[1:]
        for epsilon, x, y in zip(parameters, a, b, strict=True):
            if x != y:
                laws = [clamped_law(c, epsilon, -6, 14) for c in (x, y)]
                loss += worst_log_ratio(*laws)
        worst = max(worst, loss)
    return worst


@pytest.mark.quick("-1]")
@pytest.mark.parametrize("epsilon", ["1", "0.1", "3"])
@pytest.mark.parametrize("total", [None, 0, 1, 4, 9])
def test_rank_split_loses_epsilon_and_no_more(epsilon: str, total: int | None, silent) -> None:
    mechanism = RankSplit(epsilon=epsilon, total=total)
    kept: dict = {}
    losses = [loss_of_rank_split(mechanism, *pair, silent, kept) for pair in neighbour_pairs(6)]
    assert max(losses) <= float(epsilon) + SLACK
    if total != 0:
        assert max(losses) >= float(epsilon) - SLACK  # and none is wasted


@pytest.mark.quick("4-2]", "None-3]")
@pytest.mark.parametrize("sensitivity", [2, 3])
@pytest.mark.parametrize("total", [None, 4])
def test_rank_split_protects_units_of_several_cells(sensitivity, total, silent) -> None:
    mechanism = RankSplit(epsilon=1, total=total, sensitivity=sensitivity)
    kept: dict = {}
    losses = [loss_of_rank_split(mechanism, *p, silent, kept) for p in pairs_within(sensitivity, 5)]
    assert 1 - SLACK <= max(losses) <= 1 + SLACK


@pytest.mark.parametrize(("size", "sensitivity"), [(1, 1), (3, 1), (9, 1), (4, 2)])
@pytest.mark.parametrize("kind", ["rows", "columns"])
def test_single_sequences_lose_epsilon_and_no_more(kind, size, sensitivity, silent) -> None:
    """`SortedCounts` and `CumulativeCounts`."""
    mechanism: SortedCounts | CumulativeCounts
    if kind == "rows":
        mechanism = SortedCounts(epsilon=1, labels=size, sensitivity=sensitivity)
    else:
        mechanism = CumulativeCounts(epsilon=1, largest=size, sensitivity=sensitivity)
    worst = 0.0
    for one, other in pairs_within(sensitivity, 5):
        sampler = silent()
        a, b = (mechanism.measure(profile(data)) for data in (one, other))
        assert len(a) == len(b) == size
        epsilon = sampler.parameters[0]
        laws = [[clamped_law(int(c), epsilon, -6, 14) for c in counts] for counts in (a, b)]
        worst = max(worst, sum(worst_log_ratio(*pair) for pair in zip(*laws, strict=True)))
    assert 1 - SLACK <= worst <= 1 + SLACK


def test_each_count_gets_a_draw_of_its_own_with_the_exact_parameter(monkeypatch) -> None:
    """No draw is used twice, and no parameter has been through a float."""
    data, ladder = profile((5, 3, 3, 1)), Ladder()
    monkeypatch.setattr(measuring, "two_sided_geometric", ladder)
    noisy = SortedCounts(epsilon="1/3", labels=6, sensitivity=2).measure(data)
    assert noisy.tolist() == [5, 4, 5, 4, 4, 5]
    assert ladder.asked == [(Fraction(1, 6), 6)]
    assert isinstance(ladder.asked[0][0], Fraction)
    ladder.asked.clear()
    noisy = CumulativeCounts(epsilon="1/3", largest=4, sensitivity=2).measure(data)
    assert noisy.tolist() == [4, 4, 5, 4]
    assert ladder.asked == [(Fraction(1, 6), 4)]
    ladder.asked.clear()
    release = RankSplit(epsilon="1/3", sensitivity=2).release(data)
    size = len(release.noisy["rows"])
    assert ladder.asked == [(Fraction(1, 240), 1), (Fraction(39, 240), 2 * size)]
    assert all(isinstance(epsilon, Fraction) for epsilon, _ in ladder.asked)
    assert release.noisy["rows"][:5].tolist() == [5, 4, 5, 4, 4]
    assert release.noisy["columns"].tolist() == list(range(size, 2 * size))


@pytest.mark.parametrize("noise", [-30, -1, 0, 1, 30])
def test_private_total_is_the_noisy_one_cut_at_zero(noise: int, silent) -> None:
    silent(noise)
    assert RankSplit(epsilon=1).release(profile((5, 3))).total == max(0, 8 + noise)


def released_law(mechanism: Any, data: tuple, silent: Any, window: tuple[int, int]) -> dict:
    """Exact law of the *released profile*, by enumeration of all clamped noisy counts."""
    silent()
    centers = noisy_counts(mechanism.release(profile(data)))
    laws = [clamped_law(c, float(mechanism.cell_epsilon), *window) for c in centers]
    law: dict[tuple, float] = defaultdict(float)
    for values in itertools.product(range(window[0], window[1] + 1), repeat=len(centers)):
        released = decoded(mechanism, values)
        law[released] += math.prod(p[v - window[0]] for p, v in zip(laws, values, strict=True))
    return law


_DECODED: dict[tuple[int, ...], tuple] = {}


def decoded(mechanism: Any, values: tuple[int, ...]) -> tuple:
    """The profile that the mechanism's own inference makes of noisy counts `values`."""
    if values not in _DECODED:
        half = len(values) // 2
        rows = infer_decreasing(np.array(values[:half]))
        columns = infer_decreasing(np.array(values[half:]))
        joined = from_rows_and_columns(rows, columns)
        _DECODED[values] = (tuple(joined.counts.tolist()), tuple(joined.prevalences.tolist()))
    return _DECODED[values]


def test_released_profiles_have_log_ratios_within_epsilon(silent) -> None:
    mechanism = RankSplit(epsilon=1, total=4)
    pairs = list(neighbour_pairs(3))
    laws = {
        data: released_law(mechanism, data, silent, (-2, 6))
        for data in {d for p in pairs for d in p}
    }
    for law in laws.values():
        assert sum(law.values()) == pytest.approx(1)
    ratios = [
        abs(math.log(laws[one][out] / laws[other][out]))
        for one, other in pairs
        for out in laws[one]
    ]
    assert max(ratios) <= 1 + SLACK
    assert max(ratios) > 0.9


@pytest.mark.parametrize("noise", [1, 2])
def test_too_little_noise_on_a_single_sequence_is_caught(noise: int) -> None:
    """Power: the comparison above, with the law of noise of half the scale."""
    laws = [clamped_law(center, noise, -6, 14) for center in (3, 4)]
    assert worst_log_ratio(*laws) == pytest.approx(noise)


class HalvedNoise(RankSplit):
    __slots__ = ()

    @property
    def cell_epsilon(self) -> Fraction:
        return 2 * RankSplit.cell_epsilon.fget(self)


class TotalForFree(RankSplit):
    """The total is measured, but its share is not taken from epsilon."""

    __slots__ = ()

    @property
    def cell_epsilon(self) -> Fraction:
        return self.epsilon / self.sensitivity


class UnitIgnored(RankSplit):
    __slots__ = ()

    @property
    def cell_epsilon(self) -> Fraction:
        return self.epsilon - self._total_epsilon


class SizeFromTheData(RankSplit):
    """k from the true total: the length of the output betrays it."""

    __slots__ = ()

    def _measure_total(self, data, source):
        RankSplit._measure_total(self, data, source)
        return data.total


# One label of n or n + 1 records, for enough n that the size k changes between some of them.
_LONG_ROWS = [((n,), (n + 1,)) for n in range(1, 64)]


@pytest.mark.parametrize(
    ("planted", "cells", "pairs"),
    [
        (HalvedNoise, 1, list(pairs_within(1, 3))),
        (TotalForFree, 1, list(pairs_within(1, 3))),
        (UnitIgnored, 2, list(pairs_within(2, 3))),
        (SizeFromTheData, 1, _LONG_ROWS),
    ],
)
@pytest.mark.quick(every=4)
def test_planted_bugs_are_caught(planted: type, cells: int, pairs: list, silent) -> None:
    sound = RankSplit(epsilon=1, sensitivity=cells)
    assert max(loss_of_rank_split(sound, *p, silent) for p in pairs) <= 1 + SLACK  # type: ignore[call-arg]
    mechanism = planted(epsilon=1, sensitivity=cells)
    assert max(loss_of_rank_split(mechanism, *p, silent) for p in pairs) > 1 + 1e-3  # type: ignore[call-arg]
