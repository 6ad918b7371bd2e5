"""From rows to counts of cells of keys of which some have texts that nobody listed.

What is counted is a pair of a row's cell in the grid of the other keys and its texts, both written
as bytes, in Spark by its own SQL. So the pair, and which rows of a user are kept, are functions of
the user's own rows and of the keys alone, as for `count_cells`: no number is given to texts in the
order in which they appear. Which texts are released, and which rows are in the cell "other", is
decided by a mechanism.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dphist.arrays import AnyArray, IntArray
from dphist.counting.binning.key_grid import Celling, KeyGrid
from dphist.counting.binning.spark_keys import ABSENT, UserBounds, count_in_spark
from dphist.counting.bounding.bounds import Cut, check_users
from dphist.counting.bounding.contributions import count_bounded_terms
from dphist.counting.engine.interruptible import interruptible
from dphist.counting.engine.private_duckdb import open_private_connection
from dphist.counting.engine.redaction import redact_errors
from dphist.counting.reading.columns import count_column, key_column
from dphist.counting.reading.gate import Reading, open_source
from dphist.counting.reading.source import Batches, engine_failure, stream_rows
from dphist.counting.reading.spark import SparkSource
from dphist.errors import DataError


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
    **counting: Any,
) -> Labeled:
    """Bound each user, or each row, to `max_records` records, then count cells and texts.

    Parameters and errors are those of `count_label_terms`.
    """
    terms, counts = count_label_terms(frame, grid, absent, **counting)
    full = DataError(
        "the values found of the keys could not be held in memory: give those keys coarser texts; "
        "nothing was released"
    )
    return redact_errors(
        lambda: read_terms(terms, counts, grid), engine_failure(grid.list_wanted()), full
    )


def count_label_terms(
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
) -> tuple[AnyArray, IntArray]:
    """Bound each user, or each row, to `max_records` records, then count cells and texts as bytes.

    Parameters
    ----------
    grid : the keys; in it, all rows are in one cell of a key of labels.
    absent : the text that stands for rows without a label: such a label is none.
    frame, user, count, max_records, null_users, key, cut, reading
        As for `count_cells`, which raises the same.

    Returns
    -------
    terms : (d,) bytes, each once, in any order; `read_terms` reads them.
    counts : (d,) int64, above 0.

    Raises
    ------
    DataError
        Also if the texts do not fit into memory.
    """
    others = [] if count is None else [count_column("amount", count, "count")]
    if user is not None:
        others.append(key_column("who", user, "user", only_text=cut is not None))
    bounds = UserBounds(max_records=max_records, null_users=null_users, key=key, cut=cut)
    with ExitStack() as stack:
        wanted = [*grid.list_wanted(), *others]
        users = user is not None and null_users != "separate"
        source = open_source(stack, frame, wanted, users=users, **reading)
        celling = Celling(grid, source)
        check_users(source, cut)
        if isinstance(source, SparkSource):
            found, counts = count_in_spark(source, grid, others, bounds, absent)
            return found[counts > 0], counts[counts > 0]
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
                **bounds,
            )
        else:
            rows = run(lambda: _count_rows(stream_rows(connection, batches, source.wall)))
            found, counts = rows
        celling.check()
    return found[counts > 0], counts[counts > 0]


def _count_rows(rows: Any) -> tuple[AnyArray, IntArray]:
    """Count rows as they are, each of which is a record."""
    found = rows.group(["term"], "count(*) AS records").to_arrow(["term", "records"])
    return found["term"].to_numpy(), found["records"].to_numpy()


def read_terms(terms: AnyArray, counts: IntArray, grid: KeyGrid) -> Labeled:
    """Return what terms and their counts say.

    Raises
    ------
    ValueError
        If a term is none that is written of cells of the grid.
    """
    several = sum(column.labels for column in grid.columns)
    cells: IntArray = np.empty(len(terms), np.int64)
    texts: list[list[str | None]] = [[] for _ in range(several)]
    for row, term in enumerate(terms):
        *head, held = term.split(b":", 1 + several)
        cells[row], *lengths = map(int, head)
        start = 0
        for own, length in zip(texts, lengths, strict=True):
            stop = start + max(length, 0)
            own.append(None if length == ABSENT else held[start:stop].decode())
            start = stop
        if start != len(held) or min(lengths) < ABSENT or head != [b"%d" % int(n) for n in head]:
            raise ValueError("a term must be a cell, the lengths of its texts, and these")
    if len(cells) and not (cells.min() >= 0 and cells.max() < grid.cells):
        raise ValueError("a cell must be one of the grid")
    labels = tuple(tuple(sorted({text for text in own if text is not None})) for own in texts)
    places: IntArray = np.empty((len(terms), several), np.int64)
    for column, (own, known) in enumerate(zip(texts, labels, strict=True)):
        at: dict[str | None, int] = {text: place for place, text in enumerate(known)}
        places[:, column] = [at.get(text, ABSENT) for text in own]
    order = np.lexsort((*places.T[::-1], cells))
    return Labeled(cells[order], labels, places[order], counts[order])


@dataclass(frozen=True, slots=True)
class _Terms:
    """Cells and texts of rows, as bytes: the cell, the length of each text, and the texts.

    Numbers are digits, each with ":" after it. So different pairs have different bytes.
    """

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
        texts = [self._decode_texts(column) for column in columns]
        lengths = [pc.fill_null(pc.binary_length(text), ABSENT) for text in texts]
        numbers = [number.cast(pa.large_string()) for number in (pa.array(cells), *lengths)]
        end, colon = (pa.scalar(text, pa.large_string()) for text in ("", ":"))
        head = pc.binary_join_element_wise(*numbers, end, colon).cast(pa.large_binary())
        parts = [head, *(pc.fill_null(text, b"") for text in texts)]
        return pc.binary_join_element_wise(*parts, pa.scalar(b"", pa.large_binary()))

    def _decode_texts(self, column: pa.Array) -> pa.Array:
        """Return the texts of a column as bytes, null where there is none."""
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        texts = column.cast(pa.large_string())
        own = pc.not_equal(texts, self.absent)
        return pc.if_else(own, texts, pa.scalar(None, pa.large_string())).cast(pa.large_binary())
