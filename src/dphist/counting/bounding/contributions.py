"""Counts of labels and of terms, each user bounded: opens a table, bounds its users, and counts.

`bounds` has the steps on rows. Terms are whole numbers found in the rows, such as the slots of
bins. A row is one record or, where the rows have amounts, that many. A user with more records than
the maximum keeps some of them, and which depends only on the key and on this user's own rows.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, TypeAlias, Unpack

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dphist.arrays import IntArray
from dphist.counting.bounding.bounds import (
    Bounds,
    Cut,
    bound_labels,
    bound_records,
    check_rows,
    check_users,
    columns_of_users,
    draw_key,
    format_clamped_sum,
    mark_problems,
    select_marked,
)
from dphist.counting.bounding.kept import count_marked
from dphist.counting.bounding.other_labels import open_rows
from dphist.counting.bounding.problems import (
    MISSING_ROWS,
    MISSING_USERS,
    WORST,
    raise_problem,
)
from dphist.counting.bounding.profiles import count_prevalences, to_arrays
from dphist.counting.bounding.ranked_sets import hold_sets
from dphist.counting.bounding.shared_records import Digit, keep_one_each, share_records
from dphist.counting.bounding.stores import Sets, Store, hold_counts
from dphist.counting.bounding.weights import Weighing, Weights, weight_column
from dphist.counting.checks import LARGEST
from dphist.counting.engine.rows import DuckRows, Rows
from dphist.counting.reading.columns import Wanted, count_column, key_column
from dphist.counting.reading.gate import Reading, open_source
from dphist.counting.reading.source import Source
from dphist.errors import Argument, Message, ParameterError


def count_labels(
    frame: object,
    names: Mapping[str, str],
    bounds: Bounds,
    *,
    key: str | None = None,
    weighing: Weighing | None = None,
    **reading: Unpack[Reading],
) -> tuple[Store, tuple[int, ...] | None]:
    """Bound the contribution of each user, then count the labels of a table.

    Parameters
    ----------
    frame, reading
        As for `open_source`: evaluated once, and counted in Spark or in a private DuckDB.
    names : dict
        The columns ``label`` and, optionally, ``user`` and ``count``. Without a user, each row
        is a separate user; without a count, each row counts 1.
    bounds : Bounds
    key : 32 hexadecimal digits
        Key for the choice of labels (default: drawn at random).
    weighing : how ``count``, which then is a column of weights, becomes whole numbers of steps;
        `bounds.max_count` and the counts are in steps, too.

    Returns
    -------
    store : the labels with their counts, int64, at least 1. Counts are capped at
        2**62 - 1.
    users : the number of users in each cell of `bounds.users_by_labels`; None without cells.

    Raises
    ------
    ParameterError, ColumnError, InputFileError
        As for `open_source`.
    DataError
        If a user or label is missing and `bounds` does not allow it, if a count is missing,
        negative or above 2**62 - 1, or if the engine fails.
    """
    wanted, salt = describe_columns(names, cut=bounds.cut), key or draw_key()

    def bound_rows(rows: Rows) -> tuple[Rows | pa.Table, IntArray | None]:
        return bound_labels(mark_problems(rows, wanted, bounds), "user" in names, bounds, salt)

    store, users = _hold_checked(
        frame,
        wanted,
        bound_rows,
        bounds.cut,
        users="user" in names and bounds.null_users != "separate",
        summed=columns_of_users(bounds),
        missing=MISSING_ROWS,
        other_than=bounds.other_than,
        weighing=weighing,
        **reading,
    )
    return store, tuple(users) or None


def label_bounded_records(
    frame: object,
    *,
    label: str,
    user: str,
    max_records: int,
    cut: Cut,
    null_users: str = "refuse",
    key: str | None = None,
    **reading: Unpack[Reading],
) -> Store:
    """Bound each user of a part to `max_records` rows, then count the labels.

    Parameters and errors are those of `count_bounded_records`; `cut` says which users are counted.

    Returns
    -------
    The labels with their counts, as `count_labels` returns them.
    """
    wanted = describe_columns({"label": label, "user": user}, cut=cut)

    def count_kept(rows: Rows) -> tuple[Rows, None]:
        bounds = Bounds(None, LARGEST, null_users, cut=cut)
        kept = bound_records(check_rows(rows, wanted, bounds), max_records, key or draw_key())
        counts = kept.group(["term"], "count(*) AS records", WORST)
        return counts.where("term IS NOT NULL OR problem > 0"), None

    store, _ = _hold_checked(frame, wanted, count_kept, cut, missing=MISSING_USERS, **reading)
    return store


def _hold_checked(
    frame: object,
    wanted: Sequence[Wanted],
    counted: Callable[[Rows], tuple[Rows | pa.Table, IntArray | None]],
    cut: Cut | None,
    *,
    missing: Mapping[str, Message],
    summed: Sequence[str] = (),
    other_than: Sequence[str] | None = None,
    users: bool = False,
    weighing: Weighing | None = None,
    **reading: Unpack[Reading],
) -> tuple[Store, list[int]]:
    """Open a table, hold the counts of its labels, and raise the error for the worst problem.

    Also returns the sums of the columns `summed`, unless `counted` returns them beside the rows.
    With `weighing`, the first of the columns `wanted` has weights.
    """
    opened, weights = wanted, None
    if weighing is not None:
        opened = [weight_column(wanted[0].name), *wanted[1:]]
    with ExitStack() as stack:
        source = open_source(stack, frame, opened, users=users, **reading)
        check_users(source, cut)
        if weighing is not None:
            weights = Weights(weighing, source, opened[0])
        rows, run = open_rows(stack, source, other_than, weights)
        kind = source.kinds["term"]

        def hold() -> tuple[Any, int, list[int]]:
            found, sums = counted(rows)
            if sums is None:
                return hold_counts(found, kind, summed)
            return (*hold_counts(found, kind)[:2], sums.tolist())

        store, worst, sums = run(hold)
        if weights is not None:
            weights.check()
        from_text = source.from_text and weights is None
        raise_problem(worst, wanted, source.wall.problem, from_text=from_text, missing=missing)
        return store.settle(stack.pop_all()), sums


def bound_pairs(
    frame: object,
    names: Mapping[str, str],
    bounds: Bounds,
    *,
    key: str | None = None,
    **reading: Unpack[Reading],
) -> tuple[pa.Table | Sets, pa.DataType]:
    """Bound each user to `max_labels` labels, and return who has which.

    Parameters
    ----------
    frame, names, bounds, key, reading
        As for `count_labels`, which raises the same.

    Returns
    -------
    pairs : columns who, term, amount (int64), rank, each pair of a user and a label once. Rows
        without a user are separate users: `who` is null, and `amount` is the number of such rows.
        Many rows are ranked in arrays, and then these are sets.
    kind : Arrow type of the labels.

    Raises
    ------
    ParameterError
        Also if `bounds.max_count` is above 1, or users are counted: a pair is there or not.
    """
    check_pairs(bounds)
    wanted, own = (
        describe_columns(names),
        bounds if "user" in names else replace(bounds, max_labels=None),
    )
    with ExitStack() as stack:
        source = open_source(
            stack,
            frame,
            wanted,
            users="user" in names and bounds.null_users != "separate",
            **reading,
        )
        rows, kind, salt = source.rows(), source.kinds["term"], key or draw_key()

        def keep_sets() -> tuple[pa.Table | Sets | None, int]:
            return hold_sets(check_rows(rows, wanted, bounds), "user" in names, own, salt, kind)

        found, worst = source.run(keep_sets)
    raise_problem(
        worst, wanted, source.wall.problem, from_text=source.from_text, missing=MISSING_ROWS
    )
    return found, kind


def check_pairs(bounds: Bounds) -> None:
    """Refuse bounds with which a pair of a user and a label is more than there or not.

    Raises
    ------
    ParameterError
    """
    if bounds.users_by_labels or bounds.max_count > 1:
        raise ParameterError(
            "keep_sets",
            "needs " + Argument("max_count", 1) + ", and no " + Argument("users_by_labels"),
        )


def count_bounded_records(
    frame: object,
    *,
    label: str,
    user: str,
    max_records: int,
    null_users: str = "refuse",
    key: str | None = None,
    **reading: Unpack[Reading],
) -> tuple[IntArray, IntArray]:
    """Bound each user to `max_records` rows, then count the labels with each count.

    Parameters
    ----------
    frame, key, reading
        As for `count_labels`.
    label, user : str
        The columns of labels and of users.
    max_records : int
        Maximum number of rows of a user; a random subset is kept.
    null_users : what is done with rows without a user, as of `Bounds`.

    Returns
    -------
    counts, prevalences : (d,) int64
        As for `count_records`.

    Raises
    ------
    ParameterError, ColumnError, DataError, InputFileError
        As for `count_labels`.
    """
    wanted = describe_columns({"label": label, "user": user})
    with ExitStack() as stack:
        source = open_source(stack, frame, wanted, **reading)
        rows, salt, most = source.rows(), key or draw_key(), min(max_records, LARGEST)

        def count_kept() -> tuple[tuple[IntArray, IntArray], int]:
            bounds = Bounds(None, LARGEST, null_users)
            marked = mark_problems(rows, wanted, bounds)
            if isinstance(marked, DuckRows):
                alone = null_users == "separate"
                counts, worst = count_marked(marked, most, salt, alone=alone)
                return _with_prevalences(counts), worst
            kept = bound_records(select_marked(marked, bounds), most, salt)
            found = count_prevalences(kept.group(["term"], "count(*) AS records", WORST))
            pairs = found.fetch(["records", "prevalence", "problem"])
            return to_arrays([row[:2] for row in pairs]), max((row[2] for row in pairs), default=0)

        pairs, worst = source.run(count_kept)
    raise_problem(
        worst, wanted, source.wall.problem, from_text=source.from_text, missing=MISSING_USERS
    )
    return pairs


def _with_prevalences(counts: IntArray) -> tuple[IntArray, IntArray]:
    """Return the distinct counts above 0, ascending, and how many there are of each."""
    ordered = np.sort(counts[counts > 0])
    first = np.flatnonzero(np.diff(ordered, prepend=0))
    return ordered[first], np.diff(first, append=len(ordered))


def describe_columns(names: Mapping[str, str], *, cut: Cut | None = None) -> list[Wanted]:
    """Return the columns of counts, labels and users.

    If several columns have a problem, the last of them is reported. Users that decide about a part
    are compared with those of other tables, so that Python objects must then be text.
    """
    wanted = [count_column("amount", names["count"], "count")] if "count" in names else []
    wanted.append(key_column("term", names["label"], "label"))
    if "user" in names:
        wanted.append(key_column("who", names["user"], "user", only_text=cut is not None))
    return wanted


# Terms, their counts, and the largest problem number.
_Found: TypeAlias = tuple[IntArray, IntArray, int]


def count_bounded_terms(
    opened: Callable[[], Rows],
    run: Callable[[Callable[[], _Found]], _Found],
    source: Source,
    *,
    wanted: Sequence[Wanted],
    terms: int | None,
    max_records: int | None,
    null_users: str = "refuse",
    key: str | None = None,
    cut: Cut | None = None,
    one_each: Digit | None = None,
    missing: Mapping[str, Message] | None = None,
    from_text: bool | None = None,
) -> tuple[IntArray, IntArray]:
    """Bound each user, or each row, to `max_records` records, then count the terms.

    Parameters
    ----------
    opened : function
        Returns rows of term and the `wanted` columns; term is an int64 from 0 to ``terms - 1``,
        null only in rows where a wanted column is. Called once.
    run : function
        Calls a function that evaluates rows, and drops the engine's messages.
    source : the source of the rows.
    wanted : the columns ``amount``, how many records a row is, and ``who``, in this order, or one
        of them. Without ``who``, each row is bounded by itself. Others, before them, must not be
        null.
    terms : the number of terms; None if they are too many for an array of all of them.
    max_records : maximum number of records; None for no maximum, without ``who``.
    null_users : what is done with rows without a user, as of `Bounds`.
    key : 32 hexadecimal digits
        Key for the choice of records (default: drawn at random).
    cut : the part of the users that is counted; None for all of them.
    one_each : part of the term, of which a user keeps one record for each value, ahead of
        `max_records`; only without ``amount``. None to keep any.
    missing : by role, the messages about missing values of other columns.
    from_text : whether amounts were parsed from text as whole numbers (default: as of `source`).

    Returns
    -------
    terms, counts : (d,) int64
        The terms kept, in any order, and the count of each, at most 2**62 - 1.

    Raises
    ------
    ParameterError
        If there are users, and no maximum of their records.
    DataError
        If a user is missing, an amount is missing, negative or above 2**62 - 1, or the engine
        fails.
    """
    roles = {column.role for column in wanted}
    most = LARGEST if max_records is None else min(max_records, LARGEST)
    alone, salt = "who" not in roles, key or draw_key()
    if max_records is None and not alone:
        raise ParameterError("max_records", "must be given where there are users")
    if one_each is not None and (alone or "amount" in roles):
        raise ParameterError("one_each", "must be of rows of users, which are one record each")

    def count_kept() -> _Found:
        rows = opened()
        bounds = Bounds(None, most if alone else LARGEST, null_users, cut=cut)
        marked = mark_problems(rows, wanted, bounds)
        if one_each is not None:
            marked = keep_one_each(select_marked(marked, bounds), one_each, salt)
        if isinstance(marked, DuckRows) and "amount" not in roles and terms is not None:
            apart = null_users == "separate"
            counts, worst = count_marked(marked, most, salt, terms, alone=apart)
            return np.arange(len(counts)), counts, worst
        checked = select_marked(marked, bounds)
        if "amount" not in roles:
            kept = bound_records(checked, most, salt).group(["term"], "count(*) AS records", WORST)
        else:
            bounded = checked if alone else share_records(checked, most, salt)
            kept = bounded.group(["term"], format_clamped_sum(rows, str(LARGEST), "records"), WORST)
        found = kept.to_arrow(["term", "records", "problem"])
        worst = pc.max(found["problem"]).as_py() or 0
        return found["term"].to_numpy(), found["records"].to_numpy(), worst

    found, counts, worst = run(count_kept)
    missing = {**MISSING_USERS, **(missing or {})}
    texts = source.from_text if from_text is None else from_text
    raise_problem(worst, wanted, source.wall.problem, from_text=texts, missing=missing)
    return found, counts
