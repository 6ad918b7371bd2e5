"""Guarantees as people and programs read them: totals, sentences and JSON."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

from dphist.document.delta_words import Number, advised, delta_in_words
from dphist.document.guarantee_words import Protected, guarantee_in_words
from dphist.mechanism import MechanismBase
from dphist.parameters import decimal_text
from dphist.privacy import (
    ZCDP,
    ApproxDP,
    ApproxZCDP,
    Guarantee,
    PrivacyUnit,
    PureDP,
    Target,
    delta_of,
)
from dphist.release.maker import Maker, target_of
from dphist.release.release import SUPPLIED, Release
from dphist.sentence import Sentence

USUAL_DELTA = Fraction(1, 10**6)


def total_of(mechanism: Maker) -> Target:
    """Return the guarantee in epsilon that is stated first, and of how many releases.

    It is the first of these that exists:

    1. what the mechanism was calibrated to cost, or its pure guarantee if that says more;
    2. the guarantee in epsilon that the mechanism proves;
    3. the smallest epsilon known at twice its own delta, or at 1e-6 if it has no delta.

    >>> from dphist.labels import TopLabels
    >>> total_of(TopLabels(k=10, epsilon="0.1", delta="5e-7"))
    (0.723843869833, 1e-6)-differential privacy
    """
    target = target_of(mechanism)
    if target is None:
        return Target(proved_total_of(mechanism))
    direct, asked = _direct(mechanism), target.guarantee
    purer = isinstance(direct, PureDP) and isinstance(asked, ApproxDP)
    if purer and target.releases == 1 and direct is not None and direct.epsilon <= asked.epsilon:
        return Target(direct)
    return target


def proved_total_of(mechanism: Maker) -> PureDP | ApproxDP:
    """Return what one release costs in epsilon, whatever the mechanism was calibrated to.

    It is the second or third of the numbers that `total_of` lists.
    """
    direct = _direct(mechanism)
    if direct is not None:
        return direct
    own = delta_of(mechanism.guarantee)
    at = min(2 * own, (1 + own) / 2) if own else USUAL_DELTA
    proves = mechanism if isinstance(mechanism, MechanismBase) else mechanism.guarantee
    return proves.to_approx_dp(at)


def _direct(mechanism: Maker) -> PureDP | ApproxDP | None:
    """Return the guarantee in epsilon that a mechanism proves without a conversion."""
    direct = mechanism.epsilon_guarantee if isinstance(mechanism, MechanismBase) else None
    for known in (direct, mechanism.guarantee):
        if isinstance(known, PureDP | ApproxDP):
            return known
    return None


def in_all(total: Target) -> str:
    """Name a total, as after "Released under".

    >>> in_all(Target(ApproxDP(1, "1e-6"))), in_all(Target(PureDP(2), 4))
    ... # doctest: +NORMALIZE_WHITESPACE
    ('(1, 1e-6)-differential privacy in all',
     '2-differential privacy (pure) for 4 releases together, of which this is one')
    """
    if total.releases == 1:
        return f"{total.guarantee} in all"
    return f"{total}, of which this is one"


def cost_of(mechanism: Maker, guarantee: Guarantee) -> str:
    """Name what a release of records costs: its guarantee, or what it was calibrated to."""
    calibrated = target_of(mechanism) is not None
    return in_all(total_of(mechanism)) if calibrated else str(guarantee)


def total_in_words(total: Target, unit: Protected, number: Number, guarantee: Guarantee) -> str:
    """Say what a total means to a person who is responsible for the release.

    Parameters
    ----------
    guarantee : of one release. If it has no delta of its own, the delta of the total was a choice,
        and for a large number of units the sentence states a smaller one.
    """
    suited = advised(number)
    if isinstance(guarantee, ZCDP) and suited is not None and suited < delta_of(total.guarantee):
        together = ZCDP(total.releases * guarantee.rho).to_approx_dp(suited)
        told = guarantee_in_words(together, unit, number, total.releases)
        return Sentence(
            "With a δ for {units:,} {noun} that is {together}. {told}",
            units=number.units,
            noun=number.noun,
            together=together,
            told=told,
        )
    return guarantee_in_words(total.guarantee, unit, number, total.releases)


def warnings_of(mechanism: Maker, number: Number) -> list[str]:
    """Return what a reader of JSON is warned of."""
    if number.units is None or isinstance(mechanism.guarantee, ZCDP):
        return []
    said = delta_in_words(delta_of(total_of(mechanism).guarantee), number)
    return [said] if said else []


def guarantee_json(guarantee: Guarantee) -> dict[str, Any]:
    """Return a guarantee, exactly, and its unit.

    >>> guarantee_json(ApproxZCDP("0.5", "1e-9", unit="one user"))
    {'name': 'ApproxZCDP', 'rho': '0.5', 'delta': '0.000000001', 'unit': 'one user'}
    """
    found: dict[str, Any] = {"name": type(guarantee).__name__}
    if isinstance(guarantee, ZCDP | ApproxZCDP):
        found["rho"] = decimal_text(guarantee.rho)
    else:
        found["epsilon"] = decimal_text(guarantee.epsilon)
    if isinstance(guarantee, ApproxDP | ApproxZCDP):
        found["delta"] = decimal_text(guarantee.delta, digits=150)
    return {**found, "unit": str(guarantee.unit)}


def total_json(total: Target, unit: Protected) -> dict[str, Any]:
    """Return a total, exactly and what it protects."""
    found = {**guarantee_json(total.guarantee), "unit": str(unit)}
    return found if total.releases == 1 else {**found, "releases": total.releases}


def records_json(mechanism: Maker, guarantee: Guarantee) -> dict[str, Any]:
    """Return the guarantee of a mechanism that protects a number of records, exactly."""
    found = {**guarantee_json(guarantee), "sensitivity": mechanism.guarantee.unit.at_most}
    target = target_of(mechanism)
    if target is not None:
        found["target"] = total_json(target, guarantee.unit)
    return found


def guarantee_for(guarantee: Guarantee, unit: PrivacyUnit | None) -> Guarantee:
    """Return a guarantee for the unit that the data will name, before they are read."""
    return guarantee if unit is None else replace(guarantee, unit=guarantee.unit.named(unit))


def for_tests_json(release: Release) -> dict[str, str]:
    """Return the mark of a release whose random bits the caller supplied; empty for others."""
    return {"random_bits": SUPPLIED} if release.for_tests else {}
