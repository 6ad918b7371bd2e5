"""The least threshold that keeps a delta, decided by integer arithmetic.

A user may bring `max_labels` labels that nobody else has, each with a count of `max_count`.
Each is released by itself with probability p = Pr[Z > T - max_count], so that any of them is with
probability 1 - (1 - p)**max_labels, which must not exceed delta
(`docs/understand/proofs/threshold.md`).
"""

import functools
import math
from collections.abc import Callable
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import TypeAlias

from scipy.special import ndtri

from dphist.noise.enclosures import Enclosure, ceil_shift, exp_negative, normal_two_sided_tail
from dphist.noise.search import first_true

# Encloses 2**bits * p for the number of bits it is given.
Chance: TypeAlias = Callable[[int], Enclosure]

_LEAST_REACH = Fraction(1, 8)
"""Noise that ends reaches at least this many scales, so that no draw is repeated for long."""

_STEPS = 1024
"""Steps of the grid in a standard deviation: one step changes p by less than 5 %."""

_MOST_BITS = 1 << 14
_UP = Context(prec=12, rounding=ROUND_CEILING, Emax=10**9, Emin=-(10**9))


@functools.lru_cache(maxsize=256)
def geometric_threshold(rate: Fraction, delta: Fraction, max_labels: int, max_count: int) -> int:
    """Return the least integer T at which the rule `count + Z > T` keeps delta.

    Parameters
    ----------
    rate : epsilon / max_count, so that Pr[Z = z] is proportional to exp(-rate abs(z)).
    delta : above 0 and below 1.
    max_labels, max_count : what one user changes at most.

    Returns
    -------
    int, records, at least max_count - 1
    """

    def keeps(steps: int) -> bool:
        return _keeps(functools.partial(_geometric_chance, rate, steps), delta, max_labels)

    chance = _float_chance(delta, max_labels)
    likely = (-math.log(chance) - math.log1p(math.exp(-float(rate)))) / float(rate)
    return max_count - 1 + first_true(keeps, likely)


@functools.lru_cache(maxsize=256)
def gaussian_threshold(
    sigma: Fraction, delta: Fraction, max_labels: int, max_count: int
) -> Fraction:
    """Return a threshold T at which the rule `count + N > T`, for the real N, keeps delta.

    It is the least one of the form (g + 1/2) / m above `max_count`, with an integer g and
    m = `grid(sigma)`: those at which `rounded_gaussian(m sigma)` tells on which side N lies.

    Parameters
    ----------
    sigma : standard deviation of N, records.
    delta, max_labels, max_count : as in `geometric_threshold`.
    """
    fine = grid(sigma)

    def keeps(steps: int) -> bool:
        return _keeps(functools.partial(_gaussian_chance, sigma, fine, steps), delta, max_labels)

    likely = fine * float(sigma) * -float(ndtri(_float_chance(delta, max_labels))) - 0.5
    return max_count + Fraction(2 * first_true(keeps, likely) + 1, 2 * fine)


@functools.lru_cache(maxsize=256)
def truncated_limit(rate: Fraction, delta: Fraction, max_labels: int, max_count: int) -> int:
    """Return the least k at which noise from -k to k keeps delta, for listed and new labels alike.

    A new label is released if `count + X > k`. For deltas far above epsilon, where hardly any noise
    would be needed, it is at least an eighth of the scale of the noise.

    Parameters
    ----------
    rate, delta, max_labels, max_count : as in `geometric_threshold`; Pr[X = x] is proportional to
        exp(-rate abs(x)) for the whole numbers from -k to k.

    Returns
    -------
    int, records, at least `max_count`
    """

    def keeps(more: int) -> bool:
        chance = functools.partial(_truncated_chance, rate, max_count + more, max_count)
        return _keeps(chance, delta, max_labels)

    near = geometric_threshold(rate, delta, max_labels, max_count)  # where to search first
    return max(max_count + first_true(keeps, near), math.ceil(_LEAST_REACH / rate))


