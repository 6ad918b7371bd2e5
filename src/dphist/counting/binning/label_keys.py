"""From rows to counts of cells of keys of which some have texts that nobody listed.

What is counted is a pair of a row's cell in the grid of the other keys and its texts, both written
as bytes. So the pair, and which rows of a user are kept, are functions of the user's own rows and
of the keys alone, as for `count_cells`: no number is given to texts in the order in which they
appear. Which texts are released, and which rows are in the cell "other", is decided by a mechanism.
"""

import struct
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dphist.arrays import AnyArray, IntArray
from dphist.counting.binning.key_grid import Celling, KeyGrid
from dphist.counting.bounding.bounds import Cut, check_users
from dphist.counting.bounding.contributions import count_bounded_terms
from dphist.counting.engine.interruptible import interruptible
from dphist.counting.engine.private_duckdb import open_private_connection
from dphist.counting.engine.redaction import redact_errors
from dphist.counting.reading.columns import Wanted, count_column, key_column
from dphist.counting.reading.gate import Reading, open_source
from dphist.counting.reading.source import Batches, engine_failure, stream_rows
from dphist.counting.reading.spark import SparkSource
from dphist.errors import DataError, ParameterError

_NUMBER = 8  # bytes of a number ahead of the texts
_ABSENT = -1  # in place of the length of a text


@dataclass(frozen=True, slots=True)
class Labeled:
    """Counts of cells and texts.

    Attributes
    ----------
    cells : (d,) int64, cells of the grid of the other keys.
    labels : for each key of labels, its distinct texts, sorted.
    places : (d, keys of labels) int64, the place of each text among these; -1 without one.
    counts : (d,) int64, above 0; no two have the same cell and texts.
    """

    cells: IntArray
    labels: tuple[tuple[str, ...], ...]
    places: IntArray
    counts: IntArray


def count_labeled(
    frame: object,
    grid: KeyGrid,
    absent: str,
    *,
    user: str | None = None,
    count: str | None = None,
    max_records: int | None = None,
    null_users: str = "refuse",
    key: str | None = None,
    cut: Cut | None = None,
    **reading: Unpack[Reading],
) -> Labeled:
    """Bound each user, or each row, to `max_records` records, then count cells and texts.

    Parameters
    ----------
    grid : the keys; in it, all rows are in one cell of a key of labels.
    absent : the text that stands for rows without a label: such a label is none.
    frame, user, count, max_records, null_users, key, cut, reading
        As for `count_cells`, which raises the same.

    Raises
    ------
    ParameterError
        Also if the frame is one of Spark.
    DataError
        Also if the texts do not fit into memory.
    """
    others = [] if count is None else [count_column("amount", count, "count")]
    if user is not None:
        others.append(key_column("who", user, "user", only_text=cut is not None))
    with ExitStack() as stack:
        wanted = [*grid.wanted(), *others]
        source = open_source(stack, frame, wanted, **reading)
        if isinstance(source, SparkSource):
            raise ParameterError(
                "keys",
                "must list their values where Spark counts",
                "collect the columns first, for example with frame.toArrow()",
            )
        celling = Celling(grid, source)
        check_users(source, cut)
        connection = open_private_connection(stack, large=True)
        terms = _Terms(grid, absent)
        batches = terms.add_to(source.batches(), celling, [column.role for column in others])

        def run(call: Callable[[], Any]) -> Any:
            return interruptible(connection, lambda: source.run(call))

        if others:
            found, counts = count_bounded_terms(
                lambda: stream_rows(connection, batches, source.wall),
                run,
                source,
                wanted=others,
                terms=None,
                max_records=max_records,
                key=key,
                cut=cut,
                null_users=null_users,
            )
        else:
            rows = run(lambda: _count_rows(stream_rows(connection, batches, source.wall)))
            found, counts = rows
        celling.check()
    return _read_all(terms, found, counts, wanted)


