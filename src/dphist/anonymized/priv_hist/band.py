"""Bounds on the true diagram from PrivHist's noisy counts.

No noise exceeds `t` in absolute value, except with the band's probability of failure; `most`
bounds the true number of records, hence every count.
Lemmas 5 and 6 of `docs/understand/proofs/priv_hist.md`.
"""

import numpy as np

from dphist.anonymized.band import curve_bounds, from_heights
from dphist.anonymized.inference import infer_decreasing, rounding_error
from dphist.arrays import IntArray
from dphist.release.anonymized_histogram import AnonymizedHistogram

Bounds = tuple[AnonymizedHistogram, AnonymizedHistogram]


def bounds_of_split(
    columns: IntArray, rows: IntArray, above: int, fakes: int, t: int, most: int
) -> Bounds:
    """Bound the diagram between its columns up to T and its rows beyond.

    Parameters
    ----------
    columns, rows : noisy counts, fake ones included.
    above : the noisy number of labels with counts above T.
    fakes : M.
    """
    start = len(columns)
    heights, lengths = infer_decreasing(columns), infer_decreasing(rows)
    t += max(rounding_error(heights), rounding_error(lengths))
    # Labels moved across T, and fake ones, are the same in all columns.
    shift = above - fakes
    # A column measured above 0 is not cut at 0.
    low = np.where(heights > t, np.maximum(heights - t + shift, 0), 0)
    # Minimum and maximum number of labels above T.
    surely, maybe = max(above - t, 0), max(above + t, 0)
    low = np.maximum(low, surely)
    high = np.maximum(heights + t + shift, 0)
    # If there are fewer noisy rows than labels above T, the missing ones are no longer than the
    # last.
    longest = np.minimum(lengths + t, most)
    beyond = int(longest[-1]) if len(longest) else most
    long_rows = np.append(longest[:maybe], np.full(max(maybe - len(longest), 0), beyond))
    return (
        _joined(low, np.maximum(lengths[:surely] - t, start + 1)),
        _joined(high, np.maximum(long_rows[: int(high[-1])], start)),
    )


def bounds_of_blocks(ends: IntArray, cells: IntArray, t: int, most: int) -> Bounds:
    """Bound the diagram by its blocks' mean heights: a column is at most the previous block's."""
    low, high = curve_bounds(np.append(0, ends), cells, t)
    lower, upper = from_heights(ends, low), from_heights(ends, high)
    last = int(ends[-1])
    if most > last:
        # Counts beyond the last block are cut there; at most this many are that long.
        cut = min(int(high[-1]), most // last)
        ends, high = np.append(ends, most), np.append(high, cut)
        upper = from_heights(ends, high)
    return lower, upper


def _joined(heights: IntArray, rows: IntArray) -> AnonymizedHistogram:
    """Return the diagram of these columns and of first rows that reach beyond the last one."""
    start = len(heights)
    how_many = heights - np.append(heights[1:], len(rows))
    return AnonymizedHistogram(
        np.append(np.arange(1, start + 1), rows),
        np.append(how_many, np.ones(len(rows), np.int64)),
    )
