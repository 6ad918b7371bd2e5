"""From rows to counts of bins, after bounding each user, or each row of several records.

Here a row consists of its slot (see `slots`), its number of records and its user. The slot depends
only on the row and on public edges. So if two tables differ in the rows of one user, their tables
of slots differ in the rows of the same user. The slots are then bounded and counted. Rows outside
all bins are treated like other rows, because their number is released too.

Rows of a user and a slot each are held in memory as they are streamed. If the stream ends before
the limits below, all users are bounded there; otherwise the rows held and the rest of the stream
are put into a private DuckDB, which spills. Both are counted by `kept`, and keep the same rows of
each user under one key.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import chain
from typing import Any, Unpack

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dphist.arrays import IntArray
from dphist.counting.binning.slots import (
    Grid,
    Slotting,
    counts_of_slots,
    number_of_slots,
    raise_unreadable,
    rows_of_slots,
)
from dphist.counting.bounding.bounds import Cut, check_users, draw_key
from dphist.counting.bounding.contributions import count_bounded_terms
from dphist.counting.bounding.kept import count_kept
from dphist.counting.bounding.problems import MISSING_USERS, problem_number, raise_problem
from dphist.counting.bounding.user_parts import UserRows, as_words
from dphist.counting.checks import LARGEST, Problem
from dphist.counting.engine.interruptible import interruptible
from dphist.counting.engine.private_duckdb import memory_limit, open_private_connection
from dphist.counting.engine.rows import DuckRows, are_few
from dphist.counting.reading.columns import Wanted, count_column, key_column
from dphist.counting.reading.gate import Reading, open_source
from dphist.counting.reading.source import Batches, Source, stream_rows
from dphist.counting.reading.spark import SparkSource
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
    given = connection.from_arrow(held)
    rows = DuckRows(connection, given, size=len(held), nbytes=held.nbytes)
    copied = None
    if pa.types.is_integer(held["who"].type):
        short = np.min_scalar_type(number)  # half the memory to move
        copied = list(_copy_integers(held, short))
    return count_kept(rows, most, key, number, copied)


def _copy_integers(held: pa.Table, short: "np.dtype[Any]") -> Iterator[UserRows]:
    """Return the users and slots of rows whose users are integers.

    Users are copied: a program that writes into its own table meanwhile cannot change what is
    bounded after it was counted.
    """
    for batch in held.to_batches():
        who, term = (batch.column(name).to_numpy() for name in ("who", "term"))
        yield UserRows(as_words(who.copy()), term.astype(short))


def bin_rows_bounded(
    frame: object,
    grid: Grid,
    *,
    user: str | None = None,
    count: str | None = None,
    max_records: int | None = None,
    null_users: str = "refuse",
    key: str | None = None,
    cut: Cut | None = None,
    **reading: Unpack[Reading],
) -> IntArray:
    """Bound each user, or each row, to `max_records` records, then count them between fixed edges.

    Parameters
    ----------
    frame, grid, reading
        As for `bin_rows`.
    user : the column of users.
    count : the column that says how many records a row is; 1 without it.
    max_records : maximum number of records of a user, of which a random subset is kept, or of a
        row if there is no `user`; None for no maximum, without `user`.
    null_users : "refuse" rows without a user, "drop" them, or keep them "separate", each as a user
        of its own.
    key : 32 hexadecimal digits
        Key for the choice of records (default: drawn at random).
    cut : the part of the users that is counted; None for all of them.

    Returns
    -------
    (B + 3,) int64, the records kept below, in each bin, above, and null; see `slots`.

    Raises
    ------
    ParameterError, InputFileError
        As for `bin_rows`.
    ColumnError
        As for `bin_rows`, or if the column of users or of counts has an unsuitable type.
    DataError
        As for `bin_rows`, or if a row without a user is refused, or a count is missing, negative or
        above 2**62 - 1.
    """
    others = [] if count is None else [count_column("amount", count, "count")]
    if user is not None:
        others.append(key_column("who", user, "user", only_text=cut is not None))
    with ExitStack() as stack:
        wanted = [*grid.list_wanted(), *others]
        source = open_source(stack, frame, wanted, **reading)
        grid.check(source)
        check_users(source, cut)
        count_rows = partial(
            count_bounded_terms,
            source=source,
            wanted=others,
            terms=number_of_slots(grid),
            max_records=max_records,
            null_users=null_users,
            key=key,
            cut=cut,
        )
        if isinstance(source, SparkSource):
            roles = [column.role for column in others]
            found = count_rows(lambda: rows_of_slots(source, grid, roles), source.run)
        else:
            count_held = None
            if user is not None and count is None and max_records is not None and cut is None:
                most = min(max_records, LARGEST)
                count_held = partial(_count_held, source, grid, others[0], most, null_users, key)
            found = _count_here(stack, source, grid, others, count_held, count_rows)
    return counts_of_slots(*found, grid, wanted)


def _count_here(
    stack: ExitStack,
    source: Source,
    grid: Grid,
    others: Sequence[Wanted],
    count_held: Callable[..., tuple[IntArray, IntArray]] | None,
    count_rows: Callable[..., tuple[IntArray, IntArray]],
) -> tuple[IntArray, IntArray]:
    """Bound in memory where rows are records and not too many, and in a private DuckDB otherwise.

    Either way the rows are streamed once; returns slots and their counts.

    Parameters
    ----------
    count_held : `_count_held` of rows in memory and of a private DuckDB; None to hold none there.
    count_rows : `count_bounded_terms` of rows and of what runs them.
    """
    slotting = Slotting(grid, grid.texts(source))
    roles = [column.role for column in others]
    batches = _with_slots(source.batches(), slotting, roles)
    if count_held is not None:
        try:
            held = source.run(lambda: hold_rows(batches, source.wall.problem))
        except TooManyRows as more:
            batches = more.stream
        else:
            spills = not are_few(len(held), held.nbytes)
            connection = open_private_connection(stack, large=True, spills=spills)
            found = count_held(held, connection)
            raise_unreadable(grid, slotting)
            return found
    # Not the connection that reads the file: a connection runs one query at a time.
    connection = open_private_connection(stack, large=True)

    def open_rows() -> DuckRows:
        return stream_rows(connection, batches, source.wall)

    def run(call: Any) -> Any:
        return interruptible(connection, lambda: source.run(call))

    found = count_rows(open_rows, run)
    raise_unreadable(grid, slotting)
    return found


def _count_held(
    source: Source,
    grid: Grid,
    user: Wanted,
    most: int,
    null_users: str,
    key: str | None,
    held: pa.Table,
    connection: duckdb.DuckDBPyConnection,
) -> tuple[IntArray, IntArray]:
    """Bound and count rows in memory; returns all slots and their counts."""
    known = held["who"].is_valid()  # looked at once: the caller owns these buffers
    lacking = not pc.all(known, min_count=0).as_py()
    if lacking and null_users == "refuse":
        number = problem_number([user], user.role, Problem.MISSING)
        raise_problem(number, [user], source.wall.problem, missing=MISSING_USERS)

    def count_slots() -> IntArray:
        slots = number_of_slots(grid)
        of_users = held.filter(known) if lacking else held
        counts = count_held(of_users, slots, most, key or draw_key(), connection)
        if lacking and null_users == "separate":
            alone = held["term"].filter(pc.invert(known))
            counts = counts + np.bincount(alone.to_numpy(), minlength=slots)
        return counts

    counts = interruptible(connection, lambda: source.wall(count_slots))
    return np.arange(len(counts)), counts


def _with_slots(batches: Batches, slotting: Slotting, roles: Sequence[str]) -> Batches:
    for batch in batches:
        yield _to_slots(batch.columns, slotting, roles)


def _to_slots(columns: list[pa.Array], slotting: Slotting, roles: Sequence[str]) -> pa.RecordBatch:
    """Return the slots of rows, and their other columns, which come last and have these names."""
    values = len(columns) - len(roles)
    slots = pa.array(slotting.find(columns[:values]))
    return pa.RecordBatch.from_arrays([slots, *columns[values:]], names=["term", *roles])
