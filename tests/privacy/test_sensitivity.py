"""Brute force over all small diagrams: what gets noise changes by at most one cell.

Lemma 1 of docs/understand/proofs/sorted_counts.md, rank_split.md and cumulative_counts.md.
"""

from collections.abc import Callable

import numpy as np
import pytest

from dphist import Profile
from dphist.data.tiling import columns_below, first_rows
from tests.support.privacy.diagrams import neighbour_pairs, partitions, profile

Regions = Callable[[Profile], np.ndarray]

MOST = 9


def worst_change(regions: Regions) -> int:
    """Largest L1 change over all neighbours; a change of length is a breach in itself."""
    worst = 0
    for one, other in neighbour_pairs(MOST):
        before, after = regions(profile(one)), regions(profile(other))
        if before.shape != after.shape:
            return 10**6
        worst = max(worst, int(np.abs(before - after).sum()))
    return worst


def rank_split(size: int) -> Regions:
    return lambda p: np.append(first_rows(p, size), columns_below(p, size, size))


def columns(partition: tuple[int, ...], r: int) -> int:
    return sum(count >= r for count in partition)


@pytest.mark.parametrize("labels", [1, 2, 5, 11])
def test_sorted_counts_change_by_one(labels: int) -> None:
    assert worst_change(lambda p: first_rows(p, labels)) == 1


@pytest.mark.parametrize("largest", [1, 2, 5, 11])
def test_cumulative_counts_change_by_one(largest: int) -> None:
    assert worst_change(lambda p: columns_below(p, 0, largest)) == 1


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_rank_split_regions_change_by_one(size: int) -> None:
    assert worst_change(rank_split(size)) == 1


def test_regions_count_what_the_definition_says() -> None:
    for n in range(MOST + 1):
        for partition in partitions(n):
            p = profile(partition)
            for size in range(6):
                rows = [*partition, *[0] * size][:size]
                below = [columns(partition[size:], r) for r in range(1, size + 1)]
                assert first_rows(p, size).tolist() == rows
                assert columns_below(p, size, size).tolist() == below


def test_no_cell_is_lost_when_size_is_at_least_the_root() -> None:
    for n in range(1, MOST + 1):
        size = int(np.ceil(np.sqrt(n)))
        for partition in partitions(n):
            assert rank_split(size)(profile(partition)).sum() == n


def corner_shared(p: Profile) -> np.ndarray:
    return np.append(first_rows(p, 2), columns_below(p, 1, 2))


def cell_in_row_and_column(p: Profile) -> np.ndarray:
    return np.append(first_rows(p, 3), p.cumulative_prevalences(np.arange(1, 4)))


def rows_of_the_data(p: Profile) -> np.ndarray:
    return p.sorted_counts()


def columns_to_the_data_s_maximum(p: Profile) -> np.ndarray:
    return p.cumulative_prevalences(np.arange(1, 1 + int(p.counts.max(initial=0))))


def squared_counts(p: Profile) -> np.ndarray:
    return first_rows(p, 4) ** 2


def split_at_a_count(p: Profile) -> np.ndarray:
    """Rows with count above 2, columns 1..2 of the others: the split moves with the data."""
    counts = first_rows(p, 12)
    small = [int(((counts >= r) & (counts <= 2)).sum()) for r in (1, 2)]
    return np.append(np.where(counts > 2, counts, 0), small)


@pytest.mark.parametrize(
    "planted",
    [
        corner_shared,
        cell_in_row_and_column,
        rows_of_the_data,
        columns_to_the_data_s_maximum,
        squared_counts,
        split_at_a_count,
    ],
)
def test_planted_bugs_are_caught(planted: Regions) -> None:
    assert worst_change(planted) > 1
