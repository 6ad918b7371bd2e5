"""Guarantees as values: the cost of a release, and the unit it protects.

A guarantee is known before any data are read. Its numbers are Fractions. A conversion that needs a
logarithm is rounded up, so that a claim is never stronger than what holds.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Self, TypeAlias

from dphist.errors import ParameterError
from dphist.parameters import Exact, positive_number, probability, whole_number
from dphist.privacy.conversion import pure_to_rho, rho_to_epsilon
from dphist.privacy.groups import (
    approximate_delta_of_group,
    delta_of_group,
    pure_of_group,
    zcdp_of_group,
)
from dphist.privacy.rounding import readable
from dphist.privacy.unit import ONE_RECORD, PrivacyUnit, as_unit
from dphist.shown import show_by


def _hold(guarantee: object, name: str, value: Any) -> None:
    object.__setattr__(guarantee, name, value)  # frozen, but still under construction


class Protecting(ABC):
    """Base class of all guarantees: a unit, and group privacy."""

    __slots__ = ()

    unit: PrivacyUnit

    @abstractmethod
    def _for_steps(self, steps: int, unit: PrivacyUnit) -> Self:
        """Return the guarantee for `unit`: data sets that are `steps` neighbors apart."""

    def for_group(self, members: int) -> Self:
        """Return the guarantee for `members` units together: group privacy.

        Epsilon grows `members`-fold and rho `members`**2-fold; a delta grows faster still
        (`docs/understand/proofs/accounting.md`, Lemma 9). The result is rounded up.

        Parameters
        ----------
        members : int, at least 1.

        Raises
        ------
        ParameterError
            If delta would reach 1, which guarantees nothing.

        >>> PureDP("0.1").for_group(5)
        PureDP(epsilon=0.5, unit=PrivacyUnit('record', 5))
        """
        steps = whole_number(members, "members", 1)
        return self._for_steps(steps, self.unit.times(steps))

    def for_unit(self, unit: PrivacyUnit | str, *, has: int | None = None) -> Self:
        """Return the guarantee for another unit, by group privacy.

        Parameters
        ----------
        unit : the unit to protect, such as "one patient".
        has : int
            Maximum number of `self.unit.who` that one new unit adds or removes, such as the
            maximum number of records of a patient. You assert it; dphist cannot check it. Omit it
            only if `unit` is this guarantee's unit in another number.

        Raises
        ------
        ParameterError
            If `has` is missing, or delta would reach 1, which guarantees nothing; or if this
            guarantee is for an exchanged unit, and the other is added or removed, or another.

        >>> ZCDP("0.1").for_unit("one patient", has=4)
        ZCDP(rho=1.6, unit='patient')
        >>> PureDP(1, unit=PrivacyUnit("record", 5)).for_unit("one patient", has=4).epsilon
        Fraction(1, 1)
        """
        wanted = as_unit(unit)
        same = wanted.single.in_or_out == self.unit.single.in_or_out
        if self.unit.exchanged and not (same and wanted.exchanged):
            raise ParameterError(
                "unit",
                f"must be a number of {self.unit.who!r} that are exchanged: a guarantee for "
                "exchanging them says little about adding or removing them",
                "convert a guarantee for units that are added or removed",
            )
        if same:
            if has is not None:
                raise ParameterError(
                    "has",
                    "must be omitted: both units count the same thing, and at_most states how many",
                )
            things = wanted.at_most
        else:
            if has is None:
                raise ParameterError(
                    "has",
                    f"must be given: the maximum number of {self.unit.plural} that "
                    f"{wanted.single} adds or removes",
                )
            things = wanted.at_most * whole_number(has, "has", 1)
            bound = f"max_{self.unit.plural}"
            if not wanted.bounds and bound.isidentifier():
                wanted = replace(wanted, bounds=((bound, has),))
        # An exchange removes the units and adds others (proofs/exchanged.md, Lemma 1).
        ways = 2 if wanted.exchanged and not self.unit.exchanged else 1
        return self._for_steps(ways * -(-things // self.unit.at_most), wanted)

    def for_exchange(self) -> Self:
        """Return the guarantee for such a unit that is exchanged for another, by group privacy.

        The unit is removed and another one added: two steps. A mechanism may know less, as
        `mechanism.exchanged`.

        >>> PureDP("0.5").for_exchange(), ZCDP("0.1").for_exchange()
        ... # doctest: +NORMALIZE_WHITESPACE
        (PureDP(epsilon=1, unit=PrivacyUnit('record', exchanged=True)),
         ZCDP(rho=0.4, unit=PrivacyUnit('record', exchanged=True)))
        """
        return self.for_unit(replace(self.unit, exchanged=True))

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        return str(show_by("html_of", self))

    def _format_unit(self) -> str:
        """Return the unit for a repr; empty for the default, one record."""
        if self.unit == ONE_RECORD:
            return ""
        unit = self.unit.compared
        shown = unit.who if unit == PrivacyUnit(unit.who) else unit
        return f", unit={shown!r}"


@dataclass(frozen=True, slots=True, init=False, repr=False)
class PureDP(Protecting):
    """Pure epsilon-differential privacy.

    For neighboring data D, D' and every set S of results,
    Pr[M(D) in S] <= exp(epsilon) Pr[M(D') in S].

    Parameters
    ----------
    epsilon : number above 0; a float means its shortest decimal. Held as a Fraction.
    unit : PrivacyUnit or str
        Privacy unit: neighbors differ in one such unit (default: one record).
    rho : number above 0, or None
        rho-zCDP that is known to hold too: what the mechanism costs where rhos add up. None if none
        is known below epsilon tanh(epsilon/2), which every pure guarantee has. Comparisons of
        guarantees leave it out.

    >>> PureDP(1, rho="0.05"), PureDP(1).to_zcdp()
    (PureDP(epsilon=1, rho=0.05), ZCDP(rho=0.462117157261))
    """

    epsilon: Fraction
    unit: PrivacyUnit
    rho: Fraction | None = field(compare=False)

    def __init__(
        self, epsilon: Exact, unit: PrivacyUnit | str = ONE_RECORD, rho: Exact | None = None
    ) -> None:
        _hold(self, "epsilon", positive_number(epsilon, "epsilon"))
        _hold(self, "unit", as_unit(unit))
        own = None if rho is None else positive_number(rho, "rho")
        _hold(self, "rho", own if own is not None and own < pure_to_rho(self.epsilon) else None)

    def __repr__(self) -> str:
        own = "" if self.rho is None else f", rho={readable(self.rho)}"
        return f"PureDP(epsilon={readable(self.epsilon)}{own}{self._format_unit()})"

    def __str__(self) -> str:
        return f"{readable(self.epsilon)}-differential privacy (pure)"

    def _for_steps(self, steps: int, unit: PrivacyUnit) -> Self:
        own = None if self.rho is None else zcdp_of_group(self.rho, steps)
        return type(self)(pure_of_group(self.epsilon, steps), unit, own)

    def to_zcdp(self) -> "ZCDP":
        """Return the zCDP that holds: `rho`, or epsilon tanh(epsilon/2), rounded up.

        The second is implied by every pure guarantee. Randomized response is the worst case of one:
        its Renyi divergences D_a / a have the supremum epsilon tanh(epsilon/2), the limit for
        a -> 1 (`docs/understand/proofs/accounting.md`), which is at most epsilon**2 / 2.
        """
        return ZCDP(find_rho(self), self.unit)

    def to_approx_dp(self, delta: Exact = 0) -> "ApproxDP":
        """Return (epsilon, delta)-DP; a pure guarantee holds for every delta."""
        return ApproxDP(self.epsilon, delta, self.unit)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class ZCDP(Protecting):
    """rho-zero-concentrated differential privacy.

    For neighboring data and every a > 1 the Renyi divergence of order a of the two output
    distributions is at most rho * a, both ways (Bun and Steinke 2016, Definition 1.1).

    Parameters
    ----------
    rho : number above 0. Held as a Fraction.
    unit : PrivacyUnit or str
        Privacy unit: neighbors differ in one such unit (default: one record).
    """

    rho: Fraction
    unit: PrivacyUnit

    def __init__(self, rho: Exact, unit: PrivacyUnit | str = ONE_RECORD) -> None:
        _hold(self, "rho", positive_number(rho, "rho"))
        _hold(self, "unit", as_unit(unit))

    def __repr__(self) -> str:
        return f"ZCDP(rho={readable(self.rho)}{self._format_unit()})"

    def __str__(self) -> str:
        return f"{readable(self.rho)}-zero-concentrated differential privacy"

    def _for_steps(self, steps: int, unit: PrivacyUnit) -> Self:
        return type(self)(zcdp_of_group(self.rho, steps), unit)

    def to_approx_dp(self, delta: Exact) -> "ApproxDP":
        """Return the implied (epsilon, delta)-DP, epsilon rounded up."""
        target = _delta_above(delta, Fraction(0))
        return ApproxDP(rho_to_epsilon(self.rho, target), target, self.unit)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class ApproxDP(Protecting):
    """(epsilon, delta)-differential privacy.

    For neighboring data D, D' and every set S of results,
    Pr[M(D) in S] <= exp(epsilon) Pr[M(D') in S] + delta.

    Parameters
    ----------
    epsilon : number above 0.
    delta : number at least 0 and below 1. Both are held as Fractions.
    unit : PrivacyUnit or str
        Privacy unit: neighbors differ in one such unit (default: one record).
    """

    epsilon: Fraction
    delta: Fraction
    unit: PrivacyUnit

    def __init__(self, epsilon: Exact, delta: Exact, unit: PrivacyUnit | str = ONE_RECORD) -> None:
        _hold(self, "epsilon", positive_number(epsilon, "epsilon"))
        _hold(self, "delta", probability(delta, "delta"))
        _hold(self, "unit", as_unit(unit))

    def __repr__(self) -> str:
        numbers = f"epsilon={readable(self.epsilon)}, delta={readable(self.delta)}"
        return f"ApproxDP({numbers}{self._format_unit()})"

    def __str__(self) -> str:
        return f"({readable(self.epsilon)}, {readable(self.delta)})-differential privacy"

    def _for_steps(self, steps: int, unit: PrivacyUnit) -> Self:
        delta = delta_of_group(self.epsilon, self.delta, steps)
        return type(self)(pure_of_group(self.epsilon, steps), delta, unit)

    def to_approx_zcdp(self) -> "ApproxZCDP":
        """Return the implied delta-approximate zCDP, with rho as for a pure guarantee.

        Every (epsilon, delta)-DP mechanism is a post-processing of one that reveals the data with
        probability delta and is pure epsilon-DP otherwise (Kairouz, Oh and Viswanath 2015).
        """
        return ApproxZCDP(pure_to_rho(self.epsilon), self.delta, self.unit)

    def to_approx_dp(self, delta: Exact) -> "ApproxDP":
        """Return the guarantee at a larger delta; a smaller one is refused."""
        target = probability(delta, "delta")
        if target < self.delta:
            raise ParameterError(
                "delta", f"must be at least this guarantee's own, {readable(self.delta)}"
            )
        return ApproxDP(self.epsilon, target, self.unit)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class ApproxZCDP(Protecting):
    """delta-approximate rho-zero-concentrated differential privacy.

    For neighboring data there are two distributions with Renyi divergences at most rho * a, both
    ways, which lie below the two output distributions on an event of mass at least 1 - delta
    (`docs/understand/proofs/accounting.md`; a generalization of Bun and Steinke 2016, Definition
    8.1).

    Parameters
    ----------
    rho : number above 0.
    delta : number at least 0 and below 1. Both are held as Fractions.
    unit : PrivacyUnit or str
        Privacy unit: neighbors differ in one such unit (default: one record).
    """

    rho: Fraction
    delta: Fraction
    unit: PrivacyUnit

    def __init__(self, rho: Exact, delta: Exact, unit: PrivacyUnit | str = ONE_RECORD) -> None:
        _hold(self, "rho", positive_number(rho, "rho"))
        _hold(self, "delta", probability(delta, "delta"))
        _hold(self, "unit", as_unit(unit))

    def __repr__(self) -> str:
        numbers = f"rho={readable(self.rho)}, delta={readable(self.delta)}"
        return f"ApproxZCDP({numbers}{self._format_unit()})"

    def __str__(self) -> str:
        return (
            f"{readable(self.delta)}-approximate {readable(self.rho)}"
            "-zero-concentrated differential privacy"
        )

    def _for_steps(self, steps: int, unit: PrivacyUnit) -> Self:
        delta = approximate_delta_of_group(self.rho, self.delta, steps)
        return type(self)(zcdp_of_group(self.rho, steps), delta, unit)

    def to_approx_dp(self, delta: Exact) -> "ApproxDP":
        """Return (epsilon, delta)-DP for a *total* delta above this guarantee's own."""
        target = _delta_above(delta, self.delta)
        return ApproxDP(rho_to_epsilon(self.rho, target - self.delta), target, self.unit)


Guarantee: TypeAlias = PureDP | ZCDP | ApproxDP | ApproxZCDP


def find_delta(guarantee: Guarantee) -> Fraction:
    """Return the delta of a guarantee; 0 if it has none."""
    return guarantee.delta if isinstance(guarantee, ApproxDP | ApproxZCDP) else Fraction(0)


def find_rho(guarantee: Guarantee) -> Fraction:
    """Return the rho of a guarantee, or of the zCDP it implies."""
    if isinstance(guarantee, ApproxDP) or guarantee.rho is None:
        return pure_to_rho(guarantee.epsilon)
    return guarantee.rho


def _delta_above(delta: Exact, own: Fraction) -> Fraction:
    target = probability(delta, "delta")
    if not target > own:
        raise ParameterError("delta", f"must be greater than {readable(own)}")
    return target
