"""Bounds on the contribution of each user: the steps, on rows in a private DuckDB or in Spark.

Each pair of a user and a label is hashed under a fresh random key from the operating system. A user
keeps the labels with the smallest hashes. The choice depends only on the key and on the user's own
rows, so other users cannot change it. An engine that repeats part of its work under the same key
makes the same choice.

The hash is the engine's own. Hashes are never shown, and privacy does not depend on them: the
bounds hold for every key and every function (docs/understand/proofs/bounding.md). If hash values
are uniform, the choice is uniform; nothing else is required of the hash.

A lazy frame may return other rows when it is evaluated again, so problems of rows are found in the
same evaluation as the counts, in a column beside the values. Each row has the number of its
problem, or 0. The largest number is reported.

A table may be cut by its users into parts, so that each part can be counted somewhere else. The
part of a user is computed from the user alone: MD5 of the user's text in UTF-8 (of an integer, its
decimal digits; of bytes, the bytes; of a UUID, its text), of which the first 15 hexadecimal digits
are a whole number, modulo the number of parts. So every engine, machine and language agrees. Users
of two types are not written alike, so that one person could be in two parts: each part records the
type of its users, and parts of two types are refused. Privacy does not depend on MD5: any function
of the user would do (docs/understand/proofs/bounding.md, Lemma 8).
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pyarrow as pa

from dphist.arrays import IntArray
from dphist.counting.bounding.held_pairs import (
    add_ranked,
    bound_few,
    bound_in_arrays,
    hold_above,
    hold_pairs,
)
from dphist.counting.bounding.problems import WORST, problem_expression, problem_number
from dphist.counting.checks import LARGEST, Problem
from dphist.counting.engine.rows import DuckRows, Rows
from dphist.counting.reading.columns import UserType, Wanted, type_of_users
from dphist.counting.reading.source import Source
from dphist.errors import Argument, ColumnError, ParameterError
from dphist.parameters import optional_whole, whole_number

MOST_PARTS = 1 << 20
"""Maximum number of parts."""

RULE = "md5-60"
"""Name of the rule above; a part that was cut by another rule is refused."""

USER_TYPES: tuple[UserType, ...] = ("text", "integer", "bytes", "uuid")
"""The types of users that may decide about a part."""


@dataclass(slots=True)
class Cut:
    """Which part of the users is counted.

    Attributes
    ----------
    part : from 0 to `parts` - 1.
    parts : number of parts.
    others : "drop" the rows of users of other parts, or "refuse" them.
    user_type : one of `USER_TYPES`, which `check_users` finds; None before.
    """

    part: int
    parts: int
    others: str = "drop"
    user_type: UserType | None = None

    def condition(self, rows: Rows) -> str:
        """Return the expression that is true for the rows of this part; part 0 has the nulls."""
        return f"coalesce({rows.part('who', self.parts)}, 0) = {self.part}"


def make_cut(part: Any, parts: Any, others: Any) -> Cut:
    """Return a cut, checked.

    Raises
    ------
    ParameterError
    """
    number = whole_number(parts, "parts", 1, MOST_PARTS)
    if others not in ("drop", "refuse"):
        raise ParameterError("others", 'must be "drop" or "refuse"')
    return Cut(whole_number(part, "part", 0, number - 1), number, others)


def check_users(source: Source, cut: Cut | None) -> None:
    """Note the type of the users in `cut`, if there is one.

    Raises
    ------
    ColumnError
        If the text of users of this type could differ from engine to engine.
    """
    if cut is None:
        return
    found = type_of_users(source.identity("who"))
    if found not in USER_TYPES:
        raise ColumnError(
            f"column {source.names['who']!r} must hold text, integers, bytes or UUIDs where a "
            "table is cut by its users: cast it to text"
        )
    cut.user_type = found


NULL_USERS = ("refuse", "drop", "separate")
NULL_LABELS = ("refuse", "drop")
"""What may be done with rows without a user, and without a label."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Maximum contribution of a user, and the treatment of rows without a user or a label.

    Bounds that the steps below would not keep are refused.

    Attributes
    ----------
    max_labels : maximum number of labels of a user, at least 1; None for no maximum.
    max_count : maximum that a user adds to the count of a label, from 1 to 2**62 - 1.
    null_users : "refuse", "drop", or "separate": each such row is a separate user.
    null_labels : "refuse" or "drop".
    users_by_labels : where cells of numbers of labels start, ascending from 1; the last cell has
        all larger numbers. Users are counted by how many labels they have, before any is dropped;
        empty if they are not. Refused with separate rows without a user, which are no users.
    cut : the part of the users that is counted; None for all of them.
    other_than : the listed labels: rows with another one get the label "other" before any user is
        bounded. None if no labels are listed.

    Raises
    ------
    ParameterError
    """

    max_labels: int | None
    max_count: int
    null_users: str = "refuse"
    null_labels: str = "refuse"
    users_by_labels: tuple[int, ...] = ()
    cut: Cut | None = None
    other_than: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        most_labels = optional_whole(self.max_labels, "max_labels", 1)
        object.__setattr__(self, "max_labels", most_labels)
        most = whole_number(self.max_count, "max_count", 1, most=LARGEST)
        object.__setattr__(self, "max_count", most)
        check_null_users(self.null_users)
        if self.null_labels not in NULL_LABELS:
            raise ParameterError("null_labels", 'must be "refuse" or "drop"')
        if self.users_by_labels and self.null_users == "separate":
            raise ParameterError(
                "users_by_labels",
                "needs "
                + Argument("null_users")
                + " other than 'separate': it counts users, not rows",
            )


def check_null_users(null_users: Any) -> None:
    """Refuse anything else than a treatment of rows without a user."""
    if null_users not in NULL_USERS:
        raise ParameterError("null_users", 'must be "refuse", "drop" or "separate"')


def draw_key() -> str:
    """Return a key of 128 bits from the operating system, as hexadecimal digits."""
    return secrets.token_hex(16)


def check_rows(rows: Rows, wanted: Sequence[Wanted], bounds: Bounds) -> Rows:
    """From the caller's rows to (who, term, amount, problem); see the two steps below."""
    return select_marked(mark_problems(rows, wanted, bounds), bounds)


