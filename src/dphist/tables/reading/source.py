"""A caller's columns behind the gate: typed, checked, and read once.

What counts labels, profiles, nodes or bins gets one of these and nothing else of the caller's.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, TypeAlias, TypeVar

import pyarrow as pa

from dphist.errors import ColumnError, DataError
from dphist.tables.engine.interruptible import interruptible
from dphist.tables.engine.private_duckdb import open_private_connection
from dphist.tables.engine.redaction import Wall
from dphist.tables.engine.rows import DuckRows, Rows
from dphist.tables.reading.columns import Use, Wanted, listed_names
from dphist.tables.reading.types import check_type, plain, without_encoding

T = TypeVar("T")
Batches: TypeAlias = Iterator[pa.RecordBatch]

ROWS_AT_ONCE = 1 << 18


class Source(ABC):
    """Columns ready to be read, once, in one of two ways: `rows` or `batches`.

    Attributes
    ----------
    wanted : the columns, in the order in which they were asked for.
    kinds : mapping of role to Arrow type
        The type of each column, from the schema, checked. Of a `VALUE`, a type that is
        treated as the column's is.
    from_text : bool
        Whether these are the fields of a text file: keys are text, counts are parsed already, -1
        standing for unreadable text, and values are text to be read.
    workers : bool
        Whether the rows lie in Spark, where functions of ours run in other processes.
    """

    from_text = False
    workers = False

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
        """The caller's name of each role's column, for the errors."""
        return {column.role: column.name for column in self.wanted}

    @abstractmethod
    def rows(self) -> Rows:
        """Return the rows in an engine, each column by its role; keys compare as their bytes do."""

    @abstractmethod
    def batches(self) -> Batches:
        """Return the rows batch by batch, each column by its role, validated."""

    def run(self, call: Callable[[], T]) -> T:
        """Return ``call()``, which evaluates `rows` or `batches`; see `Wall`."""
        return self.wall(call)

    def identity(self, role: str) -> object:
        """Return what two columns of keys must have in common for their values to be compared."""
        return plain(without_encoding(self.kinds[role]))


class StreamedSource(Source):
    """A source whose batches come to this process, and from here into a DuckDB of our own."""

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

    def rows(self) -> DuckRows:
        """Stream the batches into a private DuckDB, when the rows are evaluated."""
        reader = self.wall(lambda: reader_of(self.batches(), self.wall))
        self._connection = open_private_connection(self._stack, large=True)
        return DuckRows(self._connection, self._connection.from_arrow(reader))

    def run(self, call: Callable[[], T]) -> T:
        """Return ``call()``, stopped at once by Ctrl-C where a query of ours runs."""
        if self._connection is None:
            return self.wall(call)
        return interruptible(self._connection, lambda: self.wall(call))


def reader_of(batches: Batches, wall: Wall) -> pa.RecordBatchReader:
    """Return batches as Arrow's stream; errors of ours reach whoever stands outside `wall`.

    The first batch is read at once, for the types, which hold for all of them.
    """
    first = wall.noting(lambda: next(batches))

    def following() -> pa.RecordBatch | None:
        batch = next(batches, None)
        if batch is not None and batch.schema != first.schema:
            raise wall.problem  # Arrow would read its bytes as values of the first one's types
        return batch

    def all_batches() -> Batches:
        yield first
        while (batch := wall.noting(following)) is not None:
            yield batch

    return pa.RecordBatchReader.from_batches(first.schema, all_batches())


def engine_failure(wanted: Sequence[Wanted], *, workers: bool = False) -> DataError:
    """The error for an engine that fails over some columns, whatever it says."""
    values = any(column.use is Use.VALUE for column in wanted)
    served = "numbers, dates, timestamps or text" if values else "text or integers"
    also = "; Spark's workers need this Python (PYSPARK_PYTHON) with dphist" if workers else ""
    return DataError(
        f"the engine of frame could not evaluate {listed_names(wanted)}: finish other queries on "
        f"its connection, evaluate the frame first, and pass plain columns of {served}{also}"
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
