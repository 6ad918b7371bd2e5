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
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from dphist.errors import DataError
from dphist.tables.checks import LARGEST, IntArray
from dphist.tables.counting.aggregate import as_arrays
from dphist.tables.counting.stores import DuckStore, SparkStore, Store, held
from dphist.tables.engine.progress import Progress
from dphist.tables.engine.rows import Rows
from dphist.tables.reading.frames import Run, engine_failure
from dphist.tables.reading.records import open_records

# What may be wrong with a record; the largest number found is reported.
_SOUND, _NO_COUNT, _NEGATIVE, _TOO_LARGE, _NO_LABEL, _NO_USER = range(6)
_WORST = "max(problem) AS problem"


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one user may contribute, and what becomes of rows without a user or a label.

    Attributes
    ----------
    max_labels : labels that a user keeps at most; None for all.
    max_count : what a user adds to the count of a label at most.
    null_users : "refuse", "drop", or "separate": each such row is a user of its own.
    null_labels : "refuse" or "drop".
    """

    max_labels: int | None
    max_count: int
    null_users: str = "refuse"
    null_labels: str = "refuse"


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
) -> Store:
    """Count the labels of a table, once what each user contributes is bounded.

    Parameters
    ----------
    frame : dataframe or path
        Anything Narwhals reads, evaluated once, and counted in Spark or in a DuckDB of ours; or a
        file, as for `count_records`.
    names : dict
        The columns ``label`` and, optionally, ``user`` and ``count``. Without a user, each row
        is a user of its own; without a count, each row counts one.
    bounds : Bounds
    key : 32 hexadecimal digits
        What the choice of labels depends on beside the rows; drawn afresh if None.
    progress : as for `count_records`

    Returns
    -------
    The labels with their counts, int64, at least 1. A count above 2**62 - 1 is held as that.

    Raises
    ------
    ParameterError, ColumnError, InputFileError
        As by `open_records`.
    DataError
        If a user or label is missing and `bounds` does not say what then; if a count is missing,
        negative or above 2**62 - 1; or if the engine fails.
    """
    with ExitStack() as stack:
        records = open_records(stack, frame, names, progress)
        checked = _checked(records.rows, names, bounds)
        bounded = bounded_labels(checked, names, bounds, key or fresh_key())

        def evaluated() -> tuple[DuckStore | SparkStore, int]:
            made = held(bounded, records.kind)
            return made, made.worst_problem()

        store: DuckStore | SparkStore
        store, worst = records.run(evaluated)
        _raise_problem(names, [worst], records.from_text)
        store.close_with(stack.pop_all())
    return store


def count_bounded_records(
    frame: object,
    *,
    label: str,
    user: str,
    max_records: int,
    key: str | None = None,
    progress: Progress | None = None,
) -> tuple[IntArray, IntArray]:
    """Count how many labels occur how often, once each user keeps at most `max_records` rows.

    Parameters
    ----------
    frame, key, progress
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
    names = {"label": label, "user": user}
    with ExitStack() as stack:
        records = open_records(stack, frame, names, progress)
        kept = _prevalences(_kept_records(records.rows, names, max_records, key))
        rows = records.run(lambda: kept.fetch(["records", "prevalence", "problem"]))
    _raise_problem(names, [row[2] for row in rows])
    return as_arrays([(row[0], row[1]) for row in rows])


