"""What error bars of ranges are made of: both ends, and the parts of nodes left of an edge."""

from dataclasses import dataclass

import numpy as np

from dphist.arrays import FloatArray, IntArray, NumberArray
from dphist.release.range_histogram.answers import ERRORS


def bars(
    count: NumberArray, low: FloatArray, high: FloatArray, least_width: float
) -> tuple[FloatArray, FloatArray]:
    """Return bars that contain the estimate and the interval from `low` to `high`.

    Parameters
    ----------
    count : (q,) int64 or float64, nonnegative records
        The estimates, which may be outside `low` and `high`.
    low, high : (q,) float64, records.
    least_width : records
        No bar ends closer to the estimate than this, except at 0.

    Returns
    -------
    low, high : (q,) float64, nonnegative.
    """
    start = np.maximum(np.minimum(low, count - least_width), 0)
    stop: FloatArray = np.maximum(high, count + least_width)
    return start, stop


def farther(count: NumberArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Return the distance from the estimate to the farther end of its bar, divided by 1.96."""
    found: FloatArray = np.maximum(high - count, count - low) / ERRORS
    return found


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
