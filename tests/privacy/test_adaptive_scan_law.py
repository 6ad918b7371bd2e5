"""The adaptive scan's regions and laws, on all small neighbours.

The scan is replayed with fixed noisy counts: the one place that counts cells and adds noise is
replaced by one that records the true number and reports the fixed one.
Lemmas 1 to 3 of docs/understand/proofs/adaptive_scan.md.
"""

import dataclasses
import itertools
import math
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from dphist import AdaptiveScan, Profile, Release
from dphist.anonymized import measuring
from dphist.anonymized.adaptive_scan.scan import Scan
from dphist.anonymized.adaptive_scan.trend import of_columns, of_rows
from dphist.errors import ParameterError
from tests.support.privacy.diagrams import neighbour_pairs, pairs_within, partitions, profile
from tests.support.privacy.laws import SLACK, Scripted, clamped_law, worst_log_ratio
from tests.support.privacy.published import everything_published

Data = tuple[int, ...]
Region = tuple[str, int, int]  # blocks of columns or of rows: after, up to


def replay(mechanism: AdaptiveScan, data: Data, wanted: Sequence[int]) -> list[tuple[Region, int]]:
    """Return the regions of a release whose noisy counts are `wanted`, with their true counts."""
    with pytest.MonkeyPatch.context() as patch:  # only the regions are wanted
        patch.setattr(AdaptiveScan, "decode", lambda *_: profile(()))
        return replayed(mechanism, data, wanted)[1]


def replayed(
    mechanism: AdaptiveScan, data: Data, wanted: Sequence[int]
) -> tuple[Release, list[tuple[Region, int]]]:
    """Return such a release too."""
    found: list[tuple[Region, int]] = []

    def count_next(scan: Scan, ends: list[int], cells_up_to, noise) -> None:
        kind = "rows" if scan.roughness is of_rows else "columns"
        for end in ends:
            cells = int(cells_up_to(end)) - int(cells_up_to(scan.position))
            found.append(((kind, scan.position, end), cells))
            scan.take([end], [wanted[len(found) - 1] if len(found) <= len(wanted) else 0])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measuring, "_count_next", count_next)
        return mechanism.release(profile(data)), found


