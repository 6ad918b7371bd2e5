"""Noise on counts that ends: what is drawn, and what it says of counts.

Draws are exact (`docs/understand/proofs/bounded_noise.md`); floats say what to expect of them.
"""

import functools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dphist.arrays import BoolArray, FloatArray, IntArray
from dphist.labels.threshold.noise import noisy_sum
from dphist.noise import Source
from dphist.noise.finite import FiniteLaw, finite_noise
from dphist.noise.geometric import truncated_geometric
from dphist.noise.law import Drawing, NoiseLaw
from dphist.noise.optimal import optimal_law
from dphist.noise.search import first_true

_LARGEST_RATE = 700.0
_SUMMED = 1 << 20
"""Noise that reaches further has the variance of its continuous relative, to twelve digits."""


@dataclass(frozen=True, slots=True)
class TruncatedNoise:
    """Two-sided geometric noise, given that it is within `largest`.

    Attributes
    ----------
    rate : Pr[X = x] is proportional to exp(-rate abs(x)).
    largest : the largest magnitude, records.
    """

    rate: Fraction
    largest: int

    @property
    def law(self) -> NoiseLaw:
        """What it is called, its scale, and within what it stays."""
        form = f"from -{self.largest:,} to {self.largest:,}"
        return NoiseLaw("truncated geometric", 1 / self.rate, Drawing.WHOLE, form)

    @property
    def last(self) -> int:
        """The largest value: noisy counts of labels that nobody listed are shown above it."""
        return self.largest

    def add(
        self, counts: IntArray, threshold: int | Fraction | None, source: Source | None
    ) -> tuple[IntArray, BoolArray]:
        """Return the noisy counts, and which of them are above the threshold, if there is one."""
        drawn = truncated_geometric(self.rate, self.largest, len(counts), source)
        return _compare(noisy_sum(counts, drawn), threshold)

    def chance_above(self, excess: float) -> float:
        """Return Pr[X > excess], for a whole number `excess`."""
        if excess < 0:
            return 1 - self.chance_above(-excess - 1)
        rate, more = min(float(self.rate), _LARGEST_RATE), self.largest - excess
        if more <= 0:
            return 0.0
        whole = -math.expm1(-rate * (self.largest + 1))
        whole += math.exp(-rate) * -math.expm1(-rate * self.largest)
        return math.exp(-rate * (excess + 1)) * -math.expm1(-rate * more) / whole

    def half_width(self, level: float) -> int:
        """Return the least q with Pr[abs(X) <= q] >= level."""
        if level == 1:  # a chance may be too small for a float
            return self.largest
        return first_true(lambda reach: 2 * self.chance_above(reach) <= 1 - level)

    def rms_of_sum(self, terms: int) -> float:
        """Return the standard deviation of the noise of a sum of counts, in records."""
        return math.sqrt(terms) * _truncated_deviation(self.rate, self.largest)


@functools.lru_cache(maxsize=64)
def _truncated_deviation(rate: Fraction, largest: int) -> float:
    """Return the standard deviation of truncated geometric noise, in records."""
    each = min(float(rate), _LARGEST_RATE)
    if largest <= _SUMMED:
        sizes = np.arange(1, largest + 1, dtype=np.float64)
        weights = np.exp(-each * sizes)
        return math.sqrt(2 * float(sizes**2 @ weights) / (1 + 2 * float(weights.sum())))
    end = each * largest
    part = math.exp(-end) * (end**2 + 2 * end + 2)
    return math.sqrt((2 - part) / -math.expm1(-end)) / each


