"""Windows of the partition sampler, against all partitions within the distance.

Lemma 3 of docs/proofs/partition_sampler.md.
"""

import math

import numpy as np
import pytest

from dphist.anonymized.partition_windows import (
    beyond_corner,
    missing_in_square,
    radius,
    windows_around,
)
from tests.privacy.diagrams import Partition, partitions, profile

EVERY = [p for n in range(13) for p in partitions(n)]


def side(partition: Partition) -> int:
    return sum(count >= i for i, count in enumerate(partition, start=1))


def columns(partition: Partition) -> Partition:
    return tuple(sum(c >= r for c in partition) for r in range(1, max(partition, default=0) + 1))


def entry(partition: Partition, i: int) -> int:
    return partition[i] if i < len(partition) else 0


@pytest.mark.parametrize("data", [p for n in range(7) for p in partitions(n)], ids=str)
def test_windows_hold_every_partition_within_the_distance_and_no_more(data: Partition) -> None:
    for distance in range(6):
        near = [p for p in EVERY if profile(p).distance(profile(data)) <= distance]
        windows = windows_around(profile(data), distance)
        sides = [side(p) for p in near]
        assert (windows.smallest, windows.largest) == (min(sides), max(sides))
        for found, of in ((windows.rows, near), (windows.columns, [columns(p) for p in near])):
            for i in range(windows.largest):
                values = [entry(p, i) for p in of]
                assert (found.least[i], found.most[i]) == (min(values), max(values))


def test_cells_around_squares() -> None:
    for data in (p for n in range(9) for p in partitions(n)):
        sides = np.arange(6)
        cells = {(i, r) for i, count in enumerate(data) for r in range(count)}
        for s in sides:
            missing = sum((i, r) not in cells for i in range(s) for r in range(s))
            beyond = sum(i >= s and r >= s for i, r in cells)
            diagram, conjugate = profile(data), profile(data).conjugate()
            assert missing_in_square(diagram, conjugate, sides)[s] == missing
            assert beyond_corner(diagram, conjugate, sides)[s] == beyond


def test_radius_is_that_of_the_lemma() -> None:
    """Lemma 2, worked out again on a coarse grid of t."""
    n, rate, mass, c = 50, 0.2, 1e-6, math.pi * math.sqrt(2 / 3)

    def log_tail(distance: int, t: float) -> float:
        log_z = math.log(2) + c * math.sqrt(n) + c * c / (2 * t) - math.log(-math.expm1(-t / 2))
        return log_z - (rate - t) * distance

    found, grid = radius(n, rate, -math.log(mass)), rate * np.arange(1, 200) / 200
    assert min(log_tail(found, t) for t in grid) <= math.log(mass) + 1e-9
    assert min(log_tail(found - 3, t) for t in grid) > math.log(mass)


def test_radius_grows_with_the_data_and_shrinks_with_the_rate() -> None:
    assert radius(0, 0.5, 20) < radius(10**6, 0.5, 20) < radius(10**6, 0.1, 20)
    assert radius(100, 0.5, 10) < radius(100, 0.5, 30)
