"""How many records of each term are kept, where only users above the bound are ranked.

The rows are held in a private DuckDB and read several times. A user with at most `most` records
keeps all of them, so their order decides nothing. DuckDB numbers the other users and, where they
are not numbers, the terms; equality is that of their bytes. What is left to rank are numbers (see
`smallest`), and docs/understand/proofs/bounding.md, Lemma 10, says that the records kept are those
of `bounding.keep_records`.
"""

from dataclasses import dataclass

import duckdb
import numpy as np
import pyarrow as pa

from dphist.arrays import IntArray, WordArray
from dphist.tables.counting import bounding
from dphist.tables.counting.smallest import UsersAbove, removed_records, word_type
from dphist.tables.engine.private_duckdb import GIVEN, memory_limit
from dphist.tables.engine.rows import DuckRows, mixed_halves

MOST_RECORDS = 1 << 26
"""Maximum number of records that are ranked in memory."""

# About what a record takes in memory, in bytes, and one of those that are worked on together: a
# block, or all of one user.
_RECORD_BYTES, _BLOCK_BYTES = 16, 100

_FEW_RECORDS = 1 << 18  # these always fit below it

_HELD, _USERS, _TERMS = "held_rows", "users_above", "terms_found"
_BATCH = 1 << 18
_PART = 1 << 16  # DuckDB scans the batches of a table in parallel


@dataclass(frozen=True, slots=True)
class _Terms:
    counts: IntArray
    halves: WordArray


def hold_checked(rows: DuckRows) -> tuple[DuckRows, int]:
    """Evaluate rows (who, term, problem, ...) once; return them, and the largest problem number."""
    rows.project("who", "term", "problem").create(_HELD)
    held = DuckRows(rows.connection, rows.connection.table(_HELD))
    worst = rows.connection.execute(f"SELECT max(problem) FROM {_HELD}").fetchall()  # noqa: S608
    return held, int(worst[0][0] or 0)


def count_kept(rows: DuckRows, most: int, key: str, terms: int | None = None) -> IntArray:
    """Bound each user to `most` records, then count the records of each term.

    Parameters
    ----------
    rows : columns who and term, without nulls, which can be read several times; no steps.
    most, key : maximum number of records of a user, and the key for the choice.
    terms : the number of terms, which are then the whole numbers from 0; None for other terms.

    Returns
    -------
    (t,) int64
        For each term that occurs, in any order, or for each of the `terms`; some may be 0.
    """
    connection = rows.connection
    rows.given.create_view(GIVEN, replace=True)
    who, term = rows.halves(key)
    users = _number_users(connection, most, who)
    if not _fit_in_memory(users.sizes):
        return _count_by_windows(rows, most, key, terms)
    found = _count_terms(connection, term, terms)
    if not len(users.sizes):
        return found.counts
    packed = word_type(len(users.sizes), len(found.counts))
    if packed is None:
        return _count_by_windows(rows, most, key, terms)
    kind, shift = packed
    code = "term" if terms is not None else "code"
    words = _fetch_words(connection, np.dtype(kind), shift, code, int(users.sizes.sum()))
    mix = _Mixer(connection)
    return found.counts - removed_records(words, shift, users, found.halves, most, mix)


@dataclass(frozen=True, slots=True)
class _Mixer:
    """Makes hashes of halves and turns, as `DuckRows.hashed` does."""

    connection: duckdb.DuckDBPyConnection

    def __call__(self, halves: WordArray, turns: IntArray) -> WordArray:
        rows = pa.table({"place": np.arange(len(turns)), "halves": halves, "turn": turns})
        parts = pa.Table.from_batches(rows.to_batches(max_chunksize=_PART), rows.schema)
        mixed = f"place, {mixed_halves('halves', 'turn')} AS mixed"
        return _in_place(self.connection.from_arrow(parts).project(mixed), len(turns))


def _in_place(found: duckdb.DuckDBPyRelation, rows: int) -> WordArray:
    """Return the second column in the order of the first: DuckDB returns rows in any order."""
    places, values = found.to_arrow_table().columns
    ordered = np.zeros(rows, np.uint64)
    ordered[places.to_numpy()] = values.to_numpy()
    return ordered


