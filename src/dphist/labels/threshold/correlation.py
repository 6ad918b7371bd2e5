"""How much noise listed labels share: the best share, and what one user then costs (Lebeda 2024).

Each of the d listed labels has noise of its own of variance sigma**2, and all of them have one more
draw in common, of variance c sigma**2: the covariance is sigma**2 (I + c 11^T). One user who adds
to m labels then moves the counts by a squared distance of m - beta m**2 in units of
(max_count / sigma)**2, with beta = c / (1 + c d), in place of m. All of one user's changes must
have one sign for this. `docs/understand/proofs/correlated_noise.md`.
"""

import functools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.special import ndtr, ndtri

from dphist.arrays import BoolArray, IntArray
from dphist.labels.threshold.noise import noisy_sum
from dphist.noise import Source, rounded_gaussian

_STEPS = 256
"""Shares that are tried. The best share is flat: 256 are within 0.1 % of the best variance."""

WORTHWHILE = Fraction(49, 50)
"""`correlated="auto"` shares noise if that lowers a variance at least by this factor.

Sums of other numbers of labels have a higher variance, so less would not be worth it.
"""


@dataclass(frozen=True, slots=True)
class Correlation:
    """A share of noise that listed labels have in common; releases with it depend on `units`.

    Attributes
    ----------
    labels : d, the number of listed labels.
    step : beta in units of 1 / `units`, from 0 (nothing in common) to 256.
    """

    labels: int
    step: int

    @property
    def units(self) -> int:
        """Steps of the grid in a record: odd, and `step * labels` is below it."""
        return _STEPS * self.labels + 1

    @property
    def ratio(self) -> Fraction:
        """c, the variance of the common part in variances of a label's own part."""
        return Fraction(self.step, self.units - self.step * self.labels)

    def distance(self, changed: int) -> Fraction:
        """Return the squared distance by which a user moves counts, in (max_count / sigma)**2.

        Parameters
        ----------
        changed : number of labels to which the user adds `max_count`.
        """
        return changed - Fraction(self.step * changed**2, self.units)

    def worst(self, most: int) -> Fraction:
        """Return the largest distance of a user who adds to at most this number of labels.

        It rises up to 1 / (2 beta) labels and falls from there on, so it is not always that of
        `most` labels.
        """
        if not self.step:
            return Fraction(most)
        peak = self.units // (2 * self.step)
        return max(self.distance(min(number, most)) for number in (peak, peak + 1))

    def weight(self, most: int) -> Fraction:
        """Return the squared distance in variances of a released count: (1 + c) `worst`.

        Of independent noise it is `most`. In other words, the variance of a count at a given cost.
        """
        return (1 + self.ratio) * self.worst(most)

    def weight_of_sum(self, most: int, terms: int) -> Fraction:
        """Return the variance of the sum of this number of counts, in the units of `weight`."""
        return terms * (1 + terms * self.ratio) * self.worst(most)


@functools.lru_cache(maxsize=256)
def best_correlation(
    labels: int, most: int, terms: int = 1, *, shared: bool = False
) -> Correlation:
    """Return the share of noise at which sums of counts vary least at a given cost.

    Of several such shares, the one at which single counts vary least. The numbers are exact, so
    that a saved release is read with the share that it was made with.

    Parameters
    ----------
    labels : number of listed labels.
    most : maximum number of labels that one user changes.
    terms : labels in a sum.
    shared : whether some noise must be shared, even if that does not help.
    """

    def badness(step: int) -> tuple[Fraction, Fraction]:
        tried = Correlation(labels, step)
        return tried.weight_of_sum(most, terms), tried.weight(most)

    return Correlation(labels, min(range(int(shared), _STEPS + 1), key=badness))


def worthwhile_correlation(labels: int, most: int, terms: int = 1) -> Correlation | None:
    """Return the best share if it makes sums, or single counts, vary notably less; else None."""
    found, alone = best_correlation(labels, most, terms), Correlation(labels, 0)
    lower = [
        found.weight(most) <= WORTHWHILE * alone.weight(most),
        found.weight_of_sum(most, terms) <= WORTHWHILE * alone.weight_of_sum(most, terms),
    ]
    return found if any(lower) else None


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

    def rms_of_sum(self, terms: int) -> float:
        """Return the standard deviation of the noise of a sum of counts, in records."""
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
