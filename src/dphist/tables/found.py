"""The values found of keys as numbers, beside the noisy contrasts of a release.

So all that a release holds is decoded from its noisy numbers. The values of a key stand under its
name after "+", which no table's name begins with: of each value its length, and its code points.
"""

from collections.abc import Mapping
from itertools import islice

import numpy as np

from dphist.arrays import IntArray
from dphist.errors import ParameterError
from dphist.tables.keys import Keys

_MARK = "+"


def write_found(found: Mapping[str, tuple[str, ...]]) -> dict[str, IntArray]:
    """Return the values found of keys as numbers, by marked names.

    >>> {name: held.tolist() for name, held in write_found({"drug": ("A", "bc")}).items()}
    {'+drug': [1, 65, 2, 98, 99]}
    """
    return {
        _MARK + name: np.array(
            [number for value in values for number in (len(value), *map(ord, value))], np.int64
        )
        for name, values in found.items()
    }


def split_found(
    noisy: Mapping[str, IntArray], keys: Keys, problem: ParameterError
) -> tuple[dict[str, tuple[str, ...]], dict[str, IntArray]]:
    """Return the values found of keys, and the noisy contrasts.

    Parameters
    ----------
    keys : those of the mechanism.
    problem : raised if the numbers are no values that may have been found.
    """
    rest = dict(noisy)
    found = {}
    for key in keys.discovering:
        assert key.discover is not None  # noqa: S101 - these are the keys that have it
        values = _read_values(rest.pop(_MARK + key.name, None))
        ordered = values is not None and [*values] == sorted({*values})
        if values is None or not ordered or len(values) > key.discover.max_found:
            raise problem
        found[key.name] = values
    return found, rest


def _read_values(numbers: IntArray | None) -> tuple[str, ...] | None:
    """Return the values that numbers write; None if they write none."""
    if numbers is None:
        return None
    left, values = iter(numbers.tolist()), []
    for length in left:
        points = [*islice(left, max(length, 0))]
        if len(points) != length:
            return None
        try:
            value = "".join(map(chr, points))
            value.encode()
        except (ValueError, OverflowError):
            return None
        values.append(value)
    return tuple(values)
