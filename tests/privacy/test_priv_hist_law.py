"""Exact laws of PrivHist on all small neighbours.

The mechanism itself runs, its sampler replaced by one that follows a script.
Lemmas 1 to 4 of docs/understand/proofs/priv_hist.md.
"""

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator

import numpy as np
import pytest

from dphist import PrivHist
from dphist.anonymized import measuring
from dphist.anonymized.priv_hist import regions as priv_hist_regions
from dphist.data import tiling
from tests.support.privacy.diagrams import neighbour_pairs, pairs_within, partitions, profile
from tests.support.privacy.laws import SLACK, Ladder, Scripted, clamped_law
from tests.support.privacy.priv_hist_transcripts import (
    Data,
    above_and_numbers,
    loss,
    replay,
    split_counts,
)

MECHANISMS = {
    "no smoothing": PrivHist(epsilon=1),
    "low privacy": PrivHist(epsilon=3),
    "low privacy, equal shares": PrivHist(epsilon=2, shares=(1, 1, 1)),
    "smoothing": PrivHist(epsilon="0.1"),
    "smoothing, equal shares": PrivHist(epsilon=1, shares=(1, 1, 1)),
}


@pytest.fixture
def rows_as_boundaries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make counts from 2 on boundaries of their own, so that small data use step H2 in full."""
    monkeypatch.setattr(priv_hist_regions, "first_own_boundary", lambda total, epsilon: 2.0)


PAIRS = list(neighbour_pairs(5))


@pytest.mark.long(every=2)
@pytest.mark.quick("low privacy, equal shares")
@pytest.mark.parametrize("name", MECHANISMS)
def test_no_more_than_epsilon_is_lost(name: str) -> None:
    mechanism = MECHANISMS[name]
    worst = max(loss(mechanism, *pair) for pair in PAIRS)
    assert worst <= float(mechanism.epsilon) + SLACK
    spent = mechanism.total_epsilon + mechanism.cell_epsilon
    assert worst >= float(spent) - SLACK  # and what is measured is not wasted


@pytest.mark.quick("equal shares")
@pytest.mark.parametrize("name", ["smoothing", "smoothing, equal shares"])
def test_no_more_is_lost_with_boundaries_at_noisy_counts(name, rows_as_boundaries) -> None:
    mechanism = MECHANISMS[name]
    worst = max(loss(mechanism, *pair) for pair in neighbour_pairs(4))
    assert worst == pytest.approx(float(mechanism.epsilon), abs=SLACK)


@pytest.mark.quick("None-2")
@pytest.mark.parametrize("sensitivity", [2, 3])
@pytest.mark.parametrize("shares", [None, (1, 1, 1)])
def test_units_of_several_cells_are_protected(sensitivity, shares, rows_as_boundaries) -> None:
    for epsilon in (2, 6):
        mechanism = PrivHist(epsilon=epsilon, shares=shares, sensitivity=sensitivity)
        pairs = pairs_within(sensitivity, 4)
        worst = max(loss(mechanism, *pair, (2, 5), (-3, 0, 2)) for pair in pairs)
        assert float(epsilon) / 2 < worst <= float(epsilon) + SLACK


def true_regions(data: Data, start: int, above: int, fakes: int) -> np.ndarray:
    """Columns and rows of the published steps 2a to 2c, literally: fake counts, then moved."""
    moved = above - fakes - sum(count > start for count in data)  # the noise Z of step 2b
    prevalence = defaultdict(int)
    for count in data:
        prevalence[count] += 1
    prevalence[start] += fakes - moved
    prevalence[start + 1] += fakes + moved
    columns = [max(0, sum(prevalence[s] for s in range(r, start + 1))) for r in range(1, start + 1)]
    rows: list[int] = []
    running = 0
    for count in range(start + 1, max((*data, start)) + 2):
        before = max(0, running)
        running += prevalence[count]
        rows += [count] * (max(0, running) - before)
    return np.array(columns + rows[::-1])


def test_regions_are_those_of_the_paper(monkeypatch) -> None:
    """The split as published, with fake counts and moved mass, equals the tiling coded here."""
    mechanism = PrivHist(epsilon=1)
    for n in range(10):
        for data in partitions(n):
            for start, fakes, shift in itertools.product(
                (1, 2, 3), (0, 1, 3), (-6, -2, -1, 0, 1, 4)
            ):
                monkeypatch.setattr(priv_hist_regions, "threshold", lambda *_, t=start: t)
                monkeypatch.setattr(priv_hist_regions, "fake_counts", lambda *_, m=fakes: m)
                monkeypatch.setattr(measuring, "two_sided_geometric", Scripted([shift]))
                noisy = mechanism._measure_split(profile(data), 5, None)
                # Step 2b adds Z where step 2a has added M fake counts.
                above = sum(count > start for count in data) + fakes + shift
                found = np.append(noisy["columns"], noisy["rows"])
                assert found.tolist() == true_regions(data, start, above, fakes).tolist()


@pytest.mark.parametrize("start", [1, 2, 3])
@pytest.mark.quick(every=3)
def test_one_cell_changes_one_of_the_three_regions(start: int, monkeypatch) -> None:
    """All partitions of n <= 9 and all neighbours, those that cross T, T + 1 among them."""
    monkeypatch.setattr(priv_hist_regions, "threshold", lambda *_: start)
    mechanism = PrivHist(epsilon=1)

    def change(one: Data, other: Data, noisy_above: int) -> int:
        above, vectors = [], []
        for data in (one, other):
            above.append(sum(count > start for count in data))
            vectors.append(split_counts(mechanism, data, [None, noisy_above - above[-1]], 5))
        assert vectors[0].shape == vectors[1].shape
        return abs(above[0] - above[1]) + int(np.abs(vectors[0] - vectors[1]).sum())

    seen = {change(*pair, noisy) for pair in neighbour_pairs(8) for noisy in (-9, 0, 1, 3)}
    assert seen == {0, 1}  # 0: a cell beyond the measured rows


@pytest.mark.parametrize("ends", [[1, 2, 3], [1, 2, 5, 12], [1, 4, 8], [3, 20]])
def test_blocks_change_by_one(ends: list[int]) -> None:
    for one, other in neighbour_pairs(8):
        cells = [profile(data).block_sums([0, *ends]) for data in (one, other)]
        assert np.abs(cells[0] - cells[1]).sum() <= 1


# --- the law of the released profile itself ------------------------------------------------


def clamp(low: int, high: int) -> range:
    return range(low, high + 1)


def products(centers: list[int], epsilon: float, window: tuple[int, int]) -> Iterator:
    """Every vector of clamped noisy counts with its probability."""
    laws = [clamped_law(c, epsilon, *window) for c in centers]
    for values in itertools.product(clamp(*window), repeat=len(centers)):
        yield values, math.prod(p[v - window[0]] for p, v in zip(laws, values, strict=True))


_DECODED: dict = {}


def decoded(mechanism: PrivHist, noisy: dict, total: int) -> tuple:
    key = (mechanism, total, *(tuple(map(int, v)) for v in noisy.values()))
    if key not in _DECODED:
        arrays = {name: np.array(values, np.int64) for name, values in noisy.items()}
        value = mechanism.decode({**arrays, "total": np.array([total])})
        _DECODED[key] = (tuple(value.counts.tolist()), tuple(value.prevalences.tolist()))
    return _DECODED[key]


def law_of_split(mechanism: PrivHist, data: Data, total: int) -> dict:
    """Law of the released profile given N, all noisy counts clamped."""
    law: dict = defaultdict(float)
    epsilon = float(mechanism.split_epsilon)
    above, start = above_and_numbers(mechanism, data, total)
    for (noisy,), chance in products([above], epsilon, (-2, 2)):
        centers = split_counts(mechanism, data, [None, noisy - above], total)
        for values, each in products(centers.tolist(), epsilon, (start - 1, start + 2)):
            split = {"above": (noisy,), "columns": values[:start], "rows": values[start:]}
            law[decoded(mechanism, split, total)] += chance * each
    return law


def law_of_blocks(mechanism: PrivHist, data: Data, total: int) -> dict:
    """As above, with smoothing, and noisy counts as boundaries."""
    law: dict = defaultdict(float)
    epsilon = float(mechanism.split_epsilon)
    above, start = above_and_numbers(mechanism, data, total)
    for (noisy,), chance in products([above], epsilon, (-1, 1)):
        centers = split_counts(mechanism, data, [None, noisy - above], total)
        # Columns decide nothing here; rows decide the boundaries.
        for rows, each in products(centers[start:].tolist(), epsilon, (2, 3)):
            wanted = np.append(centers[:start], np.array(rows, np.int64))
            script = [total - sum(data), noisy - above, wanted - centers]
            release, _ = replay(mechanism, data, script)
            ends = release.noisy["ends"]
            rate = float(mechanism.block_epsilon)
            for cells, last in products(release.noisy["cells"].tolist(), rate, (0, 2)):
                value = decoded(mechanism, {"ends": ends, "cells": cells}, total)
                law[value] += chance * each * last
    return law


@pytest.mark.parametrize("total", [1, 2, 3])
@pytest.mark.parametrize("smoothing", [False, True])
@pytest.mark.quick(every=6)
def test_released_profiles_have_log_ratios_within_epsilon(
    total, smoothing, monkeypatch, rows_as_boundaries
) -> None:
    """All n <= 4: the joint law of N and the profile, its part with N = `total`."""
    monkeypatch.setattr(priv_hist_regions, "fake_counts", lambda *_: 1)
    mechanism = PrivHist(epsilon=1, shares=(1, 1, 1) if smoothing else None)
    law_of = law_of_blocks if smoothing else law_of_split
    pairs = list(neighbour_pairs(3))
    laws = {d: law_of(mechanism, d, total) for d in {d for pair in pairs for d in pair}}
    assert all(sum(law.values()) == pytest.approx(1) for law in laws.values())
    ratios = [
        abs(math.log(laws[one][out] / laws[other][out]))
        for one, other in pairs
        for out in laws[one]
    ]
    left = 1 - float(mechanism.total_epsilon)  # the rest is what N lost already
    assert left / 2 < max(ratios) <= left + SLACK


@pytest.mark.parametrize("noise", [-30, -8, -1, 0, 1, 30])
def test_total_is_the_noisy_one_and_zero_gives_nothing_else(noise: int) -> None:
    release, calls = replay(PrivHist(epsilon=1), (5, 3), [noise])
    assert release.total == max(0, 8 + noise)
    if release.total == 0:
        assert release.value.labels == 0
        assert {name: list(kept) for name, kept in release.noisy.items()} == {"total": [0]}
        assert len(calls) == 1


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_profile_is_a_function_of_what_is_noisy(name: str, seeded) -> None:
    mechanism, source = MECHANISMS[name], seeded(1)
    for data in [(), (3, 1), (9, 9, 2, 1, 1), (30,) * 20]:
        release = mechanism.release(profile(data), source)
        assert release.noisy["total"].tolist() == [release.total]
        assert mechanism.decode(release.noisy) == release.value


@pytest.mark.parametrize("shares", [(1, 1, 0), (1, 1, 1)])
def test_each_number_gets_a_draw_of_its_own(shares, monkeypatch) -> None:
    """Noise 0, 1, 2, ... in one call shows which draw is added to which number."""
    mechanism, data = PrivHist(epsilon=1, shares=shares), profile((9, 9, 4, 2, 2, 1))
    silent, ladder = Scripted(), Ladder()
    monkeypatch.setattr(measuring, "two_sided_geometric", silent)
    exact = mechanism.release(data).noisy
    monkeypatch.setattr(measuring, "two_sided_geometric", ladder)
    noisy = mechanism.release(data).noisy
    measured = [name for name in ("columns", "rows", "cells") if name in noisy]
    added = np.concatenate([noisy[name] - exact[name] for name in measured])
    assert added.tolist() == list(range(len(added)))
    assert ladder.asked == silent.calls


# --- planted bugs ---------------------------------------------------------------------------


class HalvedNoise(PrivHist):
    """Each noisy count gets noise of half the scale."""

    __slots__ = ()

    @property
    def split_epsilon(self):
        return 2 * PrivHist.split_epsilon.fget(self)

    @property
    def block_epsilon(self):
        whole = PrivHist.block_epsilon.fget(self)
        return None if whole is None else 2 * whole


class TotalForFree(PrivHist):
    """The total is measured, but its share is not taken from epsilon."""

    __slots__ = ()

    @property
    def split_epsilon(self):
        return self.epsilon / self.sensitivity

    @property
    def block_epsilon(self):
        whole = PrivHist.block_epsilon.fget(self)
        return None if whole is None else self.epsilon / self.sensitivity


class SplitAtTheTrueCount(PrivHist):
    """The counts above T are those that truly are: no noise moves labels across."""

    __slots__ = ()

    def _measure_split(self, data, total, source):
        start = self._start(total)
        above = data.cumulative_prevalences([start + 1])
        columns = np.maximum(tiling.columns_below(data, 0, start) - int(above[0]), 0)
        rows = tiling.first_rows(data, int(above[0]))
        measuring.two_sided_geometric(self.split_epsilon, 1, source)
        noise = measuring.two_sided_geometric(self.split_epsilon, start + len(rows), source)
        return {"above": above, "columns": columns + noise[:start], "rows": rows + noise[start:]}


class NoFakeCounts(PrivHist):
    """Fake counts are left out of the large part: its length is the true one."""

    __slots__ = ()

    def _measure_split(self, data, total, source):
        noisy = PrivHist._measure_split(self, data, total, source)
        true = int(data.cumulative_prevalences([self._start(total) + 1])[0])
        return {**noisy, "rows": noisy["rows"][:true]}


class TrueCountsAsBoundaries(PrivHist):
    """The blocks end at true counts."""

    __slots__ = ()

    def _measure_blocks(self, data, total, epsilon, source):
        ends = priv_hist_regions.boundaries(
            total, self._start(total), float(epsilon), data.sorted_counts()
        )
        cells = data.block_sums(np.append(0, ends))
        noise = measuring.two_sided_geometric(epsilon, len(ends), source)
        return {"ends": ends, "cells": cells + noise}


class TrueTotalForTheThreshold(PrivHist):
    """T follows the true total."""

    __slots__ = ()

    def _measure_split(self, data, total, source):
        return PrivHist._measure_split(self, data, max(data.total, 1), source)


SMOOTHED = {"epsilon": 1, "shares": (1, 1, 1)}
PLANTED = [
    (HalvedNoise, {"epsilon": 1}),
    (HalvedNoise, SMOOTHED),
    (TotalForFree, {"epsilon": 1}),
    (TotalForFree, SMOOTHED),
    (SplitAtTheTrueCount, {"epsilon": 1}),
    (NoFakeCounts, {"epsilon": 1}),
    (TrueCountsAsBoundaries, SMOOTHED),
    (TrueTotalForTheThreshold, {"epsilon": 1}),
]


@pytest.mark.long(every=2)
@pytest.mark.parametrize(("planted", "parameters"), PLANTED)
@pytest.mark.quick("[TotalForFree-parameters2]")
def test_planted_bugs_are_caught(planted, parameters, rows_as_boundaries) -> None:
    """The sound mechanism passes the same comparison above."""
    mechanism = planted(**parameters)
    assert any(loss(mechanism, *pair) > 1 + 1e-3 for pair in neighbour_pairs(5))
