"""From rows to counts of bins, each user cut to a number of rows first.

What a row is here is the slot it falls into (see `binning`) and its user. The slot is a function of
the row and of public edges alone, so the two tables that a user tells apart are, as slots, told
apart by the same user; and slots are then cut and counted as labels are (see `contributions`).
Rows in no bin are rows like any others: they are released as well.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa

from dphist.tables.binning.slots import Grid, Slotting, raise_unreadable, slots_of
from dphist.tables.checks import IntArray
from dphist.tables.counting.contributions import count_bounded_terms
from dphist.tables.engine.interruptible import interruptible
from dphist.tables.engine.private_duckdb import connected
from dphist.tables.engine.progress import Progress
from dphist.tables.engine.rows import DuckRows, SparkRows
from dphist.tables.reading.batches import (
    Batches,
    SparkTable,
    Table,
    table_of_file,
    table_of_frame,
    table_of_spark,
)
from dphist.tables.reading.frames import engine_failure
from dphist.tables.reading.records import is_spark
from dphist.tables.reading.types import check_text

_COLUMNS = ["term", "who"]


def bin_rows_of_users(
    frame: object,
    grid: Grid,
    *,
    user: str,
    max_records: int,
    key: str | None = None,
    progress: Progress | None = None,
) -> IntArray:
    """Count rows between fixed edges, once each user keeps at most `max_records` rows.

    Parameters
    ----------
    frame, grid, progress
        As for `bin_rows`.
    user : the column of users, without missing values.
    max_records : rows that a user keeps at most, a random subset of the user's rows.
    key : 32 hexadecimal digits
        What the choice of rows depends on beside the rows; drawn afresh if None.

    Returns
    -------
    (B + 3,) int64, rows that are kept: below, each bin, above, null; see `binning`.

    Raises
    ------
    As `bin_rows`, and ColumnError if the column of users cannot serve, DataError if a row has none.
    """
    with ExitStack() as stack:
        if is_spark(frame):
            native = nw.to_native(frame, pass_through=True)
            spark = table_of_spark(native, grid.names, user)
            grid.searches(spark.kinds, from_text=False)
            found = count_bounded_terms(
                lambda: _in_spark(spark, grid),
                spark.run,
                user=user,
                max_records=max_records,
                key=key,
            )
        else:
            found = _in_duckdb(stack, frame, grid, user, max_records, key, progress)
    slots = np.zeros(slots_of(grid), np.int64)
    # An engine that gave back other slots than it got would be one that mixed up rows.
    if len(found[0]) and not (found[0].min() >= 0 and found[0].max() < len(slots)):
        raise engine_failure({"user": user})
    slots[found[0]] = found[1]
    return slots


def _in_duckdb(
    stack: ExitStack,
    frame: object,
    grid: Grid,
    user: str,
    max_records: int,
    key: str | None,
    progress: Progress | None,
) -> tuple[IntArray, IntArray]:
    """Stream slots and users into a DuckDB of our own; return the slots and their counts."""
    table: Table
    if isinstance(frame, str | os.PathLike):
        table = table_of_file(stack, frame, grid.names, progress, user)
    else:
        table = table_of_frame(frame, grid.names, user)
    grid.searches(table.kinds, table.from_text)  # before anything is read
    slotting = Slotting(grid, table.from_text)
    batches = table.batches()
    # Another than reads a file, as a connection does one thing at a time.
    connection = connected(stack, large=True)

    def opened() -> DuckRows:
        return DuckRows(connection, connection.from_arrow(_streamed(batches, slotting, user)))

    def run(call: Any) -> Any:
        return interruptible(connection, lambda: table.run(call))

    found = count_bounded_terms(opened, run, user=user, max_records=max_records, key=key)
    raise_unreadable(grid, slotting)
    return found


def _streamed(batches: Batches, slotting: Slotting, user: str) -> pa.RecordBatchReader:
    """Return the batches as (term, who), computed when they are asked for."""
    first = next(batches, None)
    kind = pa.string() if first is None else first[-1].type
    schema = pa.schema({"term": pa.int64(), "who": kind})

    def all_batches() -> Iterator[pa.RecordBatch]:
        batch = first
        while batch is not None:
            check_text(batch[-1], user)
            yield _slotted(batch, slotting)
            batch = next(batches, None)

    return pa.RecordBatchReader.from_batches(schema, all_batches())


def _slotted(columns: list[pa.Array], slotting: Slotting) -> pa.RecordBatch:
    """Return the slots of rows, and their users."""
    slots = pa.array(slotting.of(columns[:-1]))
    return pa.RecordBatch.from_arrays([slots, columns[-1]], names=_COLUMNS)


def _in_spark(table: SparkTable, grid: Grid) -> SparkRows:
    """Find the slots in Spark's workers, where they stay."""
    from pyspark.sql.types import LongType, StructField, StructType

    schema = StructType([StructField("term", LongType()), table.frame.schema["who"]])
    return SparkRows(table.frame.mapInArrow(_PartitionSlots(grid), schema))


class _PartitionSlots:
    """Finds the slots of the rows of a Spark partition, in an executor."""

    def __init__(self, grid: Grid) -> None:
        self.grid = grid

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        slotting = Slotting(self.grid)
        for batch in batches:
            yield _slotted(batch.columns, slotting)
