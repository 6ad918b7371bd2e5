"""Checks of counts before anything is computed from them.

Counts of any input type become int64 between 0 and 2**62 - 1: half the range, so that the sum of
two of them never wraps. Errors name the parameter and the remedy, never a count. A problem that is
not detected here cannot be detected later: for example, NumPy drops the mask of a masked array in a
list. Our own data objects refuse conversion to arrays, because arrays would lose their bounds.
"""

from collections import UserList, deque
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any

import numpy as np

from dphist.arrays import AnyArray, IntArray
from dphist.counting.engine.redaction import redact_errors
from dphist.errors import Argument, DataError, Message, ParameterError

# Maximum of a count, of the sum of counts of one label, and of the total number of records.
LARGEST = 2**62 - 1

_EXACT_FLOATS = 2.0**53
_MISSING_IN_ARRAY = (
    "must not have missing values (null, None or NaN): drop them, then cast to integers"
)
_NULLS = {"NoneType", "NAType", "NaTType"}


class Problem(IntEnum):
    """The possible problems of a value to count; if there are several, the largest is reported."""

    MISSING = 1
    NEGATIVE = 2
    TOO_LARGE = 3
    OTHER_PART = 4

    def error(
        self, name: Message, things: str = "counts", missing: Message | None = None
    ) -> DataError:
        """Return the error for a parameter or column.

        Parameters
        ----------
        things : the things to correct, "counts" or "rows".
        missing : the message about missing values that follows the name (default: the message for
            an array).
        """
        messages: dict[Problem, Message] = {
            Problem.MISSING: missing or _MISSING_IN_ARRAY,
            Problem.NEGATIVE: f"must not be negative: remove or correct such {things}",
            Problem.TOO_LARGE: f"must be at most 2**62 - 1: remove or correct such {things}",
            Problem.OTHER_PART: "has users of another part: cut the table by the part of each "
            "user, or drop their rows with " + Argument("others", "drop"),
        }
        return DataError(name + " " + messages[self])


def check_counts(values: object, name: str) -> IntArray:
    """Return `values` as checked counts.

    Parameters
    ----------
    values : sequence of int, or (k,) array or Series of an integer type
        Counts, in records; Python, NumPy, pandas, Polars or Arrow. Zeros are kept.
    name : str
        The parameter of the values, for error messages.

    Returns
    -------
    (k,) int64, a copy, in the given order, each between 0 and 2**62 - 1.

    Raises
    ------
    ParameterError
        If `values` has another dimension than one, or holds anything but integers:
        booleans, text, floats (a float above 2**53 has already lost records, so even a
        whole one is refused).
    DataError
        If a count is missing, negative or too large.

    >>> check_counts([8, 8, 3, 0], "counts")
    array([8, 8, 3, 0])
    """
    not_a_sequence = ParameterError(
        name, "must be a one-dimensional sequence, array or Series of whole numbers"
    )
    if values is None or isinstance(values, str | bytes | bytearray | Mapping | set | frozenset):
        raise not_a_sequence
    if _is_sequence(values):
        items = _items(values, not_a_sequence)
        for value in items:
            if _is_part(value) and not _is_sequence(value):
                _array(value, name, not_a_sequence)  # data with a bound raise their own error here
        return _from_objects(items, name)
    array = _array(values, name, not_a_sequence)
    if array.ndim != 1:
        raise not_a_sequence
    return _from_array(array, name)


def check_grid(values: object, name: str) -> tuple[IntArray, tuple[int, ...]]:
    """Return counts of several dimensions as checked counts, flat, and their shape.

    Parameters
    ----------
    values : array, or nested sequences of arrays or int
        As for `check_counts`, of two or more dimensions; the parts of a sequence have one shape.
    name : str
        The parameter of the values.

    Raises
    ------
    ParameterError, DataError
        As for `check_counts`.

    >>> check_grid([[8, 3], [0, 1]], "counts")
    (array([8, 3, 0, 1]), (2, 2))
    """
    problem = ParameterError(
        name,
        "must be an array of whole numbers with several dimensions, or sequences of such parts, "
        "all of one shape",
    )
    flat, shape = _parts(values, name, problem)
    if len(shape) < 2:
        raise problem
    return flat, shape


def refuse_other_than_counts(values: object, name: str, shape: tuple[int, ...]) -> None:
    """Refuse what cannot be counts of a shape, by its type alone: no number is looked at.

    Of a plain sequence the items are data: they are checked with `check_counts`.

    Raises
    ------
    ParameterError

    >>> refuse_other_than_counts(np.array([8, 3]), "counts", (2,))
    """
    if _is_sequence(values):
        return
    if _methods(values).isdisjoint(_ARRAYS) and not _has_buffer(values):
        raise ParameterError(name, "must be an array or sequence of whole numbers")
    if not isinstance(values, np.ndarray):  # what Arrow, pandas and Polars hold is checked later
        return
    if values.dtype.kind not in "iuO":
        raise _not_integers(name)
    if values.shape != shape:
        raise ParameterError(name, f"must have the shape {shape}, as the mechanism has it")


def check_total(counts: IntArray, prevalences: IntArray) -> int:
    """Return the number of records ``sum(counts * prevalences)``, exactly.

    Parameters
    ----------
    counts, prevalences : (d,) int64, nonnegative
        Counts, in records, and the number of labels with each.

    Raises
    ------
    DataError
        If there are 2**62 records or more.

    >>> check_total(np.array([3, 8]), np.array([1, 2]))
    19
    """
    # Rounding changes a sum of d products by a factor of at most 1 + d / 2**52. So below half
    # the bound int64 is exact; Python's integers decide the rest.
    if float(np.dot(counts.astype(np.float64), prevalences.astype(np.float64))) < LARGEST / 2:
        return int(np.dot(counts, prevalences))
    total = sum(c * p for c, p in zip(counts.tolist(), prevalences.tolist(), strict=True))
    if not total <= LARGEST:
        raise DataError("the counts must add up to less than 2**62 records")
    return int(total)


