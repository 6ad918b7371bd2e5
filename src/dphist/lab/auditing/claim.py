"""What a mechanism claims, as numbers that its runs are compared with."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dphist.errors import ParameterError
from dphist.parameters import Exact, exact_number, probability
from dphist.privacy import ApproxDP, Guarantee, PureDP
from dphist.privacy.conversion import pure_to_rho, rho_to_epsilon
from dphist.release.maker import target_of

_ROUNDING = 1 + Fraction(1, 10**9)  # of floats in which callers state what noise costs


@dataclass(frozen=True)
class Claim:
    """An epsilon at a delta.

    Attributes
    ----------
    exact_epsilon, exact_delta : the claim, or what a guarantee in rho implies.
    guarantees : those of a mechanism; empty where the caller states the claim.
    """

    exact_epsilon: Fraction
    exact_delta: Fraction
    guarantees: tuple[Guarantee, ...] = ()

    @property
    def epsilon(self) -> float:
        """The claimed epsilon, rounded up: no true claim is refuted by rounding it."""
        return math.nextafter(float(self.exact_epsilon), math.inf)

    @property
    def delta(self) -> float:
        """The claimed delta."""
        return float(self.exact_delta)

    def covers(self, cost: tuple[Fraction, Fraction]) -> bool:
        """Whether it covers noise that costs so much epsilon, and beside that so much rho."""
        if not self.guarantees:
            epsilon, rho = cost
            if rho and not self.exact_delta:
                return False
            if rho:
                epsilon += rho_to_epsilon(rho, self.exact_delta)
            return epsilon <= self.exact_epsilon * _ROUNDING
        return any(_covers(guarantee, *cost) for guarantee in self.guarantees)


def _covers(guarantee: Guarantee, epsilon: Fraction, rho: Fraction) -> bool:
    if isinstance(guarantee, PureDP):
        return not rho and epsilon <= guarantee.epsilon
    if isinstance(guarantee, ApproxDP):
        more = rho_to_epsilon(rho, guarantee.delta) if rho else 0
        return epsilon + more <= guarantee.epsilon
    return rho + (pure_to_rho(epsilon) if epsilon else 0) <= guarantee.rho


def claim_of(mechanism: Any, epsilon: Exact | None, delta: Exact) -> Claim:
    """Return what the caller states, or else what the mechanism claims.

    Raises
    ------
    ParameterError
        If epsilon or delta are out of range, or missing and the mechanism does not say them.
    """
    off = probability(delta, "delta")
    if epsilon is not None:
        stated = exact_number(epsilon, "epsilon")
        if stated < 0:
            raise ParameterError("epsilon", "must be at least 0")
        return Claim(stated, off)
    if mechanism is None:
        raise ParameterError("epsilon", "must be given: a callable states no guarantee")
    guarantee, target = mechanism.guarantee, target_of(mechanism)
    direct = getattr(mechanism, "epsilon_guarantee", None)
    held = (guarantee,) if direct is None else (guarantee, direct)
    if target is not None and target.releases == 1:
        guarantee = target.guarantee
    if isinstance(guarantee, PureDP):
        return Claim(guarantee.epsilon, Fraction(0), held)
    if isinstance(guarantee, ApproxDP):
        return Claim(guarantee.epsilon, guarantee.delta, held)
    if not off and isinstance(direct, PureDP):
        return Claim(direct.epsilon, Fraction(0), held)
    if not off:
        raise ParameterError("delta", "must be given: the guarantee is stated in rho")
    found = mechanism.epsilon_at(off)
    if found is None:
        raise ParameterError("delta", "must be larger than that of the guarantee")
    return Claim(found, off, held)
