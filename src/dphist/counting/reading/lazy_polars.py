"""Lazy Polars frames, evaluated once and in chunks, so that no more than a few are in memory."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import pyarrow as pa

from dphist.counting.engine.quiet import linger
from dphist.counting.engine.redaction import Wall
from dphist.counting.reading.arrow import check_column, combine, unlike_schema
from dphist.counting.reading.columns import Wanted
from dphist.counting.reading.source import ROWS_AT_ONCE, Batches, StreamedSource

# Seconds in which the caller's functions print at least once, for the few chunks after which Polars
# notices that nobody reads. It does not say when it does.
_UNTIL_IT_ENDS = 5.0

_FIRST_WITH_CHUNKS = (1, 40)


class LazyPolarsSource(StreamedSource):
    """Columns of a lazy Polars frame.

    Polars before 1.40 has no chunks, or none that can be trusted: when a query failed, they ended
    as if it had no more rows, and the error, with a value of the data, was printed later. Then the
    chosen columns are collected.
    """

    def __init__(
        self,
        stack: ExitStack,
        wanted: Sequence[Wanted],
        kinds: Mapping[str, pa.DataType],
        columns: Any,
        wall: Wall,
        *,
        ordered: bool,
    ) -> None:
        super().__init__(stack, wanted, kinds, wall)
        self._columns, self._ordered = columns, ordered

    def batches(self) -> Batches:
        """Yield the rows in batches; the first has no rows, only the types."""
        import polars

        yield self._check(polars.DataFrame(schema=self._columns.collect_schema()))
        yield from self._counted(self._parts())

    def _parts(self) -> Batches:
        is_read = False
        try:
            for chunk in self._chunks():
                for part in chunk.iter_slices(ROWS_AT_ONCE):
                    yield self._check(part)
            is_read = True
        finally:
            if not is_read:
                # Polars calls the caller's functions for some chunks more, in its own threads.
                linger(_UNTIL_IT_ENDS)

    def _chunks(self) -> Iterator[Any]:
        import polars

        release = tuple(map(int, re.findall(r"\d+", polars.__version__)[:2]))  # also of "2.0rc1"
        if release < _FIRST_WITH_CHUNKS:
            return iter([self._columns.collect()])
        found: Iterator[Any] = self._columns.collect_batches(
            chunk_size=ROWS_AT_ONCE, maintain_order=self._ordered, lazy=True
        )
        return found

    def _check(self, chunk: Any) -> pa.RecordBatch:
        """Return a chunk as Arrow, validated."""
        import polars

        for each, held in zip(self.wanted, chunk.dtypes, strict=True):
            # No column of objects passes the schema. Polars 1.32 hangs if it converts one here.
            if held == polars.Object:
                raise unlike_schema(each.name)
        columns = chunk.to_arrow().columns
        arrays = [
            combine(check_column(column, each, self.kinds[each.role]))
            for each, column in zip(self.wanted, columns, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, [each.role for each in self.wanted])
