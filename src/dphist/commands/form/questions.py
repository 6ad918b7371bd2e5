"""What the form asks for each kind, and which numbers of a plan it shows.

Words come from the options of the command and the columns of the plan. A choice that changes a
number has listed values only, for each combination of which there are numbers.
"""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Literal

from dphist.document.planning import EPSILONS

SIZES = ("1000", "10000", "1000000")
"""Public guesses of the number of records, for the preview and what is computed for a number."""

_BOUNDS = ("1", "2", "5", "10", "30")
_DELTAS = ("1e-6", "1e-8")


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
        of records, or a choice of its own, under the title of the plan's column or `title`.
    """

    parameter: str
    option: str
    values: Sequence[str]
    usual: str
    _: KW_ONLY
    asks: Literal["bound", "epsilon", "delta", "size", "other"] = "other"
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is asked for one kind.

    Attributes
    ----------
    kind : by which a plan names it.
    command : that releases it.
    columns : options that name a column, beside that of users.
    ends : options that are typed: numbers or dates, the lower and the upper one.
    keys : whether columns are keys with listed public values, of which their number counts.
    choices : in the order in which numbers are filed.
    error : column of the plan: how far a number may be off.
    appears : column of the plan: the smallest count that appears; empty if all do.
    error_of : what the error is of, for the preview.
    law : how the error is meant: half of a 95 % interval, or what is expected.
    """

    kind: str
    command: str
    columns: Sequence[str] = ()
    ends: Sequence[str] = ()
    keys: bool = False
    choices: Sequence[Choice]
    error: str
    appears: str = ""
    error_of: str
    law: Literal["95 %", "expected"]

    def choice(self, asks: str) -> Choice | None:
        """Return the choice about something; None if it is not asked."""
        return next((each for each in self.choices if each.asks == asks), None)


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
        columns=["label"],
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
    ),
    Asked(
        kind="ranges",
        command="ranges",
        columns=["column"],
        ends=["start", "stop"],
        choices=[
            Choice("bins", "bins", ("8", "10", "12", "24", "50", "100"), "10", title="Bins"),
            _size(),
            _bound("sensitivity", "max-records"),
            _epsilon(),
        ],
        error="range_error",
        error_of="a random range",
        law="expected",
    ),
    Asked(
        kind="tables",
        command="tables",
        keys=True,
        choices=[_bound("max_rows", "max-rows"), _delta(), _epsilon()],
        error="cell_error",
        error_of="each cell",
        law="95 %",
    ),
    Asked(
        kind="anonymized",
        command="anonymize",
        columns=["label"],
        choices=[_size(), _bound("sensitivity", "max-records"), _epsilon()],
        error="profile_error",
        error_of="the whole histogram",
        law="expected",
    ),
)
"""The kinds of the form, in its order."""

MAX_VALUES_OF_ONE, MAX_VALUES_OF_TWO = 24, 8
"""Values of a key for which there are numbers: with one key, and with two."""
