"""Error bands: a smaller and a larger profile with the true one in between."""

from dataclasses import dataclass

import numpy as np

from dphist.arrays import IntArray
from dphist.data.profile import Profile

NOTHING = np.zeros(0, np.int64)  # no rows, or no columns


@dataclass(frozen=True, slots=True)
class Band:
    """Profiles whose curves lie below and above the truth everywhere at once.

    Attributes
    ----------
    lower, upper : Profile
        For every rank i the i-th largest count, and for every r the number of labels with
        count r or more, lies between those of `lower` and `upper`.
    level : probability, over the mechanism's noise alone, that all of this holds.
    covers : in words, what part of the true diagram is meant.
    """

    lower: Profile
    upper: Profile
    level: float
    covers: str


def from_rows_and_columns(rows: IntArray, columns: IntArray) -> Profile:
    """Join row lengths and, below them, column heights into one profile.

    Parameters
    ----------
    rows : (k,) int64, non-increasing, non-negative; counts of the first k labels.
    columns : (m,) int64, non-increasing, non-negative; of the labels after those, how many
        have count r or more, for r = 1..m.
    """
    prevalences = columns - np.append(columns[1:], 0)
    counts = np.append(np.arange(1, len(columns) + 1), rows)
    how_many = np.append(prevalences, np.ones(len(rows), np.int64))
    return Profile.of_released(counts, how_many)


def holding(lower: Profile, upper: Profile, value: Profile) -> tuple[Profile, Profile]:
    """Widen two profiles where that is needed for the released one to lie between them."""
    ends = np.unique(np.concatenate([lower.counts, upper.counts, value.counts]))
    heights = value.cumulative_prevalences(ends)
    low = np.minimum(lower.cumulative_prevalences(ends), heights)
    high = np.maximum(upper.cumulative_prevalences(ends), heights)
    return from_heights(ends, low), from_heights(ends, high)


def from_heights(ends: IntArray, heights: IntArray) -> Profile:
    """Make a profile of blocks of columns of equal height.

    Parameters
    ----------
    ends : (k,) int64, ascending; the last column of each block.
    heights : (k,) int64, non-increasing, non-negative.
    """
    return Profile.of_released(ends, heights - np.append(heights[1:], 0))


def curve_bounds(ends: IntArray, counts: IntArray, t: int) -> tuple[IntArray, IntArray]:
    """Bound a non-increasing curve in each block, if no noise exceeds `t`; two (k,) int64.

    A block's mean height is within t / width; the curve is not higher than the mean of the block
    before, and not lower than that of the block after.
    """
    widths = np.diff(ends)
    high = np.minimum.accumulate(np.maximum(counts + t, 0) // widths)
    low = np.maximum.accumulate((-(np.minimum(t - counts, 0) // widths))[::-1])[::-1]
    wide = widths > 1  # the first block is one position wide, always
    return (
        np.where(wide, np.append(low[1:], 0), low),
        np.where(wide, np.append(high[:1], high[:-1]), high),
    )
