"""Users bounded in memory, where only users above the bound are ranked.

Rows are held as they are streamed: a user and a slot each. If the stream ends before the limits
below, all users are bounded here; otherwise the rows held and the rest of the stream are put into
a private DuckDB (see `terms`), which spills. Both are counted by `kept`, and keep the same rows of
each user under one key.
"""

from collections.abc import Iterator
from itertools import chain
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dphist.arrays import IntArray
from dphist.counting.bounding.kept import Copied, as_words, count_kept
from dphist.counting.bounding.ranking import changes
from dphist.counting.bounding.user_parts import PerhapsAbove, UserRows
from dphist.counting.engine.private_duckdb import memory_limit
from dphist.counting.engine.rows import DuckRows
from dphist.counting.engine.threads import in_threads
from dphist.counting.reading.source import Batches
from dphist.errors import DphistError

MOST_ROWS = 1 << 24
"""Maximum number of rows held."""

ROW_BYTES = 160
"""About what a row and the steps below take, in bytes; all rows stay within the limit of memory."""

_FEW_ROWS = 1 << 18  # these always fit

MOST_BYTES = 1 << 28
"""Maximum size of the users held, in bytes."""

_ROWS_AT_ONCE = 1 << 18


class TooManyRows(DphistError):  # noqa: N818 - internal; one of ours, so that a `Wall` lets it pass
    """More rows than are held. As an exception it does not report that reading is done.

    Attributes
    ----------
    stream : the whole stream: the rows held, and those not read yet.
    """

    def __init__(self, stream: Batches) -> None:
        super().__init__("rows are bounded in a private DuckDB")
        self.stream = stream


def hold_rows(batches: Batches, unfit: Exception) -> pa.Table:
    """Return all rows of a stream of slots and users, in memory.

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
    return pa.Table.from_batches(held)


def count_held(
    held: pa.Table,
    number: int,
    most: int,
    key: str,
    connection: duckdb.DuckDBPyConnection,
) -> IntArray:
    """Bound each user to `most` rows, then count the slots.

    Parameters
    ----------
    held : columns who, the user of each row, without nulls, and term, its slot, int64.
    number : number of slots.
    most, key : maximum number of rows of a user, and the key for the choice, as for `count_kept`.
    connection : a private DuckDB.

    Returns
    -------
    (number,) int64
    """
    rows = DuckRows(connection, connection.from_arrow(held), size=len(held))
    short = np.min_scalar_type(number)  # half the memory to move
    if pa.types.is_integer(held["who"].type):
        copied = Copied(list(_integers(held, short)), lambda _: True)
    else:
        copied = _hash_users(held, connection, short)
    return count_kept(rows, most, key, number, copied)


def _integers(held: pa.Table, short: "np.dtype[Any]") -> Iterator[UserRows]:
    """Return the users and slots of rows whose users are integers.

    Users are copied: a program that writes into its own table meanwhile cannot change what is
    bounded after it was counted.
    """
    for batch in held.to_batches():
        who, term = (batch.column(name).to_numpy() for name in ("who", "term"))
        yield UserRows(as_words(who.copy()), term.astype(short))


def _hash_users(
    held: pa.Table, connection: duckdb.DuckDBPyConnection, short: "np.dtype[Any]"
) -> Copied:
    """Return hashes of the users, and slots, of the rows."""
    places = pa.array(np.arange(len(held), dtype=np.int32))
    rows = DuckRows(connection, connection.from_arrow(held.append_column("place", places)))
    user, _ = rows.number_of("who")
    hashed, found = [], []
    numbers = rows.project(f"{user} AS who", "term", "place").relation
    for batch in numbers.to_arrow_reader(_ROWS_AT_ONCE):
        who, term, place = (column.to_numpy() for column in batch.columns)
        hashed.append(UserRows(who, term.astype(short)))
        found.append(place)
    threads = int(connection.execute("SELECT current_setting('threads')").fetchall()[0][0])

    def users_differ(perhaps: PerhapsAbove) -> bool:
        """Compare how many users, by their bytes, and how many hashes there are."""
        parts = 8 if len(held) > _FEW_ROWS else 1  # so that fewer users stay in the cache
        numbers, own_part = [], np.full(len(held), parts, np.uint8)
        for own, place in zip(hashed, found, strict=True):
            some = perhaps.find(own.users)
            numbers.append(own.users[some])
            own_part[place[some]] = numbers[-1] % np.uint64(parts)

        def count_users(part: int) -> int:
            return len(pc.unique(held["who"].filter(pa.array(own_part == part))))

        users = sum(in_threads(count_users, range(parts), threads))
        return bool(users == np.count_nonzero(changes(np.sort(np.concatenate(numbers)))))

    return Copied(hashed, users_differ)
