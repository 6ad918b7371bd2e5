"""A frame of labels and counts, added up; what one user changes is the caller's promise."""

import os
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from dphist.errors import DataError
from dphist.tables.checks import LARGEST
from dphist.tables.counting.contributions import Bounds, count_labels
from dphist.tables.counting.stores import ArrowStore, Store
from dphist.tables.engine.guard import shielded
from dphist.tables.reading.arrow_columns import checked_frame, evaluated
from dphist.tables.reading.frames import engine_failure
from dphist.tables.reading.records import is_spark
from dphist.tables.reading.types import plain

_NAMES = {"label": "label", "count": "count"}


def add_counts(frame: object) -> Store:
    """Add up the counts of each label.

    Parameters
    ----------
    frame : dataframe or path, as of `count_labels`, with columns label and count

    Returns
    -------
    The labels with their counts, int64, at least 1. A count above 2**62 - 1 is held as that.

    Raises
    ------
    As `count_labels`.
    """
    if isinstance(frame, str | os.PathLike) or is_spark(frame):
        return count_labels(frame, _NAMES, Bounds(None, LARGEST))
    opened = checked_frame(frame, _NAMES)
    if opened.implementation.is_duckdb():
        return count_labels(frame, _NAMES, Bounds(None, LARGEST))
    columns = evaluated(opened, _NAMES)
    labels, counts = columns["label"], columns["count"]
    if labels.null_count or counts.null_count:
        raise DataError("columns 'label' and 'count' must have a value in each row: drop others")
    if len(counts) and pc.min(counts).as_py() < 0:
        raise DataError("column 'count' must not be negative: remove or correct such rows")
    if len(counts) and pc.max(counts).as_py() > LARGEST:
        raise DataError("column 'count' must be at most 2**62 - 1: remove or correct such rows")
    held = shielded(lambda: labels.cast(plain(labels.type)), engine_failure(_NAMES))
    return ArrowStore(_added(held, counts.cast(pa.int64())))


def _added(labels: Any, counts: Any) -> pa.Table:
    """Add up the rows of each label; a sum beyond `LARGEST` stays there."""
    largest = pc.max(counts).as_py() or 0
    if largest * len(counts) > LARGEST:  # int64 might wrap, decimals do not
        counts = counts.cast(pa.decimal128(19)).cast(pa.decimal128(38))
    table = pa.table({"label": labels, "count": counts})
    added = table.group_by("label", use_threads=False).aggregate([("count", "sum")])
    sums = added["count_sum"]
    if pa.types.is_decimal(sums.type):
        sums = pc.min_element_wise(sums, pa.scalar(LARGEST, sums.type)).cast(pa.int64())
    added = pa.table({"label": added["label"], "count": sums})
    return added.filter(pc.greater(added["count"], 0)).combine_chunks()
