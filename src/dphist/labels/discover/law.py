"""What users add to their labels, and the threshold that keeps delta, in whole units.

A unit is 2**-20. Labels have priorities, whole numbers, and a user's weights are proportional to
the priorities of the user's labels, such that no user adds more than 1 in l2 norm. All roundings
lower a weight (`docs/understand/proofs/discover_labels.md`, Lemma 1).

Floating point proposes the threshold, and integers decide. A user with t labels may have t that
nobody else has. Each ends with at most `most_added(t)` units and the noise of all looks, so that it
is released with a probability p(t), and any of them with at most t p(t), which must not exceed
delta for any t (Lemma 4).
"""

import functools
import math
from fractions import Fraction

import numpy as np
from scipy.special import ndtri_exp

from dphist.arrays import IntArray
from dphist.noise.enclosures import normal_two_sided_tail

UNIT_BITS = 20
UNIT = 1 << UNIT_BITS
"""Units in a weight of 1."""

HIGHEST = 256
"""Priorities are from 1 to this. All have it in the first look."""

BOOST = 4
"""Later weights of a user are at most this multiple of those of the first look."""

LARGEST_SET = 1 << 20
"""Largest number of labels of a user: sums of squares then stay inside int64."""

_NORM_BITS = 12  # of the fraction of a norm

_SPREAD = 1.3
_GROWTH = 0.2  # of the mean that decides: what weight that comes later adds, from the first look on
_LOWEST = 8  # of HIGHEST: a label that seems out of reach keeps this priority
_STEPS = 64  # in a spread
# A table, because the last bit of NumPy's exp may depend on where in an array a number stands, and
# so on other labels. Divisions and roundings do not.
_BY_DISTANCE = np.array(
    [
        max(round(HIGHEST * math.exp(-((i / _STEPS) ** 2) / 2)), _LOWEST)
        for i in range(4 * _STEPS + 1)
    ],
    np.int64,
)


def first_weight(labels: int) -> int:
    """Return the largest whole w with labels * w**2 <= UNIT**2: the weight of each of the labels.

    >>> first_weight(1) == UNIT, first_weight(4) == UNIT // 2, first_weight(2)
    (True, True, 741455)
    """
    return math.isqrt(UNIT * UNIT // labels)


def largest_weight(labels: int) -> int:
    """Return the most that a user with these labels adds to one, in a later look.

    >>> largest_weight(16) == UNIT, largest_weight(64) == UNIT // 2
    (True, True)
    """
    return min(UNIT, math.isqrt(BOOST * BOOST * UNIT * UNIT // labels))


def most_added(labels: int, looks: int) -> int:
    """Return the most that a user with these labels adds to one, in all looks together."""
    return first_weight(labels) + (looks - 1) * largest_weight(labels)


def weights(priorities: IntArray, starts: IntArray) -> IntArray:
    """Return the weights of users, proportional to priorities, with an l2 norm of at most UNIT.

    Parameters
    ----------
    priorities : (pairs,) int64, from 1 to HIGHEST, of the labels of one user after another.
    starts : (users + 1,) int64, where each user begins; no user is without labels, or has more
        than LARGEST_SET.

    Returns
    -------
    (pairs,) int64, units, before `largest_weight` is applied
    """
    if not len(priorities):
        return np.zeros(0, np.int64)
    squares = np.add.reduceat(priorities * priorities, starts[:-1])
    norms = np.repeat(ceil_root(squares << 2 * _NORM_BITS), np.diff(starts))
    found: IntArray = (priorities << UNIT_BITS + _NORM_BITS) // norms
    return found


def ceil_root(squares: IntArray) -> IntArray:
    """Return the least integers r with r * r >= squares, for squares from 1 to 2**62.

    Floating point proposes; integers decide.
    """
    roots = np.sqrt(squares.astype(np.float64)).astype(np.int64)
    for _ in range(2):
        roots -= (roots - 1) * (roots - 1) >= squares
    for _ in range(3):
        roots += roots * roots < squares
    return roots


def caps(starts: IntArray) -> IntArray:
    """Return `largest_weight` for each pair of a user and a label."""
    sizes = np.diff(starts)
    distinct, place = np.unique(sizes, return_inverse=True)
    most = np.array([largest_weight(int(size)) for size in distinct], np.int64)
    return np.repeat(most[place], sizes)


def next_priorities(
    noisy: IntArray, look: int, looks: int, sigma: float, threshold: int
) -> IntArray:
    """Return the priorities of labels, a function of noisy numbers and public ones alone.

    A label gains most from weight where its total is likely to end near the threshold: there the
    probability of being above it grows fastest. If looks to come are as those so far, with new
    noise, the mean of all looks is that of the looks so far with an error of s, to which the noise
    of one look is added. Such labels get more weight later, so theirs may be lower now, by the
    share _GROWTH of what is to come. A label whose mean is z s _SPREAD away from that has the
    priority HIGHEST exp(-z**2 / 2), but at least _LOWEST.
    """
    left = 1 - look / looks
    spread = _SPREAD * sigma * math.sqrt(left / look + 1 / looks**2)
    wanted = threshold / looks * (1 - _GROWTH * left)
    steps = np.abs((noisy / look - wanted) / spread) * _STEPS
    found: IntArray = _BY_DISTANCE[np.minimum(steps, len(_BY_DISTANCE) - 1).astype(np.int64)]
    return found


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
