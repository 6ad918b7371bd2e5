"""What a release of a threshold histogram costs, by public numbers alone.

Threshold and noise of one release need not add their deltas. A label of a user is either new, and
the threshold may betray the user, or shared, and its noisy count may. As long as the delta of the
noise is convex in the squared distance, a mixture of both is never worse than one of the ends
(`docs/understand/proofs/threshold.md`, Lemma 8; `top_labels.md`, Lemma 8).
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

from dphist.errors import ParameterError
from dphist.labels.threshold.sums import Sums
from dphist.noise.gaussian_epsilon import gaussian_epsilon
from dphist.privacy import ZCDP, ApproxDP, ApproxZCDP, PrivacyUnit, PureDP
from dphist.privacy.conversion import geometric_to_rho


@dataclass(frozen=True, slots=True)
class ThresholdCost:
    """The claims of a `ThresholdHistogram`.

    Attributes
    ----------
    noise : "laplace", "truncated", "optimal" or "gaussian".
    epsilon : the parameter of a single label.
    delta : of the threshold, or of the ends of noise that ends; None if there is none.
    changed : how many released numbers one user changes at most, each by one noise scale; those in
        sums of values too, at what these cost in counts.
    of_users : how many of these are numbers of users.
    max_count : by how much a user changes the count of a label at most.
    unit : what is protected.
    sums : of values beside the counts; None if there are none.
    """

    noise: str
    epsilon: Fraction
    delta: Fraction | None
    changed: Fraction
    of_users: int
    max_count: int
    unit: PrivacyUnit
    sums: Sums | None = None

    @property
    def guarantee(self) -> ZCDP | ApproxZCDP:
        """What a release costs in all, as (approximate) zCDP."""
        rho = self.changed * self.epsilon**2 / 2  # Rogers 2023, Theorem 7
        if self.noise != "gaussian":
            # Noise that ends costs no more beside its delta (bounded_noise.md, Lemmas 6 and 7).
            # Numbers of users change by 1, and have noise for that.
            summed = self.sums.changes if self.sums else 0
            labels = self.changed - self.of_users - summed
            rho = labels * geometric_to_rho(self.epsilon, self.max_count)
            rho += self.of_users * geometric_to_rho(self.epsilon, 1)
            rho += self.sums.rho if self.sums else 0
        if self.delta is None:
            return ZCDP(rho, self.unit)
        return ApproxZCDP(rho, self.delta, self.unit)

    @property
    def epsilon_guarantee(self) -> PureDP | ApproxDP | None:
        """What other noise also promises directly, in epsilon; None for Gaussian noise."""
        if self.noise == "gaussian":
            return None
        total = self.changed * self.epsilon
        if self.delta is None:
            return PureDP(total, self.unit)
        return ApproxDP(total, self.delta, self.unit)

    def exact_epsilon_at(self, total: Fraction, times: int) -> Fraction | None:
        """Return the exact epsilon of `times` releases at a total delta; None if there is none.

        For Gaussian noise it is below what zCDP shows (`docs/understand/proofs/threshold.md`,
        Lemma 6), and of one release the one for which threshold and noise do not add their deltas
        (Lemma 8).
        """
        if self.noise != "gaussian":
            return None
        try:
            larger = self._price_larger(total) if times == 1 else None
            if larger is not None and larger > convex_from(self.changed * self.epsilon**2):
                return larger  # below the sum's, which leaves less to the noise
            known = [self._price_sum(total, times), larger]
        except ParameterError:  # beyond what is computed exactly; zCDP is not
            return None
        return min((epsilon for epsilon in known if epsilon is not None), default=None)

    def _price_sum(self, total: Fraction, times: int) -> Fraction | None:
        """Return the epsilon of releases that pay for the threshold and for the noise: Lemma 6."""
        left = total - times * (self.delta or 0)
        if not left > 0:
            return None
        return gaussian_epsilon(times * self.changed * self.epsilon**2, left)

    def _price_larger(self, total: Fraction) -> Fraction | None:
        """Return the epsilon of one release, which pays for the larger of the two: Lemma 8."""
        own = self.delta or Fraction(0)
        if total < own:
            return None
        each = self.epsilon**2
        always = self.of_users * each  # what a user changes beside labels, new or shared
        return epsilon_of_ends([(self.changed * each, total), (always, (total - own) / (1 - own))])


def epsilon_of_noise(
    mu_squared: Fraction, delta: Fraction, total: Fraction, times: int
) -> Fraction | None:
    """Return the exact epsilon of `times` releases that pay for a threshold and for the noise.

    Parameters
    ----------
    mu_squared : squared distance of one release in standard deviations of its noise.
    delta : of the threshold of one release.
    total : the delta of all releases.

    Returns
    -------
    None if that delta is too small for any, or the epsilon is beyond what is computed exactly.
    """
    left = total - times * delta
    if left > 0:
        try:
            return gaussian_epsilon(times * mu_squared, left)
        except ParameterError:
            pass
    return None


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
