"""Histogram and band of PrivHist, from its noisy counts: pure functions of noisy numbers."""

import numpy as np

from dphist.anonymized.band import curve_bounds, from_heights
from dphist.anonymized.inference import (
    infer_decreasing,
    isotonic_decreasing,
    rounding_error,
    whole_non_negative,
)
from dphist.arrays import IntArray
from dphist.release.anonymized_histogram import AnonymizedHistogram


def decode_split(columns: IntArray, rows: IntArray, fakes: int) -> AnonymizedHistogram:
    """Join small and large counts and remove the fake ones (steps L1 to L4).

    Parameters
    ----------
    columns : (T,) int64; noisy number of small counts >= r, fake ones included, for r in 1..T.
    rows : (l,) int64; noisy large counts, fake ones included.
    fakes : M, the number of fake counts at T, and also at T + 1.
    """
    start = len(columns)
    heights = infer_decreasing(columns)
    counts = np.append(np.arange(1, start + 1), np.maximum(rows, start))
    steps = heights - np.append(heights[1:], 0)
    how_many = np.append(steps, np.ones(len(rows), np.int64))
    for place, other in ((start + 1, start), (start, start + 1)):
        how_many = without_closest(counts, how_many, place, other, fakes)
    return AnonymizedHistogram(counts, how_many)


def without_closest(
    counts: IntArray, how_many: IntArray, place: int, other: int, fakes: int
) -> IntArray:
    """Return the number of labels of each count after removing the `fakes` closest to `place`.

    Of two equally close ones, the one closer to `other`, the other place of fakes, is removed.
    """
    order = np.lexsort((np.abs(counts - other), np.abs(counts - place)))
    remaining = how_many.copy()
    before = np.cumsum(how_many[order]) - how_many[order]
    remaining[order] -= np.clip(fakes - before, 0, how_many[order])
    return remaining


def decode_blocks(ends: IntArray, cells: IntArray) -> AnonymizedHistogram:
    """Spread each block's noisy cells evenly over its columns (steps H5 and H6).

    Parameters
    ----------
    ends : (k,) int64, ascending; the blocks' last columns.
    cells : (k,) int64; noisy numbers of cells, so the height's variance is 1 / width**2.
    """
    widths = np.diff(ends, prepend=0).astype(np.float64)
    heights = whole_non_negative(isotonic_decreasing(cells / widths, widths**2))
    return from_heights(ends, heights)


Bounds = tuple[AnonymizedHistogram, AnonymizedHistogram]


def bound_split(
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
        _join(low, np.maximum(lengths[:surely] - t, start + 1)),
        _join(high, np.maximum(long_rows[: int(high[-1])], start)),
    )


def bound_blocks(ends: IntArray, cells: IntArray, t: int, most: int) -> Bounds:
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


def _join(heights: IntArray, rows: IntArray) -> AnonymizedHistogram:
    """Return the diagram of these columns and of first rows that reach beyond the last one."""
    start = len(heights)
    how_many = heights - np.append(heights[1:], len(rows))
    return AnonymizedHistogram(
        np.append(np.arange(1, start + 1), rows),
        np.append(how_many, np.ones(len(rows), np.int64)),
    )
