"""Bars of 95 % about estimates that are not the middle of what the counts say."""

import numpy as np

from dphist.arrays import FloatArray, NumberArray
from dphist.release.range_histogram.picture import ERRORS


def bars(
    count: NumberArray, low: FloatArray, high: FloatArray, least_width: float
) -> tuple[FloatArray, FloatArray]:
    """Return bars that hold the estimate and what lies between `low` and `high`.

    Parameters
    ----------
    count : (q,) int64 or float64, records, none negative
        The estimates, which may lie outside of `low` and `high`.
    low, high : (q,) float64, records.
    least_width : records
        No bar ends nearer to the estimate than this, but at 0.

    Returns
    -------
    low, high : (q,) float64, none negative.
    """
    start = np.maximum(np.minimum(low, count - least_width), 0)
    stop: FloatArray = np.maximum(high, count + least_width)
    return start, stop


def farther(count: NumberArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Return the error of which 1.96 reach from the estimate to the farther end of its bar."""
    found: FloatArray = np.maximum(high - count, count - low) / ERRORS
    return found
