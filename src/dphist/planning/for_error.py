"""From a wanted error to a mechanism: the least epsilon that reaches it."""

import contextlib
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from inspect import Parameter, signature
from typing import Any, TypeVar

from dphist.errors import ParameterError
from dphist.mechanism import ExpectedError
from dphist.parameters import Exact, positive_number, whole_number
from dphist.privacy import ApproxDP, PureDP, find_delta
from dphist.privacy.calibratable import Guaranteeing
from dphist.privacy.calibration import calibrate
from dphist.release.release import Release

M = TypeVar("M", bound=Guaranteeing)

_STEPS = 900
"""Decimals of three digits between a power of ten and the next."""

_SMALLEST, _LARGEST = -6 * _STEPS, 2 * _STEPS  # epsilon from 10**-6 to 100
_STRIDE = _STEPS // 2
_SMALLEST_ASKED = {"appears_from": 1, "half_width": 0}  # errors of single counts
_ERROR = "error"  # of tables, whose prediction is this one number


def for_error(
    mechanism: Callable[..., M],
    *,
    appears_from: int | None = None,
    half_width: int | None = None,
    error: Exact | None = None,
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
    and more at the next smaller decimal. Those for labels, streams and tables are exact, so that no
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
    error : number, records
        Of tables: the standard error of a cell of each table asked; half of a 95 % interval is 1.96
        times that.
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
    _refuse_budgets(parameters)
    errors = {
        "appears_from": appears_from,
        "half_width": half_width,
        _ERROR: error,
        "range_rmse": range_rmse,
        "relative_error": relative_error,
    }
    wanted = _Wanted.checked(errors, total, shape)
    count = whole_number(releases, "releases", 1, 2**40)

    def least(**more: Any) -> tuple[int, M]:
        make = functools.partial(_search_total, mechanism, delta, count, {**parameters, **more})
        return _least(make, wanted)

    found = []
    compared = None if "noise" in parameters else getattr(mechanism, "noises_compared", None)
    for noise in compared(**parameters) if compared is not None else ():
        with contextlib.suppress(ParameterError):
            found.append(least(noise=noise))
    if not found:
        return least()[1]  # the only one, or it says why not
    return min(found, key=lambda each: each[0])[1]


def _refuse_budgets(parameters: Mapping[str, Any]) -> None:
    for name in ("epsilon", "rho"):
        if parameters.get(name) is not None:
            raise ParameterError(
                name,
                "must not be given: for_error finds the smallest budget that reaches the error",
                "give the error that is wanted, or make the mechanism itself with this budget",
            )


def _search_total(
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
        direct = _try_directly(mechanism, {**own, **parameters}, epsilon)
        if direct is not None:
            return direct
    return calibrate(
        mechanism,
        epsilon=epsilon,
        delta=0 if delta is None else delta,
        releases=releases,
        **parameters,
    )


def _try_directly(
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
    pure = "delta" in parameters or find_delta(guarantee) == 0
    return made if stated and pure else None


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
            try:
                made[place] = make(_epsilon(place))
            except ParameterError:  # of the first, its parameters; later, that of an epsilon
                if not made:
                    raise
                made[place] = None
        mechanism = made[place]
        return mechanism is not None and wanted.is_reached_by(mechanism)

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


def _epsilon(place: int) -> Fraction:
    """Return a decimal of three digits by its place: 1 has 0, 1.01 has 1, 0.999 has -1.

    >>> [str(_epsilon(place)) for place in (-900, -1, 0, 1, 900)]
    ['1/10', '999/1000', '1', '101/100', '10']
    """
    power, step = divmod(place, _STEPS)
    return (100 + step) * Fraction(10) ** (power - 2)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """Errors that were asked for.

    Attributes
    ----------
    most : what each may be at most, in records, by parameter.
    guesses : what the prediction is given of them: nothing where errors are of single counts; else
        the total, and perhaps the shape.
    """

    most: Mapping[str, Fraction | int]
    guesses: tuple[Any, ...] = ()

    @classmethod
    def checked(
        cls, errors: Mapping[str, Any], total: int | None, shape: Exact | Release | None
    ) -> "_Wanted":
        """Return what was asked for, if it is one kind of error."""
        asked = {name: value for name, value in errors.items() if value is not None}
        of_counts = asked.keys() <= _SMALLEST_ASKED.keys()
        if not asked or (len(asked) > 1 and not of_counts):
            raise ParameterError(
                tuple(errors),
                "are errors, of which one must be given, or both of the first two. For labels and "
                "streams: the first two; for tables: the third; for ranges: the fourth or the "
                "last; for anonymized histograms: the last",
            )
        if of_counts or _ERROR in asked:
            most = {
                name: positive_number(each, name, most=2**62)
                if name == _ERROR
                else whole_number(each, name, _SMALLEST_ASKED[name])
                for name, each in asked.items()
            }
            if total is not None:
                raise ParameterError("total", "must be left out: this error does not depend on it")
            if shape is not None:
                raise _no_shape()
            return cls(most)
        if total is None:
            raise ParameterError("total", "must be given: a public guess of the number of records")
        records = whole_number(total, "total", 1)
        ((name, error),) = asked.items()
        if name == "range_rmse":
            held = positive_number(error, name, most=2**62)
        else:
            held = positive_number(error, name) * records
        if shape is None:
            return cls({name: held}, (records,))
        return cls({name: held}, (None if isinstance(shape, Release) else records, shape))

    def is_reached_by(self, mechanism: object) -> bool:
        """Whether the errors that the library predicts are at most these."""
        return all(self._predict(mechanism, name) <= most for name, most in self.most.items())

    def _predict(self, mechanism: object, name: str) -> Fraction:
        """Return an error that a mechanism predicts from public numbers alone.

        Mechanisms whose errors depend on the number of records take a `total`, and return records:
        of a random range, or of a whole profile if they also take its `shape`. Others take nothing,
        and return an `ExpectedError`, or the one error of a cell.
        """
        found, predict = None, getattr(mechanism, "expected_error", None)
        if predict is not None:
            of_profiles = _takes(predict, "shape")
            if len(self.guesses) > 1 and not of_profiles:
                raise _no_shape()
            alike = _takes(predict, "total") == bool(self.guesses)
            if alike and not (name == "range_rmse" and of_profiles):
                found = predict(*self.guesses)
        if isinstance(found, ExpectedError):
            found = getattr(found, name, None)
        elif name in _SMALLEST_ASKED:
            found = None
        if not isinstance(found, int | float):
            raise ParameterError(
                name,
                f"must be left out: {type(mechanism).__name__} has no such error; see "
                "dphist.for_error for the errors of each kind",
            )
        return Fraction(found)

    def out_of_reach(self) -> ParameterError:
        """Return the error where no epsilon is enough."""
        verb = "are" if len(self.most) > 1 else "is"
        return ParameterError(
            tuple(self.most),
            f"{verb} out of reach: no epsilon up to 100 is enough",
            "ask for a larger error, or lower the bounds of a user",
        )


def _no_shape() -> ParameterError:
    return ParameterError("shape", "must be left out: it is for anonymized histograms")