def _fit_in_memory(sizes: IntArray) -> bool:
    records = int(sizes.sum())
    if records > MOST_RECORDS:
        return False
    size = _RECORD_BYTES * records + _BLOCK_BYTES * int(sizes.max(initial=0))
    return records <= _FEW_RECORDS or size <= memory_limit()


def _number_users(connection: duckdb.DuckDBPyConnection, most: int, half: str) -> UsersAbove:
    counted = f"SELECT who, count(*) AS n FROM {GIVEN} GROUP BY who HAVING n > {most}"  # noqa: S608
    numbered = f"SELECT who, row_number() OVER () - 1 AS number, n, {half} AS half FROM ({counted})"  # noqa: S608
    connection.execute(f"CREATE OR REPLACE TABLE {_USERS} AS {numbered}")
    users = connection.sql(f"SELECT number, n, half FROM {_USERS}").to_arrow_table()  # noqa: S608
    order = users["number"].to_numpy()
    sizes, halves = np.zeros(len(order), np.int64), np.zeros(len(order), np.uint64)
    sizes[order], halves[order] = users["n"].to_numpy(), users["half"].to_numpy()
    return UsersAbove(sizes, halves)


def _count_terms(connection: duckdb.DuckDBPyConnection, half: str, terms: int | None) -> _Terms:
    """Count the rows of each term; make a table of codes, unless terms are codes themselves."""
    counted = f"SELECT term, count(*) AS n FROM {GIVEN} GROUP BY term"  # noqa: S608
    if terms is None:
        numbered = f"SELECT term, row_number() OVER () - 1 AS code, n FROM ({counted})"  # noqa: S608
        connection.execute(f"CREATE OR REPLACE TABLE {_TERMS} AS {numbered}")
        query = f"SELECT code, n, {half} AS half FROM {_TERMS}"  # noqa: S608
    else:
        query = f"SELECT term AS code, n, {half} AS half FROM ({counted})"  # noqa: S608
    found = connection.sql(query).to_arrow_table()
    codes, number = found["code"].to_numpy(), len(found) if terms is None else terms
    counts, halves = np.zeros(number, np.int64), np.zeros(number, np.uint64)
    counts[codes], halves[codes] = found["n"].to_numpy(), found["half"].to_numpy()
    return _Terms(counts, halves)


def _fetch_words(
    connection: duckdb.DuckDBPyConnection,
    kind: "np.dtype[np.unsignedinteger]",
    shift: int,
    code: str,
    records: int,
) -> WordArray:
    """Return the records of users above the bound, as `removed_records` wants them."""
    joined = f"{GIVEN} JOIN {_USERS} USING (who)"
    if code == "code":
        joined = f"{joined} JOIN {_TERMS} USING (term)"
    held_as = "UINTEGER" if kind.itemsize == 4 else "UBIGINT"
    number, place = (f"CAST({name} AS UBIGINT)" for name in ("number", code))
    word = f"CAST({number} * CAST({1 << shift} AS UBIGINT) + {place} AS {held_as}) AS word"
    words, filled = np.empty(records, kind), 0
    found = connection.sql(f"SELECT {word} FROM {joined}")  # noqa: S608
    for batch in found.to_arrow_reader(_BATCH):
        words[filled : filled + len(batch)] = batch.column(0).to_numpy()
        filled += len(batch)
    if filled != records:
        raise RuntimeError("rows of users are missing")
    return words


def _count_by_windows(rows: DuckRows, most: int, key: str, terms: int | None) -> IntArray:
    """As `count_kept`, by DuckDB alone, which spills."""
    checked = rows.project("who", "term", "0 AS problem")
    kept = bounding.bound_records(checked, most, key).group(["term"], "count(*) AS records")
    if terms is None:
        records: IntArray = kept.to_arrow(["records"])["records"].to_numpy()
        return records
    found = kept.to_arrow(["term", "records"])
    counts = np.zeros(terms, np.int64)
    counts[found["term"].to_numpy()] = found["records"].to_numpy()
    return counts
