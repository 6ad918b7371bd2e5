"""Users bounded in arrays: DuckDB counts the rows of each label, and dropped rows are taken off.

A window that ranks all pairs of a user and a label takes DuckDB longer than counting them. Here it
only hands out numbers, which `ranking` ranks. Both keep the same labels of each user under one
key (docs/understand/proofs/bounding.md, Lemma 11):

1. The rows are held in a table, unless they are in memory already, so that all steps see the same.
2. The rows of each label are counted; its number comes along, a hash if the label is no integer.
3. If two labels, or two users, have one number, nothing here applies: a window ranks the rows.
4. The numbers of each row's user and label, and their rank, are streamed into the arrays.
5. A label's count is the number of its rows less that of the rows dropped. So both must be of the
   same rows: sums over the labels' numbers are compared, in case the memory of a table changed.
6. The users are counted by how many labels they have, where that is asked for.

A few rows are numbered by Arrow instead, in one query and without hashes of labels and users.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dphist.arrays import IntArray, WordArray
from dphist.counting.bounding.ranking import drop_labels
from dphist.counting.bounding.user_parts import (
    UserParts,
    UserRows,
    as_words,
    count_places,
    find_places,
)
from dphist.counting.engine.private_duckdb import memory_limit
from dphist.counting.engine.rows import DuckRows

ROW_BYTES = 60
"""About the memory of a row in arrays, in bytes: three numbers, twice at times, and its result."""

SHARE = 4
"""Of the limit of DuckDB's memory, the part that arrays may take besides it."""

_ROWS_AT_ONCE = 1 << 18
_ONE = np.uint64(1)
_PAIRS, _LABELS, _DROPPED = "dphist_pairs", "dphist_labels", "dphist_dropped"
_GROUPED, _ABOVE, _RANKED = "dphist_grouped", "dphist_above", "dphist_ranked"


def hold_pairs(rows: DuckRows) -> DuckRows:
    """Return the same rows in a form that gives them again each time they are evaluated."""
    if rows.size is not None:
        return rows
    size = rows.create(_PAIRS)
    held = DuckRows(rows.connection, rows.connection.table(_PAIRS), size=size, spent=(_PAIRS,))
    if not held.is_few:  # how long many rows are decides nothing, and reading their text takes long
        return held
    return replace(held, nbytes=int(held.fetch([held.lengths("who", "term")])[0][0] or 0))


def hold_above(rows: DuckRows, most: int) -> tuple[DuckRows, DuckRows | None]:
    """Hold rows, one for each user and label, and return those of users above a bound.

    Returns
    -------
    held : all rows, of one evaluation.
    above : the rows of users with more than `most`, to be ranked; None if there are none.
    """
    connection = rows.connection
    size = rows.create(_GROUPED)
    connection.execute(
        f"CREATE TABLE {_ABOVE} AS SELECT who FROM {_GROUPED} WHERE who IS NOT NULL "  # noqa: S608
        f"GROUP BY who HAVING count(*) > {most}"
    )
    spent = (*rows.spent, _GROUPED, _ABOVE)
    held = DuckRows(connection, connection.table(_GROUPED), size=size, spent=spent)
    users = connection.execute(f"SELECT count(*) FROM {_ABOVE}").fetchall()[0][0]  # noqa: S608
    return held, held.where(f"who IN (FROM {_ABOVE})") if users else None


def add_ranked(held: DuckRows, ranked: DuckRows) -> DuckRows:
    """Return the rows of users within the bound, and the ranked rows; both of `hold_above`."""
    connection = held.connection
    ranked.create(_RANKED)
    others = f"FROM {_GROUPED} WHERE who IS NULL OR who NOT IN (FROM {_ABOVE})"
    both = connection.sql(f"{others} UNION ALL FROM {_RANKED}")
    return DuckRows(connection, both, spent=(*held.spent, _RANKED))


