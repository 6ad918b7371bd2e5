"""KeyedCounts: how many rows of a table have each combination of values of public keys.

The counts are secret, for mechanisms only: no repr and no error shows them.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dphist.arrays import IntArray
from dphist.counting.binning.keys import count_cells
from dphist.counting.binning.label_keys import count_labeled
from dphist.counting.checks import add_totals
from dphist.counting.engine.progress import Progress
from dphist.counting.reading.gate import Reading
from dphist.data.clamp import Clamp
from dphist.data.counting import check_treatment, make_cut, state_treatment, unit_of_records
from dphist.data.guard import Guarding, Secret, guard
from dphist.data.partial import Partial, all_parts, make_partial, write_columns
from dphist.data.weight import Weight, check_column
from dphist.errors import ParameterError, phrase
from dphist.parameters import whole_number
from dphist.privacy.unit import PrivacyUnit, asserted_unit, unit_of_data
from dphist.signals import stoppable
from dphist.tables.cell_sums import Columns, check_totals, read_columns, sum_cells
from dphist.tables.key_cells import (
    check_cells,
    check_counted,
    count_part,
    hold_numbers,
    make_grid,
    read_grid,
    read_parts,
    write_keys,
)
from dphist.tables.keys import OTHER, Keys
from dphist.tables.label_cells import (
    LabelCells,
    check_labels,
    find_places,
    place_found,
    sum_clamped,
)
from dphist.tables.lattice import Table
from dphist.tables.row_bounds import (
    check_unlisted,
    find_place_of_rows,
    read_max_rows,
    read_one_row_per,
)
from dphist.tables.row_weights import check_weight, read_count, weigh


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class KeyedCounts(Secret):
    """Exact counts by several keys: only cells with records take memory.

    Attributes
    ----------
    keys : Keys, public.
    cells : (d,) int64, ascending, read-only; the cells with records, the last key fastest. Secret.
    counts : (d,) int64, above 0, read-only; records in each. Secret.
    max_rows : rows of one privacy unit, at most; public. A mechanism refuses counts with more than
        its own.
    unit : PrivacyUnit or None
        The privacy unit: ``one user`` if rows of users were bounded, ``one row`` if those of rows
        of several records were; None for one record. Public.
    unlisted : what was done with rows outside the keys: "error" or "drop". Public.
    labels : LabelCells or None
        Where values of keys are to be found, the labels that rows have: `cells` then are those of
        the other keys, in any order. Secret.
    null_users : "drop" or "separate" if rows without a user were accepted; otherwise None. Public.
    one_row_per : str or None
        A key of which one unit has one row for each value at most; None if its rows may be alike.
        Public.
    weight : Weight or None
        How rows were weighted: `counts` are then sums of weights in steps; None if a row is a whole
        number of records. Public, as are its bounds.
    columns, totals : the columns that are summed with their clamps, public; and for each (d,)
        int64, read-only: sums of clamped values about the middle of the clamp, in steps. Secret.

    >>> import pandas as pd
    >>> rows = pd.DataFrame({"sex": ["f", "m", "f"], "region": ["BE", "UR", "BE"]})
    >>> KeyedCounts.from_table(rows, keys={"region": ["BE", "UR"], "sex": ["f", "m"]})
    KeyedCounts(keys={'region': ['BE', 'UR'], 'sex': ['f', 'm']}, max_rows=1; counts not shown)
    """

    keys: Keys
    cells: IntArray
    counts: IntArray
    max_rows: int = 1
    unit: PrivacyUnit | None = None
    unlisted: str = "error"
    labels: LabelCells | None = None
    null_users: str | None = None
    one_row_per: str | None = None
    weight: Weight | None = None
    columns: Columns = ()
    totals: tuple[IntArray, ...] = ()
    _IN_PLACE_OF_AN_ARRAY = (
        "KeyedCounts must be passed to Tables themselves: an array would lose their keys, bounds "
        "and unit"
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "keys", Keys.read(self.keys))
        for name in ("cells", "counts"):
            object.__setattr__(self, name, hold_numbers(name, getattr(self, name)))
        check_labels(self.labels, self.keys, len(self.cells))
        # A key whose values are to be found has one place.
        places = math.prod(1 if key.discover is not None else key.size for key in self.keys)
        check_counted(self.cells, self.counts, places, ordered=self.labels is None)
        if self.unit is not None:
            object.__setattr__(self, "unit", unit_of_data(self.unit))
        object.__setattr__(self, "max_rows", whole_number(self.max_rows, "max_rows", 1))
        object.__setattr__(self, "totals", check_totals(self.columns, self.totals, len(self.cells)))
        check_unlisted(self.unlisted)
        check_treatment(self.null_users)
        if self.one_row_per is not None:
            read_one_row_per(self.one_row_per, self.keys, self.max_rows)
            if self.unit is None:
                raise ParameterError("unit", phrase("must say whose rows differ by {one_row_per}"))
        check_weight(self.weight, self.unit, self.one_row_per, finding=self.labels is not None)

    @classmethod
    @stoppable
    def from_table(
        cls,
        frame: Any,
        *,
        keys: Any,
        other: Sequence[str] = (),
        unlisted: str = "error",
        count: str | Weight | None = None,
        user: str | None = None,
        max_rows: int | None = None,
        one_row_per: str | None = None,
        null_users: str = "refuse",
        sums: Any = None,
        progress: Progress | None = None,
        delimiter: str | None = None,
        unit: str | PrivacyUnit | None = None,
        ledger: Guarding | None = None,
    ) -> "KeyedCounts":
        """Count the rows of a table by several keys, in the table's own engine.

        Parameters
        ----------
        frame : a dataframe or files, as for `bin_counts`.
        keys : mapping of columns to their public values: a sequence of text, of whole numbers or of
            truth values, or a `dphist.Axis` of bins between public edges. Values are compared
            exactly; in text files, and in columns of Python objects, as text. Values must not be
            taken from the data: that they were cannot be seen. Or `dphist.DiscoverKeys` for a
            column of text, of which `Tables` finds the values.
        other : keys that get one more value, "other", for rows with a value that is not listed, in
            no bin, or missing.
        unlisted : what is done with a row that has such a value of another key: "error" refuses the
            table, and "drop" leaves the row out, as if it were not there, before users are bounded.
            The guarantee covers it: such a row adds nothing to any count.
        count : column of counts, whole numbers from 0 to 2**62 - 1, if a row stands for that many
            records: a table that is counted already. Without `user` and `max_rows`, one of these
            records is protected, and not the row. Or a `dphist.Weight`, if a row counts as its
            weight: a sum of weights is released, and all of a row or user is protected. With
            `user`, the weights of a user add up to at most `max_rows` records; of more, each part
            of each is kept with the same chance. `max_rows` need not be given without `user`: a row
            counts at most `high`, rounded up. Not with `dphist.DiscoverKeys`.
        user : column of users. Each user keeps at most `max_rows` rows (with `count`, records),
            each with the same chance and independently of other users. The privacy unit is then a
            user, with all of the user's rows.
        max_rows : required with `user`. With `count` and without `user`, a row counts at most that
            often, and the privacy unit is a row. Refused without both.
        one_row_per : key that lists all its values, such as "day". Of a user's rows with one value
            of it one is kept, at random, and then at most `max_rows` of these, for less noise of
            `Tables` with the same `one_row_per`. Needs `user`, and no `count`.
        null_users : "refuse" rows without a user, "drop" them, or keep them "separate", each as a
            user of its own. The privacy unit is then "one user, or one row without a user".
        sums : columns of numbers to sum in each cell, each with a `dphist.Clamp`, to which the
            value of each row is clamped, rounded as for `LabelCounts.from_table`; a row without one
            is refused. Not with `count`, `one_row_per` or `DiscoverKeys`.
        progress, delimiter, unit, ledger : as for `LabelCounts.from_table`.

        Raises
        ------
        ParameterError
            If keys, bounds or sizes are not usable: found before any data are read.
        ColumnError
            If a column is missing or repeated, or its type is not that of its values.
        DataError
            If a row has a value that its key does not have, or none, and the key has no "other",
            without ``unlisted="drop"``: the column is named, never the value. Also if a row without
            a user is refused, a count is missing, negative or too large, or a field of a text file
            cannot be read as a number or time of bins, even with `other` or `unlisted`. Each
            refusal is a yes or no about the data, which no guarantee covers. Where a program acts
            on it, give `other` or `unlisted`, `null_users`, and columns of the right types.
        InputFileError
            If a file is missing or its content does not match its extension.
        """
        held = Keys.read(keys, other)
        check_unlisted(unlisted)
        column, weight = read_count(count, held)
        if weight is not None and user is None and max_rows is None:
            max_rows = weight.max_records
        bound = read_max_rows(max_rows, user, column)
        check_cells(held)
        one = unit_of_records(user, unit, null_users)
        each = find_place_of_rows(one_row_per, held, bound, user, column)
        grid, protected = make_grid(held, unlisted), None if max_rows is None else one
        columns = read_columns(sums, held, grid, count=count, one_row_per=one_row_per)
        most, missing = None if max_rows is None else bound, state_treatment(null_users)
        asked: dict[str, Any] = {"user": user, "count": column, "max_records": most}
        asked |= Reading(progress=progress, delimiter=delimiter) | {"null_users": null_users}
        if held.discovering:
            pairs = count_labeled(frame, grid, OTHER, **asked)
            found, labels = (pairs.cells, pairs.counts), LabelCells(pairs.labels, pairs.places)
            return guard(cls(held, *found, bound, protected, unlisted, labels, missing), ledger)
        if columns:
            cells, counts, totals = sum_cells(frame, grid, columns, **asked)
            rest = bound, protected, unlisted, None, missing, None, None
            return guard(cls(held, cells, counts, *rest, columns, totals), ledger)
        if weight is not None:
            asked |= weigh(weight, bound)
        found = count_cells(frame, grid, one_each=each, **asked)
        counted = cls(held, *found, bound, protected, unlisted, None, missing, one_row_per, weight)
        return guard(counted, ledger)

    @classmethod
    @stoppable
    def partial(
        cls,
        frame: Any,
        *,
        keys: Any,
        user: str,
        max_rows: int,
        part: int,
        parts: int,
        others: str = "drop",
        other: Sequence[str] = (),
        unlisted: str = "error",
        count: str | None = None,
        one_row_per: str | None = None,
        null_users: str = "refuse",
        sums: Any = None,
        progress: Progress | None = None,
        delimiter: str | None = None,
        unit: str | PrivacyUnit | None = None,
    ) -> Partial:
        """Bound and count one part of the users, for `merge`.

        Parameters
        ----------
        part, parts, others : as for `LabelCounts.partial`.
        frame, keys, user, max_rows, other, unlisted, count, one_row_per, null_users, progress,
        delimiter, unit, sums
            As for `from_table`. Keys and their values must be the same in all parts, in the same
            order. With `DiscoverKeys` or `sums` a part tells more of its rows: see `Partial`.

        Raises
        ------
        ParameterError, ColumnError, DataError, InputFileError
            As for `from_table`, of all rows that this part reads; also if `part` is not below
            `parts`, or if `others` is "refuse" and a user belongs to another part.

        >>> import pandas as pd
        >>> rows = pd.DataFrame({"who": [1, 1, 2, 3], "sex": ["f", "f", "m", "f"]})
        >>> given = {"keys": {"sex": ["f", "m"]}, "user": "who", "max_rows": 1}
        >>> cut = [KeyedCounts.partial(rows, **given, part=k, parts=2) for k in range(2)]
        >>> KeyedCounts.merge(cut).counts
        array([2, 1])
        """
        check_column(count, "where a table is cut into parts")
        cut = make_cut(user, part, parts, others)
        held, bound = Keys.read(keys, other), whole_number(max_rows, "max_rows", 1)
        check_unlisted(unlisted)
        check_cells(held)
        one = unit_of_records(user, unit, null_users)
        each = find_place_of_rows(one_row_per, held, bound, user, count)
        asked: dict[str, Any] = {"max_records": bound, "null_users": null_users, "one_each": each}
        asked |= Reading(progress=progress, delimiter=delimiter)
        grid = make_grid(held, unlisted)
        columns = read_columns(sums, held, grid, count=count, one_row_per=one_row_per)
        table = count_part(frame, held, grid, columns, user=user, count=count, cut=cut, **asked)
        said = {"keys": write_keys(held), "unlisted": unlisted, "max_rows": bound}
        said |= {"one_row_per": one_row_per, "null_users": null_users, "unit": one.to_content()}
        return make_partial(
            "cells", cut, {"user": user, "count": count}, said | write_columns(columns), table
        )

    @classmethod
    @stoppable
    def merge(cls, parts: Iterable[Any], *, ledger: Guarding | None = None) -> "KeyedCounts":
        """Add the counts of all parts of the users; see `LabelCounts.merge`.

        Raises
        ------
        DataError, InputFileError, ParameterError
        """
        found = all_parts("cells", cls.__name__, parts)
        return guard(cls(*read_parts(found[0].head, [each.table for each in found])), ledger)

    @classmethod
    def from_counts(
        cls,
        counts: Any,
        *,
        keys: Any,
        max_rows: int = 1,
        one_row_per: str | None = None,
        unit: str | PrivacyUnit | None = None,
    ) -> "KeyedCounts":
        """Make one from counts of all cells; you assert the bound.

        Parameters
        ----------
        counts : array, or nested lists, of whole numbers from 0: a dimension for each key, in
            order, of its number of values.
        keys : as for `from_table`.
        max_rows : records that one privacy unit adds at most. dphist cannot check it.
        one_row_per : key on which the records of one unit differ, at most one for each value of it.
            dphist cannot check that either.
        unit : what such a unit is, such as "one patient" (default: a record; or a user).

        Raises
        ------
        ParameterError, DataError

        >>> KeyedCounts.from_counts([[3, 4], [5, 0]], keys={"a": ["x", "y"], "b": [1, 2]}).max_rows
        1
        """
        held = Keys.read(keys)
        held.check_listed()
        flat = read_grid(counts, held)
        cells = np.flatnonzero(flat)
        whose = "user" if unit is None and one_row_per is not None else unit
        said = None if whose is None else asserted_unit(whose)
        most = whole_number(max_rows, "max_rows", 1)
        return cls(held, cells, flat[cells], most, said, one_row_per=one_row_per)

    @property
    def step(self) -> Fraction | None:
        """The unit of the counts, as a share of a record; None if they are whole records."""
        return None if self.weight is None else self.weight.step

    @property
    def sensitivity(self) -> int:
        """The same as `max_rows`: records that one privacy unit can add or remove."""
        return self.max_rows

    def with_found(self, keys: Keys) -> "KeyedCounts":
        """Return the counts by keys of which those that were to be found now have values; secret.

        Rows whose label is not among these are "other".

        Parameters
        ----------
        keys : as `Keys.with_found` returns them.
        """
        held = self.labels
        if held is None:
            raise RuntimeError("all values of the keys were listed")
        check_cells(keys)
        cells = place_found(self.cells, self.keys, keys, held)
        different, at = np.unique(cells, return_inverse=True)
        counts = sum_clamped(at, self.counts, len(different))
        rest = self.max_rows, self.unit, self.unlisted, None, self.null_users
        return KeyedCounts(keys, different, counts, *rest)

    def rows_by_label(self, name: str) -> tuple[tuple[str, ...], IntArray]:
        """Return the labels of a key whose values are to be found, and the rows of each; secret."""
        if self.labels is None:
            raise RuntimeError("all values of the keys were listed")
        place = [key.name for key in self.keys.discovering].index(name)
        return self.labels.labels[place], self.labels.rows(place, self.counts)

    def sum_over(self, table: Table) -> IntArray:
        """Return the exact counts of a table; secret.

        Parameters
        ----------
        table : the positions of its keys, ascending.

        Returns
        -------
        int64 array with a dimension for each key of the table; takes time O(d + cells). A cell has
        at most 2**62 - 1: refusing larger sums would reveal something about all records.
        """
        if self.labels is not None:
            raise RuntimeError("values of the keys are to be found first")
        places, own = self._locate(table)
        return sum_clamped(places, self.counts, math.prod(own)).reshape(own)

    def sum_values(self, column: str, table: Table) -> IntArray:
        """Return the exact sums of a column in the cells of a table, as `totals` are; secret.

        Parameters
        ----------
        column : its name.
        table : as for `sum_over`. A cell has from -(2**62 - 1) to 2**62 - 1.
        """
        places, own = self._locate(table)
        place = [name for name, _ in self.columns].index(column)
        return add_totals(places, self.totals[place], math.prod(own)).reshape(own)

    def _locate(self, table: Table) -> tuple[IntArray, tuple[int, ...]]:
        """Return the place of each cell in a table, and the table's number of values by key."""
        own = tuple(self.keys.shape[i] for i in table)
        return find_places(self.cells, self.keys.shape, table), own

    @property
    def sums(self) -> dict[str, Clamp]:
        """The columns that were summed, with their clamps; public."""
        return dict(self.columns)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, KeyedCounts):
            return NotImplemented
        return (
            (self.keys, *self._stated) == (other.keys, *other._stated)
            and np.array_equal(self.cells, other.cells)
            and np.array_equal(self.counts, other.counts)
            and all(map(np.array_equal, self.totals, other.totals))
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[type["KeyedCounts"], tuple[Any, ...]]:
        """Copy and unpickle through the constructor, which makes everything read-only."""
        return KeyedCounts, (self.keys, self.cells, self.counts, *self._stated, self.totals)

    @property
    def _stated(self) -> tuple[Any, ...]:
        """All but keys and secret numbers, in the order of the constructor."""
        bounds = self.max_rows, self.unit, self.unlisted, self.labels
        return *bounds, self.null_users, self.one_row_per, self.weight, self.columns

    def __repr__(self) -> str:
        unit = "" if self.unit is None else f", unit={str(self.unit)!r}"
        rows = ", unlisted='drop'" if self.unlisted == "drop" else ""
        per = "" if self.one_row_per is None else f", one_row_per={self.one_row_per!r}"
        weight = "" if self.weight is None else f", weight={self.weight}"
        sums = f", sums={self.sums}" if self.columns else ""
        bounds = f"max_rows={self.max_rows}{per}{weight}{unit}{rows}{sums}"
        return f"KeyedCounts(keys={self.keys}, {bounds}; counts not shown)"
