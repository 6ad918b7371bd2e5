"""Gaussian noise on counts of listed labels, a part of which all of them have in common."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.special import ndtr, ndtri

from dphist.arrays import BoolArray, IntArray
from dphist.labels.threshold.correlation import Correlation
from dphist.labels.threshold.noise import noisy_sum
from dphist.noise import Source, rounded_gaussian

_DIGITS = 64  # bits of a standard deviation that are kept; rounded up


@dataclass(frozen=True, slots=True)
class CorrelatedNoise:
    """Noise of covariance sigma**2 (I + c 11^T), in whole units of a grid.

    Attributes
    ----------
    scale : standard deviation of the noise of a count, records: sigma sqrt(1 + c).
    correlation : of the listed labels.
    """

    scale: Fraction
    correlation: Correlation

    @property
    def own(self) -> Fraction:
        """Standard deviation of each label's own part, units; at least sigma."""
        return root_above(self._square / (1 + self.correlation.ratio))

    @property
    def shared(self) -> Fraction:
        """Standard deviation of the part that all labels have in common, units."""
        ratio = self.correlation.ratio
        return root_above(self._square * ratio / (1 + ratio))

    @property
    def _square(self) -> Fraction:
        return (self.correlation.units * self.scale) ** 2

    def add(
        self, counts: IntArray, threshold: None, source: Source | None
    ) -> tuple[IntArray, BoolArray]:
        """Return the noisy counts of all listed labels; all of them are released.

        Both parts are rounded to whole units, of which a record has `units`, an odd number. So a
        sum of a count and both parts is never halfway between two records
        (`docs/understand/proofs/correlated_noise.md`, Lemma 1).
        """
        units = self.correlation.units
        common = rounded_gaussian(self.shared, 1, source)
        steps = rounded_gaussian(self.own, len(counts), source) + common
        whole = (steps + units // 2) // units
        return noisy_sum(counts, whole), np.ones(len(counts), bool)

    def chance_above(self, excess: float) -> float:
        """Return Pr[N > excess] for the noise N of one count."""
        return float(ndtr(-excess / float(self.scale)))

    def half_width(self, level: float) -> int:
        """Return a q at which the noise of a count, rounded, is within q with this probability.

        Rounding both parts to units moves their sum by at most one unit.
        """
        reach = float(ndtri((1 + level) / 2)) * float(self.scale) + 1 / self.correlation.units
        return max(math.ceil(reach - 0.5), 0)

    @property
    def covariance(self) -> float:
        """Covariance of the noise of two counts, in squared records."""
        return float((self.shared / self.correlation.units) ** 2)

    def deviation_of_sum(self, terms: int) -> float:
        """Return the standard deviation of the noise of a sum of so many counts, in records."""
        own = float((self.own / self.correlation.units) ** 2)
        return math.sqrt(terms * own + terms**2 * self.covariance)


def root_above(square: Fraction) -> Fraction:
    """Return a rational number just above the square root.

    >>> root_above(Fraction(4)) > 2, root_above(Fraction(4)) - 2 < Fraction(1, 2**60)
    (True, True)
    """
    bits = square.numerator.bit_length() - square.denominator.bit_length()
    places = max(_DIGITS - bits // 2, 0)
    whole = math.isqrt((square.numerator << 2 * places) // square.denominator) + 1
    return Fraction(whole, 1 << places)
