"""Bounds on the contribution of each user, in a private DuckDB or in Spark.

A user keeps the labels with the smallest hashes, of user and label under a fresh random key from
the operating system. So the choice is a function of the key and of this user's rows. Other users
cannot change it, and an engine that evaluates a part again under the same key chooses the same.

The hash is the engine's own. Hashes are never shown, and privacy does not depend on them: the
bounds hold for every key and every function (docs/proofs/bounding.md). A hash with uniform values
makes the choice uniform; nothing else is required of it.
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
    """Maximum contribution of a user, and the treatment of rows without a user or a label.

    Attributes
    ----------
    max_labels : maximum number of labels of a user; None for no maximum.
    max_count : maximum that a user adds to the count of a label.
    null_users : "refuse", "drop", or "separate": each such row is a separate user.
    null_labels : "refuse" or "drop".
    count_users : whether to count the users within the bounds and those over them: with more
        labels than `max_labels` or, if `max_count` is above 1, more records of a label than
        `max_count`. For rows with a user.
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
    users : numbers of users within the bounds and over them; None without `count_users`.

    Raises
    ------
    ParameterError, ColumnError, InputFileError
        As by `open_source`.
    DataError
        If a user or label is missing and `bounds` refuses that, a count is missing, negative or
        above 2**62 - 1, or the engine fails.
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
    """Bound each user to `max_records` rows, then count the terms of the rows.

    Parameters
    ----------
    opened : function
        Returns rows (term, who); term is an int64, never null. Called once.
    run : function
        Calls a function that evaluates rows, and drops the engine's messages.
    source : source of the rows.
    user : the column of users.
    max_records, key
        As for `count_bounded_records`.

    Returns
    -------
    terms, counts : (d,) int64
        The terms kept, in any order, and the count of each.

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
    """Return the columns of counts, labels and users; the last one with a problem is reported."""
    wanted = [count_column("amount", names["count"], "count")] if "count" in names else []
    wanted.append(key_column("term", names["label"], "label", only_text=only_text))
    if "user" in names:
        wanted.append(key_column("who", names["user"], "user"))
    return wanted


def _kept_records(rows: Rows, wanted: Sequence[Wanted], max_records: int, key: str | None) -> Rows:
    """From (term, who) to rows (who, term, problem): those kept, and those with a problem."""
    checked = _checked(rows, wanted, Bounds(None, LARGEST))
    return _bounded_records(checked, max_records, key or fresh_key())


def _checked(rows: Rows, wanted: Sequence[Wanted], bounds: Bounds) -> Rows:
    """From the caller's rows to (who, term, amount, problem), no amount above `max_count`.

    A row with a problem has neither user, label nor amount, and serves only to report it. All
    other rows have a label.
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
        # For nonnegative c, min(sum of min(c, M), M) = min(sum of c, M), and the sum of
        # min(c, M + 1) is above M exactly if the sum of c is.
        f"CASE WHEN problem = 0 THEN CAST(least(amount, {bounds.max_count} + "
        f"{int(bounds.count_users)}) AS BIGINT) ELSE 0 END AS amount",
        "problem",
    )


def bounded_labels(rows: Rows, users: bool, bounds: Bounds, key: str) -> Rows:
    """From (who, term, amount, problem) to (term, records, problem), each user bounded.

    `users` is whether there is a column of users. A row with a null `who` is a separate user with
    one label, and already bounded. If users are counted, the sums of the columns ``uncut`` and
    ``cut`` over all terms are the numbers of users.
    """
    counted = [f"{rows.total(name)} AS {name}" for name in USERS] if bounds.count_users else []
    if users:
        rows = _bounded_users(rows, bounds, key)
    rows = rows.group(["term"], _at_most(rows, str(LARGEST), "records"), WORST, *counted)
    return rows.where("records > 0 OR problem > 0")


USERS = ("uncut", "cut")
"""Columns that count the users within the bounds, and those over them."""


def _bounded_users(rows: Rows, bounds: Bounds, key: str) -> Rows:
    """From rows (who, term, amount, problem) to those kept, one per user and term."""
    most = f"CASE WHEN who IS NULL THEN {LARGEST} ELSE {bounds.max_count} END"
    # With max_count 1 a count is a number of users, so repeated labels are not a surplus.
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
