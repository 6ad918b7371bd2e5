"""Users bounded in memory, where only users above the bound are ranked.

Rows are held as they are streamed: a user and a slot each. If the stream ends before the limits
below, all users are bounded here; otherwise the rows held and the rest of the stream are bounded in
a private DuckDB (see `terms`), which spills. Both keep the same rows of each user under one key.

A user with at most `max_records` rows keeps all of them, so their order decides nothing. Users are
numbers here, DuckDB's hashes of them. If they are no integers, all rows with the hash of a user
above the bound are compared; if two users share it, DuckDB tells users apart
(docs/understand/proofs/bounding.md, Lemma 10).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import duckdb
import numpy as np
import pyarrow as pa

from dphist.arrays import AnyArray, IntArray
from dphist.errors import DphistError
from dphist.tables.counting.duck_hashes import as_words, hash_known, numpy_knows
from dphist.tables.counting.kept import count_kept
from dphist.tables.counting.users.records import Records, halves_of_hashes, remove_in_parts
from dphist.tables.counting.users.same import are_single_users
from dphist.tables.engine.private_duckdb import memory_limit
from dphist.tables.engine.rows import DuckRows
from dphist.tables.reading.source import Batches

MOST_ROWS = 1 << 24
"""Maximum number of rows held."""

ROW_BYTES = 160
"""About what a row and the steps below take, in bytes; all rows stay within the limit of memory."""

_FEW_ROWS = 1 << 18  # these always fit

MOST_BYTES = 1 << 28
"""Maximum size of the users held, in bytes."""

_SLOT_BITS = 64  # of the type of slots
_ROWS_AT_ONCE = 1 << 18


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
    most: int | None = None  # by memory
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
    found = _count_in_arrays(held, number, most, key, connection)
    if found is None:
        given = connection.from_arrow(held.rows)
        found = count_kept(DuckRows(connection, given), most, key, number)
    return found


def _count_in_arrays(
    held: Held, number: int, most: int, key: str, connection: duckdb.DuckDBPyConnection
) -> IntArray | None:
    """As `count_held`; None if two users have one hash, or the hashes are not known here."""
    if not numpy_knows(connection):
        return None
    kind = held.who.type
    bits = kind.bit_width if pa.types.is_integer(kind) else None
    columns = _hashes(held, connection) if bits is None else _integers(held)
    user_half, hash_half = halves_of_hashes(key)
    slots = hash_half(hash_known(np.arange(number), _SLOT_BITS))
    short = np.min_scalar_type(number)  # half the memory to move

    def numbered(who: AnyArray, term: IntArray, *places: AnyArray) -> Records:
        return Records(as_words(who), term.astype(short), *places)

    threads = int(connection.execute("SELECT current_setting('threads')").fetchall()[0][0])
    records = [numbered(*own) for own in columns]
    if sum(map(len, records)) != len(held.rows):
        raise RuntimeError("rows are missing")
    halves = user_half, lambda own: slots[own]
    removed = remove_in_parts(records, bits, most, halves, threads)
    if bits is None and not are_single_users(held.who, removed, threads):
        return None
    found: IntArray = np.zeros(number, np.int64)
    for column in held.rows["term"].chunks:
        found += np.bincount(column.to_numpy(), minlength=number)
    for part in removed:
        np.subtract.at(found, part.terms.astype(np.int64), np.int64(1))
    return found


def _integers(held: Held) -> Iterator[list[AnyArray]]:
    """Return the users and slots of rows whose users are integers.

    Users are copied: a program that writes into its own table meanwhile cannot change what is
    bounded after it was counted.
    """
    for batch in held.rows.to_batches():
        who, term = (batch.column(name).to_numpy() for name in ("who", "term"))
        yield [who.copy(), term]


def _hashes(held: Held, connection: duckdb.DuckDBPyConnection) -> Iterator[list[AnyArray]]:
    """Return hashes of the users, slots, and places of the rows, in any order."""
    places = pa.array(np.arange(len(held.rows), dtype=np.int32))
    rows = DuckRows(connection, connection.from_arrow(held.rows.append_column("place", places)))
    user, _ = rows.number_of("who")
    numbers = rows.project(f"{user} AS who", "term", "place").relation
    for batch in numbers.to_arrow_reader(_ROWS_AT_ONCE):
        yield [column.to_numpy() for column in batch.columns]
