"""Rigorous enclosures of the probabilities that the samplers compare with.

Every function returns integers `(low, high)` with low <= 2**bits * value <= high. The code uses
integer arithmetic only and rounds outwards, so the bounds do not depend on floating point.
`docs/understand/proofs/noise.md`, Lemma 4.
"""

import functools
import math
from fractions import Fraction
from typing import TypeAlias

Enclosure: TypeAlias = tuple[int, int]


def ceil_shift(value: int, bits: int) -> int:
    """Return value / 2**bits, rounded up."""
    return -(-value >> bits)


def exp_negative(exponent: Fraction, bits: int) -> Enclosure:
    """Enclose 2**bits * exp(-exponent) for exponent >= 0; high - low <= 3."""
    if exponent >= bits:  # e**-b < 2**-b
        return 0, 1
    # e**-r = (1 / e**x)**(2**halvings) with x = r / 2**halvings <= 1/2. Each squaring at
    # most doubles the absolute error of a number below one, hence the guard bits.
    halvings = math.floor(exponent).bit_length() + 1
    guard = 2 * halvings + 16
    precision = bits + guard
    x_low = (exponent.numerator << precision) // (exponent.denominator << halvings)
    e_low, e_high = _exp_small(x_low, x_low + 1, precision)
    low = (1 << 2 * precision) // e_high
    high = -(-(1 << 2 * precision) // e_low)
    for _ in range(halvings):
        low, high = low * low >> precision, ceil_shift(high * high, precision)
    return low >> guard, ceil_shift(high, guard)


def _exp_small(x_low: int, x_high: int, precision: int) -> Enclosure:
    """Enclose e**x for 0 <= x <= 1/2 + 2**-precision by its Taylor series."""
    low = high = term_low = term_high = 1 << precision
    order = 1
    while term_high > 1:
        term_low = (term_low * x_low >> precision) // order
        term_high = -(-ceil_shift(term_high * x_high, precision) // order)
        low += term_low
        high += term_high
        order += 1
    return low, high + 2 * term_high  # later terms at least halve each time


def normal_two_sided_tail(x: Fraction, bits: int) -> Enclosure:
    """Enclose 2**bits * Pr[|N(0, 1)| > x] for x >= 0.

    Pr[|N| > x] = 1 - 2 phi(x) * sum_n x**(2n+1) / (2n+1)!!, whose terms are positive.
    """
    half_square = x * x / 2
    if half_square >= bits:  # Pr[|N| > x] <= e**(-x*x/2) < 2**-bits
        return 0, 1
    # phi(x) is as small as the sum is large: e**(x*x/2) costs 1.45 x*x/2 bits.
    guard = math.ceil(half_square * 3 / 2) + 32
    precision = bits + guard
    sum_low, sum_high = _normal_series(x, precision)
    exp_low, exp_high = exp_negative(half_square, precision)
    root_low, root_high = sqrt_two_pi(precision)
    half_low = exp_low * sum_low // root_high
    half_high = -(-exp_high * sum_high // root_low)
    one = 1 << precision
    return max(0, (one - 2 * half_high) >> guard), ceil_shift(one - 2 * half_low, guard)


def _normal_series(x: Fraction, precision: int) -> Enclosure:
    """Enclose sum_n x**(2n+1) / (2n+1)!! in units of 2**-precision."""
    square = x * x
    term_low = (x.numerator << precision) // x.denominator
    term_high = term_low + 1
    low, high = term_low, term_high
    odd = 3
    # Stop once terms are below the unit and at least halve from one to the next.
    while term_high > 1 or odd < 2 * square:
        term_low = term_low * square.numerator // (square.denominator * odd)
        term_high = -(-term_high * square.numerator // (square.denominator * odd))
        low += term_low
        high += term_high
        odd += 2
    return low, high + 2 * term_high


@functools.lru_cache(maxsize=16)
def sqrt_two_pi(precision: int) -> Enclosure:
    """Enclose sqrt(2 pi), from Machin's pi = 16 arctan(1/5) - 4 arctan(1/239)."""
    work = precision + 16
    fifth, other = _arctan_inverse(5, work), _arctan_inverse(239, work)
    pi_low = 16 * fifth[0] - 4 * other[1]
    pi_high = 16 * fifth[1] - 4 * other[0]
    low = math.isqrt(2 * pi_low << work)
    high = math.isqrt(2 * pi_high << work) + 1
    return low >> 16, ceil_shift(high, 16)


def _arctan_inverse(n: int, precision: int) -> Enclosure:
    """Enclose arctan(1/n) by its alternating series; each term adds one unit of rounding error."""
    total, power, order, sign = 0, (1 << precision) // n, 1, 1
    while power:
        total += sign * (power // order)
        power //= n * n
        order += 2
        sign = -sign
    slack = order + 2
    return total - slack, total + slack
