"""What the form asks for each kind, and which numbers of a plan it shows.

Words come from the options of the command and the columns of the plan. A choice that changes a
number has listed values only, for each combination of which there are numbers.
"""

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

from dphist.document.planning import EPSILONS

SIZES = ("1000", "10000", "1000000")
"""Public guesses of the number of records, for the preview and what is computed for a number."""

_SHARES = (0.24, 0.18, 0.13, 0.1, 0.08, 0.06, 0.04, 0.03, 0.015, 0.005)
_BOUNDS = ("1", "2", "5", "10", "30")
_LEAVES = ("2", "3", "4", "5", "6", "8", "10", "12", "16", "20", "26", "50")
_DELTAS = ("1e-6", "1e-8")


def _as_number(text: str) -> int | str:
    return int(text) if text.isdigit() else text


def _list_leaves(number: str) -> list[str]:
    """Return regions of which none lies in another."""
    return [f"region {place}" for place in range(1, int(number) + 1)]


@dataclass(frozen=True, slots=True)
class Typed:
    """A question whose answer is typed, or picked from the columns; it changes no number.

    Attributes
    ----------
    option : of the command.
    title : above the field.
    meaning : what is said of it, if not the meaning of the option.
    holds : a column, the lower or the upper end of all bins, or the name of a public file.
    usual : the answer at first.
    """

    option: str
    title: str
    meaning: str = ""
    _: KW_ONLY
    holds: Literal["column", "end", "file"] = "column"
    usual: str = ""


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
    title : above the field, if the parameter is no column of the plan.
    meaning : what is said of it, if it is neither a column of the plan nor an option.
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
    given: Callable[[str], Any] = _as_number


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is asked for one kind.

    Attributes
    ----------
    kind : by which a plan names it.
    command : that releases it.
    typed : what is typed, beside the column of users.
    keys : whether columns are keys with listed public values, of which their number counts.
    choices : in the order in which numbers are filed.
    error : column of the plan: how far a number may be off.
    appears : column of the plan: the smallest count that appears; empty if all do.
    error_of : what the error is of, for the preview.
    law : how the error is meant: half of a 95 % interval, or what is expected.
    bar : what a bar of the preview stands for.
    shares : of the records, in each bar of the preview.
    """

    kind: str
    command: str
    typed: Sequence[Typed] = ()
    keys: bool = False
    choices: Sequence[Choice]
    error: str
    appears: str = ""
    error_of: str
    law: Literal["95 %", "expected"]
    bar: str
    shares: Sequence[float] = _SHARES

    def choice(self, asks: str) -> Choice | None:
        """Return the choice about something; None if it is not asked."""
        return next((each for each in self.choices if each.asks == asks), None)


def _label() -> Typed:
    return Typed("label", "Column of the labels")


def _end(option: str, title: str) -> Typed:
    meaning = "A number, or a date such as 2024-01-31. Never take it from the data"
    return Typed(option, title, meaning, holds="end")


def _epsilon() -> Choice:
    return Choice("epsilon", "epsilon", EPSILONS, "1", asks="epsilon")


def _delta() -> Choice:
    return Choice("delta", "delta", _DELTAS, _DELTAS[0], asks="delta")


def _size() -> Choice:
    return Choice("total", "", SIZES, SIZES[1], asks="size")


def _bound(parameter: str, option: str) -> Choice:
    return Choice(parameter, option, _BOUNDS, "5", asks="bound")


ASKED = (
    Asked(
        kind="labels",
        command="labels",
        typed=[_label()],
        choices=[
            _bound("max_labels", "max-labels"),
            _delta(),
            Choice("noise", "noise", ("best", "laplace", "gaussian"), "best"),
            _epsilon(),
        ],
        error="half_width",
        appears="appears_from",
        error_of="each count",
        law="95 %",
        bar="label",
    ),
    Asked(
        kind="ranges",
        command="ranges",
        typed=[
            Typed("column", "Column of the values"),
            _end("start", "Lower end"),
            _end("stop", "Upper end"),
        ],
        choices=[
            Choice("bins", "bins", ("8", "10", "12", "24", "50", "100"), "10", title="Bins"),
            _size(),
            _bound("sensitivity", "max-records"),
            _epsilon(),
        ],
        error="range_error",
        error_of="a random range",
        law="expected",
        bar="range",
    ),
    Asked(
        kind="tables",
        command="tables",
        keys=True,
        choices=[_bound("max_rows", "max-rows"), _delta(), _epsilon()],
        error="cell_error",
        error_of="each cell",
        law="95 %",
        bar="cell",
    ),
    Asked(
        kind="anonymized",
        command="anonymize",
        typed=[_label()],
        choices=[_size(), _bound("sensitivity", "max-records"), _epsilon()],
        error="profile_error",
        error_of="the whole histogram",
        law="expected",
        bar="in all",
        shares=(1,),
    ),
    Asked(
        kind="regions",
        command="anonymize",
        typed=[
            _label(),
            Typed("region", "Column of the regions", "The region that each row lies in"),
            Typed(
                "regions",
                "File of the regions",
                "A public file without a header: each line is a region, as it stands in the "
                "column. Never take it from the data",
                holds="file",
                usual="regions.csv",
            ),
        ],
        choices=[
            Choice(
                "regions",
                "",
                _LEAVES,
                "5",
                title="Regions in that file",
                meaning="How many lines it has. For another number choose the nearest one: the "
                "dry run reads the file, and states the error for yours. It also knows regions "
                "within regions",
                given=_list_leaves,
            ),
            _size(),
            _bound("sensitivity", "max-records"),
            _epsilon(),
        ],
        error="leaves_error",
        error_of="the set of all histograms",
        law="expected",
        bar="in all",
        shares=(1,),
    ),
)
"""The kinds of the form, in its order."""

MAX_VALUES_OF_ONE, MAX_VALUES_OF_TWO = 24, 8
"""Values of a key for which there are numbers: with one key, and with two."""
