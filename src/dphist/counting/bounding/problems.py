"""Problems of rows: their numbers, which engines compute beside values, and their errors.

A row has the number of its problem, or 0. The largest number of all rows is reported, and no row.
"""

from collections.abc import Iterable, Mapping, Sequence

from dphist.counting.checks import LARGEST, Problem
from dphist.counting.reading.columns import Use, Wanted
from dphist.errors import Argument, DataError, DphistError, Message, Text

NO_PROBLEM = 0
# In the column at place p, the number of a problem is p * _KINDS + problem.
_KINDS = len(Problem) + 1

WORST = "max(problem) AS problem"


def problem_expression(columns: Sequence[Wanted], allowed: Iterable[str] = ()) -> str:
    """Return the SQL expression of a row's problem number, the largest if it has several.

    Parameters
    ----------
    columns : the columns to check; counts are whole numbers of any type.
    allowed : roles of columns that may have missing values.
    """
    cases = []
    for place, column in reversed(list(enumerate(columns))):
        role, number = column.role, place * _KINDS
        if column.use is Use.COUNT:
            cases.append(f"WHEN {role} > {LARGEST} THEN {number + Problem.TOO_LARGE}")
            cases.append(f"WHEN {role} < 0 THEN {number + Problem.NEGATIVE}")
        if role not in allowed:
            cases.append(f"WHEN {role} IS NULL THEN {number + Problem.MISSING}")
    return f"CASE {' '.join(cases)} ELSE {NO_PROBLEM} END" if cases else str(NO_PROBLEM)


def problem_number(columns: Sequence[Wanted], role: str, problem: Problem) -> int:
    """Return the number of a problem in the column with a role."""
    place = next(place for place, column in enumerate(columns) if column.role == role)
    return place * _KINDS + problem


def raise_problem(
    worst: int | None,
    columns: Sequence[Wanted],
    engine: DphistError,
    *,
    from_text: bool = False,
    missing: Mapping[str, Message] | None = None,
) -> None:
    """Raise the error for the largest problem number, if there is a problem.

    Parameters
    ----------
    worst : the largest problem number; None if there are no rows.
    columns : as for `problem_expression`.
    engine : the error for an invalid problem number, which means that an engine mixed up rows.
    from_text : whether counts were parsed from text; -1 then stands for unreadable text.
    missing : by role, the message about missing values that follows "column 'x' ".
    """
    if not worst:
        return
    place, kind = divmod(worst, _KINDS)
    if not (0 <= place < len(columns) and kind in set(Problem)):
        raise engine
    column = columns[place]
    name = f"column {column.name!r}"
    if from_text and kind in (Problem.NEGATIVE, Problem.TOO_LARGE):
        raise DataError(
            f"{name} must hold whole numbers from 0 to 2**62 - 1 in decimal digits, without a "
            "point, an exponent or a separator"
        )
    said = (missing or {}).get(column.role, MISSING[column.use])
    raise Problem(kind).error(name, "rows", said)


MISSING = {
    Use.KEY: "has rows without a label: drop them or give them one",
    Use.COUNT: "has rows without a value: drop them or fill them in",
    Use.VALUE: "has rows without a value: drop them or fill them in",
}

MISSING_USER = "has rows without a user: drop them"


def _give_or_choose(counting: str) -> Text:
    """Return what to do about rows without a user, where they may be kept."""
    return (
        f"{MISSING_USER}, give them one, or {counting} with "
        + Argument("null_users", "drop")
        + ", or with "
        + Argument("null_users", "separate")
        + " if each such row is a separate user"
    )


MISSING_USERS = {"who": _give_or_choose("count")}
MISSING_ROWS = {
    "who": _give_or_choose("count labels"),
    "term": f"{MISSING[Use.KEY]}, or count labels with " + Argument("null_labels", "drop"),
}
