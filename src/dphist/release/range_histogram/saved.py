"""Bins, axes and outside counts, read from the JSON object of a saved histogram."""

from typing import Any

import numpy as np

from dphist.arrays import NumberArray
from dphist.data.axis.axis import Axis
from dphist.release.document import read_numbers
from dphist.tables import LARGEST

_OUTSIDE_ONE = ("below", "above", "null")
_OUTSIDE_MORE = ("outside", "null")


def read_content(
    content: dict[str, Any],
) -> tuple[NumberArray, tuple[Axis, ...], dict[str, int]]:
    """Return bins, axes and outside counts; ValueError or TypeError if they are not such."""
    bins = read_numbers(content["bins"])
    if bins.size == 0 or not (np.abs(bins) < LARGEST).all():
        raise ValueError("bins are numbers below 2**62")
    saved = content["axes"]
    axes = () if saved is None else tuple(Axis.from_content(axis) for axis in saved)
    if saved is not None and tuple(axis.bins for axis in axes) != bins.shape:
        raise ValueError("the axes do not have as many bins")
    outside = content["outside"]
    names = _OUTSIDE_ONE if bins.ndim == 1 else _OUTSIDE_MORE
    if outside and tuple(sorted(outside)) != tuple(sorted(names)):
        raise ValueError("outside counts are of no known kind")
    if not all(type(count) is int and count >= 0 for count in outside.values()):
        raise ValueError("outside counts are whole numbers, none negative")
    return bins, axes, {name: outside[name] for name in names if outside}
