"""AnonymizedHistogram: how many labels have each count, as it was released. Not secret."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from dphist.arrays import IntArray
from dphist.data.diagram import Diagram, merge_pairs
from dphist.errors import DataError, ParameterError, join_arguments
from dphist.release.tabular import Released


@dataclass(frozen=True, slots=True, init=False, repr=False, eq=False)
class AnonymizedHistogram(Diagram, Released):
    """The released number of labels with each count, without the labels themselves.

    Parameters
    ----------
    counts : (k,) int64, records per label, in any order.
    prevalences : (k,) int64, number of labels with each of `counts`. Those of a repeated count are
        added, and pairs with a number below 1 are dropped.

    Attributes
    ----------
    counts : (d,) int64, ascending, distinct, positive; records per label.
    prevalences : (d,) int64, positive; number of labels with each of `counts`.

    Raises
    ------
    ParameterError
        If the numbers are not whole numbers of 64 bits, or not as many of each.

    Notes
    -----
    Noise may raise the total above 2**62, the limit for data. The total of an error band may be of
    any size; 2**63 - 1 stands for all larger totals.

    Examples
    --------
    >>> histogram = AnonymizedHistogram([3, 8], [1, 2])
    >>> histogram, histogram.sorted_counts()
    (AnonymizedHistogram(3 labels, 19 records), array([8, 8, 3]))
    """

    def __init__(self, counts: Any, prevalences: Any) -> None:
        each, how_many = (
            _check_whole_numbers(counts, "counts"),
            _check_whole_numbers(prevalences, "prevalences"),
        )
        if len(each) != len(how_many):
            raise ParameterError(("counts", "prevalences"), "must have the same length")
        self._hold_pairs(*merge_pairs(each, how_many))

    def to_arrow(self) -> pa.Table:
        """Return an Arrow table with columns count, ascending, and prevalence."""
        return pa.table({"count": self.counts, "prevalence": self.prevalences})

    def to_content(self) -> dict[str, Any]:
        """Return the histogram as a JSON object, for saving."""
        return {"counts": self.counts.tolist(), "prevalences": self.prevalences.tolist()}

    @classmethod
    def from_content(cls, content: dict[str, Any]) -> "AnonymizedHistogram":
        """Make a histogram from the result of `to_content`.

        Raises
        ------
        DataError
            If the lists are not pairs of positive int64.
        """
        counts, prevalences = content["counts"], content["prevalences"]
        if len(counts) != len(prevalences) or not all(
            type(number) is int and 0 < number < 2**63 for number in (*counts, *prevalences)
        ):
            raise DataError(
                join_arguments(("counts", "prevalences"))
                + " must be pairs of positive whole numbers"
            )
        return cls(counts, prevalences)

    def _with_pairs(self, counts: IntArray, prevalences: IntArray) -> "AnonymizedHistogram":
        return AnonymizedHistogram(counts, prevalences)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AnonymizedHistogram):
            return NotImplemented
        return self._has_same_pairs(other)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[type["AnonymizedHistogram"], tuple[IntArray, IntArray]]:
        """Copy and unpickle through the constructor, which makes the arrays read-only."""
        return AnonymizedHistogram, (self.counts, self.prevalences)

    def __repr__(self) -> str:
        labels = "1 label" if self.labels == 1 else f"{self.labels:,} labels"
        records = "1 record" if self.total == 1 else f"{self.total:,} records"
        return f"AnonymizedHistogram({labels}, {records})"


def _check_whole_numbers(numbers: Any, name: str) -> IntArray:
    array = np.asarray(numbers)
    whole = array.dtype.kind in "iu" and np.can_cast(array.dtype, np.int64)
    if array.ndim != 1 or (array.size and not whole):
        raise ParameterError(name, "must be a list or array of whole numbers of 64 bits")
    return array.astype(np.int64)
