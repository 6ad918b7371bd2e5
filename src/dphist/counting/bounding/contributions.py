"""Counts of labels, each user bounded: opens a table, bounds its users, and holds the counts.

`bounding` has the steps on rows.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dphist.arrays import IntArray
from dphist.counting.bounding.bounds import (
    USERS,
    Bounds,
    bound_labels,
    bound_records,
    bound_users,
    check_rows,
    fresh_key,
    keep_records,
)
from dphist.counting.bounding.cuts import Cut, check_users
from dphist.counting.bounding.kept import count_kept, hold_checked
from dphist.counting.bounding.problems import MISSING, WORST, raise_problem
from dphist.counting.bounding.profiles import count_prevalences, to_arrays
from dphist.counting.bounding.stores import Store, hold_counts
from dphist.counting.checks import LARGEST
from dphist.counting.engine.progress import Progress
from dphist.counting.engine.rows import DuckRows, Rows
from dphist.counting.reading.columns import Use, Wanted, count_column, key_column
from dphist.counting.reading.gate import open_source
from dphist.errors import Argument, Message, ParameterError


def count_labels(
    frame: object,
    names: Mapping[str, str],
    bounds: Bounds,
    *,
    key: str | None = None,
    progress: Progress | None = None,
    delimiter: str | None = None,
) -> tuple[Store, tuple[int, int] | None]:
    """Bound the contribution of each user, then count the labels of a table.

    Parameters
    ----------
    frame, progress, delimiter
        As for `open_source`: evaluated once, and counted in Spark or in a private DuckDB.
    names : dict
        The columns ``label`` and, optionally, ``user`` and ``count``. Without a user, each row
        is a separate user; without a count, each row counts 1.
    bounds : Bounds
    key : 32 hexadecimal digits
        Key for the choice of labels (default: drawn at random).

    Returns
    -------
    store : the labels with their counts, int64, at least 1. Counts are capped at
        2**62 - 1.
    users : the numbers of users within the bounds and over them; None without `count_users`.

    Raises
    ------
    ParameterError, ColumnError, InputFileError
        As for `open_source`.
    DataError
        If a user or label is missing and `bounds` does not allow it, if a count is missing,
        negative or above 2**62 - 1, or if the engine fails.
    """
    wanted, salt = _wanted(names, cut=bounds.cut), key or fresh_key()

    def bounded(rows: Rows) -> Rows | pa.Table:
        return bound_labels(check_rows(rows, wanted, bounds), "user" in names, bounds, salt)

    store, users = _held(
        frame,
        wanted,
        bounded,
        bounds.cut,
        summed=USERS if bounds.count_users else (),
        missing=_MISSING,
        progress=progress,
        delimiter=delimiter,
    )
    return store, (users[0], users[1]) if users else None


def label_bounded_records(
    frame: object,
    *,
    label: str,
    user: str,
    max_records: int,
    cut: Cut,
    key: str | None = None,
    progress: Progress | None = None,
    delimiter: str | None = None,
) -> Store:
    """Bound each user of a part to `max_records` rows, then count the labels.

    Parameters and errors are those of `count_bounded_records`; `cut` says which users are counted.

    Returns
    -------
    The labels with their counts, as `count_labels` returns them.
    """
    wanted = _wanted({"label": label, "user": user}, cut=cut)

    def counted(rows: Rows) -> Rows:
        kept = keep_records(rows, wanted, max_records, key, cut)
        counts = kept.group(["term"], "count(*) AS records", WORST)
        return counts.where("term IS NOT NULL OR problem > 0")

    store, _ = _held(
        frame, wanted, counted, cut, missing=MISSING_USERS, progress=progress, delimiter=delimiter
    )
    return store


def _held(
    frame: object,
    wanted: Sequence[Wanted],
    counted: Callable[[Rows], Rows | pa.Table],
    cut: Cut | None,
    *,
    missing: Mapping[str, Message],
    summed: Sequence[str] = (),
    progress: Progress | None,
    delimiter: str | None,
) -> tuple[Store, list[int]]:
    """Open a table, hold the counts of its labels, and raise the error for the worst problem."""
    with ExitStack() as stack:
        source = open_source(stack, frame, wanted, progress=progress, delimiter=delimiter)
        check_users(source, cut)
        rows, kind = source.rows(), source.kinds["term"]
        store, worst, sums = source.run(lambda: hold_counts(counted(rows), kind, summed))
        raise_problem(
            worst, wanted, source.wall.problem, from_text=source.from_text, missing=missing
        )
        return store.settle(stack.pop_all()), sums


def bounded_pairs(
    frame: object,
    names: Mapping[str, str],
    bounds: Bounds,
    *,
    key: str | None = None,
    progress: Progress | None = None,
    delimiter: str | None = None,
) -> tuple[pa.Table, pa.DataType]:
    """Bound each user to `max_labels` labels, and return who has which.

    Parameters
    ----------
    frame, names, bounds, key, progress, delimiter
        As for `count_labels`, which raises the same.

    Returns
    -------
    pairs : columns who, term, amount (int64), each pair of a user and a label once. Rows without a
        user are separate users: `who` is null, and `amount` is the number of such rows.
    kind : Arrow type of the labels.

    Raises
    ------
    ParameterError
        Also if `bounds.max_count` is above 1, or users are counted: a pair is there or not.
    """
    if bounds.count_users or bounds.max_count > 1:
        raise ParameterError(
            "keep_sets", "needs " + Argument("max_count", 1) + ", and no " + Argument("count_users")
        )
    wanted, own = _wanted(names), bounds if "user" in names else replace(bounds, max_labels=None)
    with ExitStack() as stack:
        source = open_source(stack, frame, wanted, progress=progress, delimiter=delimiter)
        rows, salt = source.rows(), key or fresh_key()

        def kept() -> pa.Table:
            bounded = bound_users(check_rows(rows, wanted, bounds), own, salt)
            return bounded.to_arrow(["who", "term", "amount", "problem"])

        found, kind = source.run(kept), source.kinds["term"]
    worst = pc.max(found["problem"]).as_py()
    raise_problem(worst, wanted, source.wall.problem, from_text=source.from_text, missing=_MISSING)
    return found.drop_columns(["problem"]), kind


def count_bounded_records(
    frame: object,
    *,
    label: str,
    user: str,
    max_records: int,
    key: str | None = None,
    progress: Progress | None = None,
    delimiter: str | None = None,
) -> tuple[IntArray, IntArray]:
    """Bound each user to `max_records` rows, then count the labels with each count.

    Parameters
    ----------
    frame, key, progress, delimiter
        As for `count_labels`.
    label, user : str
        The columns of labels and of users.
    max_records : int
        Maximum number of rows of a user; a random subset is kept.

    Returns
    -------
    counts, prevalences : (d,) int64
        As for `count_records`.

    Raises
    ------
    ParameterError, ColumnError, DataError, InputFileError
        As for `count_labels`.
    """
    wanted = _wanted({"label": label, "user": user})
    with ExitStack() as stack:
        source = open_source(stack, frame, wanted, progress=progress, delimiter=delimiter)
        rows, salt, most = source.rows(), key or fresh_key(), min(max_records, LARGEST)

        def counted() -> tuple[tuple[IntArray, IntArray], int]:
            checked = check_rows(rows, wanted, Bounds(None, LARGEST))
            if isinstance(checked, DuckRows):
                held, worst = hold_checked(checked)
                counts = np.zeros(0, np.int64) if worst else count_kept(held, most, salt)
                return _with_prevalences(counts), worst
            kept = bound_records(checked, most, salt)
            found = count_prevalences(kept.group(["term"], "count(*) AS records", WORST))
            pairs = found.fetch(["records", "prevalence", "problem"])
            return to_arrays([row[:2] for row in pairs]), max((row[2] for row in pairs), default=0)

        pairs, worst = source.run(counted)
    raise_problem(
        worst, wanted, source.wall.problem, from_text=source.from_text, missing=MISSING_USERS
    )
    return pairs


def _with_prevalences(counts: IntArray) -> tuple[IntArray, IntArray]:
    """Return the distinct counts above 0, ascending, and how many there are of each."""
    ordered = np.sort(counts[counts > 0])
    first = np.flatnonzero(np.diff(ordered, prepend=0))
    return ordered[first], np.diff(first, append=len(ordered))


_MISSING_USER = "has rows without a user: drop them"
MISSING_USERS = {"who": f"{_MISSING_USER} or give them one"}
_MISSING = {
    "who": f"{_MISSING_USER}, give them one, or count labels with "
    + Argument("null_users", "drop")
    + ", or with "
    + Argument("null_users", "separate")
    + " if each such row is a separate user",
    "term": f"{MISSING[Use.KEY]}, or count labels with " + Argument("null_labels", "drop"),
}


def _wanted(names: Mapping[str, str], *, cut: Cut | None = None) -> list[Wanted]:
    """Return the columns of counts, labels and users.

    If several columns have a problem, the last of them is reported. Users that decide about a part
    are compared with those of other tables, so that Python objects must then be text.
    """
    wanted = [count_column("amount", names["count"], "count")] if "count" in names else []
    wanted.append(key_column("term", names["label"], "label"))
    if "user" in names:
        wanted.append(key_column("who", names["user"], "user", only_text=cut is not None))
    return wanted
