"""Users bounded in memory, where only users above the bound are ranked.

Rows are held as they are streamed: a user and a slot each. If the stream ends before the limits
below, all users are bounded here; otherwise the rows held and the rest of the stream are bounded in
a private DuckDB (see `terms`), which spills. Both keep the same rows of each user under one key.

A user with at most `max_records` rows keeps all of them, so their order decides nothing. Most rows
need no more than a count of their user (docs/proofs/bounding.md, Lemma 10).
"""

from dataclasses import dataclass
from itertools import chain
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dphist.arrays import AnyArray, BoolArray, IntArray, WordArray
from dphist.errors import DphistError
from dphist.tables.engine.private_duckdb import memory_limit
from dphist.tables.engine.rows import DuckRows
from dphist.tables.reading.source import Batches

MOST_ROWS = 1 << 24
"""Maximum number of rows held."""

ROW_BYTES = 100
"""About what a row and the steps below take, in bytes; all rows stay within the limit of memory."""

_FEW_ROWS = 1 << 18  # these always fit

MOST_BYTES = 1 << 28
"""Maximum size of the users held, in bytes."""

# Multiplied by this odd number, the high bits of close whole numbers differ (Knuth 6.4).
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True)
class Held:
    """Rows in memory.

    Attributes
    ----------
    who : (rows,) the user of each row; may have nulls.
    slots : (rows,) int64
    """

    who: pa.Array
    slots: IntArray


class TooManyRows(DphistError):  # noqa: N818 - internal; one of ours, so that a `Wall` lets it pass
    """More rows than are held. As an exception it does not report that reading is done.

    Attributes
    ----------
    stream : the whole stream: the rows held, and those not read yet.
    """

    def __init__(self, stream: Batches) -> None:
        super().__init__("rows are bounded in a private DuckDB")
        self.stream = stream


def hold_rows(batches: Batches, unfit: Exception) -> Held:
    """Return all rows of a stream of slots and users.

    Parameters
    ----------
    batches : columns term and who, at least one batch.
    unfit : raised if two batches have different types.

    Raises
    ------
    TooManyRows
    """
    held: list[pa.RecordBatch] = []
    rows = size = 0
    most: int | None = None  # by memory, which takes a while to ask for
    for batch in batches:
        if held and batch.schema != held[0].schema:
            raise unfit
        held.append(batch)
        rows += len(batch)
        size += batch.column("who").nbytes
        if most is None and rows > _FEW_ROWS:
            most = memory_limit() // ROW_BYTES
        if rows > MOST_ROWS or size > MOST_BYTES or (most is not None and rows > most):
            raise TooManyRows(chain(held, batches))
    who = pa.concat_arrays([batch.column("who") for batch in held])
    return Held(who, np.concatenate([batch.column("term").to_numpy() for batch in held]))


def count_held(
    held: Held,
    number: int,
    most: int,
    key: str,
    connection: duckdb.DuckDBPyConnection,
) -> IntArray:
    """Bound each user to `most` rows, then count the slots.

    Parameters
    ----------
    held : rows, each with a user.
    number : number of slots.
    most, key : maximum number of rows of a user, and the key for the choice, as for `terms`.
    connection : a private DuckDB, which hashes the rows of users above the bound.

    Returns
    -------
    (number,) int64
    """
    found = np.bincount(held.slots, minlength=number)
    if not len(held.slots):
        return found
    who, slots = held.who, held.slots
    if not _is_dense(who):
        over = _rows_above(buckets_of(who, connection), most)
        who, slots = who.filter(pa.array(over)), slots[over]
    users, values = number_users(who)
    above = _rows_above(users, most)
    users, slots = users[above], slots[above]
    if not len(users):
        return found
    # All rows were counted; those that are not kept are taken off again.
    own = _records(users, slots)
    rows = pa.table({
        "code": own.users, "who": values.take(pa.array(own.users)),
        "term": own.slots, "turn": own.turns,
    })  # fmt: skip
    scanned = DuckRows(connection, connection.from_arrow(rows))
    mixed = scanned.project("code", "term", f"{scanned.hashed(key, 'turn')} AS mixed")
    hashed = mixed.to_arrow(["code", "term", "mixed"])
    codes, hashes = hashed["code"].to_numpy(), hashed["mixed"].to_numpy().astype(np.uint64)
    kept = keep_smallest(codes, hashes, most)
    return found - np.bincount(hashed["term"].to_numpy()[~kept], minlength=number)


def number_users(who: pa.Array) -> tuple[IntArray, pa.Array]:
    """Return a number for each row, which two rows share if their users are the same bytes.

    Returns
    -------
    numbers : (rows,) int64 or int32, from 0
    values : the user of each number
    """
    if _is_dense(who):
        low, high = _range_of(who)
        words = who.to_numpy().astype(np.uint64) - np.uint64(low % 2**64)
        values = (np.arange(high - low + 1, dtype=np.uint64) + np.uint64(low % 2**64)).view(
            np.int64
        )
        stored = values.view(np.uint64) if who.type == pa.uint64() else values
        return words.view(np.int64), pa.array(stored).cast(who.type)
    encoded = who.dictionary_encode()
    return encoded.indices.to_numpy(), encoded.dictionary