def bound_in_arrays(
    rows: DuckRows, key: str, most: int, starts: IntArray
) -> tuple[DuckRows | pa.Table, IntArray] | None:
    """From (who, term, problem) to (term, records, problem), each user bounded to `most` labels.

    Parameters
    ----------
    rows : held rows, see `hold_pairs`. A row with a problem has no user and no label.
    key : 32 hexadecimal digits
    most : maximum number of labels of a user, at least 1.
    starts : (c,) int64, as for `count_users`.

    Returns
    -------
    The labels with their counts, or no more than the problems, if there are any; those of a few
    rows as an Arrow table. And (c,) int64, the users in each cell, see `count_users`. None if two
    labels or two users have the same hash.
    """
    if rows.is_few:
        return bound_few(rows, key, most, starts)
    connection = rows.connection
    label, exact = rows.format_number("term")
    steps = ["count(*) AS records", "max(problem) AS problem", f"{label} AS label"]
    rows.group(["term"], *steps).create(_LABELS)
    labels = DuckRows(connection, connection.table(_LABELS), spent=(*rows.spent, _LABELS))
    problem, number, total = labels.fetch(["max(problem)", "count(*)", "sum(records)"])[0]
    if problem:  # then there is an error, and no counts
        wrong = labels.where("problem > 0").project("term", "0::BIGINT AS records", "problem")
        return wrong, np.zeros_like(starts)
    sums, differ = _read_numbers(labels, int(number))
    if not (exact or differ) or not users_differ(rows):
        connection.execute(f"DROP TABLE {_LABELS}")
        return None
    users = _drop_beyond(rows, key, most, starts, int(total or 0), sums)
    return _subtract_dropped(labels), users


def count_users(labels: IntArray, starts: IntArray) -> IntArray:
    """Count users by how many labels they have.

    Parameters
    ----------
    labels : (users,) int64, the number of labels of each user, at least `starts[0]`.
    starts : (c,) int64, ascending: cell i has the numbers from `starts[i]` to below the next start,
        and the last has all larger ones. Without starts nothing is counted.

    Returns
    -------
    (c,) int64
    """
    if not len(starts):
        return np.zeros(0, np.int64)
    cells = np.searchsorted(starts, labels, side="right") - 1
    return np.bincount(cells, minlength=len(starts)).astype(np.int64)


def bound_few(rows: DuckRows, key: str, most: int, starts: IntArray) -> tuple[pa.Table, IntArray]:
    """As `bound_in_arrays`, with the places of users and labels among them as numbers.

    All problems are looked at before a row is dropped, so that rows need only be marked.
    """
    found = rows.to_arrow(["who", "term", "problem", f"{rows.rank(key)} AS rank"])
    if pc.max(found["problem"]).as_py():
        wrong = found.filter(pc.greater(found["problem"], 0)).select(["term", "problem"])
        none = pa.array(np.zeros(len(wrong), np.int64))
        return wrong.append_column("records", none), np.zeros_like(starts)
    places, labels = find_places(found["term"])
    users, _ = find_places(found["who"])
    ranked = UserRows(users, places, as_words(found["rank"].to_numpy()))
    gone, held = drop_labels(ranked, most)
    records = count_places(places, len(labels)) - count_places(gone, len(labels))
    counts = {"term": labels, "records": records, "problem": np.zeros_like(records)}
    return pa.table(counts).filter(pa.array(records > 0)), count_users(held, starts)


def _read_numbers(labels: DuckRows, number: int) -> tuple[WordArray, bool]:
    """Return the `_compute_sums` all rows, and whether all labels have different numbers.

    NumPy computes both in a fifth of DuckDB's time, which would need numbers of 128 bits. A label's
    number takes 8 bytes here; where these are too many, DuckDB says whether numbers are different.
    """
    sums = np.zeros(2, np.uint64)
    fit = number <= _ROWS_AT_ONCE or 8 * number * SHARE <= memory_limit()
    # A copy: a view of a batch would hold all columns of it.
    ordered, end = np.empty(number if fit else 0, np.uint64), 0
    for batch in labels.project("label", "records").relation.to_arrow_reader(_ROWS_AT_ONCE):
        own, records = (as_words(column.to_numpy()) for column in batch.columns)
        sums += _compute_sums(own, records)
        if fit:
            ordered[end : end + len(own)] = own
            end += len(own)
    if not fit:
        different = labels.fetch(["count(DISTINCT label)"])[0][0]
        return sums, bool(different == number)
    ordered.sort()
    return sums, bool((ordered[1:] != ordered[:-1]).all())


def users_differ(rows: DuckRows) -> bool:
    """Whether no two users have the same number."""
    user, exact = rows.format_number("who")
    if exact:
        return True
    users = rows.group(["who"], f"{user} AS number")
    found, different = users.fetch(["count(*)", "count(DISTINCT number)"])[0]
    return bool(found == different)


