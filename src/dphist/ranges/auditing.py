"""How histograms over ranges are audited: on which neighbors, and what a release states."""

import math
import random
from collections.abc import Iterator
from typing import Any

import numpy as np

from dphist.arrays import IntArray
from dphist.document.audited import AuditedClass, Auditing, Numbers, Pair, Statement
from dphist.errors import ParameterError
from dphist.ranges.adaptive_tree.mechanism import AdaptiveTree
from dphist.ranges.hierarchical_tree.mechanism import HierarchicalTree
from dphist.ranges.leaf_counts import LeafCounts
from dphist.release.range_histogram import RangeHistogram
from dphist.release.release import Release

_MOST_CELLS = 4096
_LARGEST = 2**62 - 1  # of the sum of all bins
_HUGE = "counts next to 2**62 in all"


class BinNeighbors:
    """One unit adds `sensitivity` records to bins."""

    def __init__(self, mechanism: Any) -> None:
        self.bins = tuple(np.atleast_1d(mechanism.bins).tolist())
        self.size = math.prod(self.bins)
        self.by = mechanism.sensitivity
        if self.size > _MOST_CELLS:
            raise ParameterError("bins", f"must be at most {_MOST_CELLS} in all to be audited")

    def pairs(self) -> Iterator[Pair]:
        """Return edge cases first, then a unit in many bins, and random counts."""
        flat = np.zeros(self.size, np.int64)
        bases = {"no records": flat, "a few in each bin": flat + 3, "many in one bin": flat.copy()}
        bases["many in one bin"][self.size // 3] = 10**6
        bases[_HUGE] = flat + (_LARGEST // self.size - self.by)
        draw = np.random.default_rng(3)
        bases["random counts"] = draw.geometric(0.1, self.size) * draw.integers(0, 2, self.size)
        places = {"the first bin": 0, "the last bin": self.size - 1}
        places["a bin in the middle"] = self.size // 2
        for name, base in bases.items():
            for where, place in places.items():
                grown = base.copy()
                grown[place] += self.by
                yield self._make(f"{name}; one unit in {where}", base, grown, name == _HUGE)
        spread = flat.copy()
        for k in range(self.by):
            spread[k * (self.size - 1) // max(self.by - 1, 1)] += 1
        yield self._make("no records; one unit in many bins", flat, spread)

    def vary(self, name: str, raw: Any, draw: random.Random) -> Iterator[Pair]:
        """Add the same records to both, or the unit somewhere else."""
        one, other = (each.copy() for each in raw)
        if one.max(initial=0) > 2**40:
            return
        place = draw.randrange(self.size)
        more = draw.choice((1, 3, 30, 1000))
        one[place] += more
        other[place] += more
        yield self._make(f"{name}; {more} more in bin {place + 1}", one, other)
        moved = raw[0].copy()
        moved[place] += self.by
        base = name.partition(";")[0]
        yield self._make(f"{base}; one unit in bin {place + 1}", raw[0], moved)

    def _make(self, name: str, one: IntArray, other: IntArray, huge: bool = False) -> Pair:
        return Pair(name, one.reshape(self.bins), other.reshape(self.bins), (one, other), huge)


def _list_value(value: RangeHistogram) -> Any:
    bins = value.counts.ravel().tolist()
    return {"bins": bins, "outside": dict(value.outside)} if value.outside else bins


def _read_tree(mechanism: AdaptiveTree, release: Release, data: Any) -> Numbers:
    return _add_outside(release, release.noisy["counts"].tolist())


def _read_levels(mechanism: HierarchicalTree, release: Release, data: Any) -> Numbers:
    return _add_outside(release, [n for level in release.noisy.values() for n in level.tolist()])


def _read_leaves(mechanism: LeafCounts, release: Release, data: Any) -> Numbers:
    return _add_outside(release, release.value.counts.ravel().tolist())


def _add_outside(release: Release, counts: list[int]) -> Numbers:
    """Return counts of bins, and those beside them; of these 0 stands for all below."""
    outside = list((release.value.outside or {}).values())
    return [*counts, *outside] if all(outside) else None


_TREE: dict[str, Any] = {
    "small": {"bins": 16},
    "others": {"of 4096 bins": {"bins": 4096}},  # twelve levels
    "tiny": {"of 2 bins": {"bins": 2}},
}

AUDITING = Auditing(
    neighbors=BinNeighbors,
    compared=_list_value,
    mechanisms={
        AdaptiveTree: AuditedClass(**_TREE, statement=Statement(_read_tree)),
        HierarchicalTree: AuditedClass(**_TREE, statement=Statement(_read_levels)),
        LeafCounts: AuditedClass(
            small={"bins": 4},
            tiny={"of 1 bin": {"bins": 1}, "of 2 bins": {"bins": 2}},
            statement=Statement(_read_leaves),
        ),
    },
)
