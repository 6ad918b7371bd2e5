"""What several releases from the same data cost together."""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

from dphist.errors import ParameterError
from dphist.privacy.guarantees import (
    ZCDP,
    ApproxDP,
    ApproxZCDP,
    Guarantee,
    PureDP,
    delta_of,
    rho_of,
)
from dphist.privacy.unit import PrivacyUnit

_THINGS = ("record", "row", "event", "edge")
"""What somebody has several of; a guarantee for one of these is converted to one for somebody.

Of two of these the first is converted: an edge of a graph may be several records.
"""


def compose(*guarantees: Guarantee) -> Guarantee:
    """Return what several releases from the same data cost together.

    Epsilons of pure and (epsilon, delta) guarantees add; rhos add, a pure guarantee
    counting as its zCDP; deltas combine as 1 - (1 - delta1)(1 - delta2). Valid also when
    each mechanism is chosen after seeing earlier releases, if these guarantees were fixed
    beforehand.

    Raises
    ------
    ParameterError
        If there is none, one is no guarantee, or they protect different units: convert them to
        one unit first, with `for_unit`.

    >>> compose(PureDP("1/2"), PureDP("1/3"))
    PureDP(epsilon=5/6)
    """
    if not guarantees:
        raise ParameterError("guarantees must name at least one guarantee")
    for guarantee in guarantees:
        if not isinstance(guarantee, PureDP | ZCDP | ApproxDP | ApproxZCDP):
            raise ParameterError("guarantees must be PureDP, ZCDP, ApproxDP or ApproxZCDP")
    unit = _common([guarantee.unit for guarantee in guarantees])
    kept = math.prod(1 - delta_of(guarantee) for guarantee in guarantees)
    delta = 1 - kept
    approximate = any(isinstance(g, ApproxDP | ApproxZCDP) for g in guarantees)
    if any(isinstance(g, ZCDP | ApproxZCDP) for g in guarantees):
        rho = sum((rho_of(g) for g in guarantees), Fraction(0))
        return ApproxZCDP(rho, delta, unit) if approximate else ZCDP(rho, unit)
    epsilon = sum((g.epsilon for g in guarantees if isinstance(g, PureDP | ApproxDP)), Fraction(0))
    return ApproxDP(epsilon, delta, unit) if approximate else PureDP(epsilon, unit)


def least_epsilon(
    guarantees: Iterable[Guarantee], delta: Fraction, releases: int
) -> Fraction | None:
    """Return the least epsilon that one of these guarantees shows of so many releases, if any.

    Deltas are added up, which is a little more than `compose` makes of them.
    """
    claims = []
    for each in guarantees:
        left = delta - releases * delta_of(each)
        if isinstance(each, PureDP | ApproxDP) and left >= 0:
            claims.append(releases * each.epsilon)
        if left > 0:
            claims.append(ZCDP(releases * rho_of(each)).to_approx_dp(left).epsilon)
    return min(claims, default=None)


def _common(units: Sequence[PrivacyUnit]) -> PrivacyUnit:
    """Return the one unit of all, with the bounds that all name."""
    first = units[0]
    for other in units:
        if other != first:
            raise _different(first, other)
    if all(unit.bounds == first.bounds for unit in units):
        return first
    return PrivacyUnit(first.who, first.at_most)


def _different(one: PrivacyUnit, other: PrivacyUnit) -> ParameterError:
    """Say which conversion would make the units equal."""
    start = f"guarantees must protect the same unit, not one of them {one} and another {other}"
    if one.who == other.who:
        fewer, more = sorted((one, other), key=lambda unit: unit.at_most)
        steps = -(-more.at_most // fewer.at_most)
        return ParameterError(
            f"{start}. Group privacy makes the guarantee for {fewer} one for {more}: "
            f"guarantee.for_unit(PrivacyUnit({more.who!r}, {more.at_most})), at {steps} times "
            f"epsilon or {steps**2} times rho"
        )
    thing, somebody = sorted((one, other), key=_rank)
    return ParameterError(
        f"{start}. If at most m {thing.plural} make up {PrivacyUnit(somebody.who)}, group privacy "
        f"makes the guarantee for {thing} one for {somebody}: "
        f"guarantee.for_unit({somebody.who!r}, has=m), at m times epsilon or m**2 times rho"
    )


def _rank(unit: PrivacyUnit) -> int:
    return _THINGS.index(unit.who) if unit.who in _THINGS else len(_THINGS)