def sequences(epsilon: float) -> list[list[int]]:
    """Noisy counts that real ones might look like, and some that they never would."""
    rng = random.Random(1)
    curves = [[9, 5, 4, 2, 2, 1, 1, 1], [3, 0, 0, 1], [0] * 8, [40, 22, 15, 11, 9, 8, 7, 6, 5]]
    noisy = [
        [count + round(rng.gauss(0, 1 / epsilon)) for count in curve + [0] * 20] for curve in curves
    ]
    wild = [[rng.randint(-50, 400) // (k + 1) for k in range(30)] for _ in range(4)]
    return noisy + wild


Replays = Callable[[Data], list[tuple[Region, int]]]


def replays_of(mechanism: AdaptiveScan, wanted: Sequence[int]) -> Replays:
    """Return what replays these noisy counts; each data set once, as it is in many pairs."""
    return cache(lambda data: replay(mechanism, data, wanted))


def loss(
    mechanism: AdaptiveScan,
    one: Data,
    other: Data,
    wanted: Sequence[int],
    replays: Replays | None = None,
) -> float:
    """Log-ratio of the two laws of noisy counts at `wanted`, at worst, outputs clamped."""
    found = replays or replays_of(mechanism, wanted)
    first, second = found(one), found(other)
    if [region for region, _ in first] != [region for region, _ in second]:
        return math.inf  # the blocks tell them apart
    rate, worst = float(mechanism.cell_epsilon), 0.0
    for (_, a), (_, b) in zip(first, second, strict=True):
        if a != b:
            worst += worst_log_ratio(*(clamped_law(c, rate, -9, 30) for c in (a, b)))
    return worst


EPSILONS = ["0.05", "0.5", "3"]


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.quick(every=3)
def test_no_more_than_epsilon_is_lost(epsilon: str) -> None:
    mechanism = AdaptiveScan(epsilon=epsilon)
    losses = []
    for wanted in sequences(float(epsilon)):
        found = replays_of(mechanism, wanted)
        losses += [loss(mechanism, *pair, wanted, found) for pair in neighbour_pairs(5)]
    assert max(losses) == pytest.approx(float(mechanism.epsilon), abs=SLACK)


def cells_of(data: Data) -> set[tuple[int, int]]:
    return {(i, r) for i, count in enumerate(data, start=1) for r in range(1, count + 1)}


def lies_in(cell: tuple[int, int], region: Region, width: int) -> bool:
    row, column = cell
    kind, after, up_to = region
    if kind == "columns":
        return after < column <= up_to
    return column > width and after < row <= up_to


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.quick("[3]")
def test_regions_are_disjoint_and_count_every_cell(epsilon: str) -> None:
    """All partitions of n <= 8: true counts are those of the regions by definition."""
    mechanism = AdaptiveScan(epsilon=epsilon)
    for wanted in sequences(float(epsilon))[::2]:
        for data in (p for n in range(9) for p in partitions(n)):
            found = replay(mechanism, data, wanted)
            width = max(end for (kind, _, end), _ in found if kind == "columns")
            cells = cells_of(data)
            for region, true in found:
                assert true == sum(lies_in(cell, region, width) for cell in cells)
            for cell in cells:  # in one region each, none lost
                assert sum(lies_in(cell, region, width) for region, _ in found) == 1


@pytest.mark.quick("0.05")
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_one_cell_changes_one_true_count(epsilon: str) -> None:
    """All neighbours of n <= 8; regions are the same, being functions of noisy counts alone."""
    mechanism = AdaptiveScan(epsilon=epsilon)
    for wanted in sequences(float(epsilon))[1::3]:
        replays = replays_of(mechanism, wanted)
        for one, other in neighbour_pairs(7):
            first, second = replays(one), replays(other)
            assert [region for region, _ in first] == [region for region, _ in second]
            changes = [b - a for (_, a), (_, b) in zip(first, second, strict=True)]
            assert sorted(changes)[-1] == sum(changes) == sum(map(abs, changes)) == 1


# Neighbours in which the true curve crosses what the scan decides on, past its first blocks.
CROSSING: list[tuple[Data, Data]] = [
    *[((k,) * k + (k - 1,), (k,) * (k + 1)) for k in range(1, 31)],  # column k: k or k + 1 high
    *[((n,), (n + 1,)) for n in range(1, 70)],  # one column more
    *[((1,) * n, (1,) * (n + 1)) for n in range(1, 70)],  # one row more
    *[((9,) * n + (3,), (9,) * n + (4,)) for n in range(1, 30)],
]


@pytest.mark.quick("0.05")
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_regions_do_not_depend_on_larger_data(epsilon: str) -> None:
    """Beyond n <= 8, where true heights never exceed the position of the third column."""
    mechanism = AdaptiveScan(epsilon=epsilon)
    long = [[30] * 30, list(range(60, 0, -1))]  # noisy counts that take the scan to column 30
    for wanted in [*sequences(float(epsilon))[1::3], *long]:
        replays = replays_of(mechanism, wanted)
        for pair in CROSSING:
            first, second = map(replays, pair)
            assert [region for region, _ in first] == [region for region, _ in second]
            assert sum(abs(a - b) for (_, a), (_, b) in zip(first, second, strict=True)) == 1


@pytest.mark.parametrize("epsilon", ["1", "2", "50"])
def test_many_equal_labels_need_few_blocks(epsilon: str, seeded) -> None:
    for counts, labels in [([1], 2**61), ([5], 10**6), ([1, 2], 10**7)]:
        truth = Profile.from_prevalences(counts, [labels] * len(counts))
        release = AdaptiveScan(epsilon=epsilon).release(truth, seeded(1))
        assert len(release.noisy["rows"]) < 100


def test_a_release_without_its_blocks_is_not_decoded_again(seeded) -> None:
    release = AdaptiveScan(epsilon=1).release(profile((3, 1)), seeded(1))
    for noisy in ({}, {**release.noisy, "columns": release.noisy["columns"][1:]}):
        with pytest.raises(ParameterError, match="noisy"):
            dataclasses.replace(release, noisy=noisy).redecode()


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_blocks_follow_one_another_whatever_the_counts(epsilon: str) -> None:
    for wanted in sequences(float(epsilon)):
        found = [region for region, _ in replay(AdaptiveScan(epsilon=epsilon), (4, 1), wanted)]
        for kind in ("columns", "rows"):
            blocks = [(after, up_to) for what, after, up_to in found if what == kind]
            assert blocks[0][0] == 0
            assert all(up_to == after for (_, up_to), (after, _) in itertools.pairwise(blocks))
            assert all(after < up_to for after, up_to in blocks)
        assert found[-1][2] == measuring.FARTHEST


@pytest.mark.quick("2")
@pytest.mark.parametrize("sensitivity", [2, 3])
def test_units_of_several_cells_are_protected(sensitivity: int) -> None:
    mechanism = AdaptiveScan(epsilon=1, sensitivity=sensitivity)
    pairs = list(pairs_within(sensitivity, 4))
    losses = []
    for wanted in sequences(1)[:4]:
        found = replays_of(mechanism, wanted)
        losses += [loss(mechanism, *pair, wanted, found) for pair in pairs]
    assert max(losses) == pytest.approx(1, abs=SLACK)


@pytest.mark.long(every=6)  # in a short form: test_adaptive_scan_whole.py
@pytest.mark.parametrize("pair", list(neighbour_pairs(3)), ids=str)
def test_equal_noisy_counts_give_equal_publications(pair) -> None:
    """Nothing but the noisy counts separates neighbours: no row count, no length, no message."""
    mechanism = AdaptiveScan(epsilon="0.5")
    for wanted in sequences(0.5)[::4]:  # one like real counts, and a wild one
        releases = [replayed(mechanism, data, wanted)[0] for data in pair]
        assert everything_published(releases[0]) == everything_published(releases[1])


def test_every_block_gets_a_draw_of_its_own_with_the_exact_parameter(monkeypatch) -> None:
    """Noise 0, 1, 2, ... shows that no draw is used twice, nor left out."""
    sampler = Scripted([np.arange(1024)])
    monkeypatch.setattr(measuring, "two_sided_geometric", sampler)
    data = (9, 4, 2, 2, 1, 1)
    release = AdaptiveScan(epsilon="1/3", sensitivity=2).release(profile(data))
    assert {epsilon for epsilon, _ in sampler.calls} == {Fraction(1, 6)}
    noisy = [*release.noisy["columns"].tolist(), *release.noisy["rows"].tolist()]
    true = [cells for _, cells in replay(AdaptiveScan(epsilon="1/3", sensitivity=2), data, noisy)]
    assert [a - b for a, b in zip(noisy, true, strict=True)] == list(range(len(noisy)))


def test_more_blocks_than_draws_at_once_get_new_draws(monkeypatch) -> None:
    monkeypatch.setattr(measuring, "_DRAWS_AT_ONCE", 3)
    sampler = Scripted([np.array([1, 2, 3]), np.array([4, 5, 6])])
    monkeypatch.setattr(measuring, "two_sided_geometric", sampler)
    draws = measuring.draw_noise(AdaptiveScan(epsilon=1), None)
    assert [next(draws) for _ in range(7)] == [1, 2, 3, 4, 5, 6, 0]


# --- the law of the released profile ---------------------------------------------------------

WINDOW = (-1, 2)


def released_law(mechanism: AdaptiveScan, data: Data) -> dict:
    """Exact law of the released profile, all noisy counts clamped to the window."""
    law: dict = defaultdict(float)
    rate, low = float(mechanism.cell_epsilon), WINDOW[0]
    unfinished: list[tuple[int, ...]] = [()]
    while unfinished:
        wanted = unfinished.pop()
        found = replay(mechanism, data, wanted)
        if len(found) > len(wanted):
            unfinished += [(*wanted, count) for count in range(low, WINDOW[1] + 1)]
            continue
        chance = math.prod(
            clamped_law(true, rate, *WINDOW)[count - low]
            for (_, true), count in zip(found, wanted, strict=True)
        )
        law[decoded(mechanism, found, wanted)] += chance
    return law


_DECODED: dict = {}


def decoded(mechanism: AdaptiveScan, found: list, wanted: tuple[int, ...]) -> tuple:
    if wanted not in _DECODED:
        noisy = {}
        for kind, name in (("columns", "column_ends"), ("rows", "row_ends")):
            mine = [(r[2], c) for (r, _), c in zip(found, wanted, strict=True) if r[0] == kind]
            noisy[name] = np.array([0, *(end for end, _ in mine)])
            noisy[kind] = np.array([count for _, count in mine])
        value = mechanism.decode(noisy)
        _DECODED[wanted] = (tuple(value.counts.tolist()), tuple(value.prevalences.tolist()))
    return _DECODED[wanted]


@pytest.mark.verify
@pytest.mark.parametrize("records", [1, 2])
def test_released_profiles_have_log_ratios_within_epsilon(records, monkeypatch) -> None:
    """All n <= 3, the scan of rows ended early so that its outputs can be enumerated."""
    monkeypatch.setattr(measuring, "FARTHEST", 3)
    mechanism = AdaptiveScan(epsilon=1)
    pairs = list(neighbour_pairs(records))
    laws = {data: released_law(mechanism, data) for data in {d for p in pairs for d in p}}
    assert all(sum(law.values()) == pytest.approx(1) for law in laws.values())
    ratios = [
        abs(math.log(laws[one][out] / laws[other][out]))
        for one, other in pairs
        for out in laws[one]
    ]
    assert 0.8 < max(ratios) <= 1 + SLACK


def test_value_is_decoded_from_what_is_noisy(seeded) -> None:
    for data in [(), (3, 1), (9, 9, 2, 1, 1), (30,) * 20]:
        release = AdaptiveScan(epsilon="0.3").release(profile(data), seeded(1))
        assert release.redecode() == release
        counts = np.append(release.noisy["columns"], release.noisy["rows"])
        assert release.total == max(0, int(counts.sum()))


# --- planted bugs ----------------------------------------------------------------------------


class HalvedNoise(AdaptiveScan):
    __slots__ = ()

    @property
    def cell_epsilon(self) -> Fraction:
        return 2 * self.epsilon


class UnitIgnored(AdaptiveScan):
    __slots__ = ()

    @property
    def cell_epsilon(self) -> Fraction:
        return self.epsilon


class WidthFromTheData(AdaptiveScan):
    """Blocks are wider where the data are empty."""

    __slots__ = ()

    def _scan_columns(self, cells_up_to, noise):
        scan = Scan(float(self.cell_epsilon), of_columns)
        while scan.position < 4:
            empty = cells_up_to(scan.position + 1) == cells_up_to(scan.position)
            end = scan.position + (2 if empty else 1)
            measuring._count_next(scan, [end], cells_up_to, noise)
        return scan


class StopFromTheData(AdaptiveScan):
    """Columns end at the true square."""

    __slots__ = ()

    def _scan_columns(self, cells_up_to, noise):
        scan = Scan(float(self.cell_epsilon), of_columns)
        while True:
            end = scan.position + 1
            measuring._count_next(scan, [end], cells_up_to, noise)
            if cells_up_to(end) - cells_up_to(end - 1) <= end:
                return scan


def shared_column(data, column):
    """The rows begin one column early: the last column is counted twice."""
    return RIGHT_OF(data, column - 1)


def all_of_the_rows(data, column):
    return data


RIGHT_OF = measuring._take_right
LONG = [((n,), (n + 1,)) for n in range(8)]


@pytest.mark.parametrize("planted", [HalvedNoise, WidthFromTheData, StopFromTheData])
def test_planted_mechanisms_are_caught(planted: type) -> None:
    mechanism = planted(epsilon=1)
    pairs = [*neighbour_pairs(4), *LONG]
    assert any(loss(mechanism, *p, wanted) > 1.001 for wanted in sequences(1) for p in pairs)


def test_a_unit_ignored_is_caught() -> None:
    mechanism = UnitIgnored(epsilon=1, sensitivity=2)
    pairs = list(pairs_within(2, 4))
    assert any(loss(mechanism, *p, sequences(1)[0]) > 1.001 for p in pairs)


@pytest.mark.parametrize("overlap", [shared_column, all_of_the_rows])
def test_overlapping_regions_are_caught(overlap, monkeypatch) -> None:
    monkeypatch.setattr(measuring, "_take_right", overlap)
    mechanism = AdaptiveScan(epsilon=1)
    pairs = [*neighbour_pairs(4), *LONG]
    assert any(loss(mechanism, *p, wanted) > 1.001 for wanted in sequences(1) for p in pairs)
