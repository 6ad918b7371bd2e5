"""The wanted columns, and how they are found by their names."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from dphist.errors import ColumnError, ParameterError

_NO_TEXT = "; names must be text: rename them, as frame.columns = frame.columns.map(str) does"


class Use(Enum):
    """The purpose of a column, which determines the types it may have."""

    KEY = "labels, users or nodes, distinguished by their type and bytes"
    COUNT = "whole numbers of records"
    VALUE = "numbers, dates or timestamps to bin"
    TEXTS = "text, or lists of text: the labels of an event"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A column that a caller names.

    Attributes
    ----------
    role : the name of the column in our tables, a lower-case word that SQL does not reserve.
    name : the caller's name of the column, for error messages.
    use : the purpose of its values.
    parameter : the parameter that names the column, for error messages.
    only_text : whether Python objects must be text, because they are compared with the values of
        other tables, which may have another type.
    """

    role: str
    name: str
    use: Use
    parameter: str
    only_text: bool = False


def key_column(role: str, name: str, parameter: str, *, only_text: bool = False) -> Wanted:
    """Return the description of a column of labels, users or nodes."""
    return Wanted(role, name, Use.KEY, parameter, only_text)


def count_column(role: str, name: str, parameter: str) -> Wanted:
    """Return the description of a column of whole numbers."""
    return Wanted(role, name, Use.COUNT, parameter)


def check_name(value: object, parameter: str) -> None:
    """Refuse a column name that is not text."""
    if not isinstance(value, str):
        raise ParameterError(parameter, "must be the name of a column, as text")


def check_request(wanted: Sequence[Wanted], progress: object) -> None:
    """Refuse invalid or repeated column names, and a `progress` that cannot be called."""
    for column in wanted:
        check_name(column.name, column.parameter)
    if len({column.name for column in wanted}) < len(wanted):
        raise ParameterError(
            tuple(column.parameter for column in wanted), "must be different columns"
        )
    if not (progress is None or isinstance(progress, bool) or callable(progress)):
        raise ParameterError("progress", "must be a function of one number, True, or None")


def list_names(wanted: Iterable[Wanted]) -> str:
    """Return the names of columns, for a sentence."""
    return " and ".join(repr(column.name) for column in wanted)


def find_position(wanted: str, names: Sequence[Any], ignore_case: bool = False) -> int:
    """Return the position of the column `wanted` among `names`.

    Parameters
    ----------
    wanted : str
        The name of the column; compared exactly.
    names : sequence
        The names of all columns. They are part of the schema, so the error lists them.
    ignore_case : bool
        Whether to refuse two names that differ only in case, for an engine that treats ``a`` and
        ``A`` as one name.

    Raises
    ------
    ColumnError
        If there is no such column, or more than one.
    """
    if wanted not in names:
        listed = ", ".join(repr(_plain(name)) for name in names) or "none"
        no_text = "" if all(isinstance(name, str) for name in names) else _NO_TEXT
        raise ColumnError(f"there is no column {wanted!r}; the columns are: {listed}{no_text}")
    alike = [
        name
        for name in names
        if name == wanted or (ignore_case and str(name).casefold() == wanted.casefold())
    ]
    if len(alike) > 1:
        raise repeated_column(wanted)
    return list(names).index(wanted)


def _plain(name: Any) -> Any:
    """Return a name without NumPy's type, which the text of a number would show."""
    return name.item() if hasattr(name, "item") else name


def repeated_column(wanted: str) -> ColumnError:
    """Return the error for a name that two columns have."""
    return ColumnError(f"there is more than one column {wanted!r}: rename all but one")
