"""The cost of a release for the unit that an account protects."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from dphist.data.label_counts import LabelCounts
from dphist.document.kind import Kind, kind_of_mechanism, kinds
from dphist.errors import Argument, DphistError, LedgerError, ParameterError
from dphist.ledger.amounts import Cost
from dphist.mechanism import MechanismBase
from dphist.privacy import Guarantee, PrivacyUnit
from dphist.privacy.exchanged import find_exchanged
from dphist.privacy.unit import ONE_EVENT, ONE_RECORD, ONE_ROW, ONE_USER, unit_of_data
from dphist.release.stated import refuse_exchanged
from dphist.release.tabular import refuse_released

_PARTS = (ONE_RECORD, ONE_EVENT)
"""What users have many of: only a bound relates these units to users."""


@dataclass(frozen=True, slots=True, init=False)
class DataUnit:
    """Whom data say that they protect. These are choices made without looking at the data.

    Attributes
    ----------
    unit : such as "one user"; None if the data name no unit.
    records : maximum number of records of one such unit; None if there is no bound.
    """

    unit: PrivacyUnit | None
    records: int | None

    def __init__(self, unit: PrivacyUnit | str | None = None, records: int | None = None) -> None:
        if isinstance(unit, str):
            unit = " ".join(unit.split())
        object.__setattr__(self, "unit", None if unit is None else unit_of_data(unit))
        object.__setattr__(self, "records", records)

    @classmethod
    def of(cls, data: object) -> "DataUnit":
        """Return the unit of a data object; nothing is known of other objects."""
        if isinstance(data, LabelCounts):
            if data.unit.asserted and data.unit == ONE_USER:
                return cls()  # nobody said what the users are
            labels = data.max_labels
            return cls(data.unit, None if labels is None else labels * data.max_count)
        if any(each.data_type and isinstance(data, each.data_type) for each in kinds()):
            return cls(*_read_bounds(data))
        return cls()


def _read_bounds(data: object) -> tuple[PrivacyUnit | None, int]:
    """Return the unit and the bound that data of a kind must state."""
    unit, records = (getattr(data, name, False) for name in ("unit", "sensitivity"))
    whole = isinstance(records, int) and not isinstance(records, bool)
    if whole and records >= 1 and (unit is None or isinstance(unit, PrivacyUnit)):
        return unit, records
    raise ParameterError(
        "data",
        "must state a unit, which is a PrivacyUnit or None, and a sensitivity of at least 1; "
        "nothing was charged",
    )


def check_bounds(mechanism: object, data: object) -> None:
    """Refuse data whose bounds a mechanism does not protect, before anything is charged.

    Bounds are public, and nothing else of the data is looked at, except the type and shape of
    plain numbers. The mechanism would refuse them too, but only after the charge. So it is with
    what is released already.

    Raises
    ------
    BoundsError, ParameterError
    """
    refuse_released(data, "data")
    stated = getattr(mechanism, "guarantee", None)
    if isinstance(stated, Guarantee):
        refuse_exchanged(stated.unit, None)  # no release may state it
    kind = kind_of_mechanism(mechanism)
    held = None if kind is None else kind.data_type
    if kind is None or held is None:
        return
    if isinstance(data, held):
        _ask(kind, kind.accept, mechanism, data)
    elif any(each.data_type is not None and isinstance(data, each.data_type) for each in kinds()):
        raise ParameterError(
            "data",
            f"must be {held.__name__} for {type(mechanism).__name__}, not {type(data).__name__}; "
            "nothing was charged",
        )
    else:
        _ask(kind, kind.refuse_other, mechanism, data)


def _ask(
    kind: Kind, refuse: Callable[[Any, Any], object] | None, mechanism: object, data: object
) -> None:
    """Have a kind refuse data; what somebody else's function raises may show them."""
    problem = None
    if refuse is not None:
        try:
            refuse(mechanism, data)
        except DphistError:
            raise
        except Exception as error:
            problem = type(error).__name__
    if problem is not None:
        raise ParameterError(
            "data", f"cannot be checked: the kind {kind.name} raised {problem}; nothing was charged"
        )


