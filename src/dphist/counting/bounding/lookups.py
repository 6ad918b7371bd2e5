"""Counts and sums of labels that are named, of a store."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from dphist.counting.bounding.stores import Store
from dphist.counting.engine.redaction import redact_errors
from dphist.errors import ParameterError


def look_up_counts(store: Store, labels: Sequence[Any]) -> list[int]:
    """Return the counts of `labels`, in their order; 0 for a label that does not occur.

    Raises
    ------
    ParameterError
        If a label is repeated, or is not of the type of the labels in the store.
    """
    return look_up_numbers(store, labels)[0]


def look_up_numbers(
    store: Store, labels: Sequence[Any], *, sums: bool = False
) -> tuple[list[int], ...]:
    """Return the counts of `labels`, as `look_up_counts`, and if asked each of their sums."""
    kind = store.schema.field("label").type
    unfit = ParameterError("labels", f"must be of the type of the label column, {kind}")
    if isinstance(labels, pa.Array | pa.ChunkedArray):  # Arrow would crash on invalid arrays
        redact_errors(lambda: labels.validate(full=True), unfit)
    listed = list(labels)
    wanted = redact_errors(lambda: _as_column(listed, kind), unfit)
    if wanted.null_count or len(pc.unique(wanted)) != len(wanted):
        raise ParameterError("labels", "must be listed once each")
    found = store.find_rows(wanted, sums=sums).combine_chunks()
    place = pc.index_in(wanted, found["label"])
    columns = (found[name] for name in found.column_names[1:])
    return tuple(
        [int(n) for n in pc.fill_null(column.take(place), 0).to_pylist()] for column in columns
    )


def _as_column(labels: list[Any], kind: pa.DataType) -> pa.Array:
    """Return labels as a column; ArrowInvalid where Arrow would make another label of one.

    Arrow reads whole numbers as dates, and drops what a date or timestamp has beyond the type.
    """
    column = pa.array(labels, kind)
    given = any(not isinstance(label, pa.Scalar) for label in labels)
    if given and pa.types.is_temporal(kind) and column.to_pylist() != labels:
        raise pa.ArrowInvalid("another label")
    return column
