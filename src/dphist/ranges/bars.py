"""95 % error bars around estimates that differ from the middle of the bounds."""

import numpy as np

from dphist.arrays import FloatArray, NumberArray
from dphist.release.range_histogram.picture import ERRORS


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
