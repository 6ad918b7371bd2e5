"""Users bounded in memory, where only users above the bound are ranked.

Rows are held as they are streamed: a user and a slot each. If the stream ends before the limits
below, all users are bounded here; otherwise the rows held and the rest of the stream are bounded in
a private DuckDB (see `terms`), which spills. Both keep the same rows of each user under one key.

A user with at most `max_records` rows keeps all of them, so their order decides nothing. Most rows
need no more than a count of their user (docs/proofs/bounding.md, Lemma 10).
"""

from dataclasses import dataclass
from itertools import chain

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dphist.arrays import IntArray
from dphist.errors import DphistError
from dphist.tables.counting.kept import count_kept, halves_of, mixer
from dphist.tables.counting.smallest import UsersAbove, removed_records, word_type
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

_PART = 1 << 16  # rows at once


@dataclass(frozen=True, slots=True)
class Held:
    """Rows in memory.

    Attributes
    ----------
    rows : columns who, the user of each row, which may be missing, and term, its slot, int64.
    """

    rows: pa.Table

    @property
    def who(self) -> pa.ChunkedArray:
        """The users."""
        return self.rows["who"]


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
    return Held(pa.Table.from_batches(held))


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
    most, key : maximum number of rows of a user, and the key for the choice, as for `count_kept`.
    connection : a private DuckDB.

    Returns
    -------
    (number,) int64
    """
    if _is_dense(held.who):
        return _count_numbered(held, number, most, key, connection)
    return count_kept(DuckRows(connection, connection.from_arrow(held.rows)), most, key, number)


def _count_numbered(
    held: Held, number: int, most: int, key: str, connection: duckdb.DuckDBPyConnection
) -> IntArray:
    """As `count_held`, for users who are integers close to each other: they number themselves."""
    slots: IntArray = held.rows["term"].to_numpy()
    found = np.bincount(slots, minlength=number)
    low, _ = _range_of(held.who)
    distances = held.who.to_numpy().astype(np.uint64)
    distances -= np.uint64(low % 2**64)
    sizes = np.bincount(distances.view(np.int64))
    above = np.flatnonzero(sizes > most)
    if not len(above):
        return found
    packed = word_type(len(above), number)
    if packed is None:
        raise RuntimeError("users and slots do not fit into a word")
    kind, shift = packed
    numbers = np.full(len(sizes), -1, np.int32)
    numbers[above] = np.arange(len(above))
    words, filled = np.empty(sizes[above].sum(), kind), 0
    for start in range(0, len(distances), _PART):  # a part stays in the processor's cache
        own = numbers[distances[start : start + _PART].view(np.int64)]
        places = np.flatnonzero(own >= 0)
        part = words[filled : filled + len(places)]
        part[:] = own[places]
        part <<= kind(shift)
        part |= slots[start : start + _PART][places].astype(kind)
        filled += len(places)
    halves = halves_of(connection, key, "who", _values(held.who, above, low))
    there = np.flatnonzero(found)
    terms = np.zeros(number, np.uint64)
    terms[there] = halves_of(connection, key, "term", pa.array(there))
    users = UsersAbove(sizes[above], halves)
    return found - removed_records(words, shift, users, terms, most, mixer(connection))


def _values(who: pa.ChunkedArray, distances: IntArray, low: int) -> pa.Array:
    """Return the users at these distances from the smallest, as a column of their type."""
    words = distances.astype(np.uint64) + np.uint64(low % 2**64)
    return pa.array(words if who.type == pa.uint64() else words.view(np.int64)).cast(who.type)


def _is_dense(who: pa.ChunkedArray) -> bool:
    """Whether users are integers of a range that is small enough for an array."""
    if not pa.types.is_integer(who.type):
        return False
    low, high = _range_of(who)
    return high - low <= 2 * len(who)


def _range_of(who: pa.ChunkedArray) -> tuple[int, int]:
    """Return the least and the largest of users that are integers; (0, 0) without users."""
    found = pc.min_max(who)
    return found["min"].as_py() or 0, found["max"].as_py() or 0
