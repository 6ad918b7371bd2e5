"""Columns of estimates with intervals, such as sums and means."""

import numpy as np

from dphist.arrays import FloatArray
from dphist.document.blocks import Column

INTERVAL_OF_MEANS = (
    "Sum and number have noise of their own; the interval has all means that both allow, and never "
    "leaves the bounds. A mean is unknown where the noise leaves all of them possible."
)


def make_columns(name: str, rows: FloatArray, over: str) -> list[Column]:
    """Return a column of estimates, and one of their intervals.

    Parameters
    ----------
    rows : (k, 3), of each estimate, which is NaN where nothing is known, and both ends.
    over : heading over both columns.
    """
    values = [_write_number(value, *ends) for value, *ends in rows.tolist()]
    ends = [
        f"{_write_number(low, low, high)} to {_write_number(high, low, high)}"
        for _, low, high in rows
    ]
    return [
        Column(name, values, digits=True, over=over),
        Column("95 % interval", ends, digits=True, over=over),
    ]


def _write_number(value: float, low: float, high: float) -> str:
    """Write a number with as many places as its interval gives sense to."""
    if np.isnan(value):
        return "unknown"
    width = max(high - low, 1e-9)
    places = min(max(int(np.ceil(-np.log10(width))) + 1, 0), 9)
    return f"{value:,.{places}f}"
