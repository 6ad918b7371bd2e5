"""LabelTable: released labels, with released counts if the mechanism has them. Not secret."""

import math
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from dphist.arrays import AnyArray, IntArray
from dphist.counting.reading.columns import is_key_type
from dphist.data.weight import read_step, to_records, to_unit
from dphist.errors import ParameterError, UnsupportedError
from dphist.parameters import check_level, decimal_text, whole_number
from dphist.release.document import read_whole_numbers
from dphist.release.interval_estimate import IntervalEstimate
from dphist.release.label_sums import Answering, LabelSums


class LabelAnswers(Answering, Protocol):
    """What the mechanism of a table says of its noise, in the unit of the counts."""

    @property
    def most_unshown(self) -> float | None:
        """The largest noisy count of a label that is not shown; None if labels are listed."""

    def reach(self, level: float) -> int | None:
        """Return how far the noise of a count reaches with this probability; None: no counts."""

    def reach_of_sum(self, labels: int, level: float) -> float:
        """Return how far the noise of a sum of fixed counts reaches with this probability."""


class LabelTable(LabelSums):
    """Released labels, in the order of the release.

    Columns ``label`` and, where counts are released, ``count``. A null label in the last row
    says that fewer labels than wanted were found.

    Notes
    -----
    `interval`, `sum` and `share` hold for labels that were chosen without looking at the table:
    the largest counts are too large on average. They are of the counts after bounding.
    """

    __slots__ = ("_answers", "_by_label", "_step", "_sums", "_table")

    _answers: LabelAnswers | None

    def __init__(
        self,
        table: pa.Table,
        answers: LabelAnswers | None = None,
        sums: Mapping[str, IntArray] | None = None,
        step: Fraction | None = None,
    ) -> None:
        self._table = table.combine_chunks()
        self._answers = answers
        self._by_label: dict[Any, int] | None = None
        self._sums = dict(sums or {})
        self._step = step

    def attach_answers(self, answers: LabelAnswers) -> "LabelTable":
        """Return this table with what its mechanism says of the noise."""
        return LabelTable(self._table, answers, self._sums, self._step)

    def head(self, most: int) -> "LabelTable":
        """Return the first rows, without sums."""
        return LabelTable(self._table.slice(0, most), self._answers, step=self._step)

    def __repr__(self) -> str:
        return f"LabelTable({len(self)} rows, columns {', '.join(self.to_arrow().column_names)})"

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LabelTable) or self._sums.keys() != other._sums.keys():
            return False
        same = (np.array_equal(self._sums[name], other._sums[name]) for name in self._sums)
        alike = self._step == other._step and self._table.equals(other._table)
        return bool(alike) and all(same)

    __hash__ = None  # type: ignore[assignment]

    @property
    def labels(self) -> list[Any]:
        """The labels; None for the row that marks that too few were found.

        Dates that Python cannot hold, such as DuckDB's infinity, are numbers: see `_as_json`.
        """
        labels = self._table["label"]
        try:
            return list(labels.to_pylist())
        except (OverflowError, ValueError):
            return _as_json(labels, labels.type)

    @property
    def texts(self) -> list[str | None]:
        """The labels as texts; bytes as hexadecimal digits."""
        labels = self._table["label"]
        if pa.types.is_binary(labels.type) or pa.types.is_large_binary(labels.type):
            return [None if label is None else label.hex() for label in labels.to_pylist()]
        return list(labels.cast(pa.string()).to_pylist())

    @property
    def step(self) -> Fraction | None:
        """The unit of counts that are sums of weights; None if they are whole records."""
        return self._step

    @property
    def counts(self) -> AnyArray | None:
        """The released counts, (len,) int64, or None if only labels are released.

        Where records are weighted, float64.
        """
        steps = self.steps
        return steps if steps is None or self._step is None else to_unit(steps, self._step)

    @property
    def steps(self) -> IntArray | None:
        """The released counts in whole steps of weights, (len,) int64; without weights `counts`."""
        if "count" not in self._table.column_names:
            return None
        return np.asarray(self._table["count"].to_numpy(), np.int64)

    def count(self, label: Any) -> float:
        """Return the released count of a label, in records.

        Raises
        ------
        ParameterError
            If the table does not have the label. That is not a count of 0: `interval` says what is
            known.
        UnsupportedError
            If labels were released without counts.

        >>> from dphist import LabelCounts, ThresholdHistogram
        >>> counts = LabelCounts.from_counts(["a"], [500], max_labels=1, max_count=1)
        >>> made = ThresholdHistogram(epsilon=20, delta="1e-6", max_labels=1)
        >>> table = made.release(counts).value
        >>> table.count("a"), table.interval("a"), table.interval("b")
        (500, (500, 500), (0, 2))
        """
        found = self._counts_by_label()
        if _read_label(label) in found:
            return to_records(found[label], self._step)
        most = self._find_largest_unshown() * float(self._step or 1)
        said = "a label that is not shown has an unknown count"
        if most < np.inf:
            said = f"a label that is not shown had a count of at most {most:,.0f}, with noise"
        raise ParameterError("label", f"must be a label of the table: {said}", "see interval")

    def interval(self, label: Any, level: float = 0.95) -> tuple[float, float]:
        """Return an interval for the count of a label without noise, shown or not.

        Where users were bounded, it is for the count after bounding. The count before may be above
        it, at any level.

        Parameters
        ----------
        level : probability that the interval holds the count, over the noise.

        Returns
        -------
        low, high : records. For a label that is not shown, from 0 to the threshold and as much more
            as noise may hide; infinite if the threshold is above another count.

        Raises
        ------
        ParameterError
            If labels are listed and this is none of them.
        UnsupportedError
            If labels were released without counts, or the table was made by hand.
        """
        return self._bounds([_read_label(label)], check_level(level))

    def sum(self, labels: Any, level: float = 0.95, *, of: str | None = None) -> IntervalEstimate:
        """Return the sum of the counts of several labels, or of the values of one label.

        Parameters
        ----------
        labels : each once; shown or not. With `of` one label, which is shown.
        level : as for `interval`.
        of : a column that was summed, see `sums`.

        Returns
        -------
        IntervalEstimate
            If some labels are not shown, there is no value, and `note` says how many.

        Notes
        -----
        If all labels are shown, the bound is that of the sum of their noises: by the normal law,
        and a rounding of 1/2 each; by Chernoff's bound for geometric noise. That may be used for
        half of the error rate, as which labels are shown depends on the noise. Else all noises are
        bounded at once, for the other half (Bonferroni). For listed labels the first has all of it.

        A sum of values is of the totals of users, each clamped. Its interval is for the noise of a
        label by itself, as that of a count is.

        Raises
        ------
        ParameterError
            With `of`, if the table has no such sums, or does not have the label.
        """
        if of is not None:
            return self._estimate(labels, of, level, means=False)
        asked = _read_labels(labels)
        found = self._counts_by_label()
        low, high = self._bounds(asked, check_level(level))
        missing = sum(label not in found for label in asked)
        if missing:
            note = (
                f"{missing:,} of {len(asked):,} labels are not shown: no counts of 0, but unknown"
            )
            return IntervalEstimate(None, low, high, level, note)
        value = to_records(sum(found[label] for label in asked), self._step)
        return IntervalEstimate(value, low, high, level)

    def share(
        self, labels: Sequence[Any], of: int | None = None, level: float = 0.95
    ) -> IntervalEstimate:
        """Return the share that several labels have of a public total, or of all listed labels.

        Parameters
        ----------
        labels, level : as for `sum`.
        of : a public total, in records, at least 1 (default: the sum of all listed labels).

        Returns
        -------
        IntervalEstimate
            1 is all. Of the noisy sum of all listed labels, both the sum of these labels and that
            of the others are bounded, each for half of the error rate.

        Raises
        ------
        ParameterError
            If labels come from the data and `of` is not given: the sum of all is not known.
        """
        level = check_level(level)
        if of is not None:
            total = whole_number(of, "of", 1)
            part = self.sum(labels, level=level)
            value = None if part.value is None else part.value / total
            return IntervalEstimate(value, part.low / total, part.high / total, level, part.note)
        if self._answers is None or self._answers.most_unshown is not None:
            raise ParameterError(
                "of", "must be given: a public total, as counts of labels not shown are unknown"
            )
        asked = _read_labels(labels)
        chosen = set(asked)
        others = [label for label in self._counts_by_label() if label not in chosen]
        part = self.sum(asked, level=(1 + level) / 2)
        if not others:
            return IntervalEstimate(1.0, 1.0, 1.0, level)
        rest = self.sum(others, level=(1 + level) / 2)
        low = part.low / (part.low + rest.high) if part.low > 0 else 0.0
        high = part.high / (part.high + rest.low) if part.high > 0 else 1.0
        whole = part.value + rest.value
        value = None if whole <= 0 else min(max(part.value / whole, low), high)
        return IntervalEstimate(value, low, high, level)

    def _counts_by_label(self) -> dict[Any, int]:
        """Return the counts by label, in steps, made at the first question."""
        counts = self.steps
        if counts is None:
            raise UnsupportedError("labels were released without counts")
        if self._by_label is None:
            self._by_label = dict(zip(self.labels, counts.tolist(), strict=True))
        return self._by_label

    def _find_largest_unshown(self) -> float:
        """Return the largest noisy count of a label that is not shown, in steps."""
        if self._answers is None:
            return np.inf
        most = self._answers.most_unshown
        if most is None:
            raise ParameterError(
                "label", "must be one of the listed labels: nothing is known of others"
            )
        return most

    def _bounds(self, labels: Sequence[Any], level: float) -> tuple[float, float]:
        """Return bounds on the sum of the counts of some labels."""
        found = self._counts_by_label()
        if not labels or len({*labels}) < len(labels):
            raise ParameterError("labels", "must be at least one label, and each once")
        if self._answers is None:
            raise UnsupportedError("the table was made by hand; release one with a mechanism")
        shown = [label for label in labels if label in found]
        beside, many = len(labels) - len(shown), len(labels)
        count = sum(found[label] for label in shown)
        missed = 1 - level
        is_listed = self._answers.most_unshown is None
        part = missed if is_listed or many == 1 else missed / 2
        if beside or many == 1:
            each = float(self._answers.reach(1 - part / many) or 0)
            high = count + many * each + (beside * self._find_largest_unshown() if beside else 0)
            reach = len(shown) * each
        else:
            reach = self._answers.reach_of_sum(many, 1 - part)
            high = count + reach
        least = 0 if is_listed else len(shown)  # a label that nobody listed occurs
        low = max(math.ceil(count - reach), least)
        if high < np.inf:
            high = to_records(max(math.floor(high), least), self._step)
        return to_records(low, self._step), high

    def to_arrow(self) -> pa.Table:
        """Return the table as an Arrow table.

        For each column that was summed, columns such as ``spent_sum`` and ``spent_mean`` follow; a
        mean of which nothing is known is null. Weighted counts are float64.
        """
        table = self._table
        if self._step is not None:
            place = table.column_names.index("count")
            table = table.set_column(place, "count", pa.array(self.counts))
        return self._add_sums(table)

    def to_content(self) -> dict[str, Any]:
        """Return the table as a JSON object, for saving."""
        kind = self._table.schema.field("label").type
        content: dict[str, Any] = {
            "label_type": str(kind),
            "labels": _as_json(self._table["label"], kind),
        }
        counts = self.steps
        if counts is not None:
            content["counts"] = counts.tolist()
        if self._step is not None:
            content["step"] = decimal_text(self._step)
        if self._sums:
            content["sums"] = {name: held.tolist() for name, held in self._sums.items()}
        return content

    @classmethod
    def from_content(cls, content: dict[str, Any]) -> "LabelTable":
        """Make a table from the result of `to_content`."""
        kind = _arrow_type(content["label_type"])
        columns = {"label": _read(content["labels"], kind)}
        if "counts" in content:
            columns["count"] = pa.array(read_whole_numbers(content["counts"]))
        sums = content.get("sums", {})
        found = {name: read_whole_numbers(held) for name, held in sums.items()}
        if any(held.shape != (len(columns["label"]),) for held in found.values()):
            raise ValueError("each label has a sum of each column")
        step = read_step(content["step"]) if "step" in content else None
        return cls(pa.table(columns), sums=found, step=step)


