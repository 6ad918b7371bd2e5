"""Conversion of edges to the type of the values that are compared with them.

Each edge becomes the smallest value of that type that is not below it.
"""

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from dphist.arrays import AnyArray, FloatArray, IntArray

# Number of edges that are Python numbers at the same time: these take several times the memory.
EDGES_AT_ONCE = 1 << 16
# Up to this number a float64 represents every whole number.
_EXACT_FLOATS = 2**53


def starts_below_all(edges: AnyArray) -> int:
    """Return 1 if the first edge is minus infinity, else 0."""
    return int(edges.dtype.kind == "f" and edges[0] == -np.inf)


def step_of(keys: IntArray) -> int:
    """Return the distance between neighboring keys if they are evenly spaced; otherwise 0.

    Fewer than two keys have no distance, so the result is 0.
    """
    if len(keys) < 2 or int(keys[-1]) - int(keys[0]) > 2**63 - 1:
        return 0
    step = int(keys[1]) - int(keys[0])
    return step if step > 0 and np.all(np.diff(keys) == step) else 0


def ceilings(edges: AnyArray, scale: Fraction | None) -> Iterator[int]:
    """Yield, for each finite edge, the smallest whole number of units that is not below it.

    Parameters
    ----------
    scale : units in 1, for a column of decimals or moments; None for a column of whole numbers.

    Notes
    -----
    A float with a fractional part means its shortest decimal, so 0.1 means 1/10. Then a decimal 0.1
    is not below an edge at 0.1. For columns of whole numbers the two readings agree.
    """
    units = Fraction(1) if scale is None else scale
    above, below = units.numerator, units.denominator
    for start in range(0, len(edges), EDGES_AT_ONCE):
        for edge in edges[start : start + EDGES_AT_ONCE].tolist():
            if isinstance(edge, int):
                yield -(-edge * above // below)
            elif math.isfinite(edge):
                if edge.is_integer():
                    yield -(-int(edge) * above // below)
                elif scale is None:
                    yield math.ceil(edge)
                else:
                    yield math.ceil(Fraction(repr(edge)) * units)


def float_ceilings(edges: AnyArray) -> FloatArray:
    """Return, for each edge, the smallest float64 that is not below it."""
    floats = edges.astype(np.float64)
    if edges.dtype.kind == "i":
        # Only beyond this number can a whole number lie between two floats.
        for place in np.flatnonzero((edges > _EXACT_FLOATS) | (edges < -_EXACT_FLOATS)).tolist():
            if int(floats[place]) < int(edges[place]):
                floats[place] = np.nextafter(floats[place], np.inf)
    return floats
