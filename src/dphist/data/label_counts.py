"""LabelCounts: the count of each label, with bounds on what one user contributes.

The counts are secret and never shown. Mechanisms read them only through `filter_batches`,
`largest` and `look_up_counts`, so the counts can stay in any engine.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import pyarrow as pa

from dphist.counting import LARGEST, check_counts
from dphist.counting.bounding.bounds import Bounds
from dphist.counting.bounding.contributions import count_labels
from dphist.counting.bounding.lookups import look_up_counts, look_up_numbers
from dphist.counting.bounding.stores import Keep, Sets, Store
from dphist.counting.bounding.sums import add_sums
from dphist.counting.engine.progress import Progress
from dphist.counting.reading.gate import Reading
from dphist.data.cells import make_cells
from dphist.data.clamp import Clamp, read_sums
from dphist.data.counting import (
    Counting,
    check_label_bounds,
    check_users_by_totals,
    make_cut,
    to_label_array,
)
from dphist.data.guard import Guarding, Secret, guard
from dphist.data.other_than import read_other_than
from dphist.data.partial import (
    Partial,
    all_parts,
    as_it_is,
    has_totals,
    read_columns,
    write_columns,
)
from dphist.data.weight import (
    MOST_STEPS,
    Weight,
    check_column,
    check_steps,
    read_weight,
    state_weight,
)
from dphist.errors import ParameterError, phrase
from dphist.noise.for_tests import is_for_tests
from dphist.noise.inversion import Source
from dphist.parameters import optional_whole, whole_number
from dphist.privacy.unit import ASSERTED_USER, PrivacyUnit, asserted_unit
from dphist.signals import stoppable


@dataclass(frozen=True, repr=False, eq=False)
class LabelCounts(Secret):
    """Labels with their counts, each label once, and the bounds used to count them.

    Attributes
    ----------
    max_labels : int or None
        Maximum number of counts that one user changes (Delta_0); None if unbounded.
    max_count : int
        Maximum change by one user of the count of a label (Delta_infinity), in records.
    unit : PrivacyUnit
        The privacy unit that a guarantee protects.
    null_users, null_labels : str or None
        The chosen treatment of rows without a user, and without a label; None if not applicable.
    users_by_labels : int or None
        From how many labels on users are counted together; None if users were not counted by how
        many labels they have.
    users_by_totals : bool
        Whether users were counted by their totals of each of `sums`.
    only_adds : bool
        Whether no count is smaller with a user's rows than without them, for every user. It is so
        for counts that `from_table` makes; of others their maker may assert it.
    for_tests : bool
        Whether users were bounded with random bits from the caller; releases then say so.
    sums : mapping of str to Clamp
        The columns that were summed, with the bounds on each user's total of a label; public.
    other_than : tuple of str or None
        The listed labels, if all others were counted as "other" before users were bounded; public.
    weight : Weight or None
        How rows were weighted: counts are then sums of weights, in whole steps of it. Public.
    described : tuple or None
        The public labels that a description of the data lists of the column, empty if it has bins
        of it: a mechanism with other listed labels refuses the data. None if it lists none.
    """

    _store: Store
    max_labels: int | None
    max_count: int
    unit: PrivacyUnit = ASSERTED_USER
    null_users: str | None = None
    null_labels: str | None = None
    users_by_labels: int | None = None
    _users: tuple[int, ...] | None = None
    _is_cut: bool = False
    for_tests: bool = False
    _sets: Sets | None = None
    only_adds: bool = False
    _sums: tuple[tuple[str, Clamp], ...] = ()
    other_than: tuple[str, ...] | None = None
    weight: Weight | None = None
    described: tuple[Any, ...] | None = None
    users_by_totals: bool = False
    _by_totals: tuple[int, ...] | None = None
    _IN_PLACE_OF_AN_ARRAY = (
        "LabelCounts must be passed to a labels mechanism themselves: an array would lose their "
        "bounds (the data owner may use .counts_of(labels), .largest(number))"
    )

    @property
    def label_type(self) -> pa.DataType:
        """The Arrow type of the labels, which their column's type decides."""
        return self._store.schema.field("label").type

    def __repr__(self) -> str:
        weight = "" if self.weight is None else f", weight={self.weight}"
        bounds = f"max_labels={self.max_labels}, max_count={self.max_count}{weight}"
        return f"LabelCounts({bounds}; not shown)"

    @classmethod
    @stoppable
    def from_table(
        cls,
        frame: Any,
        *,
        label: str,
        user: str | None = None,
        count: str | Weight | None = None,
        max_labels: int | None = None,
        max_count: int | None = None,
        null_users: str = "refuse",
        null_labels: str = "refuse",
        progress: Progress | None = None,
        delimiter: str | None = None,
        users_by_labels: int | None = None,
        keep_sets: bool = False,
        sums: Mapping[str, Clamp] | None = None,
        users_by_totals: bool = False,
        other_than: Sequence[str] | None = None,
        unit: str | PrivacyUnit | None = None,
        ledger: Guarding | None = None,
        source: Source | None = None,
    ) -> "LabelCounts":
        """Bound the contribution of each user, then count the labels of a table.

        Spark's rows stay in Spark. Other rows are streamed to a DuckDB database of this process,
        which spills to disk; no setting of the caller can merge two labels there. The table is
        counted once, during this call.

        Parameters
        ----------
        frame : dataframe of pandas, Polars (also lazy), DuckDB, Arrow or Spark; dict of columns;
            list of dicts; or a file, several files of the same columns, a folder or a pattern,
            counted as one table, or `dphist.Files`: see docs/guides/files.md.
        label : column of labels: text, integers, truth values, dates, timestamps, bytes, decimals.
        user : column of users. Each user keeps at most `max_labels` labels, chosen uniformly at
            random and independently of other users, and adds at most `max_count` to each. Without
            it, each row is a separate user with one label.
        count : column of counts, if a row can be more than one record. Rows of one user and label
            are added before they are bounded; sums of 0 are dropped first. Or a `dphist.Weight`, if
            a row counts as its weight: counts are then sums of weights, in whole steps, for a
            `ThresholdHistogram` with the same `step`. Not with `users_by_labels`, `keep_sets` or
            `sums`.
        max_labels : maximum number of labels of one user; None for no maximum, which few
            mechanisms accept. Without `user` it is 1.
        max_count : maximum that one user adds to a label (default: 1, or of weights the most that a
            row counts, `high` rounded up). Without `user` and `count` it is 1.
        null_users : "refuse" rows without a user, "drop" them, or keep them "separate", each as
            one user: a person with several such rows is then protected for one of them only.
        null_labels : "refuse" rows without a label, or "drop" them.
        progress : called with the fraction done, a float that also has rows and seconds, from any
            thread; True shows it on a terminal or in a notebook (see docs/guides/resources.md).
        delimiter : field separator of a text file, one character (default: a comma, or a tab for
            .tsv).
        users_by_labels : also count the users by how many labels they have, before any label is
            dropped, for a mechanism that releases these numbers; needs `user`. A whole number above
            `max_labels`, such as 1000: users with that many labels or more are counted together.
        keep_sets : also keep which user has which of the labels, for `DiscoverLabels`; needs
            `max_count` 1. The bounded pairs are then held in the memory of this process, about 40
            bytes each, and 8 more for each of `sums`, also those of Spark.
        sums : columns of numbers to sum for each label, each with a `dphist.Clamp`: a user's total
            of a label is clamped to it; without `user`, each row's value. Each value counts as the
            nearest multiple of the step (halfway: the even one), of the exact binary value of a
            float; infinities count as the bounds. Missing values and NaN are refused. Which labels
            a user keeps depends on no value.
        users_by_totals : also count the users, for each of `sums`, by the total that is farthest
            outside of the clamp, of one of their labels that count, shown or not, for a mechanism
            that releases these numbers: they say what clamping costs. Needs `user`; not with
            `keep_sets`.
        other_than : public list of labels, as text: each row with another label counts under one
            more label, "other", for a mechanism with the same `labels` and ``other=True``. Users
            are bounded afterwards, so the labels of a user that are not listed are one label
            together. The column must hold text. Not with `keep_sets`.
        unit : what a user is, such as "one patient", for guarantees and ledgers (default: "one
            user").
        ledger : a `dphist.Ledger`; the data are then guarded by it (see `Ledger.guard`).
        source : `source(n)` returns n random bytes. For tests only: all releases say so.

        Raises
        ------
        ParameterError
            If a bound or choice is invalid, or `frame` is not a table.
        ColumnError
            If a column is missing, repeated, or of an unsuitable type.
        DataError
            If a count is missing, negative or above 2**62 - 1, a missing user or label is refused,
            or the engine fails or runs out of memory or disk.
        InputFileError
            If the file is missing or its content does not match its extension.

        Notes
        -----
        **Guarantee.** Adding or removing all rows of one user changes at most `max_labels` of the
        counts, each by at most `max_count`, whatever labels are chosen: see
        docs/understand/proofs/bounding.md. Not covered: a person who appears as several users.

        >>> import pandas as pd
        >>> rows = pd.DataFrame({"who": [1, 1, 1, 2], "word": ["a", "a", "b", "b"]})
        >>> counts = LabelCounts.from_table(rows, label="word", user="who", max_labels=2)
        >>> counts.counts_of(["a", "b", "c"])
        [1, 2, 0]
        """
        column, weight = read_weight(count)
        if max_count is None:
            max_count = 1 if weight is None else weight.max_records
        columns = {"label": label, "user": user, "count": column}
        bounds = Bounds(max_labels, max_count, null_users, null_labels)
        if weight is not None:
            check_steps(bounds.max_count, weight.step, "max_count", MOST_STEPS)
            beside = {"users_by_labels": users_by_labels, "keep_sets": keep_sets, "sums": sums}
            for name in (name for name, given in beside.items() if given):
                raise ParameterError(name, phrase("must be left out where {count} has weights"))
        bounds, one = check_label_bounds(columns, bounds, users_by_labels, unit)
        bounds, summed = _list_labels(bounds, other_than), read_sums(sums)
        by_totals = check_users_by_totals(users_by_totals, summed, user, bounds)
        unheld = {"other_than": bounds.other_than, "users_by_totals": by_totals}
        for name in (name for name, given in unheld.items() if given and keep_sets):
            raise ParameterError(name, phrase("must be left out with {keep_sets}"))
        reading = Reading(progress=progress, delimiter=delimiter)
        counting = Counting(
            frame, columns, one, reading, sums=summed, weight=weight, by_totals=by_totals
        )
        counts = cls._count(counting, bounds, users_by_labels, source, keep_sets)
        return guard(counts, ledger)

    @classmethod
    @stoppable
    def partial(
        cls,
        frame: Any,
        *,
        label: str,
        user: str,
        part: int,
        parts: int,
        others: str = "drop",
        count: str | None = None,
        max_labels: int | None = None,
        max_count: int = 1,
        null_users: str = "refuse",
        null_labels: str = "refuse",
        progress: Progress | None = None,
        delimiter: str | None = None,
        users_by_labels: int | None = None,
        other_than: Sequence[str] | None = None,
        sums: Mapping[str, Clamp] | None = None,
        users_by_totals: bool = False,
        unit: str | PrivacyUnit | None = None,
        source: Source | None = None,
    ) -> Partial:
        """Bound and count one part of the users, for `merge`.

        Each process or machine counts a part; no user is in two parts. The counts of a part are
        held in the memory of this process.

        Parameters
        ----------
        part : number of the part, from 0 to `parts` - 1.
        parts : number of parts, the same for all.
        others : "drop" the rows of users of other parts, so that every process may read the whole
            table; or "refuse" them, if the table was cut by the part of each user beforehand.
        frame, label, user, count, max_labels, max_count, null_users, null_labels, progress,
        delimiter, users_by_labels, other_than, sums, users_by_totals, unit, source
            As for `from_table`. `user` must hold text, integers, bytes or UUIDs, the same in all
            parts. Rows without a user belong to part 0.

        Raises
        ------
        ParameterError, ColumnError, DataError, InputFileError
            As for `from_table`; also if `part` is not below `parts`, or if `others` is "refuse" and
            a user belongs to another part.

        Notes
        -----
        The part of a user is the first 15 hexadecimal digits of MD5 of the user's text (UTF-8;
        digits of an integer), as a number, modulo `parts`. A user must be written alike in every
        file: "007" and "7" are two users. `merge` refuses parts whose users are of two types.

        >>> import pandas as pd
        >>> rows = pd.DataFrame({"who": [1, 1, 2, 3], "word": ["a", "b", "b", "b"]})
        >>> cut = [
        ...     LabelCounts.partial(rows, label="word", user="who", max_labels=2, part=k, parts=2)
        ...     for k in range(2)
        ... ]
        >>> LabelCounts.merge(cut).counts_of(["a", "b"])
        [1, 3]
        """
        cut = make_cut(user, part, parts, others)
        check_column(count, "where a table is cut into parts")
        columns = {"label": label, "user": user, "count": count}
        bounds = Bounds(max_labels, max_count, null_users, null_labels)
        bounds, one = check_label_bounds(columns, bounds, users_by_labels, unit)
        bounds = _list_labels(bounds, other_than)
        reading = Reading(progress=progress, delimiter=delimiter)
        summed = read_sums(sums)
        by_totals = check_users_by_totals(users_by_totals, summed, user, bounds)
        counting = Counting(frame, columns, one, reading, cut, summed, by_totals=by_totals)
        counts = cls._count(counting, bounds, users_by_labels, source)
        keep = counts.filter_sums if counting.sums else counts.filter_batches
        return counting.to_partial(
            "labels",
            keep(as_it_is),
            max_labels=counts.max_labels,
            max_count=counts.max_count,
            null_users=null_users,
            null_labels=null_labels,
            users_by_labels=counts.users_by_labels,
            other_than=None if counts.other_than is None else sorted(counts.other_than),
            users=((counts.users or ()) + (counts.numbers_by_totals or ())) or None,
            for_tests=counts.for_tests,
            **write_columns(counting.sums, by_totals),
        )

    @classmethod
    @stoppable
    def merge(cls, parts: Iterable[Any], *, ledger: Guarding | None = None) -> "LabelCounts":
        """Add the counts of all parts of the users.

        Parameters
        ----------
        parts : every part once, in any order: what `partial` returned, Arrow tables of
            `Partial.to_arrow`, or paths of files of `Partial.save`.
        ledger : as for `from_table`.

        Raises
        ------
        ParameterError
            If a part is missing or is there twice, or two were counted with other arguments.
        DataError, InputFileError
            If a table or file is no part.

        Notes
        -----
        **Guarantee.** As for `from_table`, because each user adds to the counts of one part only:
        docs/understand/proofs/bounding.md, Lemma 8. dphist cannot check that all parts were cut
        from the same data.
        """
        found = all_parts("labels", cls.__name__, parts)
        head = found[0].head
        table = pa.concat_tables([each.table for each in found])
        sums, names = read_columns(head), {"label": "label", "count": "count"}
        store: Store
        if sums:
            store = add_sums(table, len(sums))
        else:
            store, _ = count_labels(table, names, Bounds(None, LARGEST))
        counted = [each.head["users"] for each in found if each.head["users"] is not None]
        numbers = tuple(map(sum, zip(*counted, strict=True)))
        users, by_totals = _split_users(numbers, head["users_by_labels"], head["max_labels"])
        counts = cls(
            store,
            optional_whole(head["max_labels"], "max_labels", 1),
            whole_number(head["max_count"], "max_count", 1, most=LARGEST),
            unit=PrivacyUnit.from_content(head["unit"]),
            null_users=head["null_users"],
            null_labels=head["null_labels"],
            users_by_labels=head["users_by_labels"],
            _users=users,
            users_by_totals=has_totals(head),
            _by_totals=by_totals,
            _is_cut=True,
            for_tests=any(each.head["for_tests"] for each in found),
            only_adds=True,
            other_than=None if head["other_than"] is None else tuple(head["other_than"]),
            _sums=sums,
        )
        return guard(counts, ledger)

    @classmethod
    def _count(
        cls,
        counting: Counting,
        bounds: Bounds,
        most: int | None,
        source: Source | None,
        keep_sets: bool = False,
    ) -> "LabelCounts":
        """Bound users, or rows, and count labels; see `from_table`."""
        sets, numbers = None, None
        store: Store
        if keep_sets:
            sets, store = counting.hold_labels(bounds, source)
        else:
            store, numbers = counting.count_labels(bounds, source)
        users, by_totals = _split_users(numbers or (), most, bounds.max_labels)
        has_users = counting.columns["user"] is not None
        return cls(
            store,
            bounds.max_labels,
            bounds.max_count,
            unit=counting.unit,
            null_users=bounds.null_users if has_users else None,
            null_labels=bounds.null_labels,
            users_by_labels=most,
            _users=users,
            _is_cut=has_users or counting.columns["count"] is not None,
            for_tests=is_for_tests(source),
            _sets=sets,
            only_adds=True,  # docs/understand/proofs/bounding.md, Lemma 2
            _sums=counting.sums,
            other_than=bounds.other_than,
            weight=counting.weight,
            users_by_totals=counting.by_totals,
            _by_totals=by_totals,
        )

    def bounds_in_text(self) -> dict[str, str]:
        """Return the bounds applied to users, or rows, for a release to state; empty if none.

        The bounds are public, and may be smaller than those that a mechanism protects.
        """
        if not self._is_cut:
            return {}
        labels = "none" if self.max_labels is None else str(self.max_labels)
        bounds = {"max_labels": labels, "max_count": str(self.max_count)}
        return bounds | state_weight(self.weight)

    @property
    def step(self) -> Fraction | None:
        """The unit of counts that are sums of weights; None if they are records. Public."""
        return None if self.weight is None else self.weight.step

    @property
    def sums(self) -> dict[str, Clamp]:
        """The columns that were summed, with their clamps; public."""
        return dict(self._sums)

    @property
    def has_sets(self) -> bool:
        """Whether the labels of each user are kept; public."""
        return self._sets is not None

    @property
    def sets(self) -> Sets | None:
        """The labels of each user; secret. None unless made with `keep_sets`."""
        return self._sets

    @property
    def users(self) -> tuple[int, ...] | None:
        """How many users have how many labels, before any was dropped; secret.

        One number for each of the `dphist.data.cells.make_cells`; None unless made with
        `users_by_labels`. One user changes one of the numbers, by 1.
        """
        return self._users

    @property
    def numbers_by_totals(self) -> tuple[int, ...] | None:
        """How many users have which farthest total; secret.

        For each column of `sums`, one number for each cell of totals, from which `Clamp.starts`
        separate; None unless made with `users_by_totals`. One user changes one number of each
        column, by 1.
        """
        return self._by_totals

    @classmethod
    def from_counts(
        cls,
        labels: Any,
        counts: Any,
        *,
        max_labels: int | None,
        max_count: int,
        label_type: pa.DataType | None = None,
        unit: str | PrivacyUnit | None = None,
        only_adds: bool = False,
        other_than: Sequence[str] | None = None,
    ) -> "LabelCounts":
        """Make one from labels and counts; you assert the bounds, dphist cannot check them.

        Parameters
        ----------
        labels : sequence, or Arrow array, of labels; none missing. Counts of one label are added.
        counts : one whole number from 0 to 2**62 - 1 for each label; sums of 0 are dropped.
        max_labels, max_count : the most that one user changes; see the class.
        label_type : Arrow type of the labels (default: the type of an Arrow array, else text). It
            is released, so it is never inferred from the labels.
        unit : what a user is, such as "one patient", for guarantees and ledgers (default: "one
            user").
        only_adds : whether you assert as well that no user makes any count smaller, which
            correlated noise of known labels needs: each count is a sum of what users add, and what
            one user adds does not depend on other users.
        other_than : public list of labels, as text, if you assert that rows with any other label
            were counted under the label "other", before users were bounded.

        Raises
        ------
        ParameterError, DataError
        """
        column = to_label_array(labels, label_type)
        values = check_counts(counts, "counts")
        if len(column) != len(values):
            raise ParameterError(("labels", "counts"), "must have the same length")
        table = pa.table({"label": column, "count": values})
        return cls.promised(
            table, max_labels, max_count, unit, only_adds=only_adds, other_than=other_than
        )

    @classmethod
    def promised(
        cls,
        frame: Any,
        max_labels: int | None,
        max_count: int,
        unit: str | PrivacyUnit | None = None,
        *,
        only_adds: bool = False,
        other_than: Sequence[str] | None = None,
    ) -> "LabelCounts":
        """Make one from a frame with columns label and count; dphist cannot check the bounds.

        Parameters
        ----------
        frame : anything Narwhals reads, without missing values. Counts of one label are added,
            and sums of 0 are dropped. Sums are capped at 2**62 - 1.
        max_labels, max_count, unit, only_adds, other_than : as for `from_counts`.

        Raises
        ------
        ParameterError, ColumnError, DataError
        """
        said = ASSERTED_USER if unit is None else asserted_unit(unit)
        bound = optional_whole(max_labels, "max_labels", 1)
        most = whole_number(max_count, "max_count", 1)
        store, _ = count_labels(frame, {"label": "label", "count": "count"}, Bounds(None, LARGEST))
        if not isinstance(only_adds, bool):
            raise ParameterError("only_adds", "must be True or False")
        listed = None if other_than is None else read_other_than(other_than, "other_than")
        return cls(store, bound, most, said, only_adds=only_adds, other_than=listed)

    def filter_batches(self, keep: Keep) -> pa.Table:
        """Apply `keep` to all labels; return the rows it keeps: label, count.

        `keep` is called in this process, with one batch at a time. Each label is in exactly one
        batch. A batch has at most 2**18 rows.
        """
        return self._store.filter_batches(keep)

    def filter_sums(self, keep: Keep) -> pa.Table:
        """As `filter_batches`, of label, count and, named ``v0`` and so on, the sums, in steps.

        Each is the sum of what users add, clamped, about the `center` of its clamp.
        """
        return self._store.filter_batches(keep, sums=True)

    def largest(self, number: int) -> pa.Table:
        """Return the labels with the `number` largest counts, or all; columns label, count.

        They are the first in a total order: by descending count, then by label. One user changes
        at most `max_labels`, or `number`, of the labels returned.
        """
        return self._store.largest(whole_number(number, "number", 0))

    def counts_of(self, labels: Sequence[Any]) -> list[int]:
        """Return the counts of the given labels, 0 where a label does not occur.

        In records, or where rows have weights in whole steps of these.

        Raises
        ------
        ParameterError
            If a label is repeated, missing, or not of the type of these labels.
        """
        return look_up_counts(self._store, labels)

    def sums_of(self, labels: Sequence[Any]) -> list[list[int]]:
        """Return each sum of the given labels, in steps, as `filter_sums` has them; 0 for none."""
        return list(look_up_numbers(self._store, labels, sums=True)[1:])


def _split_users(
    numbers: tuple[int, ...], most: int | None, bound: int | None
) -> tuple[tuple[int, ...] | None, tuple[int, ...] | None]:
    """Return numbers of users by labels, up to `most`, and those by totals after them."""
    end = 0 if most is None else len(make_cells(most, bound))
    return numbers[:end] or None, numbers[end:] or None


def _list_labels(bounds: Bounds, other_than: Sequence[str] | None) -> Bounds:
    """Return bounds with the listed labels beside which all others are one."""
    if other_than is None:
        return bounds
    return replace(bounds, other_than=read_other_than(other_than, "other_than"))
