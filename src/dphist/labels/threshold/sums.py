"""Noise on sums beside the counts of labels, and what it costs.

A user adds a total, clamped and taken about a public center, to the sum of each label that they
have: at most `reach` steps either way, to at most `changed` labels. Labels are found by their
counts alone; each sum of a label that is shown gets noise of its own. In the account this is one
more number for each label (`docs/understand/proofs/sums.md`).
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dphist.arrays import IntArray
from dphist.data.clamp import Clamp
from dphist.data.label_counts import LabelCounts
from dphist.errors import Argument, BoundsError, ParameterError
from dphist.noise import Source, rounded_gaussian, two_sided_geometric
from dphist.noise.gaussian import LARGEST_SIGMA
from dphist.noise.geometric import SMALLEST_EPSILON
from dphist.privacy.conversion import geometric_to_rho
from dphist.privacy.losses import GeometricLoss
from dphist.privacy.rounding import UP, decimal, round_up

LARGEST_SUM = 2**61
"""Larger sums, in steps, are clamped; clamping never increases a difference."""

_ROOT_BITS = 40


@dataclass(frozen=True, slots=True)
class SumNoise:
    """The noise of the sums of one column.

    Attributes
    ----------
    gaussian : whether it is Gaussian; else two-sided geometric.
    clamp : of each user's total of a label.
    counts_users : whether the count of a label is its number of users.
    scale : in steps: the standard deviation of Gaussian noise, 1 / rate of geometric noise.
    """

    gaussian: bool
    clamp: Clamp
    counts_users: bool
    scale: Fraction

    @property
    def center(self) -> int:
        """Steps that are taken from the total of each user."""
        return self.clamp.center(counts_users=self.counts_users)

    @property
    def is_sampled(self) -> bool:
        """Whether noise of this scale can be drawn exactly."""
        return self.scale <= (LARGEST_SIGMA if self.gaussian else 1 / SMALLEST_EPSILON)

    def add(self, sums: IntArray, source: Source | None) -> IntArray:
        """Return noisy sums: each a function of the true sum, clamped, and the noise."""
        if self.gaussian:
            noise = rounded_gaussian(self.scale, len(sums), source)
        else:
            noise = two_sided_geometric(1 / self.scale, len(sums), source)
        held = np.clip(sums, -LARGEST_SUM, LARGEST_SUM)
        found: IntArray = held + np.clip(noise, -2 * LARGEST_SUM, 2 * LARGEST_SUM)
        return np.clip(found, -LARGEST_SUM, LARGEST_SUM)


@dataclass(frozen=True, slots=True)
class Sums:
    """The sums beside the counts of labels, and how much they pay for.

    Attributes
    ----------
    columns : their names and clamps.
    share : of what a label costs, for all of its sums together; the rest is for its count. Of the
        squared distance for Gaussian noise, of epsilon for other noise.
    gaussian : whether noise is Gaussian.
    epsilon : of the count of a label.
    changed : how many labels one user changes at most.
    counts_users : whether the count of a label is its number of users.
    """

    columns: tuple[tuple[str, Clamp], ...]
    share: Fraction
    gaussian: bool
    epsilon: Fraction
    changed: int
    counts_users: bool

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [name for name, _ in self.columns]

    @property
    def ratio(self) -> Fraction:
        """The epsilon of a sum, in that of the count of a label; of a root, rounded down."""
        each = self.share / (1 - self.share) / len(self.columns)
        if not self.gaussian:
            return each
        root = math.isqrt((each.numerator << 2 * _ROOT_BITS) // each.denominator)
        return Fraction(root, 1 << _ROOT_BITS)

    def make_noise(self, clamp: Clamp) -> SumNoise:
        """Return the noise of the sums of a column."""
        scale = clamp.reach(counts_users=self.counts_users) / (self.epsilon * self.ratio)
        return SumNoise(self.gaussian, clamp, self.counts_users, scale)

    @property
    def noises(self) -> list[SumNoise]:
        """The noise of each column."""
        return [self.make_noise(clamp) for _, clamp in self.columns]

    @property
    def changes(self) -> Fraction:
        """How many numbers of the cost of a count one user changes in the sums; rounded up.

        Of Gaussian noise the squared distance in (scale of a count)**2, of other noise the epsilon
        in that of a count.
        """
        number = self.changed * len(self.columns)
        if not self.gaussian:
            return number * self.ratio
        return round_up(decimal(number * self.ratio**2, UP))

    @property
    def rho(self) -> Fraction:
        """The rho of the sums under geometric noise."""
        each = (
            geometric_to_rho(self.epsilon * self.ratio, self._reach(clamp))
            for _, clamp in self.columns
        )
        return self.changed * sum(each, Fraction(0))

    @property
    def losses(self) -> list[GeometricLoss]:
        """The privacy losses of the sums under geometric noise."""
        epsilon = self.epsilon * self.ratio
        reaches = (self._reach(clamp) for _, clamp in self.columns)
        return [GeometricLoss(epsilon / reach, reach, self.changed) for reach in reaches]

    def _reach(self, clamp: Clamp) -> int:
        return clamp.reach(counts_users=self.counts_users)


def check_sums(
    counts: LabelCounts, sums: tuple[tuple[str, Clamp], ...] | None, max_count: int
) -> None:
    """Refuse data that were not summed as a mechanism sums them: exactly so.

    Raises
    ------
    BoundsError
    """
    if sums is None:
        return
    if tuple(counts.sums.items()) != sums:
        raise BoundsError(
            Argument("sums") + " of the mechanism needs data with the same sums: make them with "
            "LabelCounts.from_table(..., sums=...), and the mechanism with counts.sums"
        )
    if (counts.max_count == 1) != (max_count == 1):
        raise BoundsError(
            Argument("sums")
            + " needs data with the mechanism's own bound, "
            + Argument("max_count", max_count)
            + ": sums are taken about another center where it is 1"
        )


def check_totals(counts: LabelCounts) -> None:
    """Refuse data in which users were not counted by their totals.

    Raises
    ------
    ParameterError
    """
    if counts.numbers_by_totals is None:
        raise ParameterError(
            "users_by_totals",
            "needs data in which users were counted by their totals",
            "make them with LabelCounts.from_table(..., sums=..., users_by_totals=True)",
        )
