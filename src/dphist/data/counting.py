"""Counting: a table that is counted, by which of its columns, and whom the counts protect.

`from_table` and `partial` of profiles, labels and bins take what they are given into a `Counting`.
It passes the rows to `dphist.counting`, and makes a part of what comes back.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import pyarrow as pa

from dphist.arrays import IntArray
from dphist.counting import count_records, redact_errors, sum_counts
from dphist.counting.binning.slots import Grid, bin_rows
from dphist.counting.binning.users import bin_rows_bounded
from dphist.counting.bounding import bounds
from dphist.counting.bounding.bounds import Bounds, Cut
from dphist.counting.bounding.contributions import (
    bound_pairs,
    count_bounded_records,
    count_labels,
    label_bounded_records,
)
from dphist.counting.bounding.steps import Summed
from dphist.counting.bounding.stores import ArrowStore, Sets, Store, make_sets
from dphist.counting.bounding.sums import count_with_sums, hold_with_sums
from dphist.counting.reading.gate import Reading
from dphist.data.cells import check_most, make_cells
from dphist.data.clamp import Clamp
from dphist.data.partial import Partial, make_partial
from dphist.data.weight import Weight, count_steps
from dphist.errors import Argument, DataError, ParameterError, phrase
from dphist.noise.inversion import Source, check_source
from dphist.privacy.unit import PrivacyUnit, unit_of_users

_KEY_BYTES = 16

Pairs = tuple[IntArray, IntArray]
"""Counts, and how many labels have each."""


@dataclass(frozen=True, slots=True)
class Counting:
    """A table that is counted.

    Attributes
    ----------
    frame : table or files, as for `open_source`.
    columns : the names of the columns by role: label, user and count; None for a role without one.
    unit : whom the counts protect.
    reading : progress and delimiter, for the gate.
    cut : the part of the users that is counted; None for all.
    sums : columns of values that are summed for each label, with their clamps.
    weight : how rows are weighted, if ``count`` is a column of weights; counts are then in steps.
    by_totals : whether users are counted by their totals of each of `sums`.
    """

    frame: Any
    columns: Mapping[str, str | None]
    unit: PrivacyUnit
    reading: Reading
    cut: Cut | None = None
    sums: tuple[tuple[str, Clamp], ...] = ()
    weight: Weight | None = None
    by_totals: bool = False

    @property
    def _names(self) -> dict[str, Any]:
        return {role: name for role, name in self.columns.items() if name is not None}

    def count_labels(
        self, bounds: Bounds, source: Source | None
    ) -> tuple[Store, tuple[int, ...] | None]:
        """Return the counts of labels within the bounds, and the users in cells, if counted.

        The store also has the sums of `sums`, if there are any. Users by labels come first, then
        those by the totals of each column.
        """
        bounds, key = replace(bounds, cut=self.cut), _draw_key(source)
        if self.weight is not None:
            bounds = replace(bounds, max_count=count_steps(bounds.max_count, self.weight.step))
            weighing = self.weight.weighing()
            return count_labels(
                self.frame, self._names, bounds, key=key, weighing=weighing, **self.reading
            )
        if not self.sums:
            return count_labels(self.frame, self._names, bounds, key=key, **self.reading)
        summed = self._list_summed(bounds)
        return count_with_sums(self.frame, self._names, bounds, summed, key=key, **self.reading)

    def _list_summed(self, bounds: Bounds) -> list[Summed]:
        """Return the columns that are summed, about the center of their clamps."""
        counts_users = bounds.max_count == 1
        return [
            Summed(
                name,
                clamp.step,
                clamp.least,
                clamp.most,
                clamp.center(counts_users=counts_users),
                clamp.starts if self.by_totals else (),
            )
            for name, clamp in self.sums
        ]

    def hold_labels(self, bounds: Bounds, source: Source | None) -> tuple[Sets, Store]:
        """Return which user has which label within the bounds, and how many have each label.

        Both also have the sums of `sums`, if there are any.
        """
        asked: dict[str, Any] = {"key": _draw_key(source), **self.reading}
        found: pa.Table | Sets
        if self.sums:
            summed = self._list_summed(bounds)
            found, kind = hold_with_sums(self.frame, self._names, bounds, summed, **asked)
        else:
            found, kind = bound_pairs(self.frame, self._names, bounds, **asked)
        unheld = DataError(
            phrase(
                "the pairs of user and label could not be held in memory: lower {max_labels}, or "
                "count the labels without {keep_sets}; nothing was released"
            )
        )

        def hold() -> tuple[Sets, Store]:
            sets = found if isinstance(found, Sets) else make_sets(found, kind)
            return sets, ArrowStore(sets.counts())

        return redact_errors(hold, unheld)

    def count_profile(self, max_records: int | None, null_users: str) -> Pairs:
        """Return how many labels have each count, with at most `max_records` rows of a user."""
        if max_records is not None:
            return count_bounded_records(
                self.frame,
                **self._names,
                max_records=max_records,
                null_users=null_users,
                **self.reading,
            )
        count = sum_counts if "count" in self._names else count_records
        return count(self.frame, **self._names, **self.reading)

    def count_records(self, max_records: int, null_users: str) -> Store:
        """Return the counts of labels of this part, with at most `max_records` rows of a user."""
        return label_bounded_records(
            self.frame,
            **self._names,
            max_records=max_records,
            null_users=null_users,
            cut=cast("Cut", self.cut),
            **self.reading,
        )

    def count_bins(self, grid: Grid, max_records: int | None, null_users: str) -> IntArray:
        """Return the records in each slot of a grid, with at most `max_records` for a user."""
        if not self._names:
            return bin_rows(self.frame, grid, **self.reading)
        return bin_rows_bounded(
            self.frame,
            grid,
            **self._names,
            max_records=max_records,
            null_users=null_users,
            cut=self.cut,
            **self.reading,
        )

    def to_partial(self, kind: str, table: pa.Table, **bounds: Any) -> Partial:
        """Return the counts of this part, with what `merge` compares: see `make_partial`."""
        said = {**bounds, "unit": self.unit.to_content()}
        return make_partial(kind, cast("Cut", self.cut), self.columns, said, table)


def make_cut(user: Any, part: Any, parts: Any, others: Any) -> Cut:
    """Return which users a part counts, checked.

    Without a column of users, every part would count every row.

    Parameters
    ----------
    user : must be the name of the column of users.
    part, parts, others : as for `Cut`.

    Raises
    ------
    ParameterError
    """
    if not isinstance(user, str):
        raise ParameterError(
            "user", "must name the column of users, which decides the part of a row"
        )
    return bounds.make_cut(part, parts, others)


def check_label_bounds(
    columns: Mapping[str, str | None],
    bounds: Bounds,
    most: int | None,
    unit: str | PrivacyUnit | None,
) -> tuple[Bounds, PrivacyUnit]:
    """Return the bounds of labels, checked with the columns there are, and whom they protect.

    `most` is `users_by_labels` of `LabelCounts.from_table`.
    """
    user, count = columns["user"], columns["count"]
    one = unit_of_records(user, unit, bounds.null_users)
    if user is None:
        if bounds.max_labels not in (None, 1):
            raise ParameterError(
                "max_labels",
                phrase(
                    "must be 1 without {user}, because each row is then a separate user with one "
                    "label"
                ),
                NAME_USERS,
            )
        if count is None and bounds.max_count != 1:
            raise ParameterError(
                "max_count",
                phrase(
                    "must be 1 without {user} and {count}, because each row is then a separate "
                    "user that counts 1"
                ),
                "name the column of users, or of counts",
            )
        if most is not None:
            raise ParameterError("users_by_labels", phrase("needs {user}"), NAME_USERS)
        bounds = replace(bounds, max_labels=1)
    if most is not None:
        cells = make_cells(check_most(most, bounds.max_labels), bounds.max_labels)
        bounds = replace(bounds, users_by_labels=cells)
    return bounds, one


def check_users_by_totals(
    asked: object, sums: Sequence[Any], user: str | None, bounds: Bounds
) -> bool:
    """Return whether users are counted by their totals, checked with what that needs.

    Raises
    ------
    ParameterError
    """
    name = "users_by_totals"
    if not isinstance(asked, bool):
        raise ParameterError(name, "must be True or False")
    if not asked:
        return False
    if not sums:
        raise ParameterError(name, phrase("needs {sums}"), "name the columns that are summed")
    if user is None:
        raise ParameterError(name, phrase("needs {user}"), NAME_USERS)
    if bounds.null_users == "separate":
        separate = "needs " + Argument("null_users") + " other than 'separate': it counts users"
        raise ParameterError(name, separate)
    return True


NAME_USERS = "name the column of users"


def unit_of_records(
    user: str | None, unit: str | PrivacyUnit | None, null_users: Any
) -> PrivacyUnit:
    """Return whom records protect, with the treatment of rows without a user checked.

    Raises
    ------
    ParameterError
        If `null_users` is no treatment, or something else than "refuse" without a column of users.
    """
    bounds.check_null_users(null_users)
    if user is None and null_users != "refuse":
        raise ParameterError("null_users", phrase("needs {user}"), NAME_USERS)
    return unit_of_users(user, unit, or_rows=null_users == "separate")


def state_treatment(null_users: str) -> str | None:
    """Return what counts state of rows without a user: nothing if they are refused."""
    return None if null_users == "refuse" else null_users


def check_treatment(null_users: Any) -> None:
    """Refuse what counts do not state of rows without a user."""
    if null_users not in (None, "drop", "separate"):
        raise ParameterError("null_users", 'must be "drop", "separate" or None')


def to_label_array(labels: Any, label_type: pa.DataType | None) -> Any:
    """Return labels as an Arrow array of a type that does not depend on them."""
    typed = isinstance(labels, pa.Array | pa.ChunkedArray)
    if typed and label_type is None:
        return labels
    kind = pa.string() if label_type is None else label_type
    unfit = ParameterError(
        "labels",
        f"must be a sequence of type {kind}",
        phrase("name another one as {label_type}, such as pyarrow.int64()"),
    )
    if isinstance(labels, str | bytes):
        raise unfit
    if typed:  # Arrow would crash on invalid offsets
        redact_errors(lambda: labels.validate(full=True), unfit)
    return redact_errors(lambda: labels.cast(kind) if typed else pa.array(labels, kind), unfit)


def _draw_key(source: Source | None) -> str | None:
    """Return the key of a choice that a test draws; None has the operating system draw it."""
    return None if source is None else check_source(source)(_KEY_BYTES).hex()
