"""What a release costs a unit that is exchanged for another one, in data of equal size.

Proofs: `docs/understand/proofs/exchanged.md`.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dphist.errors import ParameterError
from dphist.privacy.composition import compose, with_implied_rho
from dphist.privacy.guarantees import ZCDP, ApproxDP, ApproxZCDP, Guarantee, PureDP
from dphist.privacy.unit import PrivacyUnit


def exchange_by_steps(guarantee: Guarantee) -> Guarantee | None:
    """Return the guarantee for an exchange by group privacy: Lemma 1.

    None if delta would reach 1, which guarantees nothing.
    """
    if guarantee.unit.exchanged:
        return guarantee
    try:
        return guarantee.for_exchange()
    except ParameterError:
        return None


def exchange_of_growing(guarantee: Guarantee) -> PureDP | ZCDP:
    """Return the guarantee for an exchange where noisy numbers only grow with each unit: Lemma 2.

    Twice epsilon and twice rho, where group privacy has four times rho.

    Parameters
    ----------
    guarantee : of independent noise on numbers, none of which falls if a unit is added, for which
        what the noise of each number costs is added up.

    >>> exchange_of_growing(ZCDP("0.1"))
    ZCDP(rho=0.2, unit=PrivacyUnit('record', exchanged=True))
    """
    unit = replace(guarantee.unit, exchanged=True)
    if isinstance(guarantee, ZCDP):
        return ZCDP(2 * guarantee.rho, unit)
    if not isinstance(guarantee, PureDP):
        raise TypeError("a guarantee with a delta does not add up number by number")
    return PureDP(2 * guarantee.epsilon, unit, 2 * guarantee.to_zcdp().rho)


def find_exchanged(mechanism: Any) -> Guarantee | None:
    """Return what a mechanism states for an exchange; of one that states nothing, by Lemma 1.

    Raises
    ------
    ParameterError
        If what a mechanism of somebody else's states is for another unit.
    """
    own: Guarantee = mechanism.guarantee
    stated = getattr(mechanism, "exchanged", None)
    if not isinstance(stated, PureDP | ZCDP | ApproxDP | ApproxZCDP):
        return exchange_by_steps(own)
    if stated.unit != replace(own.unit, exchanged=True):
        raise ParameterError(
            "mechanism",
            "must state `exchanged` for the unit of its guarantee, exchanged for another",
        )
    return stated


def exchanged_together(
    mechanisms: Sequence[Any], unit: PrivacyUnit, following: Sequence[Any] = ()
) -> Guarantee | None:
    """Return what releases of the same data cost an exchange together; None if one has no number.

    Parameters
    ----------
    mechanisms : of the releases.
    unit : under the name that the data give it; that it is exchanged is added.
    following : further ones, whose parameters may follow from these releases.
    """
    stated = [*map(find_exchanged, mechanisms)]
    stated += [each and with_implied_rho(each) for each in map(find_exchanged, following)]
    known = [each for each in stated if each is not None]
    if len(known) < len(stated):
        return None
    return compose(*[replace(each, unit=replace(unit, exchanged=True)) for each in known])
