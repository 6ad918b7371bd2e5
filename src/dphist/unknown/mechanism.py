"""What every mechanism for labels that nobody listed beforehand shares."""

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any

import narwhals.stable.v2 as nw
import pyarrow as pa
import pyarrow.compute as pc

from dphist.errors import BoundsError, DataError, ParameterError
from dphist.label_table import LabelTable
from dphist.labels import LabelCounts
from dphist.noise.inversion import Source
from dphist.parameters import Exact, positive_number, probability, whole_number
from dphist.privacy import ApproxDP, Guarantee, PureDP
from dphist.release import Release
from dphist.tables.frames import source_of
from dphist.tables.guard import shielded

LARGEST_BOUND = 2**40
"""Largest `max_labels` and `max_count`: thresholds and noise then stay far inside int64."""

LARGEST_COUNT = 2**62
"""Larger counts are taken for this; that moves no two counts further apart."""

_LONGEST = 10**150


class LabelledMechanism(ABC):
    """A frozen mechanism: parameters and guarantee before data, then `release`.

    Attributes
    ----------
    epsilon : the papers' parameter of a single label; what a release costs is `guarantee`.
    delta : the probability with which a label may betray a user, or None where none can.
    max_labels : how many labels one user changes at most; None if that is not bounded.
    max_count : by how much one user changes the count of a label at most.
    """

    __slots__ = ()

    epsilon: Fraction
    delta: Fraction | None
    max_labels: int | None
    max_count: int

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """What a release costs in all."""

    @abstractmethod
    def release(self, table: object, source: Source | None = None) -> Release:
        """Release the labels: the only place that sees data and draws noise."""

    @abstractmethod
    def in_words(self) -> str:
        """Say how a release is made, for its summary and report."""

    @classmethod
    def needs_delta(cls, **_parameters: Any) -> bool:
        """Whether the mechanism with these parameters has a delta of its own."""
        return True

    @property
    def direct_guarantee(self) -> PureDP | ApproxDP | None:
        """Return a guarantee in epsilon that holds beside `guarantee`, if there is one."""
        return None

    def to_approx_dp(self, delta: Exact) -> ApproxDP:
        """Return the least (epsilon, delta)-DP known of one release, for a total delta.

        From `direct_guarantee` or from `guarantee`, whichever says more.
        """
        direct = self.direct_guarantee
        if direct is None:
            return self.guarantee.to_approx_dp(delta)
        claimed = direct.to_approx_dp(delta)
        if claimed.delta > (self.delta or 0):
            other = self.guarantee.to_approx_dp(delta)
            claimed = min(claimed, other, key=lambda known: known.epsilon)
        return claimed

    def _accept(self, table: object) -> LabelCounts:
        """Return the data as counted labels, refusing bounds that are not protected.

        The bounds of a bare frame are the caller's promise: they are the mechanism's.
        """
        if not isinstance(table, LabelCounts):
            return counts_of_frame(table, self.max_labels, self.max_count)
        if not _within(table.max_labels, self._protected_labels()):
            raise _exceeded("max_labels", table.max_labels, self.max_labels)
        if table.max_count > self.max_count:
            raise _exceeded("max_count", table.max_count, self.max_count)
        return table

    def _protected_labels(self) -> int | None:
        """Return the largest `max_labels` of data this mechanism protects; None for any."""
        return self.max_labels


def counts_of_frame(frame: object, max_labels: int | None, max_count: int) -> LabelCounts:
    """Read a frame of columns label and count; what a user changes is the caller's promise.

    Rows of one label are added up, labels of count 0 are dropped.

    Raises
    ------
    ParameterError
        If Narwhals does not read the frame.
    ColumnError
        If a column is missing or has a type that cannot serve.
    DataError
        If a label or count is missing, a count is negative or beyond int64, or the engine fails.
    """
    failure = DataError(
        "the engine of table could not evaluate 'label' and 'count': finish other queries on its "
        "connection, evaluate the frame first, and pass plain columns of text or integers"
    )
    opened = source_of(frame, {"label": "label", "count": "count"}).frame
    table = shielded(lambda: _arrow(opened), failure)
    if table["label"].null_count or table["count"].null_count:
        raise DataError("columns 'label' and 'count' must not be missing; drop those rows first")
    whole = DataError("column 'count' must hold whole numbers within int64")
    table = shielded(lambda: table.set_column(1, "count", table["count"].cast(pa.int64())), whole)
    if table.num_rows and pc.min(table["count"]).as_py() < 0:
        raise DataError("column 'count' must not be negative")
    return LabelCounts(_added(table), max_labels, max_count)


def _arrow(frame: Any) -> pa.Table:
    """Evaluate a Narwhals frame, once, as an Arrow table with plain columns label, count."""
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect(backend="pyarrow")
    table = frame.select("label", "count").to_arrow()
    if pa.types.is_dictionary(table["label"].type):
        table = table.set_column(0, "label", table["label"].cast(table["label"].type.value_type))
    return table


def _added(table: pa.Table) -> pa.Table:
    """Add up the rows of each label; a sum beyond `LARGEST_COUNT` stays there."""
    largest = pc.max(table["count"]).as_py() or 0
    if largest * table.num_rows > LARGEST_COUNT:  # int64 might wrap, decimals do not
        wide = table["count"].cast(pa.decimal128(19)).cast(pa.decimal128(38))
        table = table.set_column(1, "count", wide)
    added = table.group_by("label").aggregate([("count", "sum")])
    sums = added["count_sum"]
    if pa.types.is_decimal(sums.type):
        sums = pc.min_element_wise(sums, pa.scalar(LARGEST_COUNT, sums.type)).cast(pa.int64())
    added = pa.table({"label": added["label"], "count": sums})
    return added.filter(pc.greater(added["count"], 0))


def in_released_order(table: pa.Table) -> LabelTable:
    """Order released rows by released count, the largest first, then by label.

    So the order is a function of what is released, whatever order the rows came in.
    """
    kind = table.schema.field("label").type
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):  # text of any engine
        table = table.set_column(0, "label", table["label"].cast(pa.string()))
    return LabelTable(table.sort_by([("count", "descending"), ("label", "ascending")]))


def checked_epsilon(epsilon: Exact) -> Fraction:
    """Return epsilon of a single label, exactly."""
    return _short(positive_number(epsilon, "epsilon"), "epsilon")


def checked_delta(delta: Exact | None) -> Fraction:
    """Return a delta above 0 and below 1, exactly."""
    if delta is None:
        raise ParameterError("delta must be given, above 0 and below 1: labels come from the data")
    exact = probability(delta, "delta")
    if not exact > 0:
        raise ParameterError("delta must be above 0: labels come from the data")
    return _short(exact, "delta")


def checked_bound(bound: object, name: str) -> int:
    """Return `max_labels` or `max_count`."""
    return whole_number(bound, name, 1, LARGEST_BOUND)


def _short(exact: Fraction, name: str) -> Fraction:
    if max(exact.numerator, exact.denominator) > _LONGEST:
        raise ParameterError(f"{name} must have fewer than 150 digits, so that it can be saved")
    return exact


def _within(bound: int | None, protected: int | None) -> bool:
    return protected is None or (bound is not None and bound <= protected)


def _exceeded(name: str, bound: int | None, protected: int | None) -> BoundsError:
    made_with = f"no bound {name}" if bound is None else f"{name}={bound}"
    return BoundsError(
        f"the table was made with {made_with}, the mechanism protects {name}={protected}; "
        f"give one of them the other's {name}"
    )
