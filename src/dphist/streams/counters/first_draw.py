"""The parts of a running count's noise at its first reading, as if all noise before had been zero.

The parts X_j are stationary, and N = sum_j X_j = sum_h c_h Z(t - h) with innovations Z. The noise
of a stream is N without what the innovations before the first event add: sum over h < t of
c_h Z(t - h). That is the law of N given that N was zero before the first event. Given this, each
part still goes on by itself as a Markov process, and at time t the parts have the covariance

    V(t)_ij = w_j [i = j] - m_i m_j (theta_i theta_j)**t / (1 - theta_i theta_j),

with the m_j of `spectrum.responses` (`docs/understand/proofs/streams.md`, Lemma 4). Only this
first draw differs from that of stationary parts.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction

from dphist.streams.counters.spectrum import DIGITS, ROOM, as_decimal, responses

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
