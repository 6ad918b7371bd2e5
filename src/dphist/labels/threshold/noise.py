"""The noise on counts of labels, and which noisy counts are above a threshold."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
import pyarrow as pa
from scipy.special import ndtr

from dphist.arrays import BoolArray, IntArray
from dphist.counting import LARGEST as LARGEST_COUNT
from dphist.labels.threshold.law import grid
from dphist.noise import Source, rounded_gaussian, two_sided_geometric
from dphist.noise.law import ROUNDED, Drawing, NoiseLaw
from dphist.noise.magnitude import (
    gaussian_half_width,
    geometric_half_width,
    geometric_standard_deviation,
)


@dataclass(frozen=True, slots=True)
class GeometricNoise:
    """Two-sided geometric noise: Pr[Z = z] is proportional to exp(-rate abs(z))."""

    rate: Fraction

    @property
    def law(self) -> NoiseLaw:
        """What it is called, and its scale."""
        return NoiseLaw("two-sided geometric", 1 / self.rate, Drawing.WHOLE)

    def add(
        self, counts: IntArray, threshold: int | Fraction | None, source: Source | None
    ) -> tuple[IntArray, BoolArray]:
        """Return the noisy counts, and which of them are above the threshold, if there is one."""
        noisy = noisy_sum(counts, two_sided_geometric(self.rate, len(counts), source))
        above = np.ones(len(counts), bool) if threshold is None else noisy > int(threshold)
        return noisy, above

    def chance_above(self, excess: float) -> float:
        """Return Pr[Z > excess], for a whole number `excess`."""
        rate = min(float(self.rate), 700.0)
        tail = math.exp(-rate * (excess + 1 if excess >= 0 else -excess)) / (1 + math.exp(-rate))
        return tail if excess >= 0 else 1 - tail

    def half_width(self, level: float) -> int:
        """Return the least q with Pr[abs(Z) <= q] >= level."""
        return geometric_half_width(self.rate, level)

    def rms_of_sum(self, terms: int) -> float:
        """Return the standard deviation of the noise of a sum of counts, in records."""
        return math.sqrt(terms) * geometric_standard_deviation(self.rate)


@dataclass(frozen=True, slots=True)
class GaussianNoise:
    """Real noise N(0, sigma**2); what is compared is the real sum, which is then rounded."""

    sigma: Fraction

    @property
    def law(self) -> NoiseLaw:
        """What it is called, and its scale."""
        return NoiseLaw("Gaussian", self.sigma, Drawing.ROUNDED, ROUNDED)

    def add(
        self, counts: IntArray, threshold: int | Fraction | None, source: Source | None
    ) -> tuple[IntArray, BoolArray]:
        """As for geometric noise; the threshold is one of `gaussian_threshold`.

        m N is rounded to an integer, m odd. That integer is (whole - 1/2 + (rest + 1/2) / m) m
        to the nearest, so `whole` is N rounded to an integer, and with T = (g + 1/2) / m the real
        c + N is above T iff m (c + whole) + rest > g + (m - 1) / 2. Compared in two parts, so
        that nothing overflows (`docs/understand/proofs/threshold.md`, Lemma 3).
        """
        fine = grid(self.sigma)
        half = fine // 2
        steps = rounded_gaussian(self.sigma * fine, len(counts), source) + half
        whole = steps // fine
        rest = steps - whole * fine
        noisy = noisy_sum(counts, whole)
        if threshold is None:
            return noisy, np.ones(len(counts), bool)
        limit, limit_rest = divmod(math.ceil(threshold * fine - Fraction(1, 2)) + half, fine)
        return noisy, (noisy > limit) | ((noisy == limit) & (rest > limit_rest))

    def chance_above(self, excess: float) -> float:
        """Return Pr[N > excess], where N is the real noise."""
        return float(ndtr(-excess / float(self.sigma)))

    def half_width(self, level: float) -> int:
        """Return the least q at which the noise, rounded, is within q with this probability."""
        return gaussian_half_width(self.sigma, level)

    def rms_of_sum(self, terms: int) -> float:
        """Return the standard deviation of the noise of a sum of counts, in records."""
        return math.sqrt(terms) * float(self.sigma)


def noisy_sum(counts: IntArray, noise: IntArray) -> IntArray:
    """Add without wrapping: the sum, cut off at both ends, is a function of the true sum.

    Noise is cut off only where the sum is cut off anyway, as counts are from 0 to LARGEST_COUNT.
    """
    low, high = -LARGEST_COUNT // 2, LARGEST_COUNT
    cut = np.clip(noise, low - LARGEST_COUNT, high)
    result: IntArray = np.clip(np.minimum(counts, LARGEST_COUNT) + cut, low, high)
    return result


class Adding(Protocol):
    """A law of noise that is added to counts."""

    def add(
        self, counts: IntArray, threshold: int | Fraction | None, source: Source | None
    ) -> tuple[IntArray, BoolArray]:
        """Return the noisy counts, and which of them are above the threshold, if there is one."""


@dataclass(frozen=True, slots=True)
class AboveThreshold:
    """Of a batch of labels and counts, those above the threshold, with noisy counts.

    It may run in another process: without `source` each batch draws from the randomness of the
    operating system there, each label noise of its own.
    """

    noise: Adding
    threshold: int | Fraction
    source: Source | None = None

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows that are released."""
        counts = np.asarray(batch.column("count"), np.int64)
        noisy, above = self.noise.add(counts, self.threshold, self.source)
        place = batch.schema.get_field_index("count")
        return batch.set_column(place, "count", pa.array(noisy)).filter(pa.array(above))