def buckets_of(who: pa.Array, connection: duckdb.DuckDBPyConnection) -> IntArray:
    """Return a bucket for each row, a function of its user; users may share one.

    No user has more rows than the bucket. So users need to be distinguished only in buckets with
    more rows than the bound.
    """
    shift = 64 - len(who).bit_length()
    if pa.types.is_integer(who.type):
        words: WordArray = who.to_numpy().astype(np.uint64) * _GOLDEN
        found: IntArray = (words >> np.uint64(shift)).view(np.int64)
        return found
    # DuckDB returns rows in any order.
    rows = connection.from_arrow(pa.table({"place": np.arange(len(who)), "who": who}))
    hashed = rows.project(f"place, CAST(hash(who) >> {shift} AS BIGINT) AS bucket").to_arrow_table()
    found = np.empty(len(who), np.int64)
    found[hashed["place"].to_numpy()] = hashed["bucket"].to_numpy()
    return found


def _is_dense(who: pa.Array) -> bool:
    """Whether users are integers of a range that is small enough for an array."""
    if not pa.types.is_integer(who.type):
        return False
    low, high = _range_of(who)
    return high - low <= 2 * len(who)


def _range_of(who: pa.Array) -> tuple[int, int]:
    """Return the least and the largest of users that are integers; (0, 0) without users."""
    found = pc.min_max(who)
    return found["min"].as_py() or 0, found["max"].as_py() or 0


def _rows_above(groups: IntArray, most: int) -> BoolArray:
    """Return which rows are in a group of more than `most` rows."""
    above: BoolArray = (np.bincount(groups) > most)[groups]
    return above


@dataclass(frozen=True, slots=True)
class _Records:
    users: IntArray
    slots: IntArray
    turns: IntArray


def _records(users: IntArray, slots: IntArray) -> _Records:
    """Return rows in another order, with turns: 1, 2, ... for the rows of one user and slot."""
    # Both in one word, of 32 bits if they fit: it is sorted in half the time.
    shift = int(slots.max()).bit_length()
    word: Any = np.uint32 if shift + int(users.max()).bit_length() <= 32 else np.uint64
    packed = users.astype(word) << word(shift)
    packed |= slots.astype(word)
    packed.sort()
    first = _starts(packed)
    turns = np.arange(1, len(packed) + 1)
    turns -= np.repeat(first, np.diff(first, append=len(packed)))
    low = packed & word((1 << shift) - 1)
    return _Records((packed >> word(shift)).astype(np.int64), low.astype(np.int64), turns)


def _starts(ordered: AnyArray) -> IntArray:
    """Return where each run of equal values starts."""
    return np.append(0, np.flatnonzero(ordered[1:] != ordered[:-1]) + 1)


def keep_smallest(users: IntArray, hashes: WordArray, most: int) -> BoolArray:
    """Return which rows are kept: of each user those with the smallest hashes.

    A row is kept if at most `most` rows of its user have a hash up to its own, which is to say: if
    its hash is below the one in place ``most + 1``. So of equal hashes all or none are kept.

    Parameters
    ----------
    users : (rows,) int64, from 0; each user has more than `most` rows, or none.
    hashes : (rows,) uint64
    """
    sizes = np.bincount(users)
    # The high bits of the hashes decide, unless the rows in places `most` and `most + 1` agree in
    # them. The rows of such a user are compared by whole hashes.
    bits = np.uint64(max(len(sizes) - 1, 1).bit_length())
    high = hashes >> bits
    high |= users.astype(np.uint64) << (np.uint64(64) - bits)
    # The rows come by user, in long runs, which this sort makes use of.
    ordered = np.sort(high, kind="stable")
    ends = np.cumsum(sizes)
    present = sizes > 0
    starts = (ends - sizes)[present]
    last, beyond = np.zeros((2, len(sizes)), np.uint64)
    last[present], beyond[present] = ordered[starts + most - 1], ordered[starts + most]
    kept: BoolArray = high < beyond[users]
    unclear = np.flatnonzero((last == beyond)[users])
    if len(unclear):
        kept[unclear] = _keep_smallest_exactly(users[unclear], hashes[unclear], most)
    return kept


def _keep_smallest_exactly(users: AnyArray, hashes: WordArray, most: int) -> BoolArray:
    """As `keep_smallest`, by whole hashes."""
    order = np.lexsort((hashes, users))
    starts = _starts(users[order])
    beyond = hashes[order][starts + most]
    lengths = np.diff(starts, append=len(users))
    kept = np.zeros(len(users), np.bool_)
    kept[order] = hashes[order] < np.repeat(beyond, lengths)
    return kept
