"""A released histogram as curves that can be drawn: exact corners, then few of them.

Both curves are staircases. Step i reaches from i - 1/2 to i + 1/2. So even a single label has a
width on a logarithmic axis, and the vertical edges lie between whole numbers, where the curve has
no value. Labels are not expanded: a histogram of 34 million labels has two corners for each
distinct count.
"""

from dataclasses import dataclass

import numpy as np

from dphist.arrays import FloatArray, IntArray
from dphist.release.anonymized_histogram import AnonymizedHistogram

# Cells of a logarithmic axis. A figure is some 400 units wide, so a corner that is left out
# is about one unit or less away from one that is kept.
CELLS = 320


@dataclass(frozen=True, slots=True)
class Curve:
    """Corners of a falling staircase, from left to right.

    Attributes
    ----------
    x : (p,) float64, non-decreasing; ranks or counts, plus or minus 1/2.
    y : (p,) int64, non-increasing, positive; counts in records, or numbers of labels.
    """

    x: FloatArray
    y: IntArray


def counts_by_rank(histogram: AnonymizedHistogram) -> Curve:
    """Return the i-th largest count over the rank i: corners (2d,), all of them.

    >>> curve = counts_by_rank(AnonymizedHistogram([8, 3], [2, 1]))
    >>> curve.x, curve.y
    (array([0.5, 2.5, 2.5, 3.5]), array([8, 8, 3, 3]))
    """
    edges = np.append(0, np.cumsum(histogram.prevalences[::-1])) + 0.5
    return Curve(np.repeat(edges, 2)[1:-1], np.repeat(histogram.counts[::-1], 2))


def labels_by_count(histogram: AnonymizedHistogram) -> Curve:
    """Return the number of labels with count r or more over r: corners (2d,), all of them.

    It is the mirror image of `counts_by_rank`.
    """
    return counts_by_rank(histogram.conjugate())


def thin(curve: Curve, cells: int = CELLS) -> Curve:
    """Keep the corners that are distinguishable on logarithmic axes.

    Both axes are divided into `cells`; of the corners within one cell the first and the
    last are kept. A falling curve meets at most 2 * cells cells, and a straight line between
    two kept corners leaves the true staircase by no more than one cell.
    """
    if len(curve.x) == 0:
        return curve
    across, down = _cell(curve.x, cells), _cell(curve.y.astype(np.float64), cells)
    moved = (np.diff(across) != 0) | (np.diff(down) != 0)
    kept = np.append(True, moved) | np.append(moved, True)
    return Curve(curve.x[kept], curve.y[kept])


def outline(lower: Curve, upper: Curve, floor: float) -> tuple[FloatArray, FloatArray]:
    """Return the polygon between two curves, as x and y; its bottom is at `floor`.

    Beyond its end `lower` is 0, which no logarithmic axis shows. There the polygon reaches down to
    `floor`, the bottom of the axis, so that the band visibly opens.
    """
    if len(upper.x) == 0:
        return np.zeros(0), np.zeros(0)
    start, end = upper.x[0], upper.x[-1]
    lower_end = min(lower.x[-1], end) if len(lower.x) else start
    under_x = np.append(np.minimum(lower.x, end), [lower_end, end])
    under_y = np.append(lower.y, [floor, floor])
    return np.append(upper.x, under_x[::-1]), np.append(upper.y, under_y[::-1])


def _cell(values: FloatArray, cells: int) -> IntArray:
    """Return the cell of each value, on a logarithmic scale from the smallest to the largest."""
    logs = np.log(values)
    low, span = logs.min(), np.ptp(logs)
    if span == 0:
        return np.zeros(len(values), np.int64)
    numbers: IntArray = np.minimum((logs - low) / span * cells, cells - 1).astype(np.int64)
    return numbers
