"""What all mechanisms share: the protocol, meanings of parameters, a target, releasing."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Protocol, Self, TypedDict, TypeVar, runtime_checkable

from dphist.arrays import IntArray
from dphist.errors import ParameterError, UnsupportedError
from dphist.noise.for_tests import is_for_tests
from dphist.noise.gaussian_epsilon import LEAST_EPSILON
from dphist.noise.inversion import Source
from dphist.noise.law import NoiseLaw
from dphist.parameters import Exact, check_level, probability, whole_number
from dphist.privacy import (
    MOST_RELEASES,
    ApproxDP,
    Guarantee,
    PrivacyUnit,
    PureDP,
    Target,
    dp_events,
    find_delta,
    least_epsilon,
)
from dphist.privacy.exchanged import exchange_by_steps
from dphist.privacy.losses import Losses, covering
from dphist.privacy.unit import ONE_EDGE, ONE_RECORD
from dphist.release.maker import Maker, read_parameters
from dphist.release.mechanisms import savable
from dphist.release.release import Release
from dphist.shown import show_by

M = TypeVar("M")


class Meaning(TypedDict, total=False):
    """What the metadata of a mechanism's field say of a parameter.

    Reports, help and documentation take their texts from here.
    """

    meaning: str
    """What the parameter is, in a sentence."""
    not_given: str
    """What it means that the parameter is None."""
    public: bool
    """Whether the caller vouches that the value is public, not taken from the data."""
    symbol: str
    """The letter that stands for a number, such as N."""
    needs: Sequence[tuple[str, str]]
    """Parameters without which it changes nothing, each with the reason."""
    shown: Callable[[Any], Sequence[str]]
    """Returns the parts of a value that is given, as readers see them, of a mechanism."""


@runtime_checkable
class Mechanism(Maker, Protocol):
    """What every mechanism offers: those of dphist, and your own.

    A mechanism is a frozen dataclass. Its constructor takes everything that does not depend on
    data and refuses bad parameters with a `ParameterError`. The metadata of its fields say what the
    parameters mean: ``field(metadata={"meaning": "...", "not_given": "...", "public": True})``, see
    `Meaning`. `dphist.register` makes such a class save, load, plot and report like those of
    dphist; `docs/guides/own-mechanism.md` has an example.

    `PayWhatYouGet` and `ContinualMechanism` are no mechanisms in this sense, because data come to
    them more than once: a session has `top` in place of `release`, and the parameters of a stream
    are handed to a `ContinualHistogram`, which has `update` and `release`. Everything else of this
    protocol they have.
    """

    def release(self, data: Any, /, source: Source | None = None) -> Release:
        """Return a release of the data: the only place that sees data and draws noise.

        Parameters
        ----------
        source : callable, optional
            `source(n)` returns n random bytes. For tests only: the release says so.
        """


_OFFERED = (
    *("guarantee", "noise_scale", "description", "reference"),
    *("release", "decode", "expected_error", "intervals"),
)


def register(mechanism: type[M]) -> type[M]:
    """Register a mechanism: see `dphist.register`."""
    if not isinstance(mechanism, type) or not is_dataclass(mechanism):
        raise ParameterError("mechanism", "must be a class that is a frozen dataclass")
    settings: Any = mechanism.__dataclass_params__  # type: ignore[attr-defined]
    if not settings.frozen:
        raise ParameterError("mechanism", "must be frozen: @dataclass(frozen=True)")
    held = {item.name for item in fields(mechanism)} | {*dir(mechanism)}
    missing = [name for name in _OFFERED if name not in held]
    if missing:
        raise ParameterError("mechanism", f"must have {', '.join(missing)}: see dphist.Mechanism")
    return savable(mechanism)


_FOLLOWING = (
    *("epsilon_guarantee", "_guarantees", "epsilon_at", "to_approx_dp", "dp_event"),
    *("privacy_losses", "exchanged", "_event_of_exchange", "_losses_of_exchange"),
)
"""What says more of a guarantee, or follows from it."""


@dataclass(frozen=True, slots=True)
class ExpectedError:
    """The error to expect of released labels.

    Attributes
    ----------
    appears_from : number or None
        The smallest count, in records, from which a label is released with probability `level`.
        Of mechanisms that look at the largest counts only, that many above the next count. None
        where all labels are released.
    half_width : number or None
        The smallest q for which the noise of a released count is within q with probability `level`;
        None if no counts are released.
    noise_scale : scale of the noise, in records.
    level : probability.
    largest_error : number or None
        Noise never changes a count by more than this, in records; None if noise has no end. What
        bounding dropped comes on top.
    """

    appears_from: float | None
    half_width: float | None
    noise_scale: Fraction | float
    level: float = 0.95
    largest_error: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """Bounds on the true counts of a release, for each count by itself.

    Attributes
    ----------
    lower, upper : arrays in the shape and order of the released counts, in records.
    level : probability, over the noise alone, with which a true count is between the two; about
        that for bins inferred from several noisy counts, whose error is assumed to be normal.
    """

    lower: Any
    upper: Any
    level: float


def parameter(
    meaning: str,
    not_given: str = "",
    public: bool = False,
    symbol: str = "",
    needs: Sequence[tuple[str, str]] = (),
    shown: Callable[[Any], Sequence[str]] | None = None,
) -> Any:
    """Return the field of a mechanism's parameter: see `Meaning`."""
    told = {"not_given": not_given, "public": public, "symbol": symbol, "needs": needs}
    told["shown"] = shown
    return field(metadata={"meaning": meaning} | {key: held for key, held in told.items() if held})


