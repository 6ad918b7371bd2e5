"""Measuring of `CumulativeCounts`: noise on the number of labels with each count or more."""

from dphist.anonymized.mechanism import GeometricMechanism
from dphist.arrays import IntArray
from dphist.data import tiling
from dphist.data.profile import Profile
from dphist.noise import Source, two_sided_geometric


class CumulativeCountsMeasuring(GeometricMechanism):
    """What sees the data: `docs/understand/proofs/cumulative_counts.md`."""

    __slots__ = ()

    largest: int

    def measure(self, profile: Profile, source: Source | None = None) -> IntArray:
        """Return the noisy cumulative prevalences, (largest,) int64, before inference.

        They satisfy the guarantee themselves; releasing them and `release` pays twice.
        """
        self._accept(profile)
        true = tiling.columns_below(profile, 0, self.largest)
        return true + two_sided_geometric(self.cell_epsilon, self.largest, source)
