"""Bounding what one user contributes, in a DuckDB of ours or in Spark.

Which labels a user keeps is decided by a hash, under a key drawn afresh from the operating
system, of the user and each of the user's labels: those of the smallest hashes are kept. So the
choice is a function of the key and of this user's own rows. Nothing another user does can change
it, and an engine that evaluates a part again, under the same key, chooses the same.

The hash is what the engine has. Nobody sees the hashes, and no privacy depends on it: the bounds
hold for every key and every function, as docs/proofs/bounding.md shows. A hash that spreads its
values evenly makes the choice even, which is all that is asked of it.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from dphist.arrays import IntArray
from dphist.tables.checks import LARGEST
from dphist.tables.counting.problems import MISSING, SOUND, WORST, problem_of, raise_problem
from dphist.tables.counting.profiles import as_arrays, fetched, prevalences
from dphist.tables.counting.stores import Store, held
from dphist.tables.engine.progress import Progress
from dphist.tables.engine.rows import Rows
from dphist.tables.reading.columns import Use, Wanted, count_column, key_column
from dphist.tables.reading.gate import open_source
from dphist.tables.reading.source import Source


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one user may contribute, and what becomes of rows without a user or a label.

    Attributes
    ----------
    max_labels : labels that a user keeps at most; None for all.
    max_count : what a user adds to the count of a label at most.
    null_users : "refuse", "drop", or "separate": each such row is a user of its own.
    null_labels : "refuse" or "drop".
    count_users : whether users are counted: those within the bounds, and those who had more labels
        than `max_labels` or, where that is above 1, more records of a label than `max_count`. For
        rows with a user.
    """

    max_labels: int | None
    max_count: int
    null_users: str = "refuse"
    null_labels: str = "refuse"
    count_users: bool = False


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
    """Count the labels of a table, once what each user contributes is bounded.

    Parameters
    ----------
    frame, progress, delimiter
        As for `open_source`: evaluated once, and counted in Spark or in a DuckDB of ours.
    names : dict
        The columns ``label`` and, optionally, ``user`` and ``count``. Without a user, each row
        is a user of its own; without a count, each row counts one.
    bounds : Bounds
    key : 32 hexadecimal digits
        What the choice of labels depends on beside the rows; drawn afresh if None.

    Returns
    -------
    store : the labels with their counts, int64, at least 1. A count above 2**62 - 1 is held as
        that.
    users : how many users are within the bounds, and how many had more; None unless `bounds` asks
        for it.

    Raises
    ------
    ParameterError, ColumnError, InputFileError
        As by `open_source`.
    DataError
        If a user or label is missing and `bounds` does not say what then; if a count is missing,
        negative or above 2**62 - 1; or if the engine fails.
    """
    wanted = _wanted(names)
    with ExitStack() as stack:
        source = open_source(stack, frame, wanted, progress=progress, delimiter=delimiter)
        rows = source.rows()
        salt, summed = key or fresh_key(), USERS if bounds.count_users else ()

        def bounded() -> Rows:
            return bounded_labels(_checked(rows, wanted, bounds), "user" in names, bounds, salt)

        store, worst, users = source.run(lambda: held(bounded(), source.kinds["term"], summed))
        missing = {
            "who": f'{_MISSING_USER}, give them one, or count labels with null_users="drop" or, '
            'if each such row is a user of its own, "separate"',
            "term": f'{MISSING[Use.KEY]}, or count labels with null_labels="drop"',
        }
        raise_problem(
            worst, wanted, source.wall.problem, from_text=source.from_text, missing=missing
        )
        return store.settled(stack.pop_all()), (users[0], users[1]) if users else None


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
    """Count how many labels occur how often, once each user keeps at most `max_records` rows.

    Parameters
    ----------
    frame, key, progress, delimiter
        As for `count_labels`.
    label, user : str
        The columns of labels and of users.
    max_records : int
        Rows that a user keeps at most, a random subset of the user's rows.

    Returns
    -------
    counts, prevalences : (d,) int64
        As of `count_records`.

    Raises
    ------
    As `count_labels`.
    """
    wanted = _wanted({"label": label, "user": user}, only_text=False)

    def counted(rows: Rows) -> Rows:
        kept = _kept_records(rows, wanted, max_records, key)
        return prevalences(kept.group(["term"], "count(*) AS records", WORST))

    with ExitStack() as stack:
        source = open_source(stack, frame, wanted, progress=progress, delimiter=delimiter)
        rows = fetched(source, counted, ["records", "prevalence", "problem"])
    _raise_missing(max((row[2] for row in rows), default=SOUND), wanted, source)
    return as_arrays([row[:2] for row in rows])