def mark_problems(rows: Rows, wanted: Sequence[Wanted], bounds: Bounds, *values: str) -> Rows:
    """From the caller's rows to (term, who, amount, problem, values), without rows to drop."""
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
    return rows.project(
        "term",
        "who" if "who" in roles else "CAST(NULL AS BIGINT) AS who",
        "amount" if "amount" in roles else "CAST(1 AS BIGINT) AS amount",
        f"{problem} AS problem",
        *values,
    )


def select_marked(rows: Rows, bounds: Bounds, *values: str) -> Rows:
    """Return marked rows as (who, term, amount, problem, values), no amount above `max_count`.

    A row with a problem loses its user, label and amount; it only reports the problem. All other
    rows have a label. So no step drops a problem as that of a row beyond a bound. Where all
    problems are looked at before anything is dropped, marked rows will do.
    """
    return rows.project(
        "CASE WHEN problem = 0 THEN who END AS who",
        "CASE WHEN problem = 0 THEN term END AS term",
        # For nonnegative c, min(sum of min(c, M), M) = min(sum of c, M).
        f"CASE WHEN problem = 0 THEN CAST(least(amount, {bounds.max_count}) AS BIGINT) ELSE 0 END "
        "AS amount",
        "problem",
        *values,
    )


def bound_labels(
    rows: Rows, users: bool, bounds: Bounds, key: str
) -> tuple[Rows | pa.Table, IntArray | None]:
    """From marked rows to (term, records, problem), each user bounded.

    `users` says whether there is a column of users. A row with a null `who` is a separate user with
    one label, so it is already bounded.

    Returns
    -------
    rows : a few rows become an Arrow table.
    counted : (c,) int64, the users in each cell of `bounds.users_by_labels`; None if these are the
        sums of the `columns_of_users`, which the rows then have besides.
    """
    if users and bounds.max_count == 1 and bounds.null_users != "separate":
        return _bound_sets(rows, bounds, key)
    rows = select_marked(rows, bounds)
    if users:
        rows = bound_users(rows, bounds, key)
    records = format_clamped_sum(rows, str(LARGEST), "records")
    rows = rows.group(["term"], records, WORST, *_sums_of_users(rows, bounds))
    return rows.where("records > 0 OR problem > 0"), None


def columns_of_users(bounds: Bounds) -> list[str]:
    """Return the names of the columns that count the users in each cell."""
    return [f"users_{cell}" for cell in range(len(bounds.users_by_labels))]


def _sums_of_users(rows: Rows, bounds: Bounds) -> list[str]:
    return [f"{rows.total(name)} AS {name}" for name in columns_of_users(bounds)]


