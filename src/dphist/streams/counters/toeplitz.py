"""Running counts with the noise of a buffered Toeplitz matrix, drawn by independent decaying parts.

Parts as in `autoregressive`, that begin as if all noise before the first event had been zero. Their
sum then is sum over h < t of c_h Z(t - h), a lower triangular Toeplitz matrix times independent
noise (buffered: Dvijotham, McMahan, Pillutla, Steinke and Thakurta 2024). One event moves it by no
more than the stationary noise, and its variance is smaller at every time: it grows from c_0**2 to
nearly the stationary one. Only the first draw differs, so any number of events are skipped at once.
`docs/understand/proofs/streams.md`, Lemmas 4, 5 and 7.

The parts X_j are stationary, and N = sum_j X_j = sum_h c_h Z(t - h) with innovations Z. The noise
of a stream is N without what the innovations before the first event add: sum over h < t of
c_h Z(t - h). That is the law of N given that N was zero before the first event. Given this, each
part still goes on by itself as a Markov process, and at time t the parts have the covariance

    V(t)_ij = w_j [i = j] - m_i m_j (theta_i theta_j)**t / (1 - theta_i theta_j),

with the m_j of `spectrum.responses`.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np

from dphist.arrays import IntArray
from dphist.errors import ParameterError
from dphist.noise import Source, rounded_gaussian
from dphist.streams.counters.autoregressive import (
    AutoregressiveCounter,
    bound_squared_shifts,
    root_above,
    scale_variances,
    times_factor,
)
from dphist.streams.counters.design import (
    UNBOUNDED,
    Design,
    toeplitz_designs,
    unbounded_design,
)
from dphist.streams.counters.spectrum import DIGITS, ROOM, as_decimal, responses

# More than half a unit: with the float64 error of a product that is rounded.
_HALF = Fraction(52, 100)
# Share of the distance of neighbors reserved for rounding, if possible.
_ROUNDING_SHARE = Fraction(1, 512)
# Relative bound of what rounded factors and deviations add to a variance (Lemma 7).
_VARIANCE_ROOM = 1 + Fraction(1, 2**20)


@dataclass(frozen=True, slots=True)
class ToeplitzCounter(AutoregressiveCounter):
    """Noise as a sum of parts that decay, without a past; made by `toeplitz_counter`.

    Attributes
    ----------
    horizon : the last time.
    times : maximum number of times at which noise is drawn.
    """

    horizon: int
    times: int

    @property
    def variance(self) -> Fraction:
        """That at the horizon, the largest."""
        return self.variance_at(self.horizon)

    def variance_at(self, time: int) -> Fraction:
        """Return the variance, which grows with time."""
        scale, weights = self._scaled_weights
        return scale * variance_without_past(self.decays, weights, time) * _VARIANCE_ROOM

    @property
    def rounding(self) -> Fraction:
        """1.01 units per reading, each decaying with its part, and the products of the first."""
        parts = self.width
        units = _HALF * Fraction(parts * (parts + 1) * (parts + 2), 6)
        for theta in self.decays:
            units += Fraction(101, 100) * min(Fraction(self.times), 1 / (1 - theta))
        return units / (1 << self.unit_bits)

    @property
    def _scaled_weights(self) -> tuple[Fraction, tuple[Fraction, ...]]:
        """Variances as a factor and the same weights for each factor, which are analyzed once."""
        scale = self.variances[0]
        return scale, tuple(variance / scale for variance in self.variances)

    def start(self, labels: int, time: int, source: Source | None) -> IntArray:
        """Draw the parts one after the other, each given those before."""
        rows = np.zeros((labels, self.width), np.int64)
        scale, weights = self._scaled_weights
        draw = first_draw(self.decays, weights, time)
        for part, variance in enumerate(draw.variances):
            for other, coefficient in enumerate(draw.coefficients[part]):
                rows[:, part] += times_factor(rows[:, other], coefficient)
            sigma = root_above(scale * variance * 4**self.unit_bits)
            rows[:, part] += rounded_gaussian(sigma, labels, source)
        return rows


@functools.lru_cache(maxsize=1024)
def toeplitz_counter(
    squared_distance: Fraction, horizon: int, times: int | None = None
) -> ToeplitzCounter:
    """Return the counter for which one event moves paths by at most this distance.

    Parameters and errors as for `autoregressive_counter`. Of the designs, the one with the smallest
    variance at the horizon is taken.
    """
    refused: ParameterError | None = None
    found: list[ToeplitzCounter] = []
    for chosen in toeplitz_designs(horizon):
        try:
            found.append(_counter(chosen, squared_distance, horizon, times or horizon))
        except ParameterError as error:
            refused = error
    if not found:
        raise refused or ParameterError("epsilon", "is too small for running counts")
    return min(found, key=lambda counter: counter.variance)


@functools.lru_cache(maxsize=1024)
def unbounded_counter(squared_distance: Fraction, times: int) -> ToeplitzCounter:
    """Return the counter of a stream without a horizon: see `toeplitz_counter`."""
    return _counter(unbounded_design(), squared_distance, UNBOUNDED, times)


def _counter(
    chosen: Design, squared_distance: Fraction, horizon: int, times: int
) -> ToeplitzCounter:
    parts = len(chosen.decays)
    shifts = (times - 1) * bound_squared_shifts(parts) + first_squared_shifts(parts)
    variances, unit_bits = scale_variances(
        chosen, squared_distance, root_above(shifts), _ROUNDING_SHARE
    )
    return ToeplitzCounter(chosen.decays, variances, unit_bits, horizon, times)


def first_squared_shifts(parts: int) -> Fraction:
    """Return a bound of the sum of squared shifts that rounding adds at the first time, in units.

    The first part is off by half a unit for each other one; a later one by half a unit itself, by
    what those before are off, and by two rounded products for each of them (Lemma 5).
    """
    first = Fraction(parts - 1, 2)
    shifts = [first]
    for before in range(1, parts):
        shifts.append(
            Fraction(1, 2)
            + first
            + Fraction(before - 1, 2)
            + before * (2 * _HALF + Fraction(1, 64))
        )
    return sum((shift**2 for shift in shifts), Fraction(0))


Numbers = tuple[Fraction, ...]


@dataclass(frozen=True, slots=True)
class FirstDraw:
    """How to draw the parts at one time, one after the other.

    Part j is sum_i coefficients[j][i] x_i over the parts i < j, and independent noise.

    Attributes
    ----------
    coefficients : for part j, j numbers between -1 and 0 (Lemma 5).
    variances : of the independent noise of each part, in the unit of the weights, rounded up.
    """

    coefficients: tuple[tuple[float, ...], ...]
    variances: Numbers


@functools.lru_cache(maxsize=1024)
def first_draw(decays: Numbers, weights: Numbers, time: int) -> FirstDraw:
    """Return how to draw the parts at `time`, 1 or later, without noise before time 1."""
    with localcontext(Context(prec=DIGITS)):
        rows = _covariance(decays, weights, time)
        coefficients, variances = [], []
        for j, row in enumerate(rows):
            found = _solve([held[:j] for held in rows[:j]], row[:j])
            explained = sum((b * v for b, v in zip(found, row[:j], strict=True)), Decimal(0))
            coefficients.append(tuple(min(0.0, max(-1.0, float(b))) for b in found))
            variances.append(Fraction(row[j] - explained))
        return FirstDraw(tuple(coefficients), tuple(variances))


@functools.lru_cache(maxsize=4096)
def variance_without_past(decays: Numbers, weights: Numbers, time: int) -> Fraction:
    """Return the variance of the sum of the parts at a time, rounded up; it grows with time."""
    with localcontext(Context(prec=DIGITS)):
        total = sum(map(sum, _covariance(decays, weights, time)), Decimal(0))
        return Fraction(total)


def _covariance(decays: Numbers, weights: Numbers, time: int) -> list[list[Decimal]]:
    """Return V(time), enlarged by far more than its error, in the current precision."""
    thetas = [as_decimal(theta) for theta in decays]
    held = [as_decimal(weight) for weight in weights]
    left = [m * t**time for m, t in zip(responses(decays, weights), thetas, strict=True)]
    pairs = list(zip(left, thetas, strict=True))
    rows = [[-p * q / (1 - s * t) for q, t in pairs] for p, s in pairs]
    added = max(held) * ROOM
    for j, weight in enumerate(held):
        rows[j][j] += weight + added
    return rows


def _solve(matrix: Sequence[Sequence[Decimal]], right: Sequence[Decimal]) -> list[Decimal]:
    """Solve a positive definite system by elimination, in the current precision."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for i, pivot in enumerate(rows):
        for k in range(i + 1, len(rows)):
            share = rows[k][i] / pivot[i]
            rows[k] = [a - share * b for a, b in zip(rows[k], pivot, strict=True)]
    found: list[Decimal] = [Decimal(0)] * len(rows)
    for i in reversed(range(len(rows))):
        known = sum((rows[i][k] * found[k] for k in range(i + 1, len(rows))), Decimal(0))
        found[i] = (rows[i][-1] - known) / rows[i][i]
    return found
