"""Sensitivity of running counts to one event, relative to noise from a sum of decaying parts.

The noise is N(t) = sum_j X_j(t) with independent stationary X_j of covariance w_j theta_j**|t-t'|,
autoregressive processes of order one. Its spectrum is rational,

    S(z) = sum_j w_j (1 - theta_j**2) / ((1 - theta_j z) (1 - theta_j / z))
         = g prod_i (1 - mu_i z)(1 - mu_i / z) / prod_j (1 - theta_j z)(1 - theta_j / z),

so that the innovations of a step 1[t >= s] are the coefficients e_h of

    prod_j (1 - theta_j z) / (sqrt(g) (1 - z) prod_i (1 - mu_i z)),

and sum e_h**2 over h below the horizon bounds the squared distance of neighboring streams
(`docs/understand/proofs/streams.md`, Lemma 4).
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from itertools import pairwise

DIGITS = 80
# Roots and sums are computed to about 60 digits; the result is enlarged by far more than that.
ROOM = Decimal("1e-30")
_HALVINGS = 240


@dataclass(frozen=True, slots=True)
class Factor:
    """The spectrum as gain c(z) c(1/z), c(z) = prod_i (1 - zero_i z) / prod_j (1 - theta_j z).

    Attributes
    ----------
    thetas, zeros : ascending, each zero between two of the thetas.
    gain : variance of an innovation.
    """

    thetas: tuple[Decimal, ...]
    zeros: tuple[Decimal, ...]
    gain: Decimal


def factor(decays: Sequence[Fraction], weights: Sequence[Fraction]) -> Factor:
    """Factor the spectrum of a sum of stationary decaying parts, with 80 digits."""
    with localcontext(Context(prec=DIGITS)):
        thetas = [as_decimal(theta) for theta in decays]
        powers = [as_decimal(w) * (1 - t * t) for w, t in zip(weights, thetas, strict=True)]
        zeros = _zeros(thetas, powers)
        gain = sum((p / (1 - t) ** 2 for p, t in zip(powers, thetas, strict=True)), Decimal(0))
        gain *= (_product([1 - t for t in thetas]) / _product([1 - m for m in zeros])) ** 2
        return Factor(tuple(thetas), tuple(zeros), gain)


def squared_sensitivity(
    decays: Sequence[Fraction], weights: Sequence[Fraction], horizon: int
) -> Fraction:
    """Return an upper bound of the squared distance due to one event, in 1 / weight.

    Parameters
    ----------
    decays : the theta_j, above 0 and below 1, strictly ascending.
    weights : the w_j, above 0: variances, in any unit.
    horizon : number of times.
    """
    found = factor(decays, weights)
    with localcontext(Context(prec=DIGITS)):
        thetas, zeros = found.thetas, found.zeros
        poles = [Decimal(1), *zeros]
        parts = [_residue(i, poles, thetas) for i in range(len(poles))]
        first = _product(thetas) / _product(zeros)  # added at h = 0: the degrees are equal
        total = first * first + 2 * first * sum(parts, Decimal(0))
        for r, p in zip(parts, poles, strict=True):
            for s, q in zip(parts, poles, strict=True):
                total += r * s * _geometric_sum(p * q, horizon)
        return Fraction(total / found.gain * (1 + ROOM))


@functools.lru_cache(maxsize=64)
def responses(decays: tuple[Fraction, ...], weights: tuple[Fraction, ...]) -> tuple[Decimal, ...]:
    """Return the covariances m_j > 0 of each part with the innovation of variance 1 of its time.

    They are the residues of the factor: the noise is sum_h c_h Z(t - h) with
    c_h = sum_j m_j theta_j**h.
    """
    found = factor(decays, weights)
    with localcontext(Context(prec=DIGITS)):
        root = found.gain.sqrt()
        thetas, zeros = found.thetas, found.zeros
        return tuple(root * _residue(j, thetas, zeros) for j in range(len(thetas)))


def _zeros(thetas: Sequence[Decimal], powers: Sequence[Decimal]) -> list[Decimal]:
    """Return the mu_i, one between each pair of adjacent theta_j.

    With y = z + 1/z - 2 the spectrum is sum_j p_j / ((1 - theta_j)**2 - theta_j y), which rises
    from minus to plus infinity between adjacent poles.
    """
    near = [(1 - theta) ** 2 for theta in thetas]
    poles = sorted(q / theta for q, theta in zip(near, thetas, strict=True))
    found = []
    for left, right in pairwise(poles):
        low, high = left, right
        for _ in range(_HALVINGS):
            y = (low + high) / 2
            terms = zip(powers, near, thetas, strict=True)
            if sum((p / (q - theta * y) for p, q, theta in terms), Decimal(0)) < 0:
                low = y
            else:
                high = y
        y = (low + high) / 2
        found.append(1 + y / 2 - (y + y * y / 4).sqrt())
    return found


def _residue(i: int, poles: Sequence[Decimal], thetas: Sequence[Decimal]) -> Decimal:
    """Return the r_i of the term r_i / (1 - pole_i z)."""
    pole = poles[i]
    others = [1 - other / pole for k, other in enumerate(poles) if k != i]
    return _product([1 - theta / pole for theta in thetas]) / _product(others)


def _geometric_sum(ratio: Decimal, terms: int) -> Decimal:
    return Decimal(terms) if ratio == 1 else (1 - ratio**terms) / (1 - ratio)


def _product(factors: Sequence[Decimal]) -> Decimal:
    result = Decimal(1)
    for factor in factors:
        result *= factor
    return result


def as_decimal(number: Fraction) -> Decimal:
    """Return a fraction in the current precision."""
    return Decimal(number.numerator) / Decimal(number.denominator)
