"""Which nodes of an adaptive tree are counted next, and at what cost: noisy numbers only.

The constants were chosen on public data (docs/ranges.md): they move the error, never the
guarantee, which the ledger holds whatever they are.
"""

from dataclasses import dataclass

import numpy as np

from dphist.universal.consistency import FloatArray
from dphist.universal.ledger import UNITS
from dphist.universal.shape import IntArray

LEAST = UNITS // 1000
"""A node with less than this left is not opened: shares stay such that noise can be sampled."""


@dataclass(frozen=True, slots=True)
class Rules:
    """How the budget goes down the tree.

    "Strength" is records over the noise that the rest of the budget would buy, in units of
    Laplace noise: a node's estimate times its epsilon left.

    Attributes
    ----------
    first_level, first_share : the level that is counted whatever the data are, and its cost.
    stop : strength below which a node is not opened.
    merge : strength below which siblings that stop are counted together, as their parent.
    extra : levels to open beyond the binary logarithm of the strength.
    arity : most levels to open at once.
    last_share : what the last opening of a node costs of what is left.
    share : what all openings but the last would cost together.
    """

    first_level: int
    first_share: float
    stop: float
    merge: float
    extra: int
    arity: int
    last_share: float
    share: float

    def depths(self, strength: FloatArray, below: int) -> IntArray:
        """Return how many more levels each node is worth, 0 to stop it; at most `below`."""
        wanted = np.floor(np.log2(np.maximum(strength, 1))) + self.extra
        return np.where(strength < self.stop, 0, np.clip(wanted, 0, below)).astype(np.int64)

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


ONE_AXIS = Rules(4, 0.4, stop=16, merge=24, extra=1, arity=4, last_share=0.8, share=1)
PREFIXES = Rules(3, 0.35, stop=16, merge=24, extra=1, arity=4, last_share=0.8, share=1)
MORE_AXES = Rules(5, 0.2, stop=8, merge=16, extra=3, arity=6, last_share=0.6, share=0.8)
