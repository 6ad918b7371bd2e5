"""Which columns are asked for, and finding them by their names."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from dphist.errors import ColumnError, ParameterError


class Use(Enum):
    """What the values of a column are for, which decides the types that serve."""

    KEY = "labels, users or nodes, told apart by their type and bytes"
    COUNT = "whole numbers of records"
    VALUE = "numbers, dates or timestamps to be put into bins"
    TEXTS = "text, or lists of text: the labels of an event"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A column that is asked for.

    Attributes
    ----------
    role : its name in our tables, a lower-case word that SQL does not reserve.
    name : the caller's name of it, for the errors.
    use : what its values are for.
    parameter : the parameter of the call that named it, for the errors.
    only_text : whether of Python objects only text serves, since the type of the values is seen:
        it is released with them, or they are compared with those of other tables.
    """

    role: str
    name: str
    use: Use
    parameter: str
    only_text: bool = False


def key_column(role: str, name: str, parameter: str, *, only_text: bool = False) -> Wanted:
    """Ask for a column of labels, users or nodes."""
    return Wanted(role, name, Use.KEY, parameter, only_text)


def count_column(role: str, name: str, parameter: str) -> Wanted:
    """Ask for a column of whole numbers."""
    return Wanted(role, name, Use.COUNT, parameter)


def check_name(value: object, parameter: str) -> None:
    """Refuse a column name that is not text."""
    if not isinstance(value, str):
        raise ParameterError(f"{parameter} must be the name of a column, as text")


def check_request(wanted: Sequence[Wanted], progress: object) -> None:
    """Refuse columns that are no names, or not all different, and a progress of no use."""
    for column in wanted:
        check_name(column.name, column.parameter)
    if len({column.name for column in wanted}) < len(wanted):
        listed = " and ".join(column.parameter for column in wanted)
        raise ParameterError(f"{listed} must be different columns")
    if progress is not None and not callable(progress):
        raise ParameterError("progress must be a function of one number, or None")


def listed_names(wanted: Iterable[Wanted]) -> str:
    """Name columns in a sentence."""
    return " and ".join(repr(column.name) for column in wanted)


def position_of(wanted: str, names: Sequence[Any], ignore_case: bool = False) -> int:
    """Return where the column `wanted` stands among `names`.

    Parameters
    ----------
    wanted : str
        The column; compared exactly.
    names : sequence
        The columns there are. They are schema, so the error lists them.
    ignore_case : bool
        For an engine to which ``a`` and ``A`` are one name and which would pick either.

    Raises
    ------
    ColumnError
        If there is no such column, or more than one.
    """
    if wanted not in names:
        listed = ", ".join(repr(str(name)) for name in names) or "none"
        raise ColumnError(f"there is no column {wanted!r}; the columns are: {listed}")
    alike = [
        name
        for name in names
        if name == wanted or (ignore_case and str(name).casefold() == wanted.casefold())
    ]
    if len(alike) > 1:
        raise twice(wanted)
    return list(names).index(wanted)


def twice(wanted: str) -> ColumnError:
    """The error for a name that stands for two columns."""
    return ColumnError(f"there is more than one column {wanted!r}: rename all but one")
