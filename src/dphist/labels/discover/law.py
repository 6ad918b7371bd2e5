"""The threshold of `DiscoverLabels`: floating point proposes, integers decide.

A user with t labels may have t that nobody else has. Each ends with at most `most_added(t)` units
and the noise of all looks, so that it is released with a probability p(t), and any of them with
at most t p(t), which must not exceed delta for any t (`docs/understand/proofs/discover_labels.md`,
Lemma 4).
"""

import functools
import math
from fractions import Fraction

import numpy as np
from scipy.special import ndtri_exp

from dphist.labels.discover.weights import BOOST, UNIT, most_added
from dphist.noise.enclosures import normal_two_sided_tail

_FINE = 1 << 20  # steps of a search in a standard deviation
_ROOT_BITS = 64
_TAIL_BITS = 24  # of the distance from the threshold in standard deviations


def look_sigma(epsilon: Fraction, looks: int) -> Fraction:
    """Return the standard deviation of the noise of one look, in units: UNIT sqrt(looks) / epsilon.

    Rounded up, so that all looks together cost at most epsilon**2 / 2 in zCDP.
    """
    return UNIT * _root_above(looks) / epsilon


def total_sigma(epsilon: Fraction, looks: int) -> Fraction:
    """Return at least the standard deviation of the noise of all looks together, in units."""
    return look_sigma(epsilon, looks) * _root_above(looks)


@functools.lru_cache(maxsize=256)
def least_threshold(epsilon: Fraction, delta: Fraction, max_labels: int, looks: int) -> int:
    """Return a threshold T, in units, at which the rule `total > T` keeps delta.

    It is within a hundred thousandth of the standard deviation of the least one that does.
    """
    sigma = total_sigma(epsilon, looks)
    step = max(int(sigma) // _FINE, 1)
    threshold = math.ceil(max(_proposal(sigma, delta, max_labels, looks), 0.0)) + step
    while not keeps(sigma, threshold, delta, max_labels, looks):
        threshold, step = threshold + step, 2 * step
    return threshold


def keeps(sigma: Fraction, threshold: int, delta: Fraction, max_labels: int, looks: int) -> bool:
    """Whether t p(t) <= delta for all t up to `max_labels`; False where that stays open.

    Parameters
    ----------
    sigma : at least the standard deviation of the noise of all looks, units.
    threshold : units.
    """
    bits = 64 + max_labels.bit_length() + delta.denominator.bit_length()
    blocks = [(1, max_labels)]
    while blocks:
        least, most = blocks.pop()
        # A user of any size in the block adds at most what one of the least size adds, to at most
        # as many labels as one of the largest size has.
        if most * _chance(sigma, threshold, least, looks, bits) <= delta * (2 << bits):
            continue
        if least == most:
            return False
        middle = (least + most) // 2
        blocks += [(least, middle), (middle + 1, most)]
    return True


def _chance(sigma: Fraction, threshold: int, labels: int, looks: int, bits: int) -> int:
    """Bound 2**(bits + 1) p(labels) from above."""
    # Each of the looks rounds its noise, by at most half a unit.
    above = threshold - most_added(labels, looks) - Fraction(looks, 2)
    # Fewer digits, rounded down, are quicker and claim less.
    away = Fraction(math.floor(above / sigma * (1 << _TAIL_BITS)), 1 << _TAIL_BITS)
    return normal_two_sided_tail(away, bits)[1] if away > 0 else 2 << bits


def _proposal(sigma: Fraction, delta: Fraction, max_labels: int, looks: int) -> float:
    """Return the threshold in floating point."""
    sizes = np.arange(1, max_labels + 1, dtype=np.float64)
    first = 1 / np.sqrt(sizes)
    added = UNIT * (first + (looks - 1) * np.minimum(BOOST * first, 1))
    log_delta = math.log(delta.numerator) - math.log(delta.denominator)
    return float(np.max(added - float(sigma) * ndtri_exp(log_delta - np.log(sizes)))) + looks / 2


def _root_above(number: int) -> Fraction:
    """Return at least the square root; exactly it, of squares of whole numbers."""
    root = math.isqrt(number << 2 * _ROOT_BITS)
    exact = root * root == number << 2 * _ROOT_BITS
    return Fraction(root if exact else root + 1, 1 << _ROOT_BITS)
