"""LabelCounts: how often each label occurs, with what one user may have added to it.

Secret data: it is shown nowhere, and mechanisms look at it only through three questions, so
that it may lie in any engine.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy.typing as npt
import pyarrow as pa

from dphist.arrays import AnyArray
from dphist.errors import ParameterError
from dphist.noise import Source
from dphist.noise.whose import is_for_tests
from dphist.parameters import optional_whole, whole_number
from dphist.stopping import stoppable
from dphist.tables import LARGEST, check_counts, redact_errors
from dphist.tables.counting.contributions import Bounds, count_labels
from dphist.tables.counting.stores import Keep, Store, counts_of

__all__ = ["Keep", "LabelCounts"]

_KEY_BYTES = 16


@dataclass(frozen=True, repr=False, eq=False)
class LabelCounts:
    """Labels with their counts, each label once, and the bounds they were counted under.

    Attributes
    ----------
    max_labels : int or None
        How many labels one user changes at most (Delta_0); None if that is not bounded.
    max_count : int
        By how much one user changes the count of a label at most (Delta_infinity).
    unit : str
        Who "one user" is, in words: what a guarantee protects.
    null_users, null_labels : str or None
        What became of rows without a user, and without a label, as it was chosen beforehand;
        None where that was not asked.
    for_tests : bool
        Whether users were bounded with random bits of the caller's: releases then say so.
    """

    _store: Store
    max_labels: int | None
    max_count: int
    unit: str = "one user, as promised by the caller"
    null_users: str | None = None
    null_labels: str | None = None
    _users: tuple[int, int] | None = None
    _is_cut: bool = False
    for_tests: bool = False

    def __repr__(self) -> str:
        return f"LabelCounts(max_labels={self.max_labels}, max_count={self.max_count}; not shown)"

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> AnyArray:
        """Refuse: an array has no bounds."""
        raise ParameterError(
            "LabelCounts must be given to a mechanism for labels as they are: an array of them "
            "would lose their bounds (for their owner: .counts_of(labels), .largest(number))"
        )

    @classmethod
    @stoppable
    def from_table(
        cls,
        frame: Any,
        *,
        label: str,
        user: str | None = None,
        count: str | None = None,
        max_labels: int | None = None,
        max_count: int = 1,
        null_users: str = "refuse",
        null_labels: str = "refuse",
        progress: Callable[[float], None] | None = None,
        delimiter: str | None = None,
        count_users: bool = False,
        source: Source | None = None,
    ) -> "LabelCounts":
        """Count the labels of a table, once what each user contributes is bounded.

        Spark's rows stay in Spark. Others are streamed to a DuckDB database of this process, which
        spills to disk and in which no setting of the caller's can make two labels one. They are
        counted now, once.

        Parameters
        ----------
        frame : dataframe of pandas, Polars (also lazy), DuckDB, Arrow or Spark, or the path of a
            file: .csv, .tsv or .txt, each also with .gz or .zst, or .parquet.
        label : column of labels: text, integers, truth values, dates, timestamps, bytes, decimals.
        user : column of users. Each keeps at most `max_labels` labels, chosen evenly at random
            and independently of other users, and adds at most `max_count` to each. Without it,
            each row is a user of its own, which has one label.
        count : column of counts, if a row is more than one record. Rows of one user and label
            are added before they are bounded; a sum of 0 says nothing, and is dropped first.
        max_labels : labels that one user keeps at most; None for all, for the few mechanisms
            that allow it. Without `user` it is 1.
        max_count : what one user adds to a label at most. Without `user` and `count` it is 1.
        null_users : "refuse" rows without a user, "drop" them, or keep them "separate", each as
            a user of its own: then a person behind several such rows is protected for one of
            them only.
        null_labels : "refuse" rows without a label, or "drop" them.
        progress : called with the fraction done while a file is read, from any thread.
        delimiter : what separates the fields of a text file, one character, in place of what its
            name says: a comma, or a tab for .tsv.
        count_users : also count the users within the bounds, and those who had more, for a
            mechanism that releases these numbers (`count_cut_users`); needs `user`. With
            `max_count` 1, where counts are numbers of users, who repeats a label has no more.
        source : `source(n)` returns n random bytes. For tests only: all releases say so.

        Raises
        ------
        ParameterError
            If a bound or choice is not one, or `frame` is no table.
        ColumnError
            If a column is missing, there twice, or of a type that cannot serve.
        DataError
            If a user, label or count is missing and nothing was chosen for that, a count is
            negative or above 2**62 - 1, or the engine fails or runs out of memory or disk.
        InputFileError
            If the file is missing or not what its name says.

        Notes
        -----
        **Guarantee.** Adding or removing all rows of one user changes at most `max_labels` of the
        counts, each by at most `max_count`, whatever labels are chosen: see
        docs/proofs/bounding.md. Not covered: a person who goes by several users.

        >>> import pandas as pd
        >>> rows = pd.DataFrame({"who": [1, 1, 1, 2], "word": ["a", "a", "b", "b"]})
        >>> counts = LabelCounts.from_table(rows, label="word", user="who", max_labels=2)
        >>> counts.counts_of(["a", "b", "c"])
        [1, 2, 0]
        """
        bounds = _bounds(user, count, max_labels, max_count, null_users, null_labels)
        if count_users and (user is None or null_users == "separate"):
            raise ParameterError(
                'count_users needs user, and null_users other than "separate": it is users that '
                "are counted"
            )
        bounds = replace(bounds, count_users=bool(count_users))
        columns = {"label": label, "user": user, "count": count}
        names = {role: name for role, name in columns.items() if name is not None}
        key = None if source is None else source(_KEY_BYTES).hex()
        store, users = count_labels(
            frame, names, bounds, key=key, progress=progress, delimiter=delimiter
        )
        return cls(
            store,
            bounds.max_labels,
            bounds.max_count,
            unit=_unit(user, null_users),
            null_users=None if user is None else null_users,
            null_labels=null_labels,
            _users=users,
            _is_cut=user is not None or count is not None,
            for_tests=is_for_tests(source),
        )

    def bounds_in_text(self) -> dict[str, str]:
        """Return to what users, or rows, were cut, for a release to state; nothing if to nothing.

        Their bounds are public, and may be smaller than those that a mechanism protects.
        """
        if not self._is_cut:
            return {}
        labels = "none" if self.max_labels is None else str(self.max_labels)
        return {"max_labels": labels, "max_count": str(self.max_count)}

    @property
    def users(self) -> tuple[int, int] | None:
        """How many users are within the bounds, and how many had more; secret.

        None unless `from_table` was asked to count them. One user changes one of the two, by 1.
        """
        return self._users

    @classmethod
    def from_counts(
        cls,
        labels: Any,
        counts: Any,
        *,
        max_labels: int | None,
        max_count: int,
        label_type: pa.DataType | None = None,
    ) -> "LabelCounts":
        """Make one of labels and counts; the bounds are the caller's promise.

        Parameters
        ----------
        labels : sequence, or Arrow array, of labels; none missing. Rows of one label are added up.
        counts : whole numbers from 0 to 2**62 - 1, as many; labels that add up to 0 are dropped.
        max_labels, max_count : what one user changes at most; see the class.
        label_type : Arrow type of the labels; text if omitted and `labels` is no Arrow array. It
            is part of what is released, and so is never told from the labels.

        Raises
        ------
        ParameterError, DataError
        """
        column = _labels(labels, label_type)
        values = check_counts(counts, "counts")
        if len(column) != len(values):
            raise ParameterError("labels and counts must be of one length")
        return cls.promised(pa.table({"label": column, "count": values}), max_labels, max_count)

    @classmethod
    def promised(cls, frame: Any, max_labels: int | None, max_count: int) -> "LabelCounts":
        """Make one of a frame with columns label and count; the bounds are the caller's promise.

        Parameters
        ----------
        frame : anything Narwhals reads. Rows of one label are added up, none may be missing, and
            labels of count 0 are dropped. A sum beyond 2**62 - 1 stays there.
        max_labels, max_count : what one user changes at most; see the class.

        Raises
        ------
        ParameterError, ColumnError, DataError
        """
        bound = optional_whole(max_labels, "max_labels", 1)
        most = whole_number(max_count, "max_count", 1)
        names = {"label": "label", "count": "count"}
        store, _ = count_labels(frame, names, Bounds(None, LARGEST))
        return cls(store, bound, most)

    def filter_batches(self, keep: Keep) -> pa.Table:
        """Run `keep` over all labels, where they lie; return what is left, columns label, count.

        `keep` is called with one batch after another, in Spark in other processes, for which it is
        pickled, and labels of text come as bytes. Each label is in one batch, once. A batch has
        about 2**18 rows at most.
        """
        return self._store.filter_batches(keep)

    def largest(self, number: int) -> pa.Table:
        """Return the labels with the `number` largest counts, or all; columns label, count.

        They are the first under one total order: by count, the largest first, and by label among
        equal counts. So one user changes at most `max_labels` of the labels returned, or `number`.
        """
        return self._store.largest(whole_number(number, "number", 0))

    def counts_of(self, labels: Sequence[Any]) -> list[int]:
        """Return the counts of the given labels, in records, 0 where a label does not occur.

        Raises
        ------
        ParameterError
            If a label is listed twice, is missing, or is not of the type of the labels here.
        """
        return counts_of(self._store, labels)


def _bounds(
    user: str | None,
    count: str | None,
    max_labels: int | None,
    max_count: int,
    null_users: str,
    null_labels: str,
) -> Bounds:
    """Return the bounds, checked."""
    if null_users not in ("refuse", "drop", "separate"):
        raise ParameterError('null_users must be "refuse", "drop" or "separate"')
    if null_labels not in ("refuse", "drop"):
        raise ParameterError('null_labels must be "refuse" or "drop"')
    most_labels = optional_whole(max_labels, "max_labels", 1)
    most = whole_number(max_count, "max_count", 1, most=LARGEST)
    if user is None:
        if most_labels not in (None, 1):
            raise ParameterError(
                "max_labels must be 1 without user, as each row is then a user of its own, with "
                "one label: name the column of users"
            )
        if null_users != "refuse":
            raise ParameterError("null_users has a meaning only with user")
        if count is None and most != 1:
            raise ParameterError(
                "max_count must be 1 without user and count, as each row is then a user of its "
                "own, and counts one: name the column of users, or of counts"
            )
        most_labels = 1
    return Bounds(most_labels, most, null_users, null_labels)


def _unit(user: str | None, null_users: str) -> str:
    """Say who one user is."""
    if user is None:
        return "one row"
    if null_users == "separate":
        return "one user, or one row without a user"
    return "one user"


def _labels(labels: Any, label_type: pa.DataType | None) -> Any:
    """Return labels as an Arrow array of a type that does not depend on them."""
    typed = isinstance(labels, pa.Array | pa.ChunkedArray)
    if typed and label_type is None:
        return labels
    kind = pa.string() if label_type is None else label_type
    unfit = ParameterError(
        f"labels must be a sequence of type {kind}; name another one as label_type, such as "
        "pyarrow.int64()"
    )
    if isinstance(labels, str | bytes):
        raise unfit
    if typed:  # Arrow would crash on offsets that it cannot follow
        redact_errors(lambda: labels.validate(full=True), unfit)
    return redact_errors(lambda: labels.cast(kind) if typed else pa.array(labels, kind), unfit)
