"""Composition: the total cost of several releases from the same data."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction

from dphist.errors import ParameterError
from dphist.privacy.guarantees import (
    ZCDP,
    ApproxDP,
    ApproxZCDP,
    Guarantee,
    PureDP,
    find_delta,
    find_rho,
)
from dphist.privacy.unit import PrivacyUnit

_THINGS = ("record", "row", "event", "edge")
"""Units smaller than a person; an error suggests converting their guarantees to larger units.

Between two of these, the one listed first is converted.
"""


def compose(*guarantees: Guarantee) -> Guarantee:
    """Return the guarantee of several releases from the same data together.

    Epsilons of pure and (epsilon, delta) guarantees add. Rhos of pure guarantees add as well, to
    one that is smaller than what the total epsilon implies. With a zCDP guarantee among them, all
    are converted to zCDP and rhos add. Deltas combine as 1 - (1 - delta1)(1 - delta2). The result
    also holds if each mechanism is chosen after seeing earlier releases, provided that the
    guarantees are fixed beforehand.

    Raises
    ------
    ParameterError
        If there are no guarantees, an argument is not a guarantee, or they protect different
        units: convert them to one unit first, with `for_unit`.

    >>> compose(PureDP("1/2"), PureDP("1/3"))
    PureDP(epsilon=5/6, rho=0.1775061355103)
    """
    if not guarantees:
        raise ParameterError("guarantees", "must name at least one guarantee")
    for guarantee in guarantees:
        if not isinstance(guarantee, PureDP | ZCDP | ApproxDP | ApproxZCDP):
            raise ParameterError("guarantees", "must be PureDP, ZCDP, ApproxDP or ApproxZCDP")
    unit = _common_unit([guarantee.unit for guarantee in guarantees])
    kept = math.prod(1 - find_delta(guarantee) for guarantee in guarantees)
    delta = 1 - kept
    approximate = any(isinstance(g, ApproxDP | ApproxZCDP) for g in guarantees)
    rho = sum((find_rho(g) for g in guarantees), Fraction(0))
    if any(isinstance(g, ZCDP | ApproxZCDP) for g in guarantees):
        return ApproxZCDP(rho, delta, unit) if approximate else ZCDP(rho, unit)
    epsilon = sum((g.epsilon for g in guarantees if isinstance(g, PureDP | ApproxDP)), Fraction(0))
    return ApproxDP(epsilon, delta, unit) if approximate else PureDP(epsilon, unit, rho)


def with_implied_rho(guarantee: Guarantee) -> Guarantee:
    """Return a guarantee whose rho is the one that its epsilon implies.

    It holds for all parameters of a mechanism at this epsilon, so also for those that follow from
    another release. The own rho of pure noise does not: it depends on the sensitivity.
    """
    return replace(guarantee, rho=None) if isinstance(guarantee, PureDP) else guarantee


def least_epsilon(
    guarantees: Iterable[Guarantee], delta: Fraction, releases: int
) -> Fraction | None:
    """Return the smallest epsilon any of these guarantees proves for `releases` releases, or None.

    Deltas are added, which gives slightly more than `compose` does.
    """
    claims = []
    rhos: dict[Fraction, Fraction] = {}  # the smallest for each delta that is left to convert
    for each in guarantees:
        left = delta - releases * find_delta(each)
        if isinstance(each, PureDP | ApproxDP) and left >= 0:
            claims.append(releases * each.epsilon)
        if left > 0:
            rhos[left] = min(find_rho(each), rhos.get(left, find_rho(each)))
    claims += [ZCDP(releases * rho).to_approx_dp(left).epsilon for left, rho in rhos.items()]
    return min(claims, default=None)


def _common_unit(units: Sequence[PrivacyUnit]) -> PrivacyUnit:
    """Return the common unit, with the bounds if they are the same for all."""
    first = units[0]
    for other in units:
        if other != first:
            raise _unequal_units_error(first, other)
    if all(unit.bounds == first.bounds for unit in units):
        return first
    return first.compared


def _unequal_units_error(one: PrivacyUnit, other: PrivacyUnit) -> ParameterError:
    """Return an error that names the conversion to equal units."""
    start = f"must protect the same unit, not {one} and {other}"
    if one.exchanged != other.exchanged:
        return ParameterError(
            "guarantees",
            f"{start}: one is exchanged, and the other added or removed",
            "use mechanism.exchanged or release.exchanged, or guarantee.for_exchange(), for all",
        )
    if one.single == other.single:
        fewer, more = sorted((one, other), key=lambda unit: unit.at_most)
        steps = -(-more.at_most // fewer.at_most)
        return ParameterError(
            "guarantees",
            f"{start}. Group privacy converts the guarantee for {fewer} to one for {more}: "
            f"guarantee.for_unit({more.compared!r}), at {steps} times "
            f"epsilon or {steps**2} times rho",
        )
    thing, somebody = sorted((one, other), key=_rank)
    return ParameterError(
        "guarantees",
        f"{start}. If at most m {thing.plural} make up {somebody.single}, group privacy "
        f"converts the guarantee for {thing} to one for {somebody}: "
        f"guarantee.for_unit({somebody.name!r}, has=m), at m times epsilon or m**2 times rho",
    )


def _rank(unit: PrivacyUnit) -> int:
    return _THINGS.index(unit.who) if unit.who in _THINGS else len(_THINGS)
