"""Checked ranges and boxes of bins, and vectorized sums over them."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from dphist.arrays import IntArray, NumberArray
from dphist.errors import ParameterError, phrase


def check_boxes(
    bins: tuple[int, ...], lo: Any, hi: Any, names: tuple[str, str] = ("lo", "hi")
) -> tuple[list[IntArray], list[IntArray], bool]:
    """Return the ends of ranges or boxes, one array for each axis, all of the same shape.

    Parameters
    ----------
    bins : number of bins of each axis.
    lo, hi : for one axis a whole number or an array of them; for several axes a tuple of those.
    names : of both parameters, for errors.

    Returns
    -------
    lo, hi : list of arrays of int64, one for each axis.
    single : whether a single box was given.

    Raises
    ------
    ParameterError
        If they are not whole numbers with ``0 <= lo <= hi <= bins`` in every axis.
    """
    ends = [*_split_by_axis(bins, lo, names[0]), *_split_by_axis(bins, hi, names[1])]
    try:
        spread = [np.ascontiguousarray(end) for end in np.broadcast_arrays(*ends)]
    except ValueError:
        spread = []
    if not spread:
        raise ParameterError(names, "must have the same shape, or shapes that broadcast")
    first, last = spread[: len(bins)], spread[len(bins) :]
    for low, high, size in zip(first, last, bins, strict=True):
        if (low > high).any():
            raise ParameterError(names, phrase(f"must be in order: {{{names[0]}}} first"))
        if not ((low >= 0) & (high <= size)).all():
            raise ParameterError(names, f"must be positions of bins, from 0 to {size}")
    single = all(np.ndim(end) == 0 for end in ends)
    return [np.atleast_1d(low) for low in first], [np.atleast_1d(high) for high in last], single


def _split_by_axis(bins: tuple[int, ...], end: Any, name: str) -> list[IntArray]:
    if len(bins) == 1:
        parts = [end[0] if isinstance(end, tuple) and len(end) == 1 else end]
    elif isinstance(end, tuple | list) and len(end) == len(bins):
        parts = list(end)
    else:
        raise ParameterError(name, f"must be a tuple with one entry for each of {len(bins)} axes")
    whole = [np.asarray(part) for part in parts]
    if any(part.dtype.kind not in "iu" and part.size > 0 for part in whole):
        raise ParameterError(name, "must be whole numbers, the positions of bins")
    return [part.astype(np.int64) for part in whole]


def sum_boxes(values: NumberArray) -> NumberArray:
    """Return the sums over all boxes that begin at the origin; each axis is longer by one.

    Parameters
    ----------
    values : (a, b, ...) int64 or float64

    Returns
    -------
    (a + 1, b + 1, ...) of the same type; ``[i, j]`` is the sum of ``values[:i, :j]``.
    """
    sums = np.zeros([size + 1 for size in values.shape], values.dtype)
    inner = sums[(slice(1, None),) * values.ndim]
    inner[...] = values
    for axis in range(values.ndim):
        np.cumsum(inner, axis=axis, out=inner)
    return sums


def box_sums(sums: NumberArray, lo: list[IntArray], hi: list[IntArray]) -> NumberArray:
    """Return the sums over boxes, from the result of `sum_boxes`, by inclusion-exclusion.

    >>> ends = [np.array([1]), np.array([0])], [np.array([2]), np.array([2])]
    >>> box_sums(sum_boxes(np.array([[1, 2], [3, 4]])), *ends)
    array([7])
    """
    corners = _corners(lo, hi)
    terms = [sums[corner] if sign > 0 else -sums[corner] for sign, corner in corners]
    total: NumberArray = np.sum(terms, axis=0)
    return total


def _corners(lo: list[IntArray], hi: list[IntArray]) -> Iterator[tuple[int, tuple[IntArray, ...]]]:
    for upper in product((False, True), repeat=len(lo)):
        corner = tuple(h if up else low for low, h, up in zip(lo, hi, upper, strict=True))
        yield (-1) ** upper.count(False), corner
