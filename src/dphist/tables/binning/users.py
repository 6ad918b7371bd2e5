"""From rows to counts of bins, after bounding the number of rows of each user.

Here a row consists of its slot (see `slots`) and its user. The slot depends only on the row and on
public edges. So if two tables differ in the rows of one user, their tables of slots differ in the
rows of the same user. The slots are then bounded and counted like labels (see `contributions`).
Rows outside all bins are treated like other rows, because their number is released too.
"""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
import pyarrow as pa

from dphist.arrays import IntArray
from dphist.tables.binning.slots import Grid, Slotting, number_of_slots, raise_unreadable
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
    """Bound each user to `max_records` rows, then count the rows between fixed edges.

    Parameters
    ----------
    frame, grid, progress, delimiter
        As for `bin_rows`.
    user : the column of users, without missing values.
    max_records : maximum number of rows of a user; a random subset is kept.
    key : 32 hexadecimal digits
        Key for the choice of rows (default: drawn at random).

    Returns
    -------
    (B + 3,) int64, the number of kept rows below, in each bin, above, and null; see `slots`.

    Raises
    ------
    ParameterError, InputFileError
        As for `bin_rows`.
    ColumnError
        As for `bin_rows`, or if the column of users has an unsuitable type.
    DataError
        As for `bin_rows`, or if a row has no user.
    """
    users = key_column("who", user, "user")
    with ExitStack() as stack:
        wanted = [*grid.wanted(), users]
        source = open_source(stack, frame, wanted, progress=progress, delimiter=delimiter)
        grid.check(source)
        if isinstance(source, SparkSource):
            found = count_bounded_terms(
                lambda: _find_in_spark(source, grid),
                source.run,
                source,
                user=users,
                max_records=max_records,
                key=key,
            )
        else:
            found = _count_in_duckdb(stack, source, grid, users, max_records, key)
    slots = np.zeros(number_of_slots(grid), np.int64)
    # A slot out of range means that the engine mixed up rows.
    if len(found[0]) and not (found[0].min() >= 0 and found[0].max() < len(slots)):
        raise engine_failure([users])
    slots[found[0]] = found[1]
    return slots


def _count_in_duckdb(
    stack: ExitStack,
    source: Source,
    grid: Grid,
    users: Wanted,
    max_records: int,
    key: str | None,
) -> tuple[IntArray, IntArray]:
    """Stream slots and users into a private DuckDB; return the slots and their counts."""
    slotting = Slotting(grid, source.from_text)
    # Not the connection that reads the file: a connection runs one query at a time.
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
        yield _to_slots(batch.columns, slotting)


def _to_slots(columns: list[pa.Array], slotting: Slotting) -> pa.RecordBatch:
    """Return the slots of rows, and their users."""
    slots = pa.array(slotting.find(columns[:-1]))
    return pa.RecordBatch.from_arrays([slots, columns[-1]], names=["term", "who"])


def _find_in_spark(source: SparkSource, grid: Grid) -> SparkRows:
    """Find the slots in Spark's executors, where they stay."""
    from pyspark.sql.types import LongType, StructField, StructType

    schema = StructType([StructField("term", LongType()), source.frame.schema["who"]])
    return SparkRows(source.frame.mapInArrow(_PartitionSlots(grid), schema))


class _PartitionSlots:
    """Find the slots of the rows of a Spark partition, in an executor."""

    def __init__(self, grid: Grid) -> None:
        self.grid = grid

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        slotting = Slotting(self.grid)
        for batch in batches:
            yield _to_slots(batch.columns, slotting)