def count_bounded_terms(
    opened: Callable[[], Rows], run: Run, *, user: str, max_records: int, key: str | None = None
) -> tuple[IntArray, IntArray]:
    """Count the terms of rows, once each user keeps at most `max_records` of the rows.

    Parameters
    ----------
    opened : function
        Returns rows (term, who), in which term is an int64, never null. Called once.
    run : function
        Calls what evaluates rows; whatever the engine says is dropped.
    user : the caller's name of the column of users, for the error.
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
    names = {"user": user}

    def counted() -> pa.Table:
        kept = _kept_records(opened(), names, max_records, key)
        terms = kept.group(["term"], "count(*) AS records", _WORST)
        return terms.to_arrow(["term", "records", "problem"])

    found = run(counted)
    _raise_problem(names, [pc.max(found["problem"]).as_py() or _SOUND])
    return found["term"].to_numpy(), found["records"].to_numpy()


def _kept_records(rows: Rows, names: Mapping[str, str], max_records: int, key: str | None) -> Rows:
    """From (term, who) to rows (who, term, problem): those that users keep, or cannot have."""
    checked = _checked(rows, names, Bounds(None, LARGEST))
    return _bounded_records(checked, max_records, key or fresh_key())


def _checked(rows: Rows, names: Mapping[str, str], bounds: Bounds) -> Rows:
    """From the caller's rows to (who, term, amount, problem), no amount above `max_count`.

    A row with a problem has neither user, label nor amount: it serves only to be reported. No
    other row is without a label.
    """
    if bounds.null_labels == "drop":
        rows = rows.where("term IS NOT NULL")
    if "user" in names and bounds.null_users == "drop":
        rows = rows.where("who IS NOT NULL")
    cases = f"WHEN term IS NULL THEN {_NO_LABEL} "
    if "user" in names and bounds.null_users == "refuse":
        cases = f"WHEN who IS NULL THEN {_NO_USER} {cases}"
    if "count" in names:
        cases += (
            f"WHEN amount IS NULL THEN {_NO_COUNT} WHEN amount < 0 THEN {_NEGATIVE} "
            f"WHEN amount > {LARGEST} THEN {_TOO_LARGE} "
        )
    rows = rows.project(
        "term",
        "who" if "user" in names else "CAST(NULL AS BIGINT) AS who",
        "amount" if "count" in names else "CAST(1 AS BIGINT) AS amount",
        f"CASE {cases} ELSE {_SOUND} END AS problem",
    )
    return rows.project(
        "CASE WHEN problem = 0 THEN who END AS who",
        "CASE WHEN problem = 0 THEN term END AS term",
        # min(sum of min(c, M), M) is min(sum of c, M), where no c is negative.
        f"CASE WHEN problem = 0 THEN CAST(least(amount, {bounds.max_count}) AS BIGINT) ELSE 0 END "
        "AS amount",
        "problem",
    )


def bounded_labels(rows: Rows, names: Mapping[str, str], bounds: Bounds, key: str) -> Rows:
    """From (who, term, amount, problem) to (term, records, problem), each user bounded.

    A row whose `who` is null is a user of its own: it has one label and is bounded already.
    """
    if "user" in names:
        most = f"CASE WHEN who IS NULL THEN {LARGEST} ELSE {bounds.max_count} END"
        rows = rows.group(["who", "term"], _at_most(rows, most, "amount"), _WORST)
        rows = rows.where("amount > 0 OR problem > 0")
        if bounds.max_labels is not None:
            ranked = _ranked(rows, key, ["amount"])
            rows = ranked.where(f"who IS NULL OR place <= {bounds.max_labels}")
    rows = rows.group(["term"], _at_most(rows, str(LARGEST), "records"), _WORST)
    return rows.where("records > 0 OR problem > 0")


def _bounded_records(rows: Rows, max_records: int, key: str) -> Rows:
    """From (who, term, ..., problem) to those of these rows that are kept."""
    # Rows of one user and label are alike, so it does not matter which gets which turn.
    turns = rows.project(
        "who",
        "term",
        "problem",
        "row_number() OVER (PARTITION BY who, term ORDER BY problem) AS turn",
    )
    ranked = _ranked(turns, key, [], "turn")
    return ranked.where(f"who IS NULL OR place <= {min(max_records, LARGEST)}")


def _ranked(rows: Rows, key: str, others: list[str], turn: str | None = None) -> Rows:
    """Add to each row how many rows of its user have a hash up to its own.

    Two rows of the same hash, which hardly occur, both have the place of the later: so which
    rows have a place up to some number depends on no order, and they are no more than that.
    """
    hashed = rows.hashed(key, turn)  # with another for each turn, if there are turns
    rows = rows.project("who", "term", "problem", *others, f"{hashed} AS mixed")
    place = (
        "count(*) OVER (PARTITION BY who ORDER BY mixed "
        "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS place"
    )
    return rows.project("who", "term", "problem", *others, place)


def _prevalences(rows: Rows) -> Rows:
    """From rows (term, problem) to (records, prevalence, problem)."""
    labels = rows.group(["term"], "count(*) AS records", _WORST)
    return labels.group(["records"], "count(*) AS prevalence", _WORST)


def _at_most(rows: Rows, most: str, name: str) -> str:
    """Return the sum of amounts, or `most` if that is less; so a sum never wraps.

    To refuse a sum that is too large would tell of all rows together. What is cut off moves no
    two sums further apart.
    """
    return f"CAST(least({rows.total('amount')}, {most}) AS BIGINT) AS {name}"


def _raise_problem(names: Mapping[str, str], problems: list[int], from_text: bool = False) -> None:
    """Raise the error for the largest problem number, if there is one."""
    worst = max(problems, default=_SOUND)
    if worst == _SOUND:
        return
    if worst == _NO_USER:
        lacking = f"column {names['user']!r} has rows without a user: drop them"
        if "label" not in names:
            raise DataError(f"{lacking} or give them one")
        raise DataError(
            f'{lacking}, give them one, or count labels with null_users="drop" or, if each such '
            'row is a user of its own, "separate"'
        )
    if worst == _NO_LABEL:
        raise DataError(
            f"column {names['label']!r} has rows without a label: drop them or give them "
            'one, or count labels with null_labels="drop"'
        )
    if worst > _NO_USER or "count" not in names:  # none of ours: an engine that mixed up rows
        raise engine_failure(names)
    name = names["count"]
    if worst == _NO_COUNT:
        raise DataError(f"column {name!r} has rows without a value: drop them or fill them in")
    if from_text:
        raise DataError(
            f"column {name!r} must hold whole numbers from 0 to 2**62 - 1 in decimal digits, "
            "without a point, an exponent or a separator"
        )
    if worst == _NEGATIVE:
        raise DataError(f"column {name!r} must not be negative: remove or correct such rows")
    raise DataError(f"column {name!r} must be at most 2**62 - 1: remove or correct such rows")