def count_bounded_terms(
    opened: Callable[[], Rows],
    run: Callable[[Callable[[], pa.Table]], pa.Table],
    source: Source,
    *,
    user: Wanted,
    max_records: int,
    key: str | None = None,
) -> tuple[IntArray, IntArray]:
    """Count the terms of rows, once each user keeps at most `max_records` of the rows.

    Parameters
    ----------
    opened : function
        Returns rows (term, who), in which term is an int64, never null. Called once.
    run : function
        Calls what evaluates rows; whatever the engine says is dropped.
    source : where the rows come from.
    user : the column of users.
    max_records, key
        As for `count_bounded_records`.

    Returns
    -------
    terms, counts : (d,) int64
        The terms that are kept, in any order, and how often each is.

    Raises
    ------
    DataError
        If a user is missing, or the engine fails.
    """

    def counted() -> pa.Table:
        kept = _kept_records(opened(), [user], max_records, key)
        terms = kept.group(["term"], "count(*) AS records", WORST)
        return terms.to_arrow(["term", "records", "problem"])

    found = run(counted)
    _raise_missing(pc.max(found["problem"]).as_py(), [user], source)
    return found["term"].to_numpy(), found["records"].to_numpy()


_MISSING_USER = "has rows without a user: drop them"


def _raise_missing(worst: int | None, wanted: Sequence[Wanted], source: Source) -> None:
    """Raise the error for a row without a user or label, if there is one."""
    missing = {"who": f"{_MISSING_USER} or give them one"}
    raise_problem(worst, wanted, source.wall.problem, missing=missing)


def _wanted(names: Mapping[str, str], *, only_text: bool = True) -> list[Wanted]:
    """Return the columns of counts, labels and users; the fault of a later one is reported."""
    wanted = [count_column("amount", names["count"], "count")] if "count" in names else []
    wanted.append(key_column("term", names["label"], "label", only_text=only_text))
    if "user" in names:
        wanted.append(key_column("who", names["user"], "user"))
    return wanted


def _kept_records(rows: Rows, wanted: Sequence[Wanted], max_records: int, key: str | None) -> Rows:
    """From (term, who) to rows (who, term, problem): those that users keep, or cannot have."""
    checked = _checked(rows, wanted, Bounds(None, LARGEST))
    return _bounded_records(checked, max_records, key or fresh_key())


def _checked(rows: Rows, wanted: Sequence[Wanted], bounds: Bounds) -> Rows:
    """From the caller's rows to (who, term, amount, problem), no amount above `max_count`.

    A row with a problem has neither user, label nor amount: it serves only to be reported. No
    other row is without a label.
    """
    roles = {column.role for column in wanted}
    if bounds.null_labels == "drop":
        rows = rows.where("term IS NOT NULL")
    if "who" in roles and bounds.null_users == "drop":
        rows = rows.where("who IS NOT NULL")
    allowed = {"who"} if bounds.null_users != "refuse" else set()
    rows = rows.project(
        "term",
        "who" if "who" in roles else "CAST(NULL AS BIGINT) AS who",
        "amount" if "amount" in roles else "CAST(1 AS BIGINT) AS amount",
        f"{problem_of(wanted, allowed)} AS problem",
    )
    return rows.project(
        "CASE WHEN problem = 0 THEN who END AS who",
        "CASE WHEN problem = 0 THEN term END AS term",
        # min(sum of min(c, M), M) is min(sum of c, M), where no c is negative; and the sum of
        # min(c, M + 1) is above M exactly if the sum of c is.
        f"CASE WHEN problem = 0 THEN CAST(least(amount, {bounds.max_count} + "
        f"{int(bounds.count_users)}) AS BIGINT) ELSE 0 END AS amount",
        "problem",
    )


