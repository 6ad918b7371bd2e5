"""Radius around the true diagram that contains a draw of the sampler, except for a given mass.

Floating point proposes a parameter; the radius is computed from it in integers and fractions,
rounded outwards. Lemma 2 of `docs/understand/proofs/partition_sampler.md`.
"""

import math
from fractions import Fraction

import numpy as np

from dphist.noise.enclosures import exp_negative

# Upper bounds, in billionths: p(n) <= exp(c sqrt(n)) for c = pi sqrt(2/3).
_HARDY_RAMANUJAN = Fraction(2_565_099_661, 10**9)
_LOG_TWO = Fraction(693_147_181, 10**9)
_TRIES = 4096
_GRID = 32


def minus_log_above(p: Fraction) -> Fraction:
    """Return a rational y with exp(-y) <= p, for 0 < p <= 1: an upper bound of -ln p.

    It is a multiple of 2**-32, usually the smallest.
    """
    # p is at least 2**64 units of 2**-bits, and the exponential is known to three units.
    bits = max(p.denominator.bit_length() - p.numerator.bit_length(), 0) + 66
    guess = math.log(p.denominator) - math.log(p.numerator)
    y = Fraction(max(math.floor(guess * (1 << _GRID)), 0), 1 << _GRID)
    step = Fraction(1, 1 << _GRID)
    while exp_negative(y, bits)[1] > p * (1 << bits):
        y += step
    return y


def log_mass_of_cut(delta: Fraction, epsilon: Fraction) -> Fraction:
    """Return a rational L with exp(-L) <= delta / (1 + exp(epsilon)), the mass cut (Lemma 4)."""
    # (1 + e^eps) / delta = e^eps (1 + e^-eps) / delta
    above = Fraction(exp_negative(epsilon, 64)[1], 1 << 64)
    return epsilon + minus_log_above(delta / (1 + above))


def radius(total: int, rate: Fraction, log_mass: Fraction) -> int:
    """Return D such that a draw is farther than D with probability at most exp(-log_mass).

    Parameters
    ----------
    total : records of the true diagram.
    rate : a partition at distance d has probability proportional to exp(-rate d).
    log_mass : -ln of the probability outside the radius.

    Notes
    -----
    For 0 < t < rate, Pr[d > D] <= exp(-(rate - t) D) Z(t), and the sum Z(t) of exp(-t d)
    over all partitions is at most 2 exp(c sqrt(n) + c^2 / 2t) / (1 - exp(-t / 2))
    (`docs/understand/proofs/partition_sampler.md`, Lemma 2). Every t gives a valid bound. Floating
    point finds the best of many values of t; D is computed for this t in fractions, rounded up.
    """
    share = _best_share(total, float(rate), float(log_mass))
    t = rate * share
    c = _HARDY_RAMANUJAN
    root = Fraction(math.isqrt(total << 64) + 1, 1 << 32)
    rest = 1 - Fraction(exp_negative(t / 2, 128)[1], 1 << 128)
    log_z = _LOG_TWO + c * root + c * c / (2 * t) + minus_log_above(rest)
    return max(math.ceil((log_z + log_mass) / (rate - t)), 0)


def _best_share(total: int, rate: float, log_mass: float) -> Fraction:
    """Return the t / rate with the smallest bound, by a search in floating point."""
    c = float(_HARDY_RAMANUJAN)
    t = rate * np.arange(1, _TRIES) / _TRIES
    log_z = math.log(2) + c * math.sqrt(total) + c * c / (2 * t) - np.log(-np.expm1(-t / 2))
    return Fraction(int(np.argmin((log_z + log_mass) / (rate - t))) + 1, _TRIES)
