"""What the page asks of a kind: answers that are typed, and answers that are chosen."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal

_SHARES = (0.24, 0.18, 0.13, 0.1, 0.08, 0.06, 0.04, 0.03, 0.015, 0.005)


def _as_number(text: str) -> int | str:
    return int(text) if text.isdigit() else text


@dataclass(frozen=True, slots=True)
class Typed:
    """A question whose answer is typed, or picked from the columns; it changes no number.

    Attributes
    ----------
    option : of the command. Two ends of one option are written as START:STOP:WIDTH.
    title : above the field.
    meaning : what is said of it, if not the meaning of the option.
    holds : a column, the lower or the upper end of all bins, or the name of a file.
    usual : the answer at first.
    place : which part of the option it is; empty if it is all of it.
    """

    option: str
    title: str
    meaning: str = ""
    _: KW_ONLY
    holds: Literal["column", "end", "file"] = "column"
    usual: str = ""
    place: str = ""


@dataclass(frozen=True, slots=True)
class Keys:
    """Columns with listed public values.

    Attributes
    ----------
    option : of the command, given for each key as NAME=A,B,C.
    titles : for each key, above its column and above its values; only the first one is needed.
    meaning : what is said of the values.
    tables : whether each key, and two together, are tables, for whose sizes there are numbers.
    """

    option: str
    titles: Sequence[tuple[str, str]]
    meaning: str
    tables: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """A question of which every answer has numbers.

    Attributes
    ----------
    parameter : of the plan.
    option : of the command; empty for what the command does not take.
    values : the answers, as they are typed.
    usual : the answer at first.
    asks : what the answer is about: the bound of a user, epsilon, delta, the guess of the number
        of records, or a choice of its own.
    title : above the field, if not the title of the column of the plan.
    meaning : what is said of it, if not what the column of the plan or the option says.
    within : the option of the command that the answer is a part of, if it has none of its own.
    given : what a plan is given for an answer.
    """

    parameter: str
    option: str
    values: Sequence[str]
    usual: str
    _: KW_ONLY
    asks: Literal["bound", "epsilon", "delta", "size", "other"] = "other"
    title: str = ""
    meaning: str = ""
    within: str = ""
    given: Callable[[str], Any] = _as_number


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is asked for one kind.

    Attributes
    ----------
    kind : by which a plan names it.
    command : that releases it.
    example : of what it answers.
    typed : what is typed, beside the column of users.
    keys : columns with listed values, if it has any.
    choices : in the order in which numbers are filed.
    fixed : options of the command that nothing is asked about; True for one without a value.
    error : column of the plan: how far a number may be off.
    appears : column of the plan: the smallest count that appears; empty if all do.
    said : by column of the plan, title and meaning on the page, if not those of the plan.
    error_of : what the error is of, for the preview.
    law : how the error is meant: half of a 95 % interval, or what is expected.
    made_up : what the preview shows.
    bar : what a bar of the preview stands for.
    shares : of the records, in each bar of the preview.
    quantiles : whether the preview states the error as a share, which is that of a quantile.
    """

    kind: str
    command: str
    example: str
    typed: Sequence[Typed] = ()
    keys: Keys | None = None
    choices: Sequence[Choice]
    fixed: Sequence[tuple[str, str | bool]] = ()
    error: str
    appears: str = ""
    said: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    error_of: str
    law: Literal["95 %", "expected"]
    made_up: str = "made-up data"
    bar: str
    shares: Sequence[float] = _SHARES
    quantiles: bool = False

    def choice(self, asks: str) -> Choice | None:
        """Return the choice about something; None if it is not asked."""
        return next((each for each in self.choices if each.asks == asks), None)
