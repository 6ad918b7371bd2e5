"""What is compared: each makes an estimate of all bins, or answers to ranges, from exact counts."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from dphist import AdaptiveTree, HierarchicalTree, LeafCounts
from dphist.arrays import IntArray
from dphist.ranges.comparing.case import PUBLISHED
from dphist.ranges.comparing.published.privelet import privelet
from dphist.ranges.comparing.queries import Estimate

LEAST_SQUARES = "best uniform tree"
PROJECTED = "best tree + projection"
OURS = "AdaptiveTree"
PREFIXES = f"{OURS}, prefix"
FIXED = "16-ary + projection"

# Children of a node along each axis, among which the best is taken in hindsight.
BRANCHINGS = {1: (2, 4, 8, 16, 32, 64), 2: (2, 4, 8, 16)}
# Projected trees with a root that are shown on their own too.
SHOWN = {1: (16,), 2: (2, 4, 16)}


class Estimator(Protocol):
    """How a contender estimates; all that it draws follows from the seed."""

    def __call__(self, counts: IntArray, epsilon: str, seed: int) -> Estimate:
        """Return estimates of the bins, in the shape of `counts`, or answers to ranges."""


@dataclass(frozen=True, slots=True)
class Contender:
    """A mechanism with its parameters.

    Attributes
    ----------
    name : what it is called in tables and in the journal.
    estimate : Estimator
    family : those of one family are also shown as the best of them, under that name.
    alone : whether it is shown on its own too.
    """

    name: str
    estimate: Estimator
    family: str = ""
    alone: bool = True


def contenders(axes: int) -> list[Contender]:
    """Return all for a domain of so many axes, in the order of the tables."""
    found = [
        Contender("leaves", released(LeafCounts)),
        Contender("Privelet", _seeded(privelet)),
        *(Contender(name, _seeded(mechanism)) for name, mechanism in PUBLISHED.items()),
    ]
    if axes == 1:
        estimate = released(HierarchicalTree, answers=True, branching=2, consistent=False)
        found.append(Contender("H~ binary", estimate))
    trees = [(branching, root) for branching in BRANCHINGS[axes] for root in (True, False)]
    for branching, root in trees:
        binary = branching == 2 and root
        name = "H- binary" if binary else f"least squares {_named(branching, root, axes)}"
        estimate = _tree(branching, root, nonnegative=False)
        found.append(Contender(name, estimate, LEAST_SQUARES, alone=binary))
    for branching, root in trees:
        name = f"{_named(branching, root, axes)} + projection"
        estimate = _tree(branching, root, nonnegative=True)
        shown = root and branching in SHOWN[axes]
        found.append(Contender(name, estimate, PROJECTED, alone=shown))
    found.append(Contender(OURS, released(AdaptiveTree)))
    if axes == 1:
        found.append(Contender(PREFIXES, released(AdaptiveTree, workload="prefix")))
    return found


def yardstick(axes: int) -> str:
    """Return what ours is held against, shape by shape: a fixed tree, none negative."""
    return FIXED if axes == 1 else PROJECTED


def _named(branching: int, root: bool, axes: int) -> str:
    children = f"{branching}-ary" if axes == 1 else f"{branching} x {branching}"
    return children if root else f"{children}, no root"


def released(make: Callable[..., Any], answers: bool = False, **parameters: Any) -> Estimator:
    """Return the estimator of a mechanism of the library with these parameters.

    `answers`: ranges are asked of the released histogram, for they are not sums of its bins.
    """

    def estimate(counts: IntArray, epsilon: str, seed: int) -> Estimate:
        mechanism = make(epsilon=epsilon, bins=counts.shape, **parameters)
        # Seeded, so that a comparison can be repeated; a release leaves the source out.
        histogram = mechanism.release(counts, source=random.Random(seed).randbytes).value
        found: Estimate = histogram if answers else histogram.counts
        return found

    return estimate


def _tree(branching: int, root: bool, nonnegative: bool) -> Estimator:
    return released(HierarchicalTree, branching=branching, root=root, nonnegative=nonnegative)


def _seeded(
    mechanism: Callable[[IntArray, float, np.random.Generator], Estimate],
) -> Estimator:
    """Return the estimator of a mechanism of the benchmarks."""

    def estimate(counts: IntArray, epsilon: str, seed: int) -> Estimate:
        return mechanism(counts, float(epsilon), np.random.default_rng(seed))

    return estimate
