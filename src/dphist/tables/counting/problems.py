"""What may be wrong with a row, carried along in a column of its own.

A lazy frame may have other rows when it is evaluated again, so there is no second look for faults:
each row has the number of its fault, or 0, and the largest number that was found is reported.
"""

from collections.abc import Iterable, Mapping, Sequence

from dphist.errors import DataError, DphistError
from dphist.tables.checks import LARGEST, Problem
from dphist.tables.reading.columns import Use, Wanted

SOUND = 0
# Of the column at place p, the number of a problem is p * _KINDS + problem.
_KINDS = len(Problem) + 1

WORST = "max(problem) AS problem"


def problem_of(columns: Sequence[Wanted], allowed: Iterable[str] = ()) -> str:
    """Return the SQL expression of a row's fault: the largest number of those it has.

    Parameters
    ----------
    columns : the columns that are looked at; counts are whole numbers of any type.
    allowed : roles that may be missing.
    """
    cases = []
    for place, column in reversed(list(enumerate(columns))):
        role, number = column.role, place * _KINDS
        if column.use is Use.COUNT:
            cases.append(f"WHEN {role} > {LARGEST} THEN {number + Problem.TOO_LARGE}")
            cases.append(f"WHEN {role} < 0 THEN {number + Problem.NEGATIVE}")
        if role not in allowed:
            cases.append(f"WHEN {role} IS NULL THEN {number + Problem.MISSING}")
    return f"CASE {' '.join(cases)} ELSE {SOUND} END" if cases else str(SOUND)


def raise_problem(
    worst: int | None,
    columns: Sequence[Wanted],
    engine: DphistError,
    *,
    from_text: bool = False,
    missing: Mapping[str, str] | None = None,
) -> None:
    """Raise the error for the largest number found, if there is one.

    Parameters
    ----------
    worst : the number; None of no rows.
    columns : as for `problem_of`.
    engine : the error for a number that is none of ours: an engine mixed up rows.
    from_text : whether counts were parsed from text, where -1 stands for what cannot be.
    missing : what to say of a missing value, by role, after "column 'x' ".
    """
    if not worst:
        return
    place, kind = divmod(worst, _KINDS)
    if not (0 <= place < len(columns) and kind in set(Problem)):
        raise engine
    column = columns[place]
    name = f"column {column.name!r}"
    if from_text and kind != Problem.MISSING:
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
