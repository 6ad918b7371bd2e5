"""From rows to counts of bins, each user cut to a number of rows first.

What a row is here is the slot it falls into (see `binning`) and its user. The slot is a function of
the row and of public edges alone, so the two tables that a user tells apart are, as slots, told
apart by the same user; and slots are then cut and counted as labels are (see `contributions`).
Rows in no bin are rows like any others: they are released as well.
"""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
import pyarrow as pa

from dphist.arrays import IntArray
from dphist.tables.binning.slots import Grid, Slotting, raise_unreadable, slots_of
from dphist.tables.counting.contributions import count_bounded_terms
from dphist.tables.engine.interruptible import interruptible
from dphist.tables.engine.private_duckdb import open_private_connection
from dphist.tables.engine.progress import Progress
from dphist.tables.engine.rows import DuckRows, SparkRows
from dphist.tables.reading.columns import Wanted, key_column
from dphist.tables.reading.gate import open_source
from dphist.tables.reading.source import Batches, Source, engine_failure, reader_of
from dphist.tables.reading.spark import SparkSource


def bin_rows_of_users(
    frame: object,
    grid: Grid,
    *,
    user: str,
    max_records: int,
    key: str | None = None,
    progress: Progress | None = None,
    delimiter: str | None = None,
) -> IntArray:
    """Count rows between fixed edges, once each user keeps at most `max_records` rows.

    Parameters
    ----------
    frame, grid, progress, delimiter
        As for `bin_rows`.
    user : the column of users, without missing values.
    max_records : rows that a user keeps at most, a random subset of the user's rows.
    key : 32 hexadecimal digits
        What the choice of rows depends on beside the rows; drawn afresh if None.

    Returns
    -------
    (B + 3,) int64, rows that are kept: below, each bin, above, null; see `slots`.

    Raises
    ------
    As `bin_rows`, and ColumnError if the column of users cannot serve, DataError if a row has none.
    """
    users = key_column("who", user, "user")
    with ExitStack() as stack:
        wanted = [*grid.wanted(), users]
        source = open_source(stack, frame, wanted, progress=progress, delimiter=delimiter)
        grid.check(source)
        if isinstance(source, SparkSource):
            found = count_bounded_terms(
                lambda: _in_spark(source, grid),
                source.run,
                source,
                user=users,
                max_records=max_records,
                key=key,
            )
        else:
            found = _in_duckdb(stack, source, grid, users, max_records, key)
    slots = np.zeros(slots_of(grid), np.int64)
    # An engine that gave back other slots than it got would be one that mixed up rows.
    if len(found[0]) and not (found[0].min() >= 0 and found[0].max() < len(slots)):
        raise engine_failure([users])
    slots[found[0]] = found[1]
    return slots


def _in_duckdb(
    stack: ExitStack,
    source: Source,
    grid: Grid,
    users: Wanted,
    max_records: int,
    key: str | None,
) -> tuple[IntArray, IntArray]:
    """Stream slots and users into a DuckDB of our own; return the slots and their counts."""
    slotting = Slotting(grid, source.from_text)
    # Another than may read a file, as a connection does one thing at a time.
    connection = open_private_connection(stack, large=True)

    def opened() -> DuckRows:
        reader = reader_of(_slots_and_users(source.batches(), slotting), source.wall)
        return DuckRows(connection, connection.from_arrow(reader))

    def run(call: Any) -> Any:
        return interruptible(connection, lambda: source.run(call))

    found = count_bounded_terms(opened, run, source, user=users, max_records=max_records, key=key)
    raise_unreadable(grid, slotting)
    return found


def _slots_and_users(batches: Batches, slotting: Slotting) -> Batches:
    for batch in batches:
        yield _slotted(batch.columns, slotting)


def _slotted(columns: list[pa.Array], slotting: Slotting) -> pa.RecordBatch:
    """Return the slots of rows, and their users."""
    slots = pa.array(slotting.of(columns[:-1]))
    return pa.RecordBatch.from_arrays([slots, columns[-1]], names=["term", "who"])


def _in_spark(source: SparkSource, grid: Grid) -> SparkRows:
    """Find the slots in Spark's workers, where they stay."""
    from pyspark.sql.types import LongType, StructField, StructType

    schema = StructType([StructField("term", LongType()), source.frame.schema["who"]])
    return SparkRows(source.frame.mapInArrow(_PartitionSlots(grid), schema))


class _PartitionSlots:
    """Finds the slots of the rows of a Spark partition, in an executor."""

    def __init__(self, grid: Grid) -> None:
        self.grid = grid

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        slotting = Slotting(self.grid)
        for batch in batches:
            yield _slotted(batch.columns, slotting)
