"""True cell counts of fixed, disjoint regions of a Ferrers diagram.

A neighbor's diagram has one cell more or less, and this cell is in at most one of these regions.
So the vector of their counts has L1 sensitivity 1 per cell
(Hay et al. 2010, Proposition 3; `docs/understand/proofs/rank_split.md`, Lemma 1).
"""

import numpy as np

from dphist.arrays import IntArray
from dphist.data.diagram import Diagram


def first_rows(profile: Diagram, rows: int) -> IntArray:
    """Return the `rows` largest counts, padded with zeros; (rows,) int64."""
    return profile.conjugate().cumulative_prevalences(np.arange(1, rows + 1))


def columns_below(profile: Diagram, row: int, columns: int) -> IntArray:
    """Return the number of cells below `row` in columns 1..`columns`; (columns,) int64."""
    heights = profile.cumulative_prevalences(np.arange(1, columns + 1))
    return np.maximum(heights - row, 0)


def rows_beyond(profile: Diagram, rows: int, column: int) -> IntArray:
    """Return `column` plus the number of cells beyond it, for rows 1..`rows`; (rows,) int64."""
    return np.maximum(first_rows(profile, rows), column)
