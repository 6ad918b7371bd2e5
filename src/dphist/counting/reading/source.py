"""A caller's columns after the checks of `open_source`, ready to be read once.

Code that counts labels, profiles, nodes or bins gets a `Source`, and nothing else from the caller.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, TypeAlias, TypeVar

import duckdb
import pyarrow as pa

from dphist.counting.engine.interruptible import interruptible
from dphist.counting.engine.private_duckdb import ExpectedRows, open_private_connection
from dphist.counting.engine.progress import Report, RowsRead, report_progress
from dphist.counting.engine.redaction import Wall
from dphist.counting.engine.rows import DuckRows, Rows, are_few
from dphist.counting.reading.columns import (
    OBJECTS,
    Use,
    Wanted,
    check_type,
    find_identity,
    list_names,
)
from dphist.errors import ColumnError, DataError

T = TypeVar("T")
Batches: TypeAlias = Iterator[pa.RecordBatch]

ROWS_AT_ONCE = 1 << 18


class Source(ABC):
    """Columns that can be read once, either by `rows` or by `batches`.

    Attributes
    ----------
    wanted : the columns, in the order of the request.
    kinds : mapping of role to Arrow type
        The type of each column, from the schema, checked. For a `VALUE`, a type that is treated
        like the type of the column.
    from_text : bool
        Whether the columns are fields of a text file. Then keys are text, and values are text that
        is still to be read. Counts are already parsed; -1 stands for unreadable text.
    progress : function of a `Done`, or None
        What is told of progress while `run` evaluates; see `report_progress`.
    """

    from_text = False
    progress: Report | None = None

    def __init__(
        self, wanted: Sequence[Wanted], kinds: Mapping[str, pa.DataType], wall: Wall
    ) -> None:
        self.wanted = tuple(wanted)
        self.kinds = dict(kinds)
        self.wall = wall
        for column in self.wanted:
            check_type(self.kinds[column.role], column)

    @property
    def names(self) -> dict[str, str]:
        """The caller's name of each role's column, for error messages."""
        return {column.role: column.name for column in self.wanted}

    @abstractmethod
    def rows(self) -> Rows:
        """Return the rows in an engine, columns named by their roles; keys compare by bytes."""

    @abstractmethod
    def batches(self) -> Batches:
        """Yield the rows in validated batches, columns named by their roles."""

    def run(self, call: Callable[[], T]) -> T:
        """Return ``call()``, which evaluates `rows` or `batches`; see `Wall`."""
        return self.wall(call)

    def identity(self, role: str) -> pa.DataType:
        """Return the type identity of a column of keys; comparable columns have the same one."""
        return find_identity(self.kinds[role])

    def is_text(self, role: str) -> bool:
        """Whether a column of values to bin is text that is still to be read."""
        return self.from_text or self.kinds[role] is OBJECTS


class StreamedSource(Source):
    """A source that reads batches in this process and streams them into a private DuckDB."""

    def __init__(
        self,
        stack: ExitStack,
        wanted: Sequence[Wanted],
        kinds: Mapping[str, pa.DataType],
        wall: Wall,
    ) -> None:
        super().__init__(wanted, kinds, wall)
        self._stack = stack
        self._connection: Any = None
        self._read = RowsRead()

    def rows(self) -> DuckRows:
        """Return the rows, which are streamed into a private DuckDB when they are evaluated."""
        return self._stream(self.batches())

    def _stream(self, batches: Batches) -> DuckRows:
        self._connection = open_private_connection(self._stack, large=True)
        return self.wall(lambda: stream_rows(self._connection, batches, self.wall))

    def _in_memory(self, table: pa.Table) -> DuckRows:
        """Return rows that are in memory, which DuckDB scans with all its threads."""
        spills = not are_few(len(table), table.nbytes)
        self._connection = open_private_connection(self._stack, large=True, spills=spills)
        given, size = self.wall(lambda: self._connection.from_arrow(table)), len(table)
        expected = ExpectedRows(lambda: size, frame_not_read(), repeatable=True)
        return DuckRows(self._connection, given, size=size, nbytes=table.nbytes, expected=expected)

    def run(self, call: Callable[[], T]) -> T:
        """Return ``call()``; Ctrl-C immediately stops a query of the private DuckDB."""
        with report_progress(self._read.measured, self.progress):
            if self._connection is None:
                return self.wall(call)
            return interruptible(self._connection, lambda: self.wall(call))

    def _count_batches(self, batches: Batches, total: int | None = None) -> Batches:
        """Yield batches, and note for the progress how many of their rows were read.

        Raises
        ------
        DataError
            If they do not have `total` rows together.
        """
        self._read.total = total
        for batch in batches:
            yield batch
            self._read.count(len(batch))
        if total not in (None, self._read.rows):
            raise frame_not_read()


def stream_rows(connection: duckdb.DuckDBPyConnection, batches: Batches, wall: Wall) -> DuckRows:
    """Return batches as rows of a private DuckDB, which has to read all of them."""
    read, number = 0, None

    def pass_batches() -> Batches:
        nonlocal read, number
        for batch in batches:
            read += len(batch)
            yield batch
        number = read

    given = connection.from_arrow(make_reader(pass_batches(), wall))
    expected = ExpectedRows(lambda: number, frame_not_read(), repeatable=False)
    return DuckRows(connection, given, expected=expected)


def frame_not_read() -> DataError:
    """Return the error for an engine that did not return all rows of a frame."""
    return DataError(
        "frame could not be read completely, so nothing was counted: do not change it meanwhile, "
        "or evaluate it first"
    )


def make_reader(batches: Batches, wall: Wall) -> pa.RecordBatchReader:
    """Return batches as an Arrow stream; `wall` records our errors, for the call around it.

    The first batch is read at once, because its types hold for all batches.
    """
    first = wall.noting(lambda: next(batches))

    def following() -> pa.RecordBatch | None:
        batch = next(batches, None)
        if batch is not None and batch.schema != first.schema:
            raise wall.problem  # Arrow would read the bytes as values of the first batch's types
        return batch

    def all_batches() -> Batches:
        yield first
        while (batch := wall.noting(following)) is not None:
            yield batch

    return pa.RecordBatchReader.from_batches(first.schema, all_batches())


def engine_failure(wanted: Sequence[Wanted]) -> DataError:
    """Return the error for an engine that fails to evaluate columns, whatever its message."""
    values = any(column.use is Use.VALUE for column in wanted)
    served = "numbers, dates, timestamps or text" if values else "text or integers"
    return DataError(
        f"the engine of frame could not evaluate {list_names(wanted)}: finish other queries on "
        f"its connection, evaluate the frame first, and pass plain columns of {served}"
    )


def check_comparable(source: Source, first: str, second: str) -> None:
    """Refuse two columns of keys whose values cannot be compared with each other.

    Raises
    ------
    ColumnError
    """
    if source.identity(first) != source.identity(second):
        names = source.names
        raise ColumnError(
            f"columns {names[first]!r} and {names[second]!r} must have exactly the same type, as "
            "the labels of both are compared: cast both to text, or both to the same integer type"
        )
