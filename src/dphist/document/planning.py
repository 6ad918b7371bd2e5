"""Planning: what a kind declares so that its releases can be planned and compared with a plan."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from fractions import Fraction
from typing import Any, Literal, NamedTuple, TypeAlias

from dphist.document.options import Table
from dphist.privacy import PrivacyUnit
from dphist.privacy.unit import ONE_RECORD
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
    """

    found: Callable[[Release, bool], Found | str]
    percent: Literal["never", "may", "must"] = "never"


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
    command: Callable[[Asked, Row, PrivacyUnit], Sequence[str]] | None = None
    options: Callable[[], Table] | None = None
