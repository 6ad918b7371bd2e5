"""From rows to (count, prevalence) pairs, inside the engine that holds the rows.

An anonymized histogram of n records has at most about sqrt(2 n) different counts. The engine groups
by label and then by count, so Python receives only these pairs.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Unpack

import numpy as np

from dphist.arrays import IntArray
from dphist.counting.bounding.problems import MISSING_USER, WORST, problem_expression, raise_problem
from dphist.counting.checks import LARGEST, check_total
from dphist.counting.engine.rows import Rows
from dphist.counting.reading.columns import Wanted, count_column, key_column
from dphist.counting.reading.gate import Reading, open_source
from dphist.counting.reading.source import check_comparable
from dphist.errors import DataError, ParameterError

# Stands for a sum above the maximum of a count.
_BEYOND = -1


def count_records(
    frame: object, *, label: str, **reading: Unpack[Reading]
) -> tuple[IntArray, IntArray]:
    """Count the labels with each count, in a table with one row per record.

    Parameters
    ----------
    frame, reading
        As for `open_source`; a dataframe is evaluated once.
    label : str
        The column of labels. They are compared by their bytes: nothing is trimmed and case counts.

    Returns
    -------
    counts : (d,) int64, ascending, distinct, at least 1
        In records.
    prevalences : (d,) int64, at least 1
        How many labels have each count.

    Raises
    ------
    ParameterError
        If `frame` is not a table.
    ColumnError
        If the column is missing or its type has no exact equality (floats, lists).
    DataError
        If a label is missing.
    InputFileError
        If the file is missing or its content does not match its extension.
    """
    wanted = [key_column("term", label, "label")]

    def count_kept(rows: Rows) -> Rows:
        checked = rows.project("term", f"{problem_expression(wanted)} AS problem")
        return count_prevalences(checked.group(["term"], "count(*) AS records", WORST))

    columns = ["records", "prevalence", "problem"]
    found = fetch_checked(frame, wanted, count_kept, columns, **reading)
    return to_arrays([row[:2] for row in found])


def sum_counts(
    frame: object,
    *,
    label: str,
    count: str,
    **reading: Unpack[Reading],
) -> tuple[IntArray, IntArray]:
    """Count the labels with each sum of counts, in a table of labels with counts.

    Parameters
    ----------
    frame, label, reading
        As for `count_records`.
    count : str
        The column of counts, in records: an integer type, or decimal digits in a text file. Counts
        of one label are added; labels with a sum of zero are dropped.

    Returns
    -------
    counts, prevalences : (d,) int64
        As for `count_records`.

    Raises
    ------
    ParameterError, ColumnError, InputFileError
        As for `count_records`; also ColumnError if the counts are not of an integer type.
    DataError
        If a label or count is missing, a count is negative, or there are 2**62 records or
        more.
    """
    wanted = [count_column("amount", count, "count"), key_column("term", label, "label")]

    def count_kept(rows: Rows) -> Rows:
        checked = rows.project("term", "amount", f"{problem_expression(wanted)} AS problem")
        return count_prevalences(sum_by(checked, "term", "amount"))

    columns = ["records", "prevalence", "problem"]
    found = fetch_checked(frame, wanted, count_kept, columns, **reading)
    check_sums(found, count, "label")
    pairs = to_arrays([row[:2] for row in found if row[0] != 0])
    check_total(*pairs)
    return pairs


def count_user_sizes(
    frame: object,
    *,
    user: str,
    count: str | None = None,
    null_users: str = "refuse",
    **reading: Unpack[Reading],
) -> tuple[IntArray, IntArray]:
    """Count the users with each number of records, all of their records included.

    Parameters
    ----------
    frame, reading
        As for `count_records`.
    user : str
        The column of users.
    count : str, optional
        The column that says how many records a row is; 1 without it.
    null_users : "refuse" rows without a user, or "drop" them.

    Returns
    -------
    records : (d,) int64, ascending, distinct, at least 1
        A number above 2**62 - 1 is that.
    users : (d,) int64, at least 1
        How many users have each number of records; those without any are left out.

    Raises
    ------
    ParameterError, ColumnError, InputFileError, DataError
        As for `count_records` and `sum_counts`; no error depends on the sum of a user's counts.
    """
    wanted = [key_column("term", user, "user")]
    if count is not None:
        wanted.insert(0, count_column("amount", count, "count"))

    def count_kept(rows: Rows) -> Rows:
        columns = [column.role for column in wanted]
        kept = rows.where("term IS NOT NULL") if null_users == "drop" else rows
        problem = f"{problem_expression(wanted)} AS problem"
        if count is None:  # the problem is that of the user: it is looked for once for each
            users = kept.group(["term"], "count(*) AS records")
            return count_prevalences(users.project("records", problem))
        return count_prevalences(sum_by(kept.project(*columns, problem), "term", "amount"))

    columns = ["records", "prevalence", "problem"]
    missing = {"term": f"{MISSING_USER} or give them one"}
    found = fetch_checked(frame, wanted, count_kept, columns, missing=missing, **reading)
    kept = [(LARGEST if row[0] == _BEYOND else row[0], row[1]) for row in found if row[0] != 0]
    return to_arrays(kept)


def read_profile(frame: object, **reading: Unpack[Reading]) -> tuple[IntArray, IntArray]:
    """Read an anonymized histogram: columns ``count`` and ``prevalence``.

    Parameters
    ----------
    frame, reading
        As for `count_records`, with columns ``count``, in records, and ``prevalence``, the
        number of labels with that count. Rows with prevalence 0 are dropped; prevalences of
        a repeated count are added.

    Returns
    -------
    counts, prevalences : (d,) int64
        As for `count_records`.

    Raises
    ------
    ParameterError, ColumnError, InputFileError
        As for `sum_counts`.
    DataError
        If a value is missing or negative, a count is zero, or there are 2**62 records or
        more.
    """
    wanted = [
        count_column("amount", "count", "count"),
        count_column("labels", "prevalence", "prevalence"),
    ]

    def merge_rows(rows: Rows) -> Rows:
        checked = rows.project("amount", "labels", f"{problem_expression(wanted)} AS problem")
        # A count must fit into int64 before it becomes a key.
        amount = "CASE WHEN problem = 0 THEN CAST(amount AS BIGINT) ELSE 0 END AS amount"
        return sum_by(checked.project(amount, "labels", "problem"), "amount", "labels")

    columns = ["records", "amount", "problem"]
    found = fetch_checked(frame, wanted, merge_rows, columns, **reading)
    check_sums(found, "prevalence", "count")
    kept = [(row[1], row[0]) for row in found if row[0] != 0]
    if any(records == 0 for records, _ in kept):
        raise DataError("column 'count' must be at least 1: drop the row with count 0")
    pairs = to_arrays(kept)
    check_total(*pairs)
    return pairs


def count_degrees(
    frame: object,
    *,
    source: str,
    target: str,
    directed: bool = False,
    **reading: Unpack[Reading],
) -> tuple[IntArray, IntArray]:
    """Count the nodes with each degree, in a table with one row per edge.

    Parameters
    ----------
    frame, reading
        As for `count_records`.
    source, target : str
        The columns of the two nodes of an edge, both of the same type. Nodes are compared
        as `count_records` compares labels.
    directed : bool
        Whether to count only the edges that leave a node. Nodes are then taken from
        `source`, but `target` is checked as well: it must exist, have the type of `source`,
        and have no missing values.

    Returns
    -------
    degrees : (d,) int64, ascending, distinct, at least 1
        In rows: repeated rows are separate edges. Undirected, a row from a node to itself
        adds 2 to its degree.
    prevalences : (d,) int64, at least 1
        Number of nodes with each degree. Nodes without edges are not counted.

    Raises
    ------
    ParameterError
        If `frame` is not a table, or `source` and `target` are the same column.
    ColumnError
        If a column is missing, its type has no exact equality (floats, lists), or the two
        have different types.
    DataError
        If a node is missing.
    InputFileError
        If the file is missing or its content does not match its extension.
    """
    if not isinstance(directed, bool):
        raise ParameterError("directed", "must be True or False")
    wanted = [key_column("source", source, "source"), key_column("target", target, "target")]

    def count_kept(rows: Rows) -> Rows:
        edges = rows.project("source", "target", f"{problem_expression(wanted)} AS problem")
        # Both ends come from one evaluation. A second evaluation could return other rows, and the
        # two ends would then belong to different edges.
        ends = edges.project("source AS term", "problem") if directed else edges.ends()
        return count_prevalences(ends.group(["term"], "count(*) AS records", WORST))

    lacking = "has rows without a node: drop them or give them one"
    found = fetch_checked(
        frame,
        wanted,
        count_kept,
        ["records", "prevalence", "problem"],
        **reading,
        compared=("source", "target"),
        missing={"source": lacking, "target": lacking},
    )
    return to_arrays([row[:2] for row in found])


def count_prevalences(labels: Rows) -> Rows:
    """From (records, problem), one row per label, to (records, prevalence, problem)."""
    return labels.group(["records"], "count(*) AS prevalence", WORST)


def to_arrays(pairs: Sequence[tuple[int, ...]]) -> tuple[IntArray, IntArray]:
    """Return pairs as two arrays, ascending by the first."""
    table = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)
    return table[:, 0].copy(), table[:, 1].copy()


def sum_by(rows: Rows, by: str, summed: str) -> Rows:
    """Sum a column for each value of `by`; return (by, records, problem).

    The sum is ``records``, or `_BEYOND` if it is too large for a count.
    """
    amount = f"CASE WHEN problem = 0 THEN CAST({summed} AS BIGINT) ELSE 0 END AS summed"
    rows = rows.project(by, amount, "problem")
    rows = rows.group([by], f"{rows.total('summed')} AS summed", WORST)
    fits = f"CASE WHEN summed > {LARGEST} THEN {_BEYOND} ELSE CAST(summed AS BIGINT) END AS records"
    return rows.project(by, fits, "problem")


def fetch_checked(
    frame: object,
    wanted: Sequence[Wanted],
    derive: Callable[[Rows], Rows],
    columns: Sequence[str],
    *,
    compared: tuple[str, str] | None = None,
    missing: Mapping[str, str] | None = None,
    **reading: Unpack[Reading],
) -> list[tuple[Any, ...]]:
    """Open a table, evaluate a query derived from it, and raise the error for the worst problem.

    Parameters
    ----------
    columns : the columns to fetch; the third is the problem number.
    compared : roles of two columns that must have comparable types.
    missing : as for `raise_problem`.
    """
    with ExitStack() as stack:
        source = open_source(stack, frame, wanted, **reading)
        if compared is not None:
            check_comparable(source, *compared)
        rows = source.rows()
        found = source.run(lambda: derive(rows).fetch(columns))
    worst = max((row[2] for row in found), default=None)
    raise_problem(worst, wanted, source.wall.problem, from_text=source.from_text, missing=missing)
    return found


def check_sums(found: list[tuple[Any, ...]], name: str, by: str) -> None:
    """Refuse sums that are too large for a count."""
    if any(row[0] == _BEYOND for row in found):
        raise DataError(f"column {name!r} must add up to less than 2**62 for each {by}")
