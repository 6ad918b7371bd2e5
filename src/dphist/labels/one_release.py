"""The epsilon of one release whose threshold and noise do not add their deltas.

A label of a user is new, and the threshold may betray it, or shared with others, and its noisy
count may. As long as the delta of the noise is convex in the squared distance, a mixture of both is
never worse than one of the ends (`docs/understand/proofs/threshold.md`, Lemma 8; `top_labels.md`,
Lemma 8).
"""

import math
from collections.abc import Iterable
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

from dphist.noise.gaussian_epsilon import gaussian_epsilon

_SCALE = 128
_UP = Context(prec=12, rounding=ROUND_CEILING, Emax=10**9, Emin=-(10**9))


def epsilon_of_ends(ends: Iterable[tuple[Fraction, Fraction]]) -> Fraction | None:
    """Return the smallest E at which each squared distance has at most its delta.

    It is at least `convex_from` of the largest distance, so that the deltas of all mixtures between
    the ends are at most those of the ends.

    Parameters
    ----------
    ends : (mu_squared, delta) of each end
        Squared distance of the noisy counts in standard deviations, 0 or more, and the delta that
        is left for it.

    Returns
    -------
    Fraction, rounded up to 12 digits; None if an end with noise has no delta left.

    Raises
    ------
    ParameterError
        If a delta is too small for an epsilon to be computed.
    """
    noisy = [(mu_squared, delta) for mu_squared, delta in ends if mu_squared > 0]
    if any(delta <= 0 for _, delta in noisy):
        return None
    found = max(gaussian_epsilon(mu_squared, delta) for mu_squared, delta in noisy)
    return max(found, convex_from(max(mu_squared for mu_squared, _ in noisy)))


def convex_from(mu_squared: Fraction) -> Fraction:
    """Return an E from which on the delta of Gaussian noise is convex up to this squared distance.

    The smallest E of 12 digits with t**2 + 4 t <= 4 E**2 (`docs/understand/proofs/accounting.md`,
    Lemma 10).
    """
    square = mu_squared * (mu_squared + 4) / 4
    scale = _SCALE + max(0, square.denominator.bit_length() - square.numerator.bit_length())
    root = math.isqrt((square.numerator << 2 * scale) // square.denominator) + 1
    return Fraction(_UP.divide(Decimal(root), Decimal(1 << scale)))
