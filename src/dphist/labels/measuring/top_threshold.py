"""Measuring of `TopThreshold`: noise on the largest counts and on a threshold above the next."""

import math
from fractions import Fraction

import pyarrow as pa

from dphist.data.label_counts import LabelCounts
from dphist.labels.mechanism import LARGEST_COUNT, LabelsMechanism, in_released_order
from dphist.noise.inversion import Source
from dphist.noise.lazy import GAUSSIAN, LazyNoise
from dphist.noise.quantiles import normal_quantile_above
from dphist.privacy import ApproxZCDP
from dphist.release.label_table import LabelTable

_GRID = 32


class TopThresholdMeasuring(LabelsMechanism):
    """What sees the data: `docs/understand/proofs/top_labels.md`."""

    __slots__ = ()

    delta: Fraction
    k: int
    max_labels: int

    @property
    def guarantee(self) -> ApproxZCDP:
        """Rogers 2023, Theorem 8."""
        return ApproxZCDP(self.max_labels * self.epsilon**2 / 2, self.delta, self._unit)

    @property
    def threshold(self) -> Fraction:
        """How far above the next count the threshold lies, noise apart, in records; rounded up."""
        root_two = Fraction(math.isqrt(2 << 2 * _GRID) + 1, 1 << _GRID)
        quantile = normal_quantile_above(self.delta / self.max_labels)
        return self.max_count + root_two * self.noise_scale * quantile

    def _drawn(self, counts: LabelCounts, source: Source | None) -> LabelTable:
        largest = counts.largest(self.k + 1)
        found = self.measure(largest["count"].to_pylist(), source)
        released = pa.table(
            {
                "label": largest["label"].take(pa.array([i for i, _ in found], pa.int64())),
                "count": pa.array([count for _, count in found], pa.int64()),
            }
        )
        return in_released_order(released)

    def measure(self, counts: list[int], source: Source | None = None) -> list[tuple[int, int]]:
        """Return (place, noisy count) of those above the threshold; counts: the largest k + 1.

        Empty labels, which the algorithm pads with, are never released: they get no noise.
        """
        next_count = counts[self.k] if len(counts) > self.k else 0
        centers = [c - next_count for c in counts[: self.k]]
        noise = LazyNoise(GAUSSIAN, self.noise_scale, [*centers, self.threshold], source)
        above = noise.descending_above(len(centers), len(centers))
        return [(i, _clipped(next_count + noise.rounded(i))) for i in above]


def _clipped(count: int) -> int:
    return min(max(count, -LARGEST_COUNT), LARGEST_COUNT)