def grid(sigma: Fraction) -> int:
    """Return the least odd m for which a step 1/m is at most a 1024th of sigma.

    Odd, so that the borders k + 1/2 of rounding to integers are borders (g + 1/2) / m too.
    """
    least = -(-_STEPS * sigma.denominator // sigma.numerator)
    return least | 1


def geometric_delta(
    rate: Fraction, threshold: int, delta: Fraction, max_labels: int, max_count: int
) -> Fraction:
    """Return the delta of the rule with this threshold, rounded up to 12 digits.

    `delta` is one it is known to keep.
    """
    chance = functools.partial(_geometric_chance, rate, threshold - max_count + 1)
    return _chance_of_any(chance, delta, max_labels)


def gaussian_delta(
    sigma: Fraction, threshold: Fraction, delta: Fraction, max_labels: int, max_count: int
) -> Fraction:
    """Return the delta of the rule with this threshold, rounded up to 12 digits."""
    fine = grid(sigma)
    steps = ((threshold - max_count) * 2 * fine - 1) / 2
    chance = functools.partial(_gaussian_chance, sigma, fine, int(steps))
    return _chance_of_any(chance, delta, max_labels)


def truncated_delta(
    rate: Fraction, limit: int, delta: Fraction, max_labels: int, max_count: int
) -> Fraction:
    """Return the delta of noise from -limit to limit, rounded up to 12 digits."""
    chance = functools.partial(_truncated_chance, rate, limit, max_count)
    return _chance_of_any(chance, delta, max_labels)


@functools.lru_cache(maxsize=256)
def delta_of_one(delta: Fraction, max_labels: int) -> Fraction:
    """Return a p with 1 - (1 - p)**max_labels <= delta, nearly the largest.

    >>> delta_of_one(Fraction(1, 10), 1), round(float(delta_of_one(Fraction(19, 100), 2)), 9)
    (Fraction(1, 10), 0.1)
    """
    if max_labels == 1:
        return delta
    bits = 2 * _bits(delta, max_labels)
    low, high = 0, (delta.numerator << bits) // delta.denominator + 1
    while high - low > 1:
        middle = (low + high) // 2
        held = (middle, middle)  # units of 2**-bits: enclosed without error at that many bits
        low, high = (middle, high) if _holds_at(held, delta, max_labels, bits) else (low, middle)
    return Fraction(low, 1 << bits)


def _holds_at(chance: Enclosure, delta: Fraction, max_labels: int, bits: int) -> bool:
    return _power(chance, max_labels, bits)[0] >= (1 - delta) * (1 << bits)


def _geometric_chance(rate: Fraction, steps: int, bits: int) -> Enclosure:
    """Enclose Pr[Z >= steps] = a**steps / (1 + a) with a = exp(-rate), steps >= 0."""
    work = bits + 16
    alpha_low, alpha_high = exp_negative(rate, work)
    low, high = exp_negative(rate * steps, work)
    one = 1 << work
    return (
        (low << work) // (one + alpha_high) >> 16,
        ceil_shift(-(-(high << work) // (one + alpha_low)), 16),
    )


def _truncated_chance(rate: Fraction, limit: int, max_count: int, bits: int) -> Enclosure:
    """Enclose Pr[X > limit - max_count] = a**(k - c + 1) (1 - a**c) / (1 + a - 2 a**(k + 1)).

    a = exp(-rate), k = `limit` >= c = `max_count`. Numerator and denominator are at least about
    the rate, which is what the further bits are for.
    """
    more = 16 + math.ceil(1 / rate).bit_length()
    work = bits + 2 * more
    one = 1 << work
    alpha, top, many, over = (
        exp_negative(rate * steps, work)
        for steps in (1, limit - max_count + 1, max_count, limit + 1)
    )
    low = top[0] * (one - many[1]) // (one + alpha[1] - 2 * over[0])
    high = -(-top[1] * (one - many[0]) // (one + alpha[0] - 2 * over[1]))
    return low >> 2 * more, ceil_shift(high, 2 * more)


def _gaussian_chance(sigma: Fraction, fine: int, steps: int, bits: int) -> Enclosure:
    """Enclose Pr[N > (steps + 1/2) / fine] for N of standard deviation sigma, steps >= 0."""
    low, high = normal_two_sided_tail(Fraction(2 * steps + 1, 2 * fine) / sigma, bits)
    return low >> 1, ceil_shift(high, 1)


def _keeps(chance: Chance, delta: Fraction, max_labels: int) -> bool:
    """Whether 1 - (1 - p)**max_labels <= delta; False where that stays open."""
    bits = _bits(delta, max_labels)
    while bits <= _MOST_BITS:
        low, high = _power(chance(bits), max_labels, bits)
        wanted = (1 - delta) * (1 << bits)
        if low >= wanted:
            return True
        if high < wanted:
            return False
        bits *= 2
    return False


def _chance_of_any(chance: Chance, delta: Fraction, max_labels: int) -> Fraction:
    """Return 1 - (1 - p)**max_labels, rounded up, or the given upper bound if that is less."""
    bits = _bits(delta, max_labels)
    lost = (1 << bits) - _power(chance(bits), max_labels, bits)[0]
    return min(delta, Fraction(_UP.divide(Decimal(lost), Decimal(1 << bits))))


def _bits(delta: Fraction, max_labels: int) -> int:
    """Bits at which nearly every threshold is decided at once."""
    return 64 + 2 * max_labels.bit_length() + delta.denominator.bit_length()


def _power(chance: Enclosure, exponent: int, bits: int) -> Enclosure:
    """Enclose 2**bits * (1 - p)**exponent by squaring, every rounding outwards."""
    one = 1 << bits
    base_low, base_high = max(0, one - chance[1]), one - chance[0]
    low = high = one
    for digit in f"{exponent:b}":
        low, high = low * low >> bits, ceil_shift(high * high, bits)
        if digit == "1":
            low, high = low * base_low >> bits, ceil_shift(high * base_high, bits)
    return low, high


def _float_chance(delta: Fraction, max_labels: int) -> float:
    """Return about the largest p with 1 - (1 - p)**max_labels <= delta, above 0."""
    return max(-math.expm1(math.log1p(-float(delta)) / max_labels), 1e-300)
