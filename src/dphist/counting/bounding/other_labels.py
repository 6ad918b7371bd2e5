"""One label for all that are not listed: rows get it before users are bounded.

Rows get whole steps in place of weights here, too.

Which label a row counts under depends on its own label and on the public list alone. So the steps
of bounding see a table in which nobody has an unlisted label (docs/understand/proofs/bounding.md,
Lemma 14).
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from dphist.counting.bounding.weights import ROLE, Weights, weigh_in_spark
from dphist.counting.engine.interruptible import interruptible
from dphist.counting.engine.private_duckdb import open_private_connection
from dphist.counting.engine.rows import Rows, SparkRows
from dphist.counting.reading.columns import find_identity
from dphist.counting.reading.source import Batches, Source, stream_rows
from dphist.counting.reading.spark import SparkSource
from dphist.errors import ColumnError

OTHER = "other"
"""The label of all rows whose label is not listed."""

Run: TypeAlias = Callable[[Callable[[], Any]], Any]


def open_rows(
    stack: ExitStack,
    source: Source,
    listed: Sequence[str] | None,
    weights: Weights | None = None,
) -> tuple[Rows, Run]:
    """Return the rows of a source, each under its label or `OTHER`, and what evaluates them.

    Parameters
    ----------
    stack : closes the DuckDB that may hold the rows.
    source : with the role ``term``.
    listed : the labels that stay as they are; None if all do.
    weights : of the source: rows have steps in place of them.

    Raises
    ------
    ColumnError
        If labels are listed and the column holds no text, or Spark cannot round the weights.
    """
    if listed is None and weights is None:
        return source.rows(), source.run
    if listed is not None:
        check_text(source)
    if isinstance(source, SparkSource):
        return _open_in_spark(source, listed, weights), source.run
    # Not the connection that reads the file: a connection runs one query at a time.
    connection = open_private_connection(stack, large=True)
    batches = source.batches() if weights is None else weights.batches()
    if listed is not None:
        batches = map_batches(batches, listed)
    rows = stream_rows(connection, batches, source.wall)
    return rows, lambda call: interruptible(connection, lambda: source.run(call))


def check_text(source: Source) -> None:
    """Refuse a column of labels that holds no text, as listed labels are text."""
    if find_identity(source.kinds["term"]) != pa.string():
        raise ColumnError(
            f"column {source.names['term']!r} must hold text where other labels than the listed "
            "ones are counted as one: cast it to text"
        )


def map_batches(batches: Batches, listed: Sequence[str]) -> Batches:
    """Yield batches with `OTHER` in place of labels that are not listed; no label stays none."""
    known = pa.array(listed, pa.large_string())
    for batch in batches:
        place = batch.schema.get_field_index("term")
        labels = batch.column(place)
        if pa.types.is_dictionary(labels.type):
            labels = labels.dictionary_decode()
        labels = labels.cast(known.type)
        stay = pc.or_(pc.is_in(labels, value_set=known), pc.is_null(labels))
        columns = list(batch.columns)
        columns[place] = pc.if_else(stay, labels, OTHER)
        yield pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _open_in_spark(
    source: SparkSource, listed: Sequence[str] | None, weights: Weights | None
) -> SparkRows:
    rows = source.rows()
    if weights is not None:
        others = [role for role in source.names if role != ROLE]
        rows = weigh_in_spark(rows, weights.weighing, source, others)
    return rows if listed is None else _map_in_spark(rows, source, listed)


def _map_in_spark(rows: SparkRows, source: Source, listed: Sequence[str]) -> SparkRows:
    """As `map_batches`; labels of Spark are bytes."""
    known = pa.array([label.encode() for label in listed], pa.binary())
    stay = "term IS NULL OR array_position(listed, term) > 0"
    label = f"CASE WHEN {stay} THEN term ELSE X'{OTHER.encode().hex()}' END AS term"
    others = [role for role in source.names if role != "term"]
    return rows.beside({"listed": known}).project(label, *others)
