"""KeyedTables: what is released of tables by several keys, which add up.

All numbers come from noisy contrasts: the cells of a table are the sum of those of all sets of its
keys, so the cells of one table add up to those of another with fewer keys, up to the rounding of
floating point. Estimates are unbiased: they may be negative, and are not whole.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from dphist.arrays import FloatArray, IntArray
from dphist.errors import UnsupportedError
from dphist.parameters import check_level
from dphist.release.interval_estimate import IntervalEstimate
from dphist.release.release import save_kind
from dphist.tables.cells import LEVEL, KeyedTable, join_tables
from dphist.tables.conditions import (
    Term,
    check_names,
    compute_covariance,
    find_weights,
    read_terms,
    variances_of_cells,
)
from dphist.tables.contrasts import combine_parts
from dphist.tables.impossible import Impossible
from dphist.tables.key_noise import KeyNoise, make_noise
from dphist.tables.keyed_sums import KeyedSum, KeyedSums
from dphist.tables.keys import Keys, Names, find_places, read_tables
from dphist.tables.known import Known
from dphist.tables.lattice import Table, subsets
from dphist.tables.whole_numbers import WholeTables, make_whole
from dphist.tables.widths import NORMAL, Reach


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class KeyedTables(KeyedSums):
    """Released tables by several keys. Not secret.

    Attributes
    ----------
    keys : Keys.
    tables : the tables asked, each by its keys; `table` also gives those with fewer.
    contrasts : noisy contrasts by the positions of keys; int64, of n - 1 for each key.
    variances : of the noise of contrasts by the positions of keys: sigma_A**2, records squared.
    impossible : combinations of values that no record can have; None if none were given.
    reach : how many standard errors intervals reach.
    known : margins that the caller gave as public, and that were not measured; None without.
    ordered : positions of keys of which ranges were asked: their cells have different errors.
    step : the unit of the contrasts, which are of sums of weights; None if they are of records.
    summed : the sums of columns, by name.

    Notes
    -----
    Estimates are unbiased, and their errors exact: standard deviations of the noise, which is about
    normal. With geometric noise on contrasts they are upper bounds, and intervals of geometric
    noise reach as far as one draw does: 2.12 standard errors or more for 95 %, in place of 1.96.
    Conditions of `count`, `error` and `interval` name keys. A value counts it, a list the sum of
    its values, and for a key of bins a tuple is from where to below where, which are edges.
    """

    keys: Keys
    tables: tuple[Names, ...]
    contrasts: Mapping[Table, IntArray] = field(default_factory=dict)
    variances: Mapping[Table, float] = field(default_factory=dict)
    impossible: Impossible | None = None
    reach: Reach = NORMAL
    known: Known | None = None
    ordered: frozenset[int] = frozenset()
    step: Fraction | None = None
    summed: Mapping[str, KeyedSum] = field(default_factory=dict)
    _by_table: dict[Table, FloatArray] = field(default_factory=dict, init=False)

    @property
    def total(self) -> float:
        """The estimated number of all records."""
        return float(self.compute_cells(()))

    def table(self, *names: str) -> KeyedTable:
        """Return the table with these keys, in this order: its cells with errors and intervals.

        Parameters
        ----------
        names : keys that a table asked has together; none for the number of all records.

        Raises
        ------
        ParameterError
            If no table asked has these keys together.

        Examples
        --------
        >>> from dphist.tables import Tables
        >>> asked = Tables(rho=50, keys={"sex": ["f", "m"], "age": [1, 2]}, tables=["sex+age"])
        >>> t = asked.release([[400, 100], [200, 200]]).value
        >>> t.table("age", "sex").to_arrow().column_names
        ['age', 'sex', 'count', 'error', 'low', 'high']
        """
        places = self.find_places(names)
        ordered = tuple(sorted(places))
        order = [ordered.index(i) for i in places]
        counts = self.compute_cells(ordered)
        squared = variances_of_cells(ordered, self.variances, self.noise_along)
        errors = np.array(np.broadcast_to(np.sqrt(squared), counts.shape))
        keys = tuple(self.keys.keys[i] for i in places)
        marks = None
        if self.impossible is not None:
            marks = self.impossible.mark(ordered).transpose(order)
        counts, errors = counts.transpose(order), errors.transpose(order)
        sums = self.make_columns(names, counts, errors)
        return KeyedTable(keys, counts, errors, marks, self.reach, sums)

    def count(self, /, **where: Any) -> float:
        """Return the estimated number of records that satisfy all conditions.

        Raises
        ------
        ParameterError
            If a key or value is unknown, or no table asked has these keys together.

        >>> from dphist.tables import Tables
        >>> asked = Tables(rho=50, keys={"sex": ["f", "m"], "age": [1, 2]}, tables=["sex+age"])
        >>> t = asked.release([[400, 100], [200, 200]]).value
        >>> abs(t.count(sex="f") - t.count(sex="f", age=[1, 2])) < 1e-9
        True
        """
        return self.estimate(self.make_terms([(1.0, where)]))

    def error(self, /, **where: Any) -> float:
        """Return the standard error of `count`, in records; the errors are the same."""
        return math.sqrt(self._variance(self.make_terms([(1.0, where)])))

    def cell_error(self, names: Sequence[str]) -> float:
        """Return the standard error of each cell of a table, in records; the largest of them."""
        places = tuple(sorted(self.find_places(names)))
        return math.sqrt(float(variances_of_cells(places, self.variances, self.noise_along).max()))

    def interval(self, level: float = LEVEL, /, **where: Any) -> tuple[float, float]:
        """Return an interval for the true number of records that satisfy all conditions.

        Parameters
        ----------
        level : probability that it holds the number, over the noise, for this number by itself.
        where : conditions, as for `count`.
        """
        found = self.combine([(1.0, where)], level)
        return found.low, found.high

    def combine(
        self, terms: Sequence[tuple[float, Mapping[str, Any]]], level: float = LEVEL
    ) -> IntervalEstimate:
        """Return a weighted sum of counts, such as a difference, with its exact interval.

        Parameters
        ----------
        terms : pairs of a factor and the conditions of a count; counts may be of several tables.
        level : as for `interval`.

        >>> from dphist.tables import Tables
        >>> asked = Tables(rho=50, keys={"sex": ["f", "m"], "age": [1, 2]}, tables=["sex+age"])
        >>> t = asked.release([[400, 100], [200, 200]]).value
        >>> round(t.combine([(1, {"sex": "f"}), (-1, {"sex": "m"})]).value, -2)
        100.0
        """
        held = self.make_terms(terms)
        value, error = self.estimate(held), math.sqrt(self._variance(held))
        wide = self.reach.of(check_level(level)) * error
        return IntervalEstimate(value, value - wide, value + wide, level)

    def share(
        self, part: Mapping[str, Any], whole: Mapping[str, Any], level: float = LEVEL
    ) -> IntervalEstimate:
        """Return one count as a share of another, with an interval by Fieller's theorem.

        The interval holds every share r for which part - r whole is within its noise of 0, cut to 0
        to 1. If `whole` may be 0 by its noise, nothing is known.

        Parameters
        ----------
        part, whole : conditions, as for `count`; those of `part` imply those of `whole`.
        level : as for `interval`.

        Raises
        ------
        ParameterError
            As for `count`, and if the part has values that the whole has not.

        >>> from dphist.tables import Tables
        >>> asked = Tables(rho=50, keys={"sex": ["f", "m"], "age": [1, 2]}, tables=["sex+age"])
        >>> t = asked.release([[400, 100], [200, 200]]).value
        >>> round(t.share({"sex": "f", "age": 1}, {"sex": "f"}).value, 1)
        0.8
        """
        from dphist.tables.shares import estimate_share

        return estimate_share(self, part, whole, level)

    def quantile(self, name: str, share: Any, /, **where: Any) -> Any:
        """Return where a share of the records lies below, along a key of bins.

        Parameters
        ----------
        name : a key of bins between edges; records in no bin, "other", are left out.
        share : above 0 and below 1, such as 0.5 for the median; or a list of shares.
        where : conditions on other keys, as for `count`.

        Returns
        -------
        Like the edges; NaN or NaT if the noise is as large as all records. An array for a list.

        >>> from dphist.data.axis.axis import Axis
        >>> from dphist.tables import Tables
        >>> asked = Tables(rho=50, keys={"age": Axis.regular(0, 100, 25)}, tables=["age"])
        >>> t = asked.release([1000, 2000, 2000, 1000]).value
        >>> round(float(t.quantile("age", 0.5)))
        50
        """
        found = self.quantile_interval(name, share, **where)
        return np.array([each.value for each in found]) if isinstance(found, list) else found.value

    def quantile_interval(
        self,
        name: str,
        share: Any,
        level: float = LEVEL,
        /,
        *,
        simultaneous: bool = False,
        **where: Any,
    ) -> Any:
        """Return a quantile with an interval for the true one, by the exact errors of sums.

        Parameters
        ----------
        name, share, where : as for `quantile`. A key cannot be named "simultaneous" here.
        level : as for `interval`.
        simultaneous : whether the intervals of a list hold all at once with probability `level`:
            they are wider, the more there are. Otherwise each holds by itself.

        Returns
        -------
        IntervalEstimate, or a list of them: neither values nor ends fall as `share` grows.
        """
        from dphist.tables.quantiles import estimate_quantiles

        several = not isinstance(share, str) and np.ndim(share) > 0
        shares = np.ravel(share).tolist() if several else [share]
        found = estimate_quantiles(self, name, shares, level, where, simultaneous)
        return found if several else found[0]

    def to_whole_numbers(self) -> WholeTables:
        """Return whole, non-negative numbers that add up in all tables, without intervals.

        They are close to these estimates, and closer to the truth where counts are small beside
        their noise; but they are biased, so show both. They are the same each time, and computing
        them costs no privacy. Cells that the mechanism was told are impossible are 0. A known total
        is kept; if one table has all others in it, so is the known margin with the most cells.
        Other known margins are close: show the unbiased tables, which have them exactly.

        Raises
        ------
        UnsupportedError
            If there are more than 2**24 records, and no table has all others in it; or if counts
            are sums of weights, which are not whole.

        >>> from dphist.tables import Tables
        >>> asked = Tables(rho=50, keys={"sex": ["f", "m"], "age": [1, 2]}, tables=["sex+age"])
        >>> w = asked.release([[400, 100], [200, 0]]).value.to_whole_numbers()
        >>> w.count(sex="f") == w.count(sex="f", age=1) + w.count(sex="f", age=2)
        True
        """
        if self.step is not None:
            raise UnsupportedError(
                "sums of weights are not whole numbers: show the unbiased tables"
            )
        return make_whole(self)

    def with_known(self, margins: Mapping[Any, Any]) -> "KeyedTables":
        """Return tables that agree with margins that are public; post-processing, at no cost.

        They are the closest to what was measured, unbiased, and have error 0 in known cells.
        **Give what is published anyway, never what was counted in the data.** The guarantee covers
        what was measured, not the margins: protected are neighbors that agree in these.

        Parameters
        ----------
        margins : mapping of tables that the release has, such as "sex+age", or "" for the total, to
            counts of every cell: an array with a dimension for each key; for keys without bins also
            a mapping of values, or of tuples of them, or a dataframe of the keys and `count`.

        Raises
        ------
        ParameterError
            If counts are not whole numbers from 0, or margins do not agree.

        >>> from dphist.tables import Tables
        >>> asked = Tables(rho=1, keys={"sex": ["f", "m"], "age": [1, 2]}, tables=["sex+age"])
        >>> t = asked.release([[400, 100], [200, 200]]).value.with_known({"": 900})
        >>> t.total, t.error()
        (900.0, 0.0)
        """
        if self.step is not None:
            raise UnsupportedError("known margins are counts of records, and not sums of weights")
        known = Known.read(margins, self.keys, self.find_places, self.known)
        if self.impossible is not None:
            known.check_possible(self.impossible)
        exact = known.contrasts()
        return replace(
            self,
            contrasts={**self.contrasts, **exact},
            variances={**self.variances, **dict.fromkeys(exact, 0.0)},
            reach=replace(self.reach, on_cells=False),  # what is left is no longer one draw
            known=known,
        )

    def infer_again(self, decoded: "KeyedTables") -> "KeyedTables":
        """Return tables decoded from the same noisy contrasts, with the known margins of these."""
        return decoded if self.known is None else decoded.with_known(self.known.to_content())

    complete = infer_again

    def bounds(self, names: Sequence[str], level: float = LEVEL) -> tuple[FloatArray, FloatArray]:
        """Return the lower and upper bounds of all cells of a table, each by itself."""
        shown = self.table(*names)
        wide = self.reach.of(check_level(level)) * shown.errors
        return shown.counts - wide, shown.counts + wide

    def to_arrow(self) -> pa.Table:
        """Return all tables asked, one after the other.

        Columns are the table, by its keys, those of `table` for all keys, null where a table does
        not have one, and the numbers.
        """
        shown = {"+".join(names): self.table(*names).to_arrow() for names in self.tables}
        return join_tables(shown, self.keys)

    def to_content(self) -> dict[str, Any]:
        """Return what a file holds beside the noisy contrasts."""
        found = {"keys": self.keys.to_content(), "tables": [[*names] for names in self.tables]}
        return found if self.known is None else {**found, "known": self.known.to_content()}

    @classmethod
    def from_content(cls, content: Any) -> "KeyedTables":
        """Make tables without numbers, which the mechanism restores from noisy contrasts.

        Raises
        ------
        KeyError, TypeError, ValueError
        """
        if {*content} - {"known"} != {"keys", "tables"}:
            raise ValueError("released tables have keys and tables")
        keys = Keys.read(content["keys"])
        found = cls(keys, read_tables(content["tables"], keys.names))
        if "known" not in content:
            return found
        return replace(found, known=Known.read(content["known"], keys, found.find_places))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, KeyedTables):
            return NotImplemented
        names = "keys", "tables", "impossible", "known", "ordered", "step", "summed"
        one, two = ([getattr(each, name) for name in names] for each in (self, other))
        return one == two and (
            {t: held.tolist() for t, held in self.contrasts.items()}
            == {t: held.tolist() for t, held in other.contrasts.items()}
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        tables = ", ".join("+".join(names) or "total" for names in self.tables)
        known = "" if self.known is None else f"; known, not measured: {self.known.listed}"
        weighted = "" if self.step is None else "weighted "
        return f"KeyedTables({tables}; {self.total:,.0f} {weighted}records{known})"

    def find_places(self, names: Sequence[str]) -> Table:
        """Return the positions of keys, refusing sets that no table asked has."""
        return find_places(names, self.keys, self.tables)

    def compute_cells(self, table: Table) -> FloatArray:
        """Return the cells of a table, whose positions are ascending; the array is kept."""
        if table not in self._by_table:
            several = tuple(i for i in table if self.keys.keys[i].size > 1)
            found = self._combine(table, subsets(several))
            if self.known is not None and (exact := self.known.cells(several)) is not None:
                found = exact.reshape(found.shape)
            found.setflags(write=False)
            self._by_table[table] = found
        return self._by_table[table]

    def part(self, table: Table) -> FloatArray:
        """Return the cells that the contrasts of exactly these keys make: sums over a key are 0."""
        return self._combine(table, [table])

    def _combine(self, table: Table, parts: Sequence[Table]) -> FloatArray:
        shape = tuple(self.keys.keys[i].size for i in table)
        return combine_parts(self.contrasts, table, parts, shape, self.step)

    def make_terms(self, given: Any) -> list[Term]:
        """Return terms with the weights of the values of each key that they name."""
        return [Term(factor, self.weights_where(where)) for factor, where in read_terms(given)]

    def weights_where(self, where: Mapping[str, Any]) -> dict[int, FloatArray]:
        """Return 1 or 0 for the values of each key that conditions name, by its position."""
        check_names(where, self.keys)
        places = self.find_places(list(where))
        return {
            i: find_weights(self.keys.keys[i], where[name])
            for i, name in zip(places, where, strict=True)
        }

    def estimate(self, terms: Sequence[Term]) -> float:
        """Return a weighted sum of counts."""
        total = 0.0
        for term in terms:
            total += term.weigh(self.compute_cells(term.table))
        return total

    def _variance(self, terms: Sequence[Term]) -> float:
        return max(self.covariance(terms, terms), 0.0)

    def covariance(self, ones: Sequence[Term], others: Sequence[Term]) -> float:
        """Return the covariance of two weighted sums of counts."""
        return compute_covariance(ones, others, self.variances, self.noise_along)

    def noise_along(self, place: int) -> KeyNoise | None:
        """Return the noise of the contrasts of a key; None if it has one value."""
        size = self.keys.keys[place].size
        return make_noise(size, place in self.ordered) if size > 1 else None


save_kind("tables", KeyedTables)
