"""What an estimator is given, and its result with its uncertainty."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, TypeAlias

from dphist.data.guard import refuse_guarded
from dphist.data.open_data import OpenProfile, open_profile
from dphist.data.profile import Profile
from dphist.errors import ParameterError
from dphist.release.anonymized_histogram import AnonymizedHistogram
from dphist.release.release import Release

Given: TypeAlias = Literal["data", "released value", "release"]
"""What a property was estimated from."""

_SAID: dict[Given, str] = {
    "data": "estimated from data: not private",
    "released value": "estimated from a released value, without the noise of its release",
    "release": "estimated from a release",
}

NORMAL = 1.959963984540054  # 97.5 % point
TAIL = 0.025


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimated property of a population.

    Attributes
    ----------
    value : the estimate, in `unit`.
    method : name of the estimator.
    standard_error : standard deviation of the estimate due to sampling, or None if unknown.
        Excludes bias and the noise of a release unless `notes` says otherwise.
    interval : lower and upper end of a 95 % interval, or None if no defensible value exists.
    unit : unit of `value`: "bits", "labels", "1" for a plain number.
    notes : assumptions and limits of the estimate.
    source : what was given: "data" (a Profile; the estimate is not private), "released value" (an
        AnonymizedHistogram; no error includes the noise) or "release".

    >>> estimate = Estimate(1.5, "plug-in", 0.25, None, "bits", ())
    >>> float(estimate), f"{estimate:.2f}"
    (1.5, '1.50')
    >>> print(estimate)
    1.5 bits, standard error 0.25; estimated from data: not private
    """

    value: float
    method: str
    standard_error: float | None
    interval: tuple[float, float] | None
    unit: str
    notes: tuple[str, ...]
    source: Given = "data"

    def __float__(self) -> float:
        return self.value

    def __format__(self, spec: str) -> str:
        return format(self.value, spec) if spec else str(self)

    def __str__(self) -> str:
        text = f"{self.value:.6g}" + (f" {self.unit}" if self.unit != "1" else "")
        if self.standard_error is not None:
            text += f", standard error {self.standard_error:.2g}"
        if self.interval is not None:
            low, high = self.interval
            text += f", 95 % interval {low:.6g} to {high:.6g}"
        return f"{text}; {_SAID[self.source]}"


def estimate_nothing(value: float, method: str, unit: str, source: Given = "data") -> Estimate:
    """Return the estimate for zero records: a conventional value, without error or interval."""
    return Estimate(value, method, None, None, unit, ("no records: nothing is known",), source)


def bound_unseen_share(n: int) -> float:
    """Return the largest probability of an event absent from `n` records, at 97.5 % confidence.

    All `n` records miss an event of that probability with probability 2.5 %.
    """
    return float(1 - TAIL ** (1 / n))


def plain_number(number: float, digits: int = 2) -> str:
    """Format a number rounded to `digits` significant digits, without an exponent.

    >>> plain_number(173.2), plain_number(0.004217), plain_number(-12345.0, 3)
    ('170', '0.0042', '-12,300')
    """
    if number == 0:
        return "0"
    return f"{Decimal(f'{number:.{digits - 1}e}'):,f}"


Histogram: TypeAlias = Profile | AnonymizedHistogram
Opened: TypeAlias = OpenProfile | AnonymizedHistogram
Source: TypeAlias = Histogram | Release

# Data have fewer records; noise may raise the total of a release so far that sums would wrap.
MOST_RECORDS = 2**62


def get_histogram(source: Source) -> Opened:
    """Return the histogram that `source` is or holds.

    For a release it is the released histogram with its own total. A separately estimated total is
    not used, because histogram and number of records must agree.

    Raises
    ------
    ParameterError
        If `source` is none of these, or a release of another kind, or noise raised the total of a
        release to 2**62 or more.

    >>> get_histogram(Profile.from_counts([8, 3])).total
    11
    """
    refuse_guarded(source)
    value = open_profile(source) if isinstance(source, Profile) else source
    value = value.value if isinstance(value, Release) else value
    if not isinstance(value, OpenProfile | AnonymizedHistogram):
        raise ParameterError(
            "source",
            "must be a dphist.Release of an anonymized histogram (what dphist.anonymize returns), "
            "its value, or a dphist.Profile",
        )
    if value.total >= MOST_RECORDS:
        raise ParameterError("source", "must have fewer than 2**62 records")
    return value


def name_source(source: Source) -> Given:
    """Return what an estimate says that it was given."""
    if isinstance(source, Release):
        return "release"
    return "released value" if isinstance(source, AnonymizedHistogram) else "data"