def _drop_beyond(
    rows: DuckRows, key: str, most: int, starts: IntArray, total: int, expected: WordArray
) -> IntArray:
    """Make the table of labels of dropped rows; `expected` are the `_compute_sums` all rows.

    Returns the users in each cell, see `count_users`.

    Many rows are ranked in turns, some users at a time. The turn is a function of the user, so that
    the rows of a user are ranked together.
    """
    connection = rows.connection
    # Numbers of integers are BIGINT and may be negative; the arrays hold their bits.
    connection.execute(
        f"CREATE TABLE {_DROPPED} AS SELECT label, 0::BIGINT AS number FROM {_LABELS} LIMIT 0"  # noqa: S608
    )
    kind = connection.table(_DROPPED).types[0].id
    stored = np.uint64 if kind == "ubigint" else np.int64
    sums, users = np.zeros_like(expected), np.zeros_like(starts)

    def add_sums(pairs: UserRows) -> None:
        nonlocal sums
        sums += _compute_sums(pairs.terms, _ONE)

    threads = count_threads(rows)
    for parts in read_in_turns(rows, key, total, add_sums):
        found = parts.each(lambda own: drop_labels(own, most), threads)
        for _, held in found:
            users += count_users(held, starts)
        if found:
            # In chunks, which DuckDB reads with all its threads.
            labels = pa.chunked_array([gone.view(stored) for gone, _ in found])
            dropped = connection.from_arrow(pa.table({"label": labels}))
            dropped.aggregate("label, count(*) AS number", "label").insert_into(_DROPPED)
    lost = connection.execute(
        f"SELECT count(*) FROM {_DROPPED} ANTI JOIN {_LABELS} USING (label)"  # noqa: S608
    ).fetchall()[0][0]
    if lost or (sums != expected).any():  # the rows counted and the rows dropped are not the same
        raise RuntimeError("labels have other numbers than before")
    return users


def read_in_turns(
    rows: DuckRows, key: str, total: int, see: Callable[[UserRows], None]
) -> Iterator[UserParts]:
    """Read the numbers of users and labels, with ranks; the rows of a user come in one turn.

    Parameters
    ----------
    rows, key : as for `bound_in_arrays`.
    total : the number of rows; decides how many turns there are, so that each fits into memory.
    see : called with all rows, some at a time.
    """
    (user, _), (label, _) = rows.format_number("who"), rows.format_number("term")
    turns = _turns(total)
    for turn in range(turns):
        own = rows if turns == 1 else rows.where(f"hash(who) % {turns} = {turn}")
        numbers = own.project(f"{user} AS who", f"{label} AS term", f"{rows.rank(key)} AS rank")
        parts = UserParts(total // turns)
        for batch in numbers.relation.to_arrow_reader(_ROWS_AT_ONCE):
            pairs = UserRows(*(as_words(column.to_numpy()) for column in batch.columns))
            see(pairs)
            parts.add(pairs)
        yield parts


def count_threads(rows: DuckRows) -> int:
    """Return how many threads the engine of the rows may use."""
    return int(rows.connection.execute("SELECT current_setting('threads')").fetchall()[0][0])


def _compute_sums(labels: WordArray, records: WordArray | np.uint64) -> WordArray:
    """Return sums over rows, modulo 2**64: of label numbers, and of squares of their low halves.

    Parameters
    ----------
    labels : (labels,) uint64, numbers.
    records : the number of rows of each, uint64.
    """
    low = labels & np.uint64(2**32 - 1)
    return np.array([(labels * records).sum(), (low * low * records).sum()], np.uint64)


def _subtract_dropped(labels: DuckRows) -> DuckRows:
    """From the labels to (term, records, problem), without the rows dropped."""
    connection = labels.connection
    joined = connection.sql(
        f"SELECT term, problem, records, CAST(coalesce(number, 0) AS BIGINT) AS dropped "  # noqa: S608
        f"FROM {_LABELS} LEFT JOIN (SELECT label, sum(number) AS number FROM {_DROPPED} "
        "GROUP BY label) USING (label)"
    )
    given = DuckRows(connection, joined, spent=(*labels.spent, _DROPPED))
    return given.where("records > dropped").project(
        "term", "records - dropped AS records", "problem"
    )


def _turns(total: int) -> int:
    """Return in how many turns the rows fit into memory."""
    if total <= _ROWS_AT_ONCE:
        return 1
    return -(-total * ROW_BYTES * SHARE // memory_limit())
