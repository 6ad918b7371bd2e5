"""Planning: what a kind declares so that its releases can be planned and compared with a plan."""

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from fractions import Fraction
from itertools import product
from typing import Any, Literal, NamedTuple, TypeAlias

from dphist.arrays import IntArray
from dphist.document.options import Option, Table, make_option, split_parts, whole
from dphist.errors import ParameterError
from dphist.parameters import positive_delta, privacy_parameter, read_number, whole_number
from dphist.privacy import PrivacyUnit
from dphist.privacy.delta_worth import suggest_delta
from dphist.privacy.unit import ONE_RECORD, ONE_USER
from dphist.release.label_table import LabelTable
from dphist.release.release import Release

Asked: TypeAlias = Mapping[str, Any]
"""What all settings of a plan share, by parameter."""

Row: TypeAlias = dict[str, Any]
"""A setting of a plan: values by column."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a plan.

    Attributes
    ----------
    name : in Python, in JSON and in a table.
    title : a heading. In it and in `meaning`, {many} stands for several of what is protected.
    meaning : what the number is, in a sentence, with its unit. {one} stands for one of what is
        protected, and the name of a parameter in braces for what was asked for.
    holds : type of the values: Fraction for exact numbers, which are not negative.
    role : "bound" of what is set, with a line of the charts for each value; "choice" of what
        follows from that; "worth" of what each row states.
    counted : one and several of what a bound counts, for legends: ("label", "labels").
    chart : title of the chart of this error; empty if it is not the error that a chart shows.
    share : whether it is written as a percentage.
    half : whether it is half of a 95 % interval, written as a release writes it: `PlusMinus`.
    not_given : what is written for None; empty if there always is a value.
    """

    name: str
    title: str
    meaning: str
    _: KW_ONLY
    holds: type[Any] = int
    role: Literal["bound", "choice", "worth"] = "worth"
    counted: tuple[str, str] | None = None
    chart: str = ""
    share: bool = False
    half: bool = False
    not_given: str = ""


class Found(NamedTuple):
    """What a release shows of a quantity.

    Attributes
    ----------
    value : the number; a share if a percentage was asked for.
    said : the value and what it is.
    ends : what the true number is between, where only noise is known of it.
    """

    value: float | Fraction
    said: str
    ends: tuple[Fraction, Fraction] | None = None


@dataclass(frozen=True, slots=True)
class Quantity:
    """What an acceptance criterion may be about.

    Attributes
    ----------
    found : returns what a release shows, from known noise and released values alone; the second
        argument is whether a percentage is asked for. A text says what it would take to find one.
    percent : whether it may, must or can never be written as a percentage.
    example : a percentage that releases can keep below, for helps and errors.
    """

    found: Callable[[Release, bool], Found | str]
    percent: Literal["never", "may", "must"] = "never"
    example: str = "0.5 %"


@dataclass(frozen=True, slots=True, kw_only=True)
class Planning:
    """How releases of a kind are planned, before any data are read.

    Attributes
    ----------
    title : heading of a plan.
    question : what its releases answer, such as "how many records lie in any range".
    settings : a function with keyword-only parameters, which are what a plan takes; it yields a row
        for each setting. A row has the total "epsilon", perhaps "delta", and numbers that a
        mechanism of this setting states, one of them in a column with a chart.
    columns : of these rows, in any order, beside "epsilon" and "delta".
    unit : returns what is protected if a plan names nothing.
    kept : by parameter, what a plan and `settings` are given of a value in its place, such as the
        length of a list.
    guesses : by parameter, what a public number counts, such as "records"; {many} as in a `Column`.
    limit : returns what a plan does not know: what that is about, and how it matters.
    quantities : what criteria may be about, by name, beside "epsilon", "delta" and "bounding
        error".
    elsewhere : by parameter of a mechanism that is not for a plan, what states its errors.
    command : returns the command of a setting, and its options but those of cost and output.
    options : returns the options of `dphist plan KIND`, named by the parameters of `settings`.
        Without it there is no such command.
    """

    title: str
    question: str
    settings: Callable[..., Iterator[Row]]
    columns: Sequence[Column]
    unit: Callable[[Asked], PrivacyUnit] = lambda _asked: ONE_RECORD
    kept: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    guesses: Mapping[str, str] = field(default_factory=dict)
    limit: Callable[[Asked], tuple[str, str]] | None = None
    quantities: Mapping[str, Quantity] = field(default_factory=dict)
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    command: Callable[[Asked, Row, PrivacyUnit], Sequence[str]] | None = None
    options: Callable[[], Table] | None = None


