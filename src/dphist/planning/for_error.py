"""From a wanted error to a mechanism: the least epsilon that reaches it."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from inspect import Parameter, signature
from typing import Any, Protocol, TypeVar, runtime_checkable

from dphist.errors import ParameterError
from dphist.mechanism import ExpectedError
from dphist.parameters import Exact, positive_number, whole_number
from dphist.privacy import ApproxDP, PureDP, delta_of
from dphist.privacy.calibratable import Guaranteeing
from dphist.privacy.calibration import calibrate
from dphist.release.release import Release

M = TypeVar("M", bound=Guaranteeing)

_STEPS = 900
"""Decimals of three digits between a power of ten and the next."""

_SMALLEST, _LARGEST = -6 * _STEPS, 2 * _STEPS  # epsilon from 10**-6 to 100
_STRIDE = _STEPS // 2


def for_error(
    mechanism: Callable[..., M],
    *,
    appears_from: int | None = None,
    half_width: int | None = None,
    range_rmse: Exact | None = None,
    relative_error: Exact | None = None,
    total: int | None = None,
    shape: Exact | Release | None = None,
    delta: Exact | None = None,
    releases: int = 1,
    **parameters: Any,
) -> M:
    """Return the mechanism of the least epsilon that reaches an error, without data.

    Epsilon is the total of all releases, a decimal of three digits. The error that the library
    predicts from public numbers, `expected_error`, is at most what was asked for at this epsilon,
    and more at the next smaller decimal. Predictions for labels and streams are exact, so that no
    smaller epsilon is enough. Those for ranges and anonymized histograms come from a few trials on
    public data and fluctuate between neighboring epsilons (`docs/guides/planning.md` says by how
    much), so that a slightly smaller epsilon may have as small an error.

    Parameters
    ----------
    mechanism : class or function
        As for `dphist.calibrate`. `ThresholdHistogram` takes the noise that needs the smaller
        epsilon, unless `noise` is given.
    appears_from : int, records
        Of labels and streams: a label with this count is released with probability 0.95 or more.
        Of mechanisms that look at the largest counts only, with a count that far above the next.
    half_width : int, records
        Of labels and streams: the noise of a count is within this with probability 0.95 or more.
    range_rmse : number, records
        Of ranges: the root of the mean squared error of a random range. Needs `total`.
    relative_error : number
        Of anonymized histograms and ranges: the expected error as a share of `total`, such as
        0.001. Needs `total`.
    total : int
        A public guess of the number of records, for the errors of ranges and of anonymized
        histograms. These errors are averages on public data of that size, rougher than most
        real data; `docs/guides/planning.md` has measurements.
    shape : number or Release, optional
        Of anonymized histograms, a public guess of the curve, as in `expected_error`: the exponent
        of a power law (default: 1), or an older release that is likely to be alike.
    delta : number, optional
        Total delta of all releases, where the mechanism needs one.
    releases : int
        Number of releases that the total covers.
    **parameters : passed to the mechanism.

    Raises
    ------
    ParameterError
        If a number is out of range, the error is not one of this kind of mechanism, or no epsilon
        up to 100 reaches it.

    Guarantee
    ---------
    The result is a mechanism with its own guarantee, which is that of the epsilon found. No data
    are read.

    Examples
    --------
    >>> from dphist.labels import ThresholdHistogram
    >>> found = for_error(ThresholdHistogram, appears_from=200, max_labels=10, delta="1e-6")
    >>> found.target, found.noise, found.expected_error().appears_from
    ((0.435, 1e-6)-differential privacy, 'gaussian', 200)
    """
    wanted = _Wanted.checked(appears_from, half_width, range_rmse, relative_error, total, shape)
    count = whole_number(releases, "releases", 1, 2**40)

    def least(**more: Any) -> tuple[int, M]:
        make = functools.partial(_of_total, mechanism, delta, count, {**parameters, **more})
        return _least(make, wanted)

    noises = () if "noise" in parameters else getattr(mechanism, "noises_compared", ())
    found = [each for each in map(functools.partial(_tried, least), noises) if each]
    if not found:
        return least()[1]  # the only one, or it says why not
    return min(found, key=lambda each: each[0])[1]


def _tried(least: Callable[..., tuple[int, M]], noise: str) -> tuple[int, M] | None:
    try:
        return least(noise=noise)
    except ParameterError:
        return None


def _of_total(
    mechanism: Callable[..., M],
    delta: Exact | None,
    releases: int,
    parameters: dict[str, Any],
    epsilon: Fraction,
) -> M:
    """Return the mechanism whose releases cost (epsilon, delta) in all.

    Where epsilon is the parameter that the mechanism itself guarantees, as of ranges, it is made
    directly; otherwise it is calibrated.
    """
    own = {} if delta is None else {"delta": delta}
    if releases == 1:
        direct = _directly(mechanism, {**own, **parameters}, epsilon)
        if direct is not None:
            return direct
    return calibrate(
        mechanism,
        epsilon=epsilon,
        delta=0 if delta is None else delta,
        releases=releases,
        **parameters,
    )


def _directly(
    mechanism: Callable[..., M], parameters: dict[str, Any], epsilon: Fraction
) -> M | None:
    """Return the mechanism with this epsilon if it guarantees just that; None otherwise."""
    if not _takes(mechanism, "epsilon", *parameters):
        return None
    try:
        made = mechanism(epsilon=epsilon, **parameters)
    except ParameterError:  # a delta is missing, or there is none for these parameters
        return None
    guarantee = made.guarantee
    stated = isinstance(guarantee, PureDP | ApproxDP) and guarantee.epsilon == epsilon
    asked = Fraction(0) if "delta" not in parameters else None
    if not stated or (asked is not None and delta_of(guarantee) != asked):
        return None
    return made


def _takes(function: Callable[..., Any], *names: str) -> bool:
    """Whether a function has parameters of all these names."""
    known = signature(function).parameters
    return all(name in known for name in names) or any(
        each.kind is Parameter.VAR_KEYWORD for each in known.values()
    )


def _least(make: Callable[[Fraction], M], wanted: "_Wanted") -> tuple[int, M]:
    """Return the least place on the grid whose mechanism reaches the error, and that mechanism.

    The place before it was tried, and does not reach it.
    """
    made: dict[int, M | None] = {}

    def reaches(place: int) -> bool:
        if place not in made:
            made[place] = _made_if_possible(make, place) if made else make(_epsilon(place))
        mechanism = made[place]
        return mechanism is not None and wanted.reached_by(mechanism)

    high = 0
    if reaches(high):
        low = high - _STRIDE
        while low > _SMALLEST and reaches(low):
            high, low = low, low - _STRIDE
        if low <= _SMALLEST:
            low = _SMALLEST - 1  # smaller ones are not offered
    else:
        low, high = high, high + _STRIDE
        while not reaches(high):
            if high >= _LARGEST:
                raise wanted.out_of_reach()
            low, high = high, high + _STRIDE
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reaches(middle) else (middle, high)
    found = made[high]
    assert found is not None  # noqa: S101 - it reaches the error
    return high, found


def _made_if_possible(make: Callable[[Fraction], M], place: int) -> M | None:
    """Return the mechanism; None where epsilon is too small or too large for one."""
    try:
        return make(_epsilon(place))
    except ParameterError:
        return None


def _epsilon(place: int) -> Fraction:
    """Return a decimal of three digits by its place: 1 has 0, 1.01 has 1, 0.999 has -1.

    >>> [str(_epsilon(place)) for place in (-900, -1, 0, 1, 900)]
    ['1/10', '999/1000', '1', '101/100', '10']
    """
    power, step = divmod(place, _STEPS)
    return (100 + step) * Fraction(10) ** (power - 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """The error that was asked for; None for what was not."""

    appears_from: int | None
    half_width: int | None
    most: Fraction | None
    of_ranges: bool
    total: int | None
    shape: Exact | Release | None

    @classmethod
    def checked(
        cls,
        appears_from: int | None,
        half_width: int | None,
        range_rmse: Exact | None,
        relative_error: Exact | None,
        total: int | None,
        shape: Exact | Release | None,
    ) -> "_Wanted":
        """Return what was asked for, if it is one kind of error."""
        of_counts = appears_from is not None or half_width is not None
        given = (of_counts, range_rmse is not None, relative_error is not None)
        if sum(given) != 1:
            raise ParameterError(
                ("appears_from", "half_width", "range_rmse", "relative_error"),
                "are errors, of which one must be given: the first two, or one of them, for labels "
                "and streams, the third for ranges, the last for anonymized histograms or ranges",
            )
        if appears_from is not None:
            whole_number(appears_from, "appears_from", 1)
        if half_width is not None:
            whole_number(half_width, "half_width", 0)
        if of_counts:
            if total is not None:
                raise ParameterError(
                    "total", "must be left out: errors of labels do not depend on it"
                )
            if shape is not None:
                raise ParameterError("shape", "must be left out: it is for anonymized histograms")
            return cls(appears_from=appears_from, half_width=half_width, most=None,
                       of_ranges=False, total=None, shape=None)  # fmt: skip
        if total is None:
            raise ParameterError("total", "must be given: a public guess of the number of records")
        records = whole_number(total, "total", 1)
        if range_rmse is not None:
            most = positive_number(range_rmse, "range_rmse", most=2**62)
        else:
            most = positive_number(relative_error or 0, "relative_error") * records
        return cls(appears_from=None, half_width=None, most=most,
                   of_ranges=range_rmse is not None, total=records, shape=shape)  # fmt: skip

    def reached_by(self, mechanism: object) -> bool:
        """Whether the error that the library predicts is at most this one."""
        if not isinstance(mechanism, _Predicting):
            raise _of_another_kind(self.names[0], mechanism)
        if self.most is not None:
            return Fraction(self._error_in_records(mechanism)) <= self.most
        if _takes(mechanism.expected_error, "total"):
            raise _of_another_kind(self.names[0], mechanism)
        expected = mechanism.expected_error()
        return all(
            self._holds(name, expected, mechanism)
            for name in ("appears_from", "half_width")
            if getattr(self, name) is not None
        )

    def _error_in_records(self, mechanism: "_Predicting") -> float:
        """Return the error for the public guesses; refuse mechanisms that state no such error."""
        of_profiles = _takes(mechanism.expected_error, "shape")
        if self.shape is not None and not of_profiles:
            raise ParameterError("shape", "must be left out: it is for anonymized histograms")
        if (self.of_ranges and of_profiles) or not _takes(mechanism.expected_error, "total"):
            raise _of_another_kind(self.names[0], mechanism)
        if self.shape is None:
            error = mechanism.expected_error(self.total)
        else:
            total = None if isinstance(self.shape, Release) else self.total
            error = mechanism.expected_error(total, self.shape)
        if not isinstance(error, int | float):
            raise _of_another_kind(self.names[0], mechanism)
        return float(error)

    def _holds(self, name: str, expected: object, mechanism: object) -> bool:
        found = getattr(expected, name) if isinstance(expected, ExpectedError) else None
        if found is None:
            raise _of_another_kind(name, mechanism)
        return bool(found <= getattr(self, name))

    @property
    def names(self) -> list[str]:
        """The parameters by which the error was asked for."""
        if self.most is not None:
            return ["range_rmse" if self.of_ranges else "relative_error"]
        return [n for n in ("appears_from", "half_width") if getattr(self, n) is not None]

    def out_of_reach(self) -> ParameterError:
        """Return the error where no epsilon is enough."""
        verb = "are" if len(self.names) > 1 else "is"
        return ParameterError(
            tuple(self.names),
            f"{verb} out of reach: no epsilon up to 100 is enough",
            "ask for a larger error, or lower the bounds of a user",
        )


@runtime_checkable
class _Predicting(Protocol):
    """A mechanism that predicts its error from public numbers alone.

    Those whose errors depend on the number of records take a `total`, and return records: of a
    random range, or of a whole profile if they also take its `shape`. Others take nothing, and
    return an `ExpectedError`.
    """

    def expected_error(self, *public: Any) -> Any: ...


def _of_another_kind(name: str, mechanism: object) -> ParameterError:
    return ParameterError(
        name,
        f"must be left out: {type(mechanism).__name__} has no such error; see dphist.for_error "
        "for the errors of each kind",
    )
