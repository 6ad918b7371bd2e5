"""Neighbors for anonymized histograms: counts of labels."""

import random
from collections.abc import Iterator
from typing import Any

from dphist.anonymized.partition_sampler.mechanism import PartitionSampler
from dphist.data.profile import Profile
from dphist.document.audited import Pair
from dphist.errors import DphistError

_RANDOM_PAIRS = 6
_MOST_UNITS = 8
_HUGE = 2**61

Counts = tuple[int, ...]


class ProfileNeighbors:
    """One unit adds a record to each of `sensitivity` labels, or all of them to one label."""

    def __init__(self, mechanism: Any) -> None:
        self.sensitivity = mechanism.sensitivity
        self.takes_huge = not isinstance(mechanism, PartitionSampler)

    def pairs(self) -> Iterator[Pair]:
        """Return edge cases first, then random pairs."""
        by = min(self.sensitivity, _MOST_UNITS)
        added = [1] * by
        cases: dict[str, tuple[list[int], list[int]]] = {
            "nothing, and one unit": ([], added),
            "a label grows from 1 to 2": ([1] * by, [2] * by),
            "a new label beside one": ([1], [1, *added]),
            "a tie is broken": ([5] * (by + 1), [6] * by + [5]),
            "a tie comes about": ([6] + [5] * by, [6] + [6] * by),
            "a large count grows": ([10**4] * by + [1], [10**4 + 1] * by + [1]),
            "a very large count grows": ([10**6] * by + [1], [10**6 + 1] * by + [1]),
            "a count next to 2**62": ([_HUGE], [_HUGE, *added]),
            "a count next to 2**62 grows": ([_HUGE, 3], [_HUGE + self.sensitivity, 3]),
            "stairs": (list(range(1, 40)), [*range(1, 40), *added]),
        }
        if self.sensitivity > 1:
            cases["all records in one label"] = ([4, 2], [4 + self.sensitivity, 2])
        draw = random.Random(2)  # noqa: S311 - public data
        for number in range(_RANDOM_PAIRS):
            counts = [draw.choice((1, 1, 1, 2, 3, 8, 40)) for _ in range(draw.randrange(by, 20))]
            grown = [c + (k < by) for k, c in enumerate([*counts, *[0] * (by - len(counts))])]
            cases[f"random counts, {number + 1}"] = (counts, grown)
        for name, (one, other) in cases.items():
            yield from self._make(name, one, other)

    def vary(self, name: str, raw: Any, draw: random.Random) -> Iterator[Pair]:
        """Give both more labels alike, or take labels away from both."""
        one, other = (list(counts) for counts in raw)
        more = [draw.choice((1, 1, 2, 3, 10, 100)) for _ in range(draw.randrange(1, 6))]
        yield from self._make(f"{name}, more labels", [*one, *more], [*other, *more])
        shared = [count for count in one if count in other]
        if shared:
            gone = draw.choice(shared)
            one.remove(gone)
            other.remove(gone)
            yield from self._make(f"{name}, fewer labels", one, other)

    def _make(self, name: str, one: list[int], other: list[int]) -> Iterator[Pair]:
        huge = max(one, default=0) >= _HUGE
        if huge and not self.takes_huge:
            return
        try:
            first, second = (
                Profile.from_counts(counts, sensitivity=self.sensitivity) for counts in (one, other)
            )
        except DphistError:
            return
        yield Pair(name, first, second, (tuple(one), tuple(other)), huge)
