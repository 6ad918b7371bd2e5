"""Bounds on the contribution of each user, in a private DuckDB or in Spark.

Each pair of a user and a label is hashed under a fresh random key from the operating system. A user
keeps the labels with the smallest hashes. The choice depends only on the key and on the user's own
rows, so other users cannot change it. An engine that repeats part of its work under the same key
makes the same choice.

The hash is the engine's own. Hashes are never shown, and privacy does not depend on them: the
bounds hold for every key and every function (docs/proofs/bounding.md). If hash values are uniform,
the choice is uniform; nothing else is required of the hash.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from dphist.arrays import IntArray
from dphist.tables.checks import LARGEST, Problem
from dphist.tables.counting.cuts import Cut, check_users
from dphist.tables.counting.problems import (
    MISSING,
    WORST,
    problem_expression,
    problem_number,
    raise_problem,
)
from dphist.tables.counting.profiles import count_prevalences, fetch_checked, to_arrays
from dphist.tables.counting.stores import Store, hold_counts
from dphist.tables.engine.progress import Progress
from dphist.tables.engine.rows import Rows
from dphist.tables.reading.columns import Use, Wanted, count_column, key_column
from dphist.tables.reading.gate import open_source


@dataclass(frozen=True, slots=True)
class Bounds:
    """Maximum contribution of a user, and the treatment of rows without a user or a label.

    Attributes
    ----------
    max_labels : maximum number of labels of a user; None for no maximum.
    max_count : maximum that a user adds to the count of a label.
    null_users : "refuse", "drop", or "separate": each such row is a separate user.
    null_labels : "refuse" or "drop".
    count_users : whether to count the users within the bounds and the users over them. A user is
        over the bounds with more labels than `max_labels` or, if `max_count` is above 1, with more
        records of one label than `max_count`. Rows without a user are not counted.
    cut : the part of the users that is counted; None for all of them.
    """

    max_labels: int | None
    max_count: int
    null_users: str = "refuse"
    null_labels: str = "refuse"
    count_users: bool = False
    cut: Cut | None = None


def fresh_key() -> str:
    """Return a key of 128 bits from the operating system, as hexadecimal digits."""
    return secrets.token_hex(16)


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

    def bounded(rows: Rows) -> Rows:
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
    counted: Callable[[Rows], Rows],
    cut: Cut | None,
    *,
    missing: Mapping[str, str],
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
        As for `count_labels`, which raises the same; `bounds.max_count` is 1.

    Returns
    -------
    pairs : columns who, term, amount (int64), each pair of a user and a label once. Rows without a
        user are separate users: `who` is null, and `amount` is the number of such rows.
    kind : Arrow type of the labels.
    """
    wanted, own = _wanted(names), bounds if "user" in names else replace(bounds, max_labels=None)
    with ExitStack() as stack:
        source = open_source(stack, frame, wanted, progress=progress, delimiter=delimiter)
        rows, salt = source.rows(), key or fresh_key()

        def kept() -> pa.Table:
            bounded = _bound_users(check_rows(rows, wanted, bounds), own, salt)
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
    wanted = _wanted({"label": label, "user": user}, only_text=False)

    def counted(rows: Rows) -> Rows:
        kept = keep_records(rows, wanted, max_records, key)
        return count_prevalences(kept.group(["term"], "count(*) AS records", WORST))

    found = fetch_checked(
        frame,
        wanted,
        counted,
        ["records", "prevalence", "problem"],
        progress=progress,
        delimiter=delimiter,
        missing=MISSING_USERS,
    )
    return to_arrays([row[:2] for row in found])


_MISSING_USER = "has rows without a user: drop them"
MISSING_USERS = {"who": f"{_MISSING_USER} or give them one"}
_MISSING = {
    "who": f'{_MISSING_USER}, give them one, or count labels with null_users="drop" or, '
    'if each such row is a separate user, "separate"',
    "term": f'{MISSING[Use.KEY]}, or count labels with null_labels="drop"',
}


def _wanted(
    names: Mapping[str, str], *, only_text: bool = True, cut: Cut | None = None
) -> list[Wanted]:
    """Return the columns of counts, labels and users.

    If several columns have a problem, the last of them is reported. Users that decide about a part
    are compared with those of other tables, so that Python objects must then be text.
    """
    wanted = [count_column("amount", names["count"], "count")] if "count" in names else []
    wanted.append(key_column("term", names["label"], "label", only_text=only_text))
    if "user" in names:
        wanted.append(key_column("who", names["user"], "user", only_text=cut is not None))
    return wanted


def keep_records(
    rows: Rows,
    wanted: Sequence[Wanted],
    max_records: int,
    key: str | None,
    cut: Cut | None = None,
) -> Rows:
    """From (term, who) to (who, term, problem): the rows kept, and the rows with a problem."""
    checked = check_rows(rows, wanted, Bounds(None, LARGEST, cut=cut))
    return _bound_records(checked, max_records, key or fresh_key())


