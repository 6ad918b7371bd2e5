"""The noise that shows a label with the optimal chance, and its count beside it.

Desfontaines, Voss, Gipson and Mandayam 2022 give the largest chance pi_n with which a label that n
users have can be shown at (epsilon, delta), where one user changes n by 1. Noise whose
probabilities are the steps of these chances shows each label with that chance, and adds the count
at no further cost (`docs/understand/proofs/bounded_noise.md`, Lemma 5).
"""

import functools
import math
from fractions import Fraction

from dphist.errors import ParameterError
from dphist.noise.enclosures import exp_negative
from dphist.noise.finite import FiniteLaw

_MOST_VALUES = 1 << 18
_SPARE = 64  # bits by which the delta that is used may be below the one that is given
_LEAST_FACTOR = 64  # exp(-epsilon) is not taken below 2**-64


@functools.lru_cache(maxsize=64)
def optimal_law(epsilon: Fraction, delta: Fraction) -> FiniteLaw:
    """Return noise that is (epsilon, delta)-DP on a count that changes by 1, and never shows a 0.

    A count n is shown, with its noise, if the sum is above the largest value of the noise. The
    middle of the noise is at 0: its mean is between -1/2 and 1/2.

    Parameters
    ----------
    epsilon : above 0, of one count.
    delta : above 0 and below 1, of one count.

    Raises
    ------
    ParameterError
        If the noise has more values than are held.
    """
    check_number_of_values(epsilon, delta)
    factor, bits = upper_factor(epsilon, delta)
    most = (delta.numerator << bits) // delta.denominator
    first = most - (1 << 2 * _SPARE)  # leaves room for what is rounded
    weights = _steps(factor, bits, first)
    if (
        not max(compute_excess(weights, factor, bits)) <= most
    ):  # pragma: no cover - guards the proof
        raise ArithmeticError("rounding exceeds delta")
    # Value i of the list is noise of -i: the chance of a count n is the sum of the first n.
    total = 1 << bits
    middle = (2 * sum(i * weight for i, weight in enumerate(weights)) + total) // (2 * total)
    return FiniteLaw(middle - len(weights) + 1, tuple(reversed(weights)), bits)


def check_number_of_values(epsilon: Fraction, delta: Fraction) -> None:
    """Refuse an epsilon of one count at which optimal noise has more values than are held."""
    if 2 * math.ceil(1 / delta).bit_length() > _MOST_VALUES * epsilon:
        raise ParameterError(
            "epsilon",
            "of a single label is too small for optimal noise",
            "take truncated noise, which hardly differs there",
        )


def upper_factor(epsilon: Fraction, delta: Fraction) -> tuple[int, int]:
    """Return an upper bound on exp(-epsilon) in units of 2**-bits, and the bits."""
    size = math.ceil(1 / delta).bit_length()
    bits = -(-(3 * _SPARE + _LEAST_FACTOR + size) // 8) * 8
    return max(exp_negative(epsilon, bits)[1], 1 << bits - _LEAST_FACTOR), bits


def _steps(factor: int, bits: int, first: int) -> list[int]:
    """Return pi_1 - pi_0, pi_2 - pi_1, ... in units of 2**-bits; their sum is 1.

    They rise by 1 / factor as long as the other bound allows it, and fall by `factor` from there.

    Parameters
    ----------
    factor : of exp(-epsilon), in units of 2**-bits.
    first : pi_1, the delta of one count, in units of 2**-bits.
    """
    weights, left, falling = [first], (1 << bits) - first, False
    while left > first:
        rising = (weights[-1] << bits) // factor
        if not falling:
            highest = left + (-factor * (left - first) >> bits)
            falling = highest < rising
            weight = min(highest, rising)
        else:
            weight = -(-factor * weights[-1] >> bits)
        weights.append(min(weight, left))
        left -= weights[-1]
    return [*weights, left] if left else weights


def compute_excess(weights: list[int], factor: int, bits: int) -> tuple[Fraction, Fraction]:
    """Return how far the noise of neighbors exceeds 1 / factor times each other's, both ways.

    These are the deltas of a count that changes by 1, at the epsilon of `factor`, exactly and in
    units of 2**-bits.
    """
    shifted = [0, *weights], [*weights, 0]
    both = (shifted, shifted[::-1])
    found = (
        sum(max(factor * one - (other << bits), 0) for other, one in zip(*pair, strict=True))
        for pair in both
    )
    forward, backward = (Fraction(each, factor) for each in found)
    return forward, backward
