"""Which columns serve, decided by their names and types alone."""

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals.stable.v2 as nw

from dphist.errors import ColumnError, ParameterError

# Roles whose columns hold labels or users; the columns of all other roles hold integers.
LABELS = frozenset({"label", "user", "source", "target"})
# Roles whose values are compared with each other, so that their columns must be of one type.
COMPARED = frozenset({"source", "target"})


def check_name(value: object, parameter: str) -> None:
    """Refuse a column name that is not text."""
    if not isinstance(value, str):
        raise ParameterError(f"{parameter} must be the name of a column, as text")


def check_request(names: Mapping[str, str], progress: object) -> None:
    """Refuse wanted columns that are no names, or not all different, and a progress of no use."""
    for role, name in names.items():
        check_name(name, role)
    if len(set(names.values())) < len(names):
        raise ParameterError(f"{' and '.join(names)} must be different columns")
    if progress is not None and not callable(progress):
        raise ParameterError("progress must be a function of one number, or None")


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


def check_label_type(dtype: Any, name: str) -> None:
    """Refuse a label column whose type has no exact equality.

    Narwhals calls types it does not know, such as DuckDB's UUID, Unknown; they serve.
    """
    if dtype.is_float():
        raise ColumnError(
            f"column {name!r} has a float type, which has no exact equality (pandas makes one of "
            "an integer column with missing values): cast it to text or integers"
        )
    if dtype.is_nested() or dtype == nw.Object:
        raise ColumnError(
            f"column {name!r} must hold one label a row, such as text, an integer, a date or "
            "bytes, not a nested or unknown object: cast it to text"
        )


def different_types(first: str, second: str) -> ColumnError:
    """The error for two columns of labels that cannot be compared with each other."""
    return ColumnError(
        f"columns {first!r} and {second!r} must have exactly the same type, as the labels of both "
        "are compared: cast both to text, or both to the same integer type"
    )


def check_count_type(dtype: Any, name: str) -> None:
    """Refuse a count column whose type is not an integer type."""
    if dtype.is_float():
        raise ColumnError(
            f"column {name!r} has a float type (an integer column with missing values becomes "
            "one in pandas): drop the rows without a value and cast it to integers"
        )
    if not dtype.is_integer():
        raise ColumnError(f"column {name!r} must have an integer type: cast it to integers")
