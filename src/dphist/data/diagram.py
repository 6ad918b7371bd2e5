"""Ferrers diagrams, held as (count, prevalence) pairs: what data and released histograms share.

Sorted descending, the counts of an anonymized histogram are an integer partition; drawn
as a Ferrers diagram, row i has as many cells as the i-th largest count, and column r as
many as there are labels with count r or more. A partition of n has at most sqrt(2 n)
distinct counts, so everything here costs O(distinct counts), not O(records).
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from dphist.arrays import IntArray
from dphist.errors import ParameterError


@dataclass(frozen=True, slots=True, init=False, repr=False, eq=False)
class Diagram:
    """The rows and columns of a diagram, of data or released: nothing here shows what it holds.

    Attributes
    ----------
    counts : (d,) int64, ascending, distinct, positive; records per label.
    prevalences : (d,) int64, positive; how many labels have each of `counts`.
    """

    counts: IntArray
    prevalences: IntArray
    _cells: IntArray  # in columns 1..counts[j], after a leading 0
    _heights: IntArray  # labels with at least counts[j], before a final 0

    def _hold_pairs(self, counts: IntArray, prevalences: IntArray) -> None:
        """Set the fields to checked pairs, ascending and distinct."""
        heights = np.append(np.cumsum(prevalences[::-1])[::-1], 0)
        cells = np.append(0, _sum_cells(np.diff(counts, prepend=0), heights[:-1]))
        for name, array in (
            ("counts", counts),
            ("prevalences", prevalences),
            ("_cells", cells),
            ("_heights", heights),
        ):
            held = np.array(array, np.int64)
            held.setflags(write=False)
            object.__setattr__(self, name, held)

    @abstractmethod
    def _with_pairs(self, counts: IntArray, prevalences: IntArray) -> Self:
        """Return other checked, ascending, distinct pairs, with the bounds of this diagram."""

    @property
    def total(self) -> int:
        """Number of records, n."""
        return int(self._cells[-1])

    @property
    def labels(self) -> int:
        """Number of labels that occur, K."""
        return int(self._heights[0])

    def sorted_counts(self) -> IntArray:
        """Return every label's count, (K,) int64 descending: the one place that expands."""
        return np.repeat(self.counts[::-1], self.prevalences[::-1])

    def cumulative_prevalences(self, r: Any) -> IntArray:
        """Return how many labels have count r or more, for each r >= 1; (k,) int64."""
        heights: IntArray = self._heights[np.searchsorted(self.counts, r, side="left")]
        return heights

    def cells_up_to(self, r: Any) -> IntArray:
        """Return the cells in columns 1..r, the sum of min(count, r), for each r >= 0."""
        columns = np.asarray(r, np.int64)
        j = np.searchsorted(self.counts, columns, side="right")
        # Past the last count the height is 0, so columns there add nothing.
        start = np.append(0, self.counts)[j]
        cells: IntArray = self._cells[j] + (columns - start) * self._heights[j]
        return cells

    def block_sums(self, boundaries: Any) -> IntArray:
        """Return the cells in columns b[i]+1..b[i+1] for ascending `boundaries`; (k-1,) int64."""
        return np.diff(self.cells_up_to(boundaries))

    def conjugate(self) -> Self:
        """Return the diagram that has this one's columns as its rows, with the same bounds.

        >>> from dphist import Profile
        >>> Profile.from_counts([3, 1]).conjugate().sorted_counts()
        array([2, 1, 1])
        """
        widths = np.diff(self.counts, prepend=0)
        return self._with_pairs(self._heights[:-1][::-1], widths[::-1])

    def distance(self, other: "Diagram") -> int:
        """Return the exact sorted L1 distance to another histogram, of data or released.

        The i-th largest counts of the two are compared, and the absolute differences are added.
        The sum equals the number of cells in exactly one of the two diagrams. The distance to data
        is as secret as the data.

        >>> from dphist import Profile
        >>> Profile.from_counts([8, 8, 3]).distance(Profile.from_counts([8, 7]))
        4
        """
        if not isinstance(other, Diagram):
            raise ParameterError(
                "other", "must be a dphist.AnonymizedHistogram or a dphist.Profile"
            )
        ends = np.union1d(self.counts, other.counts)
        widths = np.diff(ends, prepend=0)
        mine, theirs = self.cumulative_prevalences(ends), other.cumulative_prevalences(ends)
        # Each term is below 2**62, but the sum only below 2**63.
        return int(np.sum(np.abs(mine - theirs) * widths, dtype=np.uint64))

    def _has_same_pairs(self, other: "Diagram") -> bool:
        return np.array_equal(self.counts, other.counts) and np.array_equal(
            self.prevalences, other.prevalences
        )


def merge_pairs(counts: IntArray, prevalences: IntArray) -> tuple[IntArray, IntArray]:
    """Return ascending distinct positive counts, their prevalences added up."""
    some = (counts > 0) & (prevalences > 0)
    distinct, place = np.unique(counts[some], return_inverse=True)
    merged = np.zeros(len(distinct), np.int64)
    np.add.at(merged, place, prevalences[some])
    return distinct, merged


def _sum_cells(widths: IntArray, heights: IntArray) -> IntArray:
    """Cells in the first columns, block by block; 2**63 - 1 where there are more."""
    about = np.cumsum(widths.astype(np.float64) * heights)
    exact: IntArray = np.cumsum(widths * heights)
    if len(about) and about[-1] >= 2**62.99:
        exact[about >= 2**62.99] = np.iinfo(np.int64).max
    return exact
