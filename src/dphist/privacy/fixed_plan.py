"""Several releases that are decided together: what they cost, and what they would cost otherwise.

A total is always computed from the mechanisms themselves. It is not stored with a mechanism, which
could be changed or released beside others (`docs/understand/proofs/fixed_plans.md`).
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, TypeAlias

from dphist.errors import ParameterError
from dphist.noise.gaussian_epsilon import LEAST_EPSILON, gaussian_epsilon
from dphist.parameters import Exact, probability
from dphist.privacy.calibratable import Accounting
from dphist.privacy.composition import compose
from dphist.privacy.conversion import rho_to_epsilon
from dphist.privacy.guarantees import (
    ZCDP,
    ApproxDP,
    ApproxZCDP,
    Guarantee,
    PureDP,
    find_delta,
    find_rho,
)
from dphist.privacy.loss_curve import find_mixed_epsilon
from dphist.privacy.losses import (
    GaussianLoss,
    GeometricLoss,
    Losing,
    Losses,
    add_losses,
    covering,
)
from dphist.privacy.rounding import readable
from dphist.privacy.unit import PrivacyUnit, as_unit
from dphist.shown import show_by

Account: TypeAlias = Literal["single", "epsilon", "rho", "gaussian", "losses"]
"""How a total was found.

"single": of one release, its own account. "epsilon": epsilons add up. "rho": rhos add up, and are
converted at the end. "gaussian": the exact curve of all Gaussian noise together. "losses": the
privacy losses of Gaussian and geometric noise together.
"""

_PARTS = ("record", "row")  # of which mechanisms count how many a unit has


@dataclass(frozen=True, slots=True, init=False, repr=False)
class FixedPlan:
    """What several releases cost together that are decided before any of them is made.

    Parameters
    ----------
    mechanisms : sequence of mechanisms
        All releases from the data, in any order; one that is made twice stands there twice.
    delta : number, at least 0 and below 1
        The total delta at which epsilons are stated.
    unit : PrivacyUnit or str, optional
        Whom the plan protects, such as "one user". Required where some mechanisms protect a number
        of records and others a user. You assert that one unit has no more records in the data of a
        release than its mechanism protects; dphist cannot check it. An exchanged unit is refused.

    Guarantee
    ---------
    - `fixed` holds if exactly these mechanisms are released from the data, each once, and were
      decided before the first result. Neighbors differ in one `unit`. Streams and sessions are
      refused, as they take data more than once.
    - `chosen_on_the_way` also holds if later ones are chosen after earlier results, as long as
      their costs are within these. It is what a `dphist.Ledger` charges; a ledger never uses
      `fixed`.
    - Not covered: a mechanism with other parameters, and further releases. A plan of those
      states what they cost.
    - Proof: `docs/understand/proofs/fixed_plans.md`.

    >>> from dphist import LeafCounts
    >>> plan = FixedPlan([LeafCounts(rho="0.01", bins=24), LeafCounts(rho="0.01", bins=7)], "1e-6")
    >>> plan.account, float(plan.fixed.epsilon), float(plan.chosen_on_the_way.epsilon)
    ('gaussian', 0.834117548625, 0.899935267661)
    """

    mechanisms: tuple[Any, ...]
    delta: Fraction
    unit: PrivacyUnit

    def __init__(
        self, mechanisms: Iterable[Any], delta: Exact, unit: PrivacyUnit | str | None = None
    ) -> None:
        held = check_mechanisms(mechanisms)
        protected = find_unit(held, unit)
        for name, value in (
            ("mechanisms", held),
            ("delta", probability(delta, "delta")),
            ("unit", protected),
        ):
            object.__setattr__(self, name, value)
        self._best(fixed=False)  # refuses a delta that is too small

    @property
    def fixed(self) -> ApproxDP:
        """What all releases cost that are decided beforehand."""
        return self._state(self._best(fixed=True)[0])

    @property
    def chosen_on_the_way(self) -> ApproxDP:
        """What they cost where a release may be chosen after earlier results."""
        return self._state(self._best(fixed=False)[0])

    @property
    def account(self) -> Account:
        """How `fixed` was found."""
        return self._best(fixed=True)[1]

    @property
    def charge(self) -> Guarantee:
        """What a ledger charges for all of them: rhos and deltas, or epsilons, added up."""
        found = [made.guarantee for made in self.mechanisms]
        if all(isinstance(each, PureDP) for each in found):
            return compose(*(replace(each, unit=self.unit) for each in found))
        rho = sum((find_rho(each) for each in found), Fraction(0))
        delta = sum((find_delta(each) for each in found), Fraction(0))
        return ApproxZCDP(rho, delta, self.unit) if delta else ZCDP(rho, self.unit)

    def epsilons(self, *, fixed: bool) -> list[tuple[Fraction, Account]]:
        """Return every total that is known, and how it was found."""
        held = [made.guarantee for made in self.mechanisms]
        left = self.delta - sum((find_delta(each) for each in held), Fraction(0))
        known: list[tuple[Fraction | None, Account]] = []
        if all(isinstance(each, PureDP) for each in held):
            known.append((sum((each.epsilon for each in held), Fraction(0)), "epsilon"))
        if left > 0:
            rho = sum((find_rho(each) for each in held), Fraction(0))
            known.append((rho_to_epsilon(rho, left), "rho"))
        if fixed:
            known += self._list_fixed_only()
        return [(epsilon, account) for epsilon, account in known if epsilon is not None]

    def _list_fixed_only(self) -> list[tuple[Fraction | None, Account]]:
        """Return the totals that hold for releases that are decided beforehand alone."""
        known: list[tuple[Fraction | None, Account]] = []
        if len(self.mechanisms) == 1 and isinstance(self.mechanisms[0], Accounting):
            known.append((self.mechanisms[0].epsilon_at(self.delta), "single"))
        direct = [_in_epsilon(made) for made in self.mechanisms]
        epsilons = [each.epsilon for each in direct if each is not None]
        own = sum((find_delta(each) for each in direct if each is not None), Fraction(0))
        if len(epsilons) == len(direct) and own <= self.delta:
            known.append((sum(epsilons, Fraction(0)), "epsilon"))
        losses = add_losses(find_losses(made) for made in self.mechanisms)
        squared = sum((p.squared for p in losses.parts if isinstance(p, GaussianLoss)), Fraction(0))
        noises = tuple(part for part in losses.parts if isinstance(part, GeometricLoss))
        left = self.delta - losses.delta
        if not left > 0 or any(
            not isinstance(p, GaussianLoss | GeometricLoss) for p in losses.parts
        ):
            return known
        try:
            if noises:
                return [*known, (find_mixed_epsilon(squared, noises, left), "losses")]
            return [*known, (gaussian_epsilon(squared, left), "gaussian")]
        except ParameterError:  # beyond what is computed exactly; rhos are not
            return known

    def _best(self, *, fixed: bool) -> tuple[Fraction, Account]:
        known = self.epsilons(fixed=fixed)
        if not known:
            own = sum((find_delta(made.guarantee) for made in self.mechanisms), Fraction(0))
            raise ParameterError(
                "delta", f"must be greater than {readable(own)}, which the releases need themselves"
            )
        return min(known, key=lambda found: found[0])

    def _state(self, epsilon: Fraction) -> ApproxDP:
        return ApproxDP(max(epsilon, LEAST_EPSILON), self.delta, self.unit)

    def __repr__(self) -> str:
        names = ", ".join(type(made).__name__ for made in self.mechanisms)
        return (
            f"FixedPlan([{names}]: {self.fixed} by {self.account!r} if decided beforehand, "
            f"{self.chosen_on_the_way} if chosen on the way)"
        )

    def write_report(self, path: str | Path) -> None:
        """Write a page that states both totals, how they were found, and each release's own cost.

        Raises
        ------
        OutputFileError
            If the folder does not exist, cannot be written, or is full.
        """
        show_by("write_page", self, path=path)

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        return str(show_by("html_of", self))


def assemble_plan(mechanisms: tuple[Any, ...], delta: Fraction, unit: PrivacyUnit) -> FixedPlan:
    """Return a plan of what was checked before, whatever it costs."""
    made = object.__new__(FixedPlan)
    for name, value in (("mechanisms", mechanisms), ("delta", delta), ("unit", unit)):
        object.__setattr__(made, name, value)
    return made


def check_mechanisms(mechanisms: Iterable[Any]) -> tuple[Any, ...]:
    """Return mechanisms as a tuple, each of which states a guarantee."""
    unordered = isinstance(mechanisms, Set | Mapping)  # holds equal mechanisms once
    if unordered or isinstance(mechanisms, str | bytes) or not isinstance(mechanisms, Iterable):
        raise ParameterError("mechanisms", "must be a sequence of mechanisms")
    held = tuple(mechanisms)
    if not held:
        raise ParameterError("mechanisms", "must name at least one mechanism")
    for number, made in enumerate(held, 1):
        stated = None if isinstance(made, type) else getattr(made, "guarantee", None)
        if not isinstance(stated, PureDP | ZCDP | ApproxDP | ApproxZCDP):
            raise ParameterError(
                "mechanisms",
                f"must all state a guarantee: number {number} is {_name_type(made)}, without one",
                "have its `guarantee` be a PureDP, ZCDP, ApproxDP or ApproxZCDP",
            )
        if not takes_data_once(made):
            raise ParameterError(
                "mechanisms",
                f"must each be released once: number {number} is {_name_type(made)}, which takes "
                "data more than once",
                "charge it to a ledger",
            )
    return held


def takes_data_once(mechanism: Any) -> bool:
    """Whether a mechanism has all data in one `release`: it is no stream and no session."""
    return hasattr(mechanism, "release") and not hasattr(mechanism, "update")


def find_losses(mechanism: Any) -> Losses:
    """Return the losses of a mechanism, or those that cover its guarantee."""
    held: object = mechanism
    return held.privacy_losses() if isinstance(held, Losing) else covering([mechanism.guarantee])


def _in_epsilon(mechanism: Any) -> PureDP | ApproxDP | None:
    """Return the guarantee of a mechanism in epsilon, if it states one."""
    for each in (mechanism.guarantee, getattr(mechanism, "epsilon_guarantee", None)):
        if isinstance(each, PureDP | ApproxDP):
            return each
    return None


def find_unit(mechanisms: Sequence[Any], unit: PrivacyUnit | str | None) -> PrivacyUnit:
    """Return whom all mechanisms protect, in one step each; `unit` if that is asked for."""
    asked = None if unit is None else as_unit(unit)
    units: list[PrivacyUnit] = [made.guarantee.unit for made in mechanisms]
    protected = asked or units[0]
    if any(each.exchanged for each in (protected, *units)):  # each is priced as added or removed
        raise ParameterError(
            "unit",
            "of a plan must not be exchanged: a plan is for units that are added or removed",
            "compose what releases cost an exchange, as `exchanged` of each mechanism says it",
        )
    for each in units:
        if each == protected:
            continue
        if asked is not None and _is_asserted(each, asked):
            protected = replace(asked, asserted=True)
            continue
        if asked is None:
            raise ParameterError(
                "unit",
                f"must be given, as releases protect different units: {units[0]} and {each}",
                "name whom the plan protects, such as unit='one user'; you assert that one has no "
                "more records than each release protects",
            )
        raise ParameterError(
            "unit", f"must be what every release protects: one of them protects {each}"
        )
    return protected


def _is_asserted(unit: PrivacyUnit, asked: PrivacyUnit) -> bool:
    """Whether the caller may assert that one unit asked for is within a number of records."""
    return unit.who in _PARTS and asked.who not in _PARTS and asked.at_most == 1


def _name_type(made: object) -> str:
    return f"the class {made.__name__}" if isinstance(made, type) else f"a {type(made).__name__}"
