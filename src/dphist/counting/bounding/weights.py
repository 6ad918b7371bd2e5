"""Weights of rows as whole steps, in place of the whole numbers of a column of counts.

From here on a weight is an amount: a row is that many records, each of one step. So users and rows
are bounded as those of a table that is counted already.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dphist.counting.bounding.spark_steps import snap_in_spark
from dphist.counting.bounding.steps import Summed, UnreadableText, check_kind, snap
from dphist.counting.engine.rows import SparkRows
from dphist.counting.reading.columns import Use, Wanted
from dphist.counting.reading.source import Batches, Source
from dphist.errors import DataError

ROLE = "amount"
NEGATIVE = -1
"""The amount of a negative weight, which is refused as a negative count is."""


@dataclass(frozen=True, slots=True)
class Weighing:
    """How weights become amounts.

    Attributes
    ----------
    step : the unit; a weight is rounded to the nearest multiple.
    low, high : what each is clamped to, steps, from 0 on.
    """

    step: Fraction
    low: int
    high: int

    def amounts(self, weights: pa.Array, *, text: bool) -> pa.Array:
        """Return weights in steps, int64: null where one is missing, and -1 of negative ones.

        Raises
        ------
        UnreadableText
            If a text is no number.

        >>> weighing = Weighing(Fraction(1, 2), low=0, high=4)
        >>> weighing.amounts(pa.array([0.6, 9, -3, None]), text=False).tolist()
        [1, 4, -1, None]
        """
        steps = snap(weights, self.step, text=text)
        missing = steps.is_null().to_numpy(zero_copy_only=False)
        found = pc.fill_null(steps, 0).to_numpy(zero_copy_only=False)
        clamped = np.where(found < 0, NEGATIVE, np.clip(found, self.low, self.high))
        return pa.array(clamped, pa.int64(), mask=missing)


def weigh_in_spark(
    rows: SparkRows,
    weighing: Weighing,
    source: Source,
    others: Sequence[str],
) -> SparkRows:
    """Return rows of Spark with amounts in place of weights, as `Weighing.amounts` has them.

    Parameters
    ----------
    source : whose rows these are.
    others : names of further columns, which are kept.

    Raises
    ------
    ColumnError
        As from `snap_in_spark`.
    """
    weight = Summed(source.names[ROLE], weighing.step, weighing.low, weighing.high, 0)
    snapped = snap_in_spark(rows, {ROLE: weight}, source.kinds, others)
    amount = f"WHEN {ROLE} < 0 THEN {NEGATIVE} ELSE {weight.clamp(ROLE)}"
    return snapped.project(
        f"CASE WHEN {ROLE} IS NOT NULL THEN CASE {amount} END END AS {ROLE}", *others
    )


def weight_column(name: str) -> Wanted:
    """Return the description of a column of weights."""
    return Wanted(ROLE, name, Use.VALUE, "count")


@dataclass(slots=True)
class Weights:
    """The weights of a source, batch by batch.

    Attributes
    ----------
    source : its column ``amount`` has the weights.
    column : as `weight_column` returns it.

    Raises
    ------
    ColumnError
        If the column holds no numbers.
    """

    weighing: Weighing
    source: Source
    column: Wanted
    unreadable: bool = False

    def __post_init__(self) -> None:
        if not self.source.is_text(ROLE):
            check_kind(self.source.kinds[ROLE], self.column.name, "be weights")

    @property
    def count_column(self) -> Wanted:
        """The column once weights are amounts: whole numbers, negative ones refused."""
        return replace(self.column, use=Use.COUNT)

    def batches(self) -> Batches:
        """Yield the rows of the source, with amounts in place of weights."""
        for batch in self.source.batches():
            place = batch.schema.get_field_index(ROLE)
            columns = list(batch.columns)
            columns[place] = self._amounts(columns[place])
            yield pa.RecordBatch.from_arrays(columns, names=batch.schema.names)

    def _amounts(self, weights: pa.Array) -> pa.Array:
        try:
            return self.weighing.amounts(weights, text=self.source.is_text(ROLE))
        except UnreadableText:
            self.unreadable = True
        return pa.array([0] * len(weights), pa.int64())

    def check(self) -> None:
        """Raise the error for text that is no number.

        Raises
        ------
        DataError
        """
        if self.unreadable:
            raise DataError(
                f"column {self.column.name!r} must hold numbers, such as 12, 0.5 or 1e3: correct "
                "or drop the other rows"
            )