def _count_rows(rows: Any) -> tuple[AnyArray, IntArray]:
    """Count rows as they are, each of which is a record."""
    found = rows.group(["term"], "count(*) AS records").to_arrow(["term", "records"])
    return found["term"].to_numpy(), found["records"].to_numpy()


def _read_all(
    terms: "_Terms", found: AnyArray, counts: IntArray, wanted: Sequence[Wanted]
) -> Labeled:
    held = counts > 0
    full = DataError(
        "the values found of the keys could not be held in memory: give those keys coarser texts; "
        "nothing was released"
    )
    read = redact_errors(
        lambda: terms.read(found[held], counts[held]), engine_failure(wanted), full
    )
    if len(read.cells) and not (read.cells.min() >= 0 and read.cells.max() < terms.grid.cells):
        raise engine_failure(wanted)
    return read


@dataclass(frozen=True, slots=True)
class _Terms:
    """Cells and texts of rows, as bytes: the cell, the length of each text, and the texts."""

    grid: KeyGrid
    absent: str

    @property
    def _labeled(self) -> list[int]:
        return [place for place, column in enumerate(self.grid.columns) if column.labels]

    def add_to(self, batches: Batches, celling: Celling, roles: Sequence[str]) -> Batches:
        """Return batches of terms and other columns, without rows that the grid drops."""
        for batch in batches:
            columns = batch.columns
            keys = len(self.grid.columns)
            cells, inside = celling.find(columns[:keys])
            terms = self._write(cells, [columns[place] for place in self._labeled])
            found = pa.RecordBatch.from_arrays([terms, *columns[keys:]], names=["term", *roles])
            yield found if inside.all() else found.filter(pa.array(inside))

    def _write(self, cells: IntArray, columns: Sequence[pa.Array]) -> pa.Array:
        texts = [self._texts_of(column) for column in columns]
        numbers = np.empty((len(cells), 1 + len(texts)), ">i8")
        numbers[:, 0] = cells
        for place, text in enumerate(texts, start=1):
            numbers[:, place] = pc.fill_null(pc.binary_length(text), _ABSENT).to_numpy()
        width = _NUMBER * numbers.shape[1]
        fixed = pa.Array.from_buffers(
            pa.binary(width), len(cells), [None, pa.py_buffer(numbers.tobytes())]
        )
        parts = [fixed.cast(pa.large_binary()), *(pc.fill_null(text, b"") for text in texts)]
        return pc.binary_join_element_wise(*parts, pa.scalar(b"", pa.large_binary()))

    def _texts_of(self, column: pa.Array) -> pa.Array:
        """Return the texts of a column as bytes, null where there is none."""
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        texts = column.cast(pa.large_string())
        own = pc.not_equal(texts, self.absent)
        return pc.if_else(own, texts, pa.scalar(None, pa.large_string())).cast(pa.large_binary())

    def read(self, terms: AnyArray, counts: IntArray) -> Labeled:
        """Return what terms and their counts say."""
        several = len(self._labeled)
        head = struct.Struct(f">{1 + several}q")
        cells: IntArray = np.empty(len(terms), np.int64)
        texts: list[list[str | None]] = [[] for _ in range(several)]
        for row, term in enumerate(terms):
            cells[row], *lengths = head.unpack_from(term)
            start = head.size
            for own, length in zip(texts, lengths, strict=True):
                stop = start + max(length, 0)
                own.append(None if length == _ABSENT else term[start:stop].decode())
                start = stop
        labels = tuple(tuple(sorted({text for text in own if text is not None})) for own in texts)
        places: IntArray = np.empty((len(terms), several), np.int64)
        for column, (own, known) in enumerate(zip(texts, labels, strict=True)):
            at: dict[str | None, int] = {text: place for place, text in enumerate(known)}
            places[:, column] = [at.get(text, _ABSENT) for text in own]
        order = np.lexsort((*places.T[::-1], cells))
        return Labeled(cells[order], labels, places[order], counts[order])
