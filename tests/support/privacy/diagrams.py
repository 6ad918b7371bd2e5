"""All small Ferrers diagrams, and all their neighbours."""

from collections.abc import Iterator
from functools import cache

from dphist import Profile

Partition = tuple[int, ...]


@cache
def partitions(n: int, largest: int | None = None) -> tuple[Partition, ...]:
    """All non-increasing sequences of positive integers that sum to n."""
    if n == 0:
        return ((),)
    top = n if largest is None else min(n, largest)
    return tuple(
        (first, *rest) for first in range(top, 0, -1) for rest in partitions(n - first, first)
    )


def with_one_more(partition: Partition) -> set[Partition]:
    """All multisets of counts after one more record, of an old label or of a new one."""
    grown = {tuple(sorted((*partition, 1), reverse=True))}
    for i, count in enumerate(partition):
        grown.add(tuple(sorted((*partition[:i], count + 1, *partition[i + 1 :]), reverse=True)))
    return grown


def neighbour_pairs(most: int) -> Iterator[tuple[Partition, Partition]]:
    """All pairs of partitions of n and n + 1 that one record sets apart, for n <= most."""
    for n in range(most + 1):
        for partition in partitions(n):
            for other in sorted(with_one_more(partition)):
                yield partition, other


def pairs_within(cells: int, most: int) -> Iterator[tuple[Partition, Partition]]:
    """All pairs that up to `cells` records set apart, added or removed."""
    every = [p for n in range(most + 1) for p in partitions(n)]
    for one in every:
        for other in every:
            width = max(len(one), len(other))
            padded = [p + (0,) * (width - len(p)) for p in (one, other)]
            if 0 < sum(abs(a - b) for a, b in zip(*padded, strict=True)) <= cells:
                yield one, other


@cache  # the same few thousand diagrams again and again
def profile(partition: Partition) -> Profile:
    return Profile.from_counts(list(partition))