def bounded_labels(rows: Rows, users: bool, bounds: Bounds, key: str) -> Rows:
    """From (who, term, amount, problem) to (term, records, problem), each user bounded.

    `users` says whether there are any. A row whose `who` is null is a user of its own: it has one
    label and is bounded already. Where users are counted, there are columns ``uncut`` and ``cut``
    as well, whose sums over all terms are the numbers of users.
    """
    counted = [f"{rows.total(name)} AS {name}" for name in USERS] if bounds.count_users else []
    if users:
        rows = _bounded_users(rows, bounds, key)
    rows = rows.group(["term"], _at_most(rows, str(LARGEST), "records"), WORST, *counted)
    return rows.where("records > 0 OR problem > 0")


USERS = ("uncut", "cut")
"""Columns that count users: those of whom all was counted, and those who had more."""


def _bounded_users(rows: Rows, bounds: Bounds, key: str) -> Rows:
    """From rows (who, term, amount, problem) to those that users keep, one a user and term."""
    most = f"CASE WHEN who IS NULL THEN {LARGEST} ELSE {bounds.max_count} END"
    # With max_count 1 a count is a number of users: what a user repeats is no surplus.
    limit = bounds.max_count if bounds.max_count > 1 else LARGEST
    over = f"CASE WHEN {rows.total('amount')} > {limit} THEN 1 ELSE 0 END AS over_count"
    more = [over] if bounds.count_users else []
    rows = rows.group(["who", "term"], _at_most(rows, most, "amount"), WORST, *more)
    rows = rows.where("amount > 0 OR problem > 0")
    if bounds.max_labels is None and not bounds.count_users:
        return rows
    others = ["amount", *(["over_count"] if more else [])]
    rows = _ranked(rows, key, others, [_OWN, _OVER] if more else [])
    if bounds.max_labels is not None:
        rows = rows.where(f"who IS NULL OR place <= {bounds.max_labels}")
    return rows.project("term", "amount", "problem", *_users(bounds)) if more else rows


_OWN = "count(*) OVER (PARTITION BY who) AS own_labels"
_OVER = "max(over_count) OVER (PARTITION BY who) AS over_any"


def _users(bounds: Bounds) -> list[str]:
    """Return the columns that count users, each at the first of the labels that it keeps.

    At most one label of a user has the place 1, so a user is counted once at most.
    """
    cut = "over_any = 1"
    if bounds.max_labels is not None:
        cut = f"({cut} OR own_labels > {bounds.max_labels})"
    first = "who IS NOT NULL AND place = 1"
    return [
        f"CASE WHEN {first} AND NOT {cut} THEN CAST(1 AS BIGINT) ELSE 0 END AS uncut",
        f"CASE WHEN {first} AND {cut} THEN CAST(1 AS BIGINT) ELSE 0 END AS cut",
    ]


def _bounded_records(rows: Rows, max_records: int, key: str) -> Rows:
    """From (who, term, ..., problem) to those of these rows that are kept."""
    # Rows of one user and label are alike, so it does not matter which gets which turn.
    turns = rows.project(
        "who",
        "term",
        "problem",
        "row_number() OVER (PARTITION BY who, term ORDER BY problem) AS turn",
    )
    ranked = _ranked(turns, key, [], turn="turn")
    return ranked.where(f"who IS NULL OR place <= {min(max_records, LARGEST)}")


def _ranked(
    rows: Rows,
    key: str,
    others: Sequence[str],
    windows: Sequence[str] = (),
    *,
    turn: str | None = None,
) -> Rows:
    """Add to each row how many rows of its user have a hash up to its own, and other windows.

    Two rows of the same hash, which hardly occur, both have the place of the later: so which
    rows have a place up to some number depends on no order, and they are no more than that.
    """
    hashed = rows.hashed(key, turn)  # with another for each turn, if there are turns
    rows = rows.project("who", "term", "problem", *others, f"{hashed} AS mixed")
    place = (
        "count(*) OVER (PARTITION BY who ORDER BY mixed "
        "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS place"
    )
    return rows.project("who", "term", "problem", *others, place, *windows)


def _at_most(rows: Rows, most: str, name: str) -> str:
    """Return the sum of amounts, or `most` if that is less; so a sum never wraps.

    To refuse a sum that is too large would tell of all rows together. What is cut off moves no
    two sums further apart.
    """
    return f"CAST(least({rows.total('amount')}, {most}) AS BIGINT) AS {name}"
