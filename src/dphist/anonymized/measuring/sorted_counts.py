"""Measuring of `SortedCounts`: noise on each of the largest counts."""

from dphist.anonymized.mechanism import GeometricMechanism
from dphist.arrays import IntArray
from dphist.data import tiling
from dphist.data.profile import Profile
from dphist.noise import Source, two_sided_geometric


class SortedCountsMeasuring(GeometricMechanism):
    """What sees the data: `docs/understand/proofs/sorted_counts.md`."""

    __slots__ = ()

    labels: int

    def measure(self, profile: Profile, source: Source | None = None) -> IntArray:
        """Return the noisy sorted counts, (labels,) int64, before inference.

        They satisfy the guarantee themselves; releasing them and `release` pays twice.
        """
        self._accept(profile)
        true = tiling.first_rows(profile, self.labels)
        return true + two_sided_geometric(self.cell_epsilon, self.labels, source)
