"""Sums and means of released tables, from noisy sums and counts. Not secret.

All of this is computed from released numbers (`docs/understand/proofs/sums.md`, Lemma 7).
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dphist.arrays import FloatArray
from dphist.data.clamp import Clamp
from dphist.errors import ParameterError
from dphist.parameters import check_level
from dphist.release.interval_estimate import IntervalEstimate, name_columns
from dphist.release.tabular import Released
from dphist.tables.conditions import Term
from dphist.tables.widths import NORMAL

if TYPE_CHECKING:
    from dphist.tables.keyed_tables import KeyedTables

LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class KeyedSum:
    """The noisy sums of one column.

    Attributes
    ----------
    clamp : of the value of a row.
    tables : the sums as if they were counts: of clamped values about the center, in steps.
    """

    clamp: Clamp
    tables: "KeyedTables"

    @property
    def center(self) -> int:
        """Steps that are taken from the value of each row."""
        return self.clamp.center(counts_users=True)

    def sums(
        self, about: FloatArray, counts: FloatArray, variances: Sequence[Any], level: float
    ) -> FloatArray:
        """Return sums with both ends of their intervals, (3, ...), in the unit of the values.

        Parameters
        ----------
        about : noisy sums about the center, in steps.
        counts : the noisy counts.
        variances : of the noise of both; independent.
        """
        found = about + self.center * counts
        wide = NORMAL.of(level) * np.sqrt(variances[0] + self.center**2 * variances[1])
        return np.stack([found, found - wide, found + wide]) * float(self.clamp.step)

    def means(
        self, about: FloatArray, counts: FloatArray, variances: Sequence[Any], level: float
    ) -> FloatArray:
        """Return means with both ends of their intervals, (3, ...); NaN where nothing is known.

        An interval has the means m, about the center, for which sum - m count is within its noise
        of 0 (Fieller 1954), within the clamp. Where that is all of it, or the count may be 0 by its
        noise, the interval is all of it and there is no mean. Parameters are those of `sums`.
        """
        least, most = (float(end - self.center) for end in (self.clamp.least, self.clamp.most))
        squared = NORMAL.of(level) ** 2
        square = counts**2 - squared * variances[1]
        known = (square > 0) & (counts > 0)
        safe, number = np.where(known, square, 1.0), np.where(known, counts, 1.0)
        product = about * counts
        wide = np.sqrt(np.maximum(product**2 - safe * (about**2 - squared * variances[0]), 0.0))
        mean = np.clip(about / number, least, most)
        low = np.where(known, np.clip((product - wide) / safe, least, mean), least)
        high = np.where(known, np.clip((product + wide) / safe, mean, most), most)
        mean = np.where(known & ((low > least) | (high < most)), mean, np.nan)
        return (np.stack([mean, low, high]) + self.center) * float(self.clamp.step)


class KeyedSums(Released):
    """What released tables say of the columns that were summed."""

    __slots__ = ()

    summed: Mapping[str, KeyedSum]

    @abstractmethod
    def make_terms(self, given: Any) -> list[Term]:
        """Return terms of conditions."""

    @abstractmethod
    def estimate(self, terms: Sequence[Term]) -> float:
        """Return a weighted sum of counts."""

    @abstractmethod
    def covariance(self, ones: Sequence[Term], others: Sequence[Term]) -> float:
        """Return the covariance of two weighted sums of counts."""

    @property
    def sums(self) -> dict[str, Clamp]:
        """The columns that were summed, with the clamps of the values of rows."""
        return {name: each.clamp for name, each in self.summed.items()}

    def sum(self, of: str, level: float = LEVEL, /, **where: Any) -> IntervalEstimate:
        """Return the sum of a column over the records that satisfy all conditions.

        Parameters
        ----------
        of : a column that was summed; each record's value is clamped.
        level : probability that the interval holds the sum, over the noise, for it by itself.
        where : conditions, as for `count`.

        Raises
        ------
        ParameterError
            If the column was not summed, or as for `count`.

        >>> import pandas as pd
        >>> from dphist.data.clamp import Clamp
        >>> from dphist.tables import KeyedCounts, Tables
        >>> rows = pd.DataFrame({"sex": ["f", "m"] * 500, "age": [30, 40] * 500})
        >>> given = {"keys": {"sex": ["f", "m"]}, "sums": {"age": Clamp(0, 100, 1)}}
        >>> counts = KeyedCounts.from_table(rows, **given)
        >>> t = Tables(rho=50, **given, tables=["sex"]).release(counts).value
        >>> round(t.mean("age", sex="f").value), round(t.sum("age", sex="m").value, -3)
        (30, 20000.0)
        """
        return self._estimate(of, level, where, means=False)

    def mean(self, of: str, level: float = LEVEL, /, **where: Any) -> IntervalEstimate:
        """Return the mean of a column over the records that satisfy all conditions.

        Parameters
        ----------
        of, level, where : as for `sum`.

        Returns
        -------
        IntervalEstimate
            Its interval is that of a ratio of two noisy numbers, within the clamp. Where it is all
            of the clamp, nothing is known: there is no value.

        Raises
        ------
        ParameterError
            As for `sum`.
        """
        return self._estimate(of, level, where, means=True)

    def _estimate(
        self, of: str, level: float, where: Mapping[str, Any], *, means: bool
    ) -> IntervalEstimate:
        held = self.summed.get(of) if isinstance(of, str) else None
        if held is None:
            known = ", ".join(self.summed) or "none"
            raise ParameterError("of", f"must be a column that was summed; these are: {known}")
        terms = self.make_terms([(1.0, where)])
        numbers = [np.array(each.estimate(terms)) for each in (held.tables, self)]
        variances = [max(each.covariance(terms, terms), 0.0) for each in (held.tables, self)]
        read = held.means if means else held.sums
        value, low, high = read(numbers[0], numbers[1], variances, check_level(level)).tolist()
        if value != value:
            note = "the interval is all of the clamp: the noise leaves nothing known"
            return IntervalEstimate(None, low, high, level, note)
        return IntervalEstimate(value, low, high, level)

    def make_columns(
        self, names: Sequence[str], counts: FloatArray, errors: FloatArray
    ) -> dict[str, FloatArray]:
        """Return sums and means of all cells of a table, flat, by the names of their columns.

        Parameters
        ----------
        names : keys of the table, in its order.
        counts, errors : of its cells.
        """
        found: dict[str, FloatArray] = {}
        for name, held in self.summed.items():
            about = held.tables.table(*names)
            numbers = about.counts.ravel(), counts.ravel()
            variances = np.square(about.errors.ravel()), np.square(errors.ravel())
            for what, read in (("sum", held.sums), ("mean", held.means)):
                rows = read(*numbers, variances, LEVEL)
                found.update(zip(name_columns(f"{name}_{what}"), rows, strict=True))
        return found
