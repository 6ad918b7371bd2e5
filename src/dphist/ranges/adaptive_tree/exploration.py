"""Which nodes of an adaptive tree are counted next, and at what cost: noisy numbers only.

`Rules` decide, and `Explorer` counts until the budget of every path is spent. The constants were
chosen on public data (docs/guides/ranges.md). They affect the error, never the guarantee, which
the budget enforces for all constants.
"""

import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from dphist.arrays import BoolArray, FloatArray, IntArray
from dphist.ranges.adaptive_tree.inference import Fit, Measured, infer
from dphist.ranges.adaptive_tree.path_budget import UNITS
from dphist.ranges.adaptive_tree.share_prior import SHARE_VARIANCES
from dphist.ranges.budget import Budget

_USUAL_ROUGHNESS = float(SHARE_VARIANCES.mean())
# Found by experiment: 0 ignores roughness, 1 opens uneven nodes far too often.
_ROUGHNESS_POWER = 0.3
# One level deeper, half as many ranges end in a given node.
_DOUBT_GROWTH = math.sqrt(2)

LEAST = UNITS // 1000
"""A node with fewer units left is not opened, so that the noise of shares can be sampled."""


@dataclass(frozen=True, slots=True)
class Rules:
    """How the budget is distributed down the tree.

    "Strength" is the ratio of a node's records to the noise that its remaining budget pays for:
    its estimate times its remaining epsilon, in units of Laplace noise.

    Attributes
    ----------
    few : height up to which all bins are counted at once, with the whole budget.
    first_level, first_share : the level counted first in a higher tree, and its cost.
    stop : strength below which a node of average roughness is not opened.
    merge : strength below which stopping siblings may be counted together, as their parent.
    merge_doubt : maximum variance of the siblings' split, times the square of their remaining
        epsilon (twice its ratio to the variance of their noise), at the root; it grows by sqrt(2)
        per level.
    extra : levels opened beyond the binary logarithm of the strength.
    arity : maximum number of levels opened at once.
    last_share : share of the remaining budget that the last opening of a node costs.
    share : share that all other openings cost together.
    """

    few: int
    first_level: int
    first_share: float
    stop: float
    merge: float
    merge_doubt: float
    extra: int
    arity: int
    last_share: float
    share: float

    def units_of_first(self, height: int) -> int:
        """Return the units that the counts of the first level cost, in a tree of this height."""
        return UNITS if height <= self.few else int(UNITS * self.first_share)

    def depths(self, strength: FloatArray, roughness: FloatArray, below: int) -> IntArray:
        """Return how many more levels to open for each node, 0 to stop; at most `below`.

        Opening is worth more if the parent's split predicts an uneven one (`roughness`).
        """
        worth = strength * (roughness / _USUAL_ROUGHNESS) ** _ROUGHNESS_POWER
        wanted = np.floor(np.log2(np.maximum(worth, 1))) + self.extra
        return np.where(worth < self.stop, 0, np.clip(wanted, 0, below)).astype(np.int64)

    def merged(self, strength: FloatArray, doubt: FloatArray, level: int) -> BoolArray:
        """Return which stopping siblings are counted together, as their parents at `level`.

        This halves the noise of their sum, which matters for every longer range, but leaves their
        split uncertain, which matters only for ranges that end in them: fewer at deeper levels.
        """
        small: BoolArray = doubt < self.merge_doubt * _DOUBT_GROWTH**level
        return small & (strength < self.merge)

    def opening(self, depth: int, below: int, left: int) -> tuple[int, int]:
        """Return the number of levels by which nodes of a depth are opened, and its cost in units.

        The rest of `left` goes to the new nodes, except if they are bins.
        """
        rounds = -(-depth // self.arity)
        levels = min(below, -(-depth // rounds))
        if levels == below:
            return levels, left
        share = self.last_share if rounds == 1 else self.share / rounds
        return levels, int(left * share)


_ALWAYS = math.inf

ONE_AXIS = Rules(
    5, 4, 0.4, stop=16, merge=_ALWAYS, merge_doubt=2, extra=1, arity=4, last_share=0.8, share=1
)
PREFIXES = replace(ONE_AXIS, first_level=3, first_share=0.35)
MORE_AXES = Rules(
    5, 5, 0.2, stop=8, merge=16, merge_doubt=_ALWAYS, extra=3, arity=6, last_share=0.6, share=0.8
)
# The variance of Gaussian noise grows with the number of counts on a path, not with its square, so
# counting every level pays.
ONE_AXIS_GAUSSIAN = Rules(
    2, 2, 0.25, stop=4, merge=_ALWAYS, merge_doubt=2, extra=1, arity=1, last_share=0.6, share=1
)
MORE_AXES_GAUSSIAN = Rules(
    5, 5, 0.2, stop=4, merge=_ALWAYS, merge_doubt=1, extra=3, arity=3, last_share=0.6, share=1
)

# With a public guess of few records. For prefixes, most of the error is then that of the total, of
# which each has its part: a first look at fewer nodes, or at the root, has it more exactly. In
# several axes, siblings with few records are counted apart more often.
FEW_PREFIXES = replace(PREFIXES, first_level=2, first_share=0.45)
FEW_PREFIXES_GAUSSIAN = replace(ONE_AXIS_GAUSSIAN, first_level=0, first_share=0.2)
FEW_MORE_AXES = replace(MORE_AXES, merge=8)
# Strengths of the whole domain above and up to which these rules are used.
_FEW_PREFIXES = 200, 2000
_FEW_PREFIXES_GAUSSIAN = -1, 2000
_FEW_MORE_AXES = -1, 5000


def rules_for(
    *, several_axes: bool, gaussian: bool, prefixes: bool, strength: float | None
) -> Rules:
    """Return the rules for a tree, from public parameters alone.

    Parameters
    ----------
    several_axes, gaussian : of the tree, and of its noise.
    prefixes : whether prefixes are asked most.
    strength : the strength of the whole domain by a public guess of the total; None without one.
    """

    def few(strengths: tuple[int, int]) -> bool:
        return strength is not None and strengths[0] < strength <= strengths[1]

    if several_axes:
        if gaussian:
            return MORE_AXES_GAUSSIAN
        return FEW_MORE_AXES if few(_FEW_MORE_AXES) else MORE_AXES
    if gaussian:
        return (
            FEW_PREFIXES_GAUSSIAN if prefixes and few(_FEW_PREFIXES_GAUSSIAN) else ONE_AXIS_GAUSSIAN
        )
    if not prefixes:
        return ONE_AXIS
    return FEW_PREFIXES if few(_FEW_PREFIXES) else PREFIXES


Count: TypeAlias = Callable[[int, IntArray, int], IntArray]
# Undecided nodes, by level and by the units left on their path.
Frontier: TypeAlias = dict[tuple[int, int], IntArray]


class Explorer:
    """Counts nodes until the budget of every path is spent.

    Parameters
    ----------
    measured : receives every noisy count.
    rules : decide which nodes are counted next.
    budget : privacy budget of a record.
    count : maps (level, nodes, units) to noisy counts. It charges, and is the only access to data.
    """

    def __init__(self, measured: Measured, rules: Rules, budget: Budget, count: Count) -> None:
        self._measured, self._rules, self._budget, self._count = measured, rules, budget, count
        self._height = len(measured.sizes) - 1

    def run(self) -> None:
        """Count the first level, then open or stop all nodes of the frontier, round by round."""
        frontier = self._begin()
        while frontier:
            fit = infer(self._measured, sweeps=1)
            following: dict[tuple[int, int], list[IntArray]] = defaultdict(list)
            for (level, left), nodes in frontier.items():
                strength = fit.counts[level][nodes] * self._sharpness(left)
                below = self._height - level if left >= LEAST else 0
                depths = self._rules.depths(strength, fit.roughness[level][nodes], below)
                self._stop(level, left, nodes[depths == 0], fit)
                for depth in np.unique(depths[depths > 0]).tolist():
                    self._open(level, left, nodes[depths == depth], depth, following)
            frontier = {key: np.sort(np.concatenate(parts)) for key, parts in following.items()}

    def _begin(self) -> Frontier:
        level = min(self._height, self._rules.first_level)
        spent = self._rules.units_of_first(self._height)
        if spent == UNITS:
            level = self._height
        nodes = np.arange(2**level)
        self._take(level, nodes, spent)
        return {} if spent == UNITS else {(level, UNITS - spent): nodes}

    def _open(
        self,
        level: int,
        left: int,
        nodes: IntArray,
        depth: int,
        following: dict[tuple[int, int], list[IntArray]],
    ) -> None:
        """Count the nodes some levels down, and pass them the remaining budget."""
        levels, spent = self._rules.opening(depth, self._height - level, left)
        children = ((nodes << levels)[:, None] + np.arange(1 << levels)).ravel()
        self._take(level + levels, children, spent)
        if spent < left:
            following[level + levels, left - spent].append(children)

    def _stop(self, level: int, left: int, nodes: IntArray, fit: Fit) -> None:
        """Merge stopping siblings while it pays, and spend all they have left."""
        sharpness = self._sharpness(left)
        while len(nodes):
            pairs = np.flatnonzero(nodes[1:] >> 1 == nodes[:-1] >> 1) if level else nodes[:0]
            if level:
                parents = nodes[pairs] >> 1
                strength = fit.counts[level - 1][parents] * sharpness
                doubt = fit.spreads[level - 1][parents] * sharpness**2
                pairs = pairs[self._rules.merged(strength, doubt, level - 1)]
            alone = np.ones(len(nodes), bool)
            alone[pairs] = alone[pairs + 1] = False
            self._take(level, nodes[alone], left)
            nodes, level = nodes[pairs] >> 1, level - 1

    def _take(self, level: int, nodes: IntArray, units: int) -> None:
        """Count those of the nodes that exist."""
        nodes = nodes[self._measured.sizes[level][nodes] > 0]
        if len(nodes):
            counts = self._count(level, nodes, units)
            self._measured.take(level, nodes, counts, self._budget.variance(Fraction(units, UNITS)))

    def _sharpness(self, units: int) -> float:
        """Return the epsilon of Laplace noise with the variance that these units pay for."""
        return math.sqrt(2 / self._budget.variance(Fraction(units, UNITS)))