# Columns.

MAX_LABELS = Column(
    "max_labels",
    "Labels kept",
    "Labels of one {one} that are counted at most.",
    role="bound",
    counted=("label", "labels"),
)
SENSITIVITY = Column(
    "sensitivity",
    "Records kept",
    "Records of one {one} that are counted at most.",
    role="bound",
    counted=("record", "records"),
)
APPEARS_FROM = Column(
    "appears_from",
    "Appears from",
    "A label with this count, in records, is released with a probability of 95 % or more.",
    chart="Smallest count that appears",
)
SHARE_OF_USERS = Column(
    "share_of_users",
    "Of all",
    "That count as a share of the guessed number of {many}.",
    holds=float,
    share=True,
)
HALF_WIDTH = Column(
    "half_width",
    "Count ±",
    "The noise of a released count is within this, in records, with a probability of 95 % or more.",
    chart="Error of a count",
)
RELATIVE_ERROR = Column(
    "relative_error",
    "Of total",
    "That error as a share of the guessed total.",
    holds=float,
    share=True,
)
DELTA_TIMES_USERS = Column(
    "delta_times_users",
    "δ times {many}",
    "δ times the guessed number of {many}: it should be at most 0.01.",
    holds=Fraction,
)
WORTH_OF_LABELS = (APPEARS_FROM, SHARE_OF_USERS, HALF_WIDTH, DELTA_TIMES_USERS)


# Settings.

EPSILONS = ("0.1", "0.2", "0.5", "1", "2", "4")
_USUAL_DELTA = "0.000001"
_MOST_SETTINGS = 1000


def grid(**asked: tuple[Any, Callable[[Any, str], Any]]) -> Iterator[Row]:
    """Return each combination of the values asked for; the last one varies fastest.

    Parameters
    ----------
    **asked : by parameter, one value or several in a list, and what checks one by its name.
    """
    checked = {
        name: [check(each, name) for each in _several(values, name)]
        for name, (values, check) in asked.items()
    }
    for name, values in checked.items():
        if len(set(values)) < len(values):
            raise ParameterError(name, "must have each value once")
    combined = list(product(*checked.values()))
    if len(combined) > _MOST_SETTINGS:
        raise ParameterError(
            tuple(checked),
            f"must make at most {_MOST_SETTINGS:,} settings together",
            "give fewer values of one of them",
        )
    return (dict(zip(checked, values, strict=True)) for values in combined)


def _several(values: Any, name: str) -> Sequence[Any]:
    """Return the values asked for: one, or several in a list."""
    if not isinstance(values, list | tuple | range):
        return [values]
    if not values:
        raise ParameterError(name, "must have at least one value")
    return list(values)


def one_or_more(value: Any, name: str) -> int:
    """Return a whole number of at least 1."""
    return whole_number(value, name, 1)


def delta_of_labels(value: Any, _name: str) -> Fraction:
    """Return a delta above 0, as labels that nobody listed need."""
    return positive_delta(value, "labels come from the data")


def delta_or_advised(delta: Any, users: int | None) -> Any:
    """Return the deltas that were asked for, or one that is small for the number of users."""
    if delta is not None:
        return delta
    return _USUAL_DELTA if users is None else suggest_delta(users)


def worth_of_labels(made: Any, setting: Row, users: int | None) -> Row:
    """Return the errors that a mechanism for labels states, and what they are of all users."""
    expected = made.expected_error()
    worth: Row = {"half_width": expected.half_width}
    if expected.appears_from is not None:  # listed labels are all released
        worth = {"appears_from": expected.appears_from, **worth}
        if users is not None:
            worth["share_of_users"] = expected.appears_from / users
    if users is not None:
        worth["delta_times_users"] = setting["delta"] * users
    return worth


def grid_of_records(epsilon: Any, sensitivity: Any) -> Iterator[Row]:
    """Return the combinations where a bound on the records of one unit is all that is set."""
    return grid(sensitivity=(sensitivity, one_or_more), epsilon=(epsilon, privacy_parameter))


def unit_of_records(asked: Asked) -> PrivacyUnit:
    """Return what is protected where records are counted: one, or a user who has several."""
    return ONE_RECORD if asked.get("sensitivity", 1) in (1, [1], (1,)) else ONE_USER


def unit_of_rows(asked: Asked) -> PrivacyUnit:
    """Return what is protected where rows are counted: one record, or a user who has several."""
    if asked.get("one_row_per") is not None:
        return ONE_USER
    return ONE_RECORD if asked.get("max_rows", 1) in (1, [1], (1,)) else ONE_USER


