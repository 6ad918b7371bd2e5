"""The adaptive scan as it runs, on large data too, with noise that leads to given noisy counts.

`test_adaptive_scan_law.py` replaces the function that counts and adds noise. Here it runs, and the
noise is made so that any data end in the same noisy counts: whatever then differs is a leak.
"""

import itertools
from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest

from dphist import AdaptiveScan, Profile, Release
from dphist.anonymized import measuring
from dphist.anonymized.adaptive_scan import mechanism as mechanism_module
from dphist.anonymized.adaptive_scan.bands import bound_scans
from dphist.anonymized.adaptive_scan.trend import of_rows
from dphist.anonymized.band import curve_bounds
from dphist.noise.magnitude import geometric_stopped_bound

COUNT_NEXT = measuring._count_next


def release_noisy_counts(
    mechanism: AdaptiveScan, data: Profile, wanted: Sequence[int]
) -> tuple[Release, list[tuple[int, ...]]]:
    """Return a release with these noisy counts, and the runs of blocks counted at once."""
    runs: list[tuple[int, ...]] = []
    counted = []
    to_come = itertools.chain(wanted, itertools.repeat(0))

    def count_next(scan, ends, cells_up_to, noise) -> None:
        starts = [scan.position, *ends[:-1]]
        true = [int(cells_up_to(b) - cells_up_to(a)) for a, b in zip(starts, ends, strict=True)]
        noisy = list(itertools.islice(to_come, len(ends)))
        needed = iter([w - t for w, t in zip(noisy, true, strict=True)])
        COUNT_NEXT(scan, ends, cells_up_to, needed)
        assert scan.counts[-len(ends) :] == noisy  # noise on each block, as it was drawn
        assert scan.ends[-len(ends) :] == ends  # and the blocks are those asked for
        assert scan._totals == [0, *itertools.accumulate(scan.counts)]
        assert next(needed, None) is None  # no draw is left over
        runs.append((int(scan.roughness is of_rows), *ends))
        counted.append(sum(true))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measuring, "_count_next", count_next)
        release = mechanism.release(data)
    assert sum(counted) == data.total  # every cell once
    return release, runs


def pairs(counts: Sequence[int], prevalences: Sequence[int]) -> Profile:
    return Profile.from_prevalences(counts, prevalences)