def _bound_sets(rows: Rows, bounds: Bounds, key: str) -> tuple[Rows | pa.Table, IntArray | None]:
    """As `bound_labels`, if users add at most 1.

    A user has a label, or not, so pairs need no sums, and a label's count is a number of pairs.
    Without sums, 10 million rows took 15 % less processor time. All rows without a user are rows
    with a problem, which lack their label as well.
    """
    some, starts = "amount > 0 OR problem > 0", np.array(bounds.users_by_labels, np.int64)
    if bounds.max_labels is not None and isinstance(rows, DuckRows) and rows.is_few:
        return bound_few(rows.where(some), key, bounds.max_labels, starts)
    rows = select_marked(rows, bounds).where(some).project("who", "term", "problem")
    if bounds.max_labels is not None and isinstance(rows, DuckRows):
        rows = hold_pairs(rows)
        bounded = bound_in_arrays(rows, key, bounds.max_labels, starts)
        if bounded is not None:
            return bounded
    rows = keep_labels(rows.group(["who", "term", "problem"]), bounds, key, [])
    pairs = "CASE WHEN max(problem) = 0 THEN count(*) ELSE 0 END AS records"
    return rows.group(["term"], pairs, WORST, *_sums_of_users(rows, bounds)), None


def bound_users(rows: Rows, bounds: Bounds, key: str) -> Rows:
    """From (who, term, amount, problem) to the rows kept, one per user and term."""
    most = f"CASE WHEN who IS NULL THEN {LARGEST} ELSE {bounds.max_count} END"
    rows = rows.group(["who", "term"], format_clamped_sum(rows, most, "amount"), WORST)
    return keep_labels(rows.where("amount > 0 OR problem > 0"), bounds, key, ["amount"])


def keep_labels(rows: Rows, bounds: Bounds, key: str, others: Sequence[str]) -> Rows:
    """Return the rows of the labels that users keep, with the `columns_of_users`.

    Parameters
    ----------
    rows : who, term, problem and the columns `others`, one per user and term.
    """
    starts = bounds.users_by_labels
    if bounds.max_labels is None and not starts:
        return rows
    if not starts and isinstance(rows, DuckRows) and not rows.is_few:
        held, above = hold_above(rows, cast(int, bounds.max_labels))
        if above is None:
            return held
        ranked = _rank(above, key, others).where(f"place <= {bounds.max_labels}")
        return add_ranked(held, cast(DuckRows, ranked.project("who", "term", *others, "problem")))
    rows = _rank(rows, key, others, [_OWN] if starts else [])
    if bounds.max_labels is not None:
        rows = rows.where(f"who IS NULL OR place <= {bounds.max_labels}")
    # A user is counted at the label with place 1. At most one label of a user has this place, so a
    # user is counted at most once.
    ends = [*starts[1:], LARGEST][: len(starts)]
    cells = (
        f"CASE WHEN who IS NOT NULL AND place = 1 AND own_labels >= {start} AND own_labels < {end} "
        f"THEN CAST(1 AS BIGINT) ELSE 0 END AS {name}"
        for start, end, name in zip(starts, ends, columns_of_users(bounds), strict=True)
    )
    return rows.project("who", "term", *others, "problem", *cells)


_OWN = "count(*) OVER (PARTITION BY who) AS own_labels"


def bound_records(rows: Rows, max_records: int, key: str, among: str = "who") -> Rows:
    """From (who, term, ..., problem) to the rows kept: at most `max_records` of each in `among`."""
    # Rows of one user and label are equal, so the order of their turns does not matter.
    turns = rows.gather("who").project(
        "who",
        "term",
        "problem",
        "row_number() OVER (PARTITION BY who, term ORDER BY problem) AS turn",
    )
    ranked = _rank(turns, key, [], turn="turn", among=among)
    return ranked.where(f"who IS NULL OR place <= {min(max_records, LARGEST)}")


def _rank(
    rows: Rows,
    key: str,
    others: Sequence[str],
    windows: Sequence[str] = (),
    *,
    turn: str | None = None,
    among: str = "who",
) -> Rows:
    """Add each row's place among the rows of its user, by hash, and the columns of `windows`.

    The place is the number of rows of the user with a hash up to the row's own. Equal hashes are
    very unlikely; rows with equal hashes all get the largest of their places. So the rows with a
    place of at most k do not depend on any order of rows, and there are at most k of them.
    """
    hashed = rows.hash_columns(key, turn)
    rows = rows.project("who", "term", "problem", *others, f"{hashed} AS mixed")
    place = (
        f"count(*) OVER (PARTITION BY {among} ORDER BY mixed "
        "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS place"
    )
    return rows.project("who", "term", "problem", *others, place, *windows)


def format_clamped_sum(rows: Rows, most: str, name: str) -> str:
    """Return the sum of amounts, clamped at `most`, so that it never wraps.

    Refusing a sum that is too large would reveal something about all rows together. Clamping never
    increases a difference between two sums.
    """
    return f"CAST(least({rows.total('amount')}, {most}) AS BIGINT) AS {name}"
