"""Users by the total that is farthest outside of a clamp, with noise, and what that says of sums.

All of it is post-processing of the noisy numbers (`docs/understand/proofs/sums.md`, Lemma 10).
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from dphist.arrays import FloatArray
from dphist.data.clamp import Clamp
from dphist.noise.law import NoiseLaw
from dphist.noise.sums import width_of_sum
from dphist.parameters import decimal_text
from dphist.release.fitted_users import Share
from dphist.release.users_by_size import SIDE, bound_share


@dataclass(frozen=True, slots=True)
class UsersByTotal:
    """Noisy numbers of users by the farthest of their totals, before these were clamped.

    Attributes
    ----------
    clamp : of each total; its `starts` separate the cells.
    noisy : the number of users in each cell, with noise; some may be negative.
    law : of the noise of each number: two-sided geometric or Gaussian.
    """

    clamp: Clamp
    noisy: tuple[int, ...]
    law: NoiseLaw

    def share_clamped(self) -> Share:
        """Return the share of users who have a total outside of the clamp, among those counted.

        The total is of one of their labels that count, shown or not.
        """
        outside: FloatArray = np.ones(len(self.noisy))
        outside[self._inside] = 0.0
        return bound_share(self.noisy, self.law, [(outside, np.ones_like(outside))])

    def users_beyond(self) -> tuple[int, int]:
        """Return how many users have a total in the cells without an end, and an upper bound.

        The upper bound holds with 97.5 %.
        """
        ends: FloatArray = np.zeros(len(self.noisy))
        ends[[0, -1]] = 1.0
        found = self.noisy[0] + self.noisy[-1]
        return max(found, 0), max(found + math.floor(self._width(ends)), 0)

    def change_at_most(self) -> Fraction:
        """Return how much clamping changed the sum of a label, but for `users_beyond`.

        It is an upper bound, which holds with 97.5 %, for all labels at once, in the unit of the
        values.
        """
        far = self._distances()
        noisy = sum(int(each) * number for each, number in zip(far, self.noisy, strict=True))
        return max(noisy + math.floor(self._width(far)), 0) * self.clamp.step

    def half_width(self) -> int:
        """Return how far each number is from the true one at most, with 95 %."""
        return math.floor(self._width(np.ones(1)))

    def cells(self) -> list[tuple[Fraction | None, Fraction | None]]:
        """Return the least and the largest total of each cell; None for no end."""
        starts, step = self.clamp.starts, self.clamp.step
        firsts = [None, *(start * step for start in starts)]
        lasts = [*((start - 1) * step for start in starts), None]
        return list(zip(firsts, lasts, strict=True))

    def nearest_to_ends(self) -> tuple[Fraction, Fraction]:
        """Return the least and the largest total of a cell that has both ends."""
        starts, step = self.clamp.starts, self.clamp.step
        return starts[0] * step, (starts[-1] - 1) * step

    def cells_in_words(self) -> list[str]:
        """Write the totals of each cell.

        >>> from dphist.noise.law import Drawing
        >>> law = NoiseLaw("two-sided geometric", 1, Drawing.WHOLE)
        >>> UsersByTotal(Clamp(0, 1, 1), (0,) * 7, law).cells_in_words()
        ['below -9', '-9 to -4', '-3 to -2', '-1', '0 to 1', '2', '3 to 4', '5 to 10', 'above 10']
        """
        low, high = map(decimal_text, self.nearest_to_ends())
        said = [f"below {low}"]
        for first, last in self.cells()[1:-1]:
            ends = dict.fromkeys(decimal_text(end) for end in (first, last) if end is not None)
            said.append(" to ".join(ends))
        return [*said, f"above {high}"]

    @property
    def _inside(self) -> int:
        """The place of the cell of totals within the clamp."""
        return self.clamp.starts.index(self.clamp.least) + 1

    def _distances(self) -> FloatArray:
        """Return how far a total of each cell is outside at most, in steps; 0 without an end."""
        starts, low, high = self.clamp.starts, self.clamp.least, self.clamp.most
        pairs = pairwise(starts)
        far = [max(low - first, end - 1 - high, 0) for first, end in pairs]
        return np.array([0, *far, 0], np.float64)

    def _width(self, weights: FloatArray) -> float:
        return float(width_of_sum(self.law, weights, SIDE))
