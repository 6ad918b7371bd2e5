"""What one record may cost, and the noise that a share of it buys."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.special import ndtr, ndtri

from dphist.arrays import IntArray
from dphist.errors import ParameterError
from dphist.noise import Source, rounded_gaussian, two_sided_geometric
from dphist.noise.gaussian import LARGEST_SIGMA
from dphist.noise.geometric import SMALLEST_EPSILON
from dphist.noise.magnitude import geometric_standard_deviation
from dphist.parameters import Exact, privacy_parameter
from dphist.privacy import ONE_RECORD, ZCDP, Guarantee, PrivacyUnit, PureDP

_MISSED = 0.05  # the share of answers that a bar of 95 % misses
_SIGMA_STEPS = 2**40  # sigma is a multiple of 1 / this


@dataclass(frozen=True, slots=True)
class Budget:
    """Epsilon or rho of a single record.

    Attributes
    ----------
    gaussian : bool
        Whether `amount` is a rho, paid for by Gaussian noise, or an epsilon, by geometric noise.
    amount : Fraction
        What a single record may cost in all.
    """

    gaussian: bool
    amount: Fraction

    def noise(
        self, share: Fraction, size: int | tuple[int, ...], source: Source | None
    ) -> IntArray:
        """Draw int64 noise for counts of which a record changes one, by 1, at `share` of the cost.

        Such counts with this noise satisfy ``share * amount`` in epsilon, or in rho
        (`docs/proofs/hierarchical_tree.md`, Lemma 2).
        """
        if self.gaussian:
            return rounded_gaussian(self.sigma(share), size, source)
        return two_sided_geometric(self.amount * share, size, source)

    def sigma(self, share: Fraction) -> Fraction:
        """Return the least multiple of 2**-40 with 1 / (2 sigma**2) <= share * amount."""
        squared = 1 / (2 * self.amount * share)
        whole = math.isqrt(math.ceil(squared * _SIGMA_STEPS**2) - 1) + 1
        return Fraction(whole, _SIGMA_STEPS)

    def scale(self, share: Fraction) -> Fraction:
        """Return the scale of that noise, in records: sigma, or 1 / rate of geometric noise."""
        return self.sigma(share) if self.gaussian else 1 / (self.amount * share)

    def variance(self, share: Fraction) -> float:
        """Return the variance of that noise, in records squared; 2**-40 if it is less.

        So that what divides by it does not overflow where epsilon is enormous.
        """
        if self.gaussian:
            return max(_rounded_gaussian_variance(float(self.sigma(share))), 2**-40)
        return max(geometric_standard_deviation(self.amount * share) ** 2, 2**-40)

    def half_width(self) -> int:
        """Return the least whole h for which noise at the whole cost is within h with 95 %.

        No mechanism that is epsilon-DP for a record has an answer that is within fewer records of
        the count with 95 %, whatever the data are (`docs/proofs/adaptive_tree.md`, Lemma 4).
        """
        if self.gaussian:
            # Rounded noise is beyond h where that of N(0, sigma**2) is beyond h + 1/2.
            width = -float(ndtri(_MISSED / 2)) * float(self.sigma(Fraction(1))) - 0.5
        else:
            # Beyond h with the chance 2 exp(-epsilon (h + 1)) / (1 + exp(-epsilon)).
            epsilon = float(self.amount)
            width = math.log(2 / _MISSED / (1 + math.exp(-epsilon))) / epsilon - 1
        return max(math.ceil(width), 0)

    def check(self, least_share: Fraction) -> None:
        """Refuse at construction what the noise could not sample."""
        if self.gaussian:
            usable = self.amount * least_share >= Fraction(1, 10**20)
            usable = usable and self.sigma(least_share) <= LARGEST_SIGMA
        else:
            usable = self.amount * least_share >= SMALLEST_EPSILON
        if not usable:
            name = "rho" if self.gaussian else "epsilon"
            raise ParameterError(f"{name} is too small for so many bins or records: raise {name}")


def checked_guarantee(
    epsilon: Exact | None, rho: Exact | None, unit: PrivacyUnit = ONE_RECORD
) -> Guarantee:
    """Return the guarantee of exactly one of epsilon and rho."""
    if (epsilon is None) == (rho is None):
        raise ParameterError("give one of epsilon (pure DP) and rho (zCDP)")
    if rho is not None:
        return ZCDP(privacy_parameter(rho, "rho"), unit)
    return PureDP(privacy_parameter(epsilon, "epsilon"), unit)  # type: ignore[arg-type]


def budget_of(guarantee: Guarantee, sensitivity: int) -> Budget:
    """Return what a record may cost if a unit has `sensitivity` of them, by group privacy."""
    if isinstance(guarantee, ZCDP):
        return Budget(True, guarantee.rho / sensitivity**2)
    if isinstance(guarantee, PureDP):
        return Budget(False, guarantee.epsilon / sensitivity)
    raise ParameterError("the guarantee must be PureDP or ZCDP")


def _rounded_gaussian_variance(sigma: float) -> float:
    """E X**2 of N(0, sigma**2) rounded: the sum over k >= 1 of (2k - 1) Pr[abs(X) >= k]."""
    if sigma >= 2:
        return sigma**2 + 1 / 12  # up to 1e-30
    k = np.arange(1, 30)
    return float(((2 * k - 1) * 2 * ndtr(-(k - 0.5) / sigma)).sum())
