"""LabelCounts: how often each label occurs, with what one user may have added to it.

Secret data: it is shown nowhere, and mechanisms look at it only through three questions, so
that it may lie in any engine.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from dphist.errors import DataError, ParameterError
from dphist.parameters import whole_number

# From a batch of columns label, count (int64, at least 1) to those of its rows that are
# released, the counts perhaps changed.
Keep: TypeAlias = Callable[[pa.RecordBatch], pa.RecordBatch]

_ROWS_AT_ONCE = 1 << 18


class LabelCounts:
    """Labels with their counts, each label once, and the bounds they were counted under.

    Attributes
    ----------
    max_labels : int or None
        How many labels one user changes at most (Delta_0); None if that is not bounded.
    max_count : int
        By how much one user changes the count of a label at most (Delta_infinity).
    """

    __slots__ = ("_table", "max_count", "max_labels")

    max_labels: int | None
    max_count: int

    def __init__(self, table: pa.Table, max_labels: int | None, max_count: int) -> None:
        self._table = table
        self.max_labels = max_labels
        self.max_count = max_count

    def __repr__(self) -> str:
        return f"LabelCounts(max_labels={self.max_labels}, max_count={self.max_count}; not shown)"

    @classmethod
    def from_counts(
        cls, labels: Sequence[Any], counts: Sequence[int], *, max_labels: int | None, max_count: int
    ) -> "LabelCounts":
        """Make one of labels and counts; the bounds are the caller's promise.

        Parameters
        ----------
        labels : of one type with exact equality, none missing. Rows of one label are added up.
        counts : whole numbers, not negative; labels that add up to 0 are dropped.
        max_labels, max_count : what one user changes at most; see the class.
        """
        table = pa.table({"label": pa.array(labels), "count": pa.array(counts, pa.int64())})
        if table["label"].null_count or table["count"].null_count:
            raise DataError("labels and counts must not be missing; drop those rows first")
        if len(table) and pc.min(table["count"]).as_py() < 0:
            raise DataError("counts must not be negative")
        added = table.group_by("label").aggregate([("count", "sum")])
        added = added.rename_columns(["label", "count"])
        added = added.filter(pc.greater(added["count"], 0))
        bound = None if max_labels is None else whole_number(max_labels, "max_labels", 1)
        return cls(added, bound, whole_number(max_count, "max_count", 1))

    def surviving(self, keep: Keep) -> pa.Table:
        """Run `keep` over all labels, where they lie; return what is left, columns label, count.

        `keep` is called with one batch after another, perhaps in other processes, and each label
        is in one batch, once.
        """
        batches = [keep(batch) for batch in self._table.to_batches(max_chunksize=_ROWS_AT_ONCE)]
        schema = self._table.schema
        return pa.Table.from_batches(batches, schema) if batches else schema.empty_table()

    def largest(self, number: int) -> pa.Table:
        """Return the labels with the `number` largest counts, or all; columns label, count.

        They are the first under one total order: by count, the largest first, and by label among
        equal counts. So one user changes at most `max_labels` of the labels returned, or `number`.
        """
        order = [("count", "descending"), ("label", "ascending")]
        return self._table.sort_by(order).slice(0, number)

    def of(self, labels: Sequence[Any]) -> list[int]:
        """Return the counts of the given labels, 0 where a label does not occur."""
        wanted = pa.array(labels, self._table.schema.field("label").type)
        if len(set(labels)) != len(labels):
            raise ParameterError("labels must be listed once each")
        place = pc.index_in(wanted, self._table["label"].combine_chunks())
        found = self._table["count"].take(place)
        return [int(count) for count in pc.fill_null(found, 0).to_pylist()]
