"""Calibration of several releases that are decided together."""

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from inspect import signature
from itertools import pairwise
from typing import Any, Literal, TypeAlias

from dphist.errors import Argument, ParameterError
from dphist.parameters import Exact, positive_number, probability
from dphist.privacy.calibratable import Deciding
from dphist.privacy.epsilon_search import down
from dphist.privacy.fixed_plan import FixedPlan, assemble_plan, check_mechanisms, find_unit
from dphist.privacy.guarantees import Guarantee, PureDP, find_delta, find_rho
from dphist.privacy.largest import COARSE, FINE, Aim, check_found, find_largest
from dphist.privacy.unit import PrivacyUnit

# Shares of delta tried for the mechanisms' own.
_SHARES = [Fraction(n, 32) for n in (1, 2, 4, 8, 12, 16, 20, 24, 28, 30, 31)]
# A single threshold and its noise do not add their deltas.
_NEARLY_ALL = [Fraction(127, 128), Fraction(1023, 1024), Fraction(1)]
_USUAL = Fraction(1, 2)
_CLOSE = 1e-9  # to the price that a weight gives
_MOST_STEPS = 40


Pair: TypeAlias = tuple[Callable[..., Any], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Member:
    """A mechanism of a plan, before it is calibrated.

    Attributes
    ----------
    make : called with the amount that is found, and a delta if it needs one.
    knob : the name of that amount.
    needs_delta : whether it is given a delta of its own.
    weight : its share of the price of all, relative to the others'.
    either : whether the other knob would do as well, which is another kind of noise.
    """

    make: Callable[..., Any]
    knob: Literal["epsilon", "rho"]
    needs_delta: bool
    weight: Fraction
    either: bool = False

    def made(self, amount: Fraction, delta: Fraction) -> Any:
        """Return the mechanism; delta is what it is to cost, where it has one of its own."""
        given = {self.knob: amount}
        if not self.needs_delta:
            return self.make(**given)
        made = self.make(**given, delta=down(delta))
        used = find_delta(made.guarantee)  # a release with several queries adds it up
        return made if used <= delta else self.make(**given, delta=down(delta * delta / used))


@dataclass(frozen=True, slots=True)
class _Trial:
    """A plan that is tried, as a mechanism that states what it costs."""

    plan: FixedPlan
    fixed: bool
    factor: Fraction

    @property
    def guarantee(self) -> Guarantee:
        return self.plan.charge

    def epsilon_at(self, delta: Exact, releases: int = 1) -> Fraction | None:
        del delta, releases  # those of the plan
        return min((found for found, _ in self.plan.epsilons(fixed=self.fixed)), default=None)


def calibrate_plan(
    pairs: Sequence[Pair],
    aim: Aim,
    weights: Sequence[Exact] | None,
    unit: PrivacyUnit | str | None,
) -> list[Any]:
    """Return mechanisms that together cost at most what is aimed at: see `dphist.calibrate`."""
    members = read_members(pairs, weights, aim)
    kinds = [members]
    if any(member.either for member in members):
        kinds.append([_try_other_noise(member) for member in members])
    found: list[tuple[float, list[Any]]] = []
    faults: list[ParameterError] = []
    for kind in kinds:
        try:
            made = _Search(kind, aim, unit).run()
            found.append((_size(kind, made), made))
        except ParameterError as error:
            faults.append(error)
    if not found:
        raise faults[0]
    return min(found, key=lambda each: each[0])[1]


@dataclass(frozen=True, slots=True)
class _Search:
    """The search for one factor of all amounts, of which the ratios follow from the weights."""

    members: Sequence[Member]
    aim: Aim
    unit: PrivacyUnit | str | None

    def run(self) -> list[Any]:
        """Return the mechanisms."""
        share = self._best_share() if any(m.needs_delta for m in self.members) else Fraction(0)
        price, factor = self._first_price(), Fraction(1)
        for closeness in (COARSE, COARSE, FINE):
            price *= factor if not self.aim.delta else factor * factor
            found, factor = self._find(price, share, closeness, fixed=self.aim.best)
        return [*found.plan.mechanisms]

    def _best_share(self) -> Fraction:
        """Return the share of delta with the smallest thresholds and noise."""
        sizes, price = {}, self._first_price()
        alone = len(self.members) == 1 and self.aim.best
        for share in [*_SHARES, *(_NEARLY_ALL if alone else [])]:
            try:
                found, factor = self._find(price, share, COARSE, fixed=self.aim.best)
            except ParameterError:
                continue
            sizes[share] = _size(self.members, found.plan.mechanisms)
            price *= factor * factor
        return min(sizes, key=lambda share: sizes[share], default=_USUAL)

    def _find(
        self, price: Fraction, share: Fraction, closeness: float, *, fixed: bool
    ) -> tuple[_Trial, Fraction]:
        """Return the plan with the largest factor of what the weights give at a price, and it."""
        own = self.aim.delta * share / max(sum(m.needs_delta for m in self.members), 1)
        total = sum((member.weight for member in self.members), Fraction(0))
        amounts = [
            _match(member, price * member.weight / total, own, pure=not self.aim.delta)
            for member in self.members
        ]
        first = [m.made(a, own) for m, a in zip(self.members, amounts, strict=True)]
        unit = find_unit(check_mechanisms(first), self.unit)

        def make(epsilon: Fraction) -> _Trial:
            made = tuple(
                member.made(down(amount * (epsilon**2 if member.knob == "rho" else epsilon)), own)
                for member, amount in zip(self.members, amounts, strict=True)
            )
            return _Trial(assemble_plan(made, self.aim.delta, unit), fixed, epsilon)

        aim = replace(self.aim, best=True)
        found = check_found(find_largest(make, aim, closeness, Fraction(1)))
        return found, found.factor

    def _first_price(self) -> Fraction:
        """Return about the price of all: an epsilon, or with a delta a rho."""
        if not self.aim.delta:
            return self.aim.epsilon
        log = math.log(self.aim.delta.denominator) - math.log(self.aim.delta.numerator)
        return self.aim.epsilon**2 / (Fraction(4 * log) + 2 * self.aim.epsilon)


def _match(member: Member, price: Fraction, own: Fraction, *, pure: bool) -> Fraction:
    """Return the amount at which a mechanism has a price, by the secant method on logarithms."""
    squared = member.knob == "epsilon" and not pure
    amount = down(Fraction(math.sqrt(2 * price))) if squared else down(price)
    points: list[tuple[float, float]] = []
    for _ in range(_MOST_STEPS):
        off = math.log(_price(member.made(amount, own), pure=pure) / price)
        if abs(off) < _CLOSE:
            break
        points.append((math.log(amount), off))
        slope = 2.0 if squared else 1.0
        for (x, y), (z, w) in pairwise(points[-2:]):
            slope = min(max((w - y) / (z - x), 0.25), 4.0) if z != x else slope
        amount = down(amount * Fraction(math.exp(min(max(-off / slope, -3.0), 3.0))))
    return amount


def _price(made: Any, *, pure: bool) -> Fraction:
    (held,) = check_mechanisms([made])
    if not pure:
        return find_rho(held.guarantee)
    if not isinstance(held.guarantee, PureDP):
        raise ParameterError(
            "delta",
            f"must be greater than 0: {type(made).__name__} has no pure guarantee",
        )
    return held.guarantee.epsilon


def _size(members: Sequence[Member], made: Sequence[Any]) -> float:
    """Return the sum of logarithms of thresholds, or where there is none of the noise."""
    found = 0.0
    for member, mechanism in zip(members, made, strict=True):
        threshold = getattr(mechanism, "threshold", None)
        scale = getattr(mechanism, "noise_scale", None) if member.either else None
        if threshold is not None and threshold > 0:
            found += math.log(threshold)
        elif isinstance(scale, Fraction | float | int):
            # The standard deviation of geometric noise is about sqrt(2) of its scale.
            doubled = 2 if member.knob == "epsilon" else 1
            found += math.log(scale) + math.log(doubled) / 2
        else:
            found -= math.log(find_rho(mechanism.guarantee)) / 2
    return found


def _try_other_noise(member: Member) -> Member:
    return replace(member, knob="rho") if member.either else member


# What was asked for.


def read_members(pairs: Sequence[Pair], weights: Sequence[Exact] | None, aim: Aim) -> list[Member]:
    """Return what is to be calibrated, checked."""
    if not pairs:
        raise ParameterError("mechanism", "must name at least one class", "give a list of them")
    found = _read_weights(weights, len(pairs))
    return [
        _member(made, parameters, weight, aim)
        for (made, parameters), weight in zip(pairs, found, strict=True)
    ]


def read_entry(entry: Any, number: int, shared: Mapping[str, Any]) -> Pair:
    """Return a class, and the parameters that it is called with; `number` counts from 1."""
    made, own = entry if isinstance(entry, tuple | list) and len(entry) == 2 else (entry, {})
    if not callable(made) or not isinstance(own, Mapping):
        raise ParameterError(
            "mechanism",
            f"must list classes, or pairs of a class and its parameters: number {number} is "
            "neither",
            "write (dphist.LeafCounts, {'bins': 24})",
        )
    return made, {**shared, **own}


def _read_weights(weights: Sequence[Exact] | None, many: int) -> list[Fraction]:
    if weights is None:
        return [Fraction(1)] * many
    if isinstance(weights, str | bytes | Mapping) or not hasattr(weights, "__len__"):
        raise ParameterError("weights", "must be a sequence of numbers, one for each mechanism")
    if len(weights) != many:
        raise ParameterError(
            "weights", f"must be as many as the mechanisms: {len(weights)} for {many}"
        )
    return [positive_number(weight, "weights") for weight in weights]


def _member(
    made: Callable[..., Any], parameters: dict[str, Any], weight: Fraction, aim: Aim
) -> Member:
    """Return a mechanism with what is found of it: a rho or an epsilon, and perhaps a delta."""
    names = signature(made).parameters.keys()
    for name in ("epsilon", "rho", "delta"):
        if parameters.get(name) is not None:
            raise ParameterError(
                name, "must not be given: it is what is calibrated", "leave it out"
            )
    if not names & {"epsilon", "rho"}:
        raise ParameterError("mechanism", "must be classes that take " + Argument("epsilon"))
    given = {name: value for name, value in parameters.items() if name not in ("epsilon", "rho")}
    given = {name: value for name, value in given.items() if name != "delta" or value is not None}
    both = {"epsilon", "rho"} <= names
    totals = both and "delta" in names  # takes a total in epsilon and delta, or a rho
    either = both and not totals and aim.delta > 0 and not {"epsilon", "rho"} & parameters.keys()
    by_rho = "epsilon" not in names or (both and "epsilon" in parameters)
    # Of a total, delta is one half; only a class that decides has one beside a rho.
    needs = (not totals or isinstance(made, Deciding)) and _needs_delta(made, given)
    pure = "rho" in parameters and not needs  # rho=None asks for noise of a pure guarantee
    by_rho = by_rho or (totals and aim.delta > 0 and not pure)
    if (needs or by_rho) and not aim.delta > 0:
        raise ParameterError("delta", "must be greater than 0: a mechanism needs a delta")
    make = functools.partial(made, **given)
    return Member(make, "rho" if by_rho else "epsilon", needs, weight, either)


def _needs_delta(made: Callable[..., Any], parameters: dict[str, Any]) -> bool:
    asked: object = made
    if isinstance(asked, Deciding):
        return asked.needs_delta(**parameters)
    return "delta" in signature(made).parameters


def read_aim(epsilon: Exact, delta: Exact, *, best: bool) -> Aim:
    """Return the total that a plan may cost."""
    return Aim(positive_number(epsilon, "epsilon"), probability(delta, "delta"), 1, best)