_WITH_ZONE = re.compile(r"timestamp\[(s|ms|us|ns), tz=(.+)\]")
_DECIMAL = re.compile(r"decimal128\((\d+), (-?\d+)\)")


def _read_label(label: Any) -> Any:
    """Return a label, checked; several are refused."""
    if isinstance(label, Hashable):
        return label
    raise ParameterError("label", "must be one label", "sum and share take several")


def _read_labels(labels: Any) -> list[Any]:
    """Return several labels as a list, checked; the letters of a text are no labels."""
    if isinstance(labels, str | bytes) or not isinstance(labels, Iterable):
        several = "must be several labels, such as ['tea', 'milk']"
        raise ParameterError("labels", several, "count and interval take one")
    return [_read_label(label) for label in labels]


def _arrow_type(name: str) -> pa.DataType:
    """Return the Arrow type with this name; ValueError if it is not a type of labels."""
    if zoned := _WITH_ZONE.fullmatch(name):
        return pa.timestamp(zoned[1], zoned[2])
    if decimal := _DECIMAL.fullmatch(name):
        return pa.decimal128(int(decimal[1]), int(decimal[2]))
    kind = pa.type_for_alias(name)
    if not is_key_type(kind):
        raise ValueError("no type of labels")
    return kind


def _as_json(labels: pa.ChunkedArray, kind: pa.DataType) -> list[Any]:
    """Return labels as JSON values: bytes as hexadecimal digits, dates and decimals as text.

    Timestamps with a zone are in UTC. Where a date or timestamp is beyond what text can say, all
    are the numbers that Arrow holds for them.
    """
    if pa.types.is_binary(kind):
        return [None if label is None else label.hex() for label in labels.to_pylist()]
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_string(kind):
        return list(labels.to_pylist())
    said = labels.cast(_drop_zone(kind))
    texts = said.cast(pa.string())
    try:
        if texts.cast(said.type).equals(said):
            return list(texts.to_pylist())
    except pa.ArrowInvalid:
        pass
    return list(labels.cast(_find_number_type(kind)).to_pylist())


def _read(labels: object, kind: pa.DataType) -> pa.Array:
    """Return labels that `_as_json` wrote; ValueError or TypeError if they are not such."""
    if not isinstance(labels, list):
        raise TypeError("labels are a list")
    types = set(map(type, labels)) - {type(None)}
    if pa.types.is_binary(kind):
        return pa.array([None if x is None else bytes.fromhex(x) for x in labels], kind)
    if types == {str}:
        return pa.array(labels, pa.string()).cast(_drop_zone(kind)).cast(kind)
    if not types <= ({bool} if pa.types.is_boolean(kind) else {int}):  # Arrow makes 1 of 1.5
        raise TypeError("labels are of their type")
    return pa.array(labels, _find_number_type(kind)).cast(kind)


def _drop_zone(kind: pa.DataType) -> pa.DataType:
    """Return the type of the same moments in UTC."""
    return pa.timestamp(kind.unit) if pa.types.is_timestamp(kind) else kind


def _find_number_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of the numbers that Arrow holds for dates or timestamps."""
    if not pa.types.is_temporal(kind):
        return kind
    return pa.int32() if pa.types.is_date32(kind) else pa.int64()
