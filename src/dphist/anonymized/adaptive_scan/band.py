"""Bounds on the true diagram from the noisy counts of an adaptive scan.

Lemma 4 of `docs/understand/proofs/adaptive_scan.md`.
"""

from collections.abc import Mapping

import numpy as np

from dphist.anonymized.band import curve_bounds
from dphist.arrays import IntArray
from dphist.release.anonymized_histogram import AnonymizedHistogram


def bounds_of_scans(
    noisy: Mapping[str, IntArray], t: int
) -> tuple[AnonymizedHistogram, AnonymizedHistogram]:
    """Return a diagram inside the true one and one containing it, if no noise exceeds `t`."""
    ends, row_ends = noisy["column_ends"], noisy["row_ends"]
    low, high = curve_bounds(ends, noisy["columns"], t)
    short, long = curve_bounds(row_ends, noisy["rows"], t)
    # Rows with a lower bound above 0 certainly reach beyond the last column.
    surely = int(row_ends[1:][short > 0].max(initial=0))
    # At most as many rows reach beyond the last column as it is high.
    rows_up_to = np.minimum(row_ends[1:], high[-1])
    return (
        _joined(ends, np.maximum(low, surely), row_ends[1:], short),
        _joined(ends, high, rows_up_to, long),
    )


def _joined(
    ends: IntArray, heights: IntArray, row_ends: IntArray, lengths: IntArray
) -> AnonymizedHistogram:
    """Return the diagram with these columns and, right of them, rows of these lengths."""
    reach = int(row_ends[lengths > 0].max(initial=0))
    how_many = np.diff(np.minimum(row_ends, reach), prepend=0)
    steps = heights - np.append(heights[1:], reach)
    return AnonymizedHistogram(np.append(ends[1:], ends[-1] + lengths), np.append(steps, how_many))
