"""The types of arrays, so that a signature says what its numbers are; arrays of JSON."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

IntArray: TypeAlias = npt.NDArray[np.int64]
FloatArray: TypeAlias = npt.NDArray[np.float64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
WordArray: TypeAlias = npt.NDArray[np.uint64]  # random bits
NumberArray: TypeAlias = npt.NDArray[np.int64 | np.float64]
AnyArray: TypeAlias = npt.NDArray[Any]


def read_numbers(content: object) -> NumberArray:
    """Return nested lists of JSON as an array, all whole numbers or all floats, as they are.

    NumPy would make 1 of true, of "1", and of 1.5 where it is asked for whole numbers.

    Raises
    ------
    ValueError, OverflowError
        If they are no such lists, or not in int64.
    """
    if not isinstance(content, list):
        raise ValueError("numbers are in lists")
    kinds = _types_in(content)
    if kinds <= {int}:
        return np.array(content, np.int64)
    if kinds <= {float}:
        return np.array(content, np.float64)
    raise ValueError("numbers are all whole or all not")


def read_whole_numbers(content: object) -> IntArray:
    """Return nested lists of whole numbers as int64: see `read_numbers`."""
    found = read_numbers(content)
    if found.dtype.kind != "i":
        raise ValueError("numbers are whole")
    return found.astype(np.int64, copy=False)


def _types_in(content: list[Any]) -> set[type]:
    found = set(map(type, content))
    if list not in found:
        return found
    return found - {list} | set().union(*map(_types_in, content))
