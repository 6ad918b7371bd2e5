"""Several quantiles of one release: intervals that hold all at once, with ends in order."""

from typing import Any

import numpy as np

from dphist.arrays import FloatArray, IntArray
from dphist.errors import ParameterError


def read_shares(q: Any) -> FloatArray:
    """Return shares of records, from 0 to 1, as an array: of no dimension for a single one.

    Raises
    ------
    ParameterError
    """
    try:
        asked = np.asarray(q, np.float64)
    except (TypeError, ValueError):
        asked = np.array(np.nan)
    if not ((asked >= 0) & (asked <= 1)).all():
        raise ParameterError("q", "must be from 0 to 1")
    return asked


def several(simultaneous: object, number: int) -> int:
    """Return how many intervals have to hold at once: all, or each by itself.

    Raises
    ------
    ParameterError
        If `simultaneous` is not a truth value.
    """
    if not isinstance(simultaneous, bool):
        raise ParameterError("simultaneous", "must be True or False")
    return max(number, 1) if simultaneous else 1


def note_of_several(number: int) -> str:
    """Return what a reader must know of intervals that hold at once."""
    return f"all {number} intervals hold at once" if number > 1 else ""


def spread(q: FloatArray, ends: IntArray) -> IntArray:
    """Return intervals of which no end falls as `q` grows: each holds what it held before.

    Parameters
    ----------
    q : (k,) shares, in any order.
    ends : (2, k) the low and the high end of the interval of each.

    >>> spread(np.array([0.5, 0.1, 0.9]), np.array([[4, 5, 7], [8, 9, 9]]))
    array([[4, 4, 7],
           [9, 9, 9]])
    """
    order = np.argsort(q, kind="stable")
    found = np.empty_like(ends)
    found[0, order] = np.minimum.accumulate(ends[0, order][::-1])[::-1]
    found[1, order] = np.maximum.accumulate(ends[1, order])
    return found