# Attributes of objects that define their own conversion to an array.
_ARRAYS = (
    *("__array__", "__array_interface__", "__array_struct__", "__dataframe__", "__dlpack__"),
    *("__arrow_c_array__", "__arrow_c_stream__"),
)


def _is_sequence(values: object) -> bool:
    """Whether this is a plain sequence, such as a list.

    NumPy would join the items, turn True into 1, and drop masks.
    """
    if isinstance(values, list | tuple | range | deque | UserList):
        return True
    if isinstance(values, str | bytes | bytearray | Mapping | np.generic):
        return False
    # Inspect the class only, so that no foreign code runs.
    methods = _methods(values)
    items = {"__len__", "__getitem__"} <= methods
    return items and methods.isdisjoint(_ARRAYS) and not _has_buffer(values)


def _methods(value: object) -> set[str]:
    return {name for base in type(value).__mro__ for name in vars(base)}


def _items(values: Any, problem: ParameterError) -> list[Any]:
    return redact_errors(lambda: list(values), problem)


def _has_buffer(values: object) -> bool:
    try:
        memoryview(values).release()  # type: ignore[arg-type]
    except Exception:
        return False
    return True


def _parts(values: object, name: str, problem: ParameterError) -> tuple[IntArray, tuple[int, ...]]:
    """Check an array, or a sequence part by part; return the flat counts and the shape."""
    if not _is_sequence(values):
        array = _array(values, name, problem)
        return _from_array(array.ravel(), name), array.shape
    items = _items(values, problem)
    if not any(map(_is_part, items)):
        flat = _from_objects(items, name)
        return flat, flat.shape
    parts = [_parts(value, name, problem) for value in items]
    shapes = {shape for _, shape in parts}
    if len(shapes) > 1:
        raise problem
    return np.concatenate([flat for flat, _ in parts]), (len(parts), *shapes.pop())


def _is_part(value: object) -> bool:
    """Whether this is a part of a grid, or an object that raises its own error."""
    if type(value) is int or isinstance(value, np.generic):  # of a million items, almost all
        return False
    return _is_sequence(value) or "__array__" in _methods(value)


def _array(values: object, name: str, problem: ParameterError) -> AnyArray:
    """Return the NumPy array of an object that is not a plain sequence."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise Problem.MISSING.error(Argument(name))
    array: AnyArray = redact_errors(lambda: np.asarray(values), problem)
    return array


def _from_array(array: AnyArray, name: str) -> IntArray:
    """Check an array; `array` is (k,)."""
    return (
        _from_objects(array.tolist(), name)
        if array.dtype.kind == "O"
        else _from_numbers(array, name)
    )


def _from_numbers(array: AnyArray, name: str) -> IntArray:
    """Check an array of a NumPy type; `array` is (k,)."""
    kind = array.dtype.kind
    if kind == "f" and array.size == 0:  # NumPy's result for an empty list
        return np.empty(0, dtype=np.int64)
    if kind == "f":
        # pandas and Arrow convert integers with missing values to floats with NaN.
        raise (
            Problem.MISSING.error(Argument(name)) if np.isnan(array).any() else _not_integers(name)
        )
    if kind not in "iu":
        raise _not_integers(name)
    if array.size:
        _check_range(int(array.min()), int(array.max()), name)
    return array.astype(np.int64)


def _from_objects(values: Sequence[Any], name: str) -> IntArray:
    """Check Python objects one type at a time: NumPy would turn True into 1."""
    for kind in sorted(set(map(type, values)), key=lambda kind: kind.__qualname__):
        if kind.__name__ in _NULLS:
            raise Problem.MISSING.error(Argument(name))
        if issubclass(kind, float | np.floating):
            # Only NaN differs from itself.
            gap = any(isinstance(value, kind) and value != value for value in values)
            raise Problem.MISSING.error(Argument(name)) if gap else _not_integers(name)
        # NumPy treats a timedelta64 of any unit as an integer.
        unfit = issubclass(kind, bool | np.timedelta64)
        if unfit or not issubclass(kind, int | np.integer):
            raise _not_integers(name)
    if not values:
        return np.empty(0, dtype=np.int64)
    _check_range(int(min(values)), int(max(values)), name)
    return np.fromiter(map(int, values), dtype=np.int64, count=len(values))


def _check_range(smallest: int, largest: int, name: str) -> None:
    if smallest < 0:
        raise Problem.NEGATIVE.error(Argument(name))
    if largest > LARGEST:
        raise Problem.TOO_LARGE.error(Argument(name))


def _not_integers(name: str) -> ParameterError:
    return ParameterError(
        name,
        "must be whole numbers of an integer type, not text, booleans, decimals or floats (a "
        "float above 2**53 has lost records)",
        "cast to integers",
    )


def add_totals(places: IntArray, totals: IntArray, size: int) -> IntArray:
    """Return the sum of the totals at each of `size` places, clamped at 2**62 - 1 either way."""
    if float(np.abs(totals * 1.0).sum()) < _EXACT_FLOATS / 2:  # these sums are exact
        return np.bincount(places, totals, size).astype(np.int64)
    sums = np.zeros(size, object)
    np.add.at(sums, places, totals.astype(object))
    return np.clip(sums, -LARGEST, LARGEST).astype(np.int64)
