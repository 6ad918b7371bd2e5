"""Columns of labels that are not text: integers, dates, and the other types of labels."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dphist.arrays import IntArray
from dphist.errors import ColumnError, DataError
from dphist.release.label_types import IN_WORDS, LabelType, is_of_type, text_of
from dphist.streams.events.columns import to_int64
from dphist.tables import redact_errors


def check_labels(kind: pa.DataType, name: str, wanted: LabelType) -> None:
    """Refuse a column of labels of another type; one without labels may have none."""
    if not (is_of_type(kind, wanted) or pa.types.is_null(kind)):
        raise ColumnError(
            f"column {name!r} must hold labels of the stream's label_type: {IN_WORDS[wanted]}"
        )


def typed_labels_of(
    values: pa.Array, kind: pa.DataType, name: str, wanted: LabelType
) -> tuple[IntArray, pa.Array]:
    """Return the number of labels of each row, 0 or 1, and the labels of all rows as text.

    Parameters
    ----------
    values : one label a row, null for none. Timestamps, and dates in milliseconds, arrive as the
        integers that Arrow holds for them.
    kind : the type of the column.
    """
    problem = DataError(
        f"column {name!r} must hold labels of the stream's label_type: {IN_WORDS[wanted]}"
    )
    there = pc.is_valid(values).to_numpy(zero_copy_only=False)
    table = values.drop_null().dictionary_encode()
    distinct = redact_errors(lambda: _as_python(table.dictionary, kind), problem)
    texts = [text_of(value, wanted) for value in distinct]
    if any(text is None for text in texts):
        raise problem
    labels = pa.array(texts, pa.large_string()).take(pa.array(to_int64(table.indices)))
    return there.astype(np.int64), labels


def _as_python(distinct: pa.Array, kind: pa.DataType) -> list[object]:
    """Return distinct labels as Python objects."""
    if pa.types.is_timestamp(kind):
        moments = distinct.cast(pa.int64()).cast(kind)
        return list(moments.cast(pa.timestamp("us", kind.tz)).to_pylist())  # refuses nanoseconds
    if pa.types.is_date64(kind):
        return list(distinct.cast(pa.int64()).cast(kind).cast(pa.date32()).to_pylist())
    return list(distinct.to_pylist())
