"""The privacy budget of one record, and the noise for a share of it."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.special import ndtr

from dphist.arrays import IntArray
from dphist.errors import Argument, ParameterError
from dphist.noise import Source, rounded_gaussian, two_sided_geometric
from dphist.noise.gaussian import LARGEST_SIGMA
from dphist.noise.geometric import SMALLEST_EPSILON
from dphist.noise.magnitude import (
    gaussian_half_width,
    geometric_half_width,
    geometric_standard_deviation,
)
from dphist.parameters import Exact, privacy_parameter
from dphist.privacy import ONE_RECORD, ZCDP, PrivacyUnit, PureDP
from dphist.privacy.losses import GaussianLoss, GeometricLoss, Losses

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
        (`docs/understand/proofs/hierarchical_tree.md`, Lemma 2).
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
            return max(_compute_rounded_variance(float(self.sigma(share))), 2**-40)
        return max(geometric_standard_deviation(self.amount * share) ** 2, 2**-40)

    def half_width(self, level: float = 0.95, share: Fraction = Fraction(1)) -> int:
        """Return the smallest h with noise at `share` of the cost within h with this probability.

        At full cost, no mechanism that is epsilon-DP for a record has answers within fewer records
        of the count with 95 % for all data (`docs/understand/proofs/adaptive_tree.md`, Lemma 4).
        """
        if self.gaussian:
            return gaussian_half_width(self.sigma(share), level)
        return geometric_half_width(self.amount * share, level)

    def check(self, least_share: Fraction) -> None:
        """Refuse, at construction, a budget for which noise cannot be sampled."""
        if self.gaussian:
            usable = self.amount * least_share >= Fraction(1, 10**20)
            usable = usable and self.sigma(least_share) <= LARGEST_SIGMA
        else:
            usable = self.amount * least_share >= SMALLEST_EPSILON
        if not usable:
            name = "rho" if self.gaussian else "epsilon"
            raise ParameterError(
                name, "is too small for this number of bins or records", "raise " + Argument(name)
            )


def check_guarantee(
    epsilon: Exact | None, rho: Exact | None, unit: PrivacyUnit = ONE_RECORD
) -> PureDP | ZCDP:
    """Return the guarantee for exactly one of epsilon and rho."""
    if epsilon is not None and rho is None:
        return PureDP(privacy_parameter(epsilon, "epsilon"), unit)
    if rho is not None and epsilon is None:
        return ZCDP(privacy_parameter(rho, "rho"), unit)
    raise ParameterError(
        "epsilon", "(pure DP) or " + Argument("rho") + " (zCDP) must be given, and not both"
    )


def find_budget(guarantee: PureDP | ZCDP, sensitivity: int) -> Budget:
    """Return the budget of a record if a unit has `sensitivity` records, by group privacy."""
    if isinstance(guarantee, ZCDP):
        return Budget(True, guarantee.rho / sensitivity**2)
    return Budget(False, guarantee.epsilon / sensitivity)


def losses_of_noise(guarantee: PureDP | ZCDP, sensitivity: int, levels: int = 1) -> Losses:
    """Return the losses of noise that is the same on all counts, as `privacy_losses` has them.

    Parameters
    ----------
    sensitivity : records that one unit has at most; each is in one count of each level.
    levels : how many levels are measured, each at an equal share of the cost.
    """
    if isinstance(guarantee, ZCDP):
        return Losses((GaussianLoss(2 * guarantee.rho),))  # the levels are one Gaussian vector
    rate = guarantee.epsilon / (sensitivity * levels)
    return Losses((GeometricLoss(rate, sensitivity, levels),))


def losses_of_exchange(guarantee: PureDP | ZCDP, sensitivity: int, levels: int = 1) -> Losses:
    """Return the losses of an exchange, for the guarantee of a unit that is added or removed.

    On each level one count falls and another one grows (`docs/understand/proofs/exchanged.md`,
    Lemma 2). Parameters as for `losses_of_noise`.
    """
    if isinstance(guarantee, ZCDP):
        return Losses((GaussianLoss(4 * guarantee.rho),))  # one vector, twice as long when squared
    rate = guarantee.epsilon / (sensitivity * levels)
    return Losses((GeometricLoss(rate, sensitivity, 2 * levels),))


def _compute_rounded_variance(sigma: float) -> float:
    """Return E X**2 of rounded N(0, sigma**2): the sum over k >= 1 of (2k - 1) Pr[abs(X) >= k]."""
    if sigma >= 2:
        return sigma**2 + 1 / 12  # up to 1e-30
    k = np.arange(1, 30)
    return float(((2 * k - 1) * 2 * ndtr(-(k - 0.5) / sigma)).sum())
