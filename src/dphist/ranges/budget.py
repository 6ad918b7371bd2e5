"""The privacy budget of one record, and the noise for a share of it."""

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

_MISSED = 0.05  # the share of answers outside a 95 % bar
_SIGMA_STEPS = 2**40  # sigma is a multiple of 1 / this


@dataclass(frozen=True, slots=True)
class Budget:
    """Epsilon or rho of a single record.

    Attributes
    ----------
    gaussian : bool
        Whether `amount` is a rho, with Gaussian noise, or an epsilon, with geometric noise.
    amount : Fraction
        The total cost of a single record.
    """

    gaussian: bool
    amount: Fraction

    def noise(
        self, share: Fraction, size: int | tuple[int, ...], source: Source | None
    ) -> IntArray:
        """Draw int64 noise at `share` of the cost, for counts of which a record changes one, by 1.

        Releasing such counts with this noise costs ``share * amount`` in epsilon or rho
        (`docs/proofs/hierarchical_tree.md`, Lemma 2).
        """
        if self.gaussian:
            return rounded_gaussian(self.sigma(share), size, source)
        return two_sided_geometric(self.amount * share, size, source)

    def sigma(self, share: Fraction) -> Fraction:
        """Return the smallest multiple of 2**-40 with 1 / (2 sigma**2) <= share * amount."""
        squared = 1 / (2 * self.amount * share)
        whole = math.isqrt(math.ceil(squared * _SIGMA_STEPS**2) - 1) + 1
        return Fraction(whole, _SIGMA_STEPS)

    def scale(self, share: Fraction) -> Fraction:
        """Return the scale of that noise, in records: sigma, or 1 / rate of geometric noise."""
        return self.sigma(share) if self.gaussian else 1 / (self.amount * share)

    def variance(self, share: Fraction) -> float:
        """Return the variance of that noise, in records squared; at least 2**-40.

        The minimum prevents overflow in divisions if epsilon is very large.
        """
        if self.gaussian:
            return max(_rounded_gaussian_variance(float(self.sigma(share))), 2**-40)
        return max(geometric_standard_deviation(self.amount * share) ** 2, 2**-40)

    def half_width(self) -> int:
        """Return the smallest integer h with 95 % of the noise at full cost within h.

        No mechanism that is epsilon-DP for a record has answers within fewer records of the count
        with probability 95 % for all data (`docs/proofs/adaptive_tree.md`, Lemma 4).
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
        """Refuse, at construction, a budget for which noise cannot be sampled."""
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
    """Return the guarantee for exactly one of epsilon and rho."""
    if (epsilon is None) == (rho is None):
        raise ParameterError("give one of epsilon (pure DP) and rho (zCDP)")
    if rho is not None:
        return ZCDP(privacy_parameter(rho, "rho"), unit)
    return PureDP(privacy_parameter(epsilon, "epsilon"), unit)  # type: ignore[arg-type]


def budget_of(guarantee: Guarantee, sensitivity: int) -> Budget:
    """Return the budget of a record if a unit has `sensitivity` records, by group privacy."""
    if isinstance(guarantee, ZCDP):
        return Budget(True, guarantee.rho / sensitivity**2)
    if isinstance(guarantee, PureDP):
        return Budget(False, guarantee.epsilon / sensitivity)
    raise ParameterError("the guarantee must be PureDP or ZCDP")


def _rounded_gaussian_variance(sigma: float) -> float:
    """Return E X**2 of rounded N(0, sigma**2): the sum over k >= 1 of (2k - 1) Pr[abs(X) >= k]."""
    if sigma >= 2:
        return sigma**2 + 1 / 12  # up to 1e-30
    k = np.arange(1, 30)
    return float(((2 * k - 1) * 2 * ndtr(-(k - 0.5) / sigma)).sum())
