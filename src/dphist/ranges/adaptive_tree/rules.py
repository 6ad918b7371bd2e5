"""Which nodes of an adaptive tree are counted next, and at what cost: noisy numbers only.

The constants were chosen on public data (docs/ranges.md): they move the error, never the
guarantee, which the budget holds whatever they are.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from dphist.arrays import BoolArray, FloatArray, IntArray
from dphist.ranges.adaptive_tree.path_budget import UNITS
from dphist.ranges.adaptive_tree.share_prior import SHARE_VARIANCES

_USUAL_ROUGHNESS = float(SHARE_VARIANCES.mean())
# Found by trying: 0 leaves roughness out, 1 opens uneven nodes far too much.
_ROUGHNESS_POWER = 0.3
# A level deeper there are half as many ranges that end in a given node.
_DOUBT_GROWTH = math.sqrt(2)

LEAST = UNITS // 1000
"""A node with less than this left is not opened: shares stay such that noise can be sampled."""


@dataclass(frozen=True, slots=True)
class Rules:
    """How the budget goes down the tree.

    "Strength" is records over the noise that the rest of the budget would buy, in units of
    Laplace noise: a node's estimate times its epsilon left.

    Attributes
    ----------
    few : levels up to which all bins are counted at once, at the whole cost.
    first_level, first_share : the level that is counted first where there are more, and its cost.
    stop : strength below which a node of usual roughness is not opened.
    merge : strength below which siblings that stop may be counted together, as their parent.
    merge_doubt : the most variance of how such siblings share their records, times the square of
        their epsilon left (twice its ratio to the variance of their noise), at the root; more by
        the root of 2 for each level below.
    extra : levels to open beyond the binary logarithm of the strength.
    arity : most levels to open at once.
    last_share : what the last opening of a node costs of what is left.
    share : what all openings but the last would cost together.
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

    def depths(self, strength: FloatArray, roughness: FloatArray, below: int) -> IntArray:
        """Return how many more levels each node is worth, 0 to stop it; at most `below`.

        Opening is worth more where the parent's split lets expect an uneven one: `roughness`.
        """
        worth = strength * (roughness / _USUAL_ROUGHNESS) ** _ROUGHNESS_POWER
        wanted = np.floor(np.log2(np.maximum(worth, 1))) + self.extra
        return np.where(worth < self.stop, 0, np.clip(wanted, 0, below)).astype(np.int64)

    def merged(self, strength: FloatArray, doubt: FloatArray, level: int) -> BoolArray:
        """Return which siblings that stop are counted together, as parents at `level`.

        That halves the noise of their sum, which every longer range holds, and leaves the doubt
        about their shares, which only a range that ends in them does: the fewer, the deeper.
        """
        small: BoolArray = doubt < self.merge_doubt * _DOUBT_GROWTH**level
        return small & (strength < self.merge)

    def opening(self, depth: int, below: int, left: int) -> tuple[int, int]:
        """Return how many levels to open nodes of a depth by, and the units that costs.

        What remains of `left` goes to the new nodes, unless they are bins.
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
# The variance of Gaussian noise grows with the number of counts on a path, not with its square:
# every level is worth a count, and a look costs little.
ONE_AXIS_GAUSSIAN = Rules(
    2, 2, 0.25, stop=4, merge=_ALWAYS, merge_doubt=2, extra=1, arity=1, last_share=0.6, share=1
)
MORE_AXES_GAUSSIAN = Rules(
    5, 5, 0.2, stop=4, merge=_ALWAYS, merge_doubt=1, extra=3, arity=3, last_share=0.6, share=1
)