def check_rows(rows: Rows, wanted: Sequence[Wanted], bounds: Bounds) -> Rows:
    """From the caller's rows to (who, term, amount, problem), no amount above `max_count`.

    A row with a problem loses its user, label and amount; it only reports the problem. All other
    rows have a label.
    """
    roles = {column.role for column in wanted}
    if bounds.null_labels == "drop":
        rows = rows.where("term IS NOT NULL")
    if "who" in roles and bounds.null_users == "drop":
        rows = rows.where("who IS NOT NULL")
    allowed = {"who"} if bounds.null_users != "refuse" else set()
    problem = problem_expression(wanted, allowed)
    if bounds.cut is not None:
        own = bounds.cut.condition(rows)
        if bounds.cut.others == "drop":
            rows = rows.where(own)
        else:
            number = problem_number(wanted, "who", Problem.OTHER_PART)
            problem = f"greatest({problem}, CASE WHEN {own} THEN 0 ELSE {number} END)"
    rows = rows.project(
        "term",
        "who" if "who" in roles else "CAST(NULL AS BIGINT) AS who",
        "amount" if "amount" in roles else "CAST(1 AS BIGINT) AS amount",
        f"{problem} AS problem",
    )
    return rows.project(
        "CASE WHEN problem = 0 THEN who END AS who",
        "CASE WHEN problem = 0 THEN term END AS term",
        # For nonnegative c, min(sum of min(c, M), M) = min(sum of c, M). The sum of min(c, M + 1)
        # is above M if and only if the sum of c is above M.
        f"CASE WHEN problem = 0 THEN CAST(least(amount, {bounds.max_count} + "
        f"{int(bounds.count_users)}) AS BIGINT) ELSE 0 END AS amount",
        "problem",
    )


def bound_labels(rows: Rows, users: bool, bounds: Bounds, key: str) -> Rows:
    """From (who, term, amount, problem) to (term, records, problem), each user bounded.

    `users` says whether there is a column of users. A row with a null `who` is a separate user with
    one label, so it is already bounded. If users are counted, the columns ``uncut`` and ``cut`` are
    added; their sums over all terms are the numbers of users.
    """
    counted = [f"{rows.total(name)} AS {name}" for name in USERS] if bounds.count_users else []
    if users:
        rows = _bound_users(rows, bounds, key)
    rows = rows.group(["term"], clamped_sum(rows, str(LARGEST), "records"), WORST, *counted)
    return rows.where("records > 0 OR problem > 0")


USERS = ("uncut", "cut")
"""Columns that count the users within the bounds, and those over them."""


def _bound_users(rows: Rows, bounds: Bounds, key: str) -> Rows:
    """From (who, term, amount, problem) to the rows kept, one per user and term."""
    most = f"CASE WHEN who IS NULL THEN {LARGEST} ELSE {bounds.max_count} END"
    # With max_count 1 a count is a number of users, so repeating a label exceeds no bound.
    limit = bounds.max_count if bounds.max_count > 1 else LARGEST
    over = f"CASE WHEN {rows.total('amount')} > {limit} THEN 1 ELSE 0 END AS over_count"
    more = [over] if bounds.count_users else []
    rows = rows.group(["who", "term"], clamped_sum(rows, most, "amount"), WORST, *more)
    rows = rows.where("amount > 0 OR problem > 0")
    if bounds.max_labels is None and not bounds.count_users:
        return rows
    others = ["amount", *(["over_count"] if more else [])]
    rows = _rank(rows, key, others, [_OWN, _OVER] if more else [])
    if bounds.max_labels is not None:
        rows = rows.where(f"who IS NULL OR place <= {bounds.max_labels}")
    return rows.project("term", "amount", "problem", *_user_columns(bounds)) if more else rows


_OWN = "count(*) OVER (PARTITION BY who) AS own_labels"
_OVER = "max(over_count) OVER (PARTITION BY who) AS over_any"


def _user_columns(bounds: Bounds) -> list[str]:
    """Return the columns that count users.

    A user is counted at the label with place 1. At most one label of a user has this place, so a
    user is counted at most once.
    """
    cut = "over_any = 1"
    if bounds.max_labels is not None:
        cut = f"({cut} OR own_labels > {bounds.max_labels})"
    first = "who IS NOT NULL AND place = 1"
    return [
        f"CASE WHEN {first} AND NOT {cut} THEN CAST(1 AS BIGINT) ELSE 0 END AS uncut",
        f"CASE WHEN {first} AND {cut} THEN CAST(1 AS BIGINT) ELSE 0 END AS cut",
    ]


def _bound_records(rows: Rows, max_records: int, key: str) -> Rows:
    """From (who, term, ..., problem) to the rows that are kept."""
    # Rows of one user and label are equal, so the order of their turns does not matter.
    turns = rows.project(
        "who",
        "term",
        "problem",
        "row_number() OVER (PARTITION BY who, term ORDER BY problem) AS turn",
    )
    ranked = _rank(turns, key, [], turn="turn")
    return ranked.where(f"who IS NULL OR place <= {min(max_records, LARGEST)}")


def _rank(
    rows: Rows,
    key: str,
    others: Sequence[str],
    windows: Sequence[str] = (),
    *,
    turn: str | None = None,
) -> Rows:
    """Add each row's place among the rows of its user, by hash, and the columns of `windows`.

    The place is the number of rows of the user with a hash up to the row's own. Equal hashes are
    very unlikely; rows with equal hashes all get the largest of their places. So the rows with a
    place of at most k do not depend on any order of rows, and there are at most k of them.
    """
    hashed = rows.hashed(key, turn)
    rows = rows.project("who", "term", "problem", *others, f"{hashed} AS mixed")
    place = (
        "count(*) OVER (PARTITION BY who ORDER BY mixed "
        "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS place"
    )
    return rows.project("who", "term", "problem", *others, place, *windows)


def clamped_sum(rows: Rows, most: str, name: str) -> str:
    """Return the sum of amounts, clamped at `most`, so that it never wraps.

    Refusing a sum that is too large would reveal something about all rows together. Clamping never
    increases a difference between two sums.
    """
    return f"CAST(least({rows.total('amount')}, {most}) AS BIGINT) AS {name}"