def for_account(guarantee: Guarantee, data: DataUnit, unit: PrivacyUnit, name: str) -> Guarantee:
    """Return what a release from these data costs one unit of an account.

    Parameters
    ----------
    guarantee : of the mechanism, known before data; for an exchange if the unit is exchanged.
    unit : the privacy unit of the account `name`.

    Raises
    ------
    LedgerError
        If the release protects another unit, and the data carry no bound that relates the two.

    Notes
    -----
    A release that protects m records enters an account of users who have at most k records with
    ceil(k / m) steps: group privacy (docs/understand/proofs/accounting.md, Lemma 9).
    """
    own = guarantee.unit
    if unit.exchanged:
        return _for_exchange(guarantee, data, unit, name)
    if own.exchanged:
        raise LedgerError(
            f"the account {name!r} protects {unit}, who is added or removed, and the guarantee is "
            f"for {own}: that one of equal size says little of others; use an account for it"
        )
    if data.unit is not None:
        named = own.named(data.unit)
        if own.single in _PARTS and named.single == unit.single not in _PARTS:
            if data.records is None:
                raise LedgerError(
                    f"the account {name!r} protects {unit}, and the data do not bound the "
                    f"{own.plural} of one; set a bound, such as " + Argument(f"max_{own.plural}")
                )
            return guarantee.for_unit(unit, has=data.records)
        if own.single in (ONE_USER, *_PARTS):
            own = named
            guarantee = replace(guarantee, unit=own)
    if own.single != unit.single:
        said = f"the account {name!r} protects {unit}, and the release protects {own}: "
        remedy = f"use an account for the unit {own.name!r}"
        if unit.single in _PARTS or own.single == ONE_ROW:  # no column has them
            raise LedgerError(said + remedy)
        raise LedgerError(
            f"{said}if a column of {unit.plural} bounds the data, say so with "
            + Argument("unit", str(unit))
            + f" when they are counted; else {remedy}"
        )
    return guarantee.for_unit(unit)


def _for_exchange(exchanged: Guarantee, data: DataUnit, unit: PrivacyUnit, name: str) -> Guarantee:
    """Return what a release costs an account of exchanged units, from what it states for them.

    Two users may have different numbers of records, so no steps of single records make up an
    exchange of users: the release must state it for all records of one.
    """
    own = exchanged.unit
    if data.unit is not None and own.in_or_out.single in (ONE_USER, *_PARTS):
        named = own.named(data.unit)
        of_parts = own.in_or_out.single in _PARTS and named.in_or_out.single not in _PARTS
        if of_parts and (data.records is None or data.records > own.at_most):
            raise LedgerError(
                f"the account {name!r} protects {unit}, and the release does not protect all "
                f"{own.plural} of one; give the mechanism the bound of the data"
            )
        exchanged = replace(exchanged, unit=named)
    if exchanged.unit.single != unit.single:
        raise LedgerError(
            f"the account {name!r} protects {unit}, and the release protects {exchanged.unit}; "
            "use data whose users are those of the account, or an account for that unit"
        )
    return exchanged.for_unit(unit)


def _find_guarantee(mechanism: Any, unit: PrivacyUnit, name: str) -> Guarantee:
    """Return what a mechanism states for a unit of the account: added or removed, or exchanged.

    Raises
    ------
    ParameterError
        If the mechanism has no guarantee.
    LedgerError
        If it states none for an exchange.
    """
    stated = getattr(mechanism, "guarantee", None)
    if not isinstance(stated, Guarantee):
        raise ParameterError("mechanism", "must have a guarantee, such as dphist.PureDP(1)")
    if not unit.exchanged:
        return stated
    exchanged = find_exchanged(mechanism)
    if exchanged is None:
        raise LedgerError(
            f"the account {name!r} protects {unit}, and the release has no guarantee for that: its "
            "delta is too large for two units; use a smaller delta"
        )
    return exchanged


def cost_for(
    mechanism: Any, data: DataUnit, unit: PrivacyUnit, delta: Fraction, name: str
) -> tuple[Guarantee, Cost]:
    """Return the guarantee and the cost of a mechanism for an account of this unit and delta."""
    stated = _find_guarantee(mechanism, unit, name)
    guarantee = for_account(stated, data, unit, name)
    if unit.exchanged:  # what is stated for an exchange, and no more
        return guarantee, Cost.of(guarantee, alone=_smallest_epsilon(guarantee, delta))
    if not is_unchanged(guarantee, stated) or not isinstance(mechanism, MechanismBase):
        # Group privacy, or somebody else's mechanism: what its guarantee says, and no more.
        return guarantee, Cost.of(guarantee, alone=_smallest_epsilon(guarantee, delta))
    direct = getattr(mechanism, "epsilon_guarantee", None)
    return guarantee, Cost.of(guarantee, direct, _smallest_epsilon(mechanism, delta))


def _smallest_epsilon(claims: Any, delta: Fraction) -> Fraction | None:
    """Return the smallest epsilon that a mechanism, or a guarantee, states at `delta`."""
    try:
        epsilon: Fraction = claims.to_approx_dp(delta).epsilon
    except ParameterError:
        return None  # delta is too small for any
    return epsilon


def is_unchanged(guarantee: Guarantee, stated: Guarantee) -> bool:
    """Whether a guarantee for an account has the numbers of the one that the mechanism states."""
    names = ("epsilon", "rho", "delta")
    return all(getattr(guarantee, name, None) == getattr(stated, name, None) for name in names)
