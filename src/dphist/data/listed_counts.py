"""The counts of listed labels: each is looked up among the labels of a table."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from dphist.counting import redact_errors
from dphist.data.label_counts import LabelCounts
from dphist.errors import ColumnError, phrase


def look_up(counts: LabelCounts, labels: Sequence[Any]) -> tuple[pa.Array, list[int]]:
    """Return listed labels as a column of the type of the counted labels, and their counts.

    Text may stand for dates and timestamps. Which it is depends on the type of the label column
    alone.

    Raises
    ------
    ColumnError
        If the labels are not of that type, or two of them are the same date or timestamp.
    """
    unfit = ColumnError(
        phrase("{labels} must be of the kind that the label column of the table holds")
    )
    kind = counts.label_type
    read = _moments if pa.types.is_temporal(kind) else pa.array
    column = redact_errors(lambda: read(labels, kind), unfit)
    if len(column.unique()) < len(column):
        raise ColumnError(
            phrase(
                "{labels} must be different dates or timestamps: two of them, such as a date and "
                "its midnight, are the same one in the label column; leave one of them out"
            )
        )
    return column, counts.counts_of(column)


def _moments(labels: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Return ISO texts as dates or timestamps; ArrowInvalid for what the type cannot hold.

    A timestamp without a zone is in UTC where the column has one.
    """
    texts = pa.array(labels, pa.string())
    if pa.types.is_date(kind):
        moments = texts.cast(pa.timestamp("us"))
        if not moments.cast(kind).cast(moments.type).equals(moments):
            raise pa.ArrowInvalid("not midnight")
        return moments.cast(kind)
    try:
        return texts.cast(kind)
    except pa.ArrowInvalid:
        return texts.cast(pa.timestamp(kind.unit)).cast(kind)
