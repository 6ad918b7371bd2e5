"""Running counts with noise from a sum of a few autoregressive processes.

Its covariance is close to the best one for running counts, as that of the square-root
factorization and of buffered Toeplitz matrices is (Dvijotham, McMahan, Pillutla, Steinke and
Thakurta 2024). Each part is a Markov process and continues from its last value after any gap. So a
label needs one number for each part, and nothing is computed between two readings.

A part is a whole number of small units. Given the last one, x, the next is round(a x) plus rounded
exact Gaussian noise. The guarantee accounts for the distance that rounding may add to neighbors
(`docs/understand/proofs/streams.md`, Lemmas 4 to 6).
"""

import functools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dphist.arrays import IntArray
from dphist.errors import Argument, ParameterError
from dphist.noise import Source, rounded_gaussian
from dphist.streams.counters.design import Design, design

_POWER_BITS = 128
_SIGMA_BITS = 24
# Maximum bits of a standard deviation: larger ones are slow to draw.
_MOST_BITS = 37
# Below this, the float64 error of a product is less than 2**-7.
_FAR = 2**45
# Share of the distance of neighbors reserved for rounding, if possible, and the maximum share, of
# all counters; with more, another method would have a lower error.
_ROUNDING_SHARE, _MOST_SHARE = Fraction(1, 256), Fraction(1, 8)
# Maximum difference of neighbors that rounding adds to a part's next value, in units (Lemma 5).
_SHIFT, _FIRST_SHIFT = Fraction(9, 4), Fraction(5, 4)
LARGEST_DISTANCE = 256
"""Largest distance of neighbors, in standard deviations, for which Lemma 5 is proved."""


@dataclass(frozen=True, slots=True)
class AutoregressiveCounter:
    """Noise as a sum of parts that decay; made by `autoregressive_counter`.

    Attributes
    ----------
    decays : the theta_j, ascending.
    variances : stationary variances of the parts, records**2.
    unit_bits : parts are multiples of 2**-unit_bits records.
    """

    decays: tuple[Fraction, ...]
    variances: tuple[Fraction, ...]
    unit_bits: int

    @property
    def width(self) -> int:
        """One number for each part."""
        return len(self.decays)

    @property
    def variance(self) -> Fraction:
        """The same at all times up to a relative 2**-20, because the decays are rounded."""
        return sum(self.variances, Fraction(0)) * (1 + Fraction(1, 2**20))

    @property
    def rounding(self) -> Fraction:
        """1.01 units per reading, each decaying with its part."""
        units = sum((Fraction(101, 100) / (1 - theta) for theta in self.decays), Fraction(0))
        return units / (1 << self.unit_bits)

    def variance_at(self, _time: int) -> Fraction:
        """Return the variance: the same at all times."""
        return self.variance

    @property
    def skips(self) -> bool:
        """Rounding at each reading affects the distribution of the next."""
        return False

    def start(self, labels: int, time: int, source: Source | None) -> IntArray:
        """Draw the parts from their stationary distribution, the same at all times."""
        rows = np.empty((labels, self.width), np.int64)
        for part, variance in enumerate(self.variances):
            sigma = root_above(variance * 4**self.unit_bits)
            rows[:, part] = rounded_gaussian(sigma, labels, source)
        return rows

    def step(self, rows: IntArray, before: int, now: int, source: Source | None) -> IntArray:
        """Let each part decay, and add the noise that restores its variance."""
        following = np.empty_like(rows)
        for part in range(self.width):
            factor, sigma = self._transition(part, now - before)
            decayed = times_factor(rows[:, part], factor)
            following[:, part] = decayed + rounded_gaussian(sigma, len(rows), source)
        return following

    def total(self, rows: IntArray) -> IntArray:
        """Add up the parts."""
        result: IntArray = rows.sum(axis=1)
        return result

    def _transition(self, part: int, events: int) -> tuple[float, Fraction]:
        """Return the factor a <= theta**events, a float64, and the noise's standard deviation.

        In units, rounded up; with the exact power the variance would be preserved.
        """
        return _transition(self.decays[part], self.variances[part] * 4**self.unit_bits, events)


def times_factor(numbers: IntArray, factor: float) -> IntArray:
    """Return the product as whole numbers, with an error of at most 1/2 + 2**-7, (n,) int64."""
    result: IntArray = np.rint(factor * numbers.astype(np.float64)).astype(np.int64)
    for far in np.flatnonzero(np.abs(numbers) >= _FAR).tolist():  # extremely unlikely
        result[far] = round(Fraction(factor) * int(numbers[far]))
    return result


@functools.lru_cache(maxsize=4096)
def _transition(decay: Fraction, variance: Fraction, events: int) -> tuple[float, Fraction]:
    power = power_below(decay, events)
    factor = (power.numerator << 53) // power.denominator * 2.0**-53
    return factor, root_above(variance * (1 - power * power))


