"""The part of a node left of an edge, for the variance of a range."""

from dataclasses import dataclass

import numpy as np

from dphist.arrays import FloatArray, IntArray


@dataclass(slots=True)
class Part:
    """A node's contribution to a sum: `slope` times its estimate, plus an independent error.

    All (q,): the node, its slope, and the variance of the error.
    """

    node: IntArray
    slope: FloatArray
    variance: FloatArray


def prefix(last: int, edge: IntArray) -> Part:
    """Return the part left of each edge: none of the bin right of it, or all of the `last`."""
    past = edge > last
    return Part(np.minimum(edge, last), past.astype(np.float64), np.zeros(len(edge)))
