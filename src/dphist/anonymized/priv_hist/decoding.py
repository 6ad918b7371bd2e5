"""Decoding of PrivHist's noisy counts to a histogram: pure functions of noisy numbers."""

import numpy as np

from dphist.anonymized.band import from_heights
from dphist.anonymized.inference import infer_decreasing, isotonic_decreasing, whole_non_negative
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
