"""Measuring of `TopLabels`: which of the largest noisy counts are above a noisy threshold."""

import math
from collections.abc import Sequence
from fractions import Fraction

import pyarrow as pa

from dphist.data.label_counts import LabelCounts
from dphist.labels.mechanism import LabelsMechanism
from dphist.noise.enclosures import exp_negative
from dphist.noise.inversion import Source
from dphist.noise.lazy import GUMBEL, LazyNoise
from dphist.privacy import ApproxZCDP
from dphist.release.label_table import LabelTable

_GRID = 32  # a quantile is rounded up to a multiple of 2**-32 or so


class TopLabelsMeasuring(LabelsMechanism):
    """What sees the data: `docs/understand/proofs/top_labels.md`."""

    __slots__ = ()

    delta: Fraction
    k: int
    candidates: int

    @property
    def guarantee(self) -> ApproxZCDP:
        """k choices by the exponential mechanism, epsilon**2 / 8 each (Rogers 2023, Theorem 9)."""
        return ApproxZCDP(self.k * self.epsilon**2 / 8, self.delta, self._unit)

    @property
    def threshold(self) -> Fraction:
        """How far above the next count the threshold lies, noise apart, in records; rounded up."""
        differing = self.candidates
        if self.max_labels is not None:
            differing = min(differing, self.max_labels)
        return self.max_count + self.noise_scale * logarithm_above(differing / self.delta)

    def _drawn(self, counts: LabelCounts, source: Source | None) -> LabelTable:
        largest = counts.largest(self.candidates + 1)
        chosen = self.choose(largest["count"].to_pylist(), source)
        labels = largest["label"].take(pa.array(chosen, pa.int64()))
        if len(chosen) < self.k:
            labels = pa.chunked_array([*labels.chunks, pa.nulls(1, labels.type)])
        return LabelTable(pa.table({"label": labels}))

    def _protected_labels(self) -> int | None:
        """Where the threshold does not use `max_labels`, any number is protected."""
        bound = self.max_labels
        return None if bound is None or bound >= self.candidates else bound

    def choose(self, counts: Sequence[int], source: Source | None = None) -> list[int]:
        """Return places in `counts`, the largest `candidates` + 1, in the order released."""
        next_count = counts[self.candidates] if len(counts) > self.candidates else 0
        # Order and threshold are the same with next_count taken away everywhere.
        centers = [c - next_count for c in counts[: self.candidates]]
        noise = LazyNoise(GUMBEL, self.noise_scale, [*centers, self.threshold], source)
        return noise.descending_above(len(centers), self.k)


def logarithm_above(number: Fraction) -> Fraction:
    """Return a rational number just above ln(number), for number >= 1.

    Floating point proposes; exp(-t) * number <= 1 is certain of what is returned.
    """
    bits = number.numerator.bit_length() + 64
    guess = math.log(number.numerator) - math.log(number.denominator)
    step = Fraction(1, 1 << _GRID)
    least = max(Fraction(math.floor(guess * (1 << _GRID)), 1 << _GRID), Fraction(0))
    while exp_negative(least, bits)[1] * number > 1 << bits:
        least += step
    return least