NEIGHBOURS = {
    "square": (pairs([200], [200]), pairs([200, 201], [199, 1])),
    "many labels": (pairs([1], [10**7]), pairs([1], [10**7 + 1])),
    "large counts": (pairs([10**7], [300]), pairs([10**7, 10**7 + 1], [299, 1])),
    "one label": (pairs([2**61], [1]), pairs([2**61 + 1], [1])),
    "none": (pairs([], []), pairs([1], [1])),
    "stairs": (pairs(range(1, 3001), [1] * 3000), pairs(range(1, 3002), [1] * 3001)),
    "long stairs": (pairs(range(1, 120001), [1] * 120000), pairs(range(1, 120002), [1] * 120001)),
    "most labels": (pairs([3], [2**59]), pairs([1, 3], [1, 2**59])),
}
LONG = [200] * 200 + [0] * 30
WANTED = [
    LONG,
    list(range(400, 0, -2)),
    [5, 1, 0] + [0] * 300,
    [90_000 // (k + 1) for k in range(300)],
    [-5, 3] * 40,
    [3000] * 1600,
    [1] * 3 + [10**9] * 3,
]


@cache
def of_nothing(epsilon: str, number: int) -> tuple[Release, list[tuple[int, ...]]]:
    return release_noisy_counts(AdaptiveScan(epsilon=epsilon), pairs([], []), WANTED[number])


@pytest.mark.long(every=4)
@pytest.mark.quick(
    *(f"[{name}-3]" for name in ("square", "many labels", "large counts", "none")), every=4
)
@pytest.mark.parametrize("epsilon", ["0.3", "3", "30"])
@pytest.mark.parametrize("name", NEIGHBOURS)
def test_nothing_but_the_noisy_counts_tells_data_apart(name, epsilon, capsys, caplog) -> None:
    """Not from neighbours, nor from no data at all: same blocks, same file, nothing said."""
    caplog.set_level(0)
    mechanism = AdaptiveScan(epsilon=epsilon)
    for number, wanted in enumerate(WANTED):
        nothing, runs = of_nothing(epsilon, number)
        assert runs[-1][-1] == 2**62
        if wanted is LONG and epsilon == "3":
            assert max(map(len, runs)) > 3  # several blocks are counted at once
        for data in NEIGHBOURS[name]:
            release, same = release_noisy_counts(mechanism, data, wanted)
            assert same == runs
            assert (release.to_json(), repr(release)) == (nothing.to_json(), repr(nothing))
    assert capsys.readouterr() == ("", "")
    assert not [r for r in caplog.records if r.name.startswith("dphist")]


def test_no_draw_is_given_out_twice(monkeypatch) -> None:
    numbers = itertools.count()
    monkeypatch.setattr(measuring, "_DRAWS_AT_ONCE", 2)
    monkeypatch.setattr(
        measuring,
        "two_sided_geometric",
        lambda _, size, __: np.array([next(numbers) for _ in range(size)]),
    )
    assert list(itertools.islice(measuring.draw_noise(AdaptiveScan(epsilon=1), None), 500)) == list(
        range(500)
    )


def test_the_band_allows_for_all_draws_at_the_epsilon_of_a_cell(monkeypatch, seeded) -> None:
    mechanism = AdaptiveScan(epsilon="0.5", sensitivity=3)
    release = mechanism.release(pairs([1, 40], [50, 3]), seeded(1))
    allowed = []

    def seen(noisy, t):
        allowed.append(t)
        return bound_scans(noisy, t)

    monkeypatch.setattr(mechanism_module, "bound_scans", seen)
    mechanism.band(release, 0.9)
    draws = len(release.noisy["columns"]) + len(release.noisy["rows"])
    assert allowed == [geometric_stopped_bound(mechanism.cell_epsilon, draws, 1 - 0.9)]


def test_bounds_within_a_block_are_those_of_its_neighbours() -> None:
    low, high = curve_bounds(np.array([0, 1, 3]), np.array([10, 11]), 0)
    assert (low.tolist(), high.tolist()) == ([10, 0], [10, 10])


def test_no_more_rows_reach_beyond_the_columns_than_the_last_is_high() -> None:
    noisy = {
        "column_ends": np.array([0, 1]),
        "columns": np.array([3]),
        "row_ends": np.array([0, 1, 5, 2**62]),
        "rows": np.array([7, 2, 0]),
    }
    assert bound_scans(noisy, 1)[1].labels == 4


@pytest.mark.parametrize("epsilon", [200, 680, 700])
@pytest.mark.parametrize("counts", [[40_000] * 4, [2**59] * 4, [7] * 10_000])
def test_next_to_no_noise_is_no_difficulty(counts, epsilon) -> None:
    mechanism, data = AdaptiveScan(epsilon=epsilon), Profile.from_counts(counts)
    release = mechanism.release(data)
    assert data.distance(release.value) <= data.total * 1e-12
    assert mechanism.band(release).upper.total >= data.total


@pytest.mark.parametrize("counts", [[2**62 - 1], [2**61, 2**61 - 1]])
@pytest.mark.parametrize("epsilon", ["0.01", "30"])
def test_the_largest_totals_are_saved_and_bounded(counts, epsilon) -> None:
    mechanism = AdaptiveScan(epsilon=epsilon)
    release = mechanism.release(Profile.from_counts(counts))
    assert Release.from_json(release.to_json()) == release
    assert mechanism.band(release).upper.total >= sum(counts)
