"""Columns of labels that are not text: integers, dates, and the other types of labels."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dphist.arrays import IntArray
from dphist.counting import redact_errors
from dphist.counting.reading.columns import OBJECTS, canonical_type
from dphist.errors import Argument, ColumnError, DataError
from dphist.release.label_types import IN_WORDS, LabelType, is_of_type, text_of
from dphist.streams.events.columns import to_int64


def check_labels(kind: pa.DataType, name: str, wanted: LabelType) -> None:
    """Refuse a column of labels of another type; one without labels may have none.

    Of Python objects the schema says nothing: `typed_labels_of` refuses each label.
    """
    if not (is_of_type(kind, wanted) or pa.types.is_null(kind) or kind is OBJECTS):
        raise ColumnError(
            f"column {name!r} must hold labels of the stream's "
            + Argument("label_type")
            + f": {IN_WORDS[wanted]}"
        )


def typed_labels_of(
    values: pa.Array, kind: pa.DataType, name: str, wanted: LabelType
) -> tuple[IntArray, pa.Array]:
    """Return the number of labels of each row, 0 or 1, and the labels of all rows as text.

    Parameters
    ----------
    values : one label a row, null for none. Timestamps arrive as the integers of their canonical
        form.
    kind : the type of the column.
    """
    problem = DataError(
        f"column {name!r} must hold labels of the stream's "
        + Argument("label_type")
        + f": {IN_WORDS[wanted]}"
    )
    there = pc.is_valid(values).to_numpy(zero_copy_only=False)
    if kind is OBJECTS and there.any():
        raise problem
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
        moments = distinct.cast(canonical_type(kind))
        zone = moments.type.tz
        return list(moments.cast(pa.timestamp("us", zone)).to_pylist())  # refuses nanoseconds
    return list(distinct.to_pylist())
