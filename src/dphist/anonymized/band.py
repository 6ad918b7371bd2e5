"""Error bands: a smaller and a larger histogram with the true one between them."""

from dataclasses import dataclass

import numpy as np

from dphist.arrays import IntArray
from dphist.data.diagram import Diagram
from dphist.release.anonymized_histogram import AnonymizedHistogram
from dphist.sentence import Sentence

ALL_LABELS = Sentence("all {labels}")
"""What a band covers that covers everything."""

NOTHING = np.zeros(0, np.int64)  # no rows, or no columns


@dataclass(frozen=True, slots=True)
class Band:
    """Two histograms with the true curve between theirs, simultaneously everywhere.

    Attributes
    ----------
    lower, upper : AnonymizedHistogram
        For every rank i, the true i-th largest count is between those of `lower` and `upper`, and
        for every r, so is the true number of labels with count r or more.
    level : probability that all of this holds, over the mechanism's noise only.
    covers : the part of the true diagram that the band covers, in words.
    """

    lower: AnonymizedHistogram
    upper: AnonymizedHistogram
    level: float
    covers: str


def from_rows_and_columns(rows: IntArray, columns: IntArray) -> AnonymizedHistogram:
    """Join row lengths and, below them, column heights into one histogram.

    Parameters
    ----------
    rows : (k,) int64, non-increasing, non-negative; counts of the first k labels.
    columns : (m,) int64, non-increasing, non-negative; number of labels after those with count r
        or more, for r = 1..m.
    """
    prevalences = columns - np.append(columns[1:], 0)
    counts = np.append(np.arange(1, len(columns) + 1), rows)
    how_many = np.append(prevalences, np.ones(len(rows), np.int64))
    return AnonymizedHistogram(counts, how_many)


def holding(
    lower: Diagram, upper: Diagram, value: Diagram
) -> tuple[AnonymizedHistogram, AnonymizedHistogram]:
    """Widen two histograms where needed, so that the released one is between them."""
    ends = np.unique(np.concatenate([lower.counts, upper.counts, value.counts]))
    heights = value.cumulative_prevalences(ends)
    low = np.minimum(lower.cumulative_prevalences(ends), heights)
    high = np.maximum(upper.cumulative_prevalences(ends), heights)
    return from_heights(ends, low), from_heights(ends, high)


def from_heights(ends: IntArray, heights: IntArray) -> AnonymizedHistogram:
    """Make a histogram from blocks of columns of equal height.

    Parameters
    ----------
    ends : (k,) int64, ascending; the last column of each block.
    heights : (k,) int64, non-increasing, non-negative.
    """
    return AnonymizedHistogram(ends, heights - np.append(heights[1:], 0))


def curve_bounds(ends: IntArray, counts: IntArray, t: int) -> tuple[IntArray, IntArray]:
    """Bound a non-increasing curve in each block, if no noise exceeds `t`; two (k,) int64.

    A block's mean height is known to within t / width. The curve is at most the mean of the
    previous block, and at least that of the next block.
    """
    widths = np.diff(ends)
    high = np.minimum.accumulate(np.maximum(counts + t, 0) // widths)
    low = np.maximum.accumulate((-(np.minimum(t - counts, 0) // widths))[::-1])[::-1]
    wide = widths > 1  # the first block is always one position wide
    return (
        np.where(wide, np.append(low[1:], 0), low),
        np.where(wide, np.append(high[:1], high[:-1]), high),
    )
