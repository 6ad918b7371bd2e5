"""The largest epsilon at which a mechanism, or a plan of several, costs no more than a target."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from dphist.errors import ParameterError
from dphist.privacy import ApproxDP, PureDP, Target, find_delta, least_epsilon
from dphist.privacy.calibratable import Accounting, Guaranteeing, Remembering
from dphist.privacy.epsilon_search import approach, bracket, down, fits_if_possible

M = TypeVar("M", bound=Guaranteeing)

COARSE, FINE = 1e-4, 1e-13  # relative precision of the search for epsilon
_SMALLEST = Fraction(1, 10**9)


@dataclass(frozen=True, slots=True)
class Aim:
    """The total cost allowed, and whether accounting other than zCDP may prove it."""

    epsilon: Fraction
    delta: Fraction
    releases: int
    best: bool

    def claim(self, made: Guaranteeing) -> Fraction | None:
        """Return the epsilon of all releases at `delta`; None if none can be claimed."""
        if self.best and isinstance(made, Accounting):
            return made.epsilon_at(self.delta, self.releases)
        return least_epsilon([made.guarantee], self.delta, self.releases)

    def note(self, made: M) -> M:
        """Return the mechanism with this aim as its target, if it can hold one."""
        held: object = made
        if not isinstance(held, Remembering):
            return made
        asked = ApproxDP(self.epsilon, self.delta) if self.delta else PureDP(self.epsilon)
        calibrated: M = held.calibrated_to(Target(asked, self.releases))
        return calibrated


def find_own_delta(make: Callable[..., Guaranteeing], aim: Aim, share: Fraction) -> Fraction:
    """Return the `delta` parameter for which all releases use this share of the total delta."""
    wanted = aim.delta * share / aim.releases
    made = make(epsilon=down(aim.epsilon), delta=down(wanted))
    used = max(find_delta(made.guarantee), wanted)  # a release with several queries adds it up
    return down(wanted * wanted / used)


def find_largest(
    make: Callable[..., M], aim: Aim, closeness: float, near: Fraction | None = None
) -> M | None:
    """Return the mechanism with the largest epsilon whose cost is within the aim, or None.

    Parameters
    ----------
    near : where to search first, such as the epsilon found for another share of delta.
    """

    claims: dict[Fraction, Fraction | None] = {}

    def find_claim(candidate: Fraction) -> Fraction | None:
        if candidate not in claims:
            claims[candidate] = aim.claim(make(epsilon=candidate))
        return claims[candidate]

    def fits(candidate: Fraction) -> bool:
        claim = find_claim(candidate)
        ratios[candidate] = None if claim is None else float(claim / aim.epsilon)
        return claim is not None and claim <= aim.epsilon

    ratios: dict[Fraction, float | None] = {}
    first = near or down(aim.epsilon / aim.releases)
    if find_claim(first) is None:  # for every epsilon: no delta is left to convert
        if not aim.delta > 0:
            raise ParameterError(
                "delta", "must be greater than 0: this noise has no guarantee without a delta"
            )
        return None
    if closeness == COARSE:
        close = approach(fits, ratios, first, closeness)
        if close is not None:
            return make(epsilon=close)
    found = bracket(fits, ratios, first, closeness, _SMALLEST * aim.epsilon)
    if found is None:
        return None
    low, high = found
    chosen = down(high) if fits_if_possible(fits, down(high)) else down(low)
    # Claims are rounded up, so in the last digits they need not increase with epsilon.
    while not fits_if_possible(fits, chosen):
        chosen = down(chosen * (1 - Fraction(1, 10**11)))
    return make(epsilon=chosen)


def check_found(made: M | None) -> M:
    if made is None:
        raise ParameterError(
            ("epsilon", "delta"), "are too small for this mechanism", "raise one of them"
        )
    return made
