"""What all mechanisms share: a target, conversions, and one way of giving releases out."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from typing import Any, Self

from dphist.arrays import IntArray
from dphist.data.profile import ONE_EDGE
from dphist.errors import ParameterError
from dphist.noise.gaussian_epsilon import LEAST_EPSILON
from dphist.noise.inversion import Source
from dphist.noise.whose import is_for_tests
from dphist.parameters import Exact, probability, whole_number
from dphist.privacy import (
    MOST_RELEASES,
    ApproxDP,
    Guarantee,
    PrivacyUnit,
    Target,
    delta_of,
    least_epsilon,
)
from dphist.privacy.unit import ONE_RECORD
from dphist.release.release import Release, parameters_of


@dataclass(frozen=True, slots=True, init=False, repr=False, eq=False)
class MechanismBase(ABC):
    """A frozen mechanism that remembers what it was calibrated to.

    Attributes
    ----------
    target : Target or None
        What `dphist.calibrate` was asked for; None for a mechanism that was made by hand. Equality
        and saved releases include it; it is no parameter of the constructor.
    """

    target: Target | None = field(default=None, init=False)

    def __new__(cls, *_: Any, **__: Any) -> Self:
        """Make a mechanism without a target; subclasses have constructors of their own."""
        made = object.__new__(cls)
        object.__setattr__(made, "target", None)
        return made

    def __repr__(self) -> str:
        shown = [f"{name}={value!r}" for name, value in parameters_of(self).items()]
        if self.target is not None:
            shown.append(f"target={self.target!r}")
        return f"{type(self).__name__}({', '.join(shown)})"

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """What a release costs, and whom it protects."""

    def _hold(self, **values: object) -> None:
        """Set fields, in the constructor: the mechanism is frozen, but not yet given out."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _guarantees(self) -> Sequence[Guarantee]:
        """Return all guarantees that hold of a release."""
        return [self.guarantee]

    def epsilon_at(self, delta: Exact, releases: int = 1) -> Fraction | None:
        """Return the least epsilon known of so many releases at a total delta.

        None where that delta is too small for any. Releases may be chosen after earlier results;
        their number and this mechanism are fixed beforehand.
        """
        total = probability(delta, "delta")
        times = whole_number(releases, "releases", 1, MOST_RELEASES)
        return least_epsilon(self._guarantees(), total, times)

    def to_approx_dp(self, delta: Exact) -> ApproxDP:
        """Return the least (epsilon, delta)-DP known of one release, for a total delta.

        Raises
        ------
        ParameterError
            If `delta` is too small for any.
        """
        epsilon = self.epsilon_at(delta)
        if epsilon is None:
            return self._guarantees()[-1].to_approx_dp(delta)  # says why not
        # An epsilon of 0 cannot be stated.
        return ApproxDP(max(epsilon, LEAST_EPSILON), delta, self.guarantee.unit)

    def calibrated_to(self, target: Target) -> Self:
        """Return this mechanism with what it was asked to cost; `dphist.calibrate` calls it.

        Raises
        ------
        ParameterError
            If the mechanism costs more, or the target is for a unit that it does not protect.
        """
        if not isinstance(target, Target):
            raise ParameterError("target must be a Target, such as Target(ApproxDP(1, '1e-6'))")
        check_unit(target.guarantee, self.guarantee.unit, "target")
        least = self.epsilon_at(delta_of(target.guarantee), target.releases)
        if least is None or least > target.guarantee.epsilon:
            raise ParameterError("target must be at least what the mechanism costs: see epsilon_at")
        asked = replace(target.guarantee, unit=self.guarantee.unit)
        made = object.__new__(type(self))
        for item in fields(self):
            object.__setattr__(made, item.name, getattr(self, item.name))
        object.__setattr__(made, "target", Target(asked, target.releases))
        return made

    def _given_out(
        self,
        value: Any,
        data: object,
        source: Source | None,
        *,
        total: int | None = None,
        noisy: Mapping[str, IntArray] | None = None,
        provenance: Mapping[str, str] | None = None,
    ) -> Release:
        """Return a release of this mechanism: the one way in which mechanisms of dphist make one.

        Parameters
        ----------
        data, source : what `release` was given; whether random bits were the caller's follows.
        """
        return Release(
            value,
            self.guarantee,
            self,
            total,
            noisy or {},
            provenance=provenance or {},
            for_tests=is_for_tests(source, data),
        )


def check_unit(asked: Guarantee, own: PrivacyUnit, name: str) -> None:
    """Refuse what is asked for a unit that a mechanism does not protect; one record states none."""
    if asked.unit not in (ONE_RECORD, own):
        raise ParameterError(
            f"{name} must be for {own}, whom the mechanism protects, or state no unit: it is for "
            f"{asked.unit}"
        )


def provenance_of_unit(data: object) -> dict[str, str]:
    """Return what a release states of whom the data say they protect; nothing where they do not.

    What the data were cut to may be less than what the mechanism protects.
    """
    unit = getattr(data, "unit", None)
    if unit is None:
        return {}
    if unit == ONE_EDGE:
        return {"unit": ONE_EDGE}
    return {"unit": str(unit), "max_records": str(getattr(data, "sensitivity", 1))}
