"""Joining decoded columns and the rows beyond them to a histogram. Pure functions of both."""

import math

import numpy as np

from dphist.anonymized.band import from_rows_and_columns
from dphist.arrays import IntArray
from dphist.release.anonymized_histogram import AnonymizedHistogram


def joined(columns: IntArray, rows: IntArray) -> AnonymizedHistogram:
    """Return the histogram with these columns and, right of them all, rows of these lengths."""
    rows = rows[rows > 0]
    # A row reaches beyond the columns' end, less the columns that are not so high.
    lower = np.searchsorted(columns[::-1], np.arange(1, len(rows) + 1), side="left")
    return from_rows_and_columns(rows + len(columns) - lower, np.maximum(columns - len(rows), 0))


def agreeing(columns: IntArray, rows: IntArray) -> tuple[IntArray, IntArray]:
    """Return both curves with no more rows than the last column is high, with fewest changes.

    Columns and rows are decoded apart, but each row passes through all columns. Where there are
    more rows, the columns are too low by noise, or the last rows are noise: some height between
    changes the fewest cells.

    Parameters
    ----------
    columns, rows : (c,) and (k,) int64, non-increasing, non-negative.
    """
    height, reach = int(columns[-1]), int(np.count_nonzero(rows))
    if reach <= height:
        return columns, rows
    heights = np.arange(height, reach + 1)
    removed = np.append(np.cumsum(rows[height:reach][::-1])[::-1], 0)
    ascending = columns[::-1]
    lower = np.searchsorted(ascending, heights, side="left")
    added = heights * lower - np.append(0, np.cumsum(ascending))[lower]
    best = int(heights[np.argmin(removed + added)])
    return np.maximum(columns, best), np.where(np.arange(len(rows)) < best, rows, 0)


def level_start(columns: IntArray, rows: IntArray, epsilon: float) -> IntArray:
    """Return the columns without a first level that noise explains better than labels do.

    Where the columns are level for long, and only the first ones are higher, labels would end
    right there and then none for long. Noise is as likely as exp(-epsilon) for each cell, and a
    fall at one of many positions about as likely as one over their number.

    Parameters
    ----------
    columns, rows : curves that agree; a level of columns goes on as far as the shortest row.
    epsilon : parameter of the noise.
    """
    second = int(np.searchsorted(-columns, -columns[0], side="right"))
    if second == len(columns) or columns[second] == 0:
        return columns
    height = int(columns[second])
    level = int(np.count_nonzero(columns == height))
    if columns[-1] == height == np.count_nonzero(rows):
        level += int(rows[height - 1])
    cells = second * int(columns[0] - height)
    return np.minimum(columns, height) if epsilon * cells < math.log(level) else columns