def power_below(base: Fraction, exponent: int) -> Fraction:
    """Return base**exponent for a base below 1, rounded down by at most 2**-85."""
    factor = (base.numerator << _POWER_BITS) // base.denominator
    result = 1 << _POWER_BITS
    for digit in f"{exponent:b}":
        result = result * result >> _POWER_BITS
        if digit == "1":
            result = result * factor >> _POWER_BITS
    return Fraction(result, 1 << _POWER_BITS)


def root_above(square: Fraction) -> Fraction:
    """Return an upper bound of the square root, at most 2**-23 above it."""
    scaled = -(-(square.numerator << 2 * _SIGMA_BITS) // square.denominator)
    return Fraction(math.isqrt(scaled) + 1, 1 << _SIGMA_BITS)


@functools.lru_cache(maxsize=1024)
def autoregressive_counter(
    squared_distance: Fraction, horizon: int, times: int | None = None
) -> AutoregressiveCounter:
    """Return the counter for which one event moves paths by at most this distance.

    Parameters
    ----------
    squared_distance : mu**2; the running counts of a label cost mu**2 / 2 in zCDP.
    horizon : number of events.
    times : maximum number of times at which noise is drawn (default: all).

    Raises
    ------
    ParameterError
        If the noise cannot be drawn exactly, because the horizon is too long for the distance.
    """
    chosen = design(horizon)
    added = _rounding_distance(chosen, horizon if times is None else times)
    return AutoregressiveCounter(
        chosen.decays, *scale_variances(chosen, squared_distance, added, _ROUNDING_SHARE)
    )


def scale_variances(
    chosen: Design, squared_distance: Fraction, added: Fraction, share: Fraction
) -> tuple[tuple[Fraction, ...], int]:
    """Return variances and `unit_bits` for which one event moves paths by at most the distance.

    Parameters
    ----------
    chosen : the design.
    squared_distance : mu**2.
    added : the distance that rounding adds if each step's deviation is at least one unit.
    share : of the distance that is reserved for rounding, if possible.

    Raises
    ------
    ParameterError
        As `autoregressive_counter`.
    """
    distance = _root_below(squared_distance)
    if not 0 < distance <= LARGEST_DISTANCE:
        raise ParameterError("epsilon", "is too large or too small for running counts")
    steps = [w * (1 - d**2) for w, d in zip(chosen.weights, chosen.decays, strict=True)]
    # Bits of the largest deviation minus bits of the smallest step's deviation.
    spread = (_floor_log2(max(chosen.weights) / min(steps)) + 3) // 2 + 1
    # Choose units for which rounding adds at most its share, or the smallest possible units.
    step_bits = max(8, _bits_above(added / (distance * share)))
    step_bits = min(step_bits, _MOST_BITS - spread)
    left = distance - added / Fraction(2) ** step_bits
    if left < distance * (1 - _MOST_SHARE):
        raise ParameterError(
            "horizon",
            "is too long for this " + Argument("epsilon") + " and this " + Argument("method"),
            "shorten "
            + Argument("horizon")
            + ", raise "
            + Argument("epsilon")
            + ", bound the number of "
            + Argument("readings")
            + ", or take "
            + Argument("method", "binary"),
        )
    scale = _short(chosen.squared_sensitivity / left**2)
    variances = tuple(scale * weight for weight in chosen.weights)
    unit_bits = max(0, step_bits - _floor_log2(scale * min(steps)) // 2)
    return variances, unit_bits


def _rounding_distance(chosen: Design, times: int) -> Fraction:
    """Return the distance that rounding adds if each step's deviation is at least one unit.

    The root of the sum of squared shifts over times and parts (Lemma 5), rounded up.
    """
    return root_above(times * bound_squared_shifts(len(chosen.decays)))


def bound_squared_shifts(parts: int) -> Fraction:
    """Return a bound of the sum of squared shifts that rounding adds at one time, in units."""
    others = parts - 1
    return (others + _FIRST_SHIFT) ** 2 + others * _SHIFT**2


def _root_below(square: Fraction) -> Fraction:
    scaled = (square.numerator << 128) // square.denominator
    return Fraction(math.isqrt(scaled), 1 << 64)


def _bits_above(number: Fraction) -> int:
    """Return the smallest b with 2**b >= number, or one more."""
    return _floor_log2(number) + 2


def _floor_log2(number: Fraction) -> int:
    """Return the largest b with 2**b <= number, for a number above 0, or one less."""
    return number.numerator.bit_length() - number.denominator.bit_length() - 1


def _short(number: Fraction) -> Fraction:
    """Round up to a multiple of a power of 2, by a relative error below 2**-60."""
    places = 62 - _floor_log2(number)
    grid = Fraction(2) ** places
    return Fraction(math.ceil(number * grid)) / grid