@dataclass(frozen=True, slots=True)
class OptimalNoise:
    """Noise that shows a label with the optimal chance, and its count beside it.

    Attributes
    ----------
    rate, delta : epsilon and delta of one count, which one user changes by 1.
    """

    rate: Fraction
    delta: Fraction

    @property
    def law(self) -> NoiseLaw:
        """What it is called, its scale, and within what it stays."""
        form = f"from {self.exact.first:,} to {self.last:,}"
        return NoiseLaw("optimal", 1 / self.rate, Drawing.WHOLE, form)

    @property
    def exact(self) -> FiniteLaw:
        """Its probabilities, in whole numbers."""
        return optimal_law(self.rate, self.delta)

    @property
    def largest(self) -> int:
        """The largest magnitude, records."""
        return max(self.last, -self.exact.first)

    @property
    def last(self) -> int:
        """The largest value: noisy counts of labels that nobody listed are shown above it."""
        return self.exact.last

    def count_shown(self, chance: float) -> int:
        """Return about the least count that is shown with this probability, without the law."""
        rate, first = min(float(self.rate), _LARGEST_RATE), float(self.delta)
        step = first / math.expm1(rate)  # the chance of n rises as step (exp(rate n) - 1), and
        turn = max(math.ceil(math.log1p((1 - first) / (1 + math.exp(rate)) / step) / rate), 1)
        if chance <= (risen := min(step * math.expm1(rate * turn), 1.0)):
            return max(math.ceil(math.log1p(chance / step) / rate), 1)
        left = (1 - risen + step) / (1 - chance + step)  # the rest falls as exp(-rate n) - step
        return turn + math.ceil(math.log(left) / rate)

    def add(
        self, counts: IntArray, threshold: int | Fraction | None, source: Source | None
    ) -> tuple[IntArray, BoolArray]:
        """As for truncated noise."""
        return _compare(noisy_sum(counts, finite_noise(self.exact, len(counts), source)), threshold)

    def chance_above(self, excess: float) -> float:
        """Return Pr[X > excess], for a whole number `excess`."""
        return self._numbers.chance_above(int(excess))

    def half_width(self, level: float) -> int:
        """Return the least q with Pr[abs(X) <= q] >= level."""
        if level == 1:
            return self.largest
        numbers = self._numbers

        def is_within(reach: int) -> bool:
            return numbers.chance_above(reach) + numbers.chance_below(-reach) <= 1 - level

        return first_true(is_within)

    def rms_of_sum(self, terms: int) -> float:
        """Return the root mean square of the noise of a sum of counts, in records.

        The mean is not 0, and adds up.
        """
        return math.hypot(math.sqrt(terms) * self._numbers.deviation, terms * self.mean)

    @property
    def mean(self) -> float:
        """The mean of the noise, in records; at most 1/2 in magnitude."""
        return self._numbers.mean

    def reach_of_sum(self, labels: int, level: float) -> float:
        """Return how far the noise of a sum of counts reaches, by Chernoff's bound."""
        numbers, beyond = self._numbers, math.log(2 / (1 - level))
        tilts = min(float(self.rate), _LARGEST_RATE) * np.linspace(0.01, 0.99, 50)
        found = [
            min((labels * numbers.log_moment(side * tilt) + beyond) / tilt for tilt in tilts)
            for side in (1, -1)
        ]
        return float(max(found))

    def chance_of_difference(self, steps: int) -> float:
        """Return Pr[X - Y >= steps] for two draws of this noise, `steps` at least 0."""
        tails = self._numbers.difference_tails
        return float(tails[steps]) if steps < len(tails) else 0.0

    @property
    def _numbers(self) -> "_Numbers":
        return _describe(self.rate, self.delta)


@dataclass(frozen=True)
class _Numbers:
    """What floats say of a law with finitely many values.

    Attributes
    ----------
    first : the smallest value.
    chances : (values,) float64.
    """

    first: int
    chances: FloatArray

    @functools.cached_property
    def _above(self) -> FloatArray:
        """Pr[X >= first + i], summed from the end, where the chances are small."""
        found: FloatArray = np.append(np.cumsum(self.chances[::-1])[::-1], 0.0)
        return found

    @functools.cached_property
    def _below(self) -> FloatArray:
        found: FloatArray = np.append(0.0, np.cumsum(self.chances))
        return found

    @functools.cached_property
    def _values(self) -> FloatArray:
        found: FloatArray = self.first + np.arange(len(self.chances), dtype=np.float64)
        return found

    @functools.cached_property
    def mean(self) -> float:
        return float(self._values @ self.chances)

    @functools.cached_property
    def deviation(self) -> float:
        return math.sqrt(float((self._values - self.mean) ** 2 @ self.chances))

    @functools.cached_property
    def difference_tails(self) -> FloatArray:
        """Pr[X - Y >= k] for k = 0, 1, ..."""
        size = 1 << (2 * len(self.chances)).bit_length()
        squares = np.abs(np.fft.rfft(self.chances, size)) ** 2
        law = np.maximum(np.fft.irfft(squares, size)[: len(self.chances)], 0)
        found: FloatArray = np.cumsum(law[::-1])[::-1]
        return found

    def chance_above(self, value: int) -> float:
        return float(self._above[min(max(value + 1 - self.first, 0), len(self.chances))])

    def chance_below(self, value: int) -> float:
        return float(self._below[min(max(value - self.first, 0), len(self.chances))])

    def log_moment(self, tilt: float) -> float:
        """Return log E exp(tilt X)."""
        shift = abs(tilt) * float(np.abs(self._values).max())
        return math.log(float(np.exp(tilt * self._values - shift) @ self.chances)) + shift


@functools.lru_cache(maxsize=32)
def _describe(rate: Fraction, delta: Fraction) -> _Numbers:
    law = optimal_law(rate, delta)
    return _Numbers(law.first, np.array([weight / (1 << law.bits) for weight in law.weights]))


def _compare(noisy: IntArray, threshold: int | Fraction | None) -> tuple[IntArray, BoolArray]:
    if threshold is None:
        return noisy, np.ones(len(noisy), bool)
    return noisy, noisy > int(threshold)
