"""Measuring of `RankSplit`: a noisy total, then noisy rows and columns of that many."""

import math
from fractions import Fraction

from dphist.anonymized.mechanism import GeometricMechanism
from dphist.anonymized.size import check_size
from dphist.arrays import IntArray
from dphist.data import tiling
from dphist.data.profile import Profile
from dphist.noise import Source, two_sided_geometric
from dphist.noise.magnitude import geometric_upper_bound

# Share of epsilon spent on the total when none is public. A larger one costs error
# everywhere, a smaller one widens the regions for small data at small epsilon; 1/40 lies
# where the benchmark hardly tells shares apart (`docs/understand/lab-notes`).
TOTAL_SHARE = Fraction(1, 40)
# Probability that the estimated total, with its margin, is below the true one.
MISSED = 1e-3


class RankSplitMeasuring(GeometricMechanism):
    """What sees the data: `docs/understand/proofs/rank_split.md`."""

    __slots__ = ()

    total: int | None

    @property
    def _total_epsilon(self) -> Fraction:
        """Epsilon spent on the total."""
        return self.epsilon * TOTAL_SHARE if self.total is None else Fraction(0)

    @property
    def cell_epsilon(self) -> Fraction:
        """Parameter of the geometric noise on each row and column."""
        return (self.epsilon - self._total_epsilon) / self.sensitivity

    def _measure(self, profile: Profile, source: Source | None) -> tuple[int, dict[str, IntArray]]:
        """Return the public or noisy total, and noisy rows and columns."""
        noisy_total = self._measure_total(profile, source)
        size = self._size(noisy_total)
        check_size(size)
        rows = tiling.first_rows(profile, size)
        columns = tiling.columns_below(profile, size, size)
        noise = two_sided_geometric(self.cell_epsilon, 2 * size, source)
        noisy = {"rows": rows + noise[:size], "columns": columns + noise[size:]}
        return noisy_total, noisy

    def _measure_total(self, profile: Profile, source: Source | None) -> int:
        if self.total is not None:
            return self.total
        noise = two_sided_geometric(self._total_epsilon / self.sensitivity, 1, source)
        return profile.total + int(noise[0])

    def _size(self, noisy_total: int) -> int:
        """Return k, of rows and of columns: a function of public and noisy numbers alone."""
        margin = 0
        if self.total is None:
            margin = geometric_upper_bound(self._total_epsilon / self.sensitivity, MISSED)
        bound = max(noisy_total, 0) + margin
        return math.isqrt(bound - 1) + 1 if bound > 0 else 0
