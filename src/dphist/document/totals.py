"""Guarantees as people and programs read them: totals, sentences and JSON."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

from dphist.document.guarantee_words import advise_delta, delta_in_words, guarantee_in_words
from dphist.document.unit_words import Number, Protected
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
    compose,
    find_delta,
    with_implied_rho,
)
from dphist.privacy.as_text import short_exact, up
from dphist.release.maker import Maker, find_target
from dphist.release.release import SUPPLIED, Release
from dphist.sentence import Sentence

USUAL_DELTA = Fraction(1, 10**6)


def find_total(mechanism: Maker, users: Maker | None = None) -> Target:
    """Return the guarantee in epsilon that is stated first, and of how many releases.

    With the mechanism of a release that is carried (`Release.users`), it is that of both together.
    Otherwise it is the first of these that exists:

    1. what the mechanism was calibrated to cost, or its pure guarantee if that says more;
    2. the guarantee in epsilon that the mechanism proves;
    3. the smallest epsilon known at twice its own delta, or at 1e-6 if it has no delta.

    >>> from dphist.labels import TopLabels
    >>> find_total(TopLabels(k=10, epsilon="0.1", delta="5e-7"))
    (0.723843869833, 1e-6)-differential privacy
    """
    if users is not None:
        both = guarantee_together(mechanism, users)
        return Target(both if isinstance(both, PureDP | ApproxDP) else _in_epsilon(both))
    target = find_target(mechanism)
    if target is None:
        return Target(prove_total(mechanism))
    direct, asked = _find_direct(mechanism), target.guarantee
    purer = isinstance(direct, PureDP) and isinstance(asked, ApproxDP)
    if purer and target.releases == 1 and direct is not None and direct.epsilon <= asked.epsilon:
        return Target(direct)
    return target


def prove_total(mechanism: Maker) -> PureDP | ApproxDP:
    """Return what one release costs in epsilon, whatever the mechanism was calibrated to.

    It is the second or third of the numbers that `find_total` lists.
    """
    direct = _find_direct(mechanism)
    if direct is not None:
        return direct
    own = find_delta(mechanism.guarantee)
    at = wider(own) if own else USUAL_DELTA
    proves = mechanism if isinstance(mechanism, MechanismBase) else mechanism.guarantee
    return proves.to_approx_dp(at)


def guarantee_together(mechanism: Maker, users: Maker | None) -> Guarantee:
    """Return the guarantee of a mechanism, with that of a release that is carried."""
    own = mechanism.guarantee
    if users is None:
        return own
    return compose(with_implied_rho(own), replace(users.guarantee, unit=own.unit))


def _in_epsilon(guarantee: ZCDP | ApproxZCDP) -> ApproxDP:
    own = find_delta(guarantee)
    return guarantee.to_approx_dp(wider(own) if own else USUAL_DELTA)


def wider(delta: Fraction) -> Fraction:
    """Return a total delta that leaves room for converting rho."""
    return min(2 * delta, (1 + delta) / 2)


def _find_direct(mechanism: Maker) -> PureDP | ApproxDP | None:
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


def total_in_words(
    total: Target,
    unit: Protected,
    number: Number,
    guarantee: Guarantee,
    mechanism: Maker | None = None,
) -> str:
    """Say what a total means to a person who is responsible for the release.

    Parameters
    ----------
    guarantee : of one release. If it has no delta of its own, the delta of the total was a choice,
        and for a large number of units the sentence states a smaller one.
    mechanism : whose guarantee it is, if it is that of one mechanism.
    """
    suited = advise_delta(number)
    if isinstance(guarantee, ZCDP) and suited is not None and suited < find_delta(total.guarantee):
        together = ZCDP(total.releases * guarantee.rho).to_approx_dp(suited)
        if isinstance(mechanism, MechanismBase):
            together = _take_smaller(together, mechanism, total.releases)
        told = guarantee_in_words(together, unit, number, total.releases)
        return Sentence(
            "With a δ for {units:,} {noun} that is {together}. {told}",
            units=number.units,
            noun=number.noun,
            together=together,
            told=told,
        )
    return guarantee_in_words(total.guarantee, unit, number, total.releases)


def list_warnings(mechanism: Maker, number: Number) -> list[str]:
    """Return what a reader of JSON is warned of."""
    if number.units is None or isinstance(mechanism.guarantee, ZCDP):
        return []
    said = delta_in_words(find_delta(find_total(mechanism).guarantee), number)
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
    if isinstance(guarantee, PureDP) and guarantee.rho is not None:
        found["rho"] = decimal_text(guarantee.rho)
    if isinstance(guarantee, ApproxDP | ApproxZCDP):
        found["delta"] = decimal_text(guarantee.delta, digits=150)
    return {**found, "unit": str(guarantee.unit)}


def total_json(total: Target, unit: Protected) -> dict[str, Any]:
    """Return a total, exactly and what it protects."""
    found = {**guarantee_json(total.guarantee), "unit": str(unit)}
    return found if total.releases == 1 else {**found, "releases": total.releases}


def for_tests_json(release: Release) -> dict[str, str]:
    """Return the mark of a release whose random bits the caller supplied; empty for others."""
    return {"random_bits": SUPPLIED} if release.for_tests else {}


_DIGITS = 6
_SMALLEST_FLOAT = Decimal("1e-300")  # below it, a delta is written as text

VARIANTS = {
    PureDP: "Pure DP",
    ApproxDP: "Approximate DP",
    ZCDP: "Zero-concentrated DP",
}


@dataclass(frozen=True, slots=True)
class Stated:
    """A guarantee as it is disclosed.

    Attributes
    ----------
    guarantee : pure, approximate or zero-concentrated; its numbers are exact.
    details : what the numbers are of, and how they follow: sentences.
    planned : how many releases of one mechanism the numbers are for, disclosed or not; 0 where
        they are for those that are disclosed.
    """

    guarantee: PureDP | ApproxDP | ZCDP
    details: tuple[str, ...]
    planned: int = 0

    @property
    def variant(self) -> str:
        """The name of the variant of differential privacy."""
        return VARIANTS[type(self.guarantee)]

    @property
    def unit(self) -> PrivacyUnit:
        """Whom the guarantee protects."""
        return self.guarantee.unit

    @property
    def exact(self) -> dict[str, Fraction]:
        """The parameters by name, exactly."""
        names = ("rho",) if isinstance(self.guarantee, ZCDP) else ("epsilon", "delta")
        held = ((name, getattr(self.guarantee, name, None)) for name in names)
        return {name: value for name, value in held if value is not None}

    @property
    def rounded(self) -> dict[str, float | str]:
        """The parameters by name, each rounded up to six digits; a tiny delta is text."""
        return {name: round_up(value) for name, value in self.exact.items()}


def round_up(number: Fraction) -> float | str:
    """Round up to a number of six digits that JSON and YAML can hold.

    The digits that a file shows are at least the number, as a float means its shortest decimal. A
    number too small for a float is text.

    >>> round_up(Fraction(1, 3)), round_up(Fraction(1, 10)), round_up(Fraction(1, 10**400))
    (0.333334, 0.1, '1e-400')
    """
    shortest = up(number, _DIGITS)
    if 0 < shortest < _SMALLEST_FLOAT:
        return f"{shortest.normalize():e}"
    near = float(shortest)
    while Fraction(repr(near)) < number:
        near = math.nextafter(near, math.inf)
    return near


def state_releases(releases: Sequence[Release]) -> Stated:
    """Return what releases of one data set guarantee together.

    Raises
    ------
    ParameterError
        If they protect different units.
    """
    releases = [part for release in releases for part in release.parts]
    if any(each.counts_users for each in releases):  # bounds of others may follow from it
        releases = [each if each.counts_users else _with_implied_rho(each) for each in releases]
    composed = compose(*[release.guarantee for release in releases])  # refuses different units
    target = find_target(releases[0].mechanism)
    planned = None if target is None else _find_planned(target, releases)
    if planned is not None:
        return planned
    proved = [_prove_cost(release) for release in releases]
    how = note_added_costs(len(releases))
    if isinstance(composed, PureDP):
        return Stated(composed, (*how, *_find_rho(composed)))
    pure = [each for each in proved if isinstance(each, PureDP)]
    if len(pure) == len(proved):
        return Stated(_narrow_guarantee(compose(*pure)), how)
    if isinstance(composed, ZCDP):
        if target is not None and len(releases) == 1:
            how = (f"The mechanism was calibrated to {target}.",)
        if target is None or len(releases) > 1 or find_delta(target.guarantee) != USUAL_DELTA:
            how = (*how, f"It implies {_prove_in_epsilon(releases, composed)}.")
        return Stated(composed, how)
    return Stated(_least(releases, composed, proved), (*how, *_as_zcdp(composed)))


def _with_implied_rho(release: Release) -> Release:
    return replace(release, guarantee=with_implied_rho(release.guarantee))


def state_account(guarantee: Guarantee, *, months: int | None = None) -> Stated:
    """Return what an account of a ledger guarantees, whatever is released through it.

    Parameters
    ----------
    months : how many months the guarantee is the sum of, if the budget is renewed monthly.
    """
    how: tuple[str, ...] = (
        "This is the budget of an account of a ledger. It holds for all releases that the account "
        "pays for, past and future, also if each is chosen after seeing the earlier ones.",
    )
    if months is not None:
        how = (
            "This is the sum of the monthly budgets of an account of a ledger, over the "
            f"{_count_months(months)} (UTC) in which it was charged. It holds for all "
            "releases of these months, also if each is chosen after seeing the earlier ones.",
            "A month's budget is renewed: each further month adds as much again, and after 12 "
            "months the sum is 12 times that of one month.",
        )
    if isinstance(guarantee, ApproxZCDP):
        total = guarantee.to_approx_dp(wider(guarantee.delta))
        return Stated(total, (*how, *_as_zcdp(guarantee)))
    if isinstance(guarantee, ZCDP):
        return Stated(guarantee, (*how, _format_implied(guarantee)))
    return Stated(guarantee, how)


def _count_months(months: int) -> str:
    return "calendar month" if months == 1 else f"{months:,} calendar months"


def _find_planned(target: Target, releases: Sequence[Release]) -> Stated | None:
    """Return the total that one mechanism was calibrated to for these, and perhaps further ones."""
    mechanism = releases[0].mechanism
    if any(each.mechanism != mechanism for each in releases):
        return None
    if target.releases < len(releases):
        return None
    if target.releases == 1 and not isinstance(mechanism.guarantee, ApproxDP | ApproxZCDP):
        return None  # a pure guarantee, or one in rho, says more
    guarantee = replace(target.guarantee, unit=releases[0].guarantee.unit)
    details = ["The mechanism was calibrated to cost at most this."]
    if target.releases > 1:
        details = [
            f"The mechanism was calibrated to cost at most this for {target.releases:,} releases "
            f"together, of which {_name_units(len(releases))} disclosed here."
        ]
    own = mechanism.guarantee
    if isinstance(own, ApproxZCDP | ZCDP):
        details.append(f"One release has {_in_numbers(own)}.")
    return Stated(guarantee, tuple(details), target.releases if target.releases > 1 else 0)


def _least(
    releases: Sequence[Release], composed: Guarantee, proved: Sequence[PureDP | ApproxDP]
) -> ApproxDP:
    """Return the least epsilon that any accounting proves, at the delta of the plain sum."""
    plain = _narrow_guarantee(compose(*proved))
    delta = find_delta(plain)
    claims = [plain.epsilon]
    by_rho = compose(*[_in_rho(release.guarantee) for release in releases])
    if delta > find_delta(by_rho):
        claims.append(by_rho.to_approx_dp(delta).epsilon)
    mechanism = releases[0].mechanism
    if isinstance(mechanism, MechanismBase) and all(
        each.mechanism == mechanism for each in releases
    ):
        together = mechanism.epsilon_at(delta, len(releases))
        claims += [together] if together else []
    return ApproxDP(min(claims), delta, composed.unit)


def _in_rho(guarantee: Guarantee) -> ZCDP | ApproxZCDP:
    if isinstance(guarantee, PureDP):
        return guarantee.to_zcdp()
    return guarantee.to_approx_zcdp() if isinstance(guarantee, ApproxDP) else guarantee


def _prove_cost(release: Release) -> PureDP | ApproxDP:
    """Return what a release costs in epsilon: what its file states, where that is in epsilon."""
    stated = release.guarantee
    if isinstance(stated, PureDP):
        return stated
    return replace(prove_total(release.mechanism), unit=stated.unit)


def _find_rho(guarantee: PureDP) -> tuple[str, ...]:
    if guarantee.rho is None:
        return ()
    return (f"It also has {_in_numbers(guarantee.to_zcdp())} in zero-concentrated DP.",)


def _narrow_guarantee(guarantee: Guarantee) -> PureDP | ApproxDP:
    assert isinstance(guarantee, PureDP | ApproxDP)  # noqa: S101 - composed of such
    return guarantee


def note_added_costs(number: int) -> tuple[str, ...]:
    if number == 1:
        return ()
    return (
        f"This is the total of {number:,} releases, which are taken to be of one data set: their "
        "costs are added. The total holds if these costs were fixed before the first release.",
    )


def _name_units(number: int) -> str:
    return "one is" if number == 1 else f"{number:,} are"


def _format_implied(guarantee: ZCDP) -> str:
    return f"It implies {guarantee.to_approx_dp(USUAL_DELTA)}."


def _prove_in_epsilon(releases: Sequence[Release], composed: ZCDP) -> ApproxDP:
    """Return the least epsilon known at the usual delta, of the noise itself where it is one."""
    converted = composed.to_approx_dp(USUAL_DELTA)
    mechanism = releases[0].mechanism
    if not isinstance(mechanism, MechanismBase) or any(
        each.mechanism != mechanism for each in releases
    ):
        return converted
    return _take_smaller(converted, mechanism, len(releases))


def _take_smaller(converted: ApproxDP, mechanism: MechanismBase, releases: int) -> ApproxDP:
    """Return a guarantee with the epsilon that a mechanism proves, if that is smaller."""
    direct = mechanism.epsilon_at(converted.delta, releases)
    if not direct or direct >= converted.epsilon:
        return converted
    return replace(converted, epsilon=direct)


def _as_zcdp(guarantee: Guarantee) -> tuple[str, ...]:
    if not isinstance(guarantee, ApproxZCDP):
        return ()
    return (f"As approximate zero-concentrated DP: {_in_numbers(guarantee)}.",)


def _in_numbers(guarantee: ZCDP | ApproxZCDP) -> str:
    """Name rho, and delta if there is one, in few digits, rounded up."""
    delta = find_delta(guarantee)
    also = f" and delta = {short_exact(delta)}" if delta else ""
    return f"rho = {short_exact(guarantee.rho)}{also}"
