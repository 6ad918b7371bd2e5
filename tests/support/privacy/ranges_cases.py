"""Mechanisms over four bins, data for them, and noise that is known, for the tests beside this."""

import itertools
import math

import numpy as np

from dphist import AdaptiveTree, Axis, BinnedCounts, HierarchicalTree, LeafCounts
from dphist.ranges.budget import Budget

MAKE = [
    lambda **kw: LeafCounts(bins=4, **kw),
    lambda **kw: HierarchicalTree(bins=4, branching=2, **kw),
    lambda **kw: HierarchicalTree(bins=4, branching=2, consistent=False, **kw),
    lambda **kw: AdaptiveTree(bins=4, **kw),
]
AXIS = Axis.from_edges([0, 1, 2, 3, 4])


def binned(counts=(1, 2, 3, 4), below=5, above=6, null=7):
    outside = {"below": below, "above": above, "null": null}
    return BinnedCounts(np.array(counts), (AXIS,), outside)


class Drawn:
    """Stands in for `Budget.noise`: all numbers drawn differ, and it is known what was asked."""

    def __init__(self, monkeypatch):
        self.calls, self.next = [], 10**6
        monkeypatch.setattr(Budget, "noise", lambda budget, *args: self(budget, *args))

    def __call__(self, budget, share, size, source):
        shape = size if isinstance(size, tuple) else (size,)
        noise = self.next + 1000 * np.arange(math.prod(shape)).reshape(shape)
        self.next += 1000 * noise.size
        self.calls.append((budget, share, noise))
        return noise


def neighbours(bins, most=2):
    """Pairs of grids that differ by one record, in each bin in turn."""
    rng = np.random.default_rng(math.prod(bins))
    for place in itertools.product(*map(range, bins)):
        counts = rng.integers(0, most + 1, bins)
        more = counts.copy()
        more[place] += 1
        yield counts, more