def read_meanings(mechanism: Maker | type) -> dict[str, Meaning]:
    """Return what the fields of a mechanism say of its parameters, by name."""
    return {
        item.name: Meaning(**item.metadata)  # type: ignore[typeddict-item]
        for item in fields(mechanism)
        if item.init
    }


@dataclass(frozen=True, slots=True, init=False, repr=False, eq=False)
class MechanismBase(Maker):
    """A frozen mechanism that remembers what it was calibrated to.

    Attributes
    ----------
    target : Target or None
        What `dphist.calibrate` was asked for; None for a mechanism that was made by hand. Equality
        and saved releases include it; it is no parameter of the constructor.
    paper : str
        The key of its paper's entry in `papers.bib`; empty if there is none.
    """

    paper: ClassVar[str] = ""
    target: Target | None = field(default=None, init=False)

    def __init_subclass__(cls, **given: Any) -> None:
        """Let a class that states another guarantee not inherit what followed from the former."""
        super(MechanismBase, cls).__init_subclass__(**given)  # slots make another class of this
        place, *former = (i for i, each in enumerate(cls.__mro__) if "guarantee" in vars(each))
        stated = [vars(cls.__mro__[i])["guarantee"] for i in former]
        if all(getattr(each, "__isabstractmethod__", False) for each in stated):
            return
        for name in _FOLLOWING:
            own = any(name in vars(each) for each in cls.__mro__[: place + 1])
            if not own and getattr(cls, name) is not vars(MechanismBase)[name]:
                setattr(cls, name, vars(MechanismBase)[name])

    def __new__(cls, *_: Any, **__: Any) -> Self:
        """Make a mechanism without a target; subclasses have constructors of their own."""
        made = object.__new__(cls)
        object.__setattr__(made, "target", None)
        return made

    def __repr__(self) -> str:
        shown = [f"{name}={value!r}" for name, value in read_parameters(self).items()]
        if self.target is not None:
            shown.append(f"target={self.target!r}")
        return f"{type(self).__name__}({', '.join(shown)})"

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        return str(show_by("html_of", self))

    def _hold(self, **values: object) -> None:
        """Set fields, in the constructor: the mechanism is frozen, but not yet given out."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def decode(self, noisy: Mapping[str, IntArray]) -> Any:
        """Return the value inferred from noisy counts; refused here: none are kept."""
        name = type(self).__name__
        raise UnsupportedError(f"a release of {name} does not keep what its value came from")

    @abstractmethod
    def restore(self, value: Any, noisy: Mapping[str, IntArray]) -> Any:
        """Return a value that was read from a file as it was released.

        Raises
        ------
        ValueError
            If this mechanism cannot have released it.
        """

    @property
    def epsilon_guarantee(self) -> PureDP | ApproxDP | None:
        """Return a guarantee in epsilon that holds beside `guarantee`, if there is one."""
        return None

    @property
    @abstractmethod
    def law(self) -> NoiseLaw:
        """The law of the noise on the numbers that are measured."""

    @property
    def exchanged(self) -> Guarantee | None:
        """What a release costs a unit that is exchanged for another: neighbors of equal size.

        It holds beside `guarantee`, which is for a unit that is added or removed. By group privacy
        it is twice epsilon and four times rho, and less where a mechanism knows more
        (`docs/understand/proofs/exchanged.md`). None if a delta is too large for any.
        """
        return exchange_by_steps(self.guarantee)

    def _guarantees(self) -> Sequence[Guarantee]:
        """Return all guarantees that hold of a release."""
        direct = self.epsilon_guarantee
        return [self.guarantee] if direct is None else [self.guarantee, direct]

    def epsilon_at(self, delta: Exact, releases: int = 1) -> Fraction | None:
        """Return the smallest epsilon known for `releases` releases at a total delta.

        None if that delta is too small for any. Releases may be chosen after earlier results;
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

    def dp_event(self, delta: Exact | None = None, *, exchanged: bool = False) -> Any:
        """Return a release as an event of `dp_accounting`, to account for it with other releases.

        Geometric noise is a `DiscreteLaplaceDpEvent`, Gaussian noise, rounded or not, a
        `GaussianDpEvent`. Where the noise depends on earlier results, the event is one that costs
        at least as much. A threshold adds a part that fails with the mechanism's delta, which
        `dphist.lab.bridges.dp_accounting.PLDAccountant` takes. Numbers are rounded to the side
        that costs more.

        Parameters
        ----------
        delta : the event then covers the (epsilon, delta)-DP of `to_approx_dp(delta)`; required for
            mechanisms with a guarantee in approximate zCDP alone.
        exchanged : the event is for neighbors that differ by exchanging a unit, as in `exchanged`.

        Returns
        -------
        dp_accounting.DpEvent
            For neighbors that differ by adding or removing one unit of `guarantee.unit`.

        Raises
        ------
        ParameterError
            If `dp_accounting` is not installed (``pip install 'dphist[accounting]'``), or `delta`
            is missing or too small.
        """
        if not isinstance(exchanged, bool):
            raise ParameterError("exchanged", "must be True or False")
        if exchanged:
            return self._event_of_exchange(delta)
        if delta is not None:
            return dp_events.make_event(covering([self.to_approx_dp(delta)]))
        return dp_events.make_event(self.privacy_losses())

    def privacy_losses(self) -> Losses:
        """Return the privacy losses of a release, or larger ones, as accounts add them up."""
        return covering([*reversed(self._guarantees())])  # subclasses know more of their noise

    def _event_of_exchange(self, delta: Exact | None) -> Any:
        """Return an event that costs what `exchanged` allows, or more."""
        stated = self.exchanged
        if stated is None:
            raise ParameterError("exchanged", "has no event: delta is too large for two units")
        if delta is not None:
            return dp_events.make_event(covering([stated.to_approx_dp(delta)]))
        return dp_events.make_event(self._losses_of_exchange(stated))

    def _losses_of_exchange(self, stated: Guarantee) -> Losses:
        """Return the losses of an exchange; subclasses know more of their noise."""
        return covering([stated])

    def calibrated_to(self, target: Target) -> Self:
        """Return this mechanism with what it was asked to cost; `dphist.calibrate` calls it.

        Raises
        ------
        ParameterError
            If the mechanism costs more, or the target is for a unit that it does not protect.
        """
        if not isinstance(target, Target):
            raise ParameterError("target", "must be a Target, such as Target(ApproxDP(1, '1e-6'))")
        check_unit(target.guarantee, self.guarantee.unit, "target")
        least = self.epsilon_at(find_delta(target.guarantee), target.releases)
        if least is None or least > target.guarantee.epsilon:
            raise ParameterError(
                "target", "must be at least what the mechanism costs: see epsilon_at"
            )
        asked = replace(target.guarantee, unit=self.guarantee.unit)
        made = object.__new__(type(self))
        held = {item.name: getattr(self, item.name) for item in fields(self)}
        made._hold(**held | {"target": Target(asked, target.releases)})
        return made

    def _check_asked(self, release: Release, level: float, most: float | None = None) -> None:
        """Refuse bounds on what another kind of mechanism released, or at such a level."""
        if not (isinstance(release, Release) and isinstance(release.mechanism, type(self))):
            raise ParameterError(
                "release",
                f"must be one of {type(self).__name__}; each release has the mechanism that can "
                "answer as release.mechanism",
            )
        check_level(level, most=most)

    def _make_release(
        self,
        value: Any,
        data: object,
        source: Source | None,
        *,
        total: int | None = None,
        noisy: Mapping[str, IntArray] | None = None,
        provenance: Mapping[str, Any] | None = None,
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


def check_kind(value: object, kind: type[Any]) -> None:
    """Refuse, of a release that is loaded, a value of another kind than the mechanism releases."""
    if not isinstance(value, kind):
        raise ValueError("the mechanism does not release values of this kind")


def check_unit(asked: Guarantee, own: PrivacyUnit, name: str) -> None:
    """Refuse what is asked for a unit that a mechanism does not protect; one record states none."""
    if asked.unit not in (ONE_RECORD, own):
        raise ParameterError(
            name,
            f"must be for {own}, whom the mechanism protects, or state no unit: it is for "
            f"{asked.unit}",
        )


class _OfRecords(Protocol):
    """Data of which one unit has a bounded number of records."""

    @property
    def unit(self) -> PrivacyUnit | None: ...

    @property
    def sensitivity(self) -> int: ...


def provenance_of_unit(data: _OfRecords) -> dict[str, Any]:
    """Return whom the data say they protect, as a release states it; nothing if they do not say.

    What the data were cut to may be less than what the mechanism protects.
    """
    if data.unit is None:
        return {}
    if data.unit == ONE_EDGE and not data.unit.asserted:
        return {"unit": data.unit}
    missing = getattr(data, "null_users", None)
    found = {"unit": data.unit, **({} if missing is None else {"null_users": missing})}
    if getattr(data, "counts_users", False):
        return {**found, "counted": "users"}
    return {**found, "max_records": str(data.sensitivity)}