# What a release shows of the quantities that criteria are about.

LEVEL = "with a probability of 95 % or more"
LOOK = "only the data show it: asking them costs budget"


def quantities_of_labels(table: Callable[[Release], LabelTable]) -> dict[str, Quantity]:
    """Return what criteria for labels may be about; `table` returns the labels of a release."""

    def labels(release: Release, _percent: bool) -> Found:
        number = sum(label is not None for label in table(release).labels)
        return Found(number, f"{number:,} labels were released")

    return {
        "labels": Quantity(labels),
        "appears from": Quantity(_appears_from),
        "count error": Quantity(
            lambda release, percent: _count_error(release, table(release).counts, percent),
            "may",
            example="10 %",
        ),
        "missing labels": Quantity(only_data_show),
    }


def _appears_from(release: Release, _percent: bool) -> Found:
    count = release.mechanism.expected_error().appears_from
    if count is None:
        return Found(0, "all listed labels are released")
    return Found(count, f"a label with a count of {count:,} is released {LEVEL}")


def _count_error(release: Release, counts: IntArray | None, percent: bool) -> Found | str:
    """Return within what the noise of a count is, or its share of the smallest released count."""
    width = release.mechanism.expected_error().half_width
    if width is None or counts is None:
        return "the release has no counts"
    if not percent:
        return Found(width, f"the noise of a count is within {width:,} records {LEVEL}")
    if counts.size == 0:
        return Found(0, "no label was released")
    smallest = int(counts.min())
    if smallest <= 0:
        return "a released count is 0 or less: a share of it says nothing"
    share = Fraction(width, smallest)
    return Found(
        share,
        f"the noise of a count is within {width:,} records {LEVEL}, {as_percent(share)} of the "
        f"smallest released count, {smallest:,}",
    )


def error_in_records(release: Release, error: float, said: str, percent: bool) -> Found | str:
    """Return an error, or its share of the released total.

    Parameters
    ----------
    said : what it is; {} stands for the error.
    """
    records = said.format(f"{error:,.3g} records" if error < 1000 else f"{error:,.0f} records")
    if not percent:
        return Found(error, records)
    total = release.total or 0
    if total <= 0:
        return "the released total is 0: a share of it says nothing"
    share = Fraction(error) / total
    return Found(error / total, f"{records}, {as_percent(share)} of the released total")


def as_percent(share: Fraction) -> str:
    """Write a share in percent."""
    return f"{float(100 * share):.3g} %"


def only_data_show(_release: Release, _percent: bool) -> str:
    """Say that neither noise nor released values decide it."""
    return LOOK


# Options of `dphist plan`, and of the command that a plan shows.


def guess(name: str, meaning: str, **more: Any) -> Option:
    """Return the option of a public guess."""
    return Option(name, meaning, "N", whole, typed=f"--expect-{name}", **more)


def several(read: Callable[[str], Any]) -> Callable[[str], list[Any]]:
    """Return what reads values with commas between them."""

    def values(text: str) -> list[Any]:
        return [read(part) for part in split_parts(text)]

    return values


def make_compared_option(
    mechanism: type, field_name: str, more: str = "", **changes: Any
) -> Option:
    """Return the option of a parameter of which several values are compared."""
    read: dict[str, Any] = {"value": "N,N,...", "read": several(whole)}
    said = f"; several are compared: 1,10,50{more}"
    return make_option(mechanism, field_name, said, **read | changes)


def read_bins(text: str) -> int | str:
    """Read a number of bins, or the name of a column whose bins a description lists."""
    return whole(text) if read_number(text) is not None else text


DELTA_OPTION = Option(
    "delta",
    "total deltas to compare (default: one that is small for --expect-users, or 1e-6)",
    "D,D,...",
    several(str),
)
USERS_OPTION = guess("users", "a public guess of the number of users")


def options_of_records(mechanism: type) -> list[Option]:
    """Return the options of what counts records."""
    total = guess("total", "a public guess of the number of records", required=True)
    return [total, make_compared_option(mechanism, "sensitivity")]


def bound_of_records(row: Row, unit: PrivacyUnit) -> list[str]:
    """Return the options that bound the records of one unit, or say that each is one row."""
    if row["sensitivity"] == 1:
        return ["--each-row-is-one-person"]
    return [f"--user COLUMN --max-records {row['sensitivity']}", *make_unit_option(unit)]


def make_unit_option(unit: PrivacyUnit) -> list[str]:
    """Return the option that names who is protected, if that is not a user."""
    return [] if unit.name == "user" else [f"--unit {shlex.quote(unit.name)}"]
