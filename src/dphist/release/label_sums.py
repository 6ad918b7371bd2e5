"""Sums and means of released labels, from noisy totals and counts. Not secret."""

from abc import abstractmethod
from collections.abc import Hashable, Mapping
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from dphist.arrays import FloatArray, IntArray
from dphist.errors import ParameterError, UnsupportedError
from dphist.parameters import check_level
from dphist.release.interval_estimate import IntervalEstimate
from dphist.release.tabular import Released


class SumAnswers(Protocol):
    """What the mechanism of a table says of the sums of one column."""

    @property
    def has_means(self) -> bool:
        """Whether a count is a number of users, so that it divides a sum."""

    def sums(self, totals: IntArray, counts: IntArray, level: float) -> FloatArray:
        """Return sums with both ends of their intervals, (k, 3)."""

    def means(self, totals: IntArray, counts: IntArray, level: float) -> FloatArray:
        """Return means with both ends of their intervals, (k, 3); NaN where nothing is known."""


class Answering(Protocol):
    """What the mechanism of a table says of all sums."""

    @property
    def sum_answers(self) -> Mapping[str, SumAnswers]:
        """What is said of the sums of each column."""


class LabelSums(Released):
    """What a table of labels says of the columns that were summed.

    Noisy totals are in steps about the center of their clamp; all that is returned is in the unit
    of the values.
    """

    __slots__ = ()

    _answers: Answering | None
    _sums: dict[str, IntArray]

    @property
    @abstractmethod
    def counts(self) -> IntArray | None:
        """The released counts, or None if only labels are released."""

    @abstractmethod
    def _counts_by_label(self) -> dict[Any, int]:
        """Return the counts by label."""

    @property
    def sums(self) -> list[str]:
        """The columns that were summed for each label."""
        return [*self._sums]

    def mean(self, label: Any, of: str | None = None, level: float = 0.95) -> IntervalEstimate:
        """Return the mean of a column over the users of a label: of their clamped totals.

        Parameters
        ----------
        label : one that is shown.
        of : a column that was summed (default: the only one).
        level : probability that the interval holds the mean, over the noise, for a label by itself.

        Returns
        -------
        IntervalEstimate
            Its interval is that of a ratio of two noisy numbers, within the clamp. Where it is all
            of the clamp, nothing is known: there is no value.

        Raises
        ------
        ParameterError
            If the table has no such sums, or does not have the label.
        UnsupportedError
            If users count more than once for a label, so that no number of users is known.
        """
        return self._estimate(label, of, level, means=True)

    def estimates(self, of: str, level: float = 0.95, *, means: bool = False) -> FloatArray:
        """Return the sums, or means, of all rows with both ends of their intervals, (len, 3).

        Parameters
        ----------
        of : a column that was summed.
        means : whether means are returned; NaN where nothing is known of one.
        """
        return self._read(of, slice(None), level, means=means)

    def _read(self, of: str, rows: slice, level: float, *, means: bool) -> FloatArray:
        """Return `estimates` of some rows."""
        held = None if self._answers is None else self._answers.sum_answers.get(of)
        counts = self.counts
        if of not in self._sums or held is None or counts is None:
            known = ", ".join(self._sums) or "none"
            raise ParameterError("of", f"must be a column that was summed; these are: {known}")
        if means and not held.has_means:
            raise UnsupportedError("a mean needs counts of users: count them with max_count=1")
        read = held.means if means else held.sums
        return read(self._sums[of][rows], counts[rows], check_level(level))

    def _estimate(
        self, label: Any, of: str | None, level: float, *, means: bool
    ) -> IntervalEstimate:
        """Return the sum or mean of one label."""
        named = of if of is not None else next(iter(self._sums), "")
        if of is None and len(self._sums) > 1:
            raise ParameterError("of", f"must be one of {', '.join(self._sums)}")
        self._read(named, slice(0), level, means=means)  # refuses what there is not
        found = self._counts_by_label()
        if not isinstance(label, Hashable) or label not in found:
            raise ParameterError(
                "labels" if not means else "label",
                "must be one label of the table: a label that is not shown has no known sum",
            )
        place = list(found).index(label)
        row = self._read(named, slice(place, place + 1), level, means=means)
        value, low, high = row[0].tolist()
        if value != value:
            note = "the interval is all of the clamp: the noise leaves nothing known"
            return IntervalEstimate(None, low, high, level, note)
        return IntervalEstimate(value, low, high, level)

    def _add_sums(self, table: pa.Table) -> pa.Table:
        """Return a table of the same rows with sums and means."""
        known = {} if self._answers is None else self._answers.sum_answers
        for name in self._sums if known else ():
            table = table.append_column(f"{name}_sum", pa.array(self.estimates(name)[:, 0]))
            if known[name].has_means:
                means = self.estimates(name, means=True)[:, 0]
                table = table.append_column(f"{name}_mean", pa.array(means, mask=np.isnan(means)))
        return table
